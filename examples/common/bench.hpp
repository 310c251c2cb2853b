// Measuring on the card: every contender in every round, in rotating order, each from a cold L2, medians of CUDA
// events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace examples {

struct Contender {
  std::string name;
  std::function<void(void* stream)> launch;  // enqueues one run on the CUstream
};

struct Timing {
  std::string name;
  double median_ms = 0;
  double low_ms = 0, high_ms = 0;  // first and third quartile
  int samples = 0;
};

// `rounds` runs of every contender after two that do not count. Between runs the L2 cache is filled with other memory
// (jit/l2_flush.hpp), so that nothing of a run's operands is left in it.
std::vector<Timing> measure(int device, const std::vector<Contender>& contenders, int rounds);
// That in words, for the files of results.
std::string protocol(int device, int rounds);

// Which of `count` variants is fastest: launch(i, stream) enqueues one run of variant i.
int fastest(int device, int count, const std::function<void(int, void* stream)>& launch, int rounds = 12);

// A row of the table of results.
struct Row {
  std::string name;
  double latency_ms = 0;
  double tflops = 0;
  double share = 0;  // of the throughput of the row named `baseline`
  double low_ms = 0, high_ms = 0;
};
std::vector<Row> rows_of(const std::vector<Timing>& timings, double operations, const std::string& baseline);

// m, n, k, name, latency (ms), tflops, share of the baseline; one line a row under a heading.
std::string table(const std::vector<Row>& rows, const std::vector<std::int64_t>& size, const std::string& baseline);

}  // namespace examples
