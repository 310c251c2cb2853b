// The style and the script of the page with the timeline: timeline.css and timeline.js as they are.
#pragma once

namespace tessera::checker {

extern const char* const timeline_style;
extern const char* const timeline_script;

}  // namespace tessera::checker
