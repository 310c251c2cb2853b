// Handles of the tiles, views and barriers of a kernel. A handle is a cheap copy that names the same object.
#pragma once

#include <memory>
#include <vector>

#include "tessera/lang/arguments.hpp"

namespace tessera {

namespace ir::tile {
struct RegisterTensor;
struct SharedView;
struct GlobalView;
struct BarrierArray;
struct NamedBarrier;
}  // namespace ir::tile

class RegisterTensor;
class RegisterSplit;

namespace detail {

// `node` is null after a mistake that has been recorded already.
template <class Node>
struct Ref {
  Node* node = nullptr;
  Origin origin;
};
using TileRef = Ref<ir::tile::RegisterTensor>;
using SharedRef = Ref<ir::tile::SharedView>;
using ViewRef = Ref<ir::tile::GlobalView>;
using BarrierRef = Ref<ir::tile::BarrierArray>;
using NamedBarrierRef = Ref<ir::tile::NamedBarrier>;

// One side of an elementwise operator: a tile, a traced scalar or a C++ number.
struct TileOperand {
  enum class Kind : std::uint8_t { tile, scalar, boolean, integer, real } kind = Kind::tile;
  TileRef tile;
  ScalarRef scalar;
  std::int64_t integer = 0;
  double real = 0;
  SourceLoc loc;

  TileOperand(const RegisterTensor& t, SourceLoc l = SourceLoc::here());  // NOLINT
  template <class X>
  requires ScalarLike<X> TileOperand(const X& x, SourceLoc l = SourceLoc::here()) : loc(l) {  // NOLINT
    if constexpr (TracedScalar<X>) {
      kind = Kind::scalar;
      scalar = to_ref<traced_element_t<X>>(x, l);
    } else if constexpr (std::is_same_v<X, bool>) {
      kind = Kind::boolean;
      integer = x ? 1 : 0;
    } else if constexpr (std::is_integral_v<X>) {
      kind = Kind::integer;
      integer = static_cast<std::int64_t>(x);
      real = static_cast<double>(x);
    } else {
      kind = Kind::real;
      real = static_cast<double>(static_cast<float>(x));
      if constexpr (std::is_floating_point_v<X>) real = static_cast<double>(x);
    }
  }
};

TileRef tile_unary(Op op, const TileOperand& a);
TileRef tile_binary(Op op, const TileOperand& a, const TileOperand& b, SourceLoc loc);
TileRef tile_select(const TileOperand& c, const TileOperand& a, const TileOperand& b, SourceLoc loc);
TileRef tile_cast(DType type, const TileRef& a, SourceLoc loc);
TileRef tile_transpose(const TileRef& a, SourceLoc loc);
TileRef tile_part(const TileRef& a, std::int64_t dim, std::int64_t parts, const HostInt& index, SourceLoc loc);
void tile_assign(const TileRef& out, const TileOperand& value);
void tile_update(const TileRef& out, Op op, const TileOperand& value);
DType dtype_of_tile(const TileRef& t);
std::vector<std::int64_t> shape_of_tile(const TileRef& t);
DType dtype_of_shared(const SharedRef& t);
std::vector<std::int64_t> shape_of_shared(const SharedRef& t);
std::int64_t bytes_of_shared(const SharedRef& t);
SharedRef index_shared(const SharedRef& t, const IndexArg& i);
SharedRef transpose_shared(const SharedRef& t, SourceLoc loc);
SharedRef check_split(const SharedRef& t, std::int64_t dim, std::int64_t parts, SourceLoc loc);  // null if it is wrong
SharedRef part_of_shared(const SharedRef& t, std::int64_t dim, std::int64_t parts, const IndexArg& i);
DType dtype_of_view(const ViewRef& t);
int rank_of_view(const ViewRef& t);
std::int64_t size_of_barriers(const BarrierRef& b);
BarrierRef make_barriers(const std::vector<std::int64_t>& counts, const char* name, SourceLoc loc);

}  // namespace detail

// A tile in the registers of the thread group that made it. Operators work element by element and broadcast extents of
// 1 and missing leading dimensions. `=` and `+=` write a tile made by register_tensor in place.
class RegisterTensor {
  using Arg = const detail::TileOperand&;

 public:
  explicit RegisterTensor(const detail::TileRef& ref) : ref_(ref) {}
  RegisterTensor(const RegisterTensor&) = default;
  ~RegisterTensor() = default;
  RegisterTensor& operator=(const RegisterTensor&) && = delete;  // lvalues take the next one, which knows the line
  RegisterTensor& operator=(Arg v) & { return detail::tile_assign(ref_, v), *this; }
  RegisterTensor& operator+=(Arg v) & { return update(detail::Op::add, v); }
  RegisterTensor& operator-=(Arg v) & { return update(detail::Op::sub, v); }
  RegisterTensor& operator*=(Arg v) & { return update(detail::Op::mul, v); }
  RegisterTensor& operator/=(Arg v) & { return update(detail::Op::div, v); }

  DType dtype() const { return detail::dtype_of_tile(ref_); }
  std::vector<std::int64_t> shape() const { return detail::shape_of_tile(ref_); }
  // The 2-D tile with its dimensions exchanged; no data moves.
  RegisterTensor transpose(SourceLoc loc = SourceLoc::here()) const {
    return RegisterTensor(detail::tile_transpose(ref_, loc));
  }
  // `parts` equal parts along a dimension, each a copy: tile.split(1, 4)[i] with a C++ integer i.
  RegisterSplit split(const detail::HostInt& dim, const detail::HostInt& parts,
                      SourceLoc loc = SourceLoc::here()) const;
  const detail::TileRef& ref() const { return ref_; }

  template <class B>
  requires std::same_as<B, bool>
  explicit operator B() const {
    detail::no_value_while_traced<B>();
    return false;
  }

  friend RegisterTensor operator+(Arg a, Arg b) { return binary(detail::Op::add, a, b); }
  friend RegisterTensor operator-(Arg a, Arg b) { return binary(detail::Op::sub, a, b); }
  friend RegisterTensor operator*(Arg a, Arg b) { return binary(detail::Op::mul, a, b); }
  friend RegisterTensor operator/(Arg a, Arg b) { return binary(detail::Op::div, a, b); }
  friend RegisterTensor operator%(Arg a, Arg b) { return binary(detail::Op::mod, a, b); }
  friend RegisterTensor operator&(Arg a, Arg b) { return binary(detail::Op::bit_and, a, b); }
  friend RegisterTensor operator|(Arg a, Arg b) { return binary(detail::Op::bit_or, a, b); }
  friend RegisterTensor operator^(Arg a, Arg b) { return binary(detail::Op::bit_xor, a, b); }
  friend RegisterTensor operator<<(Arg a, Arg b) { return binary(detail::Op::shl, a, b); }
  friend RegisterTensor operator>>(Arg a, Arg b) { return binary(detail::Op::shr, a, b); }
  friend RegisterTensor operator<(Arg a, Arg b) { return binary(detail::Op::lt, a, b); }
  friend RegisterTensor operator<=(Arg a, Arg b) { return binary(detail::Op::le, a, b); }
  friend RegisterTensor operator>(Arg a, Arg b) { return binary(detail::Op::gt, a, b); }
  friend RegisterTensor operator>=(Arg a, Arg b) { return binary(detail::Op::ge, a, b); }
  friend RegisterTensor operator==(Arg a, Arg b) { return binary(detail::Op::eq, a, b); }
  friend RegisterTensor operator!=(Arg a, Arg b) { return binary(detail::Op::ne, a, b); }
  friend RegisterTensor operator-(Arg a) { return RegisterTensor(detail::tile_unary(detail::Op::neg, a)); }
  friend RegisterTensor operator~(Arg a) { return RegisterTensor(detail::tile_unary(detail::Op::bit_not, a)); }

 private:
  static RegisterTensor binary(detail::Op op, Arg a, Arg b) {
    return RegisterTensor(detail::tile_binary(op, a, b, a.loc));
  }
  RegisterTensor& update(detail::Op op, Arg v) { return detail::tile_update(ref_, op, v), *this; }
  detail::TileRef ref_;
};

// The parts that RegisterTensor::split makes.
class RegisterSplit {
 public:
  RegisterSplit(const detail::TileRef& ref, std::int64_t dim, std::int64_t parts, SourceLoc loc)
      : ref_(ref), dim_(dim), parts_(parts), loc_(loc) {}
  std::int64_t size() const { return parts_; }
  RegisterTensor operator[](const detail::HostInt& i) const {
    return RegisterTensor(detail::tile_part(ref_, dim_, parts_, i, loc_));
  }

 private:
  detail::TileRef ref_;
  std::int64_t dim_, parts_;
  SourceLoc loc_;
};

inline RegisterSplit RegisterTensor::split(const detail::HostInt& dim, const detail::HostInt& parts,
                                           SourceLoc loc) const {
  return {ref_, dim.value, parts.value, loc};
}

inline detail::TileOperand::TileOperand(const RegisterTensor& t, SourceLoc l) : tile(t.ref()), loc(l) {}

class SharedSplit;

// A tile in the block's shared memory, or a part of one: a stage of a ring, a half, the transposed tile. Parts name the
// same memory; no data moves.
class SharedTensor {
 public:
  explicit SharedTensor(const detail::SharedRef& ref) : ref_(ref) {}
  SharedTensor(const SharedTensor&) = default;
  SharedTensor& operator=(const SharedTensor&) = delete;
  ~SharedTensor() = default;
  DType dtype() const { return detail::dtype_of_shared(ref_); }
  std::vector<std::int64_t> shape() const { return detail::shape_of_shared(ref_); }
  std::int64_t nbytes() const { return detail::bytes_of_shared(ref_); }  // of this part: a C++ integer
  // Element i of the first dimension, which the result drops; a C++ or a traced integer, or a slot of a Pipeline.
  SharedTensor operator[](const detail::IndexArg& i) const { return SharedTensor(detail::index_shared(ref_, i)); }
  // `parts` equal parts along a dimension: tile.split(0, 2)[half].
  SharedSplit split(const detail::HostInt& dim, const detail::HostInt& parts, SourceLoc loc = SourceLoc::here()) const;
  // The 2-D part with its dimensions exchanged.
  SharedTensor transpose(SourceLoc loc = SourceLoc::here()) const {
    return SharedTensor(detail::transpose_shared(ref_, loc));
  }
  const detail::SharedRef& ref() const { return ref_; }

 private:
  detail::SharedRef ref_;
};

// The parts that SharedTensor::split makes; `[i]` takes a C++ or a traced integer.
class SharedSplit {
 public:
  SharedSplit(const detail::SharedRef& ref, std::int64_t dim, std::int64_t parts)
      : ref_(ref), dim_(dim), parts_(parts) {}
  std::int64_t size() const { return parts_; }
  SharedTensor operator[](const detail::IndexArg& i) const {
    return SharedTensor(detail::part_of_shared(ref_, dim_, parts_, i));
  }

 private:
  detail::SharedRef ref_;
  std::int64_t dim_, parts_;
};

inline SharedSplit SharedTensor::split(const detail::HostInt& dim, const detail::HostInt& parts, SourceLoc loc) const {
  return {detail::check_split(ref_, dim.value, parts.value, loc), dim.value, parts.value};
}

// A tensor in global memory: a pointer parameter with a shape and strides.
class GlobalView {
 public:
  explicit GlobalView(const detail::ViewRef& ref) : ref_(ref) {}
  GlobalView(const GlobalView&) = default;
  GlobalView& operator=(const GlobalView&) = delete;
  ~GlobalView() = default;
  DType dtype() const { return detail::dtype_of_view(ref_); }
  int rank() const { return detail::rank_of_view(ref_); }
  const detail::ViewRef& ref() const { return ref_; }

 private:
  detail::ViewRef ref_;
};

// One mbarrier in shared memory.
class Barrier {
 public:
  Barrier(const detail::BarrierRef& array, const detail::ScalarRef& index) : array_(array), index_(index) {}
  Barrier(const Barrier&) = default;
  Barrier& operator=(const Barrier&) = delete;
  ~Barrier() = default;
  const detail::BarrierRef& array() const { return array_; }
  const detail::ScalarRef& index() const { return index_; }

 private:
  detail::BarrierRef array_;
  detail::ScalarRef index_;
};

// Several mbarriers; `[i]` takes a C++ or a traced integer.
class BarrierArray {
 public:
  explicit BarrierArray(const detail::BarrierRef& ref) : ref_(ref) {}
  BarrierArray(const BarrierArray&) = default;
  BarrierArray& operator=(const BarrierArray&) = delete;
  ~BarrierArray() = default;
  std::int64_t size() const { return detail::size_of_barriers(ref_); }
  Barrier operator[](const detail::IndexArg& i) const { return {ref_, i.ref}; }

 private:
  detail::BarrierRef ref_;
};

// A kernel parameter that points to device memory. `ptr + n` advances by n elements.
template <ElementType T>
class Ptr {
 public:
  using element = T;
  Ptr(int param, const detail::ScalarRef& offset, const detail::Origin& origin)
      : param_(param), offset_(offset), origin_(origin) {}
  Ptr(const Ptr&) = default;
  Ptr& operator=(const Ptr&) = delete;
  ~Ptr() = default;
  friend Ptr operator+(const Ptr& p, const detail::IndexArg& n) {
    detail::ScalarRef offset = detail::make_cast(DType::i64, n.ref, n.ref.origin.loc);
    if (p.has_offset_) offset = detail::make_binary(detail::Op::add, p.offset_, offset, n.ref.origin.loc);
    Ptr result(p.param_, offset, p.origin_);
    result.has_offset_ = true;
    return result;
  }
  int param() const { return param_; }
  const detail::ScalarRef& offset() const { return offset_; }  // Int64 elements; unset for the parameter itself
  bool has_offset() const { return has_offset_; }
  const detail::Origin& origin() const { return origin_; }

 private:
  int param_;
  detail::ScalarRef offset_;
  detail::Origin origin_;
  bool has_offset_ = false;
};

}  // namespace tessera
