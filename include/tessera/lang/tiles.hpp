// Orders in which a kernel goes through the tiles of its result. In a persistent kernel
//   for (auto tile : tiles) {...}      tile.m and tile.n of every tile that falls to this block
// and elsewhere tiles.at(blockIdx.x). An order is made outside loops and thread groups.
#pragma once

#include "tessera/lang/cluster.hpp"
#include "tessera/lang/fast_divmod.hpp"
#include "tessera/lang/scope.hpp"

namespace tessera {

struct Tile {
  Int32 m, n;
};

struct TileOptions {
  // attrs.cluster = {cluster} where the blocks of a cluster share operands: block r gets tile.m = cluster * unit + r,
  // and all blocks of a cluster go through the same number of tiles. The last unit may reach past tiles_m: loads there
  // give zeros and stores nothing.
  int cluster = 1;
};

namespace detail {

Int32 linear_block(int cluster, SourceLoc loc);  // this cluster's number in the grid's row
Int32 number_of_blocks(int cluster, SourceLoc loc);
Int32 at_least_one(const Int32& x, SourceLoc loc);
int check_tile_cluster(const char* order, int cluster, SourceLoc loc);  // the cluster's extent; 1 after a mistake

// The loop over an order's tiles.
template <class Order>
class TileLoop {
 public:
  TileLoop(const Order& order, int turn, int turns, SourceLoc loc)
      : TileLoop(order, turn, turns, number_of_blocks(order.cluster(), loc), loc) {}
  TileLoop(const TileLoop&) = delete;
  TileLoop& operator=(const TileLoop&) = delete;
  ~TileLoop() = default;
  Tile operator*() { return order_.at(*range_.begin(), loc_); }
  TileLoop& operator++() {
    ++range_.begin();
    return *this;
  }
  bool operator!=(Loop::End end) { return range_.begin() != end; }

 private:
  TileLoop(const Order& order, int turn, int turns, const Int32& blocks, SourceLoc loc)
      : order_(order),
        loc_(loc),
        range_(range(linear_block(order.cluster(), loc) + blocks * turn, order.count(), blocks * turns, {}, loc)) {}

  const Order& order_;
  SourceLoc loc_;
  Range<std::int32_t> range_;
};

// Every `turns`-th tile of this block.
template <class Order>
class TileTurns {
 public:
  TileTurns(const Order& order, int turn, int turns, SourceLoc loc)
      : order_(order), turn_(turn), turns_(turns), loc_(loc) {}
  TileLoop<Order> begin() const { return {order_, turn_, turns_, loc_}; }
  Loop::End end() const { return {}; }

 private:
  const Order& order_;
  int turn_, turns_;
  SourceLoc loc_;
};

// What the orders have in common. A unit is one tile, or the tiles of one cluster; Order::unit maps 0 .. count() - 1 to
// units.
template <class Order>
class TileOrder {
 public:
  // The number of units.
  const Int32& count() const { return count_; }
  int cluster() const { return cluster_; }
  // This block's tile of the unit of this number.
  Tile at(const Int32& number, SourceLoc loc = SourceLoc::here()) const {
    const Tile unit = static_cast<const Order*>(this)->unit(number, loc);
    if (cluster_ == 1) return unit;
    return {unit.m * cluster_ + tessera::cluster.rank(loc), unit.n};
  }
  // Of this block's tiles those with the numbers turn, turn + turns, ...: for groups that take turns at whole tiles.
  TileTurns<Order> turns(const HostInt& turn, const HostInt& turns, SourceLoc loc = SourceLoc::here()) const {
    if (turns.value < 1 || turn.value < 0 || turn.value >= turns.value) {
      report(loc, "turn " + std::to_string(turn.value) + " of " + std::to_string(turns.value),
             "turns are numbered from 0 to one less than their number");
    }
    return {static_cast<const Order&>(*this), static_cast<int>(turn.value), static_cast<int>(turns.value), loc};
  }
  TileLoop<Order> begin(SourceLoc loc = SourceLoc::here()) const {
    return {static_cast<const Order&>(*this), 0, 1, loc};
  }
  Loop::End end() const { return {}; }

 protected:
  TileOrder(const char* order, const Int32& tiles_m, const Int32& tiles_n, const TileOptions& options, SourceLoc loc)
      : cluster_(check_tile_cluster(order, options.cluster, loc)),
        rows_(bind_bounded(cdiv(tiles_m, cluster_, loc).ref(), "rows", 0, INT32_MAX, loc)),
        columns_(bind_bounded(tiles_n.ref(), "columns", 0, INT32_MAX, loc)),
        count_(bind_bounded((rows_ * columns_).ref(), "units", 0, INT32_MAX, loc)) {}

  int cluster_;
  Int32 rows_, columns_;  // of units
  Int32 count_;
};

}  // namespace detail

// Row by row.
class RowTiles : public detail::TileOrder<RowTiles> {
 public:
  RowTiles(const Int32& tiles_m, const Int32& tiles_n, const TileOptions& options = {},
           SourceLoc loc = SourceLoc::here())
      : TileOrder("RowTiles", tiles_m, tiles_n, options, loc), row_(detail::at_least_one(columns_, loc), loc) {}
  Tile unit(const Int32& number, SourceLoc loc = SourceLoc::here()) const {
    const DivMod place = row_.divmod(number, loc);
    return {place.quotient, place.remainder};
  }

 private:
  FastDivisor row_;
};

// Groups of `group` rows of tiles, the last one perhaps smaller; within a group column by column, down its rows first,
// so that blocks that run at the same time share operands in both directions.
class GroupedTiles : public detail::TileOrder<GroupedTiles> {
 public:
  GroupedTiles(const Int32& tiles_m, const Int32& tiles_n, const detail::HostInt& group,
               const TileOptions& options = {}, SourceLoc loc = SourceLoc::here())
      : TileOrder("GroupedTiles", tiles_m, tiles_n, options, loc),
        height_(check(group, cluster_, loc)),
        group_(detail::at_least_one(columns_ * height_, loc), loc) {}
  Tile unit(const Int32& number, SourceLoc loc = SourceLoc::here()) const {
    const DivMod place = group_.divmod(number, loc);
    const Int32 first = place.quotient * height_;
    const Int32 height(detail::bind_bounded(min(rows_ - first, height_, loc).ref(), "height", 1, height_, loc));
    const Int32 column = place.remainder / height;
    return {first + (place.remainder - column * height), column};
  }

 private:
  static int check(const detail::HostInt& group, int cluster, SourceLoc loc) {
    if (group.value >= 1 && group.value <= 4096 && group.value % cluster == 0)
      return static_cast<int>(group.value) / cluster;
    detail::report(loc, "GroupedTiles with groups of " + std::to_string(group.value) + " rows of tiles",
                   "a group has 1 to 4096 rows, a multiple of .cluster (" + std::to_string(cluster) + ")");
    return 1;
  }
  int height_;  // of a group, in units
  FastDivisor group_;
};

// Along a Hilbert curve, generalised to any extents: neighbours in the order are neighbours in the matrix (a diagonal
// step where an odd extent forces one), at every scale. Costs a loop of about log2(count) steps a tile.
class HilbertTiles : public detail::TileOrder<HilbertTiles> {
 public:
  HilbertTiles(const Int32& tiles_m, const Int32& tiles_n, const TileOptions& options = {},
               SourceLoc loc = SourceLoc::here())
      : TileOrder("HilbertTiles", tiles_m, tiles_n, options, loc) {}
  Tile unit(const Int32& number, SourceLoc loc = SourceLoc::here()) const;
};

}  // namespace tessera
