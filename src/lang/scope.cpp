// Loops, branches and thread groups.
#include "tessera/lang/scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>

#include "lang/audit.hpp"
#include "lang/tracer.hpp"

namespace tessera {

using lang::ScopeKind;
using lang::Tracer;

namespace detail {

int group_threads(SourceLoc loc) { return Tracer::current("a helper", loc).group(loc).threads(); }

Scope::~Scope() {
  // An exception that passes is reported by the trace itself; here the scope only closes.
  tracer_->close();
}

Loop::Loop(ScalarRef begin, ScalarRef end, ScalarRef step, DType type, int unroll, SourceLoc loc)
    : tracer_(&Tracer::current("range()", loc)),
      loc_(loc),
      begin_(begin),
      end_(end),
      step_(step),
      type_(type),
      unroll_(unroll),
      exceptions_(std::uncaught_exceptions()) {
  Tracer& t = *tracer_;
  t.group(loc);
  const ir::Expr* b = t.use(begin_, loc);
  const ir::Expr* e = t.use(end_, loc);
  const ir::Expr* s = t.use(step_, loc);
  if (s != nullptr && s->low < 1) {
    if (s->is_constant()) {
      t.error(loc, fmt::format("range() has the step {}", s->integer), "the step must be positive");
    } else {
      t.error(loc, "the step of range() is not known to be positive", "use a C++ integer, or max(step, 1)");
    }
    s = nullptr;
  }
  if (unroll < 0) t.error(loc, fmt::format("range() has .unroll = {}", unroll), "unroll by 1 or more, or unroll_all");
  if (b == nullptr || e == nullptr || s == nullptr) {  // recorded; go on with a loop that can be traced
    b = t.expr().constant(type, 0);
    e = t.expr().constant(type, 1);
    s = t.expr().constant(type, 1);
  }
  begin_.expr = b;
  end_.expr = e;
  step_.expr = s;
  skip_body();
}

Loop::Loop(std::function<ScalarRef()> condition, SourceLoc loc)
    : tracer_(&Tracer::current("loop_while()", loc)),
      loc_(loc),
      condition_(std::move(condition)),
      exceptions_(std::uncaught_exceptions()) {
  tracer_->group(loc);
  skip_body();
}

void Loop::emit_range() {
  Tracer& t = *tracer_;
  ir::Value* induction = t.kernel->context->new_value(type_, t.fresh_name(loc_, "range"), loc_);
  if (type_ != DType::u64) {  // begin, begin + step, ... below end
    const ir::Expr* end = end_.expr;
    const std::int64_t high = end->high == INT64_MIN ? end->high : end->high - 1;
    t.expr().set_facts(induction, begin_.expr->low, std::max(begin_.expr->low, high),
                       std::gcd(begin_.expr->divisor, step_.expr->divisor));
  }
  auto* loop = t.emit<ir::control::For>(loc_, induction, begin_.expr, end_.expr, step_.expr);
  loop->unroll = unroll_;
  t.open(ScopeKind::range, &loop->body, loop, loc_);
}

ScalarRef Loop::enter() {
  Tracer& t = *tracer_;
  state_ = LoopState::open;
  const ScopeKind kind = condition_ ? ScopeKind::loop_while : ScopeKind::range;
  if (passes_ > 0) {  // the audit's second pass goes into a block of its own
    ir::Stmt* loop = t.scopes[first_scope_].statement;
    t.open(kind, t.kernel->context->arena.make<ir::Block>(), loop, loc_);
  } else if (condition_) {
    auto* loop = t.emit<ir::control::Loop>(loc_);
    t.open(kind, &loop->body, loop, loc_);
  } else {
    emit_range();
  }
  scope_ = t.stack.back();
  if (passes_ == 0) first_scope_ = scope_;
  if (!condition_) return {t.expr().value(ir::as<ir::control::For>(t.scope().statement)->induction), t.origin(loc_)};
  const ScalarRef condition = condition_();
  if (const ir::Expr* c = t.use(condition, loc_)) {
    auto* leave = t.emit<ir::control::If>(loc_, t.expr().unary(ir::ExprKind::logical_not, c));
    leave->then_body.push_back(t.kernel->context->arena.make<ir::control::Break>(loc_));
  }
  return {};
}

void Loop::leave() {
  Tracer& t = *tracer_;
  t.close();
  ++passes_;
  state_ = t.mode == lang::Mode::repeat && passes_ < 2 ? LoopState::idle : LoopState::done;
  if (passes_ < 2) return;
  const auto difference = lang::compare_passes(*t.scopes[first_scope_].block, *t.scopes[scope_].block);
  if (!difference) return;
  t.error(
      difference->loc,
      fmt::format("this is traced as `{}` in the first pass over a loop body and as `{}` in the second: a C++ variable "
                  "changes inside the loop, but the body is recorded only once",
                  difference->first, difference->second),
      "make the variable a Var, or compute it from the loop's own value", {{loc_, "the loop"}});
}

// In the audit's pass that does not enter this body: the statement alone.
void Loop::skip_body() {
  Tracer& t = *tracer_;
  if (t.enters()) return;
  if (condition_) {
    t.emit<ir::control::Loop>(loc_);
  } else {
    emit_range();
    t.close();
  }
  state_ = LoopState::done;
}

Loop::~Loop() {
  if (state_ != LoopState::open) return;
  Tracer& t = *tracer_;
  t.close_to(scope_);
  t.close();
  if (std::uncaught_exceptions() > exceptions_) {
    t.left_by_exception.push_back(loc_);
    return;
  }
  t.error(loc_,
          "C++ break, return or goto leaves this loop while it is traced, which would cut its recorded body short",
          "write break_loop() or continue_loop(), under when() if it depends on a value of the kernel");
}

Scope open_when(const ScalarRef& condition, SourceLoc loc) {
  Tracer& t = Tracer::current("when()", loc);
  t.group(loc);
  const ir::Expr* c = t.use(condition, loc);
  auto* branch = t.emit<ir::control::If>(loc, c != nullptr ? c : t.expr().boolean(true));
  t.open_whens.insert(branch);
  const bool enters = t.enters();
  t.open(ScopeKind::when, &branch->then_body, branch, loc);
  return {&t, enters};
}

namespace {

Scope open_group(Tracer& t, lang::tile::Group group, SourceLoc loc) {
  auto* statement = t.emit<ir::tile::ThreadGroup>(loc, group);
  const bool enters = t.enters();
  t.open(ScopeKind::group, &statement->body, statement, loc, group);
  return {&t, enters};
}

// `count` threads from `begin` of the current group; `call` as the user wrote it.
Scope open_subgroup(Tracer& t, std::int64_t begin, std::int64_t count, const std::string& call, SourceLoc loc) {
  const lang::tile::Group parent = t.group(loc);
  if (count < 1) {
    t.error(loc, fmt::format("{} has {} threads", call, count), "a thread group has at least one thread");
  } else if (begin < 0) {
    t.error(loc, fmt::format("{} begins at thread {}", call, begin),
            "threads are counted from 0 within the current group");
  } else if (begin + count > parent.count) {
    t.error(loc,
            fmt::format("{} covers threads {} to {} of the current group, which has {}", call, begin, begin + count - 1,
                        parent.count),
            "a thread group lies inside the group around it, and counts from that group's first thread");
  } else {
    return open_group(t, {parent.begin + static_cast<int>(begin), static_cast<int>(count), parent.elect}, loc);
  }
  return open_group(t, parent, loc);
}

}  // namespace
}  // namespace detail

detail::Scope otherwise(SourceLoc loc) {
  Tracer& t = Tracer::current("otherwise()", loc);
  const ir::Block& block = *t.scope().block;
  ir::Stmt* last = block.empty() ? nullptr : block.back();
  if (last == nullptr || t.open_whens.erase(last) == 0) {
    t.error(loc, "otherwise() without a when() directly before it",
            "write `if (auto _ = when(condition)) {...}` and `if (auto _ = otherwise()) {...}` one after the other, "
            "with no "
            "statement of the kernel in between");
    last = t.emit<ir::control::If>(loc, t.expr().boolean(true));
  }
  const bool enters = t.enters();
  t.open(ScopeKind::otherwise, &ir::as<ir::control::If>(last)->else_body, last, loc);
  return {&t, enters};
}

detail::Scope thread_group(const detail::HostInt& begin, const detail::HostInt& count, SourceLoc loc) {
  Tracer& t = Tracer::current("thread_group()", loc);
  return detail::open_subgroup(t, begin.value, count.value,
                               fmt::format("thread_group({}, {})", begin.value, count.value), loc);
}

detail::Scope warp_group(const detail::HostInt& begin, const detail::HostInt& warps, SourceLoc loc) {
  Tracer& t = Tracer::current("warp_group()", loc);
  return detail::open_subgroup(t, begin.value * 32, warps.value * 32,
                               fmt::format("warp_group({}, {})", begin.value, warps.value), loc);
}

detail::Scope single_warp(const detail::HostInt& warp, SourceLoc loc) {
  Tracer& t = Tracer::current("single_warp()", loc);
  return detail::open_subgroup(t, warp.value * 32, 32, fmt::format("single_warp({})", warp.value), loc);
}

detail::Scope single_thread(const detail::HostInt& thread, SourceLoc loc) {
  Tracer& t = Tracer::current("single_thread()", loc);
  const lang::tile::Group parent = t.group(loc);
  if (thread.value < -1) {
    t.error(loc, fmt::format("single_thread({})", thread.value),
            fmt::format("name a thread from 0 to {}, or leave it out for any one", parent.count - 1));
  }
  if (thread.value >= 0) {
    return detail::open_subgroup(t, thread.value, 1, fmt::format("single_thread({})", thread.value), loc);
  }
  if (parent.count == 1) return detail::open_group(t, parent, loc);
  const bool elect = parent.begin % 32 == 0 && parent.count >= 32;
  return detail::open_group(t, {parent.begin, 1, elect}, loc);
}

detail::Scope single_thread_of_each_warp(SourceLoc loc) {
  Tracer& t = Tracer::current("single_thread_of_each_warp()", loc);
  lang::tile::Group group = t.group(loc);
  if (group.begin % 32 != 0 || group.count % 32 != 0) {
    t.error(loc, fmt::format("single_thread_of_each_warp() is executed by {}", lang::group_text(group)),
            "the hardware elects one thread of a whole warp: use it in a group of whole warps");
    return detail::open_group(t, group, loc);
  }
  group.each_warp = true;
  return detail::open_group(t, group, loc);
}

namespace {

// The loop that a break or continue leaves, checked; null with the mistake recorded.
bool in_loop(Tracer& t, const char* what, SourceLoc loc) {
  for (auto it = t.stack.rbegin(); it != t.stack.rend(); ++it) {
    const lang::Scope& s = t.scopes[*it];
    if (s.kind != ScopeKind::range && s.kind != ScopeKind::loop_while) continue;
    if (s.group == t.scope().group) return true;
    t.error(loc,
            fmt::format("{} is executed by {}, but the loop by {}", what, lang::group_text(t.scope().group),
                        lang::group_text(s.group)),
            "leave a loop in the thread group that executes it", {{s.loc, "the loop"}});
    return false;
  }
  t.error(loc, fmt::format("{} outside a loop of the kernel", what), "use it inside range() or loop_while()");
  return false;
}

}  // namespace

void break_loop(SourceLoc loc) {
  Tracer& t = Tracer::current("break_loop()", loc);
  if (in_loop(t, "break_loop()", loc)) t.emit<ir::control::Break>(loc);
}
void continue_loop(SourceLoc loc) {
  Tracer& t = Tracer::current("continue_loop()", loc);
  if (in_loop(t, "continue_loop()", loc)) t.emit<ir::control::Continue>(loc);
}

}  // namespace tessera
