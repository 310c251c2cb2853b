#include "runtime/tensor_map.hpp"
#include "runtime_fixture.hpp"

namespace tessera::runtime {
namespace {
using ir::thread::Swizzle;
using ir::thread::TensorMap;
using test::error_of;
using ::testing::HasSubstr;

struct MapTest : ::testing::Test {
  MapTest() {
    map.name = "ga";
    map.type = DType::f16;
    map.box = {64, 128};
    map.swizzle = Swizzle::b128;
    map.loc = SourceLoc::here();
    resolved = {0x1000, {512, 300}, {1024}, false};
  }
  std::string broken() {
    const Error error = error_of([&] { validate(map, resolved, SourceLoc::here()); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_TRUE(error.diagnostics()[0].loc.known());
    EXPECT_EQ(error.diagnostics()[0].notes.size(), 1U);
    EXPECT_THAT(error.what(), HasSubstr("float16 view \"ga\""));
    return error.what();
  }
  TensorMap map;
  ResolvedMap resolved;
};

TEST_F(MapTest, AcceptsWhatTheHardwareTakes) {
  EXPECT_NO_THROW(validate(map, resolved, {}));
  resolved.dims = {std::int64_t{1} << 32, 1};
  resolved.strides = {(std::int64_t{1} << 40) - 16};
  map.box = {64, 256};
  EXPECT_NO_THROW(validate(map, resolved, {}));
}

TEST_F(MapTest, BaseIsAligned) {
  resolved.base = 0x1008;
  EXPECT_THAT(broken(), HasSubstr("it begins at address 0x1008, but a TMA tensor begins at a multiple of 16 bytes"));
}
TEST_F(MapTest, StrideIsAMultipleOf16) {
  resolved.strides = {1000};
  EXPECT_THAT(broken(), HasSubstr("the stride of dimension 0 is 1000 bytes, but a stride is a multiple of 16 bytes"));
}
TEST_F(MapTest, StrideIsInRange) {
  resolved.strides = {std::int64_t{1} << 40};
  EXPECT_THAT(broken(), HasSubstr("less than 2^40"));
  resolved.strides = {-1024};
  EXPECT_THAT(broken(), HasSubstr("is -1024 bytes"));
}
TEST_F(MapTest, ExtentIsInRange) {
  resolved.dims = {512, (std::int64_t{1} << 32) + 1};
  EXPECT_THAT(broken(), HasSubstr("dimension 0 has 4294967297 elements, but an extent is at most 2^32"));
}
TEST_F(MapTest, BoxIsInRange) {
  map.box = {64, 257};
  EXPECT_THAT(broken(), HasSubstr("the box has 257 elements along dimension 0"));
  map.box = {64, 0};
  EXPECT_THAT(broken(), HasSubstr("the box has 0 elements along dimension 0"));
}
TEST_F(MapTest, InnerBoxIsAMultipleOf16Bytes) {
  map.box = {12, 8};
  EXPECT_THAT(broken(), HasSubstr("the box's rows have 24 bytes, but they are multiples of 16 bytes"));
}
TEST_F(MapTest, InnerBoxFitsTheSwizzle) {
  map.box = {128, 8};
  EXPECT_THAT(broken(),
              HasSubstr("the box's rows have 256 bytes, but a 128-byte swizzle takes rows of at most 128 bytes"));
  map.swizzle = Swizzle::none;
  EXPECT_NO_THROW(validate(map, resolved, {}));
}
TEST_F(MapTest, RankIsOneToFive) {
  resolved.dims.assign(6, 8);
  EXPECT_THAT(broken(), HasSubstr("it has 6 dimensions"));
  resolved.dims.clear();
  EXPECT_THAT(broken(), HasSubstr("it has 0 dimensions"));
}
TEST_F(MapTest, AllBrokenRulesAreListed) {
  resolved.base = 2;
  resolved.strides = {18};
  map.box = {64, 300};
  EXPECT_EQ(error_of([&] { validate(map, resolved, {}); }).diagnostics().size(), 3U);
}
TEST_F(MapTest, AnEmptyTensorHasNoRules) {
  resolved = {3, {0, 300}, {7}, true};
  EXPECT_NO_THROW(validate(map, resolved, {}));
}

TEST_F(MapTest, ResolveEvaluatesTheArguments) {
  ir::Context context;
  auto& pool = context.expr;
  const ir::Expr* m = pool.cast(DType::i64, pool.leaf(ir::ExprKind::param, DType::i32, 1));
  map.base_offset = pool.mul(m, 2);
  map.dims = {pool.i64(512), m};
  map.strides_bytes = {pool.mul(m, 4)};
  const std::int64_t params[] = {0, 10};
  const ResolvedMap result = resolve(map, params, reinterpret_cast<const void*>(0x100));
  EXPECT_EQ(result.base, 0x100U + 10 * 2 * sizeof(float16));
  EXPECT_EQ(result.dims, (std::vector<std::int64_t>{512, 10}));
  EXPECT_EQ(result.strides, (std::vector<std::int64_t>{40}));
  EXPECT_FALSE(result.empty);
  const std::int64_t none[] = {0, 0};
  EXPECT_TRUE(resolve(map, none, nullptr).empty);
}

}  // namespace
}  // namespace tessera::runtime
