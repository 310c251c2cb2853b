// Twins: a kernel with one mistake, and the same kernel without it. The checker has to find the mistake under every
// schedule, with its kind, its lines and its object, and has to be silent about the other one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/simulator.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::twins {

// Runs a kernel on a machine: the simulated Hopper, or a card.
using Launcher = std::function<void(const ir::thread::Kernel&, const std::vector<sim::Argument>&)>;

// One variant, traced and lowered.
struct Prepared {
  std::function<bool(const Launcher&)> run;  // once; true if the results are right
  std::vector<Finding> by_text;              // what its text shows, before anything runs
};

struct About {
  std::string name;    // the lines that a report must name are marked with it, see Marks
  std::string source;  // the row or report of the field that it stands for: A1.3, D4, ...
  std::set<Hazard> expected;
  std::string object;          // part of what a report calls the object; a|b: either will do
  bool while_tracing = false;  // the language refuses the mistake, so that it is found before anything runs
};

struct Twin {
  About about;
  std::string family;
  const char* file = "";                      // the source that has the marks
  std::function<Prepared(bool broken)> make;  // traces and lowers; throws a user Error where the mistake is refused
};

// All of them, in the order of their families.
const std::vector<Twin>& all_twins();

// Adds twins of one family to a list.
class Family {
 public:
  Family(std::vector<Twin>& twins, std::string name, const char* file = __builtin_FILE())
      : twins_(twins), name_(std::move(name)), file_(file) {}
  void add(About about, std::function<Prepared(bool broken)> make) const {
    twins_.push_back({std::move(about), name_, file_, std::move(make)});
  }

 private:
  std::vector<Twin>& twins_;
  std::string name_;
  const char* file_;
};

void add_tma_loads(std::vector<Twin>& twins);
void add_wgmma_operands(std::vector<Twin>& twins);
void add_tma_stores(std::vector<Twin>& twins);
void add_partitions(std::vector<Twin>& twins);
void add_fences(std::vector<Twin>& twins);
void add_bytes(std::vector<Twin>& twins);
void add_barriers(std::vector<Twin>& twins);
void add_deadlocks(std::vector<Twin>& twins);
void add_phases(std::vector<Twin>& twins);
void add_clusters(std::vector<Twin>& twins);
void add_peers(std::vector<Twin>& twins);
void add_memory(std::vector<Twin>& twins);
void add_registers(std::vector<Twin>& twins);

}  // namespace tessera::twins
