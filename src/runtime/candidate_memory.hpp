// What of the caller's memory the candidates of a kernel reach, for those who run them on copies.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_state.hpp"
#include "runtime/launch_plan.hpp"
#include "support/byte_ranges.hpp"
#include "trial/candidates.hpp"
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
    unsigned char poison = trial::integer_poison;
  };
  std::vector<Region> regions;
  std::vector<std::size_t> reach;   // of a parameter: bytes that views of any candidate reach; 0 for scalars
  std::vector<std::size_t> region;  // of a parameter; MergedRanges::none where it reaches nothing
  std::vector<std::size_t> offset;  // of a parameter in its region
  std::vector<bool> written;        // of a parameter: by any candidate
};

// A copy of memory has the alignment that the original has, modulo trial::copy_alignment: so many bytes more to
// allocate for it, and where it then begins.
constexpr std::size_t copy_room = 2 * trial::copy_alignment;
std::uintptr_t copy_address(const void* allocation, std::uintptr_t original);

// What the entries' kernels reach together.
CandidateMemory find_memory(RuntimeArguments arguments, const std::vector<Entry>& entries,
                            const detail::DeviceState& device);

// The kernel of any entry that takes part; an internal Error if none does.
const ir::thread::Kernel& any_kernel(const std::vector<Entry>& entries);

// Where in it the candidates leave their results. The kernel is any of theirs: the parameters are the same.
std::vector<trial::OutputPlace> outputs_of(const CandidateMemory& memory, const ir::thread::Kernel& kernel);

// An executor that counts its timed launches.
class CandidateExecutor : public tune::Executor {
 public:
  std::uint64_t timed() const { return timed_; }

 protected:
  std::uint64_t timed_ = 0;
};

}  // namespace tessera::runtime
