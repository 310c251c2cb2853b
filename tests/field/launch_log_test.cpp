// Which launches may have failed, after any order of launches and waits: against a list that forgets nothing.
#include "jit/launch_log.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "counting_new.hpp"
#include "runtime_fixture.hpp"

namespace tessera::jit {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

LaunchOrigin at_line(std::uint32_t line) {
  LaunchOrigin origin;
  origin.kernel = "Kernel";
  origin.call.file = "program.cpp";
  origin.call.line = line;
  return origin;
}
std::vector<std::uint32_t> lines(const LaunchLog& log) {
  std::vector<std::uint32_t> result;
  for (const LaunchLog::Launch& launch : log.recent()) result.push_back(launch.origin.call.line);
  return result;
}
const void* handle(std::uintptr_t number) { return reinterpret_cast<const void*>(number); }

struct LaunchLogTest : ::testing::Test {
  std::unique_ptr<LaunchLog> log = std::make_unique<LaunchLog>();
  int one = 0, two = 0;  // their addresses are streams
  void launch(std::uint32_t line, const void* stream) const { log->add(at_line(line), stream); }
};

TEST_F(LaunchLogTest, AWaitForAStreamClearsItsLaunchesUpToItsBeginning) {
  launch(1, &one);
  launch(2, &two);
  launch(3, nullptr);
  const LaunchLog::Place place = log->place(&one);
  launch(4, &one);  // while somebody waits
  log->clear(place);
  EXPECT_THAT(lines(*log), ElementsAre(4, 3, 2));
  log->clear(log->place(nullptr));
  EXPECT_THAT(lines(*log), ElementsAre(4, 2));
  log->clear(log->position());
  EXPECT_THAT(lines(*log), IsEmpty());
}

TEST_F(LaunchLogTest, TheDefaultStreamHasTwoNames) {
  launch(1, nullptr);
  launch(2, handle(1));
  launch(3, &one);
  log->clear(log->place(handle(1)));
  EXPECT_THAT(lines(*log), ElementsAre(3));
  launch(4, handle(1));
  log->clear(log->place(nullptr));
  EXPECT_THAT(lines(*log), ElementsAre(3));
}

// Its handle is the same in every thread, and means another stream in each.
TEST_F(LaunchLogTest, AWaitForTheStreamOfAThreadProvesNothing) {
  launch(1, handle(2));
  log->clear(log->place(handle(2)));
  EXPECT_THAT(lines(*log), ElementsAre(1));
  log->clear(log->position());
  EXPECT_THAT(lines(*log), IsEmpty());
}

TEST_F(LaunchLogTest, AnotherStreamAtTheSameHandleIsNotTheOneBefore) {
  launch(1, &one);
  const LaunchLog::Place place = log->place(&one);
  log->clear(place);
  launch(2, &one);
  log->retire(&one);
  launch(3, &one);  // the new one
  log->clear(log->place(&one));
  EXPECT_THAT(lines(*log), ElementsAre(2));
  log->clear(log->position());
  EXPECT_THAT(lines(*log), IsEmpty());
}

// The words of an old launch say nothing about the one that has taken its slot.
TEST_F(LaunchLogTest, ASlotThatIsUsedAgainIsNewlyUnfinished) {
  for (std::uint32_t i = 0; i < LaunchLog::capacity; ++i) launch(i, &one);
  const LaunchLog::Place old = log->place(&one);
  log->clear(old);
  EXPECT_THAT(lines(*log), IsEmpty());
  launch(100, &one);
  log->clear(old);
  EXPECT_THAT(lines(*log), ElementsAre(100));
  log->retire(&one);
  for (std::uint32_t i = 0; i < LaunchLog::capacity; ++i) launch(200 + i, &one);
  EXPECT_EQ(lines(*log).size(), LaunchLog::capacity);
  log->clear(log->place(&one));
  EXPECT_THAT(lines(*log), IsEmpty());
}

// The reference: every launch there was, and what is known of it.
class Model {
 public:
  void launch(std::uint32_t line, std::size_t stream) { launches_.push_back({line, stream, incarnation_[stream]}); }
  struct Place {
    std::size_t stream = 0, count = 0;
    int incarnation = 0;
  };
  Place place(std::size_t stream) const { return {stream, launches_.size(), incarnation_[stream]}; }
  void finish(const Place& place) {
    for (std::size_t i = 0; i < place.count; ++i) {
      One& one = launches_[i];
      if (one.stream == place.stream && one.incarnation == place.incarnation &&
          one.incarnation == incarnation_[one.stream])
        one.finished = true;
    }
  }
  void finish_all(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) launches_[i].finished = true;
  }
  void retire(std::size_t stream) { ++incarnation_[stream]; }
  std::size_t size() const { return launches_.size(); }
  std::vector<std::uint32_t> unfinished() const {
    std::vector<std::uint32_t> result;
    const std::size_t first = launches_.size() - std::min(launches_.size(), LaunchLog::capacity);
    for (std::size_t i = launches_.size(); i-- > first;) {
      if (!launches_[i].finished) result.push_back(launches_[i].line);
    }
    return result;
  }

 private:
  struct One {
    std::uint32_t line;
    std::size_t stream;
    int incarnation;
    bool finished = false;
  };
  std::vector<One> launches_;
  std::array<int, 4> incarnation_{};
};

// Waits that are under way, on streams and events, end in any order.
TEST_F(LaunchLogTest, AnyOrderOfLaunchesAndWaits) {
  std::array<int, 4> objects{};
  const std::array<const void*, 4> streams = {nullptr, &objects[1], &objects[2], &objects[3]};
  for (std::uint32_t seed = 0; seed < 80; ++seed) {
    std::mt19937 random(seed);
    log = std::make_unique<LaunchLog>();
    Model model;
    struct Wait {
      LaunchLog::Place place;
      Model::Place expected;
    };
    std::deque<Wait> waits;
    std::uint32_t line = 0;
    for (int step = 0; step < 400; ++step) {
      const std::size_t stream = random() % 4;
      const std::uint32_t action = random() % 100;
      if (action < 60) {
        launch(++line, streams[stream]);
        model.launch(line, stream);
      } else if (action < 75) {
        waits.push_back({log->place(streams[stream]), model.place(stream)});
      } else if (action < 95 && !waits.empty()) {
        const auto which = waits.begin() + static_cast<std::ptrdiff_t>(random() % waits.size());
        log->clear(which->place);
        model.finish(which->expected);
        waits.erase(which);
      } else if (action < 97 && stream != 0) {
        log->retire(streams[stream]);
        model.retire(stream);
      } else if (action == 99) {
        log->clear(log->position());
        model.finish_all(model.size());
      }
      ASSERT_EQ(lines(*log), model.unfinished()) << "seed " << seed << ", step " << step;
    }
  }
}

TEST_F(LaunchLogTest, ThreadsClearTheirOwn) {
  constexpr std::uint32_t threads = 4, launches = 5000;
  std::array<int, threads> streams{};
  launch(1, nullptr);  // until it is overwritten
  std::vector<std::thread> running;
  for (std::uint32_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < launches; ++i) {
        launch(1000 * (t + 1), &streams[t]);
        if (i % 3 == 0) log->clear(log->place(&streams[t]));
        if (i % 64 == 0) static_cast<void>(log->recent());
      }
      log->clear(log->place(&streams[t]));
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_THAT(lines(*log), IsEmpty());
  launch(2, &streams[0]);
  EXPECT_THAT(lines(*log), ElementsAre(2));
}

TEST_F(LaunchLogTest, NothingIsAllocated) {
  const std::size_t before = test::allocations;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    launch(i, i % 2 == 0 ? &one : &two);
    if (i % 5 == 0) log->clear(log->place(&one));
    if (i % 100 == 0) log->retire(&two);
  }
  EXPECT_EQ(test::allocations, before);
  EXPECT_FALSE(lines(*log).empty());
}

}  // namespace
}  // namespace tessera::jit
