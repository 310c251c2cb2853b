// What the library says while it compiles and tunes, and where it says it. It never prints anything else.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tessera {

enum class Progress : std::uint8_t {
  // The default: silent if TESSERA_QUIET is set to anything but 0; a bar if standard error is a terminal; otherwise
  // plain
  // lines, which begin once a kernel's preparation has taken a second, so that quick ones say nothing.
  automatic,
  quiet,  // nothing, not even warnings about the cache
  lines,  // plain lines from the beginning
  bar     // one line, rewritten in place
};

// Takes whole lines, each with its line feed (or, for the bar, a line that begins with a carriage return).
using MessageSink = std::function<void(std::string_view)>;

void set_progress(Progress mode);
Progress progress();
// Standard error if null. Called under a lock, from any thread that uses a kernel.
void set_message_sink(MessageSink sink);

}  // namespace tessera
