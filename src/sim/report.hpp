// Where a thread stands, in words, and the errors that name it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::sim {

// The block that runs, for messages.
struct BlockInfo {
  const ir::thread::Kernel* kernel = nullptr;
  std::array<std::int64_t, 3> index{};
  int rank = 0;   // in its cluster
  int place = 0;  // among the blocks that run together
};

// The thread that executes a statement; lane -1: the warp as a whole, warp -1: nobody in particular.
struct Site {
  const BlockInfo* block = nullptr;
  const ir::Stmt* stmt = nullptr;
  int warp = -1;
  int lane = -1;
};

std::string describe(const Site& site);  // "block (0, 1, 0), warp 2, lane 5"
// "byte 12 of tile sa (shared offset 1036)"; `offset` counts from the start of the block's shared memory.
std::string describe_shared(const ir::thread::Kernel& kernel, std::uint32_t offset);
// "mbarrier tma_barrier", "mbarrier stage[2]", or by its offset where no region is known.
std::string describe_barrier(const ir::thread::Kernel& kernel, std::uint32_t offset);
std::string count_of(std::uint64_t n, const char* noun);  // "1 arrival", "3 arrivals"
std::string line_of(const ir::Stmt* stmt);                // "line 12"
SourceLoc loc_of(const ir::Stmt* stmt);

// A user Error that says which kind of hazard it is, and on what.
class HazardError : public Error {
 public:
  explicit HazardError(Finding finding);
  const Finding& finding() const { return finding_; }

 private:
  Finding finding_;
};
[[noreturn]] void fail(Hazard hazard, const Site& site, const std::string& message, std::string help = {},
                       std::vector<Note> notes = {});
[[noreturn]] void fail_internal(const Site& site, const std::string& message);

}  // namespace tessera::sim
