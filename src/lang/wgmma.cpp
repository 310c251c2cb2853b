// Warpgroup matrix multiply-accumulate.
#include "tessera/lang/wgmma.hpp"

#include <fmt/format.h>

#include "ir/wgmma_shape.hpp"
#include "lang/tracer.hpp"

namespace tessera::detail {

using lang::Tracer;
namespace tile = ir::tile;

namespace {

// The operands of one product, wherever a lies.
struct Operands {
  tile::SharedView* a = nullptr;
  tile::RegisterTensor* a_registers = nullptr;
  tile::SharedView* b = nullptr;
  tile::RegisterTensor* acc = nullptr;
  DType a_type() const { return a != nullptr ? a->tensor->type : a_registers->type; }
  tile::Shape a_shape() const { return a != nullptr ? a->shape() : a_registers->shape; }
  SourceLoc a_loc() const { return a != nullptr ? a->tensor->loc : a_registers->loc; }
};

bool check_group(Tracer& t, const char* call, SourceLoc loc) {
  const tile::Group group = t.group(loc);
  if (group.count == 128 && group.begin % 128 == 0 && !group.each_warp) return true;
  t.error(loc, fmt::format("{} is executed by {}", call, lang::group_text(group)),
          "exactly one warpgroup executes it, 128 threads from a multiple of 128: put it under "
          "`if (auto _ = warp_group(4, 4))` or the like");
  return false;
}

bool is_int8(DType type) { return type == DType::i8 || type == DType::u8; }

void check_types(Tracer& t, const Operands& o, SourceLoc loc) {
  const DType a = o.a_type(), b = o.b->tensor->type, acc = o.acc->type;
  constexpr int any_n = 16;  // that every type has
  if (ir::wgmma_shape_error(a, b, acc, any_n).empty()) return;
  t.error(loc,
          fmt::format("wgmma.mma() of a {} and a {} tile into a {} accumulator", name_of(a), name_of(b), name_of(acc)),
          "the tensor cores take float16 and float16 into float32 or float16; bfloat16 and bfloat16 into float32; "
          "float32 and float32 (read as tf32) into float32; float8_e4m3 and float8_e5m2 in any mix into float32 or "
          "float16; int8 and uint8 in any mix into int32",
          {{o.a_loc(), "a"}, {o.b->tensor->loc, "b"}, {o.acc->loc, "the accumulator"}});
}

void check_shapes(Tracer& t, const Operands& o, SourceLoc loc) {
  const tile::Shape a = o.a_shape(), b = o.b->shape(), c = o.acc->shape;
  const std::vector<Note> notes{{o.a_loc(), "a"}, {o.b->tensor->loc, "b"}, {o.acc->loc, "the accumulator"}};
  const bool matrices = a.size() == 2 && b.size() == 2 && c.size() == 2;
  if (!matrices || a[1] != b[0] || a[0] != c[0] || b[1] != c[1]) {
    const bool turned = matrices && a[1] == b[1] && a[0] == c[0] && b[0] == c[1];
    t.error(loc,
            fmt::format("wgmma.mma() of shapes {} and {} into {}", lang::shape_text(a), lang::shape_text(b),
                        lang::shape_text(c)),
            turned ? "a is {m, k}, b is {k, n}, acc is {m, n}: pass b.transpose()"
                   : "a is {m, k}, b is {k, n}, acc is {m, n}; [] takes one stage of a ring",
            notes);
    return;
  }
  const std::int64_t m = a[0], k = a[1], n = b[1], step = 32 / size_of(o.a_type());
  const bool integers = is_int8(o.a_type());
  const bool n_fits = integers ? n == 8 || n == 24 || n % 16 == 0 : n % 8 == 0;
  if (m % 64 == 0 && k % step == 0 && n_fits) return;
  t.error(loc, fmt::format("wgmma.mma() of {} with m = {}, n = {}, k = {}", name_of(o.a_type()), m, n, k),
          fmt::format("m must be a multiple of 64, k of {} (32 bytes), n {}", step,
                      integers ? "8, 24 or a multiple of 16" : "a multiple of 8"),
          notes);
}

void multiply(Tracer& t, const Operands& o, const WgmmaOptions& options, SourceLoc loc) {
  const ir::Expr* accumulate =
      options.accumulate.traced ? t.use(options.accumulate.ref, loc) : t.expr().boolean(options.accumulate.value);
  if (accumulate == nullptr) return;
  check_types(t, o, loc);
  check_shapes(t, o, loc);
  if (!o.acc->named) {
    t.error(loc, "the accumulator of wgmma.mma() is the result of an instruction",
            "make it with register_tensor: auto acc = register_tensor<float>({m, n})", {{o.acc->loc, "made here"}});
  }
  if (o.acc == o.a_registers) {
    t.error(loc, "the accumulator of wgmma.mma() is one of its operands", "use a tile of its own");
  }
  if ((options.negate_a || options.negate_b) && is_int8(o.a_type())) {
    t.error(loc, fmt::format("wgmma.mma() of {} with a negated operand", name_of(o.a_type())),
            "the tensor cores negate floating-point operands only: subtract the accumulators");
  }
  auto* s = t.emit<tile::Wgmma>(loc, o.a, o.a_registers, o.b, o.acc, accumulate);
  s->negate_a = options.negate_a;
  s->negate_b = options.negate_b;
}

}  // namespace

void Wgmma::fence(SourceLoc loc) const {
  Tracer& t = Tracer::current("wgmma.fence()", loc);
  if (check_group(t, "wgmma.fence()", loc)) t.emit<tile::WgmmaFence>(loc);
}

void Wgmma::mma(const SharedTensor& a, const SharedTensor& b, const RegisterTensor& acc, const WgmmaOptions& options,
                SourceLoc loc) const {
  Tracer& t = Tracer::current("wgmma.mma()", loc);
  if (!check_group(t, "wgmma.mma()", loc)) return;
  const Operands o{t.use(a.ref(), loc), nullptr, t.use(b.ref(), loc), t.use(acc.ref(), loc)};
  if (o.a != nullptr && o.b != nullptr && o.acc != nullptr) multiply(t, o, options, loc);
}

void Wgmma::mma(const RegisterTensor& a, const SharedTensor& b, const RegisterTensor& acc, const WgmmaOptions& options,
                SourceLoc loc) const {
  Tracer& t = Tracer::current("wgmma.mma()", loc);
  if (!check_group(t, "wgmma.mma()", loc)) return;
  const Operands o{nullptr, t.use(a.ref(), loc), t.use(b.ref(), loc), t.use(acc.ref(), loc)};
  if (o.a_registers != nullptr && o.b != nullptr && o.acc != nullptr) multiply(t, o, options, loc);
}

void Wgmma::commit_group(SourceLoc loc) const {
  Tracer& t = Tracer::current("wgmma.commit_group()", loc);
  if (check_group(t, "wgmma.commit_group()", loc)) t.emit<tile::WgmmaCommit>(loc);
}

void Wgmma::wait_group(const HostInt& pending, SourceLoc loc) const {
  Tracer& t = Tracer::current("wgmma.wait_group()", loc);
  if (!check_group(t, "wgmma.wait_group()", loc)) return;
  if (pending.value < 0 || pending.value > 7) {
    t.error(loc, fmt::format("wgmma.wait_group({})", pending.value), "0 to 7 groups may stay under way");
    return;
  }
  t.emit<tile::WgmmaWait>(loc, static_cast<int>(pending.value));
}

}  // namespace tessera::detail
