// Golden kernels of warpgroups and clusters: wgmma, rings of barriers, multicast, stores by the copy engine.
#include <algorithm>

#include "golden/builder.hpp"
#include "golden/kernels.hpp"

namespace tessera::golden {

namespace {

constexpr std::int64_t stages = 3, a_bytes = 128 * 128, b_bytes = 256 * 128, stage_bytes = a_bytes + b_bytes;
constexpr std::int64_t c_offset = stages * stage_bytes, half_bytes = 64 * 512, barriers = c_offset + 2 * half_bytes;
constexpr std::uint32_t descriptor_high = 0x40000040;  // 1024 bytes between groups of eight rows, 128-byte swizzle

thread::TensorMap map_of(Builder& b, const char* name, std::uint32_t param, const Expr* rows, std::int64_t columns,
                         std::uint32_t box_rows) {
  thread::TensorMap map;
  map.name = name;
  map.param = param;
  map.type = DType::bf16;
  map.base_offset = b.e().i64(0);
  map.dims = {b.e().i64(columns), b.e().cast(DType::i64, rows)};
  map.strides_bytes = {b.e().i64(2 * columns)};
  map.box = {64, box_rows};
  map.swizzle = thread::Swizzle::b128;
  return map;
}

// A ring's position: which stage, and the parity of its barriers.
struct Ring {
  const ir::Var *stage, *phase;

  Ring(Builder& b, const char* name)
      : stage(b.var(std::string(name) + "_stage", b.u32(0))), phase(b.var(std::string(name) + "_phase", b.u32(0))) {}

  const Expr* full(Builder& b) const { return b.e().add(b.e().mul(b.e().var(stage), 8), b.shared(barriers)); }
  const Expr* empty(Builder& b) const { return b.e().add(full(b), 8 * stages); }
  const Expr* tile(Builder& b, std::int64_t offset) const {
    return b.e().add(b.e().mul(b.e().var(stage), stage_bytes), b.shared(offset));
  }
  void advance(Builder& b) const {
    ir::ExprPool& e = b.e();
    b.add<control::AssignVar>(stage, e.add(e.var(stage), 1));
    b.when(e.binary(ExprKind::eq, e.var(stage), b.u32(stages)), [&] {
      b.add<control::AssignVar>(stage, b.u32(0));
      b.add<control::AssignVar>(phase, e.binary(ExprKind::bit_xor, e.var(phase), b.u32(1)));
    });
  }
};

void produce(Builder& b, const Expr* rank, const Expr* row0, const Expr* column0) {
  ir::ExprPool& e = b.e();
  b.line(20).add<thread::SetMaxRegisters>(40, false);
  b.when(e.both(e.binary(ExprKind::eq, b.warp(), b.i32(0)), b.elected()), [&] {
    const Ring ring(b, "fill");
    const Expr* half = b.let("half", e.mul(rank, 128), 0, 128, 128);
    b.line(21).loop("k", matmul_k, 64, 1, [&](const Expr* k) {
      b.line(22)
          .add<thread::MbarrierWait>(ring.empty(b), e.binary(ExprKind::bit_xor, e.var(ring.phase), b.u32(1)))
          ->cluster = true;
      b.line(23).add<thread::MbarrierArriveExpectTx>(ring.full(b), b.u32(stage_bytes));
      b.line(24).add<thread::TmaLoadBox>(0U, ring.tile(b, 0), std::vector{k, row0}, ring.full(b))->hint =
          ir::CacheHint::evict_first;
      const Expr* mine = e.add(ring.tile(b, a_bytes), e.mul(e.cast(DType::u32, half), 128));
      auto* shared_half =
          b.line(25).add<thread::TmaLoadBox>(1U, mine, std::vector{k, e.add(column0, half)}, ring.full(b));
      shared_half->multicast = b.u32(3);
      shared_half->hint = ir::CacheHint::evict_last;
      ring.advance(b);
    });
  });
}

// 64 x 256 accumulators of one warpgroup to 16-bit panels of 64 columns in shared memory, and from there to memory.
void store_half(Builder& b, const ir::RegArray* acc, const Expr* half, const Expr* row0, const Expr* column0) {
  ir::ExprPool& e = b.e();
  const Expr *lane = b.lane(), *warp = e.mod(b.warp(), 4);
  const auto* out = b.line(40).regs("out", DType::bf16, 128);
  b.loop("i", 128, 2, 0, [&](const Expr* i) {
    b.add<thread::WriteRegs>(
        b.ref(out, i), std::vector{e.cast(DType::bf16, e.reg(acc, i)), e.cast(DType::bf16, e.reg(acc, e.add(i, 1)))});
  });
  const Expr* tile = b.let("tile", e.add(b.shared(c_offset), e.mul(e.cast(DType::u32, half), half_bytes)));
  const Expr* row = b.let("row", e.add(e.mul(warp, 16), e.mod(lane, 16)), 0, 63, 1);
  b.line(41).loop("j", 16, 1, 0, [&](const Expr* j) {
    const Expr* chunk = e.add(e.mul(e.mod(j, 4), 2), e.div(lane, 16));
    const Expr* flipped = e.binary(ExprKind::bit_xor, chunk, e.mod(row, 8));
    const Expr* offset = e.add(e.add(e.mul(row, 128), e.mul(flipped, 16)), e.mul(e.div(j, 4), 8192));
    b.add<thread::StMatrix>(b.ref(out, e.mul(j, 8)), 4, false, e.add(tile, e.cast(DType::u32, offset)));
  });
  b.line(42).add<thread::Fence>(thread::FenceKind::proxy_async_shared, "");
  for (const int which : {0, 1}) {
    b.when(e.binary(ExprKind::eq, half, b.i32(which)), [&] { b.line(43).add<thread::BarrierSync>(1 + which, 128); });
  }
  b.line(44).when(e.both(e.binary(ExprKind::eq, warp, b.i32(0)), b.elected()), [&] {
    for (std::int64_t panel = 0; panel < 4; ++panel) {
      const std::vector<const Expr*> at = {e.add(column0, 64 * panel), e.add(row0, e.mul(half, 64))};
      b.add<thread::TmaStoreBox>(2U, e.add(tile, 8192 * panel), at, false);
    }
    b.line(45).add<thread::TmaCommit>();
    b.line(46).add<thread::TmaWait>(0, true);
  });
}

void consume(Builder& b, const Expr* row0, const Expr* column0) {
  ir::ExprPool& e = b.e();
  b.line(30).add<thread::SetMaxRegisters>(232, true);
  const Ring ring(b, "drain");
  const Expr* half = b.let("half", e.add(e.div(b.warp(), 4), -1), 0, 1, 1);
  const auto* acc = b.regs("acc", DType::f32, 128);
  const auto low = [&](const Expr* address) {
    return e.binary(ExprKind::bit_or, e.binary(ExprKind::shr, address, b.u32(4)), b.u32(0x10000));
  };
  const Expr* a_low = b.let("a_low", low(e.add(b.shared(), e.mul(e.cast(DType::u32, half), 64 * 128))));
  const Expr* b_low = b.let("b_low", low(b.shared(a_bytes)));
  b.line(31).loop("k", matmul_k, 64, 1, [&](const Expr* k) {
    b.line(32).add<thread::MbarrierWait>(ring.full(b), e.var(ring.phase))->cluster = true;
    b.line(33).add<thread::WgmmaFence>();
    const Expr* at = e.mul(e.var(ring.stage), stage_bytes / 16);
    for (std::int64_t kk = 0; kk < 4; ++kk) {
      auto* mma = b.line(34).add<thread::Wgmma>(DType::bf16, DType::bf16, DType::f32, 256, b.ref(acc, 0));
      mma->a = {e.add(e.add(a_low, at), 2 * kk), descriptor_high};
      mma->b = {e.add(e.add(b_low, at), 2 * kk), descriptor_high};
      if (kk == 0) mma->accumulate = e.binary(ExprKind::gt, k, b.i32(0));
    }
    b.line(35).add<thread::WgmmaCommit>();
    b.line(36).add<thread::WgmmaWait>(0, std::vector{acc});
    b.line(37).when(e.binary(ExprKind::lt, b.lane(), b.i32(2)),
                    [&] { b.add<thread::MbarrierArrive>(ring.empty(b), 1U, e.cast(DType::u32, b.lane())); });
    ring.advance(b);
  });
  store_half(b, acc, half, row0, column0);
}

}  // namespace

// C = A * B^T: 128 x 256 x 64 tiles, one producer and two consumer warpgroups, a ring of three stages, clusters of two
// CTAs that load half of B each for both.
thread::Kernel cluster_matmul() {
  constexpr std::int64_t n_size = matmul_n, k_size = matmul_k;
  Builder b("cluster_matmul", 12);
  ir::ExprPool& e = b.e();
  b.kernel.cluster = {2, 1, 1};
  b.kernel.dependent_launch = true;
  const Expr* m = b.scalar("m_size", DType::i32);
  const auto pa = b.pointer("a_ptr", DType::bf16, false), pb = b.pointer("b_ptr", DType::bf16, false);
  const auto pc = b.pointer("c_ptr", DType::bf16, true);
  b.kernel.tensor_maps = {map_of(b, "a", pa, m, k_size, 128), map_of(b, "b", pb, b.i32(n_size), k_size, 128),
                          map_of(b, "c", pc, m, n_size, 64)};
  b.kernel.shared_bytes = barriers + 16 * stages;
  b.kernel.regions = {{"ring", 0, stages * stage_bytes, false, Builder::at(8)},
                      {"sc", c_offset, 2 * half_bytes, false, Builder::at(9)},
                      {"full", barriers, 8 * stages, true, Builder::at(10)},
                      {"empty", barriers + 8 * stages, 8 * stages, true, Builder::at(10)}};
  b.kernel.grid = {e.mul(e.cast(DType::i64, e.div(e.add(m, 255), 256)), 2), e.i64(n_size / 256), e.i64(1)};
  const Expr* bx = e.bounded_leaf(ExprKind::block_idx, DType::i32, 0, 0, INT32_MAX / 128 - 2);
  const Expr* by = e.bounded_leaf(ExprKind::block_idx, DType::i32, 1, 0, n_size / 256 - 1);
  const Expr* rank = e.bounded_leaf(ExprKind::cluster_rank, DType::i32, 0, 0, 1);
  const Expr* row0 = b.line(11).let("offset_m", e.mul(bx, 128), 0, INT32_MAX - 256, 128);
  const Expr* column0 = b.line(12).let("offset_n", e.mul(by, 256));
  const Expr* leader = e.both(e.binary(ExprKind::eq, b.warp(), b.i32(0)), b.elected());
  b.line(13).when(leader, [&] {
    for (const std::uint32_t map : {0U, 1U, 2U}) b.add<thread::PrefetchTensorMap>(map);
    for (std::int64_t s = 0; s < stages; ++s) {
      b.add<thread::MbarrierInit>(b.shared(barriers + 8 * s), 1U);
      b.add<thread::MbarrierInit>(b.shared(barriers + 8 * (stages + s)), 16U);  // from each consumer warp of both CTAs
    }
  });
  b.add<thread::Fence>(thread::FenceKind::mbarrier_init, "");
  b.line(14).add<thread::ClusterArrive>(true);
  b.add<thread::ClusterWait>();
  b.line(15).add<thread::GridDependency>(false);
  auto* roles = b.line(16).when(e.binary(ExprKind::lt, b.warp(), b.i32(4)), [&] { produce(b, rank, row0, column0); });
  b.within(roles->else_body, [&] { consume(b, row0, column0); });
  b.line(50).add<thread::ClusterArrive>();
  b.add<thread::ClusterWait>();
  return std::move(b.kernel);
}

// What cluster_matmul has no use for: stores and reductions of every rank, prefetches, stmatrix in every form, wgmma
// with an operand in registers, MN-major and negated, barriers at which threads arrive only.
thread::Kernel hopper_forms() {
  Builder b("hopper_forms", 8);
  ir::ExprPool& e = b.e();
  const auto out = b.pointer("out", DType::f16, true);
  b.kernel.shared_bytes = 16384;
  b.kernel.regions = {{"tile", 0, 16384, false, Builder::at(3)}};
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    thread::TensorMap map;
    map.name = "out_map";
    map.param = out;
    map.base_offset = e.i64(0);
    map.dims.assign(rank, e.i64(64));
    std::int64_t stride = 2;
    for (std::size_t i = 1; i < rank; ++i) map.strides_bytes.push_back(e.i64(stride *= 64));
    map.box.assign(rank, 1);
    map.box[0] = 64;
    b.kernel.tensor_maps.push_back(map);
  }
  const Expr* row = b.line(4).let("row", e.add(b.shared(), e.mul(e.cast(DType::u32, b.lane()), 16)));
  const auto* a = b.line(5).regs("a", DType::f16, 8);
  b.add<thread::LdMatrix>(b.ref(a, 0), 4, false, row);
  for (const bool transposed : {false, true})
    for (const int matrices : {1, 2, 4}) b.line(6).add<thread::StMatrix>(b.ref(a, 0), matrices, transposed, row);
  const auto* d = b.line(7).regs("d", DType::f32, 32);
  const auto* h = b.regs("d_half", DType::f16, 16);
  b.line(8).add<thread::WgmmaFence>();
  auto* first = b.line(9).add<thread::Wgmma>(DType::f16, DType::f16, DType::f32, 64, b.ref(d, 0));
  first->a_registers = b.ref(a, 0);
  first->b = {b.u32(0x10000), descriptor_high};
  first->b_mn_major = true;
  first->accumulate = e.boolean(false);
  auto* second = b.line(10).add<thread::Wgmma>(DType::f16, DType::f16, DType::f32, 64, b.ref(d, 0));
  second->a = second->b = {b.u32(0x10000), descriptor_high};
  second->a_mn_major = true;
  second->negate_a = second->negate_b = true;
  auto* third = b.line(11).add<thread::Wgmma>(DType::f16, DType::f16, DType::f16, 32, b.ref(h, 0));
  third->a = third->b = {b.u32(0x10000), descriptor_high};
  third->accumulate = e.boolean(false);
  b.line(12).add<thread::WgmmaCommit>();
  b.add<thread::WgmmaWait>(0, std::vector{d, h});
  b.line(13).loop("i", 16, 2, 0, [&](const Expr* i) {
    b.add<thread::WriteRegs>(b.ref(h, i), std::vector{e.cast(DType::f16, e.add(e.reg(d, i), e.reg(d, e.add(i, 16)))),
                                                      e.reg(h, e.add(i, 1))});
  });
  b.line(14).loop("i", 2, 1, 0,
                  [&](const Expr* i) { b.add<thread::StoreSharedVector>(b.ref(h, e.mul(i, 8)), 8, e.add(row, 512)); });
  b.line(15).add<thread::Fence>(thread::FenceKind::proxy_async_shared, "");
  auto* halves = b.line(16).when(e.binary(ExprKind::lt, b.warp(), b.i32(4)),
                                 [&] { b.line(17).add<thread::BarrierArrive>(2, 256); });
  b.within(halves->else_body, [&] {
    b.line(18).add<thread::BarrierSync>(2, 256);
    b.when(e.both(e.binary(ExprKind::eq, b.warp(), b.i32(4)), b.elected()), [&] {
      for (std::uint32_t rank = 1; rank <= 5; ++rank) {
        const std::vector<const Expr*> coords(rank, b.i32(0));
        b.line(18 + rank).add<thread::TmaPrefetchBox>(rank - 1, coords);
        b.add<thread::TmaStoreBox>(rank - 1, b.shared(512), coords, false);
        b.add<thread::TmaStoreBox>(rank - 1, b.shared(512), coords, true)->hint = ir::CacheHint::evict_normal;
      }
      b.line(24).add<thread::TmaCommit>();
      b.add<thread::TmaWait>(1, true);
      b.add<thread::TmaWait>(0, false);
    });
  });
  b.line(25).add<thread::GridDependency>(true);
  return std::move(b.kernel);
}

// From and to the 8-bit floats: every other type, single elements and whole registers, and copies.
thread::Kernel float8_casts() {
  Builder b("float8_casts", 1);
  ir::ExprPool& e = b.e();
  constexpr DType others[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::boolean};
  const Expr* i = nullptr;
  for (const DType t : {DType::f8e4m3, DType::f8e5m2}) {
    const std::string name = t == DType::f8e4m3 ? "e4m3" : "e5m2";
    const auto in = b.pointer(name + "_in", t, false), out = b.pointer(name + "_out", t, true);
    if (i == nullptr) i = b.let("i", e.cast(DType::i64, b.thread_idx()));
    const auto* r = b.line(10).regs(name, t, 4);
    b.add<thread::LoadGlobalVector>(b.ref(r, 0), 4, in, e.mul(i, 4), nullptr);
    std::int64_t place = 0;
    const auto store = [&](const ir::RegArray* array, int count) {
      b.add<thread::StoreGlobalVector>(b.ref(array, 0), count, out, e.add(e.mul(i, 4), 128 * place++), nullptr);
    };
    store(r, 4);
    for (const DType other : others) {  // there and back
      b.line(11 + static_cast<std::uint32_t>(other));
      const auto* there = b.regs("", other, 4);
      for (int k = 0; k < 4; ++k) b.add<thread::WriteRegs>(b.ref(there, k), std::vector{e.cast(other, b.reg(r, k))});
      const auto* back = b.regs("", t, 4);
      b.add<thread::WriteRegs>(b.ref(back, 0), std::vector{e.cast(t, b.reg(there, 0)), e.cast(t, b.reg(there, 1)),
                                                           e.cast(t, b.reg(there, 2)), e.cast(t, b.reg(there, 3))});
      store(back, 4);
      b.add<thread::WriteRegs>(b.ref(back, 1), std::vector{e.cast(t, b.reg(there, 3))});
      store(back, 1);
    }
    const auto* chosen = b.line(40).regs("", t, 1);
    const Expr* positive = e.binary(ExprKind::gt, e.cast(DType::f32, b.reg(r, 0)), e.real(DType::f32, 0));
    b.add<thread::WriteRegs>(b.ref(chosen, 0), std::vector{e.select(positive, b.reg(r, 0), e.real(t, 1.5))});
    store(chosen, 1);
  }
  const auto wide = b.pointer("wide", DType::f32, false), narrow = b.pointer("narrow", DType::f8e4m3, true);
  const auto brief = b.pointer("brief", DType::f8e5m2, true);
  const auto* w = b.line(41).regs("w", DType::f32, 4);
  b.add<thread::LoadGlobalVector>(b.ref(w, 0), 4, wide, e.mul(i, 4), nullptr);
  for (const std::uint32_t p : {narrow, brief}) {
    const DType t = p == narrow ? DType::f8e4m3 : DType::f8e5m2;
    const auto* packed = b.regs("", t, 4);
    std::vector<const Expr*> values;
    for (int k = 0; k < 4; ++k) values.push_back(e.cast(t, b.reg(w, k)));
    b.add<thread::WriteRegs>(b.ref(packed, 0), values);
    b.add<thread::StoreGlobalVector>(b.ref(packed, 0), 4, p, e.mul(i, 4), nullptr);
  }
  return std::move(b.kernel);
}

// Blocks that wait for the one before them, and count themselves in.
thread::Kernel global_flags() {
  Builder b("global_flags", 1);
  ir::ExprPool& e = b.e();
  const auto flags = b.pointer("flags", DType::u32, true);
  const auto started = b.pointer("started", DType::u32, false);
  b.kernel.grid[0] = e.i64(8);
  const Expr* me = b.line(2).let("me", e.cast(DType::i64, e.leaf(ExprKind::block_idx, DType::i32, 0)), 0, 7, 1);
  b.line(3).when(b.elected(), [&] {
    b.line(4).add<thread::WaitFlag>(started, e.i64(0), b.u32(1), false);
    b.line(5).add<thread::WaitFlag>(flags, e.i64(8), e.cast(DType::u32, me), true);
    b.line(6).add<thread::SignalFlag>(flags, me, b.u32(1), false);
    b.line(7).add<thread::SignalFlag>(flags, e.i64(8), b.u32(1), true);
  });
  return b.kernel;
}

// Every width of access to the shared memory of other CTAs: each thread of a cluster of four writes into the next CTA
// and reads from the one after that, where lanes that are masked out leave what was there.
thread::Kernel peer_memory() {
  Builder b("peer_memory", 1);
  ir::ExprPool& e = b.e();
  constexpr int ctas = 4, lanes = 32, most_bytes = 16, widths = 5;
  constexpr DType types[widths] = {DType::u8, DType::u16, DType::u32, DType::u32, DType::u32};
  b.kernel.cluster = {ctas, 1, 1};
  b.kernel.grid[0] = e.i64(ctas);
  b.kernel.shared_bytes = widths * lanes * most_bytes;
  b.kernel.regions = {{"slots", 0, b.kernel.shared_bytes, false, Builder::at(1)}};
  const auto in_bytes = b.pointer("in_bytes", DType::u8, false), in_halves = b.pointer("in_halves", DType::u16, false),
             in_words = b.pointer("in_words", DType::u32, false);
  const auto out_bytes = b.pointer("out_bytes", DType::u8, true),
             out_halves = b.pointer("out_halves", DType::u16, true),
             out_words = b.pointer("out_words", DType::u32, true);
  const Expr* rank = e.bounded_leaf(ExprKind::cluster_rank, DType::i32, 0, 0, ctas - 1);
  const auto peer = [&](int distance) { return e.cast(DType::u32, e.mod(e.add(rank, distance), ctas)); };
  const Expr* mine = b.line(2).let("mine", e.add(e.mul(rank, lanes), b.lane()), 0, ctas * lanes - 1, 1);
  const Expr* next = b.line(3).let("next", peer(1), 0, ctas - 1, 1);
  const Expr* other = b.line(4).let("other", peer(2), 0, ctas - 1, 1);
  const auto in_of = [&](DType t) { return t == DType::u8 ? in_bytes : t == DType::u16 ? in_halves : in_words; };
  const auto out_of = [&](DType t) { return t == DType::u8 ? out_bytes : t == DType::u16 ? out_halves : out_words; };
  const auto each_width = [&](auto f) {
    for (int w = 0; w < widths; ++w) {
      const int bytes = 1 << w, count = std::max(1, bytes / 4);
      const Expr* slot =
          e.add(b.shared(std::int64_t{w} * lanes * most_bytes), e.cast(DType::u32, e.mul(b.lane(), bytes)));
      // Words of all widths lie one after the other in the buffers of words.
      const Expr* at = e.cast(DType::i64, e.add(e.mul(mine, count), w == 3   ? ctas * lanes
                                                                    : w == 4 ? 3 * ctas * lanes
                                                                             : 0));
      f(w, types[w], count, slot, at);
    }
  };
  const auto synchronise = [&] {
    b.add<thread::ClusterArrive>();
    b.add<thread::ClusterWait>();
  };
  each_width([&](int w, DType type, int count, const Expr* slot, const Expr* at) {
    const auto* own = b.line(10).regs("own" + std::to_string(w), type, static_cast<std::uint32_t>(count));
    b.add<thread::LoadGlobalVector>(b.ref(own, 0), count, in_of(type), at, nullptr);
    b.add<thread::StoreSharedVector>(b.ref(own, 0), count, slot);
  });
  b.line(20);
  synchronise();
  const Expr* some = e.binary(ExprKind::ne, e.mod(b.lane(), 3), b.i32(0));
  each_width([&](int w, DType type, int count, const Expr* slot, const Expr* at) {
    const auto* sent = b.line(21).regs("sent" + std::to_string(w), type, static_cast<std::uint32_t>(count));
    b.add<thread::LoadGlobalVector>(b.ref(sent, 0), count, in_of(type), at, nullptr);
    b.line(22).add<thread::StoreSharedVector>(b.ref(sent, 0), count, slot, w % 2 == 0 ? some : nullptr, next);
  });
  b.line(30);
  synchronise();
  each_width([&](int w, DType type, int count, const Expr* slot, const Expr* at) {
    const auto* got = b.line(31).regs("got" + std::to_string(w), type, static_cast<std::uint32_t>(count));
    b.line(32).add<thread::LoadSharedVector>(b.ref(got, 0), count, slot, other);
    b.line(33).add<thread::StoreGlobalVector>(b.ref(got, 0), count, out_of(type), at, nullptr);
  });
  b.line(40);
  synchronise();
  return std::move(b.kernel);
}

}  // namespace tessera::golden
