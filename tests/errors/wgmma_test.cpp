// wgmma: types, shapes, groups and counts.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

// One product of these shapes in the warpgroup 0.
template <class A, class B, class C>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const WgmmaOptions& options, SourceLoc loc) {
  auto a = shared_tensor<A>({m, k});
  auto b = shared_tensor<B>({n, k});
  auto acc = register_tensor<C>({m, n});
  wgmma.mma(a, b.transpose(), acc, options, loc);
}
template <class A, class B, class C>
void product(std::int64_t m, std::int64_t n, std::int64_t k, SourceLoc loc = SourceLoc::here()) {
  product<A, B, C>(m, n, k, WgmmaOptions{}, loc);
}

TEST(Wgmma, WhatIsRecorded) {
  const std::string text = text_of([](Program& k) {
    auto a = shared_tensor<float16>({2, 64, 32});
    auto b = shared_tensor<float16>({32, 512});
    auto acc = register_tensor<float>({64, 512});
    Bool later = *k.n > 3;
    wgmma.fence();
    wgmma.mma(a[0], b, acc, {.accumulate = false});
    wgmma.mma(a[1], b, acc, {.accumulate = later, .negate_a = true});
    wgmma.mma(load_shared(a[1]), b, acc, {.negate_b = true});
    wgmma.commit_group();
    wgmma.wait_group(7);
  });
  EXPECT_THAT(text, HasSubstr("wgmma.fence()\n"
                              "wgmma.mma(a[0, :, :], b, acc, accumulate false)\n"
                              "wgmma.mma(a[1, :, :], b, acc, accumulate n_arg > 3, negate a)\n"));
  EXPECT_THAT(text, HasSubstr("wgmma.mma(t1, b, acc, negate b)\nwgmma.commit_group()\nwgmma.wait_group(7)\n"));
}

TEST(Wgmma, EveryTypeOfTheTensorCoresIsTaken) {
  EXPECT_NO_THROW(trace_body([](Program&) {
    product<float16, float16, float>(64, 8, 16);
    product<float16, float16, float16>(64, 264, 16);
    product<bfloat16, bfloat16, float>(128, 40, 32);
    product<float, float, float>(64, 8, 8);
    product<float8_e4m3, float8_e4m3, float>(64, 8, 32);
    product<float8_e4m3, float8_e5m2, float16>(64, 8, 32);
    product<float8_e5m2, float8_e4m3, float>(64, 256, 64);
    product<std::int8_t, std::uint8_t, std::int32_t>(64, 24, 32);
    product<std::uint8_t, std::int8_t, std::int32_t>(64, 8, 32);
    product<std::int8_t, std::int8_t, std::int32_t>(64, 48, 32);
  }));
}

TEST(WgmmaErrors, Types) {
  const std::string text = mistake([](Program&) {
    product<float16, bfloat16, float>(64, 8, 16);  // <- error
  });
  EXPECT_THAT(text, HasSubstr("wgmma.mma() of a float16 and a bfloat16 tile into a float32 accumulator"));
  EXPECT_THAT(text, HasSubstr("float8_e4m3 and float8_e5m2 in any mix"));
  expect_mistake(
      [](Program&) {
        product<bfloat16, bfloat16, bfloat16>(64, 8, 16);  // <- error
      },
      "into a bfloat16 accumulator");
  expect_mistake(
      [](Program&) {
        product<float, float, float16>(64, 8, 8);  // <- error
      },
      "of a float32 and a float32 tile into a float16 accumulator");
  expect_mistake(
      [](Program&) {
        product<std::int8_t, std::int8_t, float>(64, 8, 32);  // <- error
      },
      "of a int8 and a int8 tile into a float32 accumulator");
  expect_mistake(
      [](Program&) {
        product<std::int16_t, std::int16_t, std::int32_t>(64, 8, 16);  // <- error
      },
      "of a int16 and a int16 tile");
  expect_mistake(
      [](Program&) {
        product<float8_e4m3, std::uint8_t, float>(64, 8, 32);  // <- error
      },
      "of a float8_e4m3 and a uint8 tile");
}

TEST(WgmmaErrors, ShapesThatDoNotFit) {
  const std::string text = mistake([](Program&) {
    auto a = shared_tensor<float16>({64, 32});
    auto b = shared_tensor<float16>({128, 32});
    auto acc = register_tensor<float>({64, 128});
    wgmma.mma(a, b, acc);  // <- error
  });
  EXPECT_THAT(text, HasSubstr("wgmma.mma() of shapes {64, 32} and {128, 32} into {64, 128}"));
  EXPECT_THAT(text, HasSubstr("pass b.transpose()"));
  expect_mistake(
      [](Program&) {
        auto a = shared_tensor<float16>({4, 64, 32});
        auto b = shared_tensor<float16>({32, 128});
        auto acc = register_tensor<float>({64, 128});
        wgmma.mma(a, b, acc);  // <- error
      },
      "[] takes one stage of a ring");
}

TEST(WgmmaErrors, ExtentsOffTheGrid) {
  expect_mistake(
      [](Program&) {
        product<float16, float16, float>(32, 8, 16);  // <- error
      },
      "wgmma.mma() of float16 with m = 32, n = 8, k = 16");
  expect_mistake(
      [](Program&) {
        product<float16, float16, float>(64, 12, 16);  // <- error
      },
      "n a multiple of 8");
  expect_mistake(
      [](Program&) {
        product<float8_e4m3, float8_e4m3, float>(64, 8, 16);  // <- error
      },
      "k of 32 (32 bytes)");
  for (const int n : {40, 56, 4}) {
    expect_mistake(
        [&](Program&) {
          product<std::int8_t, std::int8_t, std::int32_t>(64, n, 32);  // <- error
        },
        "n 8, 24 or a multiple of 16");
  }
}

TEST(WgmmaErrors, Group) {
  for (const auto& [begin, count] : {std::pair{0, 8}, {2, 4}, {4, 2}}) {
    const int first = begin, warps = count;
    expect_mistake_bare(
        [&](Program& k) {
          k.attrs.blocks = {*k.n};
          k.attrs.warps = 8;
          if (auto _ = warp_group(first, warps)) {
            wgmma.fence();  // <- error
          }
        },
        "exactly one warpgroup executes it");
  }
  expect_mistake(
      [](Program&) {
        if (auto _ = single_thread()) wgmma.commit_group();  // <- error
      },
      "wgmma.commit_group() is executed by one elected thread of warp 0");
  expect_mistake(
      [](Program&) {
        if (auto _ = single_warp()) wgmma.wait_group(0);  // <- error
      },
      "wgmma.wait_group() is executed by threads 0..31");
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(0, 64)) {
          product<float16, float16, float>(64, 8, 16);  // <- error
        }
      },
      "wgmma.mma() is executed by threads 0..63");
}

TEST(WgmmaErrors, Accumulator) {
  expect_mistake(
      [](Program&) {
        auto a = shared_tensor<float16>({64, 16});
        auto acc = load_shared(shared_tensor<float>({64, 8}));
        wgmma.mma(a, shared_tensor<float16>({16, 8}), acc);  // <- error
      },
      "the accumulator of wgmma.mma() is the result of an instruction");
  expect_mistake(
      [](Program&) {
        auto a = register_tensor<float16>({64, 64}, 0.0f);
        wgmma.mma(a, shared_tensor<float16>({64, 64}), a);  // <- error
      },
      "the accumulator of wgmma.mma() is one of its operands");
}

TEST(WgmmaErrors, NegatedIntegers) {
  for (const bool first : {true, false}) {
    expect_mistake(
        [&](Program&) {
          product<std::int8_t, std::uint8_t, std::int32_t>(64, 8, 32, {.negate_a = first, .negate_b = !first},
                                                           SourceLoc::here());  // <- error
        },
        "wgmma.mma() of int8 with a negated operand");
  }
}

TEST(WgmmaErrors, PendingGroups) {
  for (const int n : {-1, 8}) {
    expect_mistake(
        [&](Program&) {
          wgmma.wait_group(n);  // <- error
        },
        "0 to 7 groups may stay under way");
  }
}

TEST(WgmmaErrors, DivergentCode) {
  expect_mistake(
      [](Program&) {
        Var<Int32> turn = 0;
        if (auto _ = single_thread(0)) turn = 1;
        if (auto _ = when(turn == 1)) {
          wgmma.fence();  // <- error
        }
      },
      "wgmma.fence() stands under a condition that may differ between the threads of its group");
}

TEST(WgmmaErrors, ChangedInALoop) {
  expect_mistake(
      [](Program& k) {
        auto a = shared_tensor<float16>({64, 16});
        auto b = shared_tensor<float16>({16, 8});
        auto acc = register_tensor<float>({64, 8});
        bool first = true;
        for (auto i : range(*k.n)) {
          (void)i;
          wgmma.mma(a, b, acc, {.accumulate = !first});  // <- error
          first = false;
        }
      },
      "a C++ variable changes inside the loop");
}

}  // namespace
}  // namespace tessera::test
