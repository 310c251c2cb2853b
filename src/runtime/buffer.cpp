#include "tessera/runtime/buffer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>

#include "runtime/device_state.hpp"
#include "runtime/random.hpp"
#include "tessera/core/error.hpp"

namespace tessera::detail {
namespace {

constexpr std::size_t smallest_allocation = 16;  // so that a buffer without elements has an address too

std::string shape_text(const Shape& shape) { return fmt::format("{{{}}}", fmt::join(shape, ", ")); }

}  // namespace

Memory::Memory(std::shared_ptr<DeviceState> device, std::size_t bytes)
    : device_(std::move(device)), data_(device_->allocate(std::max(bytes, smallest_allocation))) {}

Memory::~Memory() { device_->release(data_); }

std::size_t checked_elements(const Shape& shape, std::size_t element_bytes, SourceLoc loc) {
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw Error(ErrorKind::user, loc,
                  fmt::format("a buffer of shape {}: extent {} is negative", shape_text(shape), extent),
                  "give extents of 0 or more");
    }
    if (__builtin_mul_overflow(elements, extent, &elements)) elements = limit;
  }
  if (elements > limit / static_cast<std::int64_t>(element_bytes)) {
    throw Error(ErrorKind::user, loc, fmt::format("a buffer of shape {} has more than 2^62 bytes", shape_text(shape)),
                "use smaller extents");
  }
  return static_cast<std::size_t>(elements);
}

void check_host_size(std::size_t found, const Shape& shape, std::size_t wanted, SourceLoc loc) {
  if (found == wanted) return;
  throw Error(
      ErrorKind::user, loc,
      fmt::format("copying {} elements into a buffer of shape {}, which has {}", found, shape_text(shape), wanted),
      "give as many elements as the buffer has");
}

void offset_outside(std::int64_t first, std::size_t size, SourceLoc loc) {
  throw Error(ErrorKind::user, loc, fmt::format("Buffer::from({}) of a buffer of {} elements", first, size),
              fmt::format("give an element from 0 to {}", size));
}

void copy_in(const Memory& memory, const void* source, std::size_t bytes) {
  memory.device()->copy_in(memory.data(), source, bytes);
}

void copy_out(const Memory& memory, void* destination, std::size_t bytes) {
  memory.device()->copy_out(destination, memory.data(), bytes);
}

void fill_elements(const Memory& memory, const void* element, std::size_t element_bytes, std::size_t count) {
  if (count == 0) return;
  const auto* bytes = static_cast<const unsigned char*>(element);
  const bool uniform = std::all_of(bytes, bytes + element_bytes, [&](unsigned char b) { return b == bytes[0]; });
  if (uniform) {
    memory.device()->fill(memory.data(), bytes[0], element_bytes * count);
    return;
  }
  std::vector<unsigned char> host(element_bytes * count);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(host.data() + i * element_bytes, element, element_bytes);
  copy_in(memory, host.data(), host.size());
}

void fill_normal(const Memory& memory, DType type, std::size_t count, std::uint64_t seed) {
  if (memory.device()->host_memory()) {
    runtime::normal_numbers(memory.data(), type, count, seed);
    return;
  }
  std::vector<unsigned char> host(count * static_cast<std::size_t>(size_of(type)));
  runtime::normal_numbers(host.data(), type, count, seed);
  if (count != 0) copy_in(memory, host.data(), host.size());
}

std::uint64_t next_seed(DeviceState& device) { return device.seeds.fetch_add(1) + 1; }

}  // namespace tessera::detail
