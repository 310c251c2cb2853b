// Descriptions of layouts for annotate_layout. Layouts are inferred; these pin one.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

// How a tile is spread over the threads and registers of its group, outermost factor first: every factor splits each
// dimension once more, over threads (spatial) or over the registers of one thread (local).
//   layouts::spatial({2, 2}).local({4, 8}).spatial({8, 4}).local({1, 2})
class RegisterLayout {
 public:
  enum class Kind : std::uint8_t { spatial, local, column_spatial, column_local };
  struct Factor {
    Kind kind;
    std::vector<std::int64_t> extents;
  };
  RegisterLayout() = default;
  explicit RegisterLayout(Factor factor) { factors_.push_back(std::move(factor)); }

  // Appends an inner factor. In the column forms the first dimension is the fastest.
  RegisterLayout spatial(std::vector<std::int64_t> extents) const { return with(Kind::spatial, std::move(extents)); }
  RegisterLayout local(std::vector<std::int64_t> extents) const { return with(Kind::local, std::move(extents)); }
  RegisterLayout column_spatial(std::vector<std::int64_t> extents) const {
    return with(Kind::column_spatial, std::move(extents));
  }
  RegisterLayout column_local(std::vector<std::int64_t> extents) const {
    return with(Kind::column_local, std::move(extents));
  }
  // a * b: b is the inner layout.
  friend RegisterLayout operator*(RegisterLayout a, const RegisterLayout& b) {
    a.factors_.insert(a.factors_.end(), b.factors_.begin(), b.factors_.end());
    return a;
  }
  const std::vector<Factor>& factors() const { return factors_; }

 private:
  RegisterLayout with(Kind kind, std::vector<std::int64_t> extents) const {
    RegisterLayout result = *this;
    result.factors_.push_back({kind, std::move(extents)});
    return result;
  }
  std::vector<Factor> factors_;
};

enum class Swizzle : std::uint8_t { none, b32, b64, b128 };

// How a tile lies in shared memory.
class SharedLayout {
 public:
  enum class Kind : std::uint8_t { row_major, column_major, swizzled };
  SharedLayout(Kind kind, Swizzle swizzle) : kind_(kind), swizzle_(swizzle) {}
  Kind kind() const { return kind_; }
  Swizzle swizzle() const { return swizzle_; }

 private:
  Kind kind_;
  Swizzle swizzle_;
};

namespace layouts {
inline RegisterLayout spatial(std::vector<std::int64_t> extents) {
  return RegisterLayout().spatial(std::move(extents));
}
inline RegisterLayout local(std::vector<std::int64_t> extents) { return RegisterLayout().local(std::move(extents)); }
inline RegisterLayout column_spatial(std::vector<std::int64_t> extents) {
  return RegisterLayout().column_spatial(std::move(extents));
}
inline RegisterLayout column_local(std::vector<std::int64_t> extents) {
  return RegisterLayout().column_local(std::move(extents));
}
inline SharedLayout row_major() { return {SharedLayout::Kind::row_major, Swizzle::none}; }
inline SharedLayout column_major() { return {SharedLayout::Kind::column_major, Swizzle::none}; }
// Row-major in panels as wide as the swizzle, each row's 16-byte chunks permuted as TMA does.
inline SharedLayout swizzled(Swizzle swizzle) { return {SharedLayout::Kind::swizzled, swizzle}; }
}  // namespace layouts

}  // namespace tessera
