// The order of products, stores by the engine and ordinary accesses, from the program text.
#include "errors/hazards.hpp"

namespace tessera::test {
namespace {

// Operands and an accumulator for the warpgroup of the block.
struct Product {
  SharedTensor a, b;
  RegisterTensor acc;
  void multiply(SourceLoc loc = SourceLoc::here()) const { wgmma.mma(a, b.transpose(), acc, {}, loc); }
};
Product make_product() {
  auto a = shared_tensor<float16>({64, 64});
  auto b = shared_tensor<float16>({64, 64});
  auto acc = register_tensor<float>({64, 64}, 0.0f);
  return {a, b, acc};
}
void store(Program& k, const RegisterTensor& acc, SourceLoc loc = SourceLoc::here()) {
  store_global(global_view(*k.c, {*k.n, 64}), acc, {0, 0}, loc);
}

TEST(ProductsInTheText, ReadWithoutAWait) {
  expect_hazard(
      [](Program& k) {
        const Product p = make_product();
        wgmma.fence();
        p.multiply();
        wgmma.commit_group();
        store(k, p.acc);  // <- error
      },
      Verdict::refused, Hazard::wgmma, "acc", "'acc' is read while the wgmma.mma() of line", "wgmma.wait_group(0)");
  expect_silence([](Program& k) {
    const Product p = make_product();
    wgmma.fence();
    p.multiply();
    wgmma.commit_group();
    wgmma.wait_group(0);
    store(k, p.acc);
  });
}

TEST(ProductsInTheText, AWaitThatLeavesTheGroupUnderWay) {
  const auto program = [](int last) {
    return trace_body([=](Program& k) {
      const Product p = make_product();
      for (auto _ : range(*k.n)) {
        wgmma.fence();
        p.multiply();
        wgmma.commit_group();
        wgmma.wait_group(1);
      }
      wgmma.wait_group(last);
      store(k, p.acc);  // <- error
    });
  };
  expect_silence(program(0));
  expect_hazard(program(1), Verdict::refused, Hazard::wgmma, "acc", "'acc' is read while", "wgmma.wait_group(0)");
}

TEST(ProductsInTheText, AWaitBeforeTheCommitCoversNothing) {
  const Program::Body body = [](Program& k) {
    const Product p = make_product();
    wgmma.fence();
    p.multiply();  // <- error
    wgmma.wait_group(0);
    store(k, p.acc);
  };
  const auto found = findings_of(body);
  ASSERT_EQ(found.size(), 2U) << text_of(found);
  EXPECT_THAT(found[0].diagnostic.message, testing::HasSubstr("is never committed"));
  EXPECT_THAT(found[1].diagnostic.help, testing::HasSubstr("commit the product"));
  expect_error([&] { passes::refuse_certain_hazards(*trace_body(body)); }, "is never committed");
}

TEST(ProductsInTheText, WaitedForOnOnePathOnly) {
  expect_silence([](Program& k) {  // perhaps the condition is that of the product
    const Product p = make_product();
    Bool some = *k.n > 64;
    wgmma.fence();
    if (auto _ = when(some)) {
      p.multiply();
      wgmma.commit_group();
    }
    if (auto _ = when(some)) wgmma.wait_group(0);
    store(k, p.acc);
  });
  expect_hazard(
      [](Program& k) {
        const Product p = make_product();
        wgmma.fence();
        if (auto _ = when(*k.n > 64)) {
          p.multiply();
          wgmma.commit_group();
        }
        store(k, p.acc);  // <- error
      },
      Verdict::refused, Hazard::wgmma, "acc", "'acc' is read while", "wgmma.wait_group(0)");
  expect_silence([](Program& k) {  // never in one run
    const Product p = make_product();
    wgmma.fence();
    if (auto _ = when(*k.n > 64)) {
      p.multiply();
      wgmma.commit_group();
    }
    if (auto _ = when(*k.n <= 64)) store(k, p.acc);
    wgmma.wait_group(0);
  });
}

TEST(ProductsInTheText, AcrossIterations) {
  const auto program = [](int trips, bool wait) {
    return trace_body([=](Program& k) {
      const Product p = make_product();
      Int32 n = trips == 0 ? *k.n : Int32(trips);
      for (auto i : range(n)) {
        if (wait) wgmma.wait_group(0);
        auto scaled = p.acc * 2.0f;  // <- error
        wgmma.fence();
        p.multiply();
        wgmma.commit_group();
      }
    });
  };
  expect_silence(program(0, true));
  expect_silence(program(1, false));
  expect_hazard(program(0, false), Verdict::finding, Hazard::wgmma, "acc", "'acc' is read while", "wait_group(0)");
  expect_hazard(program(3, false), Verdict::refused, Hazard::wgmma, "acc", "'acc' is read while", "wait_group(0)");
}

TEST(ProductsInTheText, OperandInRegistersIsOverwritten) {
  expect_hazard(
      [](Program&) {
        const Product p = make_product();
        auto a = register_tensor<float16>({64, 64});
        a = load_shared(p.a);
        wgmma.fence();
        wgmma.mma(a, p.b.transpose(), p.acc);
        wgmma.commit_group();
        a = load_shared(p.a);  // <- error
        wgmma.wait_group(0);
      },
      Verdict::refused, Hazard::wgmma, "a", "'a' is written while the wgmma.mma()", "wgmma.wait_group(0)");
}

TEST(ProductsInTheText, WithoutAnyFence) {
  expect_hazard(
      [](Program& k) {
        const Product p = make_product();
        for (auto _ : range(*k.n)) {
          p.multiply();  // <- error
          wgmma.commit_group();
          wgmma.wait_group(0);
          wgmma.fence();
        }
      },
      Verdict::refused, Hazard::wgmma, "acc", "wgmma.mma() before any wgmma.fence()", "before the first product");
}

TEST(ProductsInTheText, ThroughTheFenceOfAnotherWarpgroup) {
  const auto program = [](bool both) {
    return trace_bare([=](Program& k) {
      k.attrs.blocks = {cdiv(*k.n, 64)};
      k.attrs.warps = 8;
      for (int group = 0; group < 2; ++group) {
        if (auto _ = warp_group(4 * group, 4)) {
          const Product p = make_product();
          if (both || group == 0) wgmma.fence();
          p.multiply();  // <- error
          wgmma.commit_group();
          wgmma.wait_group(0);
        }
      }
    });
  };
  expect_silence(program(true));
  expect_hazard(program(false), Verdict::refused, Hazard::wgmma, "acc", "before any wgmma.fence()", "first product");
}

TEST(ProductsInTheText, TouchedAfterTheFence) {
  const auto program = [](bool fence) {
    return trace_body([=](Program&) {
      Product p = make_product();
      wgmma.fence();
      p.multiply();
      wgmma.commit_group();
      wgmma.wait_group(0);
      p.acc = p.acc * 0.5f;
      if (fence) wgmma.fence();
      p.multiply();  // <- error
      wgmma.commit_group();
      wgmma.wait_group(0);
    });
  };
  expect_silence(program(true));
  expect_hazard(program(false), Verdict::refused, Hazard::wgmma, "acc", "'acc' is written without a wgmma.fence()",
                "execute wgmma.fence()");
}

struct Staging {
  GlobalView view;
  SharedTensor tile;
  void fill(int part, SourceLoc loc = SourceLoc::here()) const {
    store_shared(tile[part], load_global(view, {0, 0}, {64, 64}), loc);
  }
  void send(int part, SourceLoc loc = SourceLoc::here()) const {
    tma.shared_to_global({.src = tile[part], .dst = view, .offsets = {64, 0}}, loc);
  }
};

Staging make_staging(Program& k) {
  auto tile = shared_tensor<float16>({2, 64, 64});
  return {global_view(*k.a, {*k.n, 64}), tile};
}

TEST(StoresInTheText, NothingWaitsBeforeTheEnd) {
  const auto program = [](int pending, bool wait) {
    return trace_body([=](Program& k) {
      const Staging s = make_staging(k);
      s.fill(0);
      sync();
      if (auto _ = single_thread(0)) {
        s.send(0);  // <- error
        tma.commit_group();
        if (wait) tma.wait_group(pending, {.read = true});
      }
    });
  };
  expect_silence(program(0, true));
  for (const bool wait : {true, false}) {
    expect_hazard(program(1, wait), Verdict::refused, Hazard::bulk_group, "tile",
                  "nothing waits for this tma.shared_to_global(): the block may end while the engine reads 'tile'",
                  "before the kernel ends");
  }
}

TEST(StoresInTheText, CommittedBeforeTheStore) {
  expect_hazard(
      [](Program& k) {
        const Staging s = make_staging(k);
        s.fill(0);
        sync();
        if (auto _ = single_thread(0)) {
          tma.commit_group();
          s.send(0);  // <- error
          tma.wait_group(0);
        }
      },
      Verdict::refused, Hazard::bulk_group, "tile", "this tma.shared_to_global() is never committed",
      "tma.commit_group() after the stores");
}

TEST(StoresInTheText, SourceIsWrittenAgain) {
  const auto program = [](bool wait, int second) {
    return trace_body([=](Program& k) {
      const Staging s = make_staging(k);
      for (int part : {0, second}) {
        if (wait) {
          if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});
        }
        sync();
        s.fill(part);  // <- error
        sync();
        if (auto _ = single_thread(0)) {
          s.send(part);
          tma.commit_group();
        }
      }
      if (auto _ = single_thread(0)) tma.wait_group(0);
    });
  };
  expect_silence(program(true, 0));
  expect_silence(program(false, 1));
  expect_hazard(program(false, 0), Verdict::refused, Hazard::bulk_group, "tile",
                "'tile' is written while the tma.shared_to_global() of line", "before the tile is written again");
}

TEST(StoresInTheText, ARingOfTwoStagingTiles) {
  expect_silence([](Program& k) {
    const Staging s = make_staging(k);
    for (auto i : range(*k.n)) {
      if (auto _ = single_thread(0)) tma.wait_group(1, {.read = true});
      sync();
      store_shared(s.tile[i % 2], load_global(s.view, {0, 0}, {64, 64}));
      sync();
      if (auto _ = single_thread(0)) {
        tma.shared_to_global({.src = s.tile[i % 2], .dst = s.view, .offsets = {64, 0}});
        tma.commit_group();
      }
    }
    if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});
  });
}

TEST(FencesInTheText, OnlyWhereTheCompilerInsertsNone) {
  const auto program = [](bool fence) {
    return trace_body([=](Program& k) {
      const Staging s = make_staging(k);
      s.fill(0);
      if (fence) tessera::fence.proxy_async();
      sync();
      if (auto _ = single_thread(0)) {
        s.send(0);  // <- error
        tma.commit_group();
        tma.wait_group(0);
      }
    });
  };
  const StaticOptions none{.fences_inserted = false};
  expect_silence(program(false));
  expect_silence(program(true), none);
  const auto found = findings_of(program(false), none);
  ASSERT_EQ(found.size(), 1U) << text_of(found);
  EXPECT_EQ(found.front().hazard, Hazard::proxy_fence);
  EXPECT_EQ(found.front().object, "tile");
  EXPECT_THAT(source_line(found.front().diagnostic.loc), testing::HasSubstr("// <- error"));
}

TEST(FencesInTheText, BeforeTheStoresItFencesNothing) {
  const auto found = findings_of(
      [](Program&) {
        const Product p = make_product();
        auto a = load_shared(p.b);
        fence.proxy_async();
        store_shared(p.a, a);
        sync();
        wgmma.fence();
        p.multiply();
        wgmma.commit_group();
        wgmma.wait_group(0);
      },
      StaticOptions{.fences_inserted = false});
  ASSERT_EQ(found.size(), 1U) << text_of(found);
  EXPECT_THAT(found.front().diagnostic.message, testing::HasSubstr("'a' is written by ordinary stores"));
}

}  // namespace
}  // namespace tessera::test
