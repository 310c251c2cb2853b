// The mutations that no run can show, because the kernel is right with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "check/mutate.hpp"

namespace tessera::testing {

// The first two are parts of what they are compared with. A survivor belongs to the first entry that fits it.
struct ExpectedSurvivors {
  std::string mutation;              // of its text, "line 61: mbarrier.arrive deleted", without the line's number
  std::string source;                // of the user's line
  std::map<std::string, int> times;  // how often in all forms of each kernel
  std::string reason;                // why it does no harm
};

const std::vector<ExpectedSurvivors>& expected_survivors();
// The number of the entry that a survivor belongs to; that of all entries if it belongs to none.
std::size_t entry_of(const checker::Mutation& mutation);

}  // namespace tessera::testing
