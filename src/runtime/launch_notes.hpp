// Writes launches down, for tuning records and for the trial process.
#pragma once

#include <vector>

#include "runtime/candidate_memory.hpp"
#include "tune/record.hpp"

namespace tessera::runtime {

// The memory that the candidates use. The entries have their kernels; executables are not asked for.
std::vector<tune::RecordBuffer> note_buffers(const CandidateMemory& memory, RuntimeArguments arguments,
                                             const ir::thread::Kernel& kernel);

// One of them for the executors, named as messages name it. What nobody writes counts as read, so that it has content
// with which it is compared afterwards.
trial::Region watched_region(const tune::RecordBuffer& buffer);

// A launch with these arguments, without the cubin. A pointer that no view uses is null.
trial::Job note_launch(const CandidateMemory& memory, RuntimeArguments arguments, const ir::thread::Kernel& kernel,
                       const detail::DeviceState& device, SourceLoc call);

}  // namespace tessera::runtime
