// Dispatch over statements: match(stmt, overloaded{[](const tile::Dot& d) {...}, [](const Stmt& other) {...}}).
// A handler that takes Stmt is the default; a kind without a handler does not compile.
#pragma once

#include <utility>

#include "ir/thread.hpp"
#include "ir/tile.hpp"

namespace tessera::ir {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

template <class F>
decltype(auto) match(const Stmt* s, F&& f) {
  switch (s->kind) {
#define TESSERA_NODE(section, Name) \
  case StmtKind::section##_##Name:  \
    return f(*static_cast<const section::Name*>(s));
#include "ir/nodes.def"
#undef TESSERA_NODE
  }
  __builtin_unreachable();
}
template <class F>
decltype(auto) match(Stmt* s, F&& f) {
  switch (s->kind) {
#define TESSERA_NODE(section, Name) \
  case StmtKind::section##_##Name:  \
    return f(*static_cast<section::Name*>(s));
#include "ir/nodes.def"
#undef TESSERA_NODE
  }
  __builtin_unreachable();
}

// Calls f(block) on each block nested directly in `s`.
template <class F>
void for_each_child_block(Stmt* s, F&& f) {
  if (auto* loop = as<control::For>(s)) f(loop->body);
  if (auto* loop = as<control::Loop>(s)) f(loop->body);
  if (auto* group = as<tile::ThreadGroup>(s)) f(group->body);
  if (auto* branch = as<control::If>(s)) {
    f(branch->then_body);
    f(branch->else_body);
  }
}
template <class F>
void for_each_child_block(const Stmt* s, F&& f) {
  for_each_child_block(const_cast<Stmt*>(s), [&](const Block& b) { f(b); });
}

}  // namespace tessera::ir
