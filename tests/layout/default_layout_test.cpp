// Layouts of unconstrained tiles, and the test for layouts that keep every element in its thread.
#include <gmock/gmock.h>

#include <set>

#include "layout/register_layout.hpp"
#include "tessera/core/error.hpp"

namespace tessera::layout {
namespace {

using Ints = RegisterLayout::Ints;

TEST(DefaultLayout, IsCoalesced) {
  EXPECT_EQ(default_layout({64, 64}, 128, 8), local({4, 1}).spatial({16, 8}).local({1, 8}));
  EXPECT_EQ(default_layout({128, 256}, 128, 1), local({128, 2}).spatial({1, 128}));
  EXPECT_EQ(default_layout({4096}, 256, 4), local({4}).spatial({256}).local({4}));
}

TEST(DefaultLayout, PrefersBusyThreadsToWideVectors) {
  EXPECT_EQ(default_layout({128}, 128, 8), spatial({128}));
  EXPECT_EQ(default_layout({256}, 128, 8), spatial({128}).local({2}));
  EXPECT_EQ(default_layout({6}, 4, 6), replicated({1}, 2).spatial({2}).local({3}));
  // 200 columns have a factor 8 and the rows another 8: vectors would take threads away.
  EXPECT_EQ(default_layout({8, 200}, 128, 8).replication(), 2);
}

TEST(DefaultLayout, ReplicasAreTheSlowestThreads) {
  EXPECT_EQ(default_layout({7}, 32), replicated({7}, 32));
  EXPECT_EQ(default_layout({1, 16}, 128, 1), replicated({1, 1}, 8).spatial({1, 16}));
  EXPECT_EQ(default_layout({}, 96), replicated({}, 96));
}

TEST(DefaultLayout, WorksForEveryShape) {
  for (const Ints& shape : {Ints{}, Ints{1}, Ints{7}, Ints{200}, Ints{6, 10}, Ints{7, 200, 1}, Ints{3, 1, 5},
                            Ints{64, 48}, Ints{2, 3, 32}}) {
    for (const std::int64_t threads : {1, 7, 32, 96, 128, 1024}) {
      for (const std::int64_t vector : {1, 2, 3, 4, 8, 16}) {
        const RegisterLayout l = default_layout(shape, threads, vector);
        SCOPED_TRACE(l.to_string());
        EXPECT_EQ(l.shape(), shape);
        EXPECT_EQ(l.spatial_size(), threads);
        std::int64_t size = 1;
        for (const std::int64_t extent : shape) size *= extent;
        EXPECT_EQ(l.local_size() * threads, size * l.replication());
      }
    }
  }
}

TEST(DefaultLayout, RefusesBadArguments) {
  EXPECT_THROW(default_layout({4}, 0), Error);
  EXPECT_THROW(default_layout({4}, 32, 0), Error);
  EXPECT_THROW(default_layout({4, 0}, 32), Error);
}

// The definition, element by element.
bool same_threads_by_sets(const RegisterLayout& source, const RegisterLayout& target) {
  for (std::int64_t t = 0; t < source.spatial_size(); ++t) {
    std::set<Ints> held;
    for (std::int64_t r = 0; r < source.local_size(); ++r) held.insert(source.global_index(r, t));
    for (std::int64_t r = 0; r < target.local_size(); ++r) {
      if (!held.contains(target.global_index(r, t))) return false;
    }
  }
  return true;
}

TEST(SameThreads, AgreesWithTheDefinition) {
  const std::vector<RegisterLayout> layouts = {
      spatial({4, 2}).local({2, 3}),
      spatial({4, 2}).column_local({2, 3}),
      column_spatial({4, 2}).local({2, 3}),
      local({2, 3}).spatial({4, 2}),
      replicated({8, 6}, 8),
      spatial({4, 1}).replicate(2).local({2, 6}),
      spatial({2, 1}).replicate(2).spatial({2, 1}).local({2, 6}),
      replicated({1, 1}, 4).spatial({1, 2}).local({8, 3}),
      spatial({2, 1}).local({2, 1}).spatial({2, 2}).local({1, 3}),
      spatial({8, 1}).local({1, 6}),
  };
  int yes = 0;
  for (const RegisterLayout& source : layouts) {
    for (const RegisterLayout& target : layouts) {
      SCOPED_TRACE(source.to_string() + " -> " + target.to_string());
      EXPECT_EQ(same_threads(source, target), same_threads_by_sets(source, target));
      yes += same_threads(source, target);
    }
  }
  EXPECT_GT(yes, static_cast<int>(layouts.size()));
}

TEST(SameThreads, PowersOfTwoAndOthers) {
  const RegisterLayout everywhere = replicated({64, 64}, 128),
                       d = spatial({2, 2}).local({2, 4}) * spatial({8, 4}).local({2, 2});
  EXPECT_TRUE(same_threads(everywhere, d));
  EXPECT_FALSE(same_threads(d, everywhere));
  EXPECT_TRUE(same_threads(d, spatial({2, 2}).column_local({2, 4}) * spatial({8, 4}).column_local({2, 2})));
  EXPECT_FALSE(same_threads(d, local({2, 4}).spatial({2, 2}) * spatial({8, 4}).local({2, 2})));
  EXPECT_TRUE(same_threads(spatial({8}), RegisterLayout({8}, {2, 2, 2}, {0, 1, 2}, {})));  // written in other modes
  EXPECT_FALSE(same_threads(spatial({8}), RegisterLayout({8}, {2, 2, 2}, {1, 0, 2}, {})));
  const RegisterLayout odd = spatial({3, 32}).local({7, 2});
  EXPECT_TRUE(same_threads(odd, spatial({3, 32}).column_local({7, 2})));
  EXPECT_FALSE(same_threads(odd, local({7, 1}).spatial({3, 32}).local({1, 2})));
}

TEST(SameThreads, OtherShapesOrThreadCountsNeverMatch) {
  EXPECT_FALSE(same_threads(spatial({4}), spatial({1, 4})));
  EXPECT_FALSE(same_threads(spatial({4}).local({2}), spatial({8})));
}

}  // namespace
}  // namespace tessera::layout
