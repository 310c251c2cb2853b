#include "trial/session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::trial {
namespace {

using Seconds = std::chrono::duration<double>;

// Beside launches, which have a limit of their own: a card that nobody has used for a while takes seconds to come up.
constexpr double start_seconds = 60, work_seconds = 30;
constexpr double slowest_bytes_a_second = 2e8;
constexpr std::uint64_t page = 4096;
constexpr const char* where_to_look = "run the kernel on Device::sim(), which names the line";

// The number in a file's line that begins with `key`; the largest one where there is none ("max", or no such file).
std::uint64_t number_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(line.c_str() + key.size(), &end, 10);
    if (end != line.c_str() + key.size()) return value;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

// Bytes of host memory that can be had without harm to others.
std::uint64_t available_memory() {
  std::uint64_t result = number_in("/proc/meminfo", "MemAvailable:");
  if (result < std::numeric_limits<std::uint64_t>::max() / 1024) result *= 1024;
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max", "");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current", "");
  return limit > used ? std::min(result, limit - used) : result;
}

Clock::time_point after(Seconds seconds) { return Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds); }

Error device_error(std::string message, std::string help = {}) {
  return {ErrorKind::device, {}, std::move(message), std::move(help)};
}

}  // namespace

bool wanted_by_environment() {
  const char* value = std::getenv("TESSERA_TRIAL");
  const std::string text = value == nullptr ? "" : value;
  if (text.empty() || text == "1") return true;
  if (text == "0") return false;
  throw Error(ErrorKind::user, {}, fmt::format("TESSERA_TRIAL is \"{}\"", text),
              "1 (as if it were not set) tunes in a process of its own, 0 in the program's");
}

Seconds limit_by_environment(Seconds otherwise) {
  const char* value = std::getenv("TESSERA_TRIAL_SECONDS");
  if (value == nullptr || *value == '\0') return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(value, &end);
  constexpr double day = 86400;
  if (*end == '\0' && std::isfinite(seconds) && seconds > 0 && seconds <= day) return Seconds(seconds);
  throw Error(
      ErrorKind::user, {}, fmt::format("TESSERA_TRIAL_SECONDS is \"{}\"", value),
      "the seconds that a candidate may take for one launch while a kernel is tuned: a number above 0 and up to "
      "86400, for example 10 or 0.5");
}

Session::Session(Settings settings) : settings_(std::move(settings)) {
  try {
    shared_ = Descriptor(::memfd_create("tessera-trial-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!shared_.open())
      throw device_error(fmt::format("the trial process cannot be started: memory to share: {}", std::strerror(errno)));
    start();
  } catch (const Error& error) {
    failure_ = error.diagnostics().front().message;
  }
}

std::unique_ptr<Session> Session::switched_off(std::string by) {
  std::unique_ptr<Session> session(new Session());
  session->off_ = std::move(by);
  session->failure_ = session->off_;
  return session;
}

Session::~Session() {
  process_.reset();
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

void Session::set_memory(std::vector<Region> regions) {
  if (!failure_.empty()) throw device_error(failure_);
  std::uint64_t bytes = 0;
  const auto place = [&](std::uint64_t size) {
    const std::uint64_t at = bytes;
    bytes += (size + page - 1) / page * page;
    return at;
  };
  for (Region& region : regions) {
    if (region.read) region.input = place(region.bytes);
    if (region.written) region.output = place(region.bytes);
  }
  regions_ = std::move(regions);
  if (bytes == 0) return;
  // More than there is would be an error only when it is touched, and then of the whole machine.
  const std::uint64_t available = available_memory();
  if (bytes > available - available / 4) {
    throw device_error(
        fmt::format("{} bytes to share with the trial process, where {} are available", bytes, available));
  }
  if (::ftruncate(shared_.get(), static_cast<off_t>(bytes)) != 0)
    throw device_error(fmt::format("{} bytes to share with the trial process: {}", bytes, std::strerror(errno)));
  // Whatever happens over there, it does not get shorter.
  ::fcntl(shared_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared_.get(), 0);
  if (mapped == MAP_FAILED)
    throw device_error(fmt::format("{} bytes to share with the trial process: {}", bytes, std::strerror(errno)));
  mapped_ = static_cast<std::byte*>(mapped);
  mapped_bytes_ = bytes;
}

std::span<std::byte> Session::input(std::size_t region) const {
  return {mapped_ + regions_[region].input, regions_[region].bytes};
}
std::span<std::byte> Session::output(std::size_t region) const {
  return {mapped_ + regions_[region].output, regions_[region].bytes};
}

void Session::start() {
  process_ = std::make_unique<Process>(shared_.get(), Process::Options{settings_.from_memory, settings_.folder});
  ++started_;
  ready_ = false;
  OpenRequest request;
  request.ordinal = settings_.ordinal;
  for (std::size_t i = 0; i < 3; ++i) request.bus[i] = settings_.bus[i];
  // What goes wrong here is seen when the answer is waited for.
  static_cast<void>(process_->send(Kind::open, encode(request), after(Seconds(1))));
}

// Waits for the answer to `open`, and sends the memory.
void Session::hand_over() {
  if (ready_) return;
  if (!process_) start();
  try {
    converse(Kind::open, {}, Seconds(start_seconds));
    MemoryRequest request{mapped_bytes_, regions_};
    converse(Kind::memory, encode(request), allowance(work_seconds));
  } catch (...) {
    process_.reset();
    throw;
  }
  loaded_.assign(jobs_.size(), 0);
  inputs_seen_.resize(jobs_.size(), 0);
  ready_ = true;
}

void Session::begin() { hand_over(); }

Seconds Session::allowance(double least) const {
  std::uint64_t bytes = 0;
  for (const Region& region : regions_) bytes += region.bytes;
  return Seconds(std::max(least, settings_.limit.count()) + static_cast<double>(bytes) / slowest_bytes_a_second);
}

void Session::load(std::size_t job) {
  hand_over();
  if (loaded_[job] != 0) return;
  CandidateRequest request{static_cast<std::uint32_t>(job), jobs_[job]};
  converse(Kind::candidate, encode(request), allowance(work_seconds));
  loaded_[job] = 1;
}

void Session::run(std::size_t job) {
  load(job);
  RunRequest request{static_cast<std::uint32_t>(job), inputs_seen_[job] == 0};
  converse(Kind::run, encode(request), allowance(work_seconds));
  inputs_seen_[job] = 1;
}

double Session::time(std::size_t job) {
  load(job);
  RunRequest request{static_cast<std::uint32_t>(job), false};
  return converse(Kind::time, encode(request), allowance(work_seconds));
}

// One request and its answer. `open` has been sent when the process was started.
double Session::converse(Kind kind, const std::vector<std::byte>& payload, Seconds patience) {
  Clock::time_point deadline = after(patience);
  bool launched = false;
  Transfer transfer = Transfer::complete;
  if (kind != Kind::open) transfer = process_->send(kind, payload, deadline);
  while (transfer == Transfer::complete) {
    Message reply;
    transfer = process_->receive(&reply, deadline);
    if (transfer != Transfer::complete) break;
    try {
      if (reply.kind == Kind::done) return decode<DoneReply>(reply).milliseconds;
      if (reply.kind == Kind::failed) failed(reply);
    } catch (const std::runtime_error&) {
      reply.kind = Kind::open;  // what no process sends
    }
    launched = reply.kind == Kind::launching;
    if (reply.kind != Kind::launching && reply.kind != Kind::finished) transfer = Transfer::garbled;
    deadline = after(launched ? settings_.limit : patience);
  }
  lost(transfer, launched, launched ? settings_.limit : patience);
}

void Session::failed(const Message& reply) {
  auto what = decode<FailedReply>(reply);
  if (what.lost) process_.reset();
  ready_ = ready_ && !what.lost;
  throw device_error(std::move(what.message), std::move(what.help));
}

void Session::lost(Transfer how, bool launched, Seconds limit) {
  const std::string end = process_->stop(how != Transfer::closed);
  process_.reset();
  ready_ = false;
  if (how == Transfer::closed) throw device_error("the trial process " + end, where_to_look);
  if (how == Transfer::garbled) throw device_error("the trial process answered what nobody understands", where_to_look);
  if (!launched) throw device_error(fmt::format("the trial process did not answer within {:g} s", limit.count()));
  throw device_error(fmt::format("did not finish within {:g} s (a wait that nobody answers?)", limit.count()),
                     std::string(where_to_look) + "; TESSERA_TRIAL_SECONDS is the limit");
}

}  // namespace tessera::trial
