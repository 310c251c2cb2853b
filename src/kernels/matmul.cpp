// The call: checks, finds the prepared kernel, launches it.
#include "tessera/matmul.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "kernels/select.hpp"
#include "runtime/capture.hpp"
#include "runtime/device_state.hpp"
#include "tessera/core/error.hpp"

namespace tessera {

namespace kernels {
namespace {

// Everything that a choice of kernels holds for.
struct Key {
  const void* device = nullptr;  // null: any simulated one
  std::int64_t m_bound = 0, n = 0, k = 0;
  DType in = DType::f16, out = DType::f16;
  OutputForm form = OutputForm::rows;
  std::uint8_t steps = 0, operands = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = reinterpret_cast<std::uintptr_t>(key.device);
    const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29; };
    mix(static_cast<std::uint64_t>(key.m_bound));
    mix(static_cast<std::uint64_t>(key.n));
    mix(static_cast<std::uint64_t>(key.k));
    mix(static_cast<std::uint64_t>(key.in) << 32 | static_cast<std::uint64_t>(key.out) << 24 |
        static_cast<std::uint64_t>(key.form) << 16 | static_cast<std::uint64_t>(key.steps) << 8 | key.operands);
    return static_cast<std::size_t>(h);
  }
};

Key key_of(const Problem& p, const Device& device) {
  Key key;
  if (!device.is_simulated()) key.device = device.state().get();
  key.m_bound = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.m)));  // the runtime's buckets
  key.n = p.n;
  key.k = p.k;
  key.in = p.in;
  key.out = p.out;
  key.form = p.form;
  key.steps = static_cast<std::uint8_t>(p.steps.code());
  const auto form = [](const OperandForm& x) { return static_cast<int>(x.order) + (x.loadable ? 4 : 0); };
  key.operands = static_cast<std::uint8_t>(form(p.a) + 8 * form(p.b));
  return key;
}

struct Entry {
  std::mutex making;
  std::atomic<bool> ready = false;  // `selection` is made
  Selection selection;
};

// Never destroyed: at the end of the process the driver may be gone already.
std::shared_ptr<Entry> find(const Key& key) {
  static auto& mutex = *new std::mutex;
  static auto& entries = *new std::unordered_map<Key, std::shared_ptr<Entry>, KeyHash>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Entry>& entry = entries[key];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

struct Last {
  Key key;
  std::shared_ptr<Entry> entry;
};
Last& last_of_thread() {
  thread_local Last last;
  return last;
}

Device device_of(const Problem& p, const MatmulOptions& options, SourceLoc loc) {
  detail::DeviceState* found = options.device ? options.device->state().get() : nullptr;
  bool host = false;
  const auto look = [&](const char* name, const detail::PtrValue& memory) {
    host = host || memory.source == detail::PtrSource::host_memory;
    if (memory.device == nullptr || memory.device == found) return;
    if (found != nullptr) {
      throw Error(ErrorKind::user, loc,
                  fmt::format("matmul: {} lies on {}, but other operands or the call are of {}{}", name,
                              memory.device->name(), found->name(),
                              memory.device->name() == found->name() ? " (another device of the same name)" : ""),
                  "use buffers of one device, the one that is launched on");
    }
    found = memory.device;
  };
  look("a", p.a.memory);
  look("b", p.b.memory);
  look("c", p.c);
  look("the bias", p.bias);
  if (found != nullptr) return Device(found->shared_from_this());
  static const auto& best = *new Device(Device::best());
  static const auto& simulated = *new Device(Device::sim());
  return host ? simulated : best;
}

}  // namespace
}  // namespace kernels

void detail::run_matmul(const MatrixValue& a, const MatrixValue& b, const MatrixValue& c, const MatmulOptions& options,
                        SourceLoc loc) {
  using namespace kernels;  // NOLINT(google-build-using-namespace)
  const Problem problem = describe(a, b, c, options, loc);
  if (problem.m == 0 || problem.n == 0) return;
  const Device device = device_of(problem, options, loc);
  runtime::check_stream("matmul", options.stream, *device.state(), loc);
  const Call call{problem, device, options.stream.handle(), loc};
  const Key key = key_of(problem, device);
  Last& last = last_of_thread();
  if (!last.entry || !(last.key == key)) last = {key, find(key)};
  Entry& entry = *last.entry;
  if (!entry.ready && (runtime::recorded_here(*device.state()) != nullptr ||
                       device.state()->streams().capturing(options.stream.handle()))) {
    throw Error(ErrorKind::user, loc,
                "matmul: the first call with such operands compiles and tunes, which cannot happen while its stream is "
                "being captured into a graph",
                "call matmul once with the same operands before the capture");
  }
  if (!entry.ready) {
    // Not std::call_once: one that an exception leaves hangs the next call under the thread sanitizer.
    const std::lock_guard lock(entry.making);
    if (!entry.ready) {
      entry.selection = select(call);
      entry.ready = true;
    }
  }
  entry.selection.executor->launch(call);
}

MatmulReport last_matmul_report() {
  const kernels::Last& last = kernels::last_of_thread();
  MatmulReport result;
  if (!last.entry || !last.entry->selection.executor) return result;
  const kernels::Selection& selection = last.entry->selection;
  result.kernel = selection.kernel;
  result.report = selection.executor->report();
  result.config = result.report.config;
  result.reason = selection.reason;
  result.choices = selection.choices;
  result.helpers = selection.executor->helpers();
  return result;
}

std::string MatmulReport::to_string() const {
  if (kernel.empty()) return "no matmul yet\n";
  std::string text = fmt::format("{} {}: {}\n", kernel, config, reason);
  for (const Choice& choice : choices) {
    text += fmt::format("  {:24} estimate {:8.1f} us", choice.kernel, choice.estimate_us);
    text += choice.measured_us > 0 ? fmt::format(", measured {:8.1f} us", choice.measured_us) : std::string();
    text += (choice.config.empty() ? "" : "  " + choice.config) + "\n";
  }
  return text + report.to_string();
}

}  // namespace tessera
