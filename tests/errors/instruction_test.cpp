// dot, TMA and mbarrier: shapes, types, groups and counts.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(DotErrors, ShapesThatDoNotFit) {
  const std::string text = mistake([](Program&) {
    auto a = load_shared(shared_tensor<float16>({64, 32}));
    auto b = load_shared(shared_tensor<float16>({128, 32}));
    auto acc = register_tensor<float>({64, 128}, 0.0f);
    dot(a, b, acc);  // <- error
  });
  EXPECT_THAT(text, HasSubstr("dot() of shapes {64, 32} and {128, 32} into {64, 128}"));
  EXPECT_THAT(text, HasSubstr("pass b.transpose()"));
}

TEST(DotErrors, ExtentsOffTheGrid) {
  expect_mistake(
      [](Program&) {
        auto a = load_shared(shared_tensor<float16>({24, 32}));
        auto b = load_shared(shared_tensor<float16>({32, 8}));
        auto acc = register_tensor<float>({24, 8}, 0.0f);
        dot(a, b, acc);  // <- error
      },
      "m and k must be multiples of 16 and n of 8");
}

TEST(DotErrors, Types) {
  expect_mistake(
      [](Program&) {
        auto a = load_shared(shared_tensor<float>({16, 16}));
        auto b = load_shared(shared_tensor<float>({16, 8}));
        auto acc = register_tensor<float>({16, 8}, 0.0f);
        dot(a, b, acc);  // <- error
      },
      "dot() of a float32 and a float32 tile into a float32 accumulator");
  expect_mistake(
      [](Program&) {
        auto a = load_shared(shared_tensor<bfloat16>({16, 16}));
        auto b = load_shared(shared_tensor<bfloat16>({16, 8}));
        auto acc = register_tensor<bfloat16>({16, 8}, 0.0f);
        dot(a, b, acc);  // <- error
      },
      "into a bfloat16 accumulator");
  expect_mistake(
      [](Program&) {
        auto a = load_shared(shared_tensor<float16>({16, 16}));
        auto b = load_shared(shared_tensor<bfloat16>({16, 8}));
        auto acc = register_tensor<float>({16, 8}, 0.0f);
        dot(a, b, acc);  // <- error
      },
      "dot() of a float16 and a bfloat16 tile");
}

TEST(DotErrors, EveryTypeOfTheTensorCoresIsTaken) {
  EXPECT_NO_THROW(trace_body([](Program&) {
    auto h = load_shared(shared_tensor<float16>({16, 16}));
    auto b = load_shared(shared_tensor<bfloat16>({16, 16}));
    auto f = register_tensor<float>({16, 16}, 0.0f);
    auto g = register_tensor<float16>({16, 16}, 0.0f);
    dot(h, h, f);
    dot(h, h, g);
    dot(b, b, f);
  }));
}

TEST(DotErrors, GroupOfPartOfAWarp) {
  for (const int count : {16, 48, 1}) {
    expect_mistake(
        [&](Program&) {
          if (auto _ = thread_group(0, count)) {
            auto a = register_tensor<float16>({16, 16}, 0.0f);
            auto acc = register_tensor<float>({16, 16}, 0.0f);
            dot(a, a, acc);  // <- error
          }
        },
        "work for whole warps");
  }
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(16, 32)) {
          auto a = register_tensor<float16>({16, 16}, 0.0f);
          auto acc = register_tensor<float>({16, 16}, 0.0f);
          dot(a, a, acc);  // <- error
        }
      },
      "dot() is executed by threads 16..47");
}

TEST(DotErrors, Accumulator) {
  expect_mistake(
      [](Program&) {
        auto a = load_shared(shared_tensor<float16>({16, 16}));
        auto acc = load_shared(shared_tensor<float>({16, 16}));
        dot(a, a, acc);  // <- error
      },
      "the accumulator of dot() is the result of an instruction");
  expect_mistake(
      [](Program&) {
        auto a = register_tensor<float16>({16, 16}, 0.0f);
        dot(a, a, a);  // <- error
      },
      "the accumulator of dot() is one of its operands");
}

// A view, a shared tile of the same type and rank, and a barrier.
struct Copy {
  GlobalView view;
  SharedTensor tile;
  Barrier barrier;
};
Copy copy_of(Program& k) {
  return {global_view(*k.a, {*k.n, 64}), shared_tensor<float16>({64, 64}), mbarrier.alloc(1)};
}

TEST(TmaErrors, Group) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        tma.global_to_shared({.src = c.view, .dst = c.tile, .offsets = {0, 0}, .mbarrier = c.barrier});  // <- error
      },
      "tma.global_to_shared() is executed by threads 0..127");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = thread_group(16, 32)) {
          tma.global_to_shared({.src = c.view, .dst = c.tile, .offsets = {0, 0}, .mbarrier = c.barrier});  // <- error
        }
      },
      "one thread or exactly one warp");
  EXPECT_NO_THROW(trace_body([](Program& k) {
    const Copy c = copy_of(k);
    if (auto _ = single_warp(2)) {
      tma.global_to_shared({.src = c.view, .dst = c.tile, .offsets = {0, 0}, .mbarrier = c.barrier});
    }
  }));
}

TEST(TmaErrors, Rank) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread()) {
          tma.global_to_shared({.src = c.view, .dst = c.tile, .offsets = {0}, .mbarrier = c.barrier});  // <- error
        }
      },
      "with 1 offsets");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        auto tile = shared_tensor<float16>({1, 64, 64});
        if (auto _ = single_thread()) {
          tma.global_to_shared({.src = c.view, .dst = tile, .offsets = {0, 0}, .mbarrier = c.barrier});  // <- error
        }
      },
      "a view with 2 dimensions to a tile of shape {1, 64, 64}");
}

TEST(TmaErrors, Types) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        auto tile = shared_tensor<float>({64, 64});
        if (auto _ = single_thread()) {
          tma.global_to_shared({.src = c.view, .dst = tile, .offsets = {0, 0}, .mbarrier = c.barrier});  // <- error
        }
      },
      "from a view of float16 to a shared tile of float32");
}

TEST(TmaErrors, WideOffsets) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        Int64 far = cast<Int64>(*k.n) * 64;
        if (auto _ = single_thread()) {
          tma.global_to_shared({.src = c.view, .dst = c.tile, .offsets = {far, 0}, .mbarrier = c.barrier});  // <- error
        }
      },
      "coordinates are 32-bit");
}

TEST(BarrierErrors, Counts) {
  expect_mistake(
      [](Program&) {
        mbarrier.alloc(0);  // <- error
      },
      "mbarrier.alloc() with the count 0");
  expect_mistake(
      [](Program&) {
        mbarrier.alloc(1 << 20);  // <- error
      },
      "a barrier expects 1 to 1048575 arrivals");
  expect_mistake(
      [](Program&) {
        mbarrier.alloc({1, -1});  // <- error
      },
      "the count -1");
  expect_mistake(
      [](Program&) {
        mbarrier.alloc(std::vector<int>{});  // <- error
      },
      "of no barriers");
  EXPECT_NO_THROW(trace_body([](Program&) { mbarrier.alloc({1, (1 << 20) - 1}); }));
}

TEST(BarrierErrors, AllocInALoop) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {
          (void)i;
          mbarrier.alloc(1);  // <- error
        }
      },
      "mbarrier.alloc() inside a range() loop");
}

TEST(BarrierErrors, ExpectedBytes) {
  for (const int bytes : {0, -16, 1 << 20}) {
    expect_mistake(
        [&](Program&) {
          auto b = mbarrier.alloc(1);
          mbarrier.arrive_and_expect_tx(b, bytes);  // <- error
        },
        "arrive_and_expect_tx() with " + std::to_string(bytes) + " bytes");
  }
  EXPECT_NO_THROW(trace_body([](Program&) { mbarrier.arrive_and_expect_tx(mbarrier.alloc(1), (1 << 20) - 1); }));
}

TEST(BarrierErrors, ArriveCount) {
  for (const int count : {0, 1 << 20}) {
    expect_mistake(
        [&](Program&) {
          auto b = mbarrier.alloc(1);
          mbarrier.arrive(b, count);  // <- error
        },
        "mbarrier.arrive() with the count " + std::to_string(count));
  }
}

TEST(BarrierErrors, Index) {
  expect_mistake(
      [](Program&) {
        auto full = mbarrier.alloc({1, 1, 1});
        mbarrier.arrive(full[3]);  // <- error
      },
      "mbarrier 3 of 'full', which has 3");
}

TEST(BarrierErrors, Phase) {
  expect_mistake(
      [](Program&) {
        auto b = mbarrier.alloc(1);
        mbarrier.wait(b, 2);  // <- error
      },
      "mbarrier.wait() for the phase 2");
}

TEST(Barriers, ArraysTakeTracedIndices) {
  const std::string text = text_of([](Program&) {
    auto full = mbarrier.alloc({1, 2});
    Var<Int32> stage = 0;
    mbarrier.arrive(full[stage % 2], 3);
    mbarrier.wait(full[1], (stage / 2) & 1);
    EXPECT_EQ(full.size(), 2);
  });
  EXPECT_THAT(text, HasSubstr("full = mbarrier.alloc([1, 2])"));
  EXPECT_THAT(text, HasSubstr("mbarrier.arrive(full[stage_0 % 2], 3)"));
  EXPECT_THAT(text, HasSubstr("mbarrier.wait(full[1], "));
}

}  // namespace
}  // namespace tessera::test
