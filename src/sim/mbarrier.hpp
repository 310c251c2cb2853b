// mbarriers by PTX's rules (PTX ISA 9.7.13.15): pending arrivals, transaction bytes, phases.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/memory.hpp"
#include "sim/report.hpp"

namespace tessera::sim {

inline constexpr std::int64_t max_barrier_count = (1 << 20) - 1;  // also the range of the transaction count

// A thread that has arrived at a barrier, the last time that its warp did.
struct Arriver {
  const BlockInfo* block = nullptr;
  int warp = 0;
  const ir::Stmt* stmt = nullptr;
};

struct Mbarrier {
  std::uint32_t offset = 0;  // from the start of shared memory
  std::uint32_t count = 0;
  std::uint32_t pending = 0;  // arrivals that the current phase still needs
  std::int64_t tx = 0;        // bytes declared minus bytes delivered
  std::uint64_t phase = 0;    // number of completed phases; the parity is its lowest bit
  const ir::Stmt* init = nullptr;

  // What happened in the current phase, for reports.
  std::uint64_t declared = 0, delivered = 0;
  const ir::Stmt* declared_at = nullptr;  // the last of them
  const ir::Stmt* delivered_by = nullptr;
  const ir::Stmt* arrived_at = nullptr;
  const ir::Stmt* completed_at = nullptr;  // what completed the previous phase
  std::uint32_t order = 0;                 // its number there
  std::vector<Arriver> arrivers;           // one a warp
};

class BarrierSet {
 public:
  BarrierSet(const ir::thread::Kernel& kernel, MemorySystem& memory, Order* order)
      : kernel_(kernel), memory_(memory), order_(order) {}
  void begin(const BlockInfo* block) {
    block_ = block;
    barriers_.clear();
  }

  void init(const Site& site, std::uint32_t address, std::uint32_t count);
  void arrive(const Site& site, std::uint32_t address, std::uint32_t count);
  void expect(const Site& site, std::uint32_t address, std::uint32_t bytes);  // without the arrival
  void complete(const Site& site, std::uint32_t address, std::uint32_t bytes);
  // True once the phase with this parity has completed: the current phase has the other parity.
  bool passed(const Mbarrier& b, std::uint32_t parity) const { return (b.phase & 1U) != (parity & 1U); }
  // The initialised barrier at `address`; a user Error where there is none.
  Mbarrier& at(const Site& site, std::uint32_t address, const char* what);

 private:
  void finish(Mbarrier& b, const ir::Stmt* stmt);
  Mbarrier* find(std::uint32_t offset);
  // With the block, where `site` is in another one.
  std::string name(const Site& site, std::uint32_t offset) const;

  const ir::thread::Kernel& kernel_;
  MemorySystem& memory_;
  Order* const order_;
  const BlockInfo* block_ = nullptr;
  std::deque<Mbarrier> barriers_;
};

}  // namespace tessera::sim
