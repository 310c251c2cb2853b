// Exports what matmul() would launch, where that is one kernel.
#include "tessera/matmul_export.hpp"

#include <fmt/format.h>

#include <map>

#include "export/model.hpp"
#include "export/offline_device.hpp"
#include "kernels/select.hpp"
#include "runtime/launchable.hpp"
#include "tessera/core/error.hpp"

namespace tessera {

namespace kernels {
namespace {

using detail::Argument;
using detail::ParamKind;
using detail::PtrValue;

PtrValue somewhere(SourceLoc loc) {
  PtrValue value;
  value.pointer = export_memory<std::byte>();
  value.loc = loc;
  return value;
}

Problem problem_of(const MatmulExport& what, const std::array<std::int64_t, 3>& size, SourceLoc loc) {
  const auto [m, n, k] = size;
  if (m < 1 || n < 1 || k < 1) {
    throw Error(ErrorKind::user, loc, fmt::format("export_matmul: the size {} x {} x {}", m, n, k),
                "m, n and k are 1 or more");
  }
  const auto matrix = [&](DType type, std::int64_t rows, std::int64_t columns) {
    return detail::matrix_of(type, somewhere(loc), rows, columns, columns, 1, loc);
  };
  MatmulOptions options;
  options.alpha = what.alpha;
  options.beta = what.beta;
  options.activation = what.activation;
  Problem problem = describe(matrix(what.in, m, k), matrix(what.in, n, k), matrix(what.out, m, n), options, loc);
  problem.steps.bias = what.bias;
  return problem;
}

// One export: sizes that the same script does.
struct Group {
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<exporter::Call> calls;
  std::vector<std::string> notes, remarks;
};

// "n_size = 4096, k_size = 4096: a_pitch = 4096, ...": what the launch's other parameters are for dense matrices.
std::string dense_note(const detail::Program& program, const std::vector<Argument>& arguments) {
  std::string constants, values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const detail::ParamInfo& param = program.params[i];
    const bool stride = param.kind == ParamKind::scalar && param.type == DType::i64;
    const bool size = param.name == "n_size" || param.name == "k_size";
    if (!stride && !size) continue;
    std::string& text = stride ? values : constants;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", param.name, arguments[i].integer);
  }
  return fmt::format("  {}: {}", constants, values);
}

std::string ending_of(const std::string& script) {
  if (script == "PersistentMatmul") return "persistent";
  return script == "SplitMatmul" ? "split" : "pitch";
}

}  // namespace
}  // namespace kernels

std::vector<ExportReport> export_matmul(const MatmulExport& what, const ExportOptions& given, SourceLoc loc) {
  using namespace kernels;  // NOLINT(google-build-using-namespace)
  const Device device(std::make_shared<exporter::OfflineDevice>());
  std::map<std::string, Group> groups;
  for (const auto& size : what.sizes) {
    const Problem problem = problem_of(what, size, loc);
    const Call call{problem, device, nullptr, loc};
    Selection selection = select_by_model(call, Among::single_kernels);
    Executor::Single single = selection.executor->single(call);
    if (single.kernel == nullptr)
      throw Error(ErrorKind::internal, loc, "a matmul that is exported has several kernels");
    const detail::Program& program = *single.kernel->launchable({}, nullptr).program;
    Group& group = groups[program.name];
    const MatmulReport::Choice best = order_by_model(problem, device.state()->multiprocessors()).front();
    const double us = selection.choices.front().estimate_us;
    if (best.estimate_us < us) {
      group.remarks.push_back(fmt::format(
          "{} x {} x {}: {} is expected to take {:.1f} us instead of {:.1f}, but is several launches: not exported",
          size[0], size[1], size[2], best.kernel, best.estimate_us, us));
    }
    if (group.notes.empty()) {
      group.notes = {
          "Strides of dense row-major a [m, k], b [n, k] and c [m, n]; c's are counted in 16 bytes where its",
          "rows are multiples of them. Without a bias any aligned address does for it:"};
    }
    group.notes.push_back(dense_note(program, single.arguments));
    group.calls.push_back({single.kernel, std::move(single.arguments)});
    group.executors.push_back(std::move(selection.executor));
  }
  std::vector<ExportReport> reports;
  for (auto& [script, group] : groups) {
    ExportOptions options = given;
    if (options.name.empty()) options.name = "matmul";
    if (groups.size() > 1) options.name += "_" + ending_of(script);
    reports.push_back(exporter::write_calls(group.calls, &device, options, std::move(group.notes)));
    for (std::string& remark : group.remarks) reports.back().remarks.push_back(std::move(remark));
    reports.back().remarks.emplace_back(
        "kernel and configuration are the choice of matmul()'s model: nothing was measured");
  }
  return reports;
}

}  // namespace tessera
