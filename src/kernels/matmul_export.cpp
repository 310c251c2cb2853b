// Exports what matmul() would launch.
#include "tessera/matmul_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "export/model.hpp"
#include "export/offline_device.hpp"
#include "kernels/export_choice.hpp"
#include "kernels/export_steps.hpp"
#include "runtime/launchable.hpp"
#include "runtime/specialisation.hpp"
#include "tessera/core/error.hpp"

namespace tessera {

namespace kernels {
namespace {

using detail::Argument;
using detail::ParamKind;
using detail::PtrValue;

// Memory of its own for each of a call's matrices, as far as addresses go.
PtrValue somewhere(SourceLoc loc, std::uintptr_t which) {
  PtrValue value;
  value.pointer = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(export_memory<std::byte>()) + (which << 48));
  value.loc = loc;
  return value;
}

Problem problem_of(const MatmulExport& what, const std::array<std::int64_t, 3>& size, SourceLoc loc) {
  const auto [m, n, k] = size;
  if (m < 1 || n < 1 || k < 1) {
    throw Error(ErrorKind::user, loc, fmt::format("export_matmul: the size {} x {} x {}", m, n, k),
                "m, n and k are 1 or more");
  }
  std::uintptr_t count = 0;
  const auto matrix = [&](DType type, std::int64_t rows, std::int64_t columns) {
    return detail::matrix_of(type, somewhere(loc, ++count), rows, columns, columns, 1, loc);
  };
  MatmulOptions options;
  options.alpha = what.alpha;
  options.beta = what.beta;
  options.activation = what.activation;
  const auto a = matrix(what.in, m, k), b = matrix(what.in, n, k), c = matrix(what.out, m, n);
  Problem problem = describe(a, b, c, options, loc);
  problem.steps.bias = what.bias;
  if (what.bias) problem.bias = somewhere(loc, ++count);
  return problem;
}

// A product, and the kernels that do it.
struct Product {
  std::array<std::int64_t, 3> size;
  Problem problem;
  bool one_row = false;  // the kernels are right for one row alone
  std::vector<Executor::Step> steps;
  std::string how;  // they were chosen
};

// One export: sizes that the same script does.
struct Group {
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<Product> products;
  std::vector<std::string> remarks;
  bool measured = true;
  bool several() const {
    return std::any_of(products.begin(), products.end(), [](const Product& p) { return p.steps.size() > 1; });
  }
};

const detail::Program& program_of(const Executor::Step& step) { return *step.kernel->launchable({}, nullptr).program; }

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

// What the groups are told apart by: the kernel that multiplies, and whether operands are copied before it. Split sums
// are not for matrices of one column, so what does one is not with them.
std::string script_of(const Product& product) {
  std::string script;
  bool copied = false;
  for (const Executor::Step& step : product.steps) {
    const std::string& name = program_of(step).name;
    copied = copied || name == "PackRows";
    if (name != "PackRows" && name != "ReduceSplits") script = name;
  }
  if (script == "SplitMatmul" && !is_by_rows(product.problem)) return "SplitMatmul of a column";
  return copied ? "PackRows, " + script : script;
}

std::string ending_of(const std::string& script) {
  static const std::map<std::string, std::string> endings = {{"PersistentMatmul", "persistent"},
                                                             {"SplitMatmul", "split"},
                                                             {"SplitMatmul of a column", "split_column"},
                                                             {"PitchMatmul", "pitch"},
                                                             {"PackRows, PersistentMatmul", "packed_persistent"},
                                                             {"PackRows, SplitMatmul", "packed_split"}};
  return endings.at(script);
}

// Whether other kernels do two rows of the same matrices: a single row's pitch is free to choose.
bool holds_for_one_row(const MatmulExport& what, const Product& product, SourceLoc loc) {
  const auto [m, n, k] = product.size;
  if (m > 1) return false;
  const Problem two = problem_of(what, {2, n, k}, loc);
  return two.a.loadable != product.problem.a.loadable || two.form != product.problem.form;
}

// The choice for one size, which joins its group.
class Chooser {
 public:
  Chooser(const MatmulExport& what, const std::string& tuning, const Device& device, SourceLoc loc)
      : what_(what), device_(device), loc_(loc), wanted_{parse_pins(what.config, loc), tuning, true} {}

  void add(const std::array<std::int64_t, 3>& size, std::map<std::string, Group>& groups) {
    Product product{size, problem_of(what_, size, loc_), false, {}, {}};
    product.one_row = holds_for_one_row(what_, product, loc_);
    const Call call{product.problem, device_, nullptr, loc_};
    ExportChoice chosen = choose_for_export(call, wanted_);
    product.steps = chosen.executor->steps(call);
    std::string remark;
    if (product.steps.size() > 1 && !is_by_rows(product.problem)) {
      const MatmulReport::Choice better = chosen.choice;
      Wanted single = wanted_;
      single.several = false;
      chosen = choose_for_export(call, single);
      product.steps = chosen.executor->steps(call);
      remark = fmt::format(
          "{} x {} x {}: {} is expected to take {:.1f} us instead of {:.1f}, but several kernels are not exported for "
          "matrices of one column",
          size[0], size[1], size[2], better.kernel, better.estimate_us, chosen.choice.estimate_us);
    }
    product.how = chosen.how;
    Group& group = groups[script_of(product)];
    if (!remark.empty()) group.remarks.push_back(std::move(remark));
    group.measured = group.measured && chosen.measured;
    group.products.push_back(std::move(product));
    group.executors.push_back(std::move(chosen.executor));
  }

 private:
  const MatmulExport& what_;
  const Device& device_;
  SourceLoc loc_;
  Wanted wanted_;
};

ExportReport write_single(Group& group, const Device& device, const ExportOptions& options) {
  std::vector<exporter::Call> calls;
  std::vector<std::string> notes = {
      "Strides of dense row-major a [m, k], b [n, k] and c [m, n]; c's are counted in 16 bytes where its",
      "rows are multiples of them. Without a bias any aligned address does for it:"};
  for (Product& product : group.products) {
    Executor::Step& step = product.steps.front();
    notes.push_back(dense_note(program_of(step), step.arguments));
    calls.push_back({step.kernel, std::move(step.arguments), product.how});
  }
  return exporter::write_calls(calls, &device, options, std::move(notes));
}

ExportReport write_several(const std::string& script, Group& group, const Device& device,
                           const ExportOptions& options) {
  exporter::Sequence sequence;
  sequence.script = script;
  sequence.params = launch_params(group.products.front().problem);
  sequence.none_if_zero = {static_cast<std::size_t>(LaunchParam::m_size)};
  sequence.notes = {
      "a [m_size, k_size], b [n_size, k_size] and c [m_size, n_size] lie in rows; pitches are elements from one row to",
      "the next: k_size, k_size and n_size where nothing is between them."};
  std::set<std::array<std::int64_t, 3>> known;
  for (Product& product : group.products) {
    const auto [m, n, k] = product.size;
    if (!known.insert({runtime::bucket_bound(m), n, k}).second) continue;  // the first of a bucket stands for it
    exporter::SizedSteps sized = sized_steps(product.problem, product.one_row, std::move(product.steps));
    sized.steps[sized.main].call.how = product.how;
    sequence.all.push_back(std::move(sized));
  }
  return exporter::write_sequence(std::move(sequence), &device, options);
}

}  // namespace
}  // namespace kernels

std::vector<ExportReport> export_matmul(const MatmulExport& what, const ExportOptions& given, SourceLoc loc) {
  using namespace kernels;  // NOLINT(google-build-using-namespace)
  const Device device(std::make_shared<exporter::OfflineDevice>());
  std::map<std::string, Group> groups;
  Chooser chooser(what, given.tuning, device, loc);
  for (const auto& size : what.sizes) chooser.add(size, groups);
  std::vector<ExportReport> reports;
  for (auto& [script, group] : groups) {
    ExportOptions options = given;
    options.tuning.clear();  // it has decided
    if (options.name.empty()) options.name = "matmul";
    if (groups.size() > 1) options.name += "_" + ending_of(script);
    reports.push_back(group.several() ? write_several(script, group, device, options)
                                      : write_single(group, device, options));
    for (std::string& remark : group.remarks) reports.back().remarks.push_back(std::move(remark));
    if (!group.measured) {
      reports.back().remarks.emplace_back(
          what.config.empty() ? "kernel and configuration are the choice of matmul()'s model: nothing was measured"
                              : "what is not pinned is the choice of matmul()'s model: nothing was measured");
    }
  }
  return reports;
}

}  // namespace tessera
