#include "jit/launch_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

namespace tessera::jit {
namespace {

constexpr std::size_t most_logs = 64;
constexpr std::size_t named = 6;  // candidates in a message
constexpr std::uint64_t ended_well = 0, stream_gone = 1;

// CU_STREAM_LEGACY is the default stream by another name. CU_STREAM_PER_THREAD is another stream in each thread, so
// that the handle does not tell whose launches a wait for it is about.
const void* ordinary(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) == 1 ? nullptr : stream; }
const void* per_thread_stream() {
  constexpr std::uintptr_t handle = 2;
  return reinterpret_cast<const void*>(handle);
}

std::string line_text(const SourceLoc& loc) {
  const std::string_view file = loc.file;
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), loc.line);
}
std::string text_of(const LaunchLog::Launch& launch) {
  const std::string stream = launch.stream == nullptr ? "" : fmt::format(" on stream {}", launch.stream);
  if (!launch.origin.call.known()) return fmt::format("{} (launched to tune it){}", launch.origin.kernel, stream);
  return fmt::format("{} at {}{}", launch.origin.kernel, line_text(launch.origin.call), stream);
}

}  // namespace

struct LaunchLog::Blame {
  std::string text;
  SourceLoc loc;
  std::vector<Note> notes;
};

const char* intern(const std::string& text) {
  static auto& mutex = *new std::mutex;
  static auto& texts = *new std::set<std::string, std::less<>>;  // its nodes do not move
  const std::lock_guard lock(mutex);
  return texts.insert(text).first->c_str();
}

LaunchLog& launch_log(int device) {
  static auto& logs = *new std::array<LaunchLog, most_logs>;
  return logs[static_cast<std::size_t>(device) % most_logs];
}

bool synchronous_launches() {
  static const bool on = [] {
    const char* value = std::getenv("TESSERA_SYNC");
    return value != nullptr && *value != 0 && std::string_view(value) != "0";
  }();
  return on;
}

void LaunchLog::add(const LaunchOrigin& origin, const void* stream) noexcept {
  const std::uint64_t n = next_.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = slots_[n % capacity];
  slot.sequence.store(2 * n + 1, std::memory_order_relaxed);
  // Readers see the odd number before they see any of the new words. Release stores order them without a fence, which
  // the thread sanitizer would not understand; on x86-64 they cost no more than plain ones.
  slot.kernel.store(origin.kernel, std::memory_order_release);
  slot.file.store(origin.call.file, std::memory_order_release);
  slot.function.store(origin.call.function, std::memory_order_release);
  slot.line.store(origin.call.line, std::memory_order_release);
  slot.stream.store(stream, std::memory_order_release);
  slot.sequence.store(2 * n + 2, std::memory_order_release);
}

void LaunchLog::settle(const Place& reached, std::uint64_t how) noexcept {
  const std::uint64_t end = reached.position;
  const std::uint64_t begin = std::max(cleared_.load(std::memory_order_relaxed), end - std::min(end, capacity));
  for (std::uint64_t n = begin; n < end; ++n) {
    Slot& slot = slots_[n % capacity];
    const std::uint64_t sequence = 2 * n + 2;
    if (slot.sequence.load(std::memory_order_acquire) != sequence) continue;
    if (ordinary(slot.stream.load(std::memory_order_acquire)) != ordinary(reached.stream)) continue;
    if (slot.sequence.load(std::memory_order_relaxed) != sequence) continue;  // overwritten meanwhile
    std::uint64_t before = slot.settled.load(std::memory_order_relaxed);
    // What was settled in one way stays so, and what belongs to a later launch is left alone.
    if (before < sequence) slot.settled.compare_exchange_strong(before, sequence + how, std::memory_order_relaxed);
  }
}

void LaunchLog::clear(const Place& reached) noexcept {
  if (reached.stream != per_thread_stream()) settle(reached, ended_well);
}

void LaunchLog::retire(const void* stream) noexcept { settle(place(stream), stream_gone); }

std::vector<LaunchLog::Launch> LaunchLog::recent() const {
  std::vector<Launch> found;
  const std::uint64_t end = next_.load(std::memory_order_acquire);
  std::uint64_t begin = cleared_.load(std::memory_order_relaxed);
  if (end - begin > capacity) begin = end - capacity;
  for (std::uint64_t n = end; n-- > begin;) {
    const Slot& slot = slots_[n % capacity];
    if (slot.sequence.load(std::memory_order_acquire) != 2 * n + 2) continue;
    Launch launch;
    launch.origin.kernel = slot.kernel.load(std::memory_order_acquire);
    launch.origin.call.file = slot.file.load(std::memory_order_acquire);
    launch.origin.call.function = slot.function.load(std::memory_order_acquire);
    launch.origin.call.line = slot.line.load(std::memory_order_acquire);
    launch.stream = slot.stream.load(std::memory_order_acquire);
    if (slot.sequence.load(std::memory_order_relaxed) != 2 * n + 2) continue;  // overwritten meanwhile
    if (slot.settled.load(std::memory_order_relaxed) == 2 * n + 2) continue;
    if (std::find(found.begin(), found.end(), launch) == found.end()) found.push_back(launch);
  }
  return found;
}

void LaunchLog::blame(const LaunchOrigin& origin) {
  auto blame = std::make_unique<Blame>();
  blame->text = fmt::format("the launch of {} at {} failed while it ran", origin.kernel, line_text(origin.call));
  blame->loc = origin.call;
  const Blame* none = nullptr;
  if (blame_.compare_exchange_strong(none, blame.get())) static_cast<void>(blame.release());
}

void LaunchLog::explain(bool failed, Diagnostic* diagnostic) {
  if (failed && blame_.load(std::memory_order_acquire) == nullptr) {
    const std::vector<Launch> launches = recent();
    auto blame = std::make_unique<Blame>();
    for (std::size_t i = 0; i < std::min(named, launches.size()); ++i) {
      blame->text += (i == 0 ? "" : ", ") + text_of(launches[i]);
      if (launches[i].origin.call.known())
        blame->notes.push_back(
            {launches[i].origin.call, fmt::format("{} is launched here", launches[i].origin.kernel)});
    }
    if (launches.empty()) {
      blame->text = "no launch of Tessera is unfinished: the kernel was launched by somebody else";
    } else if (launches.size() == 1) {
      blame->text = "the failed kernel is " + blame->text;
    } else {
      blame->text = "the failed kernel is one of the last launches: " + blame->text +
                    (launches.size() > named ? fmt::format(" and {} more", launches.size() - named) : "") +
                    "; run with TESSERA_SYNC=1 to know which";
    }
    const Blame* none = nullptr;
    if (blame_.compare_exchange_strong(none, blame.get())) static_cast<void>(blame.release());
  }
  const Blame* blame = blame_.load(std::memory_order_acquire);
  if (blame == nullptr) return;
  diagnostic->message += "; " + blame->text;
  if (!diagnostic->loc.known()) diagnostic->loc = blame->loc;
  diagnostic->notes.insert(diagnostic->notes.end(), blame->notes.begin(), blame->notes.end());
}

}  // namespace tessera::jit
