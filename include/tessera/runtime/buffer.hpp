// Device memory with a shape, and the argument that a kernel takes for a Ptr<T>.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tessera/runtime/device.hpp"

namespace tessera {

namespace detail {

// An allocation of a device; frees it. At least 16 bytes, aligned to 256.
class Memory {
 public:
  Memory(std::shared_ptr<DeviceState> device, std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }
  const std::shared_ptr<DeviceState>& device() const { return device_; }

 private:
  std::shared_ptr<DeviceState> device_;
  void* data_ = nullptr;
};

// Elements of `shape`; a user Error for a negative extent or more than 2^62 bytes.
std::size_t checked_elements(const Shape& shape, std::size_t element_bytes, SourceLoc loc);
void check_host_size(std::size_t found, const Shape& shape, std::size_t wanted, SourceLoc loc);
void copy_in(const Memory& memory, const void* source, std::size_t bytes);
void copy_out(const Memory& memory, void* destination, std::size_t bytes);
// Fills with `count` copies of an element.
void fill_elements(const Memory& memory, const void* element, std::size_t element_bytes, std::size_t count);
void fill_normal(const Memory& memory, DType type, std::size_t count, std::uint64_t seed);
std::uint64_t next_seed(DeviceState& device);

// Where a pointer argument came from decides what can be checked about it.
enum class PtrSource : std::uint8_t { device_pointer, buffer, host_memory };
struct PtrValue {
  void* pointer = nullptr;
  std::size_t bytes = unknown_bytes;
  DeviceState* device = nullptr;  // of a buffer
  PtrSource source = PtrSource::device_pointer;
  bool read_only = false;
  SourceLoc loc;
  static constexpr std::size_t unknown_bytes = static_cast<std::size_t>(-1);
};

}  // namespace detail

template <class T>
class PtrArg;

// Owns device memory for `size()` elements of T. Moves, never copies by itself.
template <class T>
class Buffer {
 public:
  Buffer() = default;  // no memory: may be assigned to, passing it to a kernel is an error
  Buffer(const Device& device, Shape shape, SourceLoc loc = SourceLoc::here())
      : size_(detail::checked_elements(shape, sizeof(T), loc)),
        shape_(std::move(shape)),
        memory_(std::make_unique<detail::Memory>(device.state(), size_ * sizeof(T))) {}

  const Shape& shape() const { return shape_; }
  std::size_t size() const { return size_; }  // elements
  std::size_t bytes() const { return size_ * sizeof(T); }
  Device device() const { return Device(memory_->device()); }
  // The device address; on the simulated device it is an ordinary host address.
  T* data() const { return memory_ ? static_cast<T*>(memory_->data()) : nullptr; }

  // Waits for the device, then copies.
  std::vector<T> to_host() const {
    std::vector<T> result(size_);
    if (size_ != 0) detail::copy_out(*memory_, result.data(), bytes());
    return result;
  }
  // `values` has size() elements; a user Error otherwise.
  void copy_from_host(std::span<const T> values, SourceLoc loc = SourceLoc::here()) {
    detail::check_host_size(values.size(), shape_, size_, loc);
    if (size_ != 0) detail::copy_in(*memory_, values.data(), bytes());
  }
  // The part of the buffer from element `first` on, as a kernel argument.
  PtrArg<T> from(std::int64_t first, SourceLoc loc = SourceLoc::here()) const;

 private:
  friend class PtrArg<T>;
  friend class Device;
  std::size_t size_ = 0;
  Shape shape_;
  std::unique_ptr<detail::Memory> memory_;
};

// What a kernel takes for a parameter of type Ptr<T>: it refers to memory and does not own it.
template <class T>
class PtrArg {
 public:
  PtrArg(const Buffer<T>& buffer, SourceLoc loc = SourceLoc::here()) {
    value_.loc = loc;
    value_.source = detail::PtrSource::buffer;
    value_.bytes = buffer.bytes();
    if (!buffer.memory_) return;
    value_.pointer = buffer.memory_->data();
    value_.device = buffer.memory_->device().get();
  }
  // A device pointer of any origin; its extent is unknown, so nothing checks the kernel's views against it. On the
  // simulated device: a host pointer.
  PtrArg(T* pointer, SourceLoc loc = SourceLoc::here()) {
    value_.loc = loc;
    value_.pointer = pointer;
  }
  PtrArg(const T* pointer, SourceLoc loc = SourceLoc::here()) : PtrArg(const_cast<T*>(pointer), loc) {
    value_.read_only = true;
  }
  PtrArg(std::nullptr_t, SourceLoc loc = SourceLoc::here()) { value_.loc = loc; }
  // Host memory, for the simulated device only.
  PtrArg(std::span<T> memory, SourceLoc loc = SourceLoc::here()) { set_host(memory.data(), memory.size(), loc); }
  PtrArg(std::span<const T> memory, SourceLoc loc = SourceLoc::here()) {
    set_host(const_cast<T*>(memory.data()), memory.size(), loc);
    value_.read_only = true;
  }
  PtrArg(std::vector<T>& memory, SourceLoc loc = SourceLoc::here()) { set_host(memory.data(), memory.size(), loc); }
  PtrArg(const std::vector<T>& memory, SourceLoc loc = SourceLoc::here()) : PtrArg(std::span<const T>(memory), loc) {}

  // For the library itself.
  explicit PtrArg(const detail::PtrValue& value) : value_(value) {}
  const detail::PtrValue& value() const { return value_; }

 private:
  friend class Buffer<T>;
  void set_host(T* data, std::size_t size, SourceLoc loc) {
    value_.loc = loc;
    value_.source = detail::PtrSource::host_memory;
    value_.pointer = data;
    value_.bytes = size * sizeof(T);
  }
  detail::PtrValue value_;
};

namespace detail {
[[noreturn]] void offset_outside(std::int64_t first, std::size_t size, SourceLoc loc);
}

template <class T>
PtrArg<T> Buffer<T>::from(std::int64_t first, SourceLoc loc) const {
  if (first < 0 || static_cast<std::size_t>(first) > size_) detail::offset_outside(first, size_, loc);
  PtrArg<T> argument(*this, loc);
  if (argument.value_.pointer != nullptr) argument.value_.pointer = data() + first;
  argument.value_.bytes -= static_cast<std::size_t>(first) * sizeof(T);
  return argument;
}

template <ElementType T>
Buffer<T> Device::empty(Shape shape, SourceLoc loc) const {
  return Buffer<T>(*this, std::move(shape), loc);
}

template <ElementType T>
Buffer<T> Device::zeros(Shape shape, SourceLoc loc) const {
  return full<T>(std::move(shape), T{}, loc);
}

template <ElementType T>
Buffer<T> Device::full(Shape shape, T value, SourceLoc loc) const {
  Buffer<T> buffer(*this, std::move(shape), loc);
  detail::fill_elements(*buffer.memory_, &value, sizeof(T), buffer.size());
  return buffer;
}

template <ElementType T>
Buffer<T> Device::randn(Shape shape, std::optional<std::uint64_t> seed, SourceLoc loc) const {
  static_assert(is_float(dtype_of<T>), "randn makes floating-point numbers");
  Buffer<T> buffer(*this, std::move(shape), loc);
  detail::fill_normal(*buffer.memory_, dtype_of<T>, buffer.size(), seed ? *seed : detail::next_seed(*state_));
  return buffer;
}

template <ElementType T>
Buffer<T> Device::from_host(std::span<const T> values, Shape shape, SourceLoc loc) const {
  Buffer<T> buffer(*this, std::move(shape), loc);
  buffer.copy_from_host(values, loc);
  return buffer;
}

template <ElementType T>
Buffer<T> Device::from_host(const std::vector<T>& values, Shape shape, SourceLoc loc) const {
  return from_host(std::span<const T>(values), std::move(shape), loc);
}

}  // namespace tessera
