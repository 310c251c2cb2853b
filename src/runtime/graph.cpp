#include "tessera/runtime/graph.hpp"

#include <fmt/format.h>

#include <mutex>

#include "runtime/capture.hpp"
#include "tessera/core/error.hpp"

namespace tessera {
using runtime::Recording;
using runtime::RecordingScope;
using runtime::StreamOps;

struct Graph::State {
  explicit State(Stream s) : stream(std::move(s)) {}
  ~State() {
    if (exec != nullptr) ops().destroy_exec(exec);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  StreamOps& ops() const { return stream.device().state()->streams(); }
  bool record(const std::function<void()>& work, SourceLoc loc);

  Stream stream;
  mutable std::mutex mutex;  // launches beside an update
  std::shared_ptr<Recording> recording;
  const char* name = "";  // for errors
  void* exec = nullptr;   // the driver's; null on a device that runs everything at once

 private:
  void* capture(Recording& to, const std::function<void()>& work) const;
  bool take(void* graph);
};

// Runs `work`, and returns the driver's graph of it.
void* Graph::State::capture(Recording& to, const std::function<void()>& work) const {
  const bool native = !ops().immediate();
  if (native) ops().begin_capture(stream.handle());
  try {
    const RecordingScope scope(to);
    work();
  } catch (...) {
    if (native) ops().abandon_capture(stream.handle());
    throw;
  }
  return native ? ops().end_capture(stream.handle()) : nullptr;
}

// Makes `exec` one of `graph`. True if it was changed in place.
bool Graph::State::take(void* graph) {
  if (exec != nullptr && ops().update(exec, graph)) return true;
  void* made = ops().instantiate(graph);
  if (exec != nullptr) ops().destroy_exec(exec);
  exec = made;
  return false;
}

bool Graph::State::record(const std::function<void()>& work, SourceLoc loc) {
  if (runtime::current_recording() != nullptr) {
    throw Error(ErrorKind::user, loc, "a capture inside of a capture", "capture one graph after the other");
  }
  auto made = std::make_shared<Recording>(*stream.device().state());
  void* graph = capture(*made, work);
  const std::lock_guard lock(mutex);
  bool in_place = recording != nullptr && recording->same_form(*made);
  if (graph != nullptr) {
    try {
      in_place = take(graph);
    } catch (...) {
      ops().destroy_graph(graph);
      throw;
    }
    ops().destroy_graph(graph);
  }
  recording = std::move(made);
  name = jit::intern(fmt::format("a graph of {} kernels ({})", recording->kernels(), recording->names()));
  return in_place;
}

Graph Graph::capture(const Stream& stream, const std::function<void()>& work, SourceLoc loc) {
  if (stream.handle() == nullptr) {
    throw Error(ErrorKind::user, loc, "Graph::capture of the default stream, which cannot be captured",
                "make a stream of its own: Stream stream(device)");
  }
  auto state = std::make_shared<State>(stream);
  state->record(work, loc);
  return Graph(std::move(state));
}

bool Graph::update(const std::function<void()>& work, SourceLoc loc) { return state_->record(work, loc); }

void Graph::launch(SourceLoc loc) const { launch(state_->stream, loc); }

void Graph::launch(const Stream& stream, SourceLoc loc) const {
  const detail::DeviceState& device = *state_->stream.device().state();
  if (runtime::current_recording() != nullptr) {
    throw Error(ErrorKind::user, loc, "Graph::launch inside of a capture",
                "capture the launches themselves, or launch the graphs one after the other");
  }
  runtime::check_stream("Graph::launch", stream, device, loc);
  std::shared_ptr<Recording> recording;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->exec != nullptr) {
      state_->ops().launch(state_->exec, stream.handle(), {state_->name, loc});
      return;
    }
    recording = state_->recording;
  }
  recording->replay();
}

std::size_t Graph::kernels() const {
  const std::lock_guard lock(state_->mutex);
  return state_->recording->kernels();
}

}  // namespace tessera
