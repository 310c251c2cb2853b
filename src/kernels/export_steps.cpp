#include "kernels/export_steps.hpp"

#include <fmt/format.h>

#include <map>

#include "kernels/split_matmul.hpp"
#include "runtime/launchable.hpp"
#include "tessera/core/error.hpp"

namespace tessera::kernels {
using detail::Argument;
using detail::ParamInfo;
using detail::ParamKind;
using exporter::Region;
using exporter::SizedSteps;
using exporter::StepArgument;
using From = StepArgument::From;

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

StepArgument value(std::int64_t v) { return {.value = v}; }
StepArgument parameter(LaunchParam p) { return {.from = From::parameter, .index = static_cast<std::size_t>(p)}; }
StepArgument region(std::size_t index) { return {.from = From::region, .index = index}; }

// Says of each argument of the kernels where a launch of any sizes takes it from. What kernels are given in memory is
// known by its address, the rest by the names of the scripts' parameters.
class StepMapper {
 public:
  explicit StepMapper(const Problem& problem) : p_(problem), packed_(packed_problem(problem)) {
    places_[p_.a.memory.pointer] = parameter(LaunchParam::a);
    places_[p_.b.memory.pointer] = parameter(LaunchParam::b);
    if (p_.steps.bias) places_[p_.bias.pointer] = parameter(LaunchParam::bias);
    places_[p_.c.pointer] = parameter(LaunchParam::c);
  }

  SizedSteps run(std::vector<Executor::Step> steps) {
    SizedSteps result;
    result.constants.assign(launch_params(p_).size(), 0);
    result.constants[static_cast<std::size_t>(LaunchParam::n_size)] = p_.n;
    result.constants[static_cast<std::size_t>(LaunchParam::k_size)] = p_.k;
    result.sizes = {{static_cast<std::size_t>(LaunchParam::m_size), p_.m}};
    for (Executor::Step& step : steps) {
      const detail::Program& program = *step.kernel->launchable({}, nullptr).program;
      exporter::Step mapped;
      mapped.what = begin(program, step.arguments);
      if (program.name != "PackRows" && program.name != "ReduceSplits") result.main = result.steps.size();
      for (std::size_t i = 0; i < program.params.size(); ++i)
        mapped.arguments.push_back(checked(program.params[i], step.arguments[i]));
      mapped.call = {step.kernel, std::move(step.arguments)};
      result.steps.push_back(std::move(mapped));
    }
    result.regions = std::move(regions_);
    return result;
  }

 private:
  static const Argument& named(const detail::Program& program, const std::vector<Argument>& arguments,
                               const std::string& name) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (program.params[i].name == name) return arguments[i];
    }
    throw Error(ErrorKind::internal, {}, fmt::format("{} has no parameter {}", program.name, name));
  }

  // Notes where the kernel leaves what later ones read; returns what it does.
  std::string begin(const detail::Program& program, const std::vector<Argument>& arguments) {
    if (program.name == "ReduceSplits") return "adds the partial sums up";
    if (program.name == "PackRows") {
      copied_ = places_.at(named(program, arguments, "from").pointer.pointer);
      const bool of_a = copies(LaunchParam::a);
      const std::int64_t pitch = of_a ? packed_.a.pitch : packed_.b.pitch;
      Region copy{of_a ? "copy of a" : "copy of b", std::nullopt, p_.n, pitch * size_of(p_.in)};
      if (of_a) copy.parameter = static_cast<std::size_t>(LaunchParam::m_size);
      add_region(std::move(copy), named(program, arguments, "to"));
      return of_a ? "copies a" : "copies b";
    }
    if (program.name != "SplitMatmul") return "multiplies";
    const std::int64_t splits = named(program, arguments, "splits").integer;
    if (splits == 1) return "multiplies";
    const std::int64_t row_bytes = splits * partial_pitch(static_cast<int>(p_.n)) * std::int64_t{sizeof(float)};
    add_region({"partial sums", static_cast<std::size_t>(LaunchParam::m_size), 1, row_bytes},
               named(program, arguments, "partials"));
    return fmt::format("multiplies, k in {} parts", splits);
  }
  void add_region(Region one, const Argument& where) {
    places_[where.pointer.pointer] = region(regions_.size());
    regions_.push_back(std::move(one));
  }
  bool copies(LaunchParam p) const { return copied_.index == static_cast<std::size_t>(p); }

  StepArgument place(const ParamInfo& param, const Argument& argument) const {
    const auto found = places_.find(argument.pointer.pointer);
    if (found != places_.end()) return found->second;
    throw Error(ErrorKind::internal, {}, "an exported kernel's argument " + param.name + " is memory of nothing");
  }

  StepArgument scalar(const std::string& name) const {
    if (name == "m_size") return parameter(LaunchParam::m_size);
    if (name == "alpha") return parameter(LaunchParam::alpha);
    if (name == "beta") return parameter(LaunchParam::beta);
    if (name == "rows") return copies(LaunchParam::a) ? parameter(LaunchParam::m_size) : value(p_.n);
    if (name == "columns") return value(p_.k);
    if (name == "row_stride") return parameter(copies(LaunchParam::a) ? LaunchParam::a_pitch : LaunchParam::b_pitch);
    if (name == "pitch")
      return value((copies(LaunchParam::a) ? packed_.a.pitch : packed_.b.pitch) * size_of(p_.in) / 16);
    if (name == "column_stride" || name == "c_columns") return value(1);
    if (name == "a_pitch") return pitch(p_.a, LaunchParam::a_pitch, packed_.a.pitch);
    if (name == "b_pitch")
      return p_.n == 1 ? value(packed_.b.pitch) : pitch(p_.b, LaunchParam::b_pitch, packed_.b.pitch);
    if (name == "c_rows") return c_rows();
    throw Error(ErrorKind::internal, {}, "an exported launch does not know the argument " + name);
  }
  // The pitch of one row alone is free to choose, and the call's own may be none that the TMA engine takes.
  StepArgument pitch(const OperandForm& operand, LaunchParam p, std::int64_t copied) const {
    if (!operand.loadable) return value(copied);
    StepArgument result = parameter(p);
    if (p == LaunchParam::a_pitch) {
      result.value = rounded_up(p_.k, 16 / size_of(p_.in));
      result.unless_one = static_cast<std::size_t>(LaunchParam::m_size);
    }
    return result;
  }
  StepArgument c_rows() const {
    StepArgument result = parameter(LaunchParam::c_pitch);
    result.unit = pitch_unit(p_.form, p_.out);
    if (p_.form != OutputForm::rows_tma) return result;
    result.value = rounded_up(p_.n, result.unit) / result.unit;
    result.unless_one = static_cast<std::size_t>(LaunchParam::m_size);
    return result;
  }

  // What is said of the argument has to give the one of this call.
  StepArgument checked(const ParamInfo& param, const Argument& argument) const {
    if (param.kind == ParamKind::constant) return {};
    if (param.kind == ParamKind::pointer) return place(param, argument);
    StepArgument result = scalar(param.name);
    if (is_float(param.type)) return result;
    std::int64_t found = result.value;
    if (result.from == From::parameter && !(result.unless_one && p_.m <= 1)) {
      switch (static_cast<LaunchParam>(result.index)) {
        case LaunchParam::m_size: found = p_.m; break;
        case LaunchParam::a_pitch: found = p_.a.row_stride; break;
        case LaunchParam::b_pitch: found = p_.b.row_stride; break;
        default: found = p_.n / result.unit; break;  // c_pitch
      }
    }
    if (found == argument.integer) return result;
    throw Error(ErrorKind::internal, {},
                fmt::format("the argument {} of an exported kernel is {}, but the export would pass {}", param.name,
                            argument.integer, found));
  }

  const Problem& p_;
  Problem packed_;
  std::map<const void*, StepArgument> places_;
  std::vector<Region> regions_;
  StepArgument copied_;  // what PackRows copies
};

}  // namespace

std::vector<ParamInfo> launch_params(const Problem& p) {
  std::vector<ParamInfo> result = {{ParamKind::scalar, DType::i32, "m_size"},
                                   {ParamKind::constant, DType::i32, "n_size"},
                                   {ParamKind::constant, DType::i32, "k_size"},
                                   {ParamKind::scalar, DType::i64, "a_pitch"},
                                   {ParamKind::scalar, DType::i64, "b_pitch"},
                                   {ParamKind::scalar, DType::i64, "c_pitch"},
                                   {ParamKind::scalar, DType::f32, "alpha"},
                                   {ParamKind::scalar, DType::f32, "beta"},
                                   {ParamKind::pointer, p.in, "a"},
                                   {ParamKind::pointer, p.in, "b"},
                                   {ParamKind::pointer, p.out, "c"}};
  if (p.steps.bias) result.push_back({ParamKind::pointer, p.out, "bias"});
  return result;
}

bool is_by_rows(const Problem& p) {
  return p.a.order == OperandOrder::by_k && p.b.order == OperandOrder::by_k &&
         (p.form == OutputForm::rows_tma || p.form == OutputForm::rows);
}

SizedSteps sized_steps(const Problem& problem, bool one_row, std::vector<Executor::Step> steps) {
  SizedSteps result = StepMapper(problem).run(std::move(steps));
  if (one_row) result.most = {{static_cast<std::size_t>(LaunchParam::m_size), 1}};
  return result;
}

}  // namespace tessera::kernels
