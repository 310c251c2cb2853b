// Golden kernels of one thread's work: memory, registers, types, operators, printing and control flow.
#include <fmt/format.h>

#include "golden/builder.hpp"
#include "golden/kernels.hpp"

namespace tessera::golden {

namespace {
constexpr DType every_type[] = {DType::f16, DType::bf16, DType::f32, DType::i8,  DType::i16, DType::i32,
                                DType::i64, DType::u8,   DType::u16, DType::u32, DType::u64, DType::boolean};
}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {{"vector_add", vector_add},
                                        {"packed_registers", packed_registers},
                                        {"casts", casts},
                                        {"arithmetic", arithmetic},
                                        {"printing", printing, true},
                                        {"control_flow", control_flow},
                                        {"tensor_cores", tensor_cores},
                                        {"tma_pipeline", tma_pipeline},
                                        {"matmul", matmul},
                                        {"cluster_matmul", cluster_matmul},
                                        {"hopper_forms", hopper_forms},
                                        {"float8_casts", float8_casts},
                                        {"global_flags", global_flags},
                                        {"peer_memory", peer_memory}};
  return all;
}

// c = a + b, four elements a thread, and a last thread that has fewer.
thread::Kernel vector_add() {
  Builder b("vector_add", 4);
  b.kernel.tile_program = "kernel vector_add(n: int32, a: *float32, b: *float32, c: *float32)\n  c[i] = a[i] + b[i]\n";
  ir::ExprPool& e = b.e();
  const Expr* n = b.scalar("n", DType::i32);
  const auto pa = b.pointer("a", DType::f32, false), pb = b.pointer("b", DType::f32, false),
             pc = b.pointer("c", DType::f32, true);
  b.kernel.grid[0] = e.cast(DType::i64, e.div(e.add(n, 511), 512));
  b.line(10);
  const Expr* first =
      b.let("first", e.add(e.mul(e.cast(DType::i64, b.block(0)), 512), e.cast(DType::i64, e.mul(b.thread_idx(), 4))));
  const Expr* inside = b.let("inside", e.binary(ExprKind::le, e.add(first, 4), e.cast(DType::i64, n)));
  const auto* x = b.line(11).regs("x", DType::f32, 4);
  b.add<thread::LoadGlobalVector>(b.ref(x, 0), 4, pa, first, inside);
  const auto* y = b.line(12).regs("y", DType::f32, 4);
  b.add<thread::LoadGlobalVector>(b.ref(y, 0), 4, pb, first, inside);
  b.line(13).loop("i", 4, 1, 0, [&](const Expr* i) {
    b.add<thread::WriteRegs>(b.ref(x, i), std::vector{e.add(e.reg(x, i), e.reg(y, i))});
  });
  b.line(14).add<thread::StoreGlobalVector>(b.ref(x, 0), 4, pc, first, inside);
  b.line(15).loop("j", 4, 1, 0, [&](const Expr* j) {
    const Expr* at = e.add(first, e.cast(DType::i64, j));
    const Expr* alone =
        e.both(e.unary(ExprKind::logical_not, inside), e.binary(ExprKind::lt, at, e.cast(DType::i64, n)));
    b.add<thread::LoadGlobalVector>(b.ref(x, j), 1, pa, at, alone);
    b.add<thread::LoadGlobalVector>(b.ref(y, j), 1, pb, at, alone);
    b.add<thread::WriteRegs>(b.ref(x, j), std::vector{e.add(e.reg(x, j), e.reg(y, j))});
    b.add<thread::StoreGlobalVector>(b.ref(x, j), 1, pc, at, alone);
  });
  return std::move(b.kernel);
}

// Every width of register array with every width of access, from boundaries and from between them. Every thread has
// 16 bytes of shared memory of its own.
thread::Kernel packed_registers() {
  Builder b("packed_registers", 1);
  ir::ExprPool& e = b.e();
  b.kernel.shared_bytes = 512;
  b.kernel.regions.push_back({"scratch", 0, 512, false, Builder::at(3)});
  const Expr* own = b.let("own", e.add(b.shared(), e.mul(e.cast(DType::u32, b.lane()), 16)));
  const Expr* offset = b.let("offset", e.mul(e.cast(DType::i64, b.thread_idx()), 64));
  const Expr* mask = e.binary(ExprKind::lt, b.lane(), b.i32(7));
  for (const DType type : every_type) {
    const std::string name = name_of(type);
    const int width = size_of(type);
    const auto in = b.pointer(name + "_in", type, false), out = b.pointer(name + "_out", type, true);
    const auto size = static_cast<std::uint32_t>(16 / width + 1);
    const auto* r = b.line(20 + static_cast<std::uint32_t>(type)).regs(name + "_r", type, size);
    for (int bytes = 16; bytes >= width; bytes /= 2) {
      const int count = bytes / width;
      b.add<thread::LoadGlobalVector>(b.ref(r, 0), count, in, e.add(offset, bytes), bytes == 4 ? mask : nullptr);
      b.add<thread::StoreSharedVector>(b.ref(r, 0), count, own, bytes == 8 ? mask : nullptr);
      b.add<thread::LoadSharedVector>(b.ref(r, 1), count, own);
      b.add<thread::StoreGlobalVector>(b.ref(r, 1), count, out, e.add(offset, bytes), bytes == 16 ? mask : nullptr);
    }
    b.add<thread::WriteRegs>(b.ref(r, 0), std::vector{b.reg(r, 1), b.reg(r, 0)});  // values before writes
    b.add<thread::WriteRegs>(b.ref(r, size - 1), std::vector{b.reg(r, 0)});
    b.add<thread::StoreGlobalVector>(b.ref(r, size - 1), 1, out, offset, nullptr);
    b.add<thread::StoreGlobalVector>(b.ref(r, 0), 1, out, e.add(offset, 1), nullptr);
  }
  return std::move(b.kernel);
}

// A conversion from every type to every other.
thread::Kernel casts() {
  Builder b("casts", 1);
  ir::ExprPool& e = b.e();
  std::vector<std::uint32_t> in, out;
  for (const DType t : every_type) in.push_back(b.pointer(std::string(name_of(t)) + "_in", t, false));
  for (const DType t : every_type) out.push_back(b.pointer(std::string(name_of(t)) + "_out", t, true));
  const Expr* i = b.let("i", e.cast(DType::i64, b.thread_idx()));
  for (std::size_t from = 0; from < std::size(every_type); ++from) {
    b.line(10 + static_cast<std::uint32_t>(from));
    const auto* r = b.regs(std::string("from_") + name_of(every_type[from]), every_type[from], 1);
    b.add<thread::LoadGlobalVector>(b.ref(r, 0), 1, in[from], i, nullptr);
    for (std::size_t to = 0; to < std::size(every_type); ++to) {
      if (to == from) continue;
      const auto* w = b.regs("", every_type[to], 1);
      b.add<thread::WriteRegs>(b.ref(w, 0), std::vector{e.cast(every_type[to], b.reg(r, 0))});
      b.add<thread::StoreGlobalVector>(b.ref(w, 0), 1, out[to], e.add(i, static_cast<std::int64_t>(32 * from)),
                                       nullptr);
    }
  }
  const auto* pair = b.line(30).regs("pair", DType::f16, 2);
  const auto* brain = b.regs("brain", DType::bf16, 2);
  const auto* wide = b.regs("wide", DType::f32, 2);
  const Expr* even = e.mul(i, 2);
  b.add<thread::LoadGlobalVector>(b.ref(wide, 0), 2, in[2], even, nullptr);
  b.add<thread::WriteRegs>(b.ref(pair, 0),
                           std::vector{e.cast(DType::f16, b.reg(wide, 0)), e.cast(DType::f16, b.reg(wide, 1))});
  b.add<thread::WriteRegs>(b.ref(brain, 0),
                           std::vector{e.cast(DType::bf16, b.reg(wide, 0)), e.cast(DType::bf16, b.reg(wide, 1))});
  b.add<thread::StoreGlobalVector>(b.ref(pair, 0), 2, out[0], e.add(even, 32 * 12), nullptr);
  b.add<thread::StoreGlobalVector>(b.ref(brain, 0), 2, out[1], e.add(even, 32 * 12), nullptr);
  return std::move(b.kernel);
}

// Every operator on every type that has it, and the shapes of text that brackets depend on.
thread::Kernel arithmetic() {
  Builder b("arithmetic", 1);
  ir::ExprPool& e = b.e();
  const Expr* i = nullptr;
  for (const DType t : every_type) {
    if (t == DType::boolean) continue;
    const auto p = b.pointer(name_of(t), t, true);
    if (i == nullptr) i = b.let("i", e.cast(DType::i64, b.thread_idx()));
    const auto* r = b.line(10 + static_cast<std::uint32_t>(t)).regs("r", t, 4);
    for (int k = 0; k < 4; ++k) b.add<thread::LoadGlobalVector>(b.ref(r, k), 1, p, e.add(i, 32 * k), nullptr);
    const Expr *x = b.reg(r, 0), *y = b.reg(r, 1), *z = b.reg(r, 2);
    std::vector<const Expr*> results;
    for (const ExprKind k :
         {ExprKind::add, ExprKind::sub, ExprKind::mul, ExprKind::div, ExprKind::mod, ExprKind::min, ExprKind::max})
      results.push_back(e.binary(k, x, y));
    if (!is_float(t)) {
      for (const ExprKind k : {ExprKind::bit_and, ExprKind::bit_or, ExprKind::bit_xor, ExprKind::shl, ExprKind::shr})
        results.push_back(e.binary(k, x, y));
      results.push_back(e.unary(ExprKind::bit_not, x));
      results.push_back(
          e.binary(ExprKind::bit_xor, x, e.binary(ExprKind::bit_and, y, e.binary(ExprKind::shr, z, e.constant(t, 3)))));
    }
    results.push_back(e.unary(ExprKind::neg, x));
    for (const ExprKind k : {ExprKind::lt, ExprKind::le, ExprKind::gt, ExprKind::ge, ExprKind::eq, ExprKind::ne})
      results.push_back(e.select(e.binary(k, x, y), z, is_float(t) ? e.real(t, 1.5) : e.constant(t, -3)));
    results.push_back(e.mul(e.sub(x, e.sub(y, z)), e.add(x, y)));
    results.push_back(is_float(t) ? e.add(x, e.real(t, -0.1)) : e.add(e.mul(x, 5), -7));
    std::int64_t place = 4;
    for (const Expr* value : results) {
      b.add<thread::WriteRegs>(b.ref(r, 3), std::vector{value});
      b.add<thread::StoreGlobalVector>(b.ref(r, 3), 1, p, e.add(i, 32 * place++), nullptr);
    }
  }
  const auto out = b.pointer("out", DType::i32, true);
  const Expr *n = b.scalar("n", DType::i32), *on = b.scalar("on", DType::boolean);
  const auto* v = b.line(40).regs("v", DType::i32, 1);
  const auto write = [&](const Expr* value, int place) {
    b.add<thread::WriteRegs>(b.ref(v, 0), std::vector{value});
    b.add<thread::StoreGlobalVector>(b.ref(v, 0), 1, out, e.add(i, 32 * place), nullptr);
  };
  const Expr* t = b.thread_idx();
  const Expr* positive = e.binary(ExprKind::gt, n, b.i32(0));
  const Expr* odd = e.binary(ExprKind::eq, e.mod(n, 2), b.i32(1));
  write(e.cast(DType::i32, e.binary(ExprKind::logical_or, e.both(positive, on), e.unary(ExprKind::logical_not, odd))),
        0);
  write(e.mul(e.add(t, 3), e.div(t, 7)), 1);
  write(e.binary(ExprKind::shl, t, b.i32(2)), 2);
  write(e.select(on, e.select(odd, t, b.i32(INT32_MIN)), e.sub(t, n)), 3);
  return std::move(b.kernel);
}

thread::Kernel printing() {
  Builder b("printing", 1);
  ir::ExprPool& e = b.e();
  const Expr *h = b.scalar("h", DType::f16), *f = b.scalar("f", DType::f32), *l = b.scalar("l", DType::u64),
             *s = b.scalar("s", DType::i8);
  b.line(5).when(e.binary(ExprKind::eq, b.thread_idx(), b.i32(0)), [&] {
    b.add<thread::PrintThread>(std::vector<std::string>{"100% \"sure\"\\\t\n"}, std::vector<const Expr*>{});
    b.line(6).add<thread::PrintThread>(std::vector<std::string>{"h = ", ", f = ", ", l = ", ", s = ", ", b = ", "\n"},
                                       std::vector{h, f, l, s, e.binary(ExprKind::lt, s, e.constant(DType::i8, 3))});
    std::vector<std::string> pieces(41, " ");
    b.line(7).add<thread::PrintThread>(pieces, std::vector<const Expr*>(40, b.thread_idx()));
  });
  return std::move(b.kernel);
}

thread::Kernel control_flow() {
  Builder b("for", 1);  // a name that C++ keeps for itself
  ir::ExprPool& e = b.e();
  const Expr* n = b.scalar("while", DType::i32);
  const auto out = b.pointer("out-put", DType::i32, true);
  const auto* count = b.line(4).var("count", b.i32(0));
  const Expr* now = e.var(count);
  b.line(5).loop("i", 100, 1, 1, [&](const Expr* i) {
    b.line(6).when(e.binary(ExprKind::eq, i, n), [&] { b.add<control::Break>(); });
    auto* odd = b.line(7).when(e.binary(ExprKind::eq, e.mod(i, 2), b.i32(1)), [&] { b.add<control::Continue>(); });
    b.within(odd->else_body, [&] {
      auto* second = b.line(8).when(e.binary(ExprKind::gt, i, b.i32(50)),
                                    [&] { b.add<control::AssignVar>(count, e.add(now, 2)); });
      b.within(second->else_body, [&] { b.line(9).add<control::AssignVar>(count, e.add(now, 1)); });
    });
  });
  // The bound is a variable that the body changes: it is read once.
  const auto* v = b.line(11).kernel.context->new_value(DType::i32, "i", Builder::at(11));
  auto* loop = b.add<control::For>(v, b.i32(0), now, b.i32(3));
  loop->unroll = 4;
  b.within(loop->body, [&] { b.line(12).add<control::AssignVar>(count, e.add(now, e.value(v))); });
  auto* forever = b.line(13).add<control::Loop>();
  b.within(forever->body, [&] {
    b.add<thread::Comment>("until the count is large");
    b.line(14).add<control::AssignVar>(count, e.add(e.mul(now, 3), 1));
    b.line(15).when(e.binary(ExprKind::gt, now, b.i32(1000)), [&] { b.add<control::Break>(); });
  });
  b.line(16).when(e.binary(ExprKind::lt, b.lane(), b.i32(16)), [&] { b.add<thread::WarpSync>(0xffffU); });
  const auto* r = b.line(17).regs("count", DType::i32, 1);
  b.add<thread::WriteRegs>(b.ref(r, 0), std::vector{now});
  b.add<thread::StoreGlobalVector>(b.ref(r, 0), 1, out, e.i64(0), nullptr);
  return std::move(b.kernel);
}

}  // namespace tessera::golden
