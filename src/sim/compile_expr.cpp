// Expressions: slots, common subexpressions within a statement, and code moved out of loops.
#include <bit>
#include <cstring>

#include "sim/compiler.hpp"

namespace tessera::sim {
using namespace ir;

namespace {

// The raw bits of a constant of `type` (see lane_ops.hpp).
std::uint64_t raw_constant(const Expr* e) {
  switch (e->type) {
    case DType::f16: return float16(static_cast<float>(e->real)).bits;
    case DType::bf16: return bfloat16(static_cast<float>(e->real)).bits;
    case DType::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(e->real));
    case DType::f8e4m3:
    case DType::f8e5m2: {
      const auto value = static_cast<float>(e->real);
      std::uint32_t raw = 0;
      scalar_ops().cast[static_cast<int>(DType::f32)][static_cast<int>(e->type)](&raw, &value, nullptr, nullptr);
      return raw;
    }
    default: break;
  }
  const auto wrapped = static_cast<std::uint64_t>(wrap_to(e->type, e->integer));
  return size_of(e->type) == 8 ? wrapped : wrapped & 0xffffffffU;
}

}  // namespace

std::uint32_t Compiler::fresh(std::uint32_t size) {
  const std::uint32_t alignment = size >= 64 ? 64 : size;
  const std::uint32_t offset = (frame_size_ + alignment - 1) / alignment * alignment;
  frame_size_ = offset + size;
  return offset;
}

std::uint32_t Compiler::take(std::uint32_t size, Held& held) {
  auto& list = free_[size];
  std::uint32_t offset = 0;
  if (list.empty()) {
    offset = fresh(size);
  } else {
    offset = list.back();
    list.pop_back();
  }
  held.emplace_back(offset, size);
  return offset;
}

void Compiler::give_back(Held& held) {
  for (const auto& [offset, size] : held) free_[size].push_back(offset);
  held.clear();
}

void Compiler::write_image(std::uint32_t offset, DType type, std::uint64_t raw) {
  const std::size_t size = size_of(type) == 8 ? 8 : 4;
  if (program_.image.size() < offset + size) program_.image.resize(offset + size);
  std::memcpy(program_.image.data() + offset, &raw, size);
}

Compiler::Slot Compiler::constant_slot(DType type, std::uint64_t raw, bool lanes) {
  const auto size = static_cast<int>(slot_size(type, lanes));
  const auto [it, added] = constants_.try_emplace({raw, lanes ? size : -size_of(type)}, 0);
  if (added) {
    it->second = fresh(static_cast<std::uint32_t>(size));
    const std::uint32_t step = size_of(type) == 8 ? 8 : 4;
    const int count = lanes ? warp_lanes : 1;
    for (int i = 0; i < count; ++i) write_image(it->second + static_cast<std::uint32_t>(i) * step, type, raw);
  }
  return {it->second, lanes};
}

bool Compiler::simple_division(const Expr* e, ExprKind* kind, std::int64_t* constant) const {
  if (e->kind != ExprKind::div && e->kind != ExprKind::mod) return false;
  if (!is_integer(e->type) || !e->args[1]->is_constant() || e->args[1]->integer <= 0) return false;
  const auto divisor = static_cast<std::uint64_t>(e->args[1]->integer);
  if (!std::has_single_bit(divisor)) return false;
  if (is_signed(e->type) && e->args[0]->low < 0) return false;
  *kind = e->kind == ExprKind::div ? ExprKind::shr : ExprKind::bit_and;
  *constant = e->kind == ExprKind::div ? std::countr_zero(divisor) : e->args[1]->integer - 1;
  return true;
}

// Only what the user must hear of: float division has a result for every operand.
bool Compiler::can_fail(const Expr* e) {
  if (e->kind == ExprKind::div || e->kind == ExprKind::mod) {
    return is_integer(e->type) && !(e->args[1]->is_constant() && e->args[1]->integer != 0);
  }
  if (e->kind == ExprKind::shl || e->kind == ExprKind::shr) {
    const Expr* amount = e->args[1];
    return !(amount->is_constant() && amount->integer >= 0 && amount->integer < 8 * size_of(e->type));
  }
  return false;
}

Compiler::Slot Compiler::leaf(const Expr* e) {
  switch (e->kind) {
    case ExprKind::constant: return constant_slot(e->type, raw_constant(e), false);
    case ExprKind::param: {
      const auto raw = static_cast<std::uint64_t>(params_[static_cast<std::size_t>(e->integer)]);
      if (e->type == DType::boolean) return constant_slot(e->type, raw != 0 ? 1 : 0, false);
      return constant_slot(e->type, size_of(e->type) == 8 ? raw : raw & 0xffffffffU, false);
    }
    case ExprKind::grid_dim:
      return constant_slot(DType::i32, static_cast<std::uint32_t>(program_.grid[static_cast<std::size_t>(e->integer)]),
                           false);
    case ExprKind::shared_base: return constant_slot(DType::u32, shared_base, false);
    case ExprKind::block_idx: return {program_.block_idx_slots[static_cast<std::size_t>(e->integer)], false};
    case ExprKind::cluster_rank: return {program_.cluster_rank_slot, false};
    case ExprKind::warp_idx: return {program_.warp_idx_slot, false};
    case ExprKind::thread_idx: return {program_.thread_idx_slot, true};
    case ExprKind::lane_idx: return {program_.lane_idx_slot, true};
    case ExprKind::value: return values_[e->value->id];
    case ExprKind::var: return vars_[e->var->id];
    default: break;
  }
  throw Error(
      ErrorKind::internal, current_->loc,
      std::string("the thread IR holds the expression ") + ir::name_of(e->kind) + ", which no thread can evaluate");
}

// A 32-bit element at a constant place is read where it lies; everything else is copied out.
Compiler::Slot Compiler::read_register(const Expr* e) {
  const RegPlace where = place({e->array, e->args[0]});
  const RegInfo& info = program_.regs[e->array->id];
  const bool in_place = info.word_bytes == 4 && e->args[0]->is_constant() && e->args[0]->integer >= 0 &&
                        e->args[0]->integer < static_cast<std::int64_t>(e->array->size);
  Operands operands;
  operands.a = where;
  const std::uint32_t dst = in_place ? info.words + 128U * static_cast<std::uint32_t>(e->args[0]->integer)
                                     : take(slot_size(e->type, true), temporaries_);
  Instr& in = emit(in_place ? Op::check_reg : Op::read_reg, current_, std::move(operands));
  in.dst = dst;
  in.type = e->type;
  return {dst, true};
}

std::uint32_t Compiler::as_lanes(Slot slot, DType type, Held& held) {
  if (slot.lanes) return slot.offset;
  const std::uint32_t dst = take(slot_size(type, true), held);
  Instr& in = emit(Op::eval, current_);
  in.fn = size_of(type) == 8 ? lanes_.broadcast64 : lanes_.broadcast32;
  in.dst = dst;
  in.a = in.b = in.c = slot.offset;
  return dst;
}

std::uint32_t Compiler::evaluate_lanes(const Expr* e) {
  if (e->is_constant()) return constant_slot(e->type, raw_constant(e), true).offset;
  const Slot slot = evaluate(e);
  if (slot.lanes) return slot.offset;
  std::uint32_t& known = lane_memo_[e->id];
  if (known == no_slot) {
    known = as_lanes(slot, e->type, temporaries_);
    lane_memoized_.push_back(e->id);
  }
  return known;
}

Compiler::Slot Compiler::operation(const Expr* e, Held& held) {
  ExprKind kind = e->kind;
  std::int64_t replaced = 0;
  const bool simple = simple_division(e, &kind, &replaced);
  const DType operand = e->args.back()->type;  // select: of the values; a comparison: of its operands
  const bool lanes = !uniformity_.is_uniform(e);
  std::uint32_t args[3] = {no_slot, no_slot, no_slot};
  for (std::size_t i = 0; i < e->args.size(); ++i) {
    if (simple && i == 1) {
      args[i] = constant_slot(operand, static_cast<std::uint64_t>(replaced), lanes).offset;
    } else {
      args[i] = lanes ? evaluate_lanes(e->args[i]) : evaluate(e->args[i]).offset;
    }
  }
  const Slot dst{take(slot_size(e->type, lanes), held), lanes};
  const bool checked = !simple && can_fail(e);
  const bool shift = kind == ExprKind::shl || kind == ExprKind::shr;
  Instr& in = emit(!checked ? Op::eval : shift ? Op::eval_shift : Op::eval_div, current_);
  const LaneOps& ops = lanes ? lanes_ : scalars_;
  in.fn = kind == ExprKind::cast ? ops.cast[static_cast<int>(operand)][static_cast<int>(e->type)]
                                 : ops.op[static_cast<int>(kind)][static_cast<int>(operand)];
  if (in.fn == nullptr) {
    throw Error(ErrorKind::internal, current_->loc,
                std::string("no such operation: ") + ir::name_of(kind) + " of " + name_of(operand));
  }
  in.type = operand;
  in.lanes = lanes;
  in.dst = dst.offset;
  in.a = args[0];
  in.b = args[1] == no_slot ? args[0] : args[1];
  in.c = args[2] == no_slot ? args[0] : args[2];
  return dst;
}

Compiler::Slot Compiler::evaluate(const Expr* e) {
  if (held_[e->id].known()) return held_[e->id];
  if (memo_[e->id].known()) return memo_[e->id];
  Slot slot;
  if (e->kind == ExprKind::reg) {
    slot = read_register(e);
  } else if (e->kind == ExprKind::elect_one) {
    slot = {take(128, temporaries_), true};
    emit(Op::elect, current_).dst = slot.offset;
  } else if (is_leaf(e->kind)) {
    return leaf(e);
  } else {
    slot = operation(e, temporaries_);
  }
  memo_[e->id] = slot;
  memoized_.push_back(e->id);
  return slot;
}

void Compiler::evaluate_into(const Expr* e, Slot dst) {
  const std::uint32_t source = dst.lanes ? evaluate_lanes(e) : evaluate(e).offset;
  Instr& in = emit(dst.lanes ? Op::set_lanes : Op::set_scalar, current_);
  in.type = e->type;
  in.dst = dst.offset;
  in.a = source;
}

void Compiler::end_statement() {
  for (const std::uint32_t id : memoized_) memo_[id] = Slot{};
  for (const std::uint32_t id : lane_memoized_) lane_memo_[id] = no_slot;
  memoized_.clear();
  lane_memoized_.clear();
  give_back(temporaries_);
}

bool Compiler::is_invariant(const Expr* e) {
  switch (e->kind) {
    case ExprKind::value: return values_[e->value->id].known();
    case ExprKind::var:
    case ExprKind::reg:
    case ExprKind::elect_one:
    case ExprKind::operand:
    case ExprKind::index: return false;
    default: break;
  }
  if (held_[e->id].known()) return true;
  if (can_fail(e)) return false;
  for (const Expr* arg : e->args) {
    if (!is_invariant(arg)) return false;
  }
  return true;
}

// Computes the largest invariant parts of `e`; what lies below them stays a temporary.
void Compiler::hoist(const Expr* e, Held& held) {
  if (e == nullptr || is_leaf(e->kind)) return;
  if (hoist_seen_[e->id] == hoist_round_ || held_[e->id].known()) return;
  hoist_seen_[e->id] = hoist_round_;
  if (is_invariant(e)) {
    held_[e->id] = operation(e, held);
    hoisted_.push_back(e->id);
    return;
  }
  for (const Expr* arg : e->args) hoist(arg, held);
}

}  // namespace tessera::sim
