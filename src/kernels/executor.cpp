#include "kernels/executor.hpp"

#include <array>
#include <bit>

#include "kernels/programs.hpp"
#include "kernels/split_matmul.hpp"
#include "kernels/workspace.hpp"

namespace tessera::kernels {
using detail::Argument;
using detail::KernelImpl;
using detail::PtrValue;

namespace {

// The arguments of a launch, in the order of the script's parameters.
template <std::size_t N>
class Arguments {
 public:
  explicit Arguments(SourceLoc loc = {}) : loc_(loc) {}
  Arguments& integer(std::int64_t value) { return next().integer = value, *this; }
  Arguments& real(float value) { return next().integer = std::bit_cast<std::uint32_t>(value), *this; }
  Arguments& pointer(const PtrValue& value) { return next().pointer = value, *this; }
  std::span<const Argument> all() const { return {arguments_.data(), used_}; }
  std::vector<Argument> list() const { return {arguments_.begin(), arguments_.begin() + used_}; }

 private:
  Argument& next() {
    Argument& argument = arguments_.at(used_++);
    argument.pointer.loc = loc_;
    return argument;
  }
  SourceLoc loc_;
  std::array<Argument, N> arguments_;
  std::size_t used_ = 0;
};

// The times of kernels are compared across their programs (select.cpp), of which some have one configuration.
detail::Program measured(detail::Program program) {
  program.always_measured = true;
  return program;
}

// Of the operands and of C, as the kernels begin and end their parameters with them.
template <class A>
void add_forms(A& arguments, const Problem& p) {
  arguments.integer(p.m).integer(p.n).integer(p.k).integer(p.a.by_k).integer(p.b.by_k);
  arguments.integer(static_cast<int>(p.form)).integer(p.steps.code());
}
template <class A>
void add_memory(A& arguments, const Problem& p) {
  arguments.integer(p.a.pitch).integer(p.b.pitch).integer(p.c_rows).integer(p.c_columns);
  arguments.real(p.alpha).real(p.beta).pointer(p.a.memory).pointer(p.b.memory).pointer(p.c).pointer(p.bias);
}

class Persistent final : public Executor {
 public:
  Persistent(const Problem& p, const std::vector<PersistentConfig>& configs)
      : kernel_(measured(persistent_program(p.in, p.out, configs))) {}
  void prepare(const Call& call) override { kernel_.prepare(arguments(call).all(), &call.device); }
  void launch(const Call& call) override { kernel_.launch(arguments(call).all(), &call.device, call.stream); }
  std::vector<Step> steps(const Call& call) override { return {{&kernel_, arguments(call).list()}}; }
  Report report() const override { return kernel_.report(); }

 private:
  static Arguments<17> arguments(const Call& call) {
    Arguments<17> result(call.loc);
    add_forms(result, call.problem);
    add_memory(result, call.problem);
    return result;
  }
  KernelImpl kernel_;
};

class Split final : public Executor {
 public:
  Split(const Problem& p, int splits, const std::vector<SplitConfig>& configs, double reduction_us)
      : splits_(splits),
        reduction_us_(reduction_us),
        kernel_(measured(split_program(p.in, p.out, configs))),
        reduction_(reduce_program(p.out)) {}

  void prepare(const Call& call) override {
    with_partials(call, [&](const PtrValue& partials) {
      kernel_.prepare(arguments(call, partials).all(), &call.device);
      if (splits_ > 1) reduction_.prepare(reduction(call, partials).all(), &call.device);
    });
  }
  void launch(const Call& call) override {
    with_partials(call, [&](const PtrValue& partials) {
      kernel_.launch(arguments(call, partials).all(), &call.device, call.stream);
      if (splits_ > 1) reduction_.launch(reduction(call, partials).all(), &call.device, call.stream);
    });
  }
  std::vector<Step> steps(const Call& call) override {
    std::vector<Step> result;
    with_partials(call, [&](const PtrValue& partials) {
      result.push_back({&kernel_, arguments(call, partials).list()});
      if (splits_ > 1) result.push_back({&reduction_, reduction(call, partials).list()});
    });
    return result;
  }
  Report report() const override { return kernel_.report(); }
  std::vector<Report> helpers() const override {
    return splits_ > 1 ? std::vector{reduction_.report()} : std::vector<Report>{};
  }
  double extra_us() const override { return splits_ > 1 ? reduction_us_ : 0; }

 private:
  template <class F>
  void with_partials(const Call& call, F f) const {
    const Problem& p = call.problem;
    if (splits_ == 1) return f(unused(p.c));
    const std::int64_t pitch = partial_pitch(static_cast<int>(p.n));
    const Workspace workspace(call.device, call.stream, WorkspaceUse::partials, splits_ * p.m * pitch * 4);
    f(workspace.memory());
  }
  // Something that any kernel takes for a pointer: inside the memory of c, whose allocation is aligned to more.
  static PtrValue unused(PtrValue memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.pointer);
    memory.pointer = reinterpret_cast<void*>(address / sizeof(float) * sizeof(float));
    memory.bytes = PtrValue::unknown_bytes;
    return memory;
  }
  Arguments<19> arguments(const Call& call, const PtrValue& partials) const {
    Arguments<19> result(call.loc);
    add_forms(result, call.problem);
    result.integer(splits_);
    add_memory(result, call.problem);
    result.pointer(partials);
    return result;
  }
  Arguments<12> reduction(const Call& call, const PtrValue& partials) const {
    const Problem& p = call.problem;
    Arguments<12> result(call.loc);
    result.integer(p.m).integer(p.n).integer(static_cast<int>(p.form)).integer(p.steps.code()).integer(splits_);
    result.integer(p.c_rows).integer(p.c_columns).real(p.alpha).real(p.beta);
    result.pointer(p.c).pointer(p.bias).pointer(partials);
    return result;
  }

  int splits_;
  double reduction_us_;
  KernelImpl kernel_, reduction_;
};

class Pitch final : public Executor {
 public:
  Pitch(const Problem& p, const std::vector<PitchConfig>& configs)
      : kernel_(measured(pitch_program(p.in, p.out, configs))) {}
  void prepare(const Call& call) override { kernel_.prepare(arguments(call).all(), &call.device); }
  void launch(const Call& call) override { kernel_.launch(arguments(call).all(), &call.device, call.stream); }
  std::vector<Step> steps(const Call& call) override { return {{&kernel_, arguments(call).list()}}; }
  Report report() const override { return kernel_.report(); }

 private:
  static Arguments<19> arguments(const Call& call) {
    const Problem& p = call.problem;
    Arguments<19> result(call.loc);
    result.integer(p.m).integer(p.n).integer(p.k);
    result.integer(static_cast<int>(p.a.order)).integer(static_cast<int>(p.b.order));
    result.integer(static_cast<int>(p.form)).integer(p.steps.code());
    result.integer(p.a.row_stride).integer(p.a.column_stride).integer(p.b.row_stride).integer(p.b.column_stride);
    result.integer(p.c_rows).integer(p.c_columns).real(p.alpha).real(p.beta);
    result.pointer(p.a.memory).pointer(p.b.memory).pointer(p.c).pointer(p.bias);
    return result;
  }
  KernelImpl kernel_;
};

class Packed final : public Executor {
 public:
  Packed(const Problem& p, double packing_us, std::unique_ptr<Executor> inner)
      : packing_us_(packing_us), pack_(pack_program(size_of(p.in))), inner_(std::move(inner)) {}

  void prepare(const Call& call) override {
    with_packed(call, [&](const Call& packed, const auto& copies) {
      // Launched, since tuning reads the copies.
      for (const auto& copy : copies) pack_.launch(copy.all(), &call.device, call.stream);
      inner_->prepare(packed);
    });
  }
  void launch(const Call& call) override {
    with_packed(call, [&](const Call& packed, const auto& copies) {
      for (const auto& copy : copies) pack_.launch(copy.all(), &call.device, call.stream);
      inner_->launch(packed);
    });
  }
  std::vector<Step> steps(const Call& call) override {
    std::vector<Step> result;
    with_packed(call, [&](const Call& packed, const auto& copies) {
      for (const auto& copy : copies) result.push_back({&pack_, copy.list()});
      for (Step& step : inner_->steps(packed)) result.push_back(std::move(step));
    });
    return result;
  }
  Report report() const override { return inner_->report(); }
  std::vector<Report> helpers() const override {
    std::vector<Report> result = inner_->helpers();
    result.insert(result.begin(), pack_.report());
    return result;
  }
  double extra_us() const override { return packing_us_ + inner_->extra_us(); }

 private:
  template <class F>
  void with_packed(const Call& call, F f) const {
    const Problem& p = call.problem;
    Problem packed = packed_problem(p);
    const std::int64_t bytes = size_of(p.in), behind = p.a.loadable ? 0 : aligned(p.m * packed.a.pitch * bytes);
    const Workspace workspace(call.device, call.stream, WorkspaceUse::operands,
                              behind + (p.b.loadable ? 0 : p.n * packed.b.pitch * bytes));
    Copies copies;
    if (!p.a.loadable) copies.add(call, p.a, p.m, packed.a, workspace.memory(), 0);
    if (!p.b.loadable) copies.add(call, p.b, p.n, packed.b, workspace.memory(), behind);
    f(Call{packed, call.device, call.stream, call.loc}, copies);
  }
  static std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

  class Copies {
   public:
    void add(const Call& call, const OperandForm& from, std::int64_t rows, OperandForm& to, const PtrValue& memory,
             std::int64_t offset) {
      to.memory = memory;
      to.memory.pointer = static_cast<char*>(memory.pointer) + offset;
      to.memory.bytes -= static_cast<std::size_t>(offset);
      Arguments<8>& one = list_[used_++] = Arguments<8>(call.loc);
      one.integer(rows).integer(call.problem.k).integer(static_cast<int>(from.order));
      one.integer(from.row_stride).integer(from.column_stride).integer(to.pitch * size_of(call.problem.in) / 16);
      one.pointer(from.memory).pointer(to.memory);
    }
    const Arguments<8>* begin() const { return list_.data(); }
    const Arguments<8>* end() const { return list_.data() + used_; }

   private:
    std::array<Arguments<8>, 2> list_;
    std::size_t used_ = 0;
  };

  double packing_us_;
  mutable KernelImpl pack_;
  std::unique_ptr<Executor> inner_;
};

}  // namespace

Problem packed_problem(const Problem& problem) {
  Problem result = problem;
  const std::int64_t unit = 16 / size_of(problem.in);
  for (OperandForm* operand : {&result.a, &result.b}) {
    if (operand->loadable) continue;
    const std::int64_t pitch = (problem.k + unit - 1) / unit * unit;
    *operand = {OperandOrder::by_k, true, true, pitch, pitch, 1, operand->memory};
  }
  return result;
}

std::unique_ptr<Executor> make_pitch(const Problem& problem, const std::vector<PitchConfig>& configs) {
  return std::make_unique<Pitch>(problem, configs);
}
std::unique_ptr<Executor> make_packed(const Problem& problem, double packing_us, std::unique_ptr<Executor> inner) {
  return std::make_unique<Packed>(problem, packing_us, std::move(inner));
}
std::unique_ptr<Executor> make_split(const Problem& problem, int splits, const std::vector<SplitConfig>& configs,
                                     double reduction_us) {
  return std::make_unique<Split>(problem, splits, configs, reduction_us);
}
std::unique_ptr<Executor> make_persistent(const Problem& problem, const std::vector<PersistentConfig>& configs) {
  return std::make_unique<Persistent>(problem, configs);
}

}  // namespace tessera::kernels
