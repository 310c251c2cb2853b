// A page that shows what one cluster did: its warps, engines, tiles and barriers against time, with the findings in it.
#pragma once

#include <span>
#include <string>

#include "sim/timeline.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::checker {

// One HTML file that needs nothing else. A finding is placed at the timeline's event of kind `finding` that fits it
// best (line, message, block, warp); one without such an event is listed only.
std::string timeline_html(const sim::Timeline& timeline, std::span<const Finding> findings);

}  // namespace tessera::checker
