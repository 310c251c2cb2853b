// Each tile order visits every tile once, in its order, on any number of blocks.
#include <rapidcheck.h>

#include <cstdlib>
#include <set>

#include "errors/mistake.hpp"
#include "lang/run_scalars.hpp"

namespace tessera::test {
namespace {

using Place2 = std::pair<std::int64_t, std::int64_t>;  // m, n

enum class Order { rows, grouped, hilbert };

// Persistent: prints the tiles of its block.
struct Persistent : Script {
  struct Config {
    Order order = Order::rows;
    int group = 1, cluster = 1;
  };
  Config config;
  explicit Persistent(Config c) : config(c) {}

  void operator()(Int32 tiles_m, Int32 tiles_n) {
    attrs.cluster = config.cluster;
    attrs.blocks = persistent_grid();
    attrs.warps = 4;
    const TileOptions options{.cluster = config.cluster};
    if (config.order == Order::rows) show(RowTiles(tiles_m, tiles_n, options));
    if (config.order == Order::grouped) show(GroupedTiles(tiles_m, tiles_n, config.group, options));
    if (config.order == Order::hilbert) show(HilbertTiles(tiles_m, tiles_n, options));
  }
  template <class Tiles>
  void show(const Tiles& tiles) {
    for (auto tile : tiles) printf("{} {}\n", tile.m, tile.n);
  }
};

std::vector<Place2> tiles_of(const ir::tile::Kernel& kernel, std::int64_t m, std::int64_t n, const Place& place) {
  std::vector<Place2> result;
  for (const auto& line : ScalarRun(kernel, {m, n}, place).printed) result.emplace_back(line.at(0), line.at(1));
  return result;
}
std::shared_ptr<ir::tile::Kernel> kernel_of(Persistent::Config config) {
  return detail::trace(Persistent(config), std::vector<std::int64_t>{0, 0});
}
// The whole order, as one block goes through it.
std::vector<Place2> order_of(Persistent::Config config, std::int64_t m, std::int64_t n) {
  return tiles_of(*kernel_of(config), m, n, {});
}

TEST(RowTiles, RowByRow) {
  EXPECT_EQ(order_of({}, 2, 3), (std::vector<Place2>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(GroupedTiles, DownTheRowsOfAGroupFirst) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t m = *rc::gen::inRange(1, 20), n = *rc::gen::inRange(1, 20), group = *rc::gen::inRange(1, 9);
    std::vector<Place2> expected;
    for (std::int64_t first = 0; first < m; first += group) {
      for (std::int64_t column = 0; column < n; ++column) {
        for (std::int64_t row = first; row < std::min(m, first + group); ++row) expected.emplace_back(row, column);
      }
    }
    RC_ASSERT(order_of({Order::grouped, static_cast<int>(group), 1}, m, n) == expected);
  }));
}

TEST(HilbertTiles, EveryTileOnceAndNeighbourByNeighbour) {
  const auto kernel = kernel_of({Order::hilbert, 1, 1});
  for (std::int64_t m = 1; m <= 17; ++m) {
    for (std::int64_t n = 1; n <= 23; ++n) {
      const auto order = tiles_of(*kernel, m, n, {});
      ASSERT_EQ(order.size(), static_cast<std::size_t>(m * n));
      std::set<Place2> seen;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto [row, column] = order[i];
        ASSERT_TRUE(row >= 0 && row < m && column >= 0 && column < n) << m << " x " << n;
        ASSERT_TRUE(seen.insert(order[i]).second) << m << " x " << n << ": tile " << i << " twice";
        if (i == 0) continue;
        const auto down = std::abs(row - order[i - 1].first), right = std::abs(column - order[i - 1].second);
        ASSERT_LE(std::max(down, right), 1) << m << " x " << n << ": step " << i;
        if (m % 2 == 0 && n % 2 == 0) {
          ASSERT_EQ(down + right, 1) << m << " x " << n << ": step " << i;
        }
      }
    }
  }
}

// A window of as many tiles as an H200 runs at a time touches far fewer rows and columns than in row order.
TEST(HilbertTiles, WindowsAreCompact) {
  const auto spread = [](const std::vector<Place2>& order) {
    std::size_t most = 0;
    for (std::size_t at = 0; at + 132 <= order.size(); at += 132) {
      std::set<std::int64_t> rows, columns;
      for (std::size_t i = at; i < at + 132; ++i) {
        rows.insert(order[i].first);
        columns.insert(order[i].second);
      }
      most = std::max(most, rows.size() + columns.size());
    }
    return most;
  };
  EXPECT_LE(spread(order_of({Order::hilbert, 1, 1}, 64, 64)), 40U);
  EXPECT_GE(spread(order_of({Order::rows, 1, 1}, 64, 64)), 66U);
}

TEST(TileOrders, BlocksShareTheTiles) {
  for (const Order order : {Order::rows, Order::grouped, Order::hilbert}) {
    const auto kernel = kernel_of({order, 4, 1});
    EXPECT_TRUE(rc::check([&] {
      const std::int64_t m = *rc::gen::inRange(0, 12), n = *rc::gen::inRange(1, 12), blocks = *rc::gen::inRange(1, 9);
      std::multiset<Place2> seen;
      for (std::int64_t b = 0; b < blocks; ++b) {
        for (const Place2& tile : tiles_of(*kernel, m, n, {.block = b, .blocks = blocks})) seen.insert(tile);
      }
      std::multiset<Place2> expected;
      for (std::int64_t i = 0; i < m * n; ++i) expected.emplace(i / n, i % n);
      RC_ASSERT(seen == expected);
    }));
  }
}

TEST(TileOrders, BlocksOfAClusterTakeNeighboursInM) {
  for (const Order order : {Order::rows, Order::grouped, Order::hilbert}) {
    const auto kernel = kernel_of({order, 4, 2});
    EXPECT_TRUE(rc::check([&] {
      const std::int64_t m = *rc::gen::inRange(1, 12), n = *rc::gen::inRange(1, 12), clusters = *rc::gen::inRange(1, 5);
      std::multiset<Place2> seen;
      for (std::int64_t c = 0; c < clusters; ++c) {
        const auto first = tiles_of(*kernel, m, n, {.block = 2 * c, .blocks = 2 * clusters, .rank = 0});
        const auto second = tiles_of(*kernel, m, n, {.block = 2 * c + 1, .blocks = 2 * clusters, .rank = 1});
        RC_ASSERT(first.size() == second.size());
        for (std::size_t i = 0; i < first.size(); ++i) {
          RC_ASSERT(first[i].first % 2 == 0);
          RC_ASSERT(second[i] == Place2(first[i].first + 1, first[i].second));
          seen.insert(first[i]);
          if (second[i].first < m) seen.insert(second[i]);  // the row past an odd number of rows
        }
      }
      std::multiset<Place2> expected;
      for (std::int64_t i = 0; i < m * n; ++i) expected.emplace(i / n, i % n);
      RC_ASSERT(seen == expected);
    }));
  }
}

TEST(TileOrders, AtInAKernelThatIsNotPersistent) {
  const auto kernel = trace_body([](Program& k) {
    GroupedTiles tiles(5, 3, 2);
    EXPECT_TRUE(tiles.count().ref().expr->is_constant(15));
    const Tile tile = tiles.at(blockIdx.x);
    k.print("{} {}\n", tile.m, tile.n);
  });
  const std::vector<std::vector<std::int64_t>> last{{4, 2}};
  EXPECT_EQ(ScalarRun(*kernel, {0, 0, 0, 0}, {.block = 14, .blocks = 15}).printed, last);
}

TEST(TileOrderErrors, Group) {
  for (const int group : {0, -2, 5000}) {
    expect_mistake(
        [&](Program&) {
          GroupedTiles tiles(8, 8, group);  // <- error
        },
        "GroupedTiles with groups of " + std::to_string(group) + " rows of tiles");
  }
}

TEST(TileOrderErrors, Cluster) {
  expect_mistake(
      [](Program&) {
        RowTiles tiles(8, 8, {.cluster = 2});  // <- error
      },
      "RowTiles with .cluster = 2 in a kernel whose clusters have 1 blocks along x and 1 in all");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = 2;
        k.attrs.blocks = persistent_grid();
        k.attrs.warps = 4;
        GroupedTiles tiles(8, 8, 3, {.cluster = 2});  // <- error
      },
      "a multiple of .cluster (2)");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = {1, 2};
        k.attrs.blocks = {1, 2};
        k.attrs.warps = 4;
        HilbertTiles tiles(8, 8, {.cluster = 2});  // <- error
      },
      "clusters along x");
}

TEST(TileOrderErrors, BreakOutOfTheLoop) {
  expect_mistake(
      [](Program&) {
        RowTiles tiles(8, 8);
        for (auto tile : tiles) {  // <- error
          (void)tile;
          break;
        }
      },
      "C++ break, return or goto leaves this loop");
}

}  // namespace
}  // namespace tessera::test
