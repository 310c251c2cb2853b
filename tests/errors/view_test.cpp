// Parts of shared tiles: what they record, and what is wrong with them.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;
using Extents = std::vector<std::int64_t>;

TEST(SharedParts, ShapesAndBytes) {
  trace_body([](Program&) {
    auto s = shared_tensor<float16>({4, 128, 64});
    EXPECT_EQ(s[1].shape(), (Extents{128, 64}));
    EXPECT_EQ(s[1].nbytes(), 128 * 64 * 2);
    EXPECT_EQ(s[1][5].shape(), (Extents{64}));
    EXPECT_EQ(s[1].transpose().shape(), (Extents{64, 128}));
    EXPECT_EQ(s[1].split(0, 2)[1].shape(), (Extents{64, 64}));
    EXPECT_EQ(s.split(2, 4)[0].shape(), (Extents{4, 128, 16}));
    EXPECT_EQ(s[1].transpose().split(0, 4)[3].shape(), (Extents{16, 128}));
    EXPECT_EQ(s.split(2, 4).size(), 4);
    EXPECT_EQ(s[1].split(0, 2)[1].nbytes(), 64 * 64 * 2);
    EXPECT_EQ(s[3].dtype(), DType::f16);
  });
}

TEST(SharedParts, WhatIsRecorded) {
  const std::string text = text_of([](Program&) {
    auto s = shared_tensor<float16>({4, 64, 64});
    Var<Int32> stage = 0;
    auto part = s[stage];
    auto a = load_shared(part.split(0, 2)[1].split(1, 2)[0]);
    store_shared(s[2].split(1, 2)[stage % 2].transpose().split(1, 2)[1], a.transpose());
    print_tensor("part", s[3].transpose());
    auto b = load_shared(s[0].split(0, 1)[0]);
  });
  EXPECT_THAT(text, HasSubstr("a: f16[32, 32] = load_shared(s[stage_0, 32:+32, 0:+32])"));
  EXPECT_THAT(text, HasSubstr("store_shared(s[2, 32:+32, (stage_1 % 2) * 32:+32].transpose(), "));
  EXPECT_THAT(text, HasSubstr("print_tensor(\"part\", s[3, :, :].transpose())"));
  EXPECT_THAT(text, HasSubstr("b: f16[64, 64] = load_shared(s[0, :, :])"));
}

TEST(SharedPartErrors, IndexOutOfRange) {
  for (const int i : {-1, 4}) {
    expect_mistake(
        [&](Program&) {
          auto s = shared_tensor<float16>({4, 64});
          load_shared(s[i]);  // <- error
        },
        "element " + std::to_string(i) + " of 's' of shape {4, 64}, which has 4");
  }
  expect_mistake(
      [](Program& k) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s[max(*k.n, 4)]);  // <- error
      },
      "the index goes from 0 to 3");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s.split(1, 2)[2]);  // <- error
      },
      "part 2 of 's' of shape {4, 64}, which has 2");
}

TEST(SharedPartErrors, PartsThatDoNotDivide) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s[0].split(0, 3)[0]);  // <- error
      },
      "split(0, 3) of a part of 's' of shape {64}: 64 does not divide into 3 equal parts");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s.split(0, 0)[0]);  // <- error
      },
      "4 does not divide into 0 equal parts");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s.split(2, 2)[0]);  // <- error
      },
      "there is no dimension 2");
}

TEST(SharedPartErrors, Dimensions) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s[0][0][0]);  // <- error
      },
      "[] of a part of 's' without dimensions");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64, 64});
        load_shared(s.transpose());  // <- error
      },
      "transpose() of 's' of shape {4, 64, 64}");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        load_shared(s[0][0]);  // <- error
      },
      "load_shared() of a part of 's' without dimensions");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float>({4, 64});
        store_shared(s[0][0], register_tensor<float>({1}, 0.0f));  // <- error
      },
      "store_shared() of a part of 's' without dimensions");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float>({4, 64});
        print_tensor("s", s[0][0]);  // <- error
      },
      "print_tensor() of a part of 's' without dimensions");
}

TEST(SharedPartErrors, WholeTilesOnly) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        free_shared(s[0]);  // <- error
      },
      "free_shared() of a part of 's'");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({64, 64});
        free_shared(s.transpose());  // <- error
      },
      "free_shared() of a part of 's'");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64, 64});
        annotate_layout(s.split(0, 2)[0], layouts::row_major());  // <- error
      },
      "annotate_layout() of a part of 's'");
}

TEST(SharedPartErrors, FreedTile) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({4, 64});
        auto part = s[1];
        free_shared(s);
        load_shared(part);  // <- error
      },
      "'s' is used after free_shared");
}

TEST(SharedPartErrors, ShapeOfTheStore) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float>({2, 16, 8});
        store_shared(s[1].transpose(), register_tensor<float>({16, 8}, 0.0f));  // <- error
      },
      "store_shared() of a tile of shape {16, 8} to 's' of shape {8, 16}");
}

TEST(SharedPartErrors, ChangedInALoop) {
  expect_mistake(
      [](Program& k) {
        auto s = shared_tensor<float16>({4, 64});
        int stage = 0;
        for (auto i : range(*k.n)) {
          (void)i;
          load_shared(s[stage]);  // <- error
          stage = (stage + 1) % 4;
        }
      },
      "a C++ variable changes inside the loop");
}

}  // namespace
}  // namespace tessera::test
