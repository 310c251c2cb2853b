// Twins that the language cannot express: thread IR by hand.
#pragma once

#include <memory>

#include "kernel_builder.hpp"
#include "script_twin.hpp"

namespace tessera::twins {

using ir::Expr;
using ir::ExprKind;
using testing::E;
using testing::KernelBuilder;
namespace thread = ir::thread;

// A kernel with x, y, and a tensor map of x in boxes of `rows` rows of 32 floats. Shared memory: 4 KiB of tile, then
// two barriers.
struct IrTwin : KernelBuilder {
  static constexpr std::uint32_t bar = 4096, other_bar = 4104;
  std::uint32_t x, y;

  explicit IrTwin(int warps, std::uint32_t rows = 4, int blocks = 1) : KernelBuilder(warps, 4224) {
    kernel.name = "hand_written";
    kernel.grid[0] = i64(blocks);
    x = pointer(DType::f32, "x");
    y = pointer(DType::f32, "y");
    kernel.written_params = {y};
    region("tile", 0, 4096);
    region("bar", bar, 8, true);
    region("other", other_bar, 8, true);
    map("gx", x, rows);
    map("gy", y, rows);
  }
  void map(const char* name, std::uint32_t param, std::uint32_t rows) {
    thread::TensorMap m;
    m.name = name;
    m.param = param;
    m.type = DType::f32;
    m.dims = {i64(32), i64(16)};
    m.strides_bytes = {i64(128)};
    m.box = {32, rows};
    kernel.tensor_maps.push_back(m);
  }
  void init(std::uint32_t offset, std::uint32_t count, SourceLoc loc = SourceLoc::here()) {
    add<thread::MbarrierInit>(loc, shared(offset), count);
  }
  void init_fence(SourceLoc loc = SourceLoc::here()) {
    add<thread::Fence>(loc, thread::FenceKind::mbarrier_init, std::string());
  }
  // One thread initialises `bar`, with the fence, and the block synchronises.
  void ready(std::uint32_t count = 1, SourceLoc loc = SourceLoc::here()) {
    when(thread_idx() == 0, [&] {
      init(bar, count, loc);
      init_fence(loc);
    });
    sync(loc);
  }
  void arrive(std::uint32_t offset, SourceLoc loc = SourceLoc::here()) {
    add<thread::MbarrierArrive>(loc, shared(offset), 1U);
  }
  void arrive_once(SourceLoc loc = SourceLoc::here()) {
    when(thread_idx() == 0, [&] { arrive(bar, loc); });
  }
  void expect(std::uint32_t offset, int bytes, SourceLoc loc = SourceLoc::here()) {
    add<thread::MbarrierArriveExpectTx>(loc, shared(offset), u32(bytes));
  }
  void wait(std::uint32_t offset, int parity, SourceLoc loc = SourceLoc::here()) {
    add<thread::MbarrierWait>(loc, shared(offset), u32(parity));
  }
  void load_box(std::uint32_t tile, int row, std::uint32_t barrier = bar, SourceLoc loc = SourceLoc::here()) {
    add<thread::TmaLoadBox>(loc, 0U, shared(tile), std::vector<const Expr*>{i32(0), i32(row)}, shared(barrier));
  }
  void warp_sync(SourceLoc loc = SourceLoc::here()) { add<thread::WarpSync>(loc, 0xffffffffU); }

  // A float of each lane, from and to memory; `at` counts elements.
  const ir::RegArray* value() { return regs(DType::f32, 1, "value"); }
  void load_x(const ir::RegArray* v, E at, SourceLoc loc = SourceLoc::here()) {
    add<thread::LoadGlobalVector>(loc, ref(v), 1, x, at.cast(DType::i64), nullptr);
  }
  void store_y(const ir::RegArray* v, E at, SourceLoc loc = SourceLoc::here()) {
    add<thread::StoreGlobalVector>(loc, ref(v), 1, y, at.cast(DType::i64), nullptr);
  }
  void load_tile(const ir::RegArray* v, E at, SourceLoc loc = SourceLoc::here()) {
    add<thread::LoadSharedVector>(loc, ref(v), 1, shared(0) + (at * 4).cast(DType::u32));
  }
  void store_tile(const ir::RegArray* v, E at, SourceLoc loc = SourceLoc::here()) {
    add<thread::StoreSharedVector>(loc, ref(v), 1, shared(0) + (at * 4).cast(DType::u32));
  }
  void load_word(const ir::RegArray* v, std::uint32_t offset, SourceLoc loc = SourceLoc::here()) {
    add<thread::LoadSharedVector>(loc, ref(v), 1, shared(offset));
  }
  // Four floats of each lane from x, beginning at element `at`.
  void load_four(const ir::RegArray* v, E at, SourceLoc loc = SourceLoc::here()) {
    add<thread::LoadGlobalVector>(loc, ref(v), 4, x, at.cast(DType::i64), nullptr);
  }
  using KernelBuilder::ref;
};

// A twin whose kernel `build(broken)` makes, a shared_ptr to a builder with x and y as its parameters.
template <class F>
void add_ir(const Family& family, const About& about, std::vector<float> in, std::vector<float> want, F build) {
  family.add(about, [=](bool broken) {
    const auto builder = build(broken);
    const auto once = [=](const Launcher& on_machine) {
      auto x = in;
      std::vector<float> y(want.size(), std::numeric_limits<float>::quiet_NaN());
      on_machine(builder->kernel, std::vector<sim::Argument>{argument(x), argument(y)});
      return y == want;
    };
    return Prepared{once, {}};
  });
}

}  // namespace tessera::twins
