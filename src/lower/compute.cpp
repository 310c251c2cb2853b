// Elementwise instructions: one expression a register.
#include <algorithm>

#include "lower/index_math.hpp"
#include "lower/lowering.hpp"
#include "passes/infer_layouts.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

struct Leaves {
  std::vector<const Expr*> operands;  // element of each input
  std::vector<const Expr*> index;     // of the element; empty if the value does not depend on it
};

// The value with its operand and index leaves replaced.
const Expr* substitute(ExprPool& x, const Expr* e, const Leaves& leaves) {
  if (e->kind == ExprKind::operand) return leaves.operands[static_cast<std::size_t>(e->integer)];
  if (e->kind == ExprKind::index) return leaves.index[static_cast<std::size_t>(e->integer)];
  if (is_leaf(e->kind)) return e;
  const auto arg = [&](std::size_t i) { return substitute(x, e->args[i], leaves); };
  switch (e->kind) {
    case ExprKind::reg: return x.reg(e->array, arg(0));
    case ExprKind::cast: return x.cast(e->type, arg(0));
    case ExprKind::select: return x.select(arg(0), arg(1), arg(2));
    case ExprKind::neg:
    case ExprKind::bit_not:
    case ExprKind::logical_not: return x.unary(e->kind, arg(0));
    default: return x.binary(e->kind, arg(0), arg(1));
  }
}

bool mentions_index(const Expr* e) {
  return e->kind == ExprKind::index || std::any_of(e->args.begin(), e->args.end(), mentions_index);
}

// Elements that share a 32-bit register are written together.
std::int64_t elements_a_word(DType type, std::int64_t count) {
  const std::int64_t n = type == DType::boolean || size_of(type) >= 4 ? 1 : 4 / size_of(type);
  return count % n == 0 ? n : 1;
}

bool is_identity(const std::vector<std::int64_t>& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

void lower_compute(Lowering& l, const tile::Compute& s) {
  ExprPool& x = l.x;
  const std::int64_t count = s.out->layout->local_size();
  const bool indexed = mentions_index(s.value);
  const RegArray* out = l.registers(s.out, s.loc);
  const Expr* thread = indexed ? l.thread_in_group() : nullptr;
  std::vector<const RegArray*> ins;
  std::vector<std::vector<std::int64_t>> tables;
  bool straight = true;
  for (const tile::RegisterTensor* in : s.ins) {
    ins.push_back(l.registers(in, s.loc));
    tables.push_back(*passes::aligned_registers(*s.out, *in));
    straight = straight && is_identity(tables.back());
  }
  // `r` is a constant unless every input is read at the output's own register.
  const auto value = [&](const Expr* r) {
    Leaves leaves;
    for (std::size_t k = 0; k < ins.size(); ++k) {
      const Expr* from = straight ? r : x.i32(tables[k][static_cast<std::size_t>(r->integer)]);
      leaves.operands.push_back(x.reg(ins[k], from));
    }
    if (indexed) leaves.index = element_index(x, *s.out->layout, r, thread);
    return substitute(x, s.value, leaves);
  };
  const std::int64_t together = elements_a_word(s.out->type, count);
  const auto write = [&](const Expr* r) {
    std::vector<const Expr*> values;
    for (std::int64_t i = 0; i < together; ++i) values.push_back(value(x.add(r, i)));
    l.emit<thread::WriteRegs>(s.loc, thread::RegRef{out, r}, std::move(values));
  };
  if (straight) {
    l.for_each_register(s.loc, count, together, write);
  } else {
    for (std::int64_t r = 0; r < count; r += together) write(x.i32(r));
  }
}

void lower_transpose(Lowering& l, const tile::Transpose& s) {
  if (const tile::LoadShared* load = l.streamed[s.in->id]) {
    l.streamed[s.out->id] = load;
    return;
  }
  const RegArray* in = l.registers(s.in, s.loc);
  if (!s.in->named) {
    l.alias(s.out, in);
    return;
  }
  // A named tensor can be written again while the transpose is still in use.
  const RegArray* out = l.registers(s.out, s.loc);
  l.for_each_register(s.loc, in->size, 1, [&](const Expr* r) {
    l.emit<thread::WriteRegs>(s.loc, thread::RegRef{out, r}, std::vector<const Expr*>{l.x.reg(in, r)});
  });
}

void lower_slice(Lowering& l, const tile::Slice& s) {
  const RegArray* in = l.registers(s.in, s.loc);
  const RegArray* out = l.registers(s.out, s.loc);
  const std::int64_t together = elements_a_word(s.out->type, out->size);
  for (std::int64_t r = 0; r < out->size; r += together) {
    std::vector<const Expr*> values;
    for (std::int64_t i = 0; i < together; ++i) {
      auto index = s.out->layout->global_index(r + i, 0);
      index[static_cast<std::size_t>(s.dim)] += s.begin;
      values.push_back(l.x.reg(in, l.x.i32(s.in->layout->local_index(index))));
    }
    l.emit<thread::WriteRegs>(s.loc, thread::RegRef{out, l.x.i32(r)}, std::move(values));
  }
}

// Only registers are renamed: the conversions that move data between threads were expanded.
void lower_convert(Lowering& l, const tile::ConvertLayout& s) {
  const auto table = *passes::aligned_registers(*s.out, *s.in);
  const RegArray* in = l.registers(s.in, s.loc);
  const RegArray* out = l.registers(s.out, s.loc);
  for (std::size_t r = 0; r < table.size(); ++r) {
    l.emit<thread::WriteRegs>(s.loc, thread::RegRef{out, l.x.i32(static_cast<std::int64_t>(r))},
                              std::vector<const Expr*>{l.x.reg(in, l.x.i32(table[r]))});
  }
}

}  // namespace tessera::lower
