// Exports of tessera::matmul whose launch is several kernels, beside what the library launches for the same matrices.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>

#include "export_fixture.hpp"
#include "kernels/export_choice.hpp"
#include "kernels/problem.hpp"
#include "runtime/launchable.hpp"
#include "tessera/matmul_export.hpp"

namespace tessera::test {

using Address = unsigned long long;

inline Address address_of(const void* pointer) {
  return static_cast<Address>(reinterpret_cast<std::uintptr_t>(pointer));
}
inline Address rounded_up(Address value, Address unit) { return (value + unit - 1) / unit * unit; }

// The arguments of a launch beside its workspace.
struct Arguments {
  std::int32_t m = 0;
  std::int64_t a_pitch = 0, b_pitch = 0, c_pitch = 0;
  float alpha = 1, beta = 0;
  Address a = 0, b = 0, c = 0, bias = 0;
};

class ExportSteps : public ExportTest {
 protected:
  void TearDown() override {
    driver.symbol<void(void (*)(const char*, void**, void*), void*)>("recording_on_launch")(nullptr, nullptr);
    driver.symbol<void(int)>("recording_fail_after")(0);
    ExportTest::TearDown();
  }

  // The one report, with the driver told what its kernels' parameters are.
  ExportReport written(const MatmulExport& what, const ExportOptions& options) {
    const std::vector<ExportReport> reports = export_matmul(what, options);
    EXPECT_EQ(reports.size(), 1U);
    const auto manifest = nlohmann::json::parse(text_of(fs::path(reports[0].directory) / (reports[0].name + ".json")));
    for (const auto& bucket : manifest["buckets"]) {
      if (!bucket.contains("steps")) continue;
      for (const auto& step : bucket["steps"]) tell_parameters(step);
    }
    return reports[0];
  }
  // Bytes of each, in the order of the scripts, and then those of the tensor maps.
  void tell_parameters(const nlohmann::json& step) {
    static const std::map<std::string, std::vector<int>> bytes = {
        {"PackRows", {4, 4, 8, 8, 8, 8, 8}},
        {"SplitMatmul", {4, 8, 8, 8, 8, 4, 4, 8, 8, 8, 8, 8}},
        {"PersistentMatmul", {4, 8, 8, 8, 8, 4, 4, 8, 8, 8, 8}},
        {"ReduceSplits", {4, 8, 8, 4, 4, 8, 8, 8}}};
    std::vector<int> all = bytes.at(step["kernel"].get<std::string>());
    all.insert(all.end(), step["tensor_maps"].get<std::size_t>(), 128);
    driver.symbol<void(const char*, const int*, int)>("recording_parameters_of")(
        step["function"].get<std::string>().c_str(), all.data(), static_cast<int>(all.size()));
  }

  static int launch(Exported& c, const Arguments& x, Address workspace, std::size_t bytes) {
    if (x.bias != 0) {
      return c.launch(x.m, x.a_pitch, x.b_pitch, x.c_pitch, x.alpha, x.beta, x.a, x.b, x.c, x.bias, workspace, bytes);
    }
    return c.launch(x.m, x.a_pitch, x.b_pitch, x.c_pitch, x.alpha, x.beta, x.a, x.b, x.c, workspace, bytes);
  }

  // All launches since the record was cleared.
  std::vector<std::string> launches() const {
    std::vector<std::string> result;
    std::istringstream lines(driver.text());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("launch ") != std::string::npos) result.push_back(line);
    }
    return result;
  }
  // The parameter `index` of a recorded launch, an address.
  static Address parameter(const std::string& line, int index) {
    std::istringstream words(line.substr(line.find("parameters") + 10));
    std::string word;
    for (int i = 0; i <= index; ++i) words >> word;
    return std::stoull(word.substr(word.find(':') + 1));
  }

  // What a product is to the library.
  static kernels::Problem problem(const MatmulExport& what, std::int64_t n, std::int64_t k, const Arguments& x) {
    const auto matrix = [](DType type, Address at, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
      detail::PtrValue memory;
      memory.pointer = reinterpret_cast<void*>(at);
      return detail::matrix_of(type, memory, rows, columns, pitch, 1, SourceLoc::here());
    };
    MatmulOptions options;
    options.alpha = x.alpha;
    options.beta = x.beta;
    options.activation = what.activation;
    kernels::Problem result =
        kernels::describe(matrix(what.in, x.a, x.m, k, x.a_pitch), matrix(what.in, x.b, n, k, x.b_pitch),
                          matrix(what.out, x.c, x.m, n, x.c_pitch), options, SourceLoc::here());
    if (x.bias != 0) {
      result.steps.bias = true;
      result.bias.pointer = reinterpret_cast<void*>(x.bias);
    }
    return result;
  }
};

}  // namespace tessera::test
