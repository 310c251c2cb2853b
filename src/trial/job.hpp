// What the trial process is told: the memory that candidates use, and how each of them is launched.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/dtype.hpp"

namespace tessera::trial {

// Memory that is filled with these shows where it was not written: NaNs; for integers a number that hardly anybody
// computes (-1 is common).
constexpr unsigned char nan_poison = 0xff, integer_poison = 0xa5;

// A piece of the caller's memory. The trial process has a copy of it, between guards.
struct Region {
  std::string name;  // of the parameters that reach it, for messages
  std::uint64_t bytes = 0;
  std::uint32_t misalignment = 0;       // of its address, modulo copy_alignment
  bool read = false, written = false;   // by any candidate
  unsigned char poison = nan_poison;    // what it is filled with before a run where it is not read
  std::uint64_t input = 0, output = 0;  // where its content, and what a candidate wrote, lie in the shared memory
};
constexpr std::uint32_t copy_alignment = 256;

constexpr std::int32_t no_region = -1;
struct Param {
  std::int32_t region = no_region;
  std::int64_t value = 0;  // a scalar's bits; for a pointer its distance from the beginning of the region
};

// A TMA descriptor, without the expressions that its numbers came from.
struct MapJob {
  std::string name;
  DType type = DType::f16;
  std::uint8_t swizzle = 0;
  std::vector<std::uint32_t> box;
  std::vector<std::int64_t> dims, strides;  // innermost first; bytes
  Param base;
  bool empty = false;  // no box of it is ever copied: not encoded
};

struct Job {
  std::vector<char> cubin;
  std::string function;
  std::uint32_t shared_bytes = 0;
  std::array<int, 3> cluster{1, 1, 1};
  bool dependent = false;
  std::uint32_t threads = 0;
  std::array<std::uint32_t, 3> grid{};
  std::vector<Param> params;
  std::vector<MapJob> maps;
};

}  // namespace tessera::trial
