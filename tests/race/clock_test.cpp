// Knowledge against a model that keeps a time for every lane of every component.
#include "race/clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tessera::race {
namespace {

constexpr int warps = 3, components = 5;  // the last two have no lanes

struct Model {
  std::array<std::array<Time, lanes_of_warp>, components> at{};

  void raise(Component c, Time t) {
    for (Time& x : at[c]) x = std::max(x, t);
  }
  void raise_lane(Component c, int lane, Time t) {
    Time& x = at[c][static_cast<std::size_t>(lane)];
    x = std::max(x, t);
  }
  void join(const Model& o, Component end) {
    for (Component c = 0; c < end; ++c) {
      for (std::size_t lane = 0; lane < lanes_of_warp; ++lane) at[c][lane] = std::max(at[c][lane], o.at[c][lane]);
    }
  }
  void forget(Component begin, Component end) {
    for (Component c = begin; c < end; ++c) at[c].fill(0);
  }
};

struct Both {
  Knowledge real;
  Model model;
};

void expect_equal(const Both& b) {
  for (Component c = 0; c < components; ++c) {
    const auto& lanes = b.model.at[c];
    RC_ASSERT(b.real.of(c) == *std::min_element(lanes.begin(), lanes.end()));
    for (int lane = 0; lane < lanes_of_warp; ++lane) {
      const Time t = lanes[static_cast<std::size_t>(lane)];
      RC_ASSERT(b.real.knows_lane(c, lane, t));
      RC_ASSERT(!b.real.knows_lane(c, lane, t + 1));
    }
  }
}

// Several clocks that raise, join and forget at random stay equal to their models. Few lanes take part, so that all of
// a warp's catch up now and then.
void random_steps() {
  std::array<Both, 3> clocks;
  const int steps = *rc::gen::inRange(1, 120);
  for (int i = 0; i < steps; ++i) {
    Both& b = clocks[*rc::gen::inRange<std::size_t>(0, clocks.size())];
    const Both other = clocks[*rc::gen::inRange<std::size_t>(0, clocks.size())];
    const Time t = *rc::gen::inRange<Time>(1, 6);
    const auto c = *rc::gen::inRange<Component>(0, components);
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        b.real.raise(c, t);
        b.model.raise(c, t);
        break;
      case 1: {
        const int lane = *rc::gen::inRange(0, lanes_of_warp);
        b.real.raise_lane(c % warps, lane, t);
        b.model.raise_lane(c % warps, lane, t);
        break;
      }
      case 2:  // all lanes but one, one by one
        for (int lane = 0; lane + 1 < lanes_of_warp; ++lane) {
          b.real.raise_lane(c % warps, lane, t);
          b.model.raise_lane(c % warps, lane, t);
        }
        break;
      case 3:
        b.real.join(other.real);
        b.model.join(other.model, components);
        break;
      case 4:
        b.real.join_below(other.real, warps);
        b.model.join(other.model, warps);
        break;
      default:
        b.real.forget(1, 3);
        b.model.forget(1, 3);
        break;
    }
  }
  for (const Both& b : clocks) expect_equal(b);
}

TEST(Knowledge, IsATimeForEveryLane) { EXPECT_TRUE(rc::check(random_steps)); }

TEST(Knowledge, LanesThatAllCaughtUpAreTheWholeWarp) {
  Knowledge k;
  for (int lane = 0; lane < lanes_of_warp; ++lane) {
    EXPECT_FALSE(k.knows(0, 4));
    k.raise_lane(0, lane, 4);
  }
  EXPECT_TRUE(k.knows(0, 4));
}

}  // namespace
}  // namespace tessera::race
