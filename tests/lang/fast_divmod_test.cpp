// Division by FastDivisor is division.
#include <rapidcheck.h>

#include "errors/mistake.hpp"
#include "lang/run_scalars.hpp"

namespace tessera::test {
namespace {

struct Divide : Script {
  void operator()(Int32 divisor, Int32 x) {
    attrs.blocks = 1;
    attrs.warps = 1;
    FastDivisor fast(divisor);
    const DivMod r = fast.divmod(x);
    printf("{} {} {}\n", fast.divide(x), r.quotient, r.remainder);
  }
};

std::vector<std::int64_t> divide(const ir::tile::Kernel& kernel, std::int64_t d, std::int64_t x) {
  return ScalarRun(kernel, {d, x}, {}).printed.at(0);
}

TEST(FastDivisor, IsDivision) {
  const auto kernel = detail::trace(Divide(), std::vector<std::int64_t>{0, 0});
  const auto right = [&](std::int64_t d, std::int64_t x) {
    return divide(*kernel, d, x) == std::vector<std::int64_t>{x / d, x / d, x % d};
  };
  EXPECT_TRUE(rc::check("any divisor", [&] {
    const std::int64_t d = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 31);
    const std::int64_t x = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 31);
    RC_ASSERT(right(d, x));
    RC_ASSERT(right(*rc::gen::inRange<std::int64_t>(1, 1000), x));
  }));
  EXPECT_TRUE(rc::check("next to multiples, where rounding shows", [&] {
    const int bits = *rc::gen::inRange(0, 31);
    const std::int64_t d = *rc::gen::inRange<std::int64_t>(std::int64_t{1} << bits, std::int64_t{2} << bits);
    const std::int64_t q = *rc::gen::inRange<std::int64_t>(0, INT32_MAX / d + 1);
    for (const std::int64_t x : {q * d - 1, q * d, q * d + 1, q * d + d - 1})
      if (x >= 0 && x <= INT32_MAX) RC_ASSERT(right(d, x));
  }));
  for (std::int64_t bit = 0; bit < 31; ++bit) {
    for (const std::int64_t off : {-1, 0, 1}) {
      const std::int64_t d = (std::int64_t{1} << bit) + off;
      if (d < 1) continue;
      for (const std::int64_t x : {std::int64_t{0}, d - 1, d, std::int64_t{INT32_MAX} - 1, std::int64_t{INT32_MAX}})
        EXPECT_TRUE(right(d, x)) << x << " / " << d;
    }
  }
  EXPECT_TRUE(right(INT32_MAX, INT32_MAX));
}

TEST(FastDivisor, OneMultiplicationADivision) {
  const std::string text = ir::tile::to_string(*detail::trace(Divide(), std::vector<std::int64_t>{0, 0}), false);
  EXPECT_THAT(text, testing::HasSubstr("let quotient_"));
  EXPECT_THAT(text, testing::HasSubstr("uint64(x) * multiplier_"));
}

TEST(FastDivisor, ConstantsAreLeftToTheCompiler) {
  const std::string text = text_of([](Program& k) {
    FastDivisor fast(12);
    const DivMod r = fast.divmod(*k.n);
    k.print("{} {}\n", r.quotient, r.remainder);
  });
  EXPECT_THAT(text, testing::HasSubstr("printf(\"{} {}\\n\", n_arg / 12, n_arg % 12)"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("multiplier")));
}

TEST(FastDivisorErrors, SignsThatAreKnown) {
  expect_mistake(
      [](Program&) {
        FastDivisor fast(0);  // <- error
      },
      "FastDivisor of a number that is not positive");
  expect_mistake(
      [](Program& k) {
        FastDivisor fast(*k.n);
        fast.divide(min(*k.n, -1));  // <- error
      },
      "a negative number is divided by a FastDivisor");
}

}  // namespace
}  // namespace tessera::test
