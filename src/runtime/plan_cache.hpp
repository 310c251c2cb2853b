// The checked launches of a kernel. Checks depend on everything about the arguments but where exactly pointers point:
// a launch whose other properties are known replaces addresses, and nothing is checked again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/specialisation.hpp"

namespace tessera::runtime {

// What a checked launch holds for: the device, the values of constants and scalars and, of each pointer, its known
// extent, its address modulo 16, where it came from and whether it may be written to. Lives on the stack of a launch.
class ArgumentShape {
 public:
  ArgumentShape(std::span<const detail::ParamInfo> params, std::span<const detail::Argument> arguments,
                const detail::DeviceState* device);
  ArgumentShape(const ArgumentShape&) = delete;
  ArgumentShape& operator=(const ArgumentShape&) = delete;

  // There are null pointers or buffers of several devices: such a launch is always looked at in full.
  bool doubtful() const { return doubtful_; }
  // That of the call, else of its buffers; null where the runtime chooses.
  const detail::DeviceState* device() const { return device_; }
  std::uint64_t hash() const { return hash_; }
  std::span<const std::int64_t> words() const { return {used_ <= inline_words ? inline_ : more_.data(), used_}; }

 private:
  void add(std::int64_t word) {
    words_[used_++] = word;
    hash_ = (hash_ ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 32;
  }

  const detail::DeviceState* device_;
  bool doubtful_ = false;
  std::uint64_t hash_ = 0;
  std::size_t used_ = 0;
  static constexpr std::size_t inline_words = 128;
  std::int64_t inline_[inline_words];  // NOLINT: written before it is read
  std::vector<std::int64_t> more_;     // for kernels of more than 64 parameters
  std::int64_t* words_;
};

// A launch that has been checked. All but the tensor maps stays as it is.
struct CheckedPlan {
  std::uint64_t hash = 0;
  const detail::DeviceState* key_device = nullptr;
  std::vector<std::int64_t> key;

  detail::DeviceState* device = nullptr;
  Prepared prepared;               // its tensor maps: of the addresses that were launched with last
  std::vector<ResolvedMap> maps;   // with the base's distance from its pointer in place of the base
  std::vector<std::uint32_t> raw;  // run-time pointers that the driver is asked about

  void take_key(const ArgumentShape& shape);
  bool matches(const ArgumentShape& shape) const;
  void resolve_maps();
};

// At most `capacity` plans, the oldest of which makes room. Locked by its owner.
class PlanCache {
 public:
  static constexpr std::size_t capacity = 64;

  // The plan; null if there is none.
  const std::shared_ptr<CheckedPlan>* find(const ArgumentShape& shape);
  void insert(std::shared_ptr<CheckedPlan> plan);
  // After another candidate was chosen for a bucket.
  void clear();

 private:
  std::array<std::uint64_t, capacity> hashes_{};
  std::vector<std::shared_ptr<CheckedPlan>> plans_;
  std::size_t last_ = 0;  // found last
  std::size_t next_ = 0;  // replaced next
};

// A plan that this thread may change until the object ends: the memory of an earlier launch, so that nothing is
// allocated. Launches may nest, as a simulated kernel's printing may launch.
class PlanFrame {
 public:
  PlanFrame();
  ~PlanFrame();
  PlanFrame(const PlanFrame&) = delete;
  PlanFrame& operator=(const PlanFrame&) = delete;
  LaunchPlan& plan() { return *plan_; }

 private:
  LaunchPlan* plan_;
};

}  // namespace tessera::runtime
