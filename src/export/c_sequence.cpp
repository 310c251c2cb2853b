// NAME.c of exports whose launch is several kernels: everything is checked and worked out before the first one starts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/c_common.hpp"
#include "export/c_expr.hpp"
#include "export/c_plan.hpp"
#include "export/sequence.hpp"
#include "runtime/specialisation.hpp"

namespace tessera::exporter {
using detail::ParamInfo;
using detail::ParamKind;
using From = StepArgument::From;

namespace {

constexpr const char* reserve_function =
    R"(/* Where a region of `rows` rows begins in a workspace with `end` bytes taken: at the next multiple of {}. All
 * ones: more bytes than there are. */
static uint64_t reserve(uint64_t* end, uint64_t rows, uint64_t row_bytes) {{
  const uint64_t most = ~UINT64_C(0);
  const uint64_t begin = *end > most - {} ? most : (*end + {}) / {} * {};
  *end = rows > 0 && row_bytes > (most - begin) / rows ? most : begin + rows * row_bytes;
  return begin;
}}

)";

class SequenceWriter {
 public:
  explicit SequenceWriter(const SequenceModel& model)
      : m_(model),
        all_(model.sequence.all),
        name_(model.whole.options.name),
        names_(c_names(model.whole)),
        common_(model.whole) {}

  std::string write() {
    std::string plans;
    std::set<std::string> helpers;
    for (std::size_t i = 0; i < m_.plans.size(); ++i) {
      const StepPlan& plan = m_.plans[i];
      const Model& part = m_.parts[plan.part];
      const PlanText text = plan_text(
          part, plan.variant,
          {.number = i, .arguments = arguments_of(plan.part), .shown = plan.shown, .sizes_first = true}, &statuses_);
      plans += fmt::format("/* {} {} */\n{}\n", part.script, part.variants[plan.variant].config, text.text);
      helpers.insert(text.helpers.begin(), text.helpers.end());
    }
    std::string steps;
    for (std::size_t i = 0; i < all_.size(); ++i) steps += layout(i) + steps_of(i);
    std::string text = common_.top() + types();
    text += helper_text(helpers) + (helpers.empty() ? "" : "\n") + common_.map_functions();
    text += fmt::format(reserve_function, workspace_alignment, workspace_alignment - 1, workspace_alignment - 1,
                        workspace_alignment, workspace_alignment);
    text += plans + steps + common_.variant_table(false) + common_.run() + distances() + choose() + workspace();
    return text + launch() + common_.load() + common_.status_functions(statuses_);
  }

 private:
  std::string member_of(std::size_t part) const { return snake(m_.parts[part].script); }
  std::string arguments_of(std::size_t part) const { return member_of(part) + "_arguments"; }
  std::string function(const char* what, std::size_t sized) const { return fmt::format("{}_{}", what, sized); }

  std::string types() const {
    std::string text = "/* The arguments of a launch. */\n";
    text += common_.arguments_struct(m_.whole, "arguments", {"CUdeviceptr workspace;"});
    std::string members;
    for (std::size_t i = 0; i < m_.parts.size(); ++i) {
      text += fmt::format("/* Those of the kernel {}. */\n", m_.parts[i].script);
      text += common_.arguments_struct(m_.parts[i], arguments_of(i));
      members += fmt::format("    struct {}_{} {};\n", name_, arguments_of(i), member_of(i));
    }
    text += common_.plan_struct("  int sizes_only; /* is asked for */\n");
    std::size_t most = 1;
    for (const SizedSteps& sized : all_) most = std::max(most, sized.steps.size());
    return text + fmt::format(
                      "/* The kernels of a launch, in their order. */\nstruct {0}_step {{\n  int variant;\n  union {{\n"
                      "{1}  }} in;\n  struct {0}_plan plan;\n}};\n"
                      "struct {0}_steps {{\n  int count;\n  struct {0}_step at[{2}];\n}};\n\n",
                      name_, members, most);
  }

  std::size_t most_regions() const {
    std::size_t most = 1;
    for (const SizedSteps& sized : all_) most = std::max(most, sized.regions.size());
    return most;
  }

  // Where the regions of a workspace are; returns its size.
  std::string layout(std::size_t i) const {
    const SizedSteps& sized = all_[i];
    std::string text = fmt::format("/* {} */\nstatic uint64_t {}(const struct {}_arguments* in, uint64_t* at) {{\n",
                                   sizes_text(m_, i, true), function("layout", i), name_);
    text += "  uint64_t end = 0;\n  (void)in;\n  (void)at;\n";
    for (std::size_t r = 0; r < sized.regions.size(); ++r) {
      const Region& region = sized.regions[r];
      const std::string rows = region.parameter ? fmt::format("(uint64_t)in->{}", names_[*region.parameter])
                                                : fmt::format("UINT64_C({})", region.rows);
      text +=
          fmt::format("  at[{}] = reserve(&end, {}, UINT64_C({})); /* {} */\n", r, rows, region.row_bytes, region.what);
    }
    return text + "  return end;\n}\n\n";
  }

  std::string steps_of(std::size_t i) {
    const SizedSteps& sized = all_[i];
    std::string text = fmt::format(
        "static int {}(const {}_module* module, const struct {}_arguments* in, int sizes_only,\n"
        "                   struct {}_steps* steps) {{\n",
        function("steps", i), name_, name_, name_);
    text +=
        fmt::format("  uint64_t at[{}];\n  int status;\n  (void){}(in, at);\n", most_regions(), function("layout", i));
    text += unit_checks(sized);
    for (std::size_t s = 0; s < sized.steps.size(); ++s) text += step(sized.steps[s], m_.kernels[i][s], s);
    return text + fmt::format("  steps->count = {};\n  return 0;\n}}\n\n", sized.steps.size());
  }

  // Parameters that kernels count in larger units.
  std::string unit_checks(const SizedSteps& sized) {
    std::string text;
    for (const Step& one : sized.steps) {
      for (const StepArgument& argument : one.arguments) {
        if (argument.from != From::parameter || argument.unit == 1) continue;
        const std::string& name = names_[argument.index];
        const int status = statuses_.at(
            StatusKind::tensor_map_rule,
            fmt::format("{} is not a multiple of {}, as TMA needs rows to begin on 16 bytes", name, argument.unit));
        const std::string check =
            fmt::format("  if (!sizes_only{} && in->{} % {} != 0) return {};\n",
                        argument.unless_one ? fmt::format(" && in->{} > 1", names_[*argument.unless_one]) : "", name,
                        argument.unit, status);
        if (text.find(check) == std::string::npos) text += check;
      }
    }
    return text;
  }

  std::string step(const Step& one, const StepKernel& kernel, std::size_t index) const {
    const Model& part = m_.parts[kernel.part];
    const std::vector<std::string> names = c_names(part);
    std::string text = fmt::format("  {{\n    /* {}: {} */\n    struct {}_step* step = &steps->at[{}];\n", part.script,
                                   one.what, name_, index);
    text +=
        fmt::format("    struct {}_{}* to = &step->in.{};\n", name_, arguments_of(kernel.part), member_of(kernel.part));
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (part.params[i].kind == ParamKind::constant) continue;
      text += fmt::format("    to->{} = {};\n", names[i], value(one.arguments[i], part.params[i]));
    }
    return text + fmt::format(
                      "    step->variant = {};\n    step->plan.empty = 0;\n    step->plan.sizes_only = sizes_only;\n"
                      "    status = plan_{}(module, to, &step->plan);\n    if (status != 0) return status;\n  }}\n",
                      kernel.variant, kernel.plan);
  }

  std::string value(const StepArgument& argument, const ParamInfo& param) const {
    if (argument.from == From::region) return fmt::format("in->workspace + at[{}]", argument.index);
    if (argument.from == From::value) return fmt::format("({}){}", c_type(param), integer_literal(argument.value));
    std::string text = "in->" + names_[argument.index];
    if (argument.unit != 1) text += fmt::format(" / {}", argument.unit);
    if (argument.unless_one) {
      text = fmt::format("in->{} > 1 ? {} : {}", names_[*argument.unless_one], text, integer_literal(argument.value));
    }
    return text;
  }

  std::string distances() const {
    std::vector<DispatchRow> rows;
    std::string table;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      DispatchRow row;
      for (std::size_t p = 0; p < names_.size(); ++p) {
        const ParamInfo& param = m_.whole.params[p];
        if (param.kind == ParamKind::constant && m_.whole.in_signature[p])
          row.others.push_back(CommonSource::unequal(param, names_[p], all_[i].constants[p]));
      }
      for (const auto& [p, most] : all_[i].most) row.others.push_back(fmt::format("in->{} > {}", names_[p], most));
      for (const auto& [p, size] : all_[i].sizes) row.bounds.emplace_back(names_[p], runtime::bucket_bound(size));
      rows.push_back(std::move(row));
      table += fmt::format("    {{{}, {}}}{}\n", function("steps", i), function("layout", i),
                           i + 1 < all_.size() ? "," : "");
    }
    return common_.distance_function(
        rows,
        fmt::format("/* A row for each exported set of sizes. */\nstatic const struct {0}_entry {{\n"
                    "  int (*steps)(const {0}_module*, const struct {0}_arguments*, int, struct {0}_steps*);\n"
                    "  uint64_t (*layout)(const struct {0}_arguments*, uint64_t*);\n}} entries[] = {{\n{1}}};\n\n",
                    name_, table));
  }

  // By sizes alone, so that the workspace that is asked for is the one that is used.
  std::string choose() const {
    const bool exact = m_.whole.options.dispatch == ExportOptions::Dispatch::exact;
    return fmt::format(
        "/* {4} */\nstatic int choose(const {0}_module* module, const struct {0}_arguments* in, struct {0}_steps* "
        "steps, int* chosen) {{\n"
        "  unsigned char tried[{1}] = {{0}};\n  int status = {2}_NOT_EXPORTED;\n"
        "  for (;;) {{\n    int entry, result, best = -1, least_distance = 0;\n"
        "    for (entry = 0; entry < {1}; ++entry) {{\n      const int away = tried[entry] ? -1 : distance(entry, "
        "in);\n"
        "      if (away < 0{3} || (best >= 0 && away >= least_distance)) continue;\n      best = entry;\n"
        "      least_distance = away;\n    }}\n    if (best < 0) return status;\n    tried[best] = 1;\n"
        "    result = entries[best].steps(module, in, 1, steps);\n"
        "    if (result == 0) {{\n      *chosen = best;\n      return 0;\n    }}\n"
        "    if (status == {2}_NOT_EXPORTED) status = result;\n  }}\n}}\n\n",
        name_, all_.size(), upper(name_), exact ? " || away > 0" : "",
        exact ? "The kernels of these sizes." : "The nearest kernels that accept the sizes.");
  }

  std::string nothing(const char* result) const {
    std::string text;
    for (const std::size_t p : m_.sequence.none_if_zero)
      text += fmt::format("  if (in.{} == 0) return {};\n", names_[p], result);
    return text;
  }

  std::string workspace() {
    std::string text = fmt::format(
        "int {0}_workspace_bytes({1}) {{\n  struct {0}_arguments in;\n  struct {0}_steps "
        "steps;\n  uint64_t at[{2}], needed;\n  int status, entry;\n",
        name_, workspace_parameters(m_.whole), most_regions());
    text += fmt::format("  if (bytes == NULL) return {};\n",
                        statuses_.at(StatusKind::null_pointer, "the pointer to the workspace's size is null"));
    text += "  *bytes = 0;\n" + common_.check_loaded() + "  memset(&in, 0, sizeof in);\n";
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (m_.whole.in_signature[i] && m_.whole.decides[i]) text += fmt::format("  in.{0} = {0};\n", names_[i]);
    }
    text += "  status = choose(module, &in, &steps, &entry);\n  if (status != 0) return status;\n" + nothing("0");
    return text +
           "  needed = entries[entry].layout(&in, at);\n"
           "  *bytes = needed > (uint64_t)SIZE_MAX ? SIZE_MAX : (size_t)needed;\n  return 0;\n}\n\n";
  }

  std::string launch() const {
    std::string text = fmt::format(
        "int {0}_launch({1}) {{\n  struct {0}_arguments in;\n  struct {0}_steps steps;\n"
        "  CUcontext context = NULL;\n  uint64_t at[{2}], needed;\n  int result, entry, i;\n",
        name_, launch_parameters(m_.whole), most_regions());
    text += common_.check_loaded() + common_.check_context() + common_.fill_arguments();
    text +=
        "  in.workspace = workspace;\n  result = choose(module, &in, &steps, &entry);\n"
        "  if (result != 0) return result;\n" +
        nothing("0");
    text += fmt::format(
        "  needed = entries[entry].layout(&in, at);\n  if (needed > 0) {{\n"
        "    if (workspace == 0) return {0}_NULL_WORKSPACE;\n"
        "    if (workspace % {1} != 0) return {0}_MISALIGNED_WORKSPACE;\n"
        "    if (workspace_bytes < needed) return {0}_WORKSPACE_TOO_SMALL;\n  }}\n"
        "  result = entries[entry].steps(module, &in, 0, &steps);\n"
        "  for (i = 0; i < steps.count && result == 0; ++i) {{\n"
        "    if (!steps.at[i].plan.empty) result = run_plan(module, steps.at[i].variant, &steps.at[i].plan, stream);\n"
        "  }}\n  return result;\n}}\n\n",
        upper(name_), workspace_alignment);
    return text;
  }

  const SequenceModel& m_;
  const std::vector<SizedSteps>& all_;
  const std::string& name_;
  std::vector<std::string> names_;  // of the launch's parameters
  CommonSource common_;
  Statuses statuses_;
};

}  // namespace

std::string sequence_source(const SequenceModel& model) { return SequenceWriter(model).write(); }

}  // namespace tessera::exporter
