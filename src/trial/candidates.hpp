// The candidates of a kernel as launches on memory, without the kernel: what an executor needs that runs them on memory
// of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "trial/job.hpp"
#include "tune/tuner.hpp"

namespace tessera::trial {

// What candidates leave in a region for one parameter.
struct OutputPlace {
  std::uint32_t param = 0;
  DType type = DType::f32;
  std::size_t region = 0, offset = 0, bytes = 0;
};

struct Candidates {
  std::vector<Region> regions;
  std::vector<OutputPlace> outputs;
  std::vector<Job> jobs;  // with their cubins; a job without one does not take part
  // Writes the content of a region that is read.
  std::function<void(std::size_t region, std::span<std::byte> content)> fill;
};

// The outputs of a run, in the memory of an earlier one's. `read(place, to)` copies one of them.
template <class Read>
std::vector<tune::Output> take_outputs(const std::vector<OutputPlace>& places, std::vector<tune::Output> recycled,
                                       const Read& read) {
  recycled.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    recycled[i].param = places[i].param;
    recycled[i].type = places[i].type;
    recycled[i].bytes.resize(places[i].bytes);
    read(places[i], recycled[i].bytes.data());
  }
  return recycled;
}

}  // namespace tessera::trial
