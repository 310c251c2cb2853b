// The parts of the tile orders that need no templates.
#include "tessera/lang/tiles.hpp"

#include <fmt/format.h>

#include "lang/tracer.hpp"

namespace tessera {

namespace detail {

Int32 linear_block(int cluster, SourceLoc loc) {
  const Int32 block(make_block_idx(0, loc));
  return cluster == 1 ? block : block / cluster;
}

// At least one: a grid consists of whole clusters.
Int32 number_of_blocks(int cluster, SourceLoc loc) {
  const Int32 blocks(make_grid_dim(0, loc));
  if (cluster == 1) return blocks;
  return Int32(bind_bounded((blocks / cluster).ref(), "clusters", 1, INT32_MAX, loc));
}

Int32 at_least_one(const Int32& x, SourceLoc loc) { return max(x, 1, loc); }

int check_tile_cluster(const char* order, int extent, SourceLoc loc) {
  lang::Tracer& t = lang::Tracer::current(order, loc);
  const int size = t.use_cluster(loc);
  if (extent == 1 || (extent > 1 && extent == size && extent == t.kernel->cluster[0])) return extent;
  t.error(loc,
          fmt::format("{} with .cluster = {} in a kernel whose clusters have {} blocks along x and {} in all", order,
                      extent, t.kernel->cluster[0], size),
          "give the extent of attrs.cluster = {...}, set before, whose clusters along x share tiles, or leave it out");
  return 1;
}

}  // namespace detail

namespace {

// A rectangle of units that the curve runs through from the corner (m, n): its long side first. The side `width` points
// along (dm, dn), the side `height` along (em, en).
struct Walk {
  Var<Int32> m, n, dm, dn, em, en, width, height, rest;
};

void move(const Walk& w, Var<Int32>& m, Var<Int32>& n, const Int32& along, const Int32& across) {
  m += w.dm * along + w.em * across;
  n += w.dn * along + w.en * across;
}

// A wide rectangle: two halves, one after the other. The first keeps an even width where it can, which lets its curve
// end next to the second.
void split_wide(Walk& w) {
  const Int32 half = w.width / 2;
  const Int32 first = select(half % 2 != 0 && w.width > 2, half + 1, half);
  if (auto _ = when(w.rest < first * w.height)) w.width = first;
  if (auto _ = otherwise()) {
    w.rest -= first * w.height;
    move(w, w.m, w.n, first, 0);
    w.width -= first;
  }
}

// Another one: up across its first half, along over the rest of its height, and down across the second half.
void split_square(Walk& w) {
  const Int32 left = w.width / 2, half = w.height / 2;
  const Int32 low = select(half % 2 != 0 && w.height > 2, half + 1, half);
  const Int32 up = low * left, along = w.width * (w.height - low);
  const Int32 dm = w.dm, dn = w.dn, em = w.em, en = w.en, width = w.width;
  if (auto _ = when(w.rest < up)) {
    w.dm = em, w.dn = en, w.em = dm, w.en = dn;
    w.width = low, w.height = left;
  }
  if (auto _ = otherwise()) {
    w.rest -= up;
    if (auto _ = when(w.rest < along)) {
      move(w, w.m, w.n, 0, low);
      w.height -= low;
    }
    if (auto _ = otherwise()) {
      w.rest -= along;
      move(w, w.m, w.n, width - 1, low - 1);
      w.dm = -em, w.dn = -en, w.em = -dm, w.en = -dn;
      w.width = low, w.height = width - left;
    }
  }
}

}  // namespace

Tile HilbertTiles::unit(const Int32& number, SourceLoc loc) const {
  const Bool wide = columns_ >= rows_;
  const Int32 along_n = cast<Int32>(wide), along_m = 1 - along_n;
  Walk w{0,     0, along_m, along_n, along_n, along_m, select(wide, columns_, rows_), select(wide, rows_, columns_),
         number};
  for (auto _ : loop_while([&] { return w.width > 1 && w.height > 1; }, loc)) {
    (void)_;
    if (auto _ = when(2 * w.width > 3 * w.height)) split_wide(w);
    if (auto _ = otherwise()) split_square(w);
  }
  // One row or one column is left.
  const Bool flat = w.height == 1;
  return {w.m + select(flat, w.dm, w.em) * w.rest, w.n + select(flat, w.dn, w.en) * w.rest};
}

}  // namespace tessera
