// Copies a kernel and changes the copy. Which changes there are is in mutate_list.cpp.
#include "check/mutate.hpp"

#include <algorithm>
#include <optional>

#include "check/shorten_ring.hpp"
#include "check/sync_statements.hpp"
#include "ir/match.hpp"
#include "tessera/core/error.hpp"

namespace tessera::checker {
using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// Statements that are copies, with the memory that they live in.
struct Copy {
  support::Arena arena;
  thread::Kernel kernel;
};

class Copier {
 public:
  // `wanted`: the number of a statement, whose copy is looked for.
  Copier(support::Arena& arena, std::size_t wanted) : arena_(arena), wanted_(wanted) {}

  void block(Block& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (number_++ == wanted_) {
        found_ = &body;
        position_ = i;
      }
      body[i] = match(static_cast<const Stmt*>(body[i]), [&](const auto& s) { return clone(s); });
      for_each_child_block(body[i], [&](Block& nested) { block(nested); });
    }
  }
  // The block that holds the wanted statement, and where.
  Block* found() const { return found_; }
  std::size_t position() const { return position_; }

 private:
  // Nested blocks still hold the original's statements, to be copied next.
  template <class T>
  Stmt* clone(const T& s) {
    return arena_.make<T>(s);
  }

  support::Arena& arena_;
  std::size_t wanted_, number_ = 0;
  Block* found_ = nullptr;
  std::size_t position_ = 0;
};

[[noreturn]] void misfit(const Mutation& m) {
  throw Error(ErrorKind::internal, m.loc, "there is no such statement to change: " + m.text);
}

// The statement as a T, or an internal Error.
template <class T>
T& the(Stmt* s, const Mutation& m) {
  T* statement = as<T>(s);
  if (statement == nullptr) misfit(m);
  return *statement;
}

void change_count(Stmt* s, const Mutation& m) {
  const int by = static_cast<int>(m.amount);
  const bool done =
      match(s, overloaded{[&](thread::MbarrierInit& n) { return n.count += by, true; },
                          [&](thread::MbarrierArrive& n) { return n.count += by, true; },
                          [&](thread::BarrierSync& n) { return n.threads += by, true; },
                          [&](thread::BarrierArrive& n) { return n.threads += by, true; },
                          [&](thread::WgmmaWait& n) { return n.pending += by, true; },
                          [&](thread::TmaWait& n) { return n.pending += by, true; }, [&](Stmt&) { return false; }});
  if (!done) misfit(m);
}

void change_bytes(ExprPool& x, thread::MbarrierArriveExpectTx& n, const Mutation& m) {
  if (m.change == Change::half_bytes)
    n.bytes = x.div(n.bytes, 2);
  else if (m.amount < 0)
    n.bytes = x.sub(n.bytes, x.u32(-m.amount));
  else
    n.bytes = x.add(n.bytes, m.amount);
}

void change_flag(ExprPool& x, Stmt* s, const Mutation& m) {
  if (auto* signal = as<thread::SignalFlag>(s))
    signal->value = x.add(signal->value, m.amount);
  else
    the<thread::WaitFlag>(s, m).value = x.add(the<thread::WaitFlag>(s, m).value, m.amount);
}

void move(Block& block, std::size_t from, const Mutation& m) {
  const auto to = destination(block, from, m.change == Change::later ? 1 : -1);
  if (!to) misfit(m);
  const auto at = [&](std::size_t i) { return block.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t first = std::min(from, *to), last = std::max(from, *to);
  std::rotate(at(first), at(first + 1), at(last + 1));  // what is computed between the two stays before both
}

void apply(Context& context, Block& block, std::size_t position, const Mutation& m) {
  Stmt* s = block[position];
  switch (m.change) {
    case Change::erase: block.erase(block.begin() + static_cast<std::ptrdiff_t>(position)); break;
    case Change::count: change_count(s, m); break;
    case Change::bytes:
    case Change::half_bytes: change_bytes(context.expr, the<thread::MbarrierArriveExpectTx>(s, m), m); break;
    case Change::parity: {
      auto& wait = the<thread::MbarrierWait>(s, m);
      wait.parity = context.expr.binary(ExprKind::bit_xor, wait.parity, context.expr.u32(1));
      break;
    }
    case Change::flag_value: change_flag(context.expr, s, m); break;
    case Change::read_only: the<thread::TmaWait>(s, m).read = true; break;
    case Change::own_block: the<thread::MbarrierArrive>(s, m).cta = nullptr; break;
    case Change::no_multicast: the<thread::TmaLoadBox>(s, m).multicast = nullptr; break;
    case Change::later:
    case Change::earlier: move(block, position, m); break;
    case Change::shorten_round: {
      const Expr* end = end_of_round(the<control::AssignVar>(s, m));
      if (end == nullptr) misfit(m);
      shorten_round(context, end, block);
      break;
    }
    case Change::shorten_ring: misfit(m);
  }
}

std::shared_ptr<Copy> copy_all(const thread::Kernel& kernel) {
  auto result = std::make_shared<Copy>();
  result->kernel = kernel;
  return result;
}

}  // namespace

std::shared_ptr<const thread::Kernel> copy(const thread::Kernel& kernel) {
  auto result = copy_all(kernel);
  Copier(result->arena, ~std::size_t{0}).block(result->kernel.body);
  return {result, &result->kernel};
}

std::shared_ptr<const thread::Kernel> mutate(const thread::Kernel& kernel, const Mutation& mutation) {
  auto result = copy_all(kernel);
  const bool whole = mutation.change == Change::shorten_ring;
  Copier copier(result->arena, whole ? ~std::size_t{0} : mutation.place);
  copier.block(result->kernel.body);
  if (whole) {
    if (mutation.place >= kernel.regions.size()) misfit(mutation);
    shorten(kernel, {mutation.place, static_cast<int>(mutation.amount)}, result->kernel.body);
  } else {
    if (copier.found() == nullptr) misfit(mutation);
    apply(*kernel.context, *copier.found(), copier.position(), mutation);
  }
  return {result, &result->kernel};
}

}  // namespace tessera::checker
