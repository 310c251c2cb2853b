#include "matmul_kernel.hpp"

namespace tessera::testing {

namespace {

// Byte address of 16-byte chunk `chunk` of row `row` in a tile of 128-byte rows with the 128-byte swizzle.
E swizzled(E base, E row, E chunk) { return base + (row * 128 + ((chunk ^ (row & 7)) * 16)).cast(DType::u32); }

struct Tiles {
  const MatmulPlan& plan;
  std::uint32_t a_offset, b_offset, barrier;
  int frags_m, frags_n;
  const ir::RegArray* acc;
};

void multiply(KernelBuilder& b, const Tiles& t) {
  const int k_steps = t.plan.block_k / 16;
  const E lane = b.lane();
  const E warp_m = b.warp() / t.plan.warps_n;
  const E warp_n = b.warp() % t.plan.warps_n;
  const auto* a_regs = b.regs(DType::f16, static_cast<std::uint32_t>(8 * t.frags_m), "a");
  const auto* b_regs = b.regs(DType::f16, static_cast<std::uint32_t>(4 * t.frags_n), "b");
  t.plan.line_ldmatrix = __LINE__ + 1;
  const auto load = [&](const ir::RegArray* regs, int first, E address, SourceLoc loc = SourceLoc::here()) {
    b.add<thread::LdMatrix>(loc, b.ref(regs, first), 4, false, address);
  };
  for (int k = 0; k < k_steps; ++k) {
    for (int i = 0; i < t.frags_m; ++i) {
      const E row = warp_m * (16 * t.frags_m) + (lane % 16 + 16 * i);
      const auto loc = SourceLoc::here();
      t.plan.line_ldmatrix = loc.line;
      load(a_regs, 8 * i, swizzled(b.shared(t.a_offset), row, lane / 16 + 2 * k), loc);
    }
    for (int j = 0; j < t.frags_n; j += 2) {
      const E row = warp_n * (8 * t.frags_n) + (lane % 8 + (lane / 16) * 8 + 8 * j);
      load(b_regs, 4 * j, swizzled(b.shared(t.b_offset), row, (lane / 8) % 2 + 2 * k));
    }
    for (int i = 0; i < t.frags_m; ++i) {
      for (int j = 0; j < t.frags_n; ++j) {
        b.add<thread::MmaSync>(SourceLoc::here(), DType::f16, DType::f32, b.ref(t.acc, 4 * (i * t.frags_n + j)),
                               b.ref(a_regs, 8 * i), b.ref(b_regs, 4 * j));
      }
    }
  }
}

void store(KernelBuilder& b, const Tiles& t, std::uint32_t c, E m, E n) {
  const E lane = b.lane();
  const auto* out = b.regs(DType::f16, 2, "out");
  for (int i = 0; i < t.frags_m; ++i) {
    for (int j = 0; j < t.frags_n; ++j) {
      for (int half = 0; half < 2; ++half) {
        const int at = 4 * (i * t.frags_n + j) + 2 * half;
        b.write(out, 0, {b.reg(t.acc, at).cast(DType::f16), b.reg(t.acc, at + 1).cast(DType::f16)});
        const E row = b.block_idx(0) * t.plan.block_m + (b.warp() / t.plan.warps_n) * (16 * t.frags_m) +
                      (lane / 4 + (16 * i + 8 * half));
        const E column =
            b.block_idx(1) * t.plan.block_n + (b.warp() % t.plan.warps_n) * (8 * t.frags_n) + ((lane % 4) * 2 + 8 * j);
        const E offset = row.cast(DType::i64) * n.cast(DType::i64) + column.cast(DType::i64);
        b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(out), 2, c, offset, (row < m) && (column < n));
      }
    }
  }
}

void copy(KernelBuilder& b, const Tiles& t, E offset_k, E phase) {
  const MatmulPlan& plan = t.plan;
  const std::uint32_t bytes = static_cast<std::uint32_t>((plan.block_m + plan.block_n) * plan.block_k * 2);
  const auto arrive = SourceLoc::here();
  plan.line_arrive = arrive.line;
  if (plan.arrive) {
    b.add<thread::MbarrierArriveExpectTx>(arrive, b.shared(t.barrier),
                                          b.u32(static_cast<int>(bytes) - plan.missing_bytes));
  }
  const auto issue = SourceLoc::here();
  plan.line_copy = issue.line;
  b.add<thread::TmaLoadBox>(issue, 0U, b.shared(t.a_offset),
                            std::vector<const Expr*>{offset_k, b.block_idx(0) * plan.block_m}, b.shared(t.barrier));
  b.add<thread::TmaLoadBox>(issue, 1U, b.shared(t.b_offset),
                            std::vector<const Expr*>{offset_k, b.block_idx(1) * plan.block_n}, b.shared(t.barrier));
  const auto wait = SourceLoc::here();
  plan.line_wait = wait.line;
  b.add<thread::MbarrierWait>(wait, b.shared(t.barrier), phase);
}

thread::TensorMap map(KernelBuilder& b, const char* name, std::uint32_t param, E rows, E k, int box_rows, int box_k) {
  thread::TensorMap m;
  m.name = name;
  m.param = param;
  m.base_offset = b.i64(0);
  m.dims = {k.cast(DType::i64), rows.cast(DType::i64)};
  m.strides_bytes = {k.cast(DType::i64) * 2};
  m.box = {static_cast<std::uint32_t>(box_k), static_cast<std::uint32_t>(box_rows)};
  m.swizzle = thread::Swizzle::b128;
  m.loc = SourceLoc::here();
  return m;
}

}  // namespace

void build_matmul(KernelBuilder& b, const MatmulPlan& plan) {
  const E m = b.scalar(DType::i32, "m"), n = b.scalar(DType::i32, "n"), k = b.scalar(DType::i32, "k");
  const auto pa = b.pointer(DType::f16, "a"), pb = b.pointer(DType::f16, "b"), pc = b.pointer(DType::f16, "c");
  b.kernel.warps = plan.warps_m * plan.warps_n;
  b.kernel.grid = {(m.cast(DType::i64) + (plan.block_m - 1)) / plan.block_m,
                   (n.cast(DType::i64) + (plan.block_n - 1)) / plan.block_n, b.i64(1)};
  b.kernel.tensor_maps = {map(b, "ga", pa, m, k, plan.block_m, plan.block_k),
                          map(b, "gb", pb, n, k, plan.block_n, plan.block_k)};
  const auto a_bytes = static_cast<std::uint32_t>(plan.block_m * 128),
             b_bytes = static_cast<std::uint32_t>(plan.block_n * 128);
  Tiles t{plan,   0, a_bytes, a_bytes + b_bytes, plan.block_m / (16 * plan.warps_m), plan.block_n / (8 * plan.warps_n),
          nullptr};
  b.kernel.shared_bytes = t.barrier + 8;
  b.region("sa", t.a_offset, a_bytes);
  b.region("sb", t.b_offset, b_bytes);
  b.region("tma_barrier", t.barrier, 8, true);

  t.acc = b.regs(DType::f32, static_cast<std::uint32_t>(4 * t.frags_m * t.frags_n), "acc");
  for (std::uint32_t i = 0; i < t.acc->size; ++i) b.write(t.acc, static_cast<int>(i), {b.real(DType::f32, 0)});
  b.when(b.thread_idx() == 0, [&] {
    b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(t.barrier), 1U);
    b.add<thread::Fence>(SourceLoc::here(), thread::FenceKind::mbarrier_init, std::string());
  });
  b.sync();
  const auto* phase = b.declare(b.u32(0));
  b.loop(b.i32(0), k, b.i32(plan.block_k), [&](E offset_k) {
    b.when((b.warp() == 0) && b.elect(),
           [&] { copy(b, t, offset_k, plan.wrong_phase == 0 ? b.var(phase) : b.var(phase) ^ plan.wrong_phase); });
    b.sync();
    multiply(b, t);
    if (plan.fence) b.fence();
    const auto sync = SourceLoc::here();
    plan.line_sync = sync.line;
    if (plan.second_sync) b.sync(sync);
    if (plan.flip_phase) b.assign(phase, b.var(phase) ^ 1);
  });
  store(b, t, pc, m, n);
}

}  // namespace tessera::testing
