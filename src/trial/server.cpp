#include "trial/server.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "jit/driver_api.hpp"
#include "tessera/core/error.hpp"
#include "trial/map_job.hpp"

namespace tessera::trial {
namespace {

constexpr std::size_t guard_bytes = std::size_t{256} << 10;
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;

// What a candidate did that makes the process useless: it has been where it must not.
struct Trespass : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string error_text(jit::CuResult code) {
  const jit::DriverApi& api = jit::driver_api();
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name(code, &name) != 0 || name == nullptr) name = "an unknown error";
  if (api.error_string(code, &text) != 0 || text == nullptr) text = "without a description";
  return fmt::format("{} ({}: {})", name, code, text);
}

// Counted by pairs, so that a byte which happens to be what was there before is not left out of a written element.
std::uint64_t differing_bytes(const std::byte* a, const std::byte* b, std::size_t size, std::size_t* first) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < size; i += 2) {
    const std::size_t width = std::min<std::size_t>(2, size - i);
    if (std::memcmp(a + i, b + i, width) == 0) continue;
    if (count == 0) *first = i;
    count += width;
  }
  return count;
}

std::vector<std::byte> guard_pattern() {
  std::vector<std::byte> pattern(guard_bytes);
  std::uint32_t state = 0x9e3779b9;
  for (std::byte& b : pattern) {
    state = state * 1664525 + 1013904223;
    b = static_cast<std::byte>(state >> 24);
  }
  return pattern;
}

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

void Server::serve() {
  Message message;
  while (receive_message(socket_, &message, Clock::time_point::max()) == Transfer::complete) {
    try {
      handle(message);
    } catch (const Trespass& trespass) {
      answer({trespass.what(), {}, true});
    } catch (const Error& error) {
      const Diagnostic& first = error.diagnostics().front();
      const jit::CuResult code = device_ >= 0 ? jit::driver_api().context_synchronize() : 0;
      if (code != 0) {
        answer({"stopped by the device: " + error_text(code), "run the kernel on Device::sim(), which names the line",
                true});
      } else {
        answer({first.message, first.help, false});
      }
    } catch (const std::exception& error) {
      answer({fmt::format("the trial process failed: {}", error.what()), {}, true});
    }
  }
}

void Server::handle(const Message& message) {
  DoneReply done;
  switch (message.kind) {
    case Kind::open: open(decode<OpenRequest>(message)); break;
    case Kind::memory: take_memory(decode<MemoryRequest>(message)); break;
    case Kind::candidate: take_candidate(decode<CandidateRequest>(message)); break;
    case Kind::run: run(decode<RunRequest>(message)); break;
    case Kind::time: done.milliseconds = time(decode<RunRequest>(message)); break;
    default: throw std::runtime_error("a request of a kind that there is not");
  }
  static_cast<void>(send_message(socket_, Kind::done, encode(done), Clock::time_point::max()));
}

void Server::notice(Kind kind) const { static_cast<void>(send_message(socket_, kind, {}, Clock::time_point::max())); }

void Server::answer(FailedReply reply) const {
  static_cast<void>(send_message(socket_, Kind::failed, encode(reply), Clock::time_point::max()));
}

// The number is the same here, since what selects devices is inherited; unless the program changed its environment
// after it had started the driver.
void Server::open(const OpenRequest& request) {
  const int count = jit::device_count();
  int found = -1;
  for (int i = 0; i < count && found < 0; ++i) {
    const int ordinal = i == 0 ? request.ordinal : i <= request.ordinal ? i - 1 : i;
    if (ordinal < count && jit::device_bus(ordinal) == request.bus) found = ordinal;
  }
  if (found < 0) {
    static_cast<void>(jit::require_device(request.ordinal));  // says what is missing, if anything is
    throw Error(ErrorKind::device, {},
                fmt::format("the trial process does not see the device {:04x}:{:02x}:{:02x}, which the program uses",
                            request.bus[0], request.bus[1], request.bus[2]));
  }
  jit::synchronize(found);  // makes the context
  device_ = found;
}

void Server::take_memory(const MemoryRequest& request) {
  if (request.bytes != 0) {
    void* mapped = ::mmap(nullptr, request.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared_descriptor_, 0);
    if (mapped == MAP_FAILED)
      throw Error(ErrorKind::device, {}, fmt::format("the shared memory is refused: {}", std::strerror(errno)));
    shared_ = static_cast<std::byte*>(mapped);
  }
  pattern_ = guard_pattern();
  for (const Region& region : request.regions) {
    const std::uint64_t last = std::max(region.read ? region.input : 0, region.written ? region.output : 0);
    if (last + region.bytes > request.bytes) throw std::runtime_error("a region that is not in the shared memory");
    copies_.push_back({region, 0, nullptr});
    make_copy(copies_.back());
  }
  timer_ = std::make_unique<jit::LaunchTimer>(device_);
}

void Server::make_copy(Copy& copy) {
  const Region& region = copy.region;
  void* all = jit::device_alloc(device_, region.bytes + 2 * guard_bytes + 2 * copy_alignment);
  const std::uintptr_t least = reinterpret_cast<std::uintptr_t>(all) + guard_bytes;
  // The same alignment as the caller's memory has.
  copy.address = (least + copy_alignment - 1) / copy_alignment * copy_alignment + region.misalignment;
  jit::copy_to_device(device_, pointer(copy.address - guard_bytes), pattern_.data(), guard_bytes);
  jit::copy_to_device(device_, pointer(copy.address + region.bytes), pattern_.data(), guard_bytes);
  if (!region.read) return;
  if (!region.written) {
    jit::copy_to_device(device_, pointer(copy.address), shared_ + region.input, region.bytes);
    return;
  }
  copy.original = jit::device_alloc(device_, region.bytes);
  jit::copy_to_device(device_, copy.original, shared_ + region.input, region.bytes);
}

void Server::take_candidate(CandidateRequest request) {
  auto made = std::make_unique<Candidate>();
  made->job = std::move(request.job);
  Job& job = made->job;
  made->module = std::make_unique<jit::Module>(device_, job.cubin, job.function, job.shared_bytes,
                                               jit::LaunchOptions{job.cluster, job.dependent});
  for (const Param& param : job.params) made->values.push_back(static_cast<std::int64_t>(address_of(param)));
  for (const MapJob& map : job.maps) {
    made->maps.emplace_back();
    if (map.empty) continue;
    made->maps.back() =
        jit::encode_tensor_map(device_, tensor_map_of(map), pointer(address_of(map.base)), map.dims, map.strides);
  }
  for (std::int64_t& value : made->values) made->params.push_back(&value);
  for (jit::EncodedTensorMap& map : made->maps) made->params.push_back(&map);
  if (candidates_.size() <= request.number) candidates_.resize(request.number + std::size_t{1});
  candidates_[request.number] = std::move(made);
}

std::uintptr_t Server::address_of(const Param& param) const {
  if (param.region == no_region) return static_cast<std::uintptr_t>(param.value);
  const auto region = static_cast<std::size_t>(param.region);
  if (region >= copies_.size()) throw std::runtime_error("a parameter of a region that there is not");
  return copies_[region].address + static_cast<std::uintptr_t>(param.value);
}

Server::Candidate& Server::candidate(std::uint32_t number) {
  if (number >= candidates_.size() || !candidates_[number]) throw std::runtime_error("a candidate that was not sent");
  return *candidates_[number];
}

void Server::restore(bool poison) const {
  for (const Copy& copy : copies_) {
    if (!copy.region.written) continue;
    if (copy.original != nullptr) {
      jit::copy_on_device(device_, pointer(copy.address), copy.original, copy.region.bytes, nullptr);
    } else if (poison) {
      jit::fill_bytes(device_, pointer(copy.address), copy.region.poison, copy.region.bytes, nullptr);
    }
  }
}

void Server::launch(const Candidate& one) const {
  one.module->launch(one.job.grid.data(), one.job.threads, const_cast<void**>(one.params.data()), nullptr);
}

void Server::run(const RunRequest& request) {
  const Candidate& one = candidate(request.number);
  restore(true);
  jit::synchronize(device_);
  notice(Kind::launching);
  launch(one);
  jit::synchronize(device_);
  notice(Kind::finished);
  check_guards();
  if (request.compare_inputs) check_inputs();
  for (const Copy& copy : copies_) {
    if (copy.region.written)
      jit::copy_to_host(device_, shared_ + copy.region.output, pointer(copy.address), copy.region.bytes);
  }
}

double Server::time(const RunRequest& request) {
  const Candidate& one = candidate(request.number);
  restore(false);
  notice(Kind::launching);
  const double milliseconds = timer_->milliseconds([&] { launch(one); });
  notice(Kind::finished);
  check_guards();
  return milliseconds;
}

void Server::check_guards() const {
  for (const Copy& copy : copies_) {
    check_guard(copy, copy.address - guard_bytes, "before");
    check_guard(copy, copy.address + copy.region.bytes, "behind");
  }
}

void Server::check_guard(const Copy& copy, std::uintptr_t at, const char* where) const {
  std::vector<std::byte> found(guard_bytes);
  jit::copy_to_host(device_, found.data(), pointer(at), guard_bytes);
  if (std::memcmp(found.data(), pattern_.data(), guard_bytes) == 0) return;
  std::size_t first = 0;
  const std::uint64_t count = differing_bytes(found.data(), pattern_.data(), guard_bytes, &first);
  throw Trespass(fmt::format("writes outside its outputs: {} bytes {} {}", count, where, copy.region.name));
}

void Server::check_inputs() const {
  std::vector<std::byte> found;
  for (const Copy& copy : copies_) {
    if (copy.region.written || !copy.region.read) continue;
    for (std::uint64_t at = 0; at < copy.region.bytes; at += chunk_bytes) {
      const std::size_t size = std::min<std::uint64_t>(chunk_bytes, copy.region.bytes - at);
      found.resize(size);
      jit::copy_to_host(device_, found.data(), pointer(copy.address + at), size);
      const std::byte* expected = shared_ + copy.region.input + at;
      if (std::memcmp(found.data(), expected, size) == 0) continue;
      std::size_t first = 0;
      const std::uint64_t count = differing_bytes(found.data(), expected, size, &first);
      throw Trespass(
          fmt::format("writes to {}, which no candidate is supposed to write: {} bytes differ, the first is "
                      "byte {}",
                      copy.region.name, count, at + first));
    }
  }
}

}  // namespace tessera::trial
