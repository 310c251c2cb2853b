#include <fmt/format.h>

#include "hopper_matmul/matmul_v0.hpp"
#include "hopper_matmul/matmul_v1.hpp"
#include "hopper_matmul/matmul_v2.hpp"
#include "hopper_matmul/matmul_v3.hpp"
#include "hopper_matmul/matmul_v4.hpp"
#include "hopper_matmul/matmul_v5.hpp"
#include "hopper_matmul/matmul_v6.hpp"
#include "hopper_matmul/matmul_v7.hpp"
#include "passes/pipeline.hpp"
#include "subjects.hpp"

namespace tessera::testing {
namespace {

using namespace hopper_matmul;  // NOLINT(google-build-using-namespace)

struct Size {
  std::vector<std::int64_t> m;  // one launch each
  std::int64_t n, k;
  int sms = 2;
};

template <class S>
Subject subject(const char* kernel, typename S::Config config, const std::string& text, const Size& size) {
  Subject result{kernel, fmt::format("{}, n {}, k {}", text, size.n, size.k), {}, {}};
  result.build = [config, size] {
    const std::vector<std::int64_t> constants = {0, size.n, size.k, 0, 0, 0};
    const auto traced = detail::trace(S(config), constants);
    return passes::lower(*traced).kernel;
  };
  for (const std::int64_t m : size.m)
    result.launches.push_back({{scalar(m), input(m * size.k), input(size.n * size.k), output(m * size.n)}, size.sms});
  return result;
}

}  // namespace

std::vector<Subject> ladder_subjects() {
  using E = float16;
  std::vector<Subject> all;
  all.push_back(subject<MatmulTma<E>>("v0", {64, 32, 16}, "64x32x16", {{72}, 40, 56}));
  all.push_back(subject<MatmulWgmma<E>>("v1", {64, 16, 16}, "64x16x16", {{72}, 24, 56}));
  all.push_back(subject<MatmulMultiStage<E>>("v2", {64, 16, 16, 2, 1}, "64x16x16, 2 stages", {{72}, 16, 88}));
  all.push_back(
      subject<MatmulMultiStage<E>>("v2", {128, 16, 16, 3, 2}, "128x16x16, 3 stages, 2 groups", {{72}, 16, 136}));
  all.push_back(subject<MatmulWarpSpecialised<E>>("v3", {64, 16, 16, 2}, "64x16x16, 2 stages", {{72}, 16, 88}));
  all.push_back(subject<MatmulWarpSpecialised<E>>("v3", {64, 16, 16, 3}, "64x16x16, 3 stages", {{72}, 16, 136}));
  all.push_back(subject<MatmulPipelined<E>>("v4", {128, 16, 16, 2, 4}, "128x16x16, 2 stages", {{72}, 32, 88}));
  all.push_back(subject<MatmulOverlapped<E>>("v5", {128, 16, 16, 3, 4}, "128x16x16, 3 stages", {{72}, 32, 136}));
  all.push_back(
      subject<MatmulPersistent<E>>("v6", {128, 16, 16, 2, 2, 4}, "128x16x16, 2 stages, cluster 2", {{600}, 32, 88}));
  all.push_back(subject<MatmulPersistent<E>>("v6", {128, 16, 16, 3, 1, 4}, "128x16x16, 3 stages", {{300}, 32, 120}));
  all.push_back(
      subject<MatmulPingPong<E>>("v7", {128, 16, 16, 2, 2, 4}, "128x16x16, 2 stages, cluster 2", {{600}, 64, 88}));
  all.push_back(subject<MatmulPingPong<E>>("v7", {128, 16, 16, 3, 1, 4}, "128x16x16, 3 stages", {{600}, 64, 120}));
  // As many blocks as slots, and fewer.
  all.push_back(subject<MatmulWarpSpecialised<E>>("v3", {64, 16, 16, 3}, "64x16x16, 3 stages", {{72}, 16, 16}));
  all.push_back(subject<MatmulOverlapped<E>>("v5", {128, 16, 16, 3, 4}, "128x16x16, 3 stages", {{72}, 32, 48}));
  all.push_back(subject<MatmulPersistent<E>>("v6", {128, 16, 16, 3, 1, 4}, "128x16x16, 3 stages", {{300}, 32, 48}));
  all.push_back(subject<MatmulPingPong<E>>("v7", {128, 16, 16, 3, 1, 4}, "128x16x16, 3 stages", {{600}, 64, 32}));
  return all;
}

}  // namespace tessera::testing
