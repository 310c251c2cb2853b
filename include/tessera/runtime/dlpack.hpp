// Tensors of other libraries by DLPack, both ways: no copy, and the owner is told when we are done.
//   DlpackTensor x = from_dlpack(managed);              takes the tensor over
//   kernel(n, x.pointer<float>(), y);                   a contiguous one, as an argument of a kernel
//   tessera::matmul(x.matrix<float16>(), b, c);         two dimensions, any strides
//   DLManagedTensor* out = to_dlpack(std::move(buffer));
// The structures are DLPack's own ABI (1.x, and the unversioned one before), declared here so that its header is not
// needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/matmul.hpp"

namespace tessera {

namespace dlpack {

enum DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum TypeCode : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  ieee_float = 2,
  brain_float = 4,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e5m2 = 12
};

struct DLDevice {
  std::int32_t device_type = 0;
  std::int32_t device_id = 0;
};
struct DLDataType {
  std::uint8_t code = 0, bits = 0;
  std::uint16_t lanes = 1;
};
struct DLTensor {
  void* data = nullptr;
  DLDevice device;
  std::int32_t ndim = 0;
  DLDataType dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  // in elements; null: contiguous, outermost first
  std::uint64_t byte_offset = 0;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx = nullptr;
  void (*deleter)(DLManagedTensor*) = nullptr;
};
struct DLPackVersion {
  std::uint32_t major = 1, minor = 0;
};
inline constexpr std::uint64_t flag_read_only = 1;
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx = nullptr;
  void (*deleter)(DLManagedTensorVersioned*) = nullptr;
  std::uint64_t flags = 0;
  DLTensor dl_tensor;
};

}  // namespace dlpack

// A tensor that was taken over. The memory stays valid until this object ends; on a GPU its owner then waits for the
// stream that uses it, as the libraries' caching allocators do for work on their current stream.
class DlpackTensor {
 public:
  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }  // in elements
  bool read_only() const { return memory_.read_only; }
  bool contiguous() const { return contiguous_; }
  // Of memory on a GPU; nothing for host memory, which the simulated device takes.
  const std::optional<Device>& device() const { return device_; }

  // The tensor as an argument for a Ptr<T>. A user Error if it holds another type or is not contiguous.
  template <class T>
  PtrArg<T> pointer(SourceLoc loc = SourceLoc::here()) const {
    return PtrArg<T>(checked_pointer(dtype_of<T>, loc));
  }
  // As a matrix; its strides may be any that are not negative. A user Error if it holds another type or has not two
  // dimensions.
  template <class T>
  Matrix<T> matrix(SourceLoc loc = SourceLoc::here()) const {
    const detail::MatrixValue value = checked_matrix(loc);
    return Matrix<T>(PtrArg<T>(checked_memory(dtype_of<T>, loc)), value.rows, value.columns, value.row_stride,
                     value.column_stride, loc);
  }
  // The same memory as elements of another type of the same size, for libraries that hand out a type under the name of
  // another one. A user Error for another size.
  DlpackTensor as(DType type, SourceLoc loc = SourceLoc::here()) const;
  // The matrix with its type erased.
  detail::MatrixValue checked_matrix(SourceLoc loc) const;

 private:
  friend DlpackTensor from_dlpack(dlpack::DLManagedTensor* tensor, SourceLoc loc);
  friend DlpackTensor from_dlpack(dlpack::DLManagedTensorVersioned* tensor, SourceLoc loc);
  DlpackTensor(const dlpack::DLTensor& tensor, bool read_only, SourceLoc loc);
  detail::PtrValue checked_memory(DType wanted, SourceLoc loc) const;
  detail::PtrValue checked_pointer(DType wanted, SourceLoc loc) const;

  DType type_ = DType::f32;
  Shape shape_;
  std::vector<std::int64_t> strides_;
  bool contiguous_ = true;
  std::optional<Device> device_;
  detail::PtrValue memory_;
  std::shared_ptr<void> owner_;
};

// Takes a tensor over: its deleter is called when the result ends. Of what Tessera has no name for (complex numbers,
// vectors as elements, devices of other makers, a DLPack of another major version) a user Error, and the tensor stays
// the caller's.
DlpackTensor from_dlpack(dlpack::DLManagedTensor* tensor, SourceLoc loc = SourceLoc::here());
DlpackTensor from_dlpack(dlpack::DLManagedTensorVersioned* tensor, SourceLoc loc = SourceLoc::here());

namespace detail {
dlpack::DLManagedTensor* make_dlpack(std::shared_ptr<void> owner, void* data, DType type, const Shape& shape,
                                     const Device& device);
dlpack::DLManagedTensorVersioned* make_dlpack_versioned(std::shared_ptr<void> owner, void* data, DType type,
                                                        const Shape& shape, const Device& device);
}  // namespace detail

// Hands a buffer to another library, which frees it by calling the deleter. On the simulated device it is CPU memory.
// Work on the buffer that is still under way is the caller's to wait for, or to order by streams.
template <class T>
dlpack::DLManagedTensor* to_dlpack(Buffer<T>&& buffer) {
  auto owner = std::make_shared<Buffer<T>>(std::move(buffer));
  return detail::make_dlpack(owner, owner->data(), dtype_of<T>, owner->shape(), owner->device());
}
template <class T>
dlpack::DLManagedTensorVersioned* to_dlpack_versioned(Buffer<T>&& buffer) {
  auto owner = std::make_shared<Buffer<T>>(std::move(buffer));
  return detail::make_dlpack_versioned(owner, owner->data(), dtype_of<T>, owner->shape(), owner->device());
}

}  // namespace tessera
