// C++ state and C++ control flow inside traced bodies, and conditions that differ between threads.
#include <stdexcept>

#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(Audit, HostVariableInALoop) {
  const std::string text = mistake([](Program& k) {
    int stage = 0;
    for (auto i : range(*k.n)) {
      k.print("{} {}\n", i, stage);  // <- error
      stage = (stage + 1) % 4;
    }
  });
  EXPECT_THAT(text, HasSubstr("a C++ variable changes inside the loop"));
  EXPECT_THAT(text, HasSubstr("make the variable a Var"));
  EXPECT_THAT(text, HasSubstr("for (auto i : range"));
}

TEST(Audit, HostVariableInANestedLoop) {
  expect_mistake(
      [](Program& k) {
        int stage = 0;
        for (auto i : range(*k.n)) {
          for (auto j : range(i)) {
            k.print("{} {}\n", j, stage);  // <- error
            ++stage;
          }
        }
      },
      "a C++ variable changes inside the loop");
}

TEST(Audit, HostVariableChangedInALoopAndReadBehindIt) {
  expect_mistake(
      [](Program& k) {
        int found = 0;
        for (auto i : range(*k.n)) {
          (void)i;
          found = 1;
        }
        k.print("{}\n", found);  // <- error
      },
      "it changes a C++ variable");
}

TEST(Audit, HostVariableChangedInABranch) {
  expect_mistake(
      [](Program& k) {
        int found = 0;
        if (auto _ = when(*k.n > 3)) found = 1;
        k.print("{}\n", found);  // <- error
      },
      "it changes a C++ variable");
}

TEST(Audit, HostVariableChangedInAThreadGroup) {
  expect_mistake(
      [](Program& k) {
        int found = 0;
        if (auto _ = single_thread()) found = 1;
        k.print("{}\n", found);  // <- error
      },
      "it changes a C++ variable");
}

TEST(Audit, ReturnInABranch) {
  expect_mistake(
      [](Program& k) {
        if (auto _ = when(*k.n > 3)) return;
        sync();  // <- error
      },
      "a C++ return or continue leaves that body");
}

TEST(Audit, ReturnInANestedBranch) {
  expect_mistake(
      [](Program& k) {
        if (auto _ = when(*k.n > 3)) {
          if (auto _ = when(*k.n > 5)) return;
          sync();
        }
        sync();  // <- error
      },
      "a C++ return or continue leaves that body");
}

TEST(Audit, ContinueInABranch) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {
          if (auto _ = when(i > 3)) continue;
          sync();  // <- error
        }
      },
      "use continue_loop()");
}

TEST(Audit, BreakInTheSecondPass) {
  expect_mistake(
      [](Program& k) {
        int passes = 0;
        for (auto i : range(*k.n)) {  // <- error
          (void)i;
          if (passes++ == 1) break;
        }
      },
      "C++ break, return or goto leaves this loop");
}

TEST(Audit, ATileOfTheIterationBefore) {
  expect_mistake(
      [](Program& k) {
        std::vector<RegisterTensor> tiles;
        for (auto i : range(*k.n)) {
          (void)i;
          if (!tiles.empty()) store_shared(shared_tensor<float>({16}), tiles.front());  // <- error
          tiles.push_back(register_tensor<float>({16}, 0.0f));
        }
      },
      "used after its scope has ended");
}

TEST(Audit, LeavesNothingBehind) {
  int passes = 0;
  const auto kernel = trace_body([&](Program& k) {
    ++passes;
    for (auto i : range(*k.n)) {
      auto t = register_tensor<float>({16}, cast<Float32>(i));
      for (auto j : range(i)) t += cast<Float32>(j);
      if (auto _ = when(i > 3)) shared_tensor<float>({16});
    }
  });
  EXPECT_GT(passes, 2);  // the audit ran
  EXPECT_EQ(kernel->registers.size(), 1U);
  EXPECT_EQ(kernel->shared.size(), 1U);
  EXPECT_EQ(kernel->body.size(), 1U);
}

TEST(Audit, CppLoopsAndCppBranchesAreFine) {
  EXPECT_NO_THROW(trace_body([](Program& k) {
    Var<Int32> x = 0;
    for (int i = 0; i < 4; ++i) {
      if (i == 2 && k.size > 3) continue;
      for (auto j : range(*k.n)) {
        int local = 0;
        for (int m = 0; m < 3; ++m) local += m;
        x += j + local + i;
      }
    }
  }));
}

TEST(Audit, ExceptionInASkippedPass) {
  EXPECT_THROW(trace_body([](Program& k) {
                 bool entered = false;
                 if (auto _ = when(*k.n > 3)) entered = true;
                 if (!entered) throw std::runtime_error("not entered");
               }),
               Error);
}

TEST(Uniformity, SyncUnderADivergentCondition) {
  const std::string text = mistake([](Program&) {
    Var<Int32> x = 0;
    if (auto _ = single_thread()) x = 1;
    if (auto _ = when(x == 1)) {
      sync();  // <- error
    }
  });
  EXPECT_THAT(text, HasSubstr("sync() stands under a condition that may differ between the threads of its group"));
  EXPECT_THAT(text, HasSubstr("'x' is assigned by one elected thread of warp 0 only"));
}

TEST(Uniformity, ThroughOtherVariablesAndLoops) {
  expect_mistake(
      [](Program& k) {
        Var<Int32> x = 0;
        Var<Int32> y = 0;
        for (auto i : range(*k.n)) {
          if (auto _ = when(y + i > 3)) {
            sync();  // <- error
          }
          y = x * 2;
          if (auto _ = warp_group(0, 2)) x += 1;
        }
      },
      "'x' is assigned by threads 0..63 only");
}

TEST(Uniformity, AssignedUnderADivergentCondition) {
  expect_mistake(
      [](Program&) {
        Var<Int32> x = 0;
        Var<Int32> y = 0;
        if (auto _ = single_warp()) x = 1;
        if (auto _ = when(x == 1)) y = 1;
        if (auto _ = when(y == 1)) {
          sync();  // <- error
        }
      },
      "'x' is assigned by threads 0..31 only");
}

TEST(Uniformity, LoopBounds) {
  expect_mistake(
      [](Program&) {
        Var<Int32> x = 0;
        if (auto _ = single_thread(7)) x = 1;
        for (auto i : range(x)) {
          (void)i;
          sync();  // <- error
        }
      },
      "sync() stands under a condition");
}

TEST(Uniformity, LoopsThatSomeThreadsLeave) {
  expect_mistake(
      [](Program& k) {
        Var<Int32> x = 0;
        for (auto i : range(*k.n)) {
          (void)i;
          sync();  // <- error
          if (auto _ = single_thread()) x = 1;
          if (auto _ = when(x == 1)) break_loop();
        }
      },
      "sync() stands under a condition");
}

TEST(Uniformity, WholeWarpsMayDifferButNotTheirThreads) {
  EXPECT_NO_THROW(trace_body([](Program&) {
    Var<Int32> x = 0;
    if (auto _ = single_warp()) x = 1;
    if (auto _ = when(x == 1)) {
      if (auto _ = single_warp(1)) sync();
    }
  }));
  expect_mistake(
      [](Program&) {
        auto a = register_tensor<float16>({16, 16}, 0.0f);
        auto acc = register_tensor<float>({16, 16}, 0.0f);
        Var<Int32> x = 0;
        if (auto _ = single_thread()) x = 1;
        if (auto _ = when(x == 1)) {
          dot(a, a, acc);  // <- error
        }
      },
      "dot() stands under a condition that may differ between the threads of its warp");
  expect_mistake(
      [](Program&) {
        Var<Int32> x = 0;
        if (auto _ = single_thread(3)) x = 1;
        if (auto _ = when(x == 1)) {
          if (auto _ = single_thread()) x = 2;  // <- error
        }
      },
      "elects one of a warp");
}

TEST(Uniformity, UniformConditionsAreFine) {
  EXPECT_NO_THROW(trace_body([](Program& k) {
    Var<Int32> x = 0;
    for (auto i : range(*k.n)) {
      x = x + i;
      if (auto _ = when(x > 3 && blockIdx.x < *k.n)) sync();
      if (auto _ = warp_group(0, 2)) {
        Var<Int32> own = x;
        own += 1;
        if (auto _ = when(own > 2)) sync();
      }
    }
  }));
}

}  // namespace
}  // namespace tessera::test
