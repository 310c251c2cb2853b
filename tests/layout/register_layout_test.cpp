// Register layouts: examples with known answers, misuse and text. The general laws are in register_properties_test.cpp.
#include "layout/register_layout.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "tessera/core/error.hpp"

namespace tessera::layout {
namespace {

using Ints = RegisterLayout::Ints;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string internal_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return {};
}

void expect_modes(const RegisterLayout& l, const Ints& modes, const Ints& spatial_modes, const Ints& local_modes) {
  EXPECT_EQ(l.mode_shape(), modes);
  EXPECT_EQ(l.spatial_modes(), spatial_modes);
  EXPECT_EQ(l.local_modes(), local_modes);
}

TEST(RegisterLayout, Constructors) {
  EXPECT_THAT(spatial({}).mode_shape(), IsEmpty());
  EXPECT_THAT(local({}).mode_shape(), IsEmpty());
  EXPECT_EQ(local({}).rank(), 0);
  expect_modes(spatial({3, 4}), {3, 4}, {0, 1}, {});
  expect_modes(local({3, 4}), {3, 4}, {}, {0, 1});
  expect_modes(spatial({1, 1, 2, 1, 3, 1}), {2, 3}, {0, 1}, {});
  expect_modes(local({1, 1, 2, 1, 3, 1}), {2, 3}, {}, {0, 1});
  EXPECT_THAT(spatial({1, 1, 2, 1, 3, 1}).shape(), ElementsAre(1, 1, 2, 1, 3, 1));
  expect_modes(column_spatial({4, 8}), {4, 8}, {1, 0}, {});
  expect_modes(column_local({2, 2}), {2, 2}, {}, {1, 0});
  expect_modes(spatial({2, 1, 3}, {1, 0, 2}), {2, 3}, {0, 1}, {});
  expect_modes(spatial({2, 5, 3}, {1, 2, 0}), {2, 5, 3}, {2, 0, 1}, {});
  expect_modes(local({2, 5, 3}, {1, 2, 0}), {2, 5, 3}, {}, {2, 0, 1});
  expect_modes(replicated({2, 3}, 4), {2, 3}, {-4}, {0, 1});
}

TEST(RegisterLayout, ModesOfExtentOneAndReplicationByOneVanish) {
  expect_modes(RegisterLayout({2, 3}, {1, 2, 1, 3}, {-1, 1, 0, -2}, {2, 3}), {2, 3}, {0, -2}, {1});
}

TEST(RegisterLayout, Sizes) {
  const RegisterLayout l({32, 16}, {2, 2, 8, 2, 4, 2}, {-4, 2, 4}, {0, 3, 1, 5});
  EXPECT_EQ(l.spatial_size(), 128);
  EXPECT_EQ(l.local_size(), 16);
  EXPECT_EQ(l.replication(), 4);
  EXPECT_THAT(l.grouped_modes(), ElementsAre(Ints{0, 1, 2}, Ints{3, 4, 5}));
}

TEST(RegisterLayout, IndexOfAWorkedExample) {
  // 128 x 128 accumulators on four warps.
  const RegisterLayout l = spatial({2, 2}).local({4, 8}) * local({2, 1}).spatial({8, 4}).local({1, 2});
  EXPECT_EQ(l, RegisterLayout({128, 128}, {2, 4, 2, 8, 2, 8, 4, 2}, {0, 4, 3, 6}, {1, 5, 2, 7}));
  EXPECT_EQ(l.spatial_size(), 128);
  // Warp 3 (rows 64.., columns 64..), lane 5 (row 1, column pair 1), register 4 * 3 + 2 of row block 2:
  // rows 64 + 32 + 8 + 1, columns 64 + 3 * 8 + 2.
  EXPECT_THAT(l.global_index((2 * 8 + 3) * 4 + 2, 3 * 32 + 5), ElementsAre(105, 90));
  EXPECT_EQ(l.local_index(Ints{105, 90}), (2 * 8 + 3) * 4 + 2);
  EXPECT_THAT(l.spatial_indices(Ints{105, 90}), ElementsAre(101));
}

TEST(RegisterLayout, ReplicasAreListedInOrder) {
  const RegisterLayout l({4}, {2, 2}, {-2, 0, -3, 1}, {});
  EXPECT_THAT(l.spatial_indices(Ints{2}), ElementsAre(6, 8, 10, 18, 20, 22));
}

// Layouts of many kinds, walked element by element against a plain model of ownership.
TEST(RegisterLayout, OwnershipOfMixedLayouts) {
  const std::vector<std::pair<RegisterLayout, Ints>> cases = {
      // layout, {rows, columns, threads, registers, replication}
      {spatial({4, 8}), {4, 8, 32, 1, 1}},
      {spatial({4, 8}).local({1, 2}), {4, 16, 32, 2, 1}},
      {spatial({2, 2}).local({1, 2}).spatial({2, 1}).local({2, 1}).spatial({2, 2}), {16, 8, 32, 4, 1}},
      {spatial({4, 32}), {4, 32, 128, 1, 1}},
      {spatial({2, 4}).spatial({2, 4}), {4, 16, 64, 1, 1}},
      {spatial({2, 4}).column_spatial({2, 4}), {4, 16, 64, 1, 1}},
      {spatial({2, 4}).spatial({2, 4}).column_spatial({2, 1}), {8, 16, 128, 1, 1}},
      {spatial({4, 4}).spatial({2, 4}).column_spatial({2, 1}), {16, 16, 256, 1, 1}},
      {spatial({2, 4}).spatial({4, 8}), {8, 32, 256, 1, 1}},
      {spatial({2, 4}).spatial({4, 8}).local({2, 2}), {16, 64, 256, 4, 1}},
      {spatial({2, 4}).local({2, 2}).spatial({4, 8}).local({2, 2}), {32, 128, 256, 16, 1}},
      {RegisterLayout({32, 16}, {2, 2, 8, 2, 4, 2}, {-4, 2, 4}, {0, 3, 1, 5}), {32, 16, 128, 16, 4}},
  };
  for (const auto& [l, expected] : cases) {
    SCOPED_TRACE(l.to_string());
    EXPECT_EQ((Ints{l.shape()[0], l.shape()[1], l.spatial_size(), l.local_size(), l.replication()}), expected);
    std::map<Ints, Ints> owners;
    for (std::int64_t t = 0; t < l.spatial_size(); ++t) {
      for (std::int64_t r = 0; r < l.local_size(); ++r) owners[l.global_index(r, t)].push_back(t);
    }
    EXPECT_EQ(static_cast<std::int64_t>(owners.size()), expected[0] * expected[1]);
    for (const auto& [index, threads] : owners) ASSERT_EQ(l.spatial_indices(index), threads);
  }
  // One element of a chain by hand, digits outermost first: thread 22 = 10110 is row 1, column 0, row 1, row 1, column
  // 0, register 2 = 10 is column 1, row 0. The row's digits in chain order are 1 1 0 1, the column's 0 1 0.
  EXPECT_THAT(cases[2].first.global_index(2, 22), ElementsAre(13, 2));
}

TEST(RegisterLayout, Compose) {
  const RegisterLayout l = spatial({2, 4}) * local({2, 1});
  EXPECT_THAT(l.shape(), ElementsAre(4, 4));
  expect_modes(l, {2, 2, 4}, {0, 2}, {1});
  EXPECT_EQ(spatial({2, 4}).local({2, 1}), l);
  // The operand of lower rank counts as having leading extents of 1.
  EXPECT_EQ(spatial({2, 4}) * local({3}), spatial({2, 4}) * local({1, 3}));
  EXPECT_EQ(local({3}) * spatial({2, 4}), local({1, 3}) * spatial({2, 4}));
  EXPECT_EQ(spatial({2, 4}).replicate(3), spatial({2, 4}) * replicated({1, 1}, 3));
  EXPECT_EQ(spatial({2, 4}).column_spatial({2, 2}), spatial({2, 4}) * column_spatial({2, 2}));
  EXPECT_EQ(spatial({2, 4}).column_local({2, 2}), spatial({2, 4}) * column_local({2, 2}));
}

TEST(RegisterLayout, Divide) {
  EXPECT_EQ(divide(spatial({2, 4}), spatial({1, 2})), spatial({2, 2}));
  EXPECT_EQ(divide(spatial({2, 4}).local({2, 1}), local({2, 1})), spatial({2, 4}));
  EXPECT_EQ(divide(spatial({2, 4}).local({2, 1}), spatial({1, 2}).local({2, 1})), spatial({2, 2}));
  EXPECT_EQ(divide(spatial({32, 1}).local({1, 32}), spatial({32, 1})), local({1, 32}));
  EXPECT_EQ(divide(spatial({6}), spatial({3})), spatial({2}));
  EXPECT_EQ(divide(spatial({2, 12}), spatial({1, 3})), spatial({2, 4}));
  EXPECT_EQ(divide(spatial({2, 12}).local({2, 3}), local({2, 3})), spatial({2, 12}));
  EXPECT_EQ(divide(spatial({4}).replicate(6), replicated({1}, 3)), spatial({4}).replicate(2));
  EXPECT_EQ(divide(RegisterLayout({6}, {2, 3}, {0, 1}, {}), spatial({2})), spatial({3}));  // written in other modes
}

TEST(RegisterLayout, DivideRefuses) {
  EXPECT_EQ(divide(spatial({2, 4}), spatial({2, 1})), std::nullopt);  // the row is slower than the columns
  EXPECT_EQ(divide(spatial({2, 4}), local({1, 2})), std::nullopt);
  EXPECT_EQ(divide(spatial({2, 4}), spatial({1, 3})), std::nullopt);
  EXPECT_EQ(divide(spatial({6}), spatial({4})), std::nullopt);
  EXPECT_EQ(divide(column_spatial({2, 4}), spatial({2, 4})), std::nullopt);
  EXPECT_EQ(divide(spatial({4}), spatial({1, 4})), std::nullopt);  // a product keeps the larger rank
  EXPECT_EQ(divide(spatial({4}).replicate(2), spatial({4})), std::nullopt);
  EXPECT_EQ(divide(spatial({4}).replicate(2), replicated({1}, 4)), std::nullopt);
}

TEST(RegisterLayout, LeftDivide) {
  EXPECT_EQ(left_divide(spatial({2, 4}), spatial({2, 1})), spatial({1, 4}));
  EXPECT_EQ(left_divide(local({2, 1}).spatial({2, 4}), local({2, 1})), spatial({2, 4}));
  EXPECT_EQ(left_divide(spatial({2, 2}).local({2, 1}), spatial({2, 2})), local({2, 1}));
  EXPECT_EQ(left_divide(spatial({2, 4}), spatial({2, 2})), spatial({1, 2}));
  EXPECT_EQ(left_divide(spatial({6}), spatial({2})), spatial({3}));
  EXPECT_EQ(left_divide(spatial({2, 12}).local({2, 3}), spatial({2, 1}).local({2, 1})), spatial({1, 12}).local({1, 3}));
  EXPECT_EQ(left_divide(spatial({2, 4}), spatial({1, 2})), std::nullopt);
  EXPECT_EQ(left_divide(spatial({2, 4}), local({2, 1})), std::nullopt);
  EXPECT_EQ(left_divide(spatial({4}), spatial({1, 2})), std::nullopt);
}

TEST(RegisterLayout, Reshape) {
  EXPECT_EQ(reshape(spatial({2, 4}), {2, 2, 2}), spatial({2, 2, 2}));
  const RegisterLayout chain = spatial({2, 4}).local({3, 2}).spatial({6, 8});
  const auto split = reshape(chain, {2, 3, 6, 4, 2, 8});
  ASSERT_TRUE(split);
  expect_modes(*split, {2, 3, 6, 4, 2, 8}, {0, 3, 2, 5}, {1, 4});
  EXPECT_EQ(reshape(*split, {36, 64}), chain);
  EXPECT_EQ(reshape(spatial({2, 3}), {3, 2}), spatial({3, 2}));  // merges across the old boundary
  EXPECT_EQ(reshape(column_spatial({2, 3}), {3, 2}), std::nullopt);
  EXPECT_EQ(reshape(spatial({2, 3}), {7}), std::nullopt);
  EXPECT_EQ(reshape(spatial({2, 3}), {0, 6}), std::nullopt);
}

TEST(RegisterLayout, Canonical) {
  expect_modes(RegisterLayout({6}, {2, 3}, {0, 1}, {}).canonical(), {6}, {0}, {});
  expect_modes(RegisterLayout({6}, {2, 3}, {1, 0}, {}).canonical(), {2, 3}, {1, 0}, {});
  expect_modes(RegisterLayout({4, 6, 5}, {2, 2, 2, 3, 5}, {0, 1}, {2, 3, 4}).canonical(), {4, 6, 5}, {0}, {1, 2});
  expect_modes(RegisterLayout({4, 5, 6, 5}, {2, 2, 5, 2, 3, 5}, {2, 0, 1}, {3, 4, 5}).canonical(), {4, 5, 6, 5}, {1, 0},
               {2, 3});
  expect_modes(RegisterLayout({4}, {2, 2}, {-2, -3, 0, 1, -4}, {}).canonical(), {4}, {-6, 0, -4}, {});
}

TEST(RegisterLayout, EqualityIsOfMaps) {
  EXPECT_EQ(spatial({2}).spatial({3}), spatial({6}));
  EXPECT_EQ(replicated({2}, 2).replicate(3), RegisterLayout({2}, {2}, {-6}, {0}));
  EXPECT_FALSE(spatial({6}) == local({6}));
  EXPECT_FALSE(spatial({6}) == spatial({1, 6}));
  EXPECT_FALSE(spatial({2}).replicate(3) == replicated({1}, 3).spatial({2}));
  EXPECT_FALSE(spatial({2, 3}) == column_spatial({2, 3}));
}

TEST(RegisterLayout, Reduce) {
  const RegisterLayout l = spatial({2, 4}).local({3, 2});
  EXPECT_EQ(reduce(l, {1}, true), RegisterLayout({6, 1}, {2, 3}, {0, -4}, {1}));
  EXPECT_EQ(reduce(l, {0}, false), RegisterLayout({8}, {4, 2}, {-2, 0}, {1}));
  EXPECT_EQ(reduce(l, {0, 1}, false), RegisterLayout({}, {}, {-8}, {}));
  EXPECT_EQ(reduce(l, {}, false), l);
  EXPECT_EQ(reduce_to(l, {6, 1}), reduce(l, {1}, true));
  EXPECT_EQ(reduce_to(l, {8}), reduce(l, {0}, false));
  EXPECT_EQ(reduce_to(l, {1}), reduce(reduce(l, {1}, true), {0}, false));
  // An operand of a matrix product: what is left of a warp grid over (m, k, n) without n.
  EXPECT_EQ(reduce(spatial({2, 1, 4}, {1, 0, 2}), {2}, false), spatial({2, 1}).replicate(4));
}

TEST(RegisterLayout, DimensionOperations) {
  const RegisterLayout l = spatial({2, 4}).local({3, 1});
  EXPECT_EQ(permute(l, {1, 0}), column_spatial({4, 2}).local({1, 3}));
  EXPECT_EQ(unsqueeze(l, 1), spatial({2, 1, 4}).local({3, 1, 1}));
  EXPECT_EQ(unsqueeze(l, 2), spatial({2, 4, 1}).local({3, 1, 1}));
  EXPECT_EQ(squeeze(unsqueeze(l, 0), 0), l);
  EXPECT_EQ(concat(spatial({2}).replicate(3), local({5}).spatial({4})),
            RegisterLayout({2, 20}, {2, 5, 4}, {0, -3, 2}, {1}));
}

TEST(RegisterLayout, Text) {
  EXPECT_EQ((spatial({2, 2}).local({4, 8}) * spatial({8, 4}).local({1, 2})).to_string(),
            "spatial(2, 2).local(4, 8).spatial(8, 4).local(1, 2)");
  EXPECT_EQ(column_local({2, 2}).spatial({8, 4}).local({1, 2}).to_string(),
            "column_local(2, 2).spatial(8, 4).local(1, 2)");
  EXPECT_EQ(local({2, 1}).column_spatial({4, 8}).local({2, 1}).to_string(),
            "local(2, 1).column_spatial(4, 8).local(2, 1)");
  EXPECT_EQ(replicated({4}, 2).to_string(), "replicate(2).local(4)");
  EXPECT_EQ(local({1, 1}).to_string(), "local(1, 1)");
  EXPECT_EQ(local({}).to_string(), "local()");
  EXPECT_EQ(RegisterLayout({6}, {2, 3}, {1, 0}, {}).to_string(),
            "register_layout([6], modes [2, 3], spatial [1, 0], local [])");
}

TEST(RegisterLayout, BadModesAreRefused) {
  const auto make = [](Ints shape, Ints modes, Ints spatial_modes, Ints local_modes) {
    return internal_error([&] { RegisterLayout(shape, modes, spatial_modes, local_modes); });
  };
  EXPECT_THAT(make({6}, {2, 2}, {0, 1}, {}), HasSubstr("modes [2, 2] do not multiply to shape [6]"));
  EXPECT_THAT(make({4}, {2, 2, 2}, {0, 1}, {2}), HasSubstr("do not multiply"));
  EXPECT_THAT(make({4, 2}, {8}, {0}, {}), HasSubstr("do not multiply"));
  EXPECT_THAT(make({4}, {}, {}, {}), HasSubstr("do not multiply"));
  EXPECT_THAT(make({0}, {0}, {0}, {}), HasSubstr("extents must be positive"));
  EXPECT_THAT(make({-2}, {-2}, {0}, {}), HasSubstr("extents must be positive"));
  EXPECT_THAT(make({4}, {2, 2}, {0}, {}), HasSubstr("mode 1 of [2, 2] is used 0 times"));
  EXPECT_THAT(make({4}, {2, 2}, {0, 1}, {0}), HasSubstr("mode 0 of [2, 2] is used 2 times"));
  EXPECT_THAT(make({4}, {2, 2}, {0, 1, 2}, {}), HasSubstr("no mode 2 among 2"));
  EXPECT_THAT(make({4}, {2, 2}, {0, 1}, {-2}), HasSubstr("no mode -2"));
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_THAT(make({large, large}, {large, large}, {0, 1}, {}), HasSubstr("too large"));
}

TEST(RegisterLayout, MisuseIsRefused) {
  const RegisterLayout l = spatial({2, 4}).local({3, 1});
  EXPECT_THAT(internal_error([&] { (void)l.global_index(3, 0); }), HasSubstr("register 3 is out of range"));
  EXPECT_THAT(internal_error([&] { (void)l.global_index(0, 8); }), HasSubstr("thread 8 is out of range"));
  EXPECT_THAT(internal_error([&] { (void)l.global_index(-1, 0); }), HasSubstr("out of range"));
  EXPECT_THAT(internal_error([&] { (void)l.local_index(Ints{6, 0}); }), HasSubstr("outside of shape [6, 4]"));
  EXPECT_THAT(internal_error([&] { (void)l.local_index(Ints{0}); }), HasSubstr("outside of shape"));
  EXPECT_THAT(internal_error([&] { (void)l.spatial_indices(Ints{0, -1}); }), HasSubstr("outside of shape"));
  EXPECT_THAT(internal_error([&] { permute(l, {0, 0}); }), HasSubstr("not a permutation"));
  EXPECT_THAT(internal_error([&] { permute(l, {0}); }), HasSubstr("not a permutation"));
  EXPECT_THAT(internal_error([&] { spatial({2, 2}, {0, 2}); }), HasSubstr("not a permutation"));
  EXPECT_THAT(internal_error([&] { local({2, 2}, {0}); }), HasSubstr("not a permutation"));
  EXPECT_THAT(internal_error([&] { reduce(l, {2}, true); }), HasSubstr("no dimension 2"));
  EXPECT_THAT(internal_error([&] { reduce_to(l, {3, 4}); }), HasSubstr("does not reduce to [3, 4]"));
  EXPECT_THAT(internal_error([&] { reduce_to(l, {1, 6, 4}); }), HasSubstr("does not reduce"));
  EXPECT_THAT(internal_error([&] { squeeze(l, 0); }), HasSubstr("extent 6 is not 1"));
  EXPECT_THAT(internal_error([&] { squeeze(l, -1); }), HasSubstr("no dimension -1"));
  EXPECT_THAT(internal_error([&] { unsqueeze(l, 3); }), HasSubstr("no dimension 3"));
  EXPECT_THAT(internal_error([&] { replicated({2}, 0); }), HasSubstr("workers must be positive"));
}

}  // namespace
}  // namespace tessera::layout
