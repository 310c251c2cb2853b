// What of the caller's memory the candidates of a kernel reach, for those who run them on copies.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_state.hpp"
#include "runtime/launch_plan.hpp"
#include "support/byte_ranges.hpp"
#include "trial/job.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {

// A candidate that takes part in tuning.
struct Entry {
  std::shared_ptr<const ir::thread::Kernel> kernel;  // null: it does not
  const Executable* executable = nullptr;
};

// One range for pointer parameters that overlap, so that copies can overlap in the same way.
struct CandidateMemory {
  struct Region {
    ByteRange range;
    bool read = false, written = false;  // by any candidate
    // Shows that an element was not written: NaNs; for integers alone a number that hardly anybody computes (-1 is
    // common).
    unsigned char poison = 0xa5;
  };
  std::vector<Region> regions;
  std::vector<std::size_t> reach;   // of a parameter: bytes that views of any candidate reach; 0 for scalars
  std::vector<std::size_t> region;  // of a parameter; MergedRanges::none where it reaches nothing
  std::vector<std::size_t> offset;  // of a parameter in its region
  std::vector<bool> written;        // of a parameter: by any candidate
};

// A copy of a region has the alignment that the caller's memory has, modulo trial::copy_alignment: so many bytes more
// to allocate for it, and where it then begins.
constexpr std::size_t copy_room = 2 * trial::copy_alignment;
std::uintptr_t copy_address(const void* allocation, const CandidateMemory::Region& region);

// What the entries' kernels reach together.
CandidateMemory find_memory(RuntimeArguments arguments, const std::vector<Entry>& entries,
                            const detail::DeviceState& device);

// An executor that counts its timed launches.
class CandidateExecutor : public tune::Executor {
 public:
  std::uint64_t timed() const { return timed_; }

 protected:
  std::uint64_t timed_ = 0;
};

}  // namespace tessera::runtime
