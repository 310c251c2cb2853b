// What each kind of hazard is, in words: for SARIF's rules, for the page with the timeline and for docs/checker.md.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/core/finding.hpp"

namespace tessera::checker {

struct HazardText {
  Hazard hazard;
  const char* title;        // a few words
  const char* description;  // one sentence
  const char* help;         // one sentence on the usual fix
};

inline constexpr std::size_t hazard_count = static_cast<std::size_t>(Hazard::misuse) + 1;

// One entry a hazard, in the order of the enumeration.
std::span<const HazardText> hazard_texts();
const HazardText& text_of(Hazard hazard);

}  // namespace tessera::checker
