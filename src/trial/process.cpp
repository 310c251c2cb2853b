#include "trial/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <thread>

#include "tessera/core/error.hpp"
#include "trial/image.hpp"

extern char** environ;

namespace tessera::trial {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

// Descriptors of the new process. The first ones are its standard streams: the socket, and nothing.
constexpr int shared_slot = 3, program_slot = 4;
constexpr int least_number = 16;              // above all slots, so that moving one into its slot overwrites no other
constexpr unsigned executable_memory = 0x10;  // MFD_EXEC, which older systems do not know
constexpr auto moment = 2s, long_enough = 10s;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(ErrorKind::device, {},
              fmt::format("the trial process cannot be started: {}: {}", what, std::strerror(error)));
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

Descriptor raised(int fd) {
  Descriptor high(::fcntl(fd, F_DUPFD_CLOEXEC, least_number));
  if (!high.open()) fail("a descriptor", errno);
  return high;
}

Descriptor program_in_memory() {
  int fd = ::memfd_create("tessera-trial", MFD_CLOEXEC | executable_memory);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create("tessera-trial", MFD_CLOEXEC);
  Descriptor memory(fd);
  if (memory.open() && (!write_all(fd, program_image()) || ::fchmod(fd, 0700) != 0)) memory.reset();
  return memory;
}

// The program as a file of its own, which goes when the object does.
class ProgramFile {
 public:
  explicit ProgramFile(const fs::path& folder) {
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    path_ = (folder / "trial-XXXXXX").string();
    const Descriptor file(::mkostemp(path_.data(), O_CLOEXEC));
    if (!file.open()) fail(fmt::format("a file in {}", folder.string()), errno);
    if (!write_all(file.get(), program_image()) || ::fchmod(file.get(), 0700) != 0) {
      const int error = errno;
      ::unlink(path_.c_str());
      fail(path_, error);
    }
  }
  ~ProgramFile() { ::unlink(path_.c_str()); }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// posix_spawn's attributes and actions, freed at the end.
class Spawn {
 public:
  Spawn(int socket, int shared, int program) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    // Kernels may print: neither into the protocol nor, once a candidate, into the user's terminal.
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, shared, shared_slot);
    if (program >= 0) ::posix_spawn_file_actions_adddup2(&actions_, program, program_slot);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, program >= 0 ? program_slot + 1 : program_slot);
    // Signals of the terminal are for the user's process, which may go on after one.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  // Between fork and exec runs nothing but the system library's own code, on the memory of this process (vfork).
  int run(const char* path, pid_t* pid) {
    std::string name = "tessera-trial", parent = std::to_string(::getpid());
    char* arguments[] = {name.data(), parent.data(), nullptr};
    for (int attempt = 0;; ++attempt) {
      const int error = ::posix_spawn(pid, path, &actions_, &attributes_, arguments, environ);
      // A fork of another thread may hold the file open for writing for a moment.
      if (error != ETXTBSY || attempt == 100) return error;
      std::this_thread::sleep_for(1ms);
    }
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

pid_t spawn(int socket, int shared, const Process::Options& options) {
  pid_t pid = -1;
  std::string in_memory = "execution from memory is switched off";
  if (options.from_memory) {
    if (const Descriptor memory = program_in_memory(); memory.open()) {
      const Descriptor high = raised(memory.get());
      const int error = Spawn(socket, shared, high.get()).run("/proc/self/fd/4", &pid);
      if (error == 0) return pid;
      in_memory = fmt::format("execution from memory: {}", std::strerror(error));
    } else {
      in_memory = fmt::format("memory for the program: {}", std::strerror(errno));
    }
  }
  if (options.folder.empty()) {
    throw Error(ErrorKind::device, {},
                fmt::format("the trial process cannot be started: {}, and there is no cache folder", in_memory));
  }
  const ProgramFile file(options.folder);
  const int error = Spawn(socket, shared, -1).run(file.path().c_str(), &pid);
  if (error != 0) fail(fmt::format("{}; {}", in_memory, file.path()), error);
  return pid;
}

// Processes that the driver kept from ending for longer than anybody waited; looked at again when another one starts.
struct Stragglers {
  std::mutex mutex;
  std::vector<pid_t> pids;

  void add(pid_t pid) {
    const std::lock_guard lock(mutex);
    pids.push_back(pid);
  }
  void reap() {
    const std::lock_guard lock(mutex);
    std::erase_if(pids, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }
};
Stragglers& stragglers() {
  static Stragglers instance;
  return instance;
}

std::string how_it_ended(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("ended with exit code {}", info.si_status);
  return fmt::format("died with signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

}  // namespace

Process::Process(int shared, const Options& options) {
  stragglers().reap();
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("a socket", errno);
  socket_ = Descriptor(pair[0]);
  const Descriptor theirs(pair[1]);
  const Descriptor high_socket = raised(theirs.get()), high_shared = raised(shared);
  pid_ = spawn(high_socket.get(), high_shared.get(), options);
  handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Process::~Process() { stop(true); }

void Process::kill() const {
  if (handle_.open() && ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0) == 0) return;
  if (!handle_.open()) ::kill(pid_, SIGKILL);
}

// The user's program may wait for all its children, or ignore SIGCHLD: then there is nothing to reap, and how the
// process ended is not known.
bool Process::reap() {
  siginfo_t info{};
  int result = 0;
  do {
    result = handle_.open() ? ::waitid(P_PIDFD, static_cast<id_t>(handle_.get()), &info, WEXITED | WNOHANG)
                            : ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
  } while (result != 0 && errno == EINTR);
  if (result == 0 && info.si_pid == 0) return false;  // still there
  if (result == 0) end_ = how_it_ended(info);
  return true;
}

bool Process::wait_until_gone(Clock::duration patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  for (auto pause = 100us; !gone_; pause = std::min<std::chrono::microseconds>(2 * pause, 10ms)) {
    gone_ = reap();
    if (gone_ || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return gone_;
}

std::string Process::stop(bool at_once) {
  if (!gone_ && (at_once || !wait_until_gone(moment))) {
    kill();
    killed_ = true;
    // The driver takes a context apart before the process is gone, which may take a while; a second one beside it may
    // not find the memory that it needs.
    if (!wait_until_gone(long_enough)) {
      stragglers().add(pid_);
      gone_ = true;
    }
  }
  socket_.reset();
  return killed_ ? "was stopped" : end_;
}

}  // namespace tessera::trial
