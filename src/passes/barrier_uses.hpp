// The statements of a program that use mbarriers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/program_facts.hpp"

namespace tessera::passes {

struct BarrierUse {
  enum class Kind { arrive, expect, copy, wait } kind;
  const Site* site = nullptr;
  const ir::tile::BarrierRef* barrier = nullptr;
  std::int64_t arrivals = 0;  // of one execution, at one barrier
  bool remote = false;        // perhaps at the barrier of another block of the cluster

  const ir::Stmt& stmt() const { return *site->stmt; }
  bool arrives() const { return kind == Kind::arrive || kind == Kind::expect; }
};
using BarrierUses = std::vector<BarrierUse>;

// Those of one array, in the order of the program.
BarrierUses barrier_uses(const ProgramFacts& facts, const ir::tile::BarrierArray* array);

// The numbers of the barriers that it may stand for, within the array.
Interval index_of(const ir::tile::BarrierRef& barrier);
bool may_be_same(const ir::tile::BarrierRef& a, const ir::tile::BarrierRef& b);
// "full", "full[2]", "full[stage]"
std::string name_of(const ir::tile::BarrierRef& barrier);
std::string arrivals_text(std::int64_t n);  // "1 arrival", "128 arrivals"

}  // namespace tessera::passes
