#include <thread>

#include "runtime/progress.hpp"
#include "runtime_fixture.hpp"

namespace tessera::runtime {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

struct ProgressTest : test::RuntimeTest {
  void work() {
    ProgressTask task("MyKernel");
    task.phase("compiling", 2);
    task.advance();
    task.advance();
    task.finish("chose block=64");
  }
};

TEST_F(ProgressTest, QuickWorkSaysNothing) {
  work();
  EXPECT_EQ(messages_, "");
}

TEST_F(ProgressTest, SlowWorkIsAnnouncedOncePerPhase) {
  ProgressTask task("MyKernel");
  task.phase("compiling", 3);
  task.advance();
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  task.advance();
  task.advance();
  EXPECT_EQ(messages_, "tessera: MyKernel: compiling (2 of 3 done)\n");
  task.finish("chose block=64");
  EXPECT_THAT(messages_, HasSubstr("tessera: MyKernel: chose block=64\n"));
}

TEST_F(ProgressTest, LinesByRequest) {
  set_progress(Progress::lines);
  EXPECT_EQ(progress(), Progress::lines);
  work();
  EXPECT_EQ(messages_, "tessera: MyKernel: compiling (0 of 2 done)\ntessera: MyKernel: chose block=64\n");
}

TEST_F(ProgressTest, BarByRequest) {
  set_progress(Progress::bar);
  work();
  EXPECT_THAT(messages_, HasSubstr("\r\x1b[Ktessera: MyKernel [========================] 2/2 compiling"));
  EXPECT_THAT(messages_, HasSubstr("\r\x1b[Ktessera: MyKernel: chose block=64\n"));
}

TEST_F(ProgressTest, ABarIsErasedWhenTheWorkFails) {
  set_progress(Progress::bar);
  {
    ProgressTask task("MyKernel");
    task.phase("compiling", 2);
  }
  EXPECT_EQ(messages_.substr(messages_.size() - 4), "\r\x1b[K");
}

TEST_F(ProgressTest, QuietIsSilent) {
  set_progress(Progress::quiet);
  work();
  warn("something");
  EXPECT_EQ(messages_, "");
}

TEST_F(ProgressTest, QuietByTheEnvironment) {
  ::setenv("TESSERA_QUIET", "1", 1);
  warn("something");
  EXPECT_EQ(messages_, "");
  ::setenv("TESSERA_QUIET", "0", 1);
  warn("something");
  EXPECT_EQ(messages_, "tessera: warning: something\n");
  ::unsetenv("TESSERA_QUIET");
}

TEST_F(ProgressTest, WarnOnceSaysItOnce) {
  warn_once("only once");
  warn_once("only once");
  EXPECT_EQ(messages_, "tessera: warning: only once\n");
}

}  // namespace
}  // namespace tessera::runtime
