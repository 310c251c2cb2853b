// What a picture of a cluster is made of: when each event begins and ends, and which ones are one bar.
#include "sim/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using sim::Recorder;
using sim::Timeline;
using sim::TimelineEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Kind = TimelineEvent::Kind;
using Extent = std::pair<std::uint64_t, std::uint64_t>;

struct RecorderTest : ::testing::Test {
  std::vector<TimelineEvent> of(Kind kind, const std::string& track = "") const {
    std::vector<TimelineEvent> found;
    for (const TimelineEvent& event : timeline_.events) {
      const bool here = track.empty() || timeline_.tracks[event.track].name == track;
      if (event.kind == kind && here) found.push_back(event);
    }
    return found;
  }
  std::vector<Extent> extents(Kind kind, const std::string& track = "") const {
    std::vector<Extent> found;
    for (const TimelineEvent& event : of(kind, track)) found.emplace_back(event.begin, event.end);
    return found;
  }
  sim::Site warp(int index) const { return {&block_, nullptr, index, -1}; }
  // Runs a warp for some statements, with something that happens after each.
  template <typename F>
  void run(int index, int statements, F&& after_each) {
    recorder_.runs(warp(index), statements_);
    for (int i = 0; i < statements; ++i) {
      ++statements_;
      after_each(i);
    }
    recorder_.ran();
  }
  void run(int index, int statements) {
    run(index, statements, [](int) {});
  }
  void issue(std::uint32_t operation, Kind kind, const char* tile, std::uint32_t time, int by = 0) {
    recorder_.issued(operation, kind, warp(by), block_.index, tile, 7, time);
  }

  sim::BlockInfo block_;
  Timeline timeline_;
  Recorder recorder_{timeline_};
  std::uint64_t statements_ = 1000;
};

TEST_F(RecorderTest, EventsAreAtTheStatementThatTheyHappenAt) {
  run(0, 5);
  run(1, 10, [&](int i) {
    if (i == 2 || i == 6) recorder_.arrived(block_, "full[0]", warp(1));
    if (i == 6) recorder_.completed(block_, "full[0]", 0, nullptr);
  });
  recorder_.finish();
  EXPECT_THAT(extents(Kind::arrival), ElementsAre(Extent(8, 8), Extent(12, 12)));
  EXPECT_THAT(extents(Kind::phase), ElementsAre(Extent(0, 12)));
  EXPECT_THAT(extents(Kind::run, "warp 1"), ElementsAre(Extent(5, 15)));
  EXPECT_EQ(timeline_.end, 15U);
}

TEST_F(RecorderTest, TurnsThatFollowEachOtherAreOneRun) {
  run(0, 5);
  run(0, 3);
  run(1, 2);
  run(0, 4);
  recorder_.finish();
  EXPECT_THAT(extents(Kind::run, "warp 0"), ElementsAre(Extent(0, 8), Extent(10, 14)));
}

TEST_F(RecorderTest, AWaitLastsUntilTheWarpRuns) {
  run(0, 5);
  recorder_.blocked(warp(0), "waits on mbarrier full[0]");
  run(1, 7);
  run(0, 1);
  recorder_.blocked(warp(0), "waits for nothing that takes time");
  run(0, 1);
  recorder_.finish();
  EXPECT_THAT(extents(Kind::wait), ElementsAre(Extent(5, 12)));
}

TEST_F(RecorderTest, AGroupOfWgmmasIsOneBarOfItsEngine) {
  run(4, 8, [&](int i) {
    if (i == 1 || i == 2) issue(2U * static_cast<std::uint32_t>(i), Kind::wgmma, "sa[0]", 1, 4);
    if (i == 1 || i == 2) issue(2U * static_cast<std::uint32_t>(i) + 1, Kind::wgmma, "sb[0]", 1, 4);
    if (i == 4) issue(20, Kind::wgmma, "sa[1]", 2, 4);
    if (i == 5) recorder_.performed(5);
    if (i == 6) recorder_.covered(7, 1);
  });
  recorder_.finish();
  const auto bars = of(Kind::wgmma, "wgmma of warp 4");
  ASSERT_THAT(bars, SizeIs(2));
  EXPECT_THAT(extents(Kind::wgmma), ElementsAre(Extent(2, 6), Extent(5, 8)));  // the second was never waited for
  EXPECT_THAT(bars[0].label, HasSubstr("sa[0], sb[0]: wgmma of"));
  EXPECT_THAT(extents(Kind::held, "sb[0]"), ElementsAre(Extent(2, 7)));  // until the wait
}

TEST_F(RecorderTest, ATileIsHeldFromTheFirstOperationToTheLast) {
  run(4, 8, [&](int i) {
    if (i < 3) issue(static_cast<std::uint32_t>(i), Kind::store, "sc", 1);
    if (i == 3) recorder_.done(0);
    if (i == 5) recorder_.done(2);
    if (i == 6) recorder_.done(1);
    if (i == 6) recorder_.done(1);  // known to be done
  });
  recorder_.finish();
  EXPECT_THAT(extents(Kind::held, "sc"), ElementsAre(Extent(1, 7)));
  EXPECT_THAT(extents(Kind::store, "TMA"), ElementsAre(Extent(1, 4), Extent(3, 6), Extent(2, 7)));
}

TEST_F(RecorderTest, WhatGoesOnWhenAnErrorEndsTheRunIsKept) {
  recorder_.blocked(warp(0), "waits on mbarrier full[0]");
  recorder_.runs(warp(1), statements_);
  issue(1, Kind::copy, "sa[0]", 1, 1);
  statements_ += 3;
  Finding finding;
  finding.hazard = Hazard::deadlock;
  finding.warp = 1;
  finding.diagnostic.message = "nobody arrives";
  recorder_.failed(finding);
  recorder_.finish();
  EXPECT_THAT(extents(Kind::run, "warp 1"), ElementsAre(Extent(0, 3)));
  EXPECT_THAT(extents(Kind::wait, "warp 0"), ElementsAre(Extent(0, 3)));
  EXPECT_THAT(extents(Kind::copy), ElementsAre(Extent(0, 3)));
  ASSERT_THAT(of(Kind::finding, "warp 1"), SizeIs(1));
  EXPECT_EQ(of(Kind::finding)[0].label, "deadlock: nobody arrives");
  EXPECT_EQ(timeline_.end, 3U);
}

// The same for a kernel: its first warp waits for ever.
TEST(TimelineOfACluster, ADeadlockIsInIt) {
  KernelBuilder b(2, 64);
  b.region("bars", 16, 16, true);
  b.when(b.thread_idx() == 0, [&] {
    b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(16), 1U);
    b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(16), b.u32(0));
  });
  Timeline timeline;
  std::vector<Finding> findings;
  sim::Options options = testing::options("eager");
  options.findings = &findings;
  options.timeline = &timeline;
  sim::run(b.kernel, {}, options);
  ASSERT_THAT(findings, SizeIs(1));
  std::vector<std::string> marks, waits;
  for (const TimelineEvent& event : timeline.events) {
    if (event.kind == Kind::finding) marks.push_back(event.label);
    if (event.kind == Kind::wait) waits.push_back(event.label);
  }
  EXPECT_THAT(marks, ElementsAre("deadlock: " + findings[0].diagnostic.message));
  EXPECT_THAT(waits, ElementsAre("waits on mbarrier bars[0]"));
  EXPECT_GT(timeline.end, 0U);
}

}  // namespace
}  // namespace tessera::testing
