#include "hopper_matmul/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hopper_matmul {
namespace {

using Json = nlohmann::ordered_json;
using tessera::CandidateReport;
using tessera::Report;

const char* name_of(Report::Ranking ranking) {
  switch (ranking) {
    case Report::Ranking::single: return "single";
    case Report::Ranking::measured: return "measured";
    case Report::Ranking::recorded: return "recorded";
    case Report::Ranking::estimated: return "estimated";
  }
  return "?";
}

// JSON has no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const CandidateReport& candidate) {
  Json json{{"config", candidate.config},
            {"status", tessera::to_string(candidate.status)},
            {"warps", candidate.warps},
            {"shared_bytes", candidate.shared_bytes},
            {"register_estimate", candidate.register_estimate},
            {"registers", candidate.registers},
            {"spill_bytes", candidate.spill_bytes},
            {"time_us", number(candidate.time_us)}};
  if (!candidate.reason.empty()) json["reason"] = candidate.reason;
  if (!candidate.remarks.empty()) json["remarks"] = candidate.remarks;
  return json;
}

}  // namespace

bool Results::right() const {
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const KernelResults& k) { return k.comparison.wrong_elements == 0; });
}

std::string to_string(const Options& options, const Results& results) {
  std::string text;
  for (const KernelResults& kernel : results.kernels) {
    const Report& report = kernel.report;
    text += fmt::format("{} {}×{}×{} {} on {}", kernel.version, options.size[0], options.size[1], options.size[2],
                        options.dtype, results.device);
    if (!report.config.empty()) {
      text += fmt::format(", {} ({}, {} candidate{})", report.config, name_of(report.ranking), report.candidates.size(),
                          report.candidates.size() == 1 ? "" : "s");
    }
    text += fmt::format("\nrelative_error={:.3e} wrong_elements={}\n", kernel.comparison.relative_error,
                        kernel.comparison.wrong_elements);
    text += fmt::format("  reference: {}; launches checked: {}; first call {:.2f} s\n", results.reference,
                        options.launches, kernel.first_call_seconds);
    if (!kernel.comparison.first_wrong.empty()) text += fmt::format("  wrong: {}\n", kernel.comparison.first_wrong);
    if (!report.cuda_path.empty()) text += fmt::format("  emitted CUDA: {}\n", report.cuda_path);
  }
  if (!results.bench.empty()) text += examples::table(results.bench, options.size, results.baseline);
  return text;
}

namespace {

Json to_json(const KernelResults& kernel) {
  const Report& report = kernel.report;
  Json json{{"version", kernel.version},
            {"config", report.config},
            {"ranking", name_of(report.ranking)},
            {"bucket", report.bucket},
            {"relative_error", number(kernel.comparison.relative_error)},
            {"wrong_elements", kernel.comparison.wrong_elements},
            {"first_call_seconds", kernel.first_call_seconds},
            {"remarks", report.remarks},
            {"candidates", Json::array()}};
  for (const CandidateReport& candidate : report.candidates) json["candidates"].push_back(to_json(candidate));
  return json;
}

}  // namespace

void write_json(const std::string& path, const Options& options, const Results& results) {
  const Report report = results.kernels.empty() ? Report{} : results.kernels.front().report;
  Json json{{"example", "hopper_matmul"},
            {"dtype", options.dtype},
            {"size", options.size},
            {"device", results.device},
            {"driver", report.driver},
            {"compiler", report.compiler},
            {"data", "a and b normally distributed (mean 0, deviation 1), rounded to the element type"},
            {"launches", options.launches},
            {"reference", results.reference}};
  json["bench"] = Json::array();
  if (!results.bench.empty()) {
    json["protocol"] = results.protocol + "; results checked element by element first";
    json["library"] = results.library;
    json["baseline"] = results.baseline;
  }
  for (const examples::Row& row : results.bench) {
    json["bench"].push_back({{"name", row.name},
                             {"latency_ms", row.latency_ms},
                             {"first_quartile_ms", row.low_ms},
                             {"third_quartile_ms", row.high_ms},
                             {"tflops", row.tflops},
                             {"share", row.share}});
  }
  json["kernels"] = Json::array();
  for (const KernelResults& kernel : results.kernels) json["kernels"].push_back(to_json(kernel));
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw std::runtime_error(fmt::format("{}: the results cannot be written there", path));
}

}  // namespace hopper_matmul
