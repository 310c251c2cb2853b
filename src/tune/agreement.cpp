#include "tune/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera::tune {
namespace {

template <class T>
std::uint64_t count_nans_as(const Output& output) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i + sizeof(T) <= output.bytes.size(); i += sizeof(T)) {
    T bits{};
    std::copy_n(output.bytes.data() + i, sizeof(T), reinterpret_cast<std::byte*>(&bits));
    if (std::isnan(static_cast<float>(bits))) ++count;
  }
  return count;
}

std::uint64_t count_nans(const std::vector<Output>& outputs) {
  std::uint64_t count = 0;
  for (const Output& output : outputs) {
    if (output.type == DType::f16) count += count_nans_as<float16>(output);
    if (output.type == DType::bf16) count += count_nans_as<bfloat16>(output);
    if (output.type == DType::f32) count += count_nans_as<float>(output);
    if (output.type == DType::f8e4m3) count += count_nans_as<float8_e4m3>(output);
    if (output.type == DType::f8e5m2) count += count_nans_as<float8_e5m2>(output);
  }
  return count;
}

}  // namespace

Difference difference(const std::vector<Output>& expected, const std::vector<Output>& found) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Difference d = compare(expected[i], found[i]);
    if (d.different != 0) return d;
  }
  return {};
}

std::size_t Agreement::add(std::size_t candidate, std::vector<Output> outputs, std::vector<Output>* spare) {
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (difference(classes_[c].outputs, outputs).different != 0) continue;
    classes_[c].members.push_back(candidate);
    *spare = std::move(outputs);
    return c;
  }
  classes_.push_back({std::move(outputs), {candidate}});
  return classes_.size() - 1;
}

std::optional<std::size_t> Agreement::right() const {
  std::size_t largest = 0;
  for (const Class& one : classes_) largest = std::max(largest, one.members.size());
  std::vector<std::size_t> best;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (classes_[c].members.size() == largest) best.push_back(c);
  }
  if (best.size() == 1) return best.front();
  std::vector<std::uint64_t> nans;
  for (const std::size_t c : best) nans.push_back(count_nans(classes_[c].outputs));
  const auto fewest = std::min_element(nans.begin(), nans.end());
  if (fewest == nans.end() || std::count(nans.begin(), nans.end(), *fewest) != 1) return {};
  return best[static_cast<std::size_t>(fewest - nans.begin())];
}

}  // namespace tessera::tune
