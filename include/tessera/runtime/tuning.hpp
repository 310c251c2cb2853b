// When, and for how long, a kernel's candidates are measured.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera {

//   kernel.tuning({.mode = Tuning::background, .seconds = 5});
//
// The environment wins over the program: TESSERA_TUNING=now|background|never, TESSERA_TUNING_SECONDS=<seconds>. A
// tuning record of an earlier process is used in every mode. The simulated Hopper has no clock: there a static estimate
// chooses, whatever the mode is. See docs/tuning.md.
struct Tuning {
  enum Mode : std::uint8_t {
    now,         // the first call compiles and measures all candidates, and returns when the best one is known
    background,  // it goes ahead with the static estimate's choice; the best one takes over when it is known
    never        // the static estimate's choice is compiled, nothing is measured
  };
  Mode mode = now;
  // For compiling and measuring the candidates of one bucket of sizes, over all processes that share the cache; none:
  // as long as it takes. The most promising candidates come first. Looked at between candidates, so that the last one
  // may take longer. At least one candidate is always compiled.
  std::optional<double> seconds = {};
};

}  // namespace tessera
