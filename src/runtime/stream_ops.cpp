#include "runtime/stream_ops.hpp"

#include <chrono>

#include "tessera/core/error.hpp"

namespace tessera::runtime {
namespace {

using Clock = std::chrono::steady_clock;
struct HostEvent {
  Clock::time_point time;
};
struct HostStream {};

[[noreturn]] void no_graphs() {
  throw Error(ErrorKind::internal, {}, "a device that runs everything at once was asked for a graph");
}

}  // namespace

void* StreamOps::create_stream(bool) { return new HostStream; }
void StreamOps::destroy_stream(void* stream) noexcept { delete static_cast<HostStream*>(stream); }
int StreamOps::device_of(void*) const { return -1; }
void StreamOps::synchronize(void*) {}
bool StreamOps::finished(void*) { return true; }
bool StreamOps::capturing(void*) { return false; }

void* StreamOps::create_event() { return new HostEvent; }
void StreamOps::destroy_event(void* event) noexcept { delete static_cast<HostEvent*>(event); }
void StreamOps::record(void* event, void*) { static_cast<HostEvent*>(event)->time = Clock::now(); }
void StreamOps::wait(void*, void*) {}
void StreamOps::synchronize_event(void*) {}
bool StreamOps::event_finished(void*) { return true; }
double StreamOps::elapsed_ms(void* begin, void* end) {
  const auto time = static_cast<HostEvent*>(end)->time - static_cast<HostEvent*>(begin)->time;
  return std::chrono::duration<double, std::milli>(time).count();
}

void StreamOps::begin_capture(void*) { no_graphs(); }
void* StreamOps::end_capture(void*) { no_graphs(); }
void StreamOps::abandon_capture(void*) noexcept {}
void* StreamOps::instantiate(void*) { no_graphs(); }
bool StreamOps::update(void*, void*) { no_graphs(); }
void StreamOps::launch(void*, void*, const jit::LaunchOrigin&) { no_graphs(); }
void StreamOps::destroy_graph(void*) noexcept {}
void StreamOps::destroy_exec(void*) noexcept {}

}  // namespace tessera::runtime
