// The trial process itself: sessions without a kernel around them, and programs that treat their children badly.
#include <fcntl.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "jit/driver.hpp"
#include "trial_fixture.hpp"

namespace tessera::trial {
namespace {
using namespace std::chrono_literals;
using test::error_of;
using ::testing::HasSubstr;

constexpr int n = 100;

Job job(const std::string& act) {
  Job result;
  result.cubin.assign(act.c_str(), act.c_str() + act.size() + 1);
  result.function = "kernel";
  result.threads = 32;
  result.grid = {1, 1, 1};
  result.params = {{no_region, n}, {0, 0}, {1, 0}};
  return result;
}

struct SessionTest : test::TrialTest {
  Settings settings() const {
    Settings result;
    result.limit = 0.2s;
    result.folder = root_ / "programs";
    result.bus = jit::device_bus(0);
    return result;
  }
  // x is 1, 2, ..., y is written.
  static void give(Session& session, const std::vector<std::string>& acts, bool in_place = false) {
    Region x{.name = "parameter x", .bytes = n * 4, .misalignment = 32, .read = true};
    Region y{.name = "parameter y", .bytes = n * 4, .misalignment = 4, .read = in_place, .written = true};
    session.set_memory({x, y});
    std::vector<Job> jobs;
    for (const std::string& act : acts) jobs.push_back(job(act));
    session.set_jobs(std::move(jobs));
    for (std::size_t region = 0; region < (in_place ? 2U : 1U); ++region) {
      for (int i = 0; i < n; ++i) {
        const auto value = static_cast<float>(i + 1);
        std::memcpy(session.input(region).data() + 4 * i, &value, 4);
      }
    }
    session.begin();
  }
  static float result(const Session& session, int i) {
    float value = 0;
    std::memcpy(&value, session.output(1).data() + 4 * i, 4);
    return value;
  }
  static std::string message_of(Session& session, std::size_t one, bool timed = false) {
    const Error error = error_of([&] { timed ? static_cast<void>(session.time(one)) : session.run(one); });
    EXPECT_EQ(error.kind(), ErrorKind::device);
    return error.diagnostics().front().message;
  }
};

TEST_F(SessionTest, RunsAndTimes) {
  Session session(settings());
  give(session, {"add time=2.5"});
  for (int repeat = 0; repeat < 3; ++repeat) {
    session.run(0);
    EXPECT_EQ(result(session, 0), 2.0F);
    EXPECT_EQ(result(session, n - 1), static_cast<float>(n + 1));
    EXPECT_EQ(session.time(0), 2.5);
  }
  EXPECT_EQ(session.started(), 1);
}

TEST_F(SessionTest, GoesOnInANewProcess) {
  Session session(settings());
  give(session, {"add", "trap", "hang", "crash", "late_trap", "behind"});
  session.run(0);
  EXPECT_THAT(message_of(session, 1), HasSubstr("stopped by the device"));
  session.run(0);
  EXPECT_EQ(session.started(), 2);
  EXPECT_THAT(message_of(session, 2), HasSubstr("did not finish within 0.2 s"));
  EXPECT_THAT(message_of(session, 2, true), HasSubstr("did not finish within 0.2 s"));
  EXPECT_THAT(message_of(session, 3, true), HasSubstr("died with signal 6"));
  session.run(0);
  EXPECT_EQ(session.started(), 5);
  session.run(4);
  session.time(4);
  EXPECT_THAT(message_of(session, 4, true), HasSubstr("stopped by the device"));
  EXPECT_THAT(message_of(session, 5, true), HasSubstr("512 bytes behind parameter y"));
  session.run(0);
  EXPECT_EQ(result(session, 7), 9.0F);
  EXPECT_FALSE(session.pid() <= 0);
}

// What the trial process was told to do with memory that is read and written.
TEST_F(SessionTest, BeginsEachRunWithTheSameContent) {
  Session session(settings());
  Job twice = job("add");
  twice.params[1] = {1, 0};  // y = y + 1
  Region y{.name = "parameter y", .bytes = n * 4, .read = true, .written = true};
  Region x{.name = "parameter x", .bytes = n * 4, .read = true};
  session.set_memory({x, y});
  session.set_jobs({twice});
  std::memset(session.input(1).data(), 0, n * 4);
  session.begin();
  for (int repeat = 0; repeat < 3; ++repeat) {
    session.run(0);
    EXPECT_EQ(result(session, 5), 1.0F);
    session.time(0);
  }
}

TEST_F(SessionTest, LaunchesAndMapsAsItIsTold) {
  Session session(settings());
  Job mapped = job("map"), clustered = job("launch"), plain = job("launch");
  mapped.maps.push_back({"a", DType::bf16, 3, {64, 128}, {1024, 300}, {2048}, {0, 16}, false});
  clustered.grid = plain.grid = {6, 2, 3};
  clustered.threads = plain.threads = 384;
  clustered.shared_bytes = plain.shared_bytes = 40000;
  clustered.cluster = {2, 1, 3};
  clustered.dependent = true;
  session.set_memory({{.name = "x", .bytes = n * 4, .read = true}, {.name = "y", .bytes = n * 4, .written = true}});
  session.set_jobs({mapped, clustered, plain});
  session.begin();
  const auto results = [&](std::size_t one) {
    session.run(one);
    std::vector<float> values;
    for (int i = 0; i < 9; ++i) values.push_back(result(session, i));
    return values;
  };
  // bfloat16 is type 9 of the driver's.
  EXPECT_EQ(results(0), (std::vector<float>{16, 9, 2, 1024, 300, 2048, 64, 128, 3}));
  EXPECT_EQ(results(1), (std::vector<float>{6, 2, 3, 384, 40000, 2, 1, 3, 1}));
  EXPECT_EQ(results(2), (std::vector<float>{6, 2, 3, 384, 40000, 1, 1, 1, 0}));
}

TEST_F(SessionTest, RunsFromAFileWhereMemoryCannotBeExecuted) {
  Settings from_file = settings();
  from_file.from_memory = false;
  {
    Session session(from_file);
    give(session, {"add"});
    session.run(0);
    EXPECT_EQ(result(session, 1), 3.0F);
    EXPECT_TRUE(test::fs::is_empty(root_ / "programs")) << "the file is gone once the process runs";
  }
  from_file.folder = "/proc/no-such-folder";
  Session nowhere(from_file);
  EXPECT_THAT(error_of([&] { give(nowhere, {"add"}); }).what(), HasSubstr("a file in /proc/no-such-folder"));
  from_file.folder.clear();
  Session homeless(from_file);
  EXPECT_THAT(error_of([&] { give(homeless, {"add"}); }).what(), HasSubstr("there is no cache folder"));
}

// The numbers of devices may be others in the trial process; the bus is the same.
TEST_F(SessionTest, UsesTheSameDeviceWhateverItsNumber) {
  for (const char* reversed : {"0", "1"}) {
    const test::Environment order("FIELD_REVERSED", reversed);
    for (int ordinal : {0, 1}) {
      Settings here = settings();
      here.ordinal = ordinal;
      here.bus = jit::device_bus(ordinal);
      Session session(here);
      give(session, {"bus"});
      session.run(0);
      EXPECT_EQ(result(session, 0), static_cast<float>(here.bus[1]));
    }
  }
}

TEST_F(SessionTest, InheritsNothing) {
  const int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  Session session(settings());
  give(session, {"add"});
  std::size_t count = 0;
  for (const auto& entry : test::fs::directory_iterator("/proc/" + std::to_string(session.pid()) + "/fd")) {
    EXPECT_LE(std::stoi(entry.path().filename().string()), 4);
    ++count;
  }
  EXPECT_EQ(count, 4U) << "the socket, nothing twice, the shared memory";
  ::close(leak);
}

// Nobody is left when the program dies while a kernel hangs, whatever holds the other end of the socket open.
TEST_F(SessionTest, EndsWithItsParent) {
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    Settings patient = settings();
    patient.limit = 100s;
    Session session(patient);
    give(session, {"hang"});
    const pid_t holder = ::fork();
    if (holder == 0) {
      ::pause();
      ::_exit(0);
    }
    const pid_t pids[] = {session.pid(), holder};
    if (::write(report[1], pids, sizeof pids) != sizeof pids) ::_exit(1);
    session.run(0);
    ::_exit(2);
  }
  pid_t pids[2] = {};
  ASSERT_EQ(::read(report[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  std::this_thread::sleep_for(50ms);
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  const auto alive = [&] {
    std::ifstream stat("/proc/" + std::to_string(pids[0]) + "/stat");
    std::string text;
    std::getline(stat, text);
    return !text.empty() && text.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 500 && alive(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(alive());
  ::kill(pids[1], SIGKILL);
  ::close(report[0]);
  ::close(report[1]);
}

TEST_F(SessionTest, ThreadsThatStartedItMayEnd) {
  std::unique_ptr<Session> session;
  std::thread([&] { session = std::make_unique<Session>(settings()); }).join();
  std::this_thread::sleep_for(50ms);
  give(*session, {"add"});
  session->run(0);
  EXPECT_EQ(session->started(), 1);
}

TEST_F(SessionTest, ASignalOfTheTerminalIsNotForIt) {
  Session session(settings());
  give(session, {"add"});
  EXPECT_EQ(::getpgid(session.pid()), session.pid());
}

TEST_F(SessionTest, ProgramsMayIgnoreTheirChildren) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    Session session(settings());
    give(session, {"crash", "add"});
    EXPECT_THAT(message_of(session, 0), HasSubstr("the trial process ended"));
    session.run(1);
    EXPECT_EQ(result(session, 0), 2.0F);
  }
  EXPECT_FALSE(test::has_children());
  ::signal(SIGCHLD, before);
}

TEST_F(SessionTest, ProgramsMayWaitForAllTheirChildren) {
  std::atomic<bool> stop{false};
  std::thread waiter([&] {
    while (!stop) {
      if (::waitpid(-1, nullptr, WNOHANG) <= 0) std::this_thread::sleep_for(100us);
    }
  });
  {
    Session session(settings());
    give(session, {"crash", "add", "hang"});
    for (int repeat = 0; repeat < 5; ++repeat) {
      EXPECT_THAT(message_of(session, 0), HasSubstr("the trial process "));
      session.run(1);
      EXPECT_EQ(result(session, 0), 2.0F);
    }
    EXPECT_THAT(message_of(session, 2), HasSubstr("did not finish"));
  }
  stop = true;
  waiter.join();
  EXPECT_FALSE(test::has_children());
}

TEST_F(SessionTest, ADeadProcessRaisesNoSignal) {
  Session session(settings());
  give(session, {"add"});
  ::kill(session.pid(), SIGKILL);
  std::this_thread::sleep_for(20ms);
  EXPECT_THAT(message_of(session, 0), HasSubstr("the trial process died with signal 9 (Killed)"));
  session.run(0);
  EXPECT_EQ(session.started(), 2);
}

TEST_F(SessionTest, MemoryThatCannotBeSharedIsAnError) {
  Session session(settings());
  Region vast{.name = "parameter x", .bytes = std::uint64_t{1} << 62, .read = true};
  const Error error = error_of([&] { session.set_memory({vast}); });
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_THAT(error.what(), HasSubstr("4611686018427387904 bytes to share with the trial process, where "));
}

}  // namespace
}  // namespace tessera::trial
