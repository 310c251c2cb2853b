// The picture that the page holds before its script runs, or where none may: the whole run, as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/timeline_rows.hpp"

namespace tessera::checker {

// Text for between tags and for quoted attributes.
std::string escaped(std::string_view text);

// The content of two SVG elements that are as wide as the page lets them be. Events that are too narrow to be seen are
// joined, until there are at most `most_rectangles`, or one for each lane.
inline constexpr std::size_t most_rectangles = 4000;
std::string picture_svg(const sim::Timeline& timeline, const std::vector<TrackEvents>& tracks,
                        const std::vector<Row>& rows);
std::string axis_svg(const sim::Timeline& timeline);

}  // namespace tessera::checker
