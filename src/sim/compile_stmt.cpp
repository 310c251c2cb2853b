// Statements: control flow with masks, and the operands of each instruction.
#include <algorithm>
#include <string>

#include "ir/match.hpp"
#include "sim/compiler.hpp"

namespace tessera::sim {
using namespace ir;

namespace {

// True if a Break or Continue in `b` leaves the loop around it.
bool leaves_loop(const Block& b) {
  for (const Stmt* s : b) {
    if (s->kind == StmtKind::control_Break || s->kind == StmtKind::control_Continue) return true;
    if (const auto* branch = as<control::If>(s)) {
      if (leaves_loop(branch->then_body) || leaves_loop(branch->else_body)) return true;
    }
  }
  return false;
}

}  // namespace

Instr& Compiler::emit(Op op, const Stmt* s) {
  Instr& in = program_.code.emplace_back();
  in.op = op;
  in.stmt = s;
  return in;
}

Instr& Compiler::emit(Op op, const Stmt* s, Operands operands) {
  const auto extra = static_cast<std::uint32_t>(program_.operands.size());
  program_.operands.push_back(std::move(operands));
  Instr& in = emit(op, s);
  in.extra = extra;
  return in;
}

void Compiler::patch(Jumps& jumps) {
  for (const std::uint32_t at : jumps) program_.code[at].target = here();
  jumps.clear();
}

void Compiler::hoist_block(const Block& b, Held& held) {
  for (const Stmt* s : b) {
    for_each_expr(s, [&](const Expr* e) { hoist(e, held); });
    end_statement();
    for_each_child_block(s, [&](const Block& inner) { hoist_block(inner, held); });
  }
}

void Compiler::block(const Block& b, Jumps& to_end) {
  Held scope;
  std::vector<std::uint32_t> scope_values;
  for (const Stmt* s : b) statement(s, to_end, scope, scope_values);
  for (const std::uint32_t id : scope_values) values_[id] = Slot{};
  give_back(scope);
}

void Compiler::statement(const Stmt* s, Jumps& to_end, Held& scope, std::vector<std::uint32_t>& scope_values) {
  current_ = s;
  match(s, overloaded{[&](const control::Let& x) {
                        const bool lanes = !uniformity_.is_uniform(x.value);
                        const Slot slot{take(slot_size(x.value->type, lanes), scope), lanes};
                        evaluate_into(x.init, slot);
                        values_[x.value->id] = slot;
                        scope_values.push_back(x.value->id);
                      },
                      [&](const control::DeclareVar& x) {
                        const bool lanes = !uniformity_.is_uniform(x.var);
                        vars_[x.var->id] = {take(slot_size(x.var->type, lanes), scope), lanes};
                        evaluate_into(x.init, vars_[x.var->id]);
                      },
                      [&](const control::AssignVar& x) { evaluate_into(x.value, vars_[x.var->id]); },
                      [&](const control::If& x) { branch(x, to_end); }, [&](const control::For& x) { for_loop(x); },
                      [&](const control::Loop& x) { endless_loop(x); },
                      [&](const control::Break& x) {
                        to_end.push_back(here());
                        emit(Op::leave, &x);
                      },
                      [&](const control::Continue& x) {
                        to_end.push_back(here());
                        emit(Op::next, &x);
                      },
                      [&](const Stmt& x) { instruction(&x); }});
  end_statement();
}

void Compiler::branch(const control::If& s, Jumps& to_end) {
  const Slot condition = evaluate(s.condition);
  end_statement();  // the condition is read before anything else is computed
  if (condition.lanes) return lane_branch(s, condition.offset, to_end);
  Jumps to_else, to_exit;
  to_else.push_back(here());
  emit(Op::if_scalar, &s).a = condition.offset;
  Jumps end_of_then;
  block(s.then_body, end_of_then);
  patch(end_of_then);
  if (!s.else_body.empty()) {
    to_exit.push_back(here());
    emit(Op::else_scalar, &s);
    patch(to_else);
    Jumps end_of_else;
    block(s.else_body, end_of_else);
    patch(end_of_else);
  }
  patch(to_else);
  patch(to_exit);
  if (leaves_loop(s.then_body) || leaves_loop(s.else_body)) {
    to_end.push_back(here());
    emit(Op::rejoin, &s);
  }
}

void Compiler::lane_branch(const control::If& s, std::uint32_t condition, Jumps& to_end) {
  program_.depth = std::max(program_.depth, ++depth_);
  Jumps to_else, to_exit;
  to_else.push_back(here());
  emit(Op::if_lanes, &s).a = condition;
  Jumps end_of_then;
  block(s.then_body, end_of_then);
  patch(end_of_then);
  if (!s.else_body.empty()) {
    patch(to_else);
    to_exit.push_back(here());
    emit(Op::else_lanes, &s);
    Jumps end_of_else;
    block(s.else_body, end_of_else);
    patch(end_of_else);
  }
  patch(to_else);
  patch(to_exit);
  to_end.push_back(here());
  emit(Op::end_if, &s);
  --depth_;
}

// `begin` and `next` frame the body; both know where the other lies.
void Compiler::loop_body(const Block& body, Instr begin, Instr next) {
  program_.depth = std::max(program_.depth, ++depth_);
  const std::uint32_t begin_at = here();
  program_.code.push_back(begin);
  next.target = here();
  Jumps to_end;
  block(body, to_end);
  patch(to_end);
  program_.code.push_back(next);
  program_.code[begin_at].target = here();
  --depth_;
}

void Compiler::for_loop(const control::For& s) {
  Held held;
  const std::size_t hoisted_before = hoisted_.size();
  const bool lanes = uniformity_.has_lane_bounds(s);
  const DType type = s.induction->type;
  const auto bound = [&](const Expr* e) -> std::uint32_t {
    if (!lanes && e->is_constant()) return evaluate(e).offset;
    const Slot slot{take(slot_size(type, lanes), held), lanes};
    evaluate_into(e, slot);
    return slot.offset;
  };
  Instr begin;
  begin.op = Op::loop_begin;
  begin.stmt = &s;
  begin.type = type;
  begin.lane_loop = lanes;
  begin.a = bound(s.begin);
  begin.b = bound(s.end);
  begin.c = bound(s.step);
  end_statement();
  ++hoist_round_;
  hoist_block(s.body, held);
  const Slot induction{take(slot_size(type, lanes), held), lanes};
  begin.dst = induction.offset;
  values_[s.induction->id] = induction;
  Instr next = begin;
  next.op = Op::loop_next;
  loop_body(s.body, begin, next);
  values_[s.induction->id] = Slot{};
  for (; hoisted_.size() > hoisted_before; hoisted_.pop_back()) held_[hoisted_.back()] = Slot{};
  give_back(held);
}

void Compiler::endless_loop(const control::Loop& s) {
  Held held;
  const std::size_t hoisted_before = hoisted_.size();
  ++hoist_round_;
  hoist_block(s.body, held);
  Instr begin;
  begin.op = Op::loop_begin;
  begin.stmt = &s;
  Instr next = begin;
  next.op = Op::loop_next;
  loop_body(s.body, begin, next);
  for (; hoisted_.size() > hoisted_before; hoisted_.pop_back()) held_[hoisted_.back()] = Slot{};
  give_back(held);
}

const RegInfo& Compiler::registers(const RegArray* array) {
  RegInfo& info = program_.regs[array->id];
  if (info.array != nullptr) return info;
  info.array = array;
  info.word_bytes = array->type == DType::boolean ? 4U : static_cast<std::uint32_t>(size_of(array->type));
  info.word_count = (array->size * info.word_bytes + 3) / 4;
  info.words = fresh(128 * std::max(1U, info.word_count));
  info.valid = program_.valid_count;
  program_.valid_count += array->size;
  return info;
}

RegPlace Compiler::place(const thread::RegRef& ref) {
  registers(ref.array);
  const Slot index = evaluate(ref.index);
  return {ref.array->id, index.offset, index.lanes};
}

// All values are computed before the first is written, so one that is read in place must be copied first if it lies in
// the array that is written.
void Compiler::write_regs(const thread::WriteRegs& s) {
  Operands operands;
  operands.d = place(s.dst);
  operands.count = static_cast<int>(s.values.size());
  const RegInfo& info = registers(s.dst.array);
  for (const Expr* e : s.values) {
    std::uint32_t slot = evaluate_lanes(e);
    if (s.values.size() > 1 && slot >= info.words && slot < info.words + 128 * info.word_count) {
      Instr& in = emit(Op::eval, &s);
      in.fn = lanes_.cast[static_cast<int>(e->type)][static_cast<int>(e->type)];
      in.a = in.b = in.c = slot;
      in.dst = slot = take(slot_size(e->type, true), temporaries_);
    }
    operands.list.push_back(slot);
  }
  emit(Op::write_regs, &s, std::move(operands));
}

template <class S>
void Compiler::global_access(Op op, const S& s, const thread::RegRef& reg) {
  Operands operands;
  operands.d = place(reg);
  operands.count = s.count;
  const Param& param = kernel_.params[s.param];
  operands.element_bytes = size_of(param.type);
  if (param.type != reg.array->type) {
    throw Error(ErrorKind::internal, s.loc,
                std::string("a global access moves ") + name_of(reg.array->type) + " registers to or from memory of " +
                    name_of(param.type));
  }
  operands.address = evaluate_lanes(s.offset);
  if (s.mask != nullptr) operands.mask = evaluate_lanes(s.mask);
  emit(op, &s, std::move(operands)).a = s.param;
}

void Compiler::register_instruction(const Stmt* s) {
  match(s, overloaded{[&](const thread::DeclareRegs& x) {
                        Operands operands;
                        registers(x.array);
                        operands.d.array = x.array->id;
                        emit(Op::declare_regs, s, std::move(operands));
                      },
                      [&](const thread::WriteRegs& x) { write_regs(x); },
                      [&](const thread::LoadGlobalVector& x) { global_access(Op::load_global, x, x.dst); },
                      [&](const thread::StoreGlobalVector& x) { global_access(Op::store_global, x, x.src); },
                      [&](const thread::LoadSharedVector& x) {
                        Operands operands;
                        operands.d = place(x.dst);
                        operands.count = x.count;
                        operands.element_bytes = size_of(x.dst.array->type);
                        operands.address = evaluate_lanes(x.address);
                        if (x.cta != nullptr) operands.cta = evaluate_lanes(x.cta);
                        emit(Op::load_shared, s, std::move(operands));
                      },
                      [&](const thread::StoreSharedVector& x) {
                        Operands operands;
                        operands.d = place(x.src);
                        operands.count = x.count;
                        operands.element_bytes = size_of(x.src.array->type);
                        operands.address = evaluate_lanes(x.address);
                        if (x.mask != nullptr) operands.mask = evaluate_lanes(x.mask);
                        if (x.cta != nullptr) operands.cta = evaluate_lanes(x.cta);
                        emit(Op::store_shared, s, std::move(operands));
                      },
                      [&](const thread::LdMatrix& x) {
                        Operands operands;
                        operands.d = place(x.dst);
                        operands.count = x.matrices;
                        operands.address = evaluate_lanes(x.address);
                        emit(Op::ldmatrix, s, std::move(operands)).lanes = x.transposed;
                      },
                      [&](const thread::StMatrix& x) {
                        Operands operands;
                        operands.d = place(x.src);
                        operands.count = x.matrices;
                        operands.address = evaluate_lanes(x.address);
                        emit(Op::stmatrix, s, std::move(operands)).lanes = x.transposed;
                      },
                      [&](const thread::MmaSync& x) {
                        Operands operands;
                        operands.d = place(x.d);
                        operands.a = place(x.a);
                        operands.b = place(x.b);
                        emit(Op::mma, s, std::move(operands)).type = x.operand_type;
                      },
                      [&](const Stmt&) { barrier_instruction(s); }});
}

void Compiler::instruction(const Stmt* s) {
  if (s->kind != StmtKind::thread_Comment) register_instruction(s);
}

}  // namespace tessera::sim
