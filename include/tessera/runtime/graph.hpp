// Launches that are recorded once and run many times: a CUDA graph, with the same calls on the simulated device.
//   Graph graph = Graph::capture(stream, [&] { first.launch({.stream = stream}, ...); second.launch(...); });
//   graph.launch();
//   graph.update([&] { ... the same launches with other arguments ... });
#pragma once

#include <functional>
#include <memory>

#include "tessera/runtime/stream.hpp"

namespace tessera {

class Graph {
 public:
  // Calls `work`, whose launches, copies and fills on `stream` are recorded and not executed; streams that wait for an
  // event of `stream` take part. Nothing in it may compile, tune, synchronise or use the default stream: kernels are
  // compiled before, by compile() or a call with the same sizes. What throws in `work` ends the capture and is passed
  // on. The graph keeps the compiled kernels alive, and buffers are the caller's: they live as long as it is launched.
  static Graph capture(const Stream& stream, const std::function<void()>& work, SourceLoc loc = SourceLoc::here());

  // Records anew, with whatever arguments `work` passes now: other addresses (tensor maps are encoded for them), other
  // sizes. Where the launches are the same ones in the same order the graph is changed in place (cuGraphExecUpdate),
  // which is much cheaper than making one; otherwise it is made anew. True if it was changed in place. Launches of the
  // graph that were given before keep the old arguments.
  bool update(const std::function<void()>& work, SourceLoc loc = SourceLoc::here());

  // Everything that was recorded, in the order of the stream: that of the capture, or another one of its device.
  void launch(SourceLoc loc = SourceLoc::here()) const;
  void launch(const Stream& stream, SourceLoc loc = SourceLoc::here()) const;

  std::size_t kernels() const;  // launches recorded

  struct State;

 private:
  explicit Graph(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace tessera
