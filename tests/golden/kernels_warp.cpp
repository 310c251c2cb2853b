// Golden kernels of whole warps: tensor cores, the copy engine, mbarriers, and a complete matrix product.
#include "golden/builder.hpp"
#include "golden/kernels.hpp"

namespace tessera::golden {

// Every ldmatrix and mma form.
thread::Kernel tensor_cores() {
  Builder b("tensor_cores", 1);
  ir::ExprPool& e = b.e();
  b.kernel.shared_bytes = 2048;
  b.kernel.regions.push_back({"tile", 0, 2048, false, Builder::at(3)});
  const auto out = b.pointer("out", DType::f32, true), half_out = b.pointer("half_out", DType::f16, true);
  const Expr* row = b.line(4).let("row", e.add(b.shared(), e.mul(e.cast(DType::u32, b.lane()), 16)));
  const auto* a = b.line(5).regs("a", DType::f16, 8);
  const auto* bf = b.regs("a_brain", DType::bf16, 8);
  const auto* m = b.regs("m", DType::f16, 8);
  const auto* n = b.regs("n", DType::bf16, 4);
  const auto* d = b.regs("d", DType::f32, 8);
  const auto* h = b.regs("d_half", DType::f16, 4);
  const Expr* zero = e.real(DType::f32, 0);
  b.add<thread::WriteRegs>(b.ref(d, 0), std::vector<const Expr*>(8, zero));
  b.add<thread::WriteRegs>(b.ref(h, 0), std::vector<const Expr*>(4, e.real(DType::f16, 0)));
  b.line(6).add<thread::LdMatrix>(b.ref(a, 0), 4, false, row);
  b.add<thread::LdMatrix>(b.ref(bf, 0), 4, true, row);
  b.add<thread::LdMatrix>(b.ref(m, 0), 2, false, e.add(row, 512));
  b.add<thread::LdMatrix>(b.ref(n, 0), 2, true, e.add(row, 512));
  b.add<thread::LdMatrix>(b.ref(m, 4), 1, false, e.add(row, 1024));
  b.add<thread::LdMatrix>(b.ref(m, 6), 1, true, e.add(row, 1024));
  b.line(7).add<thread::MmaSync>(DType::f16, DType::f32, b.ref(d, 0), b.ref(a, 0), b.ref(m, 0));
  b.add<thread::MmaSync>(DType::f16, DType::f32, b.ref(d, 4), b.ref(a, 0), b.ref(m, 4));
  b.add<thread::MmaSync>(DType::bf16, DType::f32, b.ref(d, 4), b.ref(bf, 0), b.ref(n, 0));
  b.add<thread::MmaSync>(DType::f16, DType::f16, b.ref(h, 0), b.ref(a, 0), b.ref(m, 0));
  const Expr* at = e.cast(DType::i64, e.mul(b.lane(), 8));
  b.line(8).add<thread::StoreGlobalVector>(b.ref(d, 0), 4, out, at, nullptr);
  b.add<thread::StoreGlobalVector>(b.ref(d, 4), 4, out, e.add(at, 4), nullptr);
  b.add<thread::StoreGlobalVector>(b.ref(h, 0), 4, half_out, at, nullptr);
  return std::move(b.kernel);
}

// Boxes of one to five dimensions, mbarriers, named barriers and both fences.
thread::Kernel tma_pipeline() {
  Builder b("tma_pipeline", 8);
  ir::ExprPool& e = b.e();
  const auto src = b.pointer("src", DType::bf16, false);
  b.kernel.shared_bytes = 1024 + 16;
  b.kernel.regions = {{"tile", 0, 1024, false, Builder::at(3)}, {"full", 1024, 16, true, Builder::at(4)}};
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    thread::TensorMap map;
    map.name = "src_map";
    map.param = src;
    map.type = DType::bf16;
    map.base_offset = e.i64(0);
    map.dims.assign(rank, e.i64(64));
    std::int64_t stride = 2;
    for (std::size_t i = 1; i < rank; ++i) map.strides_bytes.push_back(e.i64(stride *= 64));
    map.box.assign(rank, 1);
    map.box[0] = 64;
    map.swizzle = thread::Swizzle::b128;
    b.kernel.tensor_maps.push_back(map);
  }
  const Expr* leader = e.both(e.binary(ExprKind::eq, b.warp(), b.i32(0)), b.elected());
  b.line(5).when(leader, [&] {
    b.add<thread::MbarrierInit>(b.shared(1024), 1U);
    b.add<thread::MbarrierInit>(b.shared(1032), 128U);
  });
  b.add<thread::Fence>(thread::FenceKind::mbarrier_init, "makes the barriers known to the copy engine");
  b.add<thread::BarrierSync>(0, 256);
  const auto* phase = b.line(6).var("phase", b.u32(0));
  b.line(7).loop("k", 4, 1, 1, [&](const Expr* k) {
    b.line(8).when(leader, [&] {
      b.add<thread::MbarrierArriveExpectTx>(b.shared(1024), b.u32(5 * 128));
      for (std::uint32_t rank = 1; rank <= 5; ++rank) {
        std::vector<const Expr*> coords(rank, k);
        b.line(8 + rank).add<thread::TmaLoadBox>(rank - 1, b.shared(128 * rank), coords, b.shared(1024));
      }
    });
    b.line(14).add<thread::MbarrierWait>(b.shared(1024), e.var(phase));
    b.when(e.binary(ExprKind::ge, b.warp(), b.i32(4)), [&] {
      b.line(15).add<thread::MbarrierArrive>(b.shared(1032), 1U);
      b.line(16).add<thread::BarrierSync>(3, 128);
    });
    b.line(17).add<thread::Fence>(thread::FenceKind::proxy_async_shared, "the tile is written by TMA again");
    b.add<thread::BarrierSync>(0, 256);
    b.add<control::AssignVar>(phase, e.binary(ExprKind::bit_xor, e.var(phase), b.u32(1)));
  });
  return std::move(b.kernel);
}

namespace {

// Address of the 16-byte chunk `chunk` of row `row` of a tile with 128-byte rows in the 128-byte swizzle.
const Expr* swizzled(Builder& b, const Expr* base, const Expr* row, const Expr* chunk) {
  ir::ExprPool& e = b.e();
  const Expr* flipped = e.binary(ExprKind::bit_xor, chunk, e.mod(row, 8));
  return e.add(base, e.cast(DType::u32, e.add(e.mul(row, 128), e.mul(flipped, 16))));
}

struct MatmulParts {
  const Expr *m, *row0, *column0;
  std::uint32_t c;
  const ir::RegArray *acc, *a, *b;
};

// One k-step of 16 for a warp's 64 x 64 part.
void matmul_step(Builder& b, const MatmulParts& p, const Expr* wm, const Expr* wn, const Expr* kk) {
  ir::ExprPool& e = b.e();
  const Expr* lane = b.lane();
  b.line(20).loop("i", 4, 1, 0, [&](const Expr* i) {
    const Expr* row = e.add(e.add(e.mul(wm, 64), e.mod(lane, 16)), e.mul(i, 16));
    const Expr* chunk = e.add(e.mul(kk, 2), e.div(lane, 16));
    b.add<thread::LdMatrix>(b.ref(p.a, e.mul(i, 8)), 4, false, swizzled(b, b.shared(0), row, chunk));
  });
  b.line(21).loop("j", 4, 1, 0, [&](const Expr* j) {
    const Expr* within = e.add(e.mod(lane, 8), e.mul(e.div(lane, 16), 8));
    const Expr* row = e.add(e.add(e.mul(wn, 64), within), e.mul(j, 16));
    const Expr* chunk = e.add(e.mul(kk, 2), e.mod(e.div(lane, 8), 2));
    b.add<thread::LdMatrix>(b.ref(p.b, e.mul(j, 8)), 4, false, swizzled(b, b.shared(16384), row, chunk));
  });
  b.line(22).loop("i", 4, 1, 0, [&](const Expr* i) {
    b.loop("j", 8, 1, 0, [&](const Expr* j) {
      b.add<thread::MmaSync>(DType::f16, DType::f32, b.ref(p.acc, e.add(e.mul(i, 32), e.mul(j, 4))),
                             b.ref(p.a, e.mul(i, 8)), b.ref(p.b, e.mul(j, 4)));
    });
  });
}

void matmul_store(Builder& b, const MatmulParts& p, const Expr* wm, const Expr* wn, std::int64_t n_size) {
  ir::ExprPool& e = b.e();
  const Expr* lane = b.lane();
  const auto* out = b.line(30).regs("out", DType::f16, 128);
  b.loop("i", 128, 2, 0, [&](const Expr* i) {
    b.add<thread::WriteRegs>(
        b.ref(out, i), std::vector{e.cast(DType::f16, e.reg(p.acc, i)), e.cast(DType::f16, e.reg(p.acc, e.add(i, 1)))});
  });
  b.line(31).loop("i", 4, 1, 0, [&](const Expr* i) {
    b.loop("half", 2, 1, 0, [&](const Expr* half) {
      const Expr* row =
          b.let("row", e.add(p.row0, e.add(e.add(e.mul(wm, 64), e.div(lane, 4)), e.add(e.mul(i, 16), e.mul(half, 8)))));
      const Expr* inside = b.let("inside", e.binary(ExprKind::lt, row, p.m));
      b.loop("j", 8, 1, 0, [&](const Expr* j) {
        const Expr* column = e.add(p.column0, e.add(e.add(e.mul(wn, 64), e.mul(e.mod(lane, 4), 2)), e.mul(j, 8)));
        const Expr* mask = e.both(inside, e.binary(ExprKind::lt, column, b.i32(n_size)));
        const Expr* offset = e.add(e.mul(e.cast(DType::i64, row), n_size), e.cast(DType::i64, column));
        b.add<thread::StoreGlobalVector>(b.ref(out, e.add(e.add(e.mul(i, 32), e.mul(j, 4)), e.mul(half, 2))), 2, p.c,
                                         offset, mask);
      });
    });
  });
}

thread::TensorMap operand_map(Builder& b, const char* name, std::uint32_t param, const Expr* rows,
                              std::int64_t columns) {
  thread::TensorMap map;
  map.name = name;
  map.param = param;
  map.base_offset = b.e().i64(0);
  map.dims = {b.e().i64(columns), b.e().cast(DType::i64, rows)};
  map.strides_bytes = {b.e().i64(2 * columns)};
  map.box = {64, 128};
  map.swizzle = thread::Swizzle::b128;
  return map;
}

}  // namespace

// C = A * B^T: 128 x 128 x 64 tiles by TMA, four warps of 64 x 64, ldmatrix fragment by fragment, masked stores.
thread::Kernel matmul() {
  constexpr std::int64_t n_size = matmul_n, k_size = matmul_k;
  Builder b("matmul", 4);
  ir::ExprPool& e = b.e();
  MatmulParts p{};
  p.m = b.scalar("m_size", DType::i32);
  const auto pa = b.pointer("a_ptr", DType::f16, false), pb = b.pointer("b_ptr", DType::f16, false);
  p.c = b.pointer("c_ptr", DType::f16, true);
  b.kernel.tensor_maps = {operand_map(b, "a", pa, p.m, k_size), operand_map(b, "b", pb, b.i32(n_size), k_size)};
  b.kernel.shared_bytes = 32768 + 8;
  b.kernel.regions = {{"sa", 0, 16384, false, Builder::at(8)},
                      {"sb", 16384, 16384, false, Builder::at(9)},
                      {"tma_barrier", 32768, 8, true, Builder::at(11)}};
  b.kernel.grid = {e.cast(DType::i64, e.div(e.add(p.m, 127), 128)), e.i64(n_size / 128), e.i64(1)};
  const Expr* bx = e.bounded_leaf(ExprKind::block_idx, DType::i32, 0, 0, INT32_MAX / 128);
  const Expr* by = e.bounded_leaf(ExprKind::block_idx, DType::i32, 1, 0, n_size / 128 - 1);
  p.row0 = b.line(5).let("offset_m", e.mul(bx, 128), 0, INT32_MAX - 256, 128);
  p.column0 = b.line(6).let("offset_n", e.mul(by, 128));
  p.acc = b.line(10).regs("acc", DType::f32, 128);
  b.loop("i", 128, 1, 0,
         [&](const Expr* i) { b.add<thread::WriteRegs>(b.ref(p.acc, i), std::vector{e.real(DType::f32, 0)}); });
  const Expr* leader = e.both(e.binary(ExprKind::eq, b.warp(), b.i32(0)), b.elected());
  b.line(11).when(leader, [&] { b.add<thread::MbarrierInit>(b.shared(32768), 1U); });
  b.add<thread::Fence>(thread::FenceKind::mbarrier_init, "");
  b.add<thread::BarrierSync>(0, 128);
  const auto* phase = b.line(12).var("phase", b.u32(0));
  const Expr *wm = b.let("warp_m", e.div(b.warp(), 2)), *wn = b.let("warp_n", e.mod(b.warp(), 2));
  b.line(14).loop("offset_k", k_size, 64, 1, [&](const Expr* k) {
    b.line(15).when(leader, [&] {
      b.line(16).add<thread::MbarrierArriveExpectTx>(b.shared(32768), b.u32(32768));
      b.line(17).add<thread::TmaLoadBox>(0U, b.shared(0), std::vector{k, p.row0}, b.shared(32768));
      b.line(18).add<thread::TmaLoadBox>(1U, b.shared(16384), std::vector{k, p.column0}, b.shared(32768));
      b.line(19).add<thread::MbarrierWait>(b.shared(32768), e.var(phase));
    });
    b.line(19).add<thread::BarrierSync>(0, 128);
    p.a = b.regs("a", DType::f16, 32);
    p.b = b.regs("b", DType::f16, 32);
    b.loop("kk", 4, 1, 0, [&](const Expr* kk) { matmul_step(b, p, wm, wn, kk); });
    b.line(23).add<thread::Fence>(thread::FenceKind::proxy_async_shared,
                                  "sa and sb are read here and written by TMA next");
    b.add<thread::BarrierSync>(0, 128);
    b.line(24).add<control::AssignVar>(phase, e.binary(ExprKind::bit_xor, e.var(phase), b.u32(1)));
  });
  matmul_store(b, p, wm, wn, n_size);
  return std::move(b.kernel);
}

}  // namespace tessera::golden
