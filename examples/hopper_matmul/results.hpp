// What a run of the matmul example found out, on paper: lines for people and JSON for tools.
#pragma once

#include <string>
#include <vector>

#include "common/bench.hpp"
#include "common/check.hpp"
#include "hopper_matmul/options.hpp"
#include "tessera/runtime/report.hpp"

namespace hopper_matmul {

struct KernelResults {
  std::string version;
  examples::Comparison comparison;  // of the worst launch
  tessera::Report report;
  double first_call_seconds = 0;  // wall time of the first call, until the device was done
};

struct Results {
  std::string reference;  // who computed the reference
  std::string device;
  std::vector<KernelResults> kernels;
  std::vector<examples::Row> bench;
  std::string baseline;  // the row of `bench` that shares are of
  std::string library;   // what the rows of NVIDIA's library are, with its version
  std::string protocol;  // of the measurement

  bool right() const;
};

std::string to_string(const Options& options, const Results& results);
// Throws std::runtime_error if the file cannot be written.
void write_json(const std::string& path, const Options& options, const Results& results);

}  // namespace hopper_matmul
