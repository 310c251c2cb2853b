// NVRTC, opened at run time: CUDA C++ text to an sm_90a cubin and the facts about it.
#pragma once

#include <string>
#include <vector>

namespace tessera::jit {

struct CubinFacts {
  int registers = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int stack_bytes = 0;
  int static_shared_bytes = 0;
  std::vector<std::string> remarks;  // performance advisories of ptxas (C75xx and the like), a line each

  int spill_bytes() const { return spill_store_bytes + spill_load_bytes; }
  // Spilled registers, serialised wgmmas, an ignored setmaxnreg: what costs more than another candidate can.
  bool flawed() const { return spill_bytes() > 0 || !remarks.empty(); }
};

struct Compiled {
  std::vector<char> cubin;
  std::string log;
  CubinFacts facts;
};

// True if libnvrtc can be opened (TESSERA_NVRTC names another library); the reason otherwise.
bool available(std::string* reason = nullptr);
// e.g. "NVRTC 13.0"; part of the cache key. Empty if unavailable.
std::string compiler_version();
// What else decides what `compile` makes of a text, for the cache key: the build of the library (several have one
// version) and of the one with its built-in functions, and the variables of the environment that NVRTC itself reads.
std::string compiler_build();
// The file of the library. Empty if unavailable.
std::string compiler_library();
// The flags that `compile` passes, part of the cache key.
std::string compiler_flags();

// Thread-safe. Throws a device Error with the log if the text does not compile, an unsupported Error (what was looked
// for, where, what to do) if there is no NVRTC.
Compiled compile(const std::string& source, const std::string& kernel_name);

}  // namespace tessera::jit
