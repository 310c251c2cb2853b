#include "runtime_fixture.hpp"
#include "tune/estimate.hpp"

namespace tessera::tune {
namespace {
using namespace ir;

// for (k = 0; k < p0; k += 16) { if (elect) tma box of 64 x 16 halves; 3 mma } ; 2 floats stored a thread
struct EstimateTest : ::testing::Test {
  EstimateTest() {
    kernel.context = context;
    kernel.warps = 4;
    kernel.params = {{"k", DType::i32, false, 16}, {"c", DType::f32, true, 16}};
    auto& pool = context->expr;
    auto& arena = context->arena;
    thread::TensorMap map;
    map.type = DType::f16;
    map.box = {16, 64};
    kernel.tensor_maps = {map};
    auto* regs = context->new_regs(DType::f32, 64, "r", {});
    const thread::RegRef at{regs, pool.i32(0)};
    auto* loop = arena.make<control::For>(SourceLoc{}, context->new_value(DType::i32, "k", {}), pool.i32(0),
                                          pool.leaf(ExprKind::param, DType::i32, 0), pool.i32(16));
    auto* one = arena.make<control::If>(SourceLoc{}, pool.leaf(ExprKind::elect_one, DType::boolean));
    one->then_body.push_back(
        arena.make<thread::TmaLoadBox>(SourceLoc{}, 0U, pool.u32(0), std::vector<const Expr*>{}, pool.u32(0)));
    loop->body.push_back(one);
    for (int i = 0; i < 3; ++i)
      loop->body.push_back(arena.make<thread::MmaSync>(SourceLoc{}, DType::f16, DType::f32, at, at, at));
    kernel.body = {loop, arena.make<thread::StoreGlobalVector>(SourceLoc{}, at, 2, 1U, pool.i64(0), nullptr)};
  }
  std::shared_ptr<Context> context = std::make_shared<Context>();
  thread::Kernel kernel;
};

TEST_F(EstimateTest, CountsBytesAndFlops) {
  const std::int64_t params[] = {40, 0};  // three trips
  const BlockWork work = block_work(kernel, params);
  EXPECT_DOUBLE_EQ(work.bytes, 3 * (16 * 64 * 2) + 128 * 2 * 4);
  EXPECT_DOUBLE_EQ(work.flops, 3 * 3 * 4 * 2.0 * 16 * 8 * 16);
  const std::int64_t none[] = {0, 0};
  EXPECT_DOUBLE_EQ(block_work(kernel, none).flops, 0);
}

TEST_F(EstimateTest, CountsTheWarpsOfARole) {
  auto& pool = context->expr;
  auto& arena = context->arena;
  kernel.warps = 12;
  const thread::RegRef at{context->new_regs(DType::f32, 128, "acc", {}), pool.i32(0)};
  const Expr* warp = pool.leaf(ExprKind::warp_idx, DType::i32);
  auto* roles = arena.make<control::If>(SourceLoc{}, pool.binary(ExprKind::lt, warp, pool.i32(4)));
  auto* leader = arena.make<control::If>(SourceLoc{}, pool.both(pool.binary(ExprKind::eq, warp, pool.i32(8)),
                                                                pool.leaf(ExprKind::elect_one, DType::boolean)));
  leader->then_body = {
      arena.make<thread::TmaStoreBox>(SourceLoc{}, 0U, pool.u32(0), std::vector<const Expr*>{}, false)};
  roles->else_body = {arena.make<thread::Wgmma>(SourceLoc{}, DType::bf16, DType::bf16, DType::f32, 256, at),
                      arena.make<thread::Wgmma>(SourceLoc{}, DType::f8e4m3, DType::f8e4m3, DType::f32, 64, at), leader};
  kernel.body = {roles};
  const std::int64_t params[] = {0, 0};
  const BlockWork work = block_work(kernel, params);
  EXPECT_DOUBLE_EQ(work.wgmma_flops, 2 * (2.0 * 64 * 16 * 256 + 2.0 * 64 * 16 * 64)) << "of two warpgroups";
  EXPECT_DOUBLE_EQ(work.bytes, 16 * 64 * 2);
  EXPECT_DOUBLE_EQ(work.flops, 0);
  roles->condition = pool.binary(ExprKind::lt, pool.leaf(ExprKind::param, DType::i32, 0), pool.i32(4));
  EXPECT_DOUBLE_EQ(block_work(kernel, params).wgmma_flops, 3 * (2.0 * 64 * 16 * 256 + 2.0 * 64 * 16 * 64))
      << "a condition on anything else lets all through";
}

TEST_F(EstimateTest, WaitsAreALatencyEach) {
  const std::int64_t params[] = {160, 0};
  const double without = estimate_us(kernel, params, 132, 64, 132);
  auto* loop = static_cast<control::For*>(kernel.body[0]);
  loop->body.push_back(
      context->arena.make<thread::MbarrierWait>(SourceLoc{}, context->expr.u32(0), context->expr.u32(0)));
  EXPECT_DOUBLE_EQ(block_work(kernel, params).waits, 10);
  EXPECT_GT(estimate_us(kernel, params, 132, 64, 132), 8);
  EXPECT_LT(without, 8);
}

TEST_F(EstimateTest, MoreBlocksAndFewerResidentOnesTakeLonger) {
  const std::int64_t params[] = {4096, 0};
  const double one = estimate_us(kernel, params, 132, 64, 132);
  EXPECT_GT(one, 0);
  const double many = estimate_us(kernel, params, 132 * 40, 64, 132);
  EXPECT_GT(many, one);
  EXPECT_GT(estimate_us(kernel, params, 132 * 40, 255, 132), many) << "less overlap with fewer blocks resident";
}

TEST(ResidentBlocks, FollowsTheTightestLimit) {
  EXPECT_EQ(resident_blocks(4, 128, 0), 4);     // 65536 / (128 * 128)
  EXPECT_EQ(resident_blocks(4, 32, 0), 16);     // 64 warps
  EXPECT_EQ(resident_blocks(1, 32, 0), 32);     // blocks
  EXPECT_EQ(resident_blocks(4, 32, 50000), 4);  // 233472 / 51024
  EXPECT_EQ(resident_blocks(4, 32, 232448), 1);
  EXPECT_EQ(resident_blocks(32, 255, 0), 1);
}

}  // namespace
}  // namespace tessera::tune
