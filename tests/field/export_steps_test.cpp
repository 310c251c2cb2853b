// Exported launches of several kernels: the library's own, kernel by kernel; and right results, by running the kernels
// on the simulated Hopper with what the exported C hands to the driver.
#include "export_steps.hpp"

#include <random>

namespace tessera::test {
namespace {
using kernels::Call;
using kernels::Executor;
using ::testing::HasSubstr;

std::string replaced(std::string text, Address address, const std::string& label) {
  const std::string number = std::to_string(address);
  for (const std::string before : {" 8:", "base "}) {
    const std::string from = before + number, to = before + label;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      const std::size_t end = at + from.size();
      if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0)
        text.replace(at, from.size(), to);
    }
  }
  return text;
}

constexpr std::int64_t most_offset = 16000;  // bytes from the beginning of a buffer to a matrix in it

// Sizes and kernels of a comparison.
struct Case {
  std::string name;
  std::int64_t m, n, k;
  std::vector<std::string> kernels;
  DType in = DType::f16, out = DType::f16;
  bool bias = false;
  float alpha = 1, beta = 0;
  Activation activation = Activation::none;
};

class ExportStepsLaunch : public ExportSteps {
 protected:
  // The launches that are looked at are those of the call, not those of a tuning in this process.
  void SetUp() override {
    ExportSteps::SetUp();
    ::setenv("TESSERA_TUNING", "never", 1);
  }
  void TearDown() override {
    ::unsetenv("TESSERA_TUNING");
    ExportSteps::TearDown();
  }
  static MatmulExport what_of(const Case& one) {
    MatmulExport what;
    what.in = one.in;
    what.out = one.out;
    what.sizes = {{one.m, one.n, one.k}};
    what.alpha = one.alpha;
    what.beta = one.beta;
    what.bias = one.bias;
    what.activation = one.activation;
    return what;
  }
  // The record with names for what lies in a workspace; `at`: where the copies and the sums are.
  std::string labelled(const std::map<std::string, Address>& at) const {
    std::string text;
    for (std::string line : launches()) {
      for (const auto& [label, address] : at) line = replaced(line, address, label);
      text += line + "\n";
    }
    return text;
  }
  // Where the library has them.
  std::map<std::string, Address> found() const {
    std::map<std::string, Address> at;
    for (const std::string& line : launches()) {
      if (line.find("launch PackRows") != std::string::npos)
        at[at.count("<a>") == 0 ? "<a>" : "<b>"] = parameter(line, 6);
      else if (line.find("launch SplitMatmul") != std::string::npos)
        at["<sums>"] = parameter(line, 11);
    }
    return at;
  }
  // Where docs/export.md says that they are, and the bytes of all.
  static std::map<std::string, Address> expected(const Case& one, std::int32_t m, Address workspace, Address* bytes) {
    std::map<std::string, Address> at;
    Address end = 0;
    const auto take = [&](const std::string& label, Address size) {
      end = rounded_up(end, 256);
      at[label] = workspace + end;
      end += size;
    };
    const auto element = static_cast<Address>(size_of(one.in));
    if (one.kernels[0] == "PackRows") {
      const Address pitch = rounded_up(static_cast<Address>(one.k) * element, 16);
      take("<a>", static_cast<Address>(m) * pitch);
      take("<b>", static_cast<Address>(one.n) * pitch);
    }
    if (one.kernels.back() == "ReduceSplits") {
      const auto splits = static_cast<Address>(splits_);
      take("<sums>", static_cast<Address>(m) * splits * rounded_up(static_cast<Address>(one.n), 4) * 4);
    }
    *bytes = end;
    return at;
  }
  static inline int splits_ = 0;  // of the case
};

std::vector<Case> cases() {
  return {
      {"split", 16, 64, 32768, {"SplitMatmul", "ReduceSplits"}},
      {"epilogue",
       16,
       72,
       32768,
       {"SplitMatmul", "ReduceSplits"},
       DType::bf16,
       DType::f32,
       true,
       2,
       3,
       Activation::gelu},
      {"packed", 4000, 3000, 2001, {"PackRows", "PackRows", "PersistentMatmul"}},
      {"packed_split",
       24,
       72,
       65537,
       {"PackRows", "PackRows", "SplitMatmul", "ReduceSplits"},
       DType::f8e4m3,
       DType::bf16},
  };
}

TEST_F(ExportStepsLaunch, EachKernelIsTheLibrarys) {
  std::mt19937 random(7);
  const Device device = Device::cuda(0);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const MatmulExport what = what_of(one);
    const ExportReport report = written(what, options(one.name));
    std::vector<std::string> names;
    for (const ExportReport::Step& step : report.buckets.at(0).steps) names.push_back(step.kernel);
    ASSERT_EQ(names, one.kernels) << report.text();
    Exported c(report);
    ASSERT_EQ(c.load(), 0);
    c.stream = nullptr;
    const auto buffer = [&](DType type, std::int64_t rows, std::int64_t most_pitch) {
      return device.empty<std::uint8_t>({rows * most_pitch * size_of(type) + most_offset});
    };
    const auto a = buffer(one.in, one.m, one.k + 1600), b = buffer(one.in, one.n, one.k + 1600);
    const auto result = buffer(one.out, one.m, one.n + 80), bias = buffer(one.out, 1, one.n);
    Arguments x{static_cast<std::int32_t>(one.m),
                one.k,
                one.k,
                one.n,
                one.alpha,
                one.beta,
                address_of(a.data()),
                address_of(b.data()),
                address_of(result.data()),
                one.bias ? address_of(bias.data()) : 0};
    kernels::Problem first = problem(what, one.n, one.k, x);
    const kernels::ExportChoice selection = kernels::choose_for_export({first, device, nullptr, SourceLoc::here()}, {});
    const std::size_t split = selection.choice.kernel.find("SplitMatmul, ");
    splits_ = split == std::string::npos ? 1 : std::stoi(selection.choice.kernel.substr(split + 13));
    const bool packed = one.kernels[0] == "PackRows";
    for (int trial = 0; trial < 25; ++trial) {
      const auto below = [&](std::int64_t limit) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(limit));
      };
      // Any rows of the bucket, and rows with something between them; those that are copied are still to be copied.
      x.m = static_cast<std::int32_t>(one.m - below(one.m / 3));
      x.a_pitch = packed ? one.k + 16 * below(4) : one.k + 16 * below(100);
      x.b_pitch = packed ? one.k + 16 * below(4) : one.k + 16 * below(100);
      x.c_pitch = one.n + 16 * below(5);
      if (one.alpha != 1) x.alpha = static_cast<float>(2 + below(9));
      if (one.beta != 0) x.beta = static_cast<float>(2 + below(9));
      const auto moved = [&](const auto& memory) {
        return address_of(memory.data()) + 16 * static_cast<Address>(below(1000));
      };
      x.a = moved(a);
      x.b = moved(b);
      x.c = moved(result);
      const kernels::Problem p = problem(what, one.n, one.k, x);
      driver.clear();
      selection.executor->launch({p, device, nullptr, SourceLoc::here()});
      const std::string expected_text = labelled(found());
      ASSERT_EQ(launches().size(), one.kernels.size());

      const Address workspace = Address{256} * static_cast<Address>(1 + below(1 << 20));
      Address bytes = 0;
      const auto at = expected(one, x.m, workspace, &bytes);
      std::size_t asked = 0;
      ASSERT_EQ(c.workspace_bytes(&asked, x.m), 0);
      EXPECT_EQ(asked, bytes);
      driver.clear();
      const int status = launch(c, x, workspace, bytes);
      ASSERT_EQ(status, 0) << c.status_text(status);
      ASSERT_EQ(labelled(at), expected_text);
    }
  }
}

// Runs each launch on the simulated Hopper, with the arguments that the driver was given.
class OnSimulator {
 public:
  OnSimulator(std::vector<Executor::Step> steps, const Device& device) : steps_(std::move(steps)), device_(device) {}
  void knows(void* begin, std::size_t bytes) { memory_.emplace_back(static_cast<char*>(begin), bytes); }
  static void call(const char* function, void** params, void* user) {
    static_cast<OnSimulator*>(user)->launch(function, params);
  }
  void again() { next_ = 0; }
  std::size_t launched() const { return next_; }
  const std::string& trouble() const { return trouble_; }

 private:
  void launch(const std::string& function, void** params) try {
    const Executor::Step& step = steps_.at(next_++);
    const detail::Program& program = *step.kernel->launchable({}, nullptr).program;
    EXPECT_EQ(program.name, function);
    std::vector<detail::Argument> arguments = step.arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const detail::ParamInfo& param = program.params[i];
      if (param.kind == detail::ParamKind::constant) continue;
      arguments[i].pointer = {};
      if (param.kind == detail::ParamKind::pointer) {
        arguments[i].pointer = memory_at(*static_cast<char**>(*params++));
      } else {
        std::int64_t value = 0;
        if (size_of(param.type) == 8) std::memcpy(&value, *params++, 8);
        if (param.type == DType::i32) value = *static_cast<std::int32_t*>(*params++);
        if (param.type == DType::f32) value = *static_cast<std::uint32_t*>(*params++);
        arguments[i].integer = value;
      }
    }
    step.kernel->launch(arguments, &device_, {});
  } catch (const std::exception& error) {  // it must not pass through C
    trouble_ += error.what();
  }
  detail::PtrValue memory_at(char* address) const {
    detail::PtrValue value;
    value.pointer = address;
    for (const auto& [begin, bytes] : memory_) {
      if (address >= begin && address < begin + bytes) value.bytes = static_cast<std::size_t>(begin + bytes - address);
    }
    EXPECT_NE(value.bytes, detail::PtrValue::unknown_bytes) << "an address of nothing";
    return value;
  }
  std::vector<Executor::Step> steps_;
  Device device_;
  std::vector<std::pair<char*, std::size_t>> memory_;
  std::size_t next_ = 0;
  std::string trouble_;
};

// A matrix of small integers, whose products are exact, with rows further apart than they are long.
struct Numbers {
  Numbers(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t pitch, int seed)
      : columns(columns), pitch(pitch) {
    for (std::int64_t i = 0; i < rows * pitch; ++i) values.emplace_back(static_cast<float>((i * 7 + seed) % 5 - 2));
    buffer = device.from_host(values, {rows * pitch});
  }
  float at(std::int64_t row, std::int64_t column) const {
    return static_cast<float>(values[static_cast<std::size_t>(row * pitch + column)]);
  }
  std::int64_t columns, pitch;
  std::vector<float16> values;
  Buffer<float16> buffer;
};

class ExportStepsResult : public ExportSteps {
 protected:
  static constexpr std::size_t guard = 512;  // bytes behind the workspace that nobody may touch

  void check(std::int64_t exported_m, std::int64_t n, std::int64_t k, std::int64_t extra,
             const std::vector<std::string>& kernels, const std::vector<std::int32_t>& rows) {
    MatmulExport what;
    what.out = DType::f32;
    what.alpha = 2;
    what.beta = 3;
    what.activation = Activation::relu;
    what.sizes = {{exported_m, n, k}};
    const ExportReport report = written(what, options("product"));
    std::vector<std::string> names;
    for (const ExportReport::Step& step : report.buckets.at(0).steps) names.push_back(step.kernel);
    ASSERT_EQ(names, kernels) << report.text();
    Exported c(report);
    ASSERT_EQ(c.load(), 0);
    for (const std::int32_t m : rows) run(c, what, m, n, k, extra);
  }
  void run(Exported& c, const MatmulExport& what, std::int32_t m, std::int64_t n, std::int64_t k, std::int64_t extra) {
    SCOPED_TRACE(m);
    const Device device = Device::sim({.threads = 1});
    const Numbers a(device, m, k, k + extra, 1), b(device, n, k, k + 2 * extra, 2);
    const std::int64_t c_pitch = n + 8;
    std::vector<float> before(static_cast<std::size_t>(m * c_pitch));
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<float>(i % 7);
    auto result = device.from_host(before, {m, c_pitch});
    std::size_t bytes = 0;
    ASSERT_EQ(c.workspace_bytes(&bytes, m), 0);
    ASSERT_GT(bytes, 0U);
    auto workspace =
        device.from_host(std::vector<std::uint8_t>(bytes + guard, 0xff), {static_cast<std::int64_t>(bytes + guard)});
    ASSERT_EQ(address_of(workspace.data()) % 256, 0U);

    // The kernels that were exported, of the exported size: the same model chooses.
    const Arguments of_export{static_cast<std::int32_t>(what.sizes[0][0]), k, k, n, 2, 3, 1 << 20, 1 << 21, 1 << 22, 0};
    const kernels::Problem p = problem(what, n, k, of_export);
    const Call call{p, device, nullptr, SourceLoc::here()};
    const kernels::ExportChoice selection = kernels::choose_for_export(call, {});
    OnSimulator simulator(selection.executor->steps(call), device);
    simulator.knows(a.buffer.data(), a.buffer.bytes());
    simulator.knows(b.buffer.data(), b.buffer.bytes());
    simulator.knows(result.data(), result.bytes());
    simulator.knows(workspace.data(), bytes);
    driver.symbol<void(void (*)(const char*, void**, void*), void*)>("recording_on_launch")(OnSimulator::call,
                                                                                            &simulator);
    const Arguments x{m,
                      a.pitch,
                      b.pitch,
                      c_pitch,
                      2,
                      3,
                      address_of(a.buffer.data()),
                      address_of(b.buffer.data()),
                      address_of(result.data()),
                      0};
    const int status = launch(c, x, address_of(workspace.data()), bytes);
    EXPECT_EQ(status, 0) << c.status_text(status);
    EXPECT_EQ(simulator.trouble(), "");
    const std::vector<float> found = result.to_host();
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < c_pitch; ++j) {
        const auto at = static_cast<std::size_t>(i * c_pitch + j);
        float sum = 0;
        for (std::int64_t l = 0; l < k && j < n; ++l) sum += a.at(i, l) * b.at(j, l);
        const float expected = j < n ? std::max(0.0F, 2 * sum + 3 * before[at]) : before[at];
        ASSERT_EQ(found[at], expected) << i << " " << j;
      }
    }
    const std::vector<std::uint8_t> left = workspace.to_host();
    for (std::size_t i = bytes; i < left.size(); ++i) ASSERT_EQ(left[i], 0xff) << "behind the workspace";
  }
};

TEST_F(ExportStepsResult, SplitSums) { check(8, 64, 16384, 8, {"SplitMatmul", "ReduceSplits"}, {8, 5, 1, 19}); }
TEST_F(ExportStepsResult, CopiedOperands) {
  check(8, 64, 16385, 3, {"PackRows", "PackRows", "SplitMatmul", "ReduceSplits"}, {8, 5, 1, 19});
}

}  // namespace
}  // namespace tessera::test
