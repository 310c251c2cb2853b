// The families of hazards that the program text shows, one function each, and the list that they write to.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "passes/program_facts.hpp"
#include "passes/static_check.hpp"

namespace tessera::passes {

class HazardList {
 public:
  struct Entry {
    Finding finding;
    bool certain = false;  // every run that gets to the instruction goes wrong, whatever the arguments
  };
  explicit HazardList(std::string kernel) : kernel_(std::move(kernel)) {}

  void add(Hazard hazard, bool certain, std::string object, Diagnostic diagnostic);
  std::vector<Entry> take();  // by file and line

 private:
  std::string kernel_;
  std::vector<Entry> entries_;
  std::set<std::pair<std::uint32_t, std::string>> reported_;
};

// What is announced on an mbarrier against what copies deliver.
void check_barrier_bytes(const ProgramFacts& facts, HazardList& out);
// Counts of arrivals; waits that nothing ends; copies that nobody waits for.
void check_barrier_arrivals(const ProgramFacts& facts, HazardList& out);
// Phases that never flip; loops that wait more often than others arrive.
void check_barrier_phases(const ProgramFacts& facts, HazardList& out);
// The order of products, fences, commits, waits and other uses of their registers.
void check_wgmma_order(const ProgramFacts& facts, HazardList& out);
// The order of TMA stores, commits, waits and writes to their sources.
void check_bulk_order(const ProgramFacts& facts, HazardList& out);
// Tiles that ordinary instructions write and an engine reads, without a fence between the two.
void check_proxy_fences(const ProgramFacts& facts, HazardList& out);

}  // namespace tessera::passes
