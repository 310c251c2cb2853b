// Which earlier accesses to 16 bytes a later one is compared with.
#include "race/shadow.hpp"

#include <gtest/gtest.h>

namespace tessera::race {
namespace {

Entry access(AccessId id, Component component, Time time, std::uint16_t bytes) {
  Entry e;
  e.access = id;
  e.component = component;
  e.time = time;
  e.bytes = bytes;
  return e;
}

// The accesses that still stand for some of `bytes`.
std::vector<AccessId> standing(const std::vector<Entry>& entries, std::uint16_t bytes) {
  std::vector<AccessId> ids;
  for (const Entry& e : entries) {
    if ((e.bytes & bytes) != 0) ids.push_back(e.access);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}
using Ids = std::vector<AccessId>;

TEST(Shadow, AWriteReplacesWhatItCovers) {
  Cell cell;
  overwrite(cell, access(1, 0, 1, 0xffff), 0, 0);
  add(cell.reads, access(2, 1, 1, 0x00ff), 0, 0);
  overwrite(cell, access(3, 2, 1, 0x000f), 0, 0);
  EXPECT_EQ(standing(cell.writes, 0x000f), Ids{3});
  EXPECT_EQ(standing(cell.writes, 0xfff0), Ids{1});
  EXPECT_EQ(standing(cell.reads, 0x000f), Ids{});
  EXPECT_EQ(standing(cell.reads, 0x00f0), Ids{2});
}

TEST(Shadow, ALaterReadStandsForTheEarlierOnesThatItsWarpKnows) {
  Cell cell;
  add(cell.reads, access(1, 0, 3, 0xffff), 5, 0);
  add(cell.reads, access(2, 0, 4, 0xffff), 6, 2);  // lane 6 does not know what lane 5 did at time 3
  EXPECT_EQ(standing(cell.reads, 0xffff), (Ids{1, 2}));
  add(cell.reads, access(3, 0, 5, 0xffff), 6, 4);  // now all know
  EXPECT_EQ(standing(cell.reads, 0xffff), Ids{3});
  add(cell.reads, access(4, 1, 1, 0xffff), 0, 9);  // another warp's
  EXPECT_EQ(standing(cell.reads, 0xffff), (Ids{3, 4}));
}

TEST(Shadow, BytesRememberTheirLane) {
  Cell cell;
  add(cell.reads, access(1, 0, 1, 0x000f), 3, 0);
  add(cell.reads, access(1, 0, 1, 0x00f0), 4, 0);
  add(cell.reads, access(1, 0, 1, 0x0f00), 5, 0);
  add(cell.reads, access(1, 0, 1, 0x0f00), 6, 0);  // a broadcast
  ASSERT_EQ(cell.reads.size(), 1U);
  EXPECT_EQ(cell.reads[0].lane[0], 3);
  EXPECT_EQ(cell.reads[0].lane[7], 4);
  EXPECT_EQ(cell.reads[0].lane[8], several_lanes);
}

TEST(Shadow, PlacesAreUsedAgain) {
  Cell cell;
  for (AccessId id = 0; id < 1000; ++id) {
    for (Component c = 0; c < 4; ++c) add(cell.reads, access(4 * id + c, c, id, 0xffff), 0, never);
    overwrite(cell, access(4000 + id, 5, id, 0x00ff), 0, never);
  }
  EXPECT_LE(cell.reads.size(), 8U);
  EXPECT_LE(cell.writes.size(), 2U);
}

}  // namespace
}  // namespace tessera::race
