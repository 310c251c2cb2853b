// A kernel with its C++ type erased: what Kernel<S> hands to the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/dtype.hpp"
#include "tessera/core/source_loc.hpp"

namespace tessera {

namespace ir::tile {
struct Kernel;
}

namespace detail {

enum class ParamKind : std::uint8_t {
  constant,  // C++ int, bool or enum: compiled in; a new value traces, compiles and tunes anew
  scalar,    // Int32 and the like: passed at launch
  pointer    // Ptr<T>: device memory
};

struct ParamInfo {
  ParamKind kind = ParamKind::scalar;
  DType type = DType::i32;
  std::string name;  // "p0", ... unless the script names its parameters
};

// One way to build the kernel: a point of the script's Space.
struct Candidate {
  std::string config;  // e.g. "block_m=64,block_n=128,block_k=64"; empty for a script without a Space
  // Traces the script. `constants` has one entry a parameter; only those of kind constant are read.
  std::function<std::shared_ptr<ir::tile::Kernel>(std::span<const std::int64_t> constants)> trace;
};

struct Program {
  std::string name;  // the script's type name
  SourceLoc loc;     // where the Kernel object was made
  std::vector<ParamInfo> params;
  std::vector<Candidate> candidates;  // never empty
  bool always_measured = false;       // also where there is only one candidate: its time is compared with others'
};

}  // namespace detail
}  // namespace tessera
