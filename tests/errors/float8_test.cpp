// The 8-bit floats: storage that converts, without arithmetic.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(Float8, CastsAreTaken) {
  const std::string text = text_of([](Program& k) {
    auto s = shared_tensor<float8_e4m3>({64});
    auto x = cast<float>(load_shared(s)) + 1.0f;
    store_shared(s, cast<float8_e4m3>(x));
    auto y = cast<float8_e5m2>(cast<bfloat16>(x));
    auto zero = register_tensor<float8_e4m3>({64}, 0.3f);
    Float8E5M2 scalar = cast<float8_e5m2>(cast<Float32>(*k.n));
    k.print("{}", scalar);
  });
  EXPECT_THAT(text, HasSubstr("s: f8e4m3[64] = shared_tensor()"));
  EXPECT_THAT(text, HasSubstr("f8e4m3[64] = float8_e4m3(x_2)"));
  EXPECT_THAT(text, HasSubstr(": f8e5m2[64] = float8_e5m2(y)"));
  EXPECT_THAT(text, HasSubstr("zero = 0.3125"));
  EXPECT_THAT(text, HasSubstr("printf(\"{}\", float32(float8_e5m2(float32(n_arg))))"));
}

TEST(Float8Errors, Arithmetic) {
  expect_mistake(
      [](Program&) {
        auto x = register_tensor<float8_e4m3>({16});
        auto y = x + x;  // <- error
      },
      "storage types without arithmetic: cast<float>(tile) first");
  expect_mistake(
      [](Program&) {
        auto x = register_tensor<float8_e5m2>({16});
        auto y = x == x;  // <- error
      },
      "the operator == on tiles of float8_e5m2");
  expect_mistake(
      [](Program&) {
        auto y = -register_tensor<float8_e5m2>({16});  // <- error
      },
      "the operator - on a tile of float8_e5m2");
}

TEST(Float8Errors, Casts) {
  expect_mistake(
      [](Program&) {
        auto y = cast<int>(register_tensor<float8_e4m3>({16}));  // <- error
      },
      "cast of float8_e4m3 to int32");
  expect_mistake(
      [](Program&) {
        auto y = cast<float8_e5m2>(register_tensor<float8_e4m3>({16}));  // <- error
      },
      "go by way of cast<float>(x)");
  expect_mistake(
      [](Program& k) {
        auto y = cast<float8_e4m3>(*k.n);  // <- error
      },
      "cast of int32 to float8_e4m3");
}

}  // namespace
}  // namespace tessera::test
