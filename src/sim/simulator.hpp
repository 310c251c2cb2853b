// The simulated Hopper: executes a thread-IR kernel on the CPU with the asynchronous hardware modelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/thread.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {

// When asynchronous effects land, and in which order warps run.
struct Schedule {
  enum class Kind : std::uint8_t { eager, lazy, random };
  Kind kind = Kind::eager;
  std::uint64_t seed = 0;
};
// "eager", "lazy", "random:SEED"; throws a user Error otherwise.
Schedule parse_schedule(std::string_view text);
std::string to_string(const Schedule& schedule);

struct Argument {
  std::int64_t integer = 0;   // scalar parameters: the value's bits, sign- or zero-extended (float32: its bit pattern)
  std::byte* data = nullptr;  // pointer parameters
  std::size_t bytes = 0;      // size of the buffer from `data` on
};

struct Options {
  Schedule schedule;
  int threads = 0;                              // host threads over CTAs; 0: all cores
  std::function<void(std::string_view)> print;  // sink of device printf; default standard output
  bool check_proxy_handover = true;
};

struct Statistics {
  std::uint64_t ctas = 0;
  std::uint64_t warp_statements = 0;
  std::uint64_t tma_bytes = 0;
};

// Runs the whole grid. Throws a user Error (with the line of the statement) for out-of-bounds accesses, reads of
// uninitialised shared memory or registers, misaligned accesses, unfenced hand-over to the TMA engine, misuse of
// mbarriers and deadlock.
Statistics run(const ir::thread::Kernel& kernel, std::span<const Argument> arguments, const Options& options = {});

}  // namespace tessera::sim
