// What the checker reports: a hazard of a kernel, at a place, on an object.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera {

// Kinds of hazards. docs/checker.md describes each, with its source in the PTX ISA.
enum class Hazard : std::uint8_t {
  race,              // two accesses to one byte, one of them a write, that nothing orders
  proxy_fence,       // ordered, but a generic access is handed to an asynchronous engine without fence.proxy.async
  barrier_init,      // an mbarrier that may be used before it is initialised, or before its initialisation is visible
  barrier_bytes,     // bytes declared on an mbarrier differ from those that copies deliver
  barrier_arrivals,  // more arrivals than the count, arrivals in the wrong phase
  barrier_phase,     // a wait that may find its barrier two phases on
  barrier_storage,   // ordinary accesses to the bytes of an mbarrier
  wgmma,             // wgmma's registers in flight, a missing fence, commit or wait, warps that execute different ones
  bulk_group,        // the source of a TMA store that is given up or not waited for
  cluster,           // signals to a block of the cluster that has ended, cluster barriers out of step
  out_of_bounds,
  uninitialised,
  misaligned,
  swizzle,    // written with one swizzle and read with another
  deadlock,   // nobody is left who could let a waiting warp go on
  registers,  // setmaxnreg
  misuse      // everything else that PTX forbids
};

// "race", "missing-proxy-fence", ...: the names in JSON and SARIF reports.
const char* name_of(Hazard hazard);

struct Finding {
  Hazard hazard = Hazard::misuse;
  Diagnostic diagnostic;  // where, what, the other places involved, and the missing step
  std::string object;     // what it is about: "sb[2]", "full[0]", a parameter; may be empty
  std::string kernel;
  std::string schedule;                 // that shows it: "eager", "random:7"; empty if it was found without running
  std::array<std::int64_t, 3> block{};  // where it was first seen
  int warp = -1;                        // -1: no single warp
  std::uint64_t count = 1;              // how often it was seen
};

}  // namespace tessera
