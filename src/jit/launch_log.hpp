// The last launches on each device, so that an error that a kernel leaves behind can be traced to it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera::jit {

// Who launches what. The name lives for ever (intern).
struct LaunchOrigin {
  const char* kernel = "";
  SourceLoc call;
  bool recorded = false;  // into a graph: it does not run now
};

// A copy of the text that lives until the process ends; the same address for the same text.
const char* intern(const std::string& text);

// A ring: a launch writes one cache line and takes no lock. What is written while somebody reads is left out.
class LaunchLog {
 public:
  static constexpr std::size_t capacity = 64;

  void add(const LaunchOrigin& origin, const void* stream) noexcept;
  // Whoever is going to wait takes the position before, and says after a wait that succeeded what it has proved: the
  // launches before the position, of the device or of one stream, have ended well. What other streams were made to wait
  // for is not followed: positions of different threads do not tell in which order the driver got their launches.
  std::uint64_t position() const noexcept { return next_.load(std::memory_order_relaxed); }
  void clear(std::uint64_t before) noexcept { cleared_.store(before, std::memory_order_relaxed); }
  struct Place {
    const void* stream = nullptr;
    std::uint64_t position = 0;
  };
  Place place(const void* stream) const noexcept { return {stream, position()}; }
  void clear(const Place& reached) noexcept;
  // The stream is about to be destroyed. Its launches may go on, and its handle may come back as another stream, whose
  // waits prove nothing about them.
  void retire(const void* stream) noexcept;

  struct Launch {
    LaunchOrigin origin;
    const void* stream = nullptr;
    bool operator==(const Launch& other) const {
      return origin.kernel == other.origin.kernel && origin.call.file == other.origin.call.file &&
             origin.call.line == other.origin.call.line;
    }
  };
  // Those that may not have ended yet, the latest first, each kernel and line once.
  std::vector<Launch> recent() const;

  // Adds to a diagnostic which launches may have failed. `failed`: this is the error of a kernel that failed while it
  // ran. The first such call settles the text, and all later diagnostics of the device get it.
  void explain(bool failed, Diagnostic* diagnostic);
  // With TESSERA_SYNC=1 the launch that failed is known.
  void blame(const LaunchOrigin& origin);

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> sequence{0};  // 2 n + 1 while launch n is written, then 2 n + 2
    std::atomic<const char*> kernel{nullptr}, file{nullptr}, function{nullptr};
    std::atomic<std::uint32_t> line{0};
    std::atomic<const void*> stream{nullptr};
    // The launch's final sequence number once it has ended well; one more if only a wait for the device can tell.
    std::atomic<std::uint64_t> settled{0};
  };
  void settle(const Place& reached, std::uint64_t how) noexcept;
  std::array<Slot, capacity> slots_;
  std::atomic<std::uint64_t> next_{0}, cleared_{0};
  struct Blame;
  std::atomic<const Blame*> blame_{nullptr};  // never freed: the device is lost for this process
};

LaunchLog& launch_log(int device);

// TESSERA_SYNC=1: every launch waits until its kernel has ended, so that a failure is that kernel's.
bool synchronous_launches();

}  // namespace tessera::jit
