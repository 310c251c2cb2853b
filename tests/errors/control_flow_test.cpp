// Loops, branches and thread groups.
#include <memory>
#include <optional>
#include <stdexcept>

#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(ControlFlow, EveryForm) {
  const std::string text = text_of([](Program& k) {
    Int32 n = *k.n;
    Var<Int32> i = 0;
    for (auto j : range(n)) i += j;
    for (auto j : range(2, n, {.unroll = 4})) i += j;
    for (auto j : range(0, 64, 16, {.unroll = unroll_all})) i += j;
    for (auto j : range(blockIdx.x, n, gridDim.x)) i += j;
    for (auto _ : loop_while([&] { return i < n; })) {
      if (auto _ = when(i == 3)) break_loop();
      if (auto _ = when(i == 2)) {
        continue_loop();
      }
      if (auto _ = otherwise()) {
        i += 1;
      }
    }
    if (auto _ = warp_group(1, 2)) {
      if (auto _ = single_warp(1)) {
        if (auto _ = single_thread(5)) i = 1;
      }
      if (auto _ = thread_group(3, 4)) i = 2;
      if (auto _ = single_thread()) i = 3;
    }
  });
  EXPECT_EQ(text, R"(kernel Program(n_arg: i32, a_arg: f16*, b_arg: f16*, c_arg: f32*)
blocks [int64((n_arg / 64) + int32((n_arg % 64) != 0)), 1, 1], warps 4
var i: i32 = 0
for j in range(0, n_arg, 1) {
  i = i + j
}
for j in range(2, n_arg, 1, unroll 4) {
  i = i + j
}
for j in range(0, 64, 16, unroll all) {
  i = i + j
}
for j in range(blockIdx.x, n_arg, gridDim.x) {
  i = i + j
}
loop {
  let i_4: i32 = i
  if !(i_4 < n_arg) {
    break
  }
  let i_5: i32 = i
  if i_5 == 3 {
    break
  }
  let i_6: i32 = i
  if i_6 == 2 {
    continue
  } else {
    i = i + 1
  }
}
threads 32..95 {
  threads 64..95 {
    thread 69 {
      i = 1
    }
  }
  threads 35..38 {
    i = 2
  }
  one thread elected in warp 1 {
    i = 3
  }
}
)");
}

TEST(ControlFlow, InductionFacts) {
  const auto kernel = trace_body([](Program& k) {
    for (auto i : range(64, 1024, 32)) {
      Int32 j = i;
      const ir::Expr* e = j.ref().expr;
      EXPECT_EQ(e->low, 64);
      EXPECT_EQ(e->high, 1023);
      EXPECT_EQ(e->divisor, 32);
    }
    for (auto i : range(*k.n)) EXPECT_EQ(Int32(i).ref().expr->low, 0);
  });
}

TEST(ControlFlow, SingleThreadOfAPartOfAWarpIsItsFirst) {
  const std::string text = text_of([](Program&) {
    if (auto _ = thread_group(8, 16)) {
      if (auto _ = single_thread()) tessera::sync();
    }
  });
  EXPECT_THAT(text, HasSubstr("thread 8 {"));
}

TEST(ControlFlowErrors, OtherwiseWithoutWhen) {
  expect_mistake(
      [](Program&) {
        if (auto _ = otherwise()) sync();  // <- error
      },
      "otherwise() without a when()");
}

TEST(ControlFlowErrors, OtherwiseTwice) {
  expect_mistake(
      [](Program& k) {
        if (auto _ = when(*k.n > 3)) sync();
        if (auto _ = otherwise()) sync();
        if (auto _ = otherwise()) sync();  // <- error
      },
      "otherwise() without a when()");
}

TEST(ControlFlowErrors, StatementBetweenWhenAndOtherwise) {
  expect_mistake(
      [](Program& k) {
        if (auto _ = when(*k.n > 3)) sync();
        sync();
        if (auto _ = otherwise()) sync();  // <- error
      },
      "directly before it");
}

TEST(ControlFlowErrors, RangeStep) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(0, *k.n, 0)) (void)i;  // <- error
      },
      "range() has the step 0");
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n, 0, -1)) (void)i;  // <- error
      },
      "range() has the step -1");
  expect_mistake(
      [](Program& k) {
        for (auto i : range(0, 10, *k.n)) (void)i;  // <- error
      },
      "not known to be positive");
}

TEST(ControlFlowErrors, RangeUnroll) {
  expect_mistake(
      [](Program&) {
        for (auto i : range(0, 10, {.unroll = -2})) (void)i;  // <- error
      },
      ".unroll = -2");
}

TEST(ControlFlowErrors, BreakOutsideALoop) {
  expect_mistake(
      [](Program&) {
        break_loop();  // <- error
      },
      "break_loop() outside a loop");
  expect_mistake(
      [](Program&) {
        continue_loop();  // <- error
      },
      "continue_loop() outside a loop");
}

TEST(ControlFlowErrors, BreakOfAnotherGroupsLoop) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {
          (void)i;
          if (auto _ = single_thread()) break_loop();  // <- error
        }
      },
      "but the loop by threads 0..127");
}

TEST(ControlFlowErrors, CppBreak) {
  expect_mistake(
      [](Program& k) {
        const bool stop = k.size > 0;
        for (auto i : range(*k.n)) {  // <- error
          (void)i;
          sync();
          if (stop) break;
        }
      },
      "C++ break, return or goto leaves this loop");
}

TEST(ControlFlowErrors, CppBreakOutOfABranch) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {  // <- error
          if (auto _ = when(i == 3)) break;
        }
      },
      "write break_loop()");
}

TEST(ControlFlowErrors, CppReturnOutOfALoop) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {  // <- error
          (void)i;
          return;
        }
      },
      "C++ break, return or goto");
}

TEST(ControlFlowErrors, CppBreakOutOfLoopWhile) {
  expect_mistake(
      [](Program& k) {
        Var<Int32> i = 0;
        for (auto _ : loop_while([&] { return i < *k.n; })) {  // <- error
          break;
        }
      },
      "C++ break, return or goto");
}

TEST(ControlFlowErrors, ExceptionOutOfALoop) {
  const std::string text = mistake([](Program& k) {
    for (auto i : range(*k.n)) {  // <- error
      (void)i;
      throw std::runtime_error("no such tile");
    }
  });
  EXPECT_THAT(text, HasSubstr("a C++ exception left the script while it was traced: no such tile"));
}

TEST(ControlFlowErrors, CaughtExceptionOutOfALoop) {
  expect_mistake(
      [](Program& k) {
        try {
          for (auto i : range(*k.n)) {  // <- error
            (void)i;
            throw std::runtime_error("no such tile");
          }
        } catch (const std::runtime_error&) {
          sync();
        }
      },
      "a C++ exception leaves this loop");
}

TEST(GroupErrors, OutsideTheParent) {
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(96, 64)) sync();  // <- error
      },
      "covers threads 96 to 159 of the current group, which has 128");
  expect_mistake(
      [](Program&) {
        if (auto _ = warp_group(2, 2)) {
          if (auto _ = single_warp(2)) sync();  // <- error
        }
      },
      "of the current group, which has 64");
  expect_mistake(
      [](Program&) {
        if (auto _ = single_thread(128)) sync();  // <- error
      },
      "single_thread(128) covers");
}

TEST(GroupErrors, NegativeNumbers) {
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(0, -32)) sync();  // <- error
      },
      "has -32 threads");
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(-1, 32)) sync();  // <- error
      },
      "begins at thread -1");
  expect_mistake(
      [](Program&) {
        if (auto _ = warp_group(0, 0)) sync();  // <- error
      },
      "has 0 threads");
  expect_mistake(
      [](Program&) {
        if (auto _ = single_thread(-2)) sync();  // <- error
      },
      "single_thread(-2)");
}

TEST(GroupErrors, SyncOfPartOfAWarpAndMore) {
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(16, 32)) {
          sync();  // <- error
        }
      },
      "part of a warp and more");
  EXPECT_NO_THROW(trace_body([](Program&) {
    if (auto _ = thread_group(4, 8)) sync();
  }));
}

TEST(GroupErrors, TileOfAnotherGroup) {
  expect_mistake(
      [](Program&) {
        auto t = register_tensor<float>({64, 64}, 0.0f);
        if (auto _ = warp_group(0, 2)) {
          t += 1.0f;  // <- error
        }
      },
      "'t' lives in the registers of threads 0..127, but this is executed by threads 0..63");
}

TEST(ScopeErrors, ValueAfterItsScope) {
  expect_mistake(
      [](Program& k) {
        std::optional<Int32> last;
        for (auto i : range(*k.n)) last.emplace(i);
        k.print("{}\n", *last);  // <- error
      },
      "used after its scope has ended");
}

TEST(ScopeErrors, TileAfterItsScope) {
  const std::string text = mistake([](Program& k) {
    std::optional<RegisterTensor> last;
    if (auto _ = when(*k.n > 3)) last.emplace(register_tensor<float>({16, 16}, 0.0f));
    auto t = *last + 1.0f;  // <- error
  });
  EXPECT_THAT(text, HasSubstr("the tile is used after its scope has ended"));
  EXPECT_THAT(text, HasSubstr("inside this when()"));
}

TEST(ScopeErrors, VariableAfterItsScope) {
  expect_mistake(
      [](Program&) {
        std::unique_ptr<Var<Int32>> x;
        if (auto _ = single_warp()) x = std::make_unique<Var<Int32>>(3);
        *x = 4;  // <- error
      },
      "the variable is used after its scope has ended");
}

TEST(ScopeErrors, IndexAfterItsFunction) {
  expect_mistake(
      [](Program&) {
        std::optional<Int32> kept;
        register_tensor<float>({4}, [&](Int32 i) {
          kept.emplace(i);
          return cast<float>(i);
        });
        Int32 x = *kept + 1;  // <- error
      },
      "used after its scope has ended");
}

}  // namespace
}  // namespace tessera::test
