#include "runtime/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

namespace tessera {
namespace {

struct Settings {
  std::mutex mutex;
  Progress mode = Progress::automatic;
  MessageSink sink;
  std::set<std::string> warned;
};

Settings& settings() {
  static Settings instance;
  return instance;
}

bool quiet_by_environment() {
  const char* value = std::getenv("TESSERA_QUIET");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

void emit(const std::string& text) {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  if (s.sink) {
    s.sink(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// What `automatic` means here and now: quiet, bar, or automatic for the delayed lines.
Progress effective_mode() {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  if (s.mode != Progress::automatic) return s.mode;
  if (quiet_by_environment()) return Progress::quiet;
  return !s.sink && ::isatty(STDERR_FILENO) != 0 ? Progress::bar : Progress::automatic;
}

constexpr auto patience = std::chrono::seconds(1);
constexpr auto redraw_interval = std::chrono::milliseconds(50);

}  // namespace

void set_progress(Progress mode) {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  s.mode = mode;
}

Progress progress() {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  return s.mode;
}

void set_message_sink(MessageSink sink) {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  s.sink = std::move(sink);
}

namespace runtime {

void warn(const std::string& text) {
  if (effective_mode() != Progress::quiet) emit("tessera: warning: " + text + "\n");
}

void warn_once(const std::string& text) {
  {
    Settings& s = settings();
    const std::lock_guard lock(s.mutex);
    if (!s.warned.insert(text).second) return;
  }
  warn(text);
}

ProgressTask::ProgressTask(std::string title)
    : title_(std::move(title)), mode_(effective_mode()), start_(std::chrono::steady_clock::now()) {}

ProgressTask::~ProgressTask() {
  if (bar_drawn_) emit("\r\x1b[K");
}

void ProgressTask::phase(const std::string& name, std::size_t total) {
  const std::lock_guard lock(mutex_);
  phase_ = name;
  total_ = total;
  done_ = 0;
  phase_shown_ = false;
  show(true);
}

void ProgressTask::advance() {
  const std::lock_guard lock(mutex_);
  ++done_;
  show(done_ == total_);
}

void ProgressTask::show(bool force) {
  if (mode_ == Progress::quiet) return;
  const auto now = std::chrono::steady_clock::now();
  if (mode_ != Progress::bar) {
    if (phase_shown_ || (mode_ == Progress::automatic && now - start_ < patience)) return;
    emit(fmt::format("tessera: {}: {} ({} of {} done)\n", title_, phase_, done_, total_));
    phase_shown_ = begun_ = true;
    return;
  }
  if (!force && now - last_draw_ < redraw_interval) return;
  last_draw_ = now;
  constexpr std::size_t width = 24;
  const std::size_t filled = total_ == 0 ? width : width * done_ / total_;
  emit(fmt::format("\r\x1b[Ktessera: {} [{:=<{}}{: <{}}] {}/{} {}", title_, "", filled, "", width - filled, done_,
                   total_, phase_));
  bar_drawn_ = begun_ = true;
}

void ProgressTask::finish(const std::string& summary) {
  const std::lock_guard lock(mutex_);
  if (!begun_ && mode_ != Progress::lines) return;
  if (mode_ == Progress::quiet) return;
  emit(fmt::format("{}tessera: {}: {}\n", bar_drawn_ ? "\r\x1b[K" : "", title_, summary));
  bar_drawn_ = false;
}

}  // namespace runtime
}  // namespace tessera
