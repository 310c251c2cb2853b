// Which kernels an exported matmul gets: pinned ones, those that tuning records hold for the fastest, or the model's.
#pragma once

#include <utility>

#include "kernels/executor.hpp"

namespace tessera::kernels {

// Fields and values: of the kernels' configurations, and
//   kernel  the script that multiplies
//   splits  the parts of k that are summed by themselves
using Pins = std::vector<std::pair<std::string, std::string>>;
// "kernel=SplitMatmul,splits=4,block_m=16" in any order. A user Error for text of another form and repeated fields.
Pins parse_pins(std::string_view text, SourceLoc loc);

struct Wanted {
  Pins pins;            // the model chooses among what has all of them
  std::string tuning;   // where records are; empty: nowhere
  bool several = true;  // kernels in one launch
};
struct ExportChoice {
  std::unique_ptr<Executor> executor;  // with one configuration
  MatmulReport::Choice choice;
  std::string how;  // "by the model of matmul()"
  bool measured = false;
};
// Nothing is compiled. A user Error for fields that no kernel has, and if nothing has all pins: it lists what there is.
ExportChoice choose_for_export(const Call& call, const Wanted& wanted);

}  // namespace tessera::kernels
