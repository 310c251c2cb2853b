#include "runtime/launch_plan.hpp"
#include "runtime_fixture.hpp"

namespace tessera::runtime {
namespace {
using detail::Argument;
using detail::PtrSource;
using ir::ExprKind;
using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A kernel (Int32 m, Ptr<float> x, Ptr<float> y): grid {m, 1, 1}, views x[m, 8] and y[m], y written.
struct PlanTest : ::testing::Test {
  PlanTest() : device(std::make_shared<test::FakeWorld>()) {
    kernel.context = std::make_shared<ir::Context>();
    kernel.name = "Planned";
    kernel.warps = 1;
    kernel.params = {{"m", DType::i32, false, 16}, {"x", DType::f32, true, 16}, {"y", DType::f32, true, 16}};
    auto& pool = kernel.context->expr;
    m = pool.cast(DType::i64, pool.leaf(ExprKind::param, DType::i32, 0));
    kernel.grid = {m, pool.i64(1), pool.i64(1)};
    kernel.views = {{"gx", 1, DType::f32, {m, pool.i64(8)}, pool.mul(m, 8), SourceLoc::here()},
                    {"gy", 2, DType::f32, {m}, m, SourceLoc::here()}};
    kernel.written_params = {2};
    set_buffer(1, x.data(), sizeof x);
    set_buffer(2, y.data(), sizeof y);
    arguments[0].integer = 4;
  }
  void set_buffer(int index, void* pointer, std::size_t bytes) {
    arguments[index].pointer.pointer = pointer;
    arguments[index].pointer.bytes = bytes;
    arguments[index].pointer.source = PtrSource::buffer;
  }
  LaunchPlan plan() {
    LaunchPlan result;
    const std::vector<const Argument*> pointers = {&arguments[0], &arguments[1], &arguments[2]};
    make_plan(kernel, pointers, device, call, &result);
    return result;
  }
  std::string refused() {
    const Error error = error_of([&] { plan(); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_EQ(error.diagnostics()[0].loc.line, call.line);
    EXPECT_FALSE(error.diagnostics()[0].help.empty());
    return error.what();
  }

  ir::thread::Kernel kernel;
  test::FakeDevice device;
  const ir::Expr* m = nullptr;
  alignas(16) std::array<float, 64> x{};
  alignas(16) std::array<float, 8> y{};
  std::array<Argument, 3> arguments;
  SourceLoc call = SourceLoc::here();
};

TEST_F(PlanTest, AGridHasWholeClusters) {
  kernel.cluster = {2, 1, 1};
  EXPECT_THAT(plan().grid, ElementsAre(4, 1, 1));
  kernel.cluster = {3, 1, 1};
  const std::string text = refused();
  EXPECT_THAT(text, HasSubstr("4 blocks along x, which is not a multiple of the 3 of a cluster"));
  EXPECT_THAT(text, HasSubstr("here to 6"));
  kernel.cluster = {1, 2, 1};
  EXPECT_THAT(refused(), HasSubstr("1 blocks along y"));
}

TEST_F(PlanTest, AGridMayAskForTheMultiprocessors) {
  auto& pool = kernel.context->expr;
  const ir::Expr* sms = pool.cast(DType::i64, pool.leaf(ExprKind::sm_count, DType::i32));
  kernel.grid[0] = pool.mul(sms, 3);
  kernel.views[1].shape = {sms};
  kernel.views[1].elements = sms;
  EXPECT_THAT(plan().grid, ElementsAre(12, 1, 1)) << "the fake device has 4";
  EXPECT_EQ(reached_bytes(kernel, std::vector<std::int64_t>{4, 0, 0}, 2, 5), 20U);
}

TEST_F(PlanTest, GivesGridValuesAndAddresses) {
  const LaunchPlan result = plan();
  EXPECT_THAT(result.grid, ElementsAre(4, 1, 1));
  EXPECT_FALSE(result.empty);
  ASSERT_EQ(result.params.size(), 3U);
  EXPECT_EQ(*static_cast<const std::int32_t*>(result.params[0]), 4);
  EXPECT_EQ(*static_cast<float* const*>(result.params[1]), x.data());
  EXPECT_EQ(result.bytes[2], sizeof y);
}

TEST_F(PlanTest, BufferSmallerThanItsView) {
  arguments[0].integer = 9;
  EXPECT_THAT(refused(),
              HasSubstr("the argument for x has 256 bytes, but the view \"gx\" float32[9, 8] of it needs 288"));
  arguments[0].integer = 8;
  EXPECT_NO_THROW(plan()) << "exactly enough";
  set_buffer(2, y.data(), sizeof y - 1);
  EXPECT_THAT(refused(), HasSubstr("the argument for y has 31 bytes"));
}

TEST_F(PlanTest, UnknownExtentIsNotChecked) {
  arguments[0].integer = 1000;
  arguments[1].pointer = {x.data(), detail::PtrValue::unknown_bytes, nullptr, PtrSource::device_pointer, false, {}};
  arguments[2].pointer = {y.data(), detail::PtrValue::unknown_bytes, nullptr, PtrSource::device_pointer, false, {}};
  EXPECT_EQ(plan().bytes[1], 32000U) << "as far as the views reach";
}

TEST_F(PlanTest, NegativeSize) {
  arguments[0].integer = -3;
  EXPECT_THAT(refused(), HasSubstr("the view \"gx\" float32[-3, 8] has the negative extent -3 in dimension 0"));
  kernel.views.clear();
  EXPECT_THAT(refused(), HasSubstr("attrs.blocks gives -3 blocks along x"));
}

TEST_F(PlanTest, NothingToDoIsNoError) {
  arguments[0].integer = 0;
  arguments[1].pointer.pointer = nullptr;
  EXPECT_TRUE(plan().empty);
}

TEST_F(PlanTest, GridLimits) {
  kernel.views.clear();
  auto& pool = kernel.context->expr;
  kernel.grid = {pool.i64(2147483647), pool.i64(65535), pool.i64(65535)};
  EXPECT_NO_THROW(plan());
  kernel.grid[0] = pool.i64(2147483648);
  EXPECT_THAT(refused(), HasSubstr("2147483648 blocks along x, but a grid has at most 2147483647"));
  kernel.grid = {pool.i64(1), pool.i64(65536), pool.i64(1)};
  EXPECT_THAT(refused(), HasSubstr("65536 blocks along y, but a grid has at most 65535"));
  kernel.grid = {pool.i64(1), pool.i64(1), pool.i64(70000)};
  EXPECT_THAT(refused(), HasSubstr("70000 blocks along z"));
}

TEST_F(PlanTest, NullPointer) {
  arguments[1].pointer.pointer = nullptr;
  EXPECT_THAT(refused(), HasSubstr("the argument for x is a null pointer"));
}

TEST_F(PlanTest, HostMemoryOnAGpu) {
  arguments[1].pointer.source = PtrSource::host_memory;
  EXPECT_THAT(refused(), HasSubstr("the argument for x is host memory, which kernels on fake GPU cannot use"));
  arguments[1].pointer.source = PtrSource::device_pointer;
  EXPECT_NO_THROW(plan());
  device.usable_pointers = false;
  EXPECT_NO_THROW(plan());  // what was found usable is not asked for again
  arguments[1].pointer.pointer = y.data();
  EXPECT_THAT(refused(), HasSubstr("is an address that the driver does not know"));
}

TEST_F(PlanTest, MisalignedPointer) {
  set_buffer(1, reinterpret_cast<char*>(x.data()) + 2, sizeof x - 2);
  EXPECT_THAT(refused(), HasSubstr("not a multiple of the 4 bytes of a float32"));
}

TEST_F(PlanTest, ReadOnlyMemoryThatIsWritten) {
  arguments[1].pointer.read_only = true;
  EXPECT_NO_THROW(plan());
  arguments[2].pointer.read_only = true;
  EXPECT_THAT(refused(), HasSubstr("the argument for y is read-only memory, but the kernel writes to it"));
}

TEST_F(PlanTest, TensorMapsAreCheckedAndEncoded) {
  auto& pool = kernel.context->expr;
  ir::thread::TensorMap map;
  map.name = "gx";
  map.param = 1;
  map.type = DType::f32;
  map.dims = {pool.i64(8), m};
  map.strides_bytes = {pool.i64(32)};
  map.box = {8, 4};
  kernel.tensor_maps = {map};
  const LaunchPlan good = plan();
  ASSERT_EQ(good.params.size(), 4U);
  EXPECT_EQ(static_cast<const jit::EncodedTensorMap*>(good.params[3])->words[0],
            reinterpret_cast<std::uintptr_t>(x.data()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(good.params[3]) % 64, 0U);
  kernel.tensor_maps[0].strides_bytes = {pool.i64(36)};
  EXPECT_THAT(refused(), HasSubstr("the stride of dimension 0 is 36 bytes"));
  kernel.tensor_maps[0].dims = {pool.i64(0), m};  // no box of it is ever copied: whatever its other numbers are
  EXPECT_NO_THROW(plan());
}

}  // namespace
}  // namespace tessera::runtime
