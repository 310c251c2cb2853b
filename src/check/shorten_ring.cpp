#include "check/shorten_ring.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "ir/match.hpp"

namespace tessera::checker {
using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint32_t descriptor_mask = 0x3fff;  // of the address in 16 bytes, at the bottom of a matrix descriptor
constexpr std::uint32_t barrier_bytes = 8;

// The smallest value, more or less: every leaf has its lower bound, and shared memory begins at 0. That is enough to
// tell the tile that an address points into.
class AtStart {
 public:
  explicit AtStart(const Block& body) { collect(body); }

  std::int64_t operator()(const Expr* e) const {
    if (e->is_constant()) return e->integer;
    if (e->kind == ExprKind::value) {
      const auto init = lets_.find(e->value);
      return init != lets_.end() ? (*this)(init->second) : bound(e);
    }
    if (e->kind == ExprKind::shared_base || is_leaf(e->kind) || e->args.empty()) return bound(e);
    const std::int64_t a = (*this)(e->args[0]);
    if (e->kind == ExprKind::cast) return wrap_to(e->type, a);
    if (e->kind == ExprKind::select) return (*this)(e->args[a != 0 ? 1 : 2]);
    std::int64_t result = 0;
    if (e->args.size() == 2 && evaluate_integer(e->kind, e->args[0]->type, a, (*this)(e->args[1]), &result))
      return result;
    return bound(e);
  }

 private:
  void collect(const Block& body) {
    for (const Stmt* s : body) {
      if (const auto* let = as<control::Let>(s)) lets_.emplace(let->value, let->init);
      for_each_child_block(s, [&](const Block& nested) { collect(nested); });
    }
  }
  static std::int64_t bound(const Expr* e) {
    return e->kind == ExprKind::shared_base || e->low < -0x7fffffff ? 0 : e->low;
  }
  std::unordered_map<const Value*, const Expr*> lets_;
};

template <class F>
void for_each_statement(const Block& body, const F& f) {
  for (Stmt* s : body) {
    f(s);
    for_each_child_block(s, [&](const Block& nested) { for_each_statement(nested, f); });
  }
}

// Makes addresses in the last slot addresses in the first.
class Redirection {
 public:
  Redirection(ExprPool& x, const thread::SharedRegion& region, int slots)
      : x_(x),
        slot_(region.bytes / static_cast<std::uint32_t>(slots)),
        back_(slot_ * static_cast<std::uint32_t>(slots - 1)),
        last_(x.add(x.leaf(ExprKind::shared_base, DType::u32), region.offset + back_)) {}

  void operator()(const Expr*& address) const {
    const Expr* inside = x_.binary(ExprKind::lt, x_.sub(address, last_), x_.u32(slot_));
    address = x_.select(inside, x_.sub(address, x_.u32(back_)), address);
  }
  void operator()(thread::MatrixDescriptor& d) const {
    if (d.low == nullptr) return;
    const Expr* mask = x_.u32(descriptor_mask);
    const Expr* start = x_.binary(ExprKind::bit_and, d.low, mask);
    const Expr* last = x_.binary(ExprKind::bit_and, x_.div(last_, 16), mask);
    const Expr* inside = x_.binary(ExprKind::lt, x_.sub(start, last), x_.u32(slot_ / 16));
    d.low = x_.select(inside, x_.sub(d.low, x_.u32(back_ / 16)), d.low);
  }

 private:
  ExprPool& x_;
  std::uint32_t slot_, back_;
  const Expr* last_;
};

const Expr* replace(ExprPool& x, const Expr* e, const Expr* from, const Expr* to) {
  if (e == from) return to;
  if (e->args.empty() || e->kind == ExprKind::reg) return e;
  std::vector<const Expr*> args;
  for (const Expr* a : e->args) args.push_back(replace(x, a, from, to));
  if (args == e->args) return e;
  if (e->kind == ExprKind::cast) return x.cast(e->type, args[0]);
  if (e->kind == ExprKind::select) return x.select(args[0], args[1], args[2]);
  return args.size() == 1 ? x.unary(e->kind, args[0]) : x.binary(e->kind, args[0], args[1]);
}

}  // namespace

std::vector<Ring> rings(const thread::Kernel& kernel) {
  std::uint32_t slots = 0;
  for (const thread::SharedRegion& r : kernel.regions) {
    if (r.is_barrier) slots = std::max(slots, r.bytes / barrier_bytes);
  }
  if (slots < 2) return {};
  const AtStart at_start(kernel.body);
  std::set<std::uint32_t> operands;
  for_each_statement(kernel.body, [&](const Stmt* s) {
    const auto* mma = as<thread::Wgmma>(s);
    if (mma == nullptr) return;
    for (const Expr* low : {mma->a.low, mma->b.low}) {
      if (low != nullptr) operands.insert((static_cast<std::uint32_t>(at_start(low)) & descriptor_mask) * 16);
    }
  });
  std::vector<Ring> result;
  for (std::size_t i = 0; i < kernel.regions.size(); ++i) {
    const thread::SharedRegion& r = kernel.regions[i];
    const auto first = operands.lower_bound(r.offset);
    const bool read = first != operands.end() && *first < r.offset + r.bytes;
    if (!r.is_barrier && read && r.bytes % slots == 0) result.push_back({i, static_cast<int>(slots)});
  }
  return result;
}

void shorten(const thread::Kernel& kernel, const Ring& ring, Block& body) {
  const Redirection redirect(kernel.context->expr, kernel.regions[ring.region], ring.slots);
  for_each_statement(body, [&](Stmt* s) {
    match(s, overloaded{[&](thread::LoadSharedVector& n) { redirect(n.address); },
                        [&](thread::StoreSharedVector& n) { redirect(n.address); },
                        [&](thread::LdMatrix& n) { redirect(n.address); },
                        [&](thread::StMatrix& n) { redirect(n.address); },
                        [&](thread::TmaLoadBox& n) { redirect(n.destination); },
                        [&](thread::TmaStoreBox& n) { redirect(n.source); },
                        [&](thread::Wgmma& n) {
                          redirect(n.a);
                          redirect(n.b);
                        },
                        [&](Stmt&) {}});
  });
}

const Expr* end_of_round(const control::AssignVar& assign) {
  const Expr* e = assign.value;
  if (e->kind != ExprKind::select || !e->args[1]->is_constant(0)) return nullptr;
  const Expr* end = e->args[0];
  const bool compares = end->kind == ExprKind::eq && end->args[1]->is_constant() && end->args[1]->integer > 0;
  return compares ? end : nullptr;
}

void shorten_round(Context& context, const Expr* end, Block& block) {
  ExprPool& x = context.expr;
  const Expr* slots = end->args[1];
  const Expr* earlier = x.binary(ExprKind::eq, end->args[0], x.constant(slots->type, slots->integer - 1));
  for (Stmt* s : block) {
    if (auto* assign = as<control::AssignVar>(s)) assign->value = replace(x, assign->value, end, earlier);
  }
}

}  // namespace tessera::checker
