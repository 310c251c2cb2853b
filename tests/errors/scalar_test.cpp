// Arithmetic on traced scalars: what is recorded, and what is refused.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Scalars, Promotion) {
  trace_body([](Program& k) {
    Int32 n = *k.n;
    Int64 wide = cast<Int64>(n);
    UInt32 u = cast<UInt32>(n);
    UInt8 byte = cast<UInt8>(n);
    static_assert(std::is_same_v<decltype(n + 1), Int32>);
    static_assert(std::is_same_v<decltype(n * wide), Int64>);
    static_assert(std::is_same_v<decltype(u + wide), Int64>);
    static_assert(std::is_same_v<decltype(byte + n), Int32>);
    static_assert(std::is_same_v<decltype(n < wide), Bool>);
    static_assert(std::is_same_v<decltype(min(n, 3)), Int32>);
    static_assert(std::is_same_v<decltype(64 * blockIdx.x), Int32>);
    static_assert(std::is_same_v<decltype(select(n < 3, 1.0f, 0.0f)), Float32>);
    static_assert(!std::is_assignable_v<Int32&, Int32>);
    static_assert(cdiv(100, 64) == 2);
  });
}

TEST(Scalars, CdivDoesNotWrap) {
  const auto kernel = trace_bare([](Program& k) {
    k.attrs.blocks = {cdiv(*k.n, 128)};
    k.attrs.warps = 1;
  });
  const auto blocks = [&](std::int64_t n) {
    return ir::evaluate_on_host(kernel->grid[0], std::vector<std::int64_t>{n});
  };
  for (const std::int64_t n : {0LL, 1LL, 127LL, 128LL, 129LL, 2147483647LL, 2147483520LL, 2147483521LL}) {
    EXPECT_EQ(blocks(n), (n + 127) / 128) << n;
  }
}

TEST(Scalars, VariablesAreCapturedWhereTheyAreRead) {
  const std::string text = text_of([](Program& k) {
    Var<Int32> x = 1;
    Int32 before = x;
    x = 2;
    Var<Int32> y = before + x;
    y += *k.n;
    y <<= 1;
  });
  EXPECT_THAT(text, HasSubstr("var x: i32 = 1"));
  EXPECT_THAT(text, HasSubstr("let x_0: i32 = x\nx = 2\nlet x_1: i32 = x\nvar y: i32 = x_0 + x_1"));
  EXPECT_THAT(text, HasSubstr("y = y << 1"));
}

TEST(Scalars, CopyingAVariableMakesAnother) {
  const std::string text = text_of([](Program&) {
    Var<UInt32> x = 1u;
    Var<UInt32> y = x;
    y = x;
    y += x;
  });
  EXPECT_THAT(text, HasSubstr("var y: u32 = x_0"));
  EXPECT_THAT(text, HasSubstr("y = x_1"));
  EXPECT_THAT(text, HasSubstr("y = y + x_2"));
}

TEST(Scalars, HelperClassesHoldState) {
  struct Ring : KernelCode {
    int stages;
    Var<Int32> stage = 0;
    Var<UInt32> phase = 0u;
    explicit Ring(int s) : stages(s) {}
    void advance() {
      stage = (stage + 1) % stages;
      phase ^= select(stage == 0, 1u, 0u);
      sync();
      printf("stage {}\n", stage);
    }
  };
  const std::string text = text_of([](Program& k) {
    Ring ring(4);
    for (auto i : range(*k.n)) {
      (void)i;
      ring.advance();
    }
  });
  EXPECT_THAT(text, HasSubstr(" + 1) % 4"));
  EXPECT_THAT(text, HasSubstr("sync()"));
}

TEST(Scalars, LargeExpressionsAreComputedOnce) {
  const std::string text = text_of([](Program& k) {
    Int32 x = *k.n + blockIdx.x;
    std::vector<Int32> chain{x};
    for (int i = 0; i < 40; ++i) chain.push_back(chain.back() * chain.back() + 1);
    k.print("{}\n", chain.back());
  });
  EXPECT_LT(text.size(), 4000U);
  EXPECT_THAT(text, HasSubstr("let "));
}

TEST(Scalars, LogicEvaluatesBothSides) {
  const std::string text = text_of([](Program& k) {
    Int32 n = *k.n;
    if (auto _ = when((n > 3 && n < 9) || !(n == 4))) tessera::sync();
  });
  EXPECT_THAT(text, HasSubstr("||"));
}

TEST(ScalarErrors, NumberOutOfRange) {
  expect_mistake(
      [](Program& k) {
        Int32 x = *k.n + 5000000000;  // <- error
      },
      "5000000000 does not fit into int32");
  expect_mistake(
      [](Program&) {
        UInt32 x = -1;  // <- error
      },
      "-1 does not fit into uint32");
}

TEST(ScalarErrors, DivisionByZero) {
  expect_mistake(
      [](Program& k) {
        Int32 x = *k.n / 0;  // <- error
      },
      "divided by the constant 0");
  expect_mistake(
      [](Program& k) {
        Int32 x = *k.n % 0;  // <- error
      },
      "constant 0");
  expect_mistake(
      [](Program& k) {
        Int32 x = cdiv(*k.n, 0);  // <- error
      },
      "constant 0");
  expect_mistake(
      [](Program& k) {
        Var<Int32> x = *k.n;
        x /= 0;  // <- error
      },
      "constant 0");
}

TEST(ScalarErrors, ShiftTooFar) {
  expect_mistake(
      [](Program& k) {
        Int32 x = *k.n << 32;  // <- error
      },
      "a shift by 32");
}

TEST(ScalarErrors, HalfOverflow) {
  expect_mistake(
      [](Program&) {
        Float16 x = 1e6f;  // <- error
      },
      "does not fit into float16");
}

TEST(ScalarErrors, OneMistakeIsNotRepeatedByWhatFollows) {
  try {
    trace_body([](Program& k) {
      Int32 x = *k.n / 0;
      Int32 y = x + 1;
      Var<Int32> z = y * 2;
      z += x;
      if (auto _ = when(z > 3)) sync();
    });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostics().size(), 1U) << e.what();
    EXPECT_THAT(std::string(e.what()), Not(HasSubstr("internal")));
  }
}

TEST(ScalarErrors, PrintfPlaces) {
  expect_mistake(
      [](Program& k) {
        k.print("a={} b={}\n", *k.n);  // <- error
      },
      "2 places {} and 1 values");
}

}  // namespace
}  // namespace tessera::test
