// Matmuls with one fault each on the card: how many elements of how many launches are wrong. A program and not a test:
// what a broken kernel does on a card is nothing to rely on.
//   faults_on_card SIZE LAUNCHES   one line of JSON for each kernel
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "check/early_refill.hpp"
#include "check/mutate.hpp"
#include "harness.hpp"
#include "hopper_matmul/matmul_v0.hpp"
#include "hopper_matmul/matmul_v1.hpp"
#include "hopper_matmul/matmul_v5.hpp"
#include "passes/pipeline.hpp"
#include "tessera/core/error.hpp"

namespace tessera::gpu_tests {
namespace {

using namespace hopper_matmul;  // NOLINT(google-build-using-namespace)
using KernelPtr = std::shared_ptr<const ir::thread::Kernel>;

template <class S>
KernelPtr lower(const S& script, std::int64_t size, bool fences = true) {
  passes::Options options;
  options.insert_proxy_fences = fences;
  const auto traced = detail::trace(script, std::vector<std::int64_t>{0, size, size, 0, 0, 0});
  return std::make_shared<ir::thread::Kernel>(passes::lower(*traced, options).kernel);
}
template <class S>
S pinned(const char* config) {
  return S(S::space().parse(config));
}

// The kernel with all statements of which a mutation's text has this in it left out, one after the other.
KernelPtr without(KernelPtr kernel, const std::string& what) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const checker::Mutation& m : checker::mutations(*kernel)) {
      if (m.text.find(what) == std::string::npos) continue;
      kernel = checker::mutate(*kernel, m);
      changed = true;
      break;
    }
  }
  return kernel;
}

struct Problem {
  std::int64_t size;
  std::vector<Argument> arguments;
  std::vector<float16> right;

  explicit Problem(std::int64_t n) : size(n), arguments(4) {
    const Device host = Device::sim();
    arguments[0].scalar = n;
    arguments[1].bytes = golden::bytes_of(host.randn<float16>({n, n}, 1).to_host());
    arguments[2].bytes = golden::bytes_of(host.randn<float16>({n, n}, 2).to_host());
    run(CardProgram(*lower(pinned<MatmulWgmma<float16>>("block_m=128,block_n=128,block_k=64"), n)));
    right = golden::values_of<float16>(arguments[3].bytes);
  }
  void run(const CardProgram& program) {
    const std::vector<float16> poison(static_cast<std::size_t>(size * size), float16::from_bits(0x7fff));
    arguments[3].bytes = golden::bytes_of(poison);
    program.run(arguments);
  }
  // Of another k-order of the same sums: more than its rounding away, or no number.
  std::int64_t wrong() const {
    const auto values = golden::values_of<float16>(arguments[3].bytes);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float x = static_cast<float>(values[i]), y = static_cast<float>(right[i]);
      count += std::abs(x - y) <= 0.25F + 0.01F * std::abs(y) ? 0 : 1;
    }
    return count;
  }
};

void measure(Problem& problem, const char* name, const KernelPtr& kernel, int launches) {
  const CardProgram program(*kernel);
  std::int64_t least = problem.size * problem.size, most = 0;
  int wrong = 0;
  for (int i = 0; i < launches; ++i) {
    problem.run(program);
    const std::int64_t n = problem.wrong();
    least = std::min(least, n);
    most = std::max(most, n);
    wrong += n != 0 ? 1 : 0;
  }
  fmt::print(
      "{{\"kernel\": \"{}\", \"size\": {}, \"launches\": {}, \"wrong_launches\": {}, \"wrong_elements\": [{}, {}]}}\n",
      name, problem.size, launches, wrong, least, most);
  std::fflush(stdout);
}

void run(std::int64_t size, int launches) {
  Problem problem(size);
  const auto v0 = pinned<MatmulTma<float16>>("block_m=64,block_n=128,block_k=32");
  const auto v5 = pinned<MatmulOverlapped<float16>>("block_m=128,block_n=128,block_k=64,stages=4,group=8");
  measure(problem, "V0", lower(v0, size), launches);
  measure(problem, "V5", lower(v5, size), launches);
  measure(problem, "V0 without its proxy fence", lower(v0, size, false), launches);
  measure(problem, "V0 without its block barriers", without(lower(v0, size), "barrier.sync deleted"), launches);
  measure(problem, "a stage refilled while it is read", lower(testing::EarlyRefill{}, size), launches);
  measure(problem, "V5 without wgmma.wait_group", without(lower(v5, size), "wgmma.wait_group deleted"), launches);
  measure(problem, "V5 without warp barriers", without(lower(v5, size), "warp.sync deleted"), launches);
  measure(problem, "V5 without wgmma.fence", without(lower(v5, size), "wgmma.fence deleted"), launches);
}

}  // namespace
}  // namespace tessera::gpu_tests

int main(int argc, char** argv) try {
  tessera::gpu_tests::run(argc > 1 ? std::atoi(argv[1]) : 2048, argc > 2 ? std::atoi(argv[2]) : 20);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
