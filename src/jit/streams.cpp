#include "jit/streams.hpp"

#include "jit/driver_api.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

constexpr CuResult not_ready = 600, capture_implicit = 906, update_failure = 910;
constexpr int capture_thread_local = 1, capture_relaxed = 2;

// CUgraphExecUpdateResultInfo, with room for fields of later versions.
struct UpdateResult {
  int result = 0;
  void* nodes[8] = {};
};

bool finished(CuResult code, const char* call) {
  if (code == not_ready) return false;
  check_cuda(code, call);
  return true;
}

}  // namespace

void* create_stream(int device, bool independent) {
  const ContextScope scope(device);
  CuHandle stream = nullptr;
  check_cuda(driver_api().stream_create(&stream, independent ? 1 : 0), "cuStreamCreate");
  return stream;
}

int device_of_stream(int device, void* stream) {
  const ContextScope scope(device);
  CuHandle context = nullptr;
  check_cuda(driver_api().stream_context(stream, &context), "cuStreamGetCtx");
  for (int i = 0; i < driver_api().devices; ++i) {
    if (primary_context(i) == context) return i;
  }
  return -1;
}

bool stream_finished(int device, void* stream) {
  const ContextScope scope(device);
  LaunchLog& log = launch_log(device);
  const LaunchLog::Place place = log.place(stream);
  const bool done = finished(driver_api().stream_query(stream), "cuStreamQuery");
  if (done) log.clear(place);
  return done;
}

void wait_event(int device, void* stream, void* event) {
  const ContextScope scope(device);
  check_cuda(driver_api().stream_wait(stream, event, 0), "cuStreamWaitEvent");
}

bool event_finished(int device, void* event) {
  const ContextScope scope(device);
  return finished(driver_api().event_query(event), "cuEventQuery");
}

void synchronize_event(int device, void* event) {
  const ContextScope scope(device);
  check_cuda(driver_api().event_synchronize(event), "cuEventSynchronize");
}

bool is_capturing(int device, void* stream) {
  const ContextScope scope(device);
  int status = 0;
  const CuResult code = driver_api().stream_capturing(stream, &status);
  // The default stream cannot be captured; while a stream that waits for it is, the driver answers with an error.
  return code == capture_implicit || (code == 0 && status != 0);
}

void begin_capture(int device, void* stream) {
  const ContextScope scope(device);
  check_cuda(driver_api().begin_capture(stream, capture_thread_local), "cuStreamBeginCapture");
}

void* end_capture(int device, void* stream) {
  const ContextScope scope(device);
  CuHandle graph = nullptr;
  check_cuda(driver_api().end_capture(stream, &graph), "cuStreamEndCapture");
  return graph;
}

void abandon_capture(int device, void* stream) noexcept {
  try {
    const ContextScope scope(device);
    CuHandle graph = nullptr;
    if (driver_api().end_capture(stream, &graph) == 0 && graph != nullptr) destroy_graph(device, graph);
  } catch (const Error&) {  // the error that ends the capture is on its way to the user
  }
}

void* instantiate(int device, void* graph) {
  const ContextScope scope(device);
  CuHandle exec = nullptr;
  check_cuda(driver_api().graph_instantiate(&exec, graph, 0), "cuGraphInstantiate");
  return exec;
}

bool update_graph(int device, void* exec, void* graph) {
  const ContextScope scope(device);
  UpdateResult result;
  const CuResult code = driver_api().graph_update(exec, graph, &result);
  if (code == update_failure) return false;
  check_cuda(code, "cuGraphExecUpdate");
  return true;
}

void launch_graph(int device, void* exec, void* stream, const LaunchOrigin& origin) {
  const ContextScope scope(device);
  const CuResult code = driver_api().graph_launch(exec, stream);
  if (code != 0) throw_launch(code, "cuGraphLaunch", origin);
  launch_log(device).add(origin, stream);
  if (synchronous_launches()) wait_for_launch(stream, origin);
}

void destroy_graph(int device, void* graph) noexcept {
  try {
    const ContextScope scope(device);
    static_cast<void>(driver_api().graph_destroy(graph));
  } catch (const Error&) {  // the context is lost, and the graph with it
  }
}

void destroy_graph_exec(int device, void* exec) noexcept {
  try {
    const ContextScope scope(device);
    static_cast<void>(driver_api().graph_exec_destroy(exec));
  } catch (const Error&) {
  }
}

RelaxedCapture::RelaxedCapture() : mode_(capture_relaxed) {
  check_cuda(driver_api().exchange_capture_mode(&mode_), "cuThreadExchangeStreamCaptureMode");
}
RelaxedCapture::~RelaxedCapture() { static_cast<void>(driver_api().exchange_capture_mode(&mode_)); }

}  // namespace tessera::jit
