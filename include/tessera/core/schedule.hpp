// Schedules of the simulated Hopper.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/source_loc.hpp"

namespace tessera {

// When the simulated Hopper lets asynchronous effects land, and in which order its warps run. A right program gives the
// same result under every schedule.
//   eager   an effect lands when it is issued; warps run in turn, each until it blocks
//   lazy    an effect lands when a warp waits for it and cannot go on otherwise
//   random  warps, switches and landings are drawn from the seed
//   order   warps run in turn, each until it blocks, effects land last; but at the steps that `choices` names, counted
//           from 0 at each synchronisation, another one of those that could go on does
struct Schedule {
  enum class Kind : std::uint8_t { eager, lazy, random, order };
  struct Choice {
    std::uint32_t step = 0;
    std::uint32_t choice = 0;  // 1: the next one, ...
    bool operator==(const Choice&) const = default;
  };
  Kind kind = Kind::eager;
  std::uint64_t seed = 0;            // of a random schedule
  std::vector<Choice> choices = {};  // of an order, by rising step

  static Schedule eager() { return {Kind::eager, 0}; }
  static Schedule lazy() { return {Kind::lazy, 0}; }
  static Schedule random(std::uint64_t seed) { return {Kind::random, seed}; }
  // "eager", "lazy", "random:SEED", or "order:STEP.CHOICE,..."; a user Error for any other text.
  static Schedule parse(std::string_view text, SourceLoc loc = SourceLoc::here());
  std::string to_string() const;
  bool operator==(const Schedule&) const = default;
};

}  // namespace tessera
