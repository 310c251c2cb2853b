// Findings that the program's author has judged: a comment on one of the lines of a finding waives it there.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/finding.hpp"

namespace tessera::checker {

// Takes out of `findings` those of which the line itself or the line of a note says
//   tessera-check: allow(missing-proxy-fence) reason
// in a comment, with the name of the finding's hazard, or several separated by commas. Returns their number.
std::uint64_t take_waived(std::vector<Finding>& findings);

}  // namespace tessera::checker
