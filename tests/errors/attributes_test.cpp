// attrs.blocks and attrs.warps; operations outside a kernel; handles of another kernel.
#include <optional>

#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(AttributeErrors, WarpsMissing) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {*k.n};
        register_tensor<float>({16, 16}, 0.0f);  // <- error
      },
      "attrs.warps is not set");
}

TEST(AttributeErrors, WarpsZero) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {*k.n};
        k.attrs.warps = 0;  // <- error
      },
      "attrs.warps = 0");
}

TEST(AttributeErrors, WarpsOver32) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {*k.n};
        k.attrs.warps = 33;  // <- error
      },
      "a block has 1 to 32 warps");
}

TEST(AttributeErrors, WarpsNegative) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {*k.n};
        k.attrs.warps = -4;  // <- error
      },
      "attrs.warps = -4");
}

TEST(AttributeErrors, WarpsAfterTheFirstTensor) {
  const std::string text = mistake_bare([](Program& k) {
    k.attrs.blocks = {*k.n};
    auto tile = register_tensor<float>({16, 16}, 0.0f);
    k.attrs.warps = 4;  // <- error
  });
  EXPECT_THAT(text, HasSubstr("after the first tensor"));
  EXPECT_THAT(text, HasSubstr("auto tile = register_tensor"));  // the note shows it
}

TEST(AttributeErrors, WarpsTwice) {
  expect_mistake(
      [](Program& k) {
        k.attrs.warps = 8;  // <- error
      },
      "set twice");
}

TEST(AttributeErrors, WarpsInAScope) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {*k.n};
        if (auto _ = when(*k.n > 0)) {
          k.attrs.warps = 8;  // <- error
        }
      },
      "inside a scope");
}

TEST(AttributeErrors, BlocksMissing) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.warps = 4;  // <- error
      },
      "attrs.blocks is not set");
}

TEST(AttributeErrors, BlocksOfTheDevice) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {*k.n, blockIdx.x + 1};  // <- error
        k.attrs.warps = 4;
      },
      "depends on a value of the device");
}

TEST(AttributeErrors, BlocksOfAVariable) {
  expect_mistake_bare(
      [](Program& k) {
        Var<Int32> x = 1;
        k.attrs.blocks = x;  // <- error
        k.attrs.warps = 4;
      },
      "depends on a value of the device");
}

TEST(AttributeErrors, BlocksNegative) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {-1};  // <- error
        k.attrs.warps = 4;
      },
      "negative");
}

TEST(AttributeErrors, FourBlockExtents) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = {1, 2, 3, 4};  // <- error
        k.attrs.warps = 4;
      },
      "attrs.blocks with 4 extents");
}

TEST(AttributeErrors, SeveralMistakesInOneError) {
  try {
    trace_bare([](Program& k) {
      k.attrs.blocks = {blockIdx.x};
      k.attrs.warps = 0;
      shared_tensor<float>({0, 4});
    });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostics().size(), 3U) << e.what();
  }
}

TEST(HandleErrors, OutsideAKernel) {
  expect_error(
      [] {
        sync();  // <- error
      },
      "sync() is used outside a kernel");
  expect_error(
      [] {
        Int32 five = 5;  // <- error
      },
      "outside a kernel");
  expect_error(
      [] {
        shared_tensor<float>({4});  // <- error
      },
      "outside a kernel");
  expect_error(
      [] {
        auto loop = range(4);  // <- error
      },
      "outside a kernel");
}

TEST(HandleErrors, TileOfAnotherKernel) {
  std::optional<SharedTensor> kept;
  trace_body([&](Program&) { kept.emplace(shared_tensor<float>({16, 16})); });
  const std::string text = mistake([&](Program&) {
    load_shared(*kept);  // <- error
  });
  EXPECT_THAT(text, HasSubstr("belongs to another kernel"));
}

TEST(HandleErrors, ValueOfAnotherKernel) {
  std::optional<Int32> kept;
  trace_body([&](Program& k) { kept.emplace(*k.n + 1); });
  expect_mistake(
      [&](Program&) {
        Int32 more = *kept + 1;  // <- error
      },
      "belongs to another kernel");
}

TEST(HandleErrors, ConstantOfAnotherKernel) {
  std::optional<Int32> kept;
  trace_body([&](Program&) { kept.emplace(7); });
  expect_mistake(
      [&](Program&) {
        Int32 more = *kept + 1;  // <- error
      },
      "belongs to another kernel");
}

TEST(HandleErrors, VariableOfAnotherKernel) {
  std::optional<Var<Int32>> kept;
  trace_body([&](Program&) { kept.emplace(7); });
  expect_mistake(
      [&](Program&) {
        *kept = 8;  // <- error
      },
      "belongs to another kernel");
}

TEST(HandleErrors, AFailedTraceLeavesNothingBehind) {
  EXPECT_THROW(trace_body([](Program&) { shared_tensor<float>({-1}); }), Error);
  EXPECT_THROW(trace_body([](Program& k) {
                 for (auto i : range(*k.n)) {
                   (void)i;
                   throw std::runtime_error("stop");
                 }
               }),
               Error);
  EXPECT_THROW(sync(), Error);  // no tracer is current any more
  EXPECT_NO_THROW(trace_body([](Program&) { sync(); }));
}

}  // namespace
}  // namespace tessera::test
