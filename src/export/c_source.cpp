// NAME.c of exports whose launch is one kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/c_common.hpp"
#include "export/c_expr.hpp"
#include "export/c_plan.hpp"

namespace tessera::exporter {
using detail::ParamInfo;
using detail::ParamKind;

namespace {

class SourceWriter {
 public:
  explicit SourceWriter(const Model& model)
      : m_(model), name_(model.options.name), names_(c_names(model)), common_(model) {}

  std::string write() {
    std::string plans;
    std::set<std::string> helpers;
    for (std::size_t i = 0; i < m_.variants.size(); ++i) {
      const PlanText plan = plan_text(m_, i, {.number = i}, &statuses_);
      plans += fmt::format("/* {} */\n{}\n",
                           m_.variants[i].config.empty() ? "the only configuration" : m_.variants[i].config, plan.text);
      helpers.insert(plan.helpers.begin(), plan.helpers.end());
    }
    std::string text = common_.top() + "/* The arguments of a launch. */\n";
    text += common_.arguments_struct(m_, "arguments") + common_.plan_struct();
    text += helper_text(helpers) + (helpers.empty() ? "" : "\n") + common_.map_functions();
    text += plans + common_.variant_table(true) + common_.run() + distances() + launch() + common_.load();
    return text + common_.status_functions(statuses_);
  }

 private:
  // How far an entry's sizes are from those of a launch.
  std::string distances() const {
    std::vector<DispatchRow> rows;
    std::vector<std::size_t> which;
    for (const Entry& entry : m_.entries) {
      const Variant& variant = m_.variants[entry.variant];
      DispatchRow row;
      std::size_t bound = 0;
      for (std::size_t p = 0; p < names_.size(); ++p) {
        const ParamInfo& param = m_.params[p];
        if (param.kind == ParamKind::constant) {
          if (m_.in_signature[p]) row.others.push_back(CommonSource::unequal(param, names_[p], variant.constants[p]));
          continue;
        }
        const std::int64_t value = entry.bounds[bound++];
        if (is_sized(param)) row.bounds.emplace_back(names_[p], value);
      }
      rows.push_back(std::move(row));
      which.push_back(entry.variant);
    }
    return common_.distance_function(
        rows, fmt::format("/* The variant of each exported set of sizes. */\nstatic const int entries[] = {{{}}};\n\n",
                          fmt::join(which, ", ")));
  }

  std::string launch() const {
    const bool exact = m_.options.dispatch == ExportOptions::Dispatch::exact;
    std::string text = fmt::format("int {}_launch({}) {{\n  struct {}_arguments in;\n  struct {}_plan plan;\n", name_,
                                   launch_parameters(m_), name_, name_);
    text += fmt::format(
        "  unsigned char tried[{}] = {{0}};\n  CUcontext context = NULL;\n  int status = {};\n  int result;\n",
        m_.entries.size(), upper(name_) + "_NOT_EXPORTED");
    text += common_.check_loaded() + common_.check_context() + common_.fill_arguments();
    text += exact ? "  /* The kernel of these sizes. */\n" : "  /* The nearest kernel that accepts the arguments. */\n";
    text += fmt::format(
        "  for (;;) {{\n    int entry, best = -1, least_distance = 0;\n"
        "    for (entry = 0; entry < {0}; ++entry) {{\n      const int away = tried[entry] ? -1 : distance(entry, "
        "&in);\n"
        "      if (away < 0{1} || (best >= 0 && away >= least_distance)) continue;\n      best = entry;\n"
        "      least_distance = away;\n    }}\n    if (best < 0) return status;\n    tried[best] = 1;\n    plan.empty "
        "= 0;\n"
        "    result = variants[entries[best]].plan(module, &in, &plan);\n"
        "    if (result == 0) return plan.empty ? 0 : run_plan(module, entries[best], &plan, stream);\n"
        "    if (result < {2}) return result; /* the driver's */\n"
        "    if (status == {3}_NOT_EXPORTED) status = result;\n  }}\n}}\n\n",
        m_.entries.size(), exact ? " || away > 0" : "", status_unit, upper(name_));
    return text;
  }

  const Model& m_;
  const std::string& name_;
  std::vector<std::string> names_;
  CommonSource common_;
  Statuses statuses_;
};

}  // namespace

std::string cubin_file(const Model& model, std::size_t index) {
  return fmt::format("{}_{}.cubin", model.options.name, index);
}

std::string source_text(const Model& model) { return SourceWriter(model).write(); }

}  // namespace tessera::exporter
