// A whole tile matmul in thread IR: exact under every schedule, and each single mistake told apart by its report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "matmul_kernel.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Problem {
  int m, n, k;
  std::vector<float16> a, b, c;

  Problem(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (int i = 0; i < m * k; ++i) a.emplace_back(normal(random));
    for (int i = 0; i < n * k; ++i) b.emplace_back(normal(random));
    c.assign(static_cast<std::size_t>(m) * static_cast<std::size_t>(n), float16::from_bits(0x7e00));
  }
  std::vector<sim::Argument> arguments() { return {scalar(m), scalar(n), scalar(k), buffer(a), buffer(b), buffer(c)}; }
  int wrong() const {
    int count = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (int x = 0; x < k; ++x) {
          const double p = static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(i * k + x)])) *
                           static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(j * k + x)]));
          sum += p;
          magnitude += std::abs(p);
        }
        const double found = static_cast<double>(static_cast<float>(c[static_cast<std::size_t>(i * n + j)]));
        const double bound = std::abs(sum) * 0x1p-11 + magnitude * k * 0x1p-24 + 0x1p-24;
        if (!(std::abs(found - sum) <= bound)) ++count;
      }
    }
    return count;
  }
};

TEST(Matmul, ExactUnderEverySchedule) {
  KernelBuilder b;
  build_matmul(b, {});
  for (const char* schedule : all_schedules) {
    for (const auto& [m, n, k] : {std::tuple{128, 128, 192}, {70, 136, 72}, {1, 2, 8}}) {
      Problem p(m, n, k);
      sim::run(b.kernel, p.arguments(), options(schedule, 2));
      EXPECT_EQ(p.wrong(), 0) << schedule << " " << m << " " << n << " " << k;
    }
  }
}

TEST(Matmul, AnEmptySumIsZero) {
  KernelBuilder b;
  build_matmul(b, {});
  Problem p(64, 128, 8);
  p.k = 0;
  sim::run(b.kernel, p.arguments(), options());
  EXPECT_EQ(p.wrong(), 0);
}

TEST(Matmul, TheSameBitsUnderEveryScheduleAndThreadCount) {
  KernelBuilder b;
  build_matmul(b, {});
  Problem reference(200, 264, 128);
  sim::run(b.kernel, reference.arguments(), options());
  for (const char* schedule : {"lazy", "random:9"}) {
    Problem p(200, 264, 128);
    sim::run(b.kernel, p.arguments(), options(schedule, 3));
    EXPECT_EQ(std::memcmp(p.c.data(), reference.c.data(), p.c.size() * 2), 0) << schedule;
  }
}

struct Outcome {
  std::string text;  // of the error; empty if the run ended
  int wrong = 0;
};

Outcome run_plan(const MatmulPlan& plan, const char* schedule, bool check_handover = true, int k = 256) {
  KernelBuilder b;
  build_matmul(b, plan);
  Problem p(64, 128, k);
  sim::Options o = options(schedule);
  o.check_proxy_handover = check_handover;
  const Error error = error_of(b.kernel, p.arguments(), o);
  if (error.diagnostics().empty()) return {"", p.wrong()};
  EXPECT_EQ(error.kind(), ErrorKind::user) << error.what();
  std::string text = error.what();
  for (const Note& note : error.diagnostics()[0].notes) text += "\n" + note.message;
  return {text, 0};
}

TEST(MatmulMistake, NoArrive) {
  MatmulPlan plan;
  plan.arrive = false;
  for (const char* schedule : all_schedules) {
    const std::string text = run_plan(plan, schedule).text;
    // The copies came, but nobody declared them, and nobody arrived.
    EXPECT_THAT(text, AllOf(HasSubstr("deadlock"), HasSubstr("waits on mbarrier tma_barrier for phase parity 0"),
                            HasSubstr("1 arrival missing of 1: nobody has arrived in phase 0"),
                            HasSubstr("nobody declared the 24576 bytes that the copies delivered")));
    EXPECT_THAT(text, HasSubstr("warp 1 waits at barrier 0 for 128 threads"));
  }
}

TEST(MatmulMistake, BytesTooFew) {
  MatmulPlan plan;
  plan.missing_bytes = 16;
  for (const char* schedule : all_schedules) {
    EXPECT_THAT(run_plan(plan, schedule).text,
                AllOf(HasSubstr("deadlock"), HasSubstr("the copies delivered 16 bytes more than were declared")));
  }
}

TEST(MatmulMistake, BytesTooMany) {
  MatmulPlan plan;
  plan.missing_bytes = -16;
  for (const char* schedule : all_schedules) {
    const std::string text = run_plan(plan, schedule).text;
    EXPECT_THAT(
        text, AllOf(HasSubstr("deadlock"), HasSubstr("16 bytes of the 24592 declared by arrive_and_expect_tx at line " +
                                                     std::to_string(plan.line_arrive) + " were never delivered")));
  }
}

// Waiting for the other parity: the first wait returns at once, and what is read is not there yet.
TEST(MatmulMistake, WrongPhase) {
  MatmulPlan plan;
  plan.wrong_phase = 1;
  for (const char* schedule : {"lazy", "random:1", "random:2"}) {
    const Outcome outcome = run_plan(plan, schedule);
    EXPECT_THAT(outcome.text, AnyOf(HasSubstr("uninitialised shared memory"), HasSubstr("still in flight when"),
                                    HasSubstr("did not wait for it")))
        << schedule;
  }
  // With every copy landing at once the values are right, but the last wait is for a phase that never comes... or
  // returns.
  const Outcome eager = run_plan(plan, "eager");
  EXPECT_THAT(eager.text, AllOf(HasSubstr("deadlock"), HasSubstr("waits on mbarrier tma_barrier for phase parity 1"),
                                HasSubstr("a wait for parity 0 would not have waited")));
}

TEST(MatmulMistake, PhaseNotFlipped) {
  MatmulPlan plan;
  plan.flip_phase = false;
  for (const char* schedule : {"lazy", "random:1", "random:2", "random:3"}) {
    const Outcome outcome = run_plan(plan, schedule);
    EXPECT_TRUE(!outcome.text.empty() || outcome.wrong > 0) << schedule;
    const Outcome unchecked = run_plan(plan, schedule, false);
    EXPECT_TRUE(!unchecked.text.empty() || unchecked.wrong > 0) << schedule;
  }
}

TEST(MatmulMistake, MissingSecondSync) {
  MatmulPlan plan;
  plan.second_sync = false;
  const Outcome lazy = run_plan(plan, "lazy");
  EXPECT_TRUE(!lazy.text.empty() || lazy.wrong > 0);
  // Without the hand-over check the values show it: the fast warp's copy overwrites what the others still read.
  int noticed = 0;
  for (const char* schedule : {"lazy", "random:1", "random:2", "random:3"}) {
    const Outcome outcome = run_plan(plan, schedule, false);
    if (!outcome.text.empty() || outcome.wrong > 0) ++noticed;
  }
  EXPECT_EQ(noticed, 4);
}

TEST(MatmulMistake, MissingFence) {
  MatmulPlan plan;
  plan.fence = false;
  for (const char* schedule : all_schedules) {
    const std::string text = run_plan(plan, schedule).text;
    EXPECT_THAT(text, AllOf(HasSubstr("unfenced hand-over"), HasSubstr("tile sa"),
                            HasSubstr("line " + std::to_string(plan.line_copy)),
                            HasSubstr("line " + std::to_string(plan.line_ldmatrix)), HasSubstr("fence.proxy_async")));
    const Outcome unchecked = run_plan(plan, schedule, false);
    EXPECT_EQ(unchecked.text, "");
    EXPECT_EQ(unchecked.wrong, 0);  // values alone cannot show it
  }
}

}  // namespace
}  // namespace tessera::testing
