// One candidate of a kernel, on its way from the trace to something a device can run.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cache.hpp"
#include "runtime/device_state.hpp"
#include "runtime/toolchain.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::runtime {

// The device-independent half: what tracing and lowering gave. Shared by the devices that a kernel runs on.
struct LoweredVariant {
  std::shared_ptr<const ir::thread::Kernel> kernel;  // null if it failed
  std::vector<Diagnostic> remarks;
  std::vector<Finding> findings;  // hazards that the text shows
  int register_estimate = 0;
  std::string canonical;  // CUDA text that names nothing of the user's
  std::string hash;       // of the kernel's name and `canonical`
  std::optional<Error> error;
  bool traced = false;  // the error, if any, is of lowering
  // Held while the kernel is printed or loaded, which may add expressions to its pool: several devices, and tuning in
  // the background, use the same kernel.
  mutable std::mutex pool;
};

struct Variant {
  CandidateReport row;                            // as it stands before any arguments are known
  std::shared_ptr<const LoweredVariant> lowered;  // null: not traced yet
  std::shared_ptr<const Executable> executable;   // null: not loaded yet; graphs keep it, too
  std::filesystem::path directory;                // its cache entry
};

// Traces and lowers. Errors of the program end up in the result, not in a throw.
//   trace: on the caller's thread, for it runs the user's code
//   lower: on any thread
std::shared_ptr<ir::tile::Kernel> trace_candidate(const detail::Candidate& candidate,
                                                  std::span<const std::int64_t> constants, std::uint64_t alignment,
                                                  LoweredVariant* out);
void lower_candidate(ir::tile::Kernel& kernel, const Toolchain& toolchain, LoweredVariant* out);

// Sets the row's numbers and its status: `failed` if tracing failed; `pruned` where it cannot run on sm_90, that is,
// where lowering refuses it, or it needs more shared memory than a block has (232,448 B) or more registers than a
// thread has (255). The reason says why.
void judge(Variant* variant);

// What the key of a cache entry depends on beside the kernel's text.
std::string target_text(const Toolchain& toolchain, const detail::DeviceState& device);
// The key: a hash of everything that the binary depends on (the kernel's name, which is the function's, its canonical
// text and the target) and of nothing else.
std::string entry_key(const LoweredVariant& lowered, const std::string& target);

struct BuildCounters {
  std::atomic<std::uint64_t> compiled{0}, cache_hits{0};
};
// Takes the cubin from the cache or compiles it, and publishes the entry (for a device without cubins: the sources).
// Sets the row's facts and the directory; throws Error if the compiler does.
jit::Compiled build(Variant* variant, const std::string& kernel, const Toolchain& toolchain, const Cache& cache,
                    const detail::DeviceState& device, BuildCounters* counters);

// Makes it ready to run on the device.
std::unique_ptr<Executable> load(const Variant& variant, detail::DeviceState& device, const std::vector<char>& cubin);

}  // namespace tessera::runtime
