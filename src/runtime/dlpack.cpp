#include "tessera/runtime/dlpack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/device_state.hpp"
#include "tessera/core/error.hpp"

namespace tessera {
using detail::PtrSource;
using detail::PtrValue;
using dlpack::DLDataType;
using dlpack::DLDevice;
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

namespace {

struct Name {
  DType type;
  std::uint8_t code, bits;
};
constexpr Name names[] = {
    {DType::i8, dlpack::signed_integer, 8},     {DType::i16, dlpack::signed_integer, 16},
    {DType::i32, dlpack::signed_integer, 32},   {DType::i64, dlpack::signed_integer, 64},
    {DType::u8, dlpack::unsigned_integer, 8},   {DType::u16, dlpack::unsigned_integer, 16},
    {DType::u32, dlpack::unsigned_integer, 32}, {DType::u64, dlpack::unsigned_integer, 64},
    {DType::f16, dlpack::ieee_float, 16},       {DType::f32, dlpack::ieee_float, 32},
    {DType::bf16, dlpack::brain_float, 16},     {DType::boolean, dlpack::boolean, 8},
    {DType::f8e4m3, dlpack::float8_e4m3fn, 8},  {DType::f8e5m2, dlpack::float8_e5m2, 8},
};

DLDataType dlpack_type(DType type) {
  for (const Name& name : names) {
    if (name.type == type) return {name.code, name.bits, 1};
  }
  throw Error(ErrorKind::internal, {}, fmt::format("{} has no name in DLPack", name_of(type)));
}

DType checked_type(const DLDataType& found, SourceLoc loc) {
  for (const Name& name : names) {
    if (name.code == found.code && name.bits == found.bits && found.lanes == 1) return name.type;
  }
  throw Error(ErrorKind::user, loc,
              fmt::format("a DLPack tensor of type code {}, {} bits, {} lanes", found.code, found.bits, found.lanes),
              "convert it to one of: (u)int8 to (u)int64 (codes 0 and 1), float16 and float32 (2), bfloat16 (4), bool "
              "(6), float8_e4m3fn (10), float8_e5m2 (12), each with one lane");
}

bool on_gpu(const DLDevice& device, SourceLoc loc) {
  switch (device.device_type) {
    case dlpack::cpu:
    case dlpack::cuda_host: return false;
    case dlpack::cuda:
    case dlpack::cuda_managed: return true;
    default: break;
  }
  throw Error(ErrorKind::user, loc, fmt::format("a DLPack tensor on device type {}", device.device_type),
              "move it to a CUDA device (2, or managed memory: 13) or to the CPU (1, or page-locked memory: 3)");
}

std::vector<std::int64_t> contiguous_strides(const Shape& shape) {
  std::vector<std::int64_t> result(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) result[d - 1] = result[d] * shape[d];
  return result;
}

}  // namespace

DlpackTensor::DlpackTensor(const DLTensor& tensor, bool read_only, SourceLoc loc)
    : type_(checked_type(tensor.dtype, loc)) {
  const bool gpu = on_gpu(tensor.device, loc);
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    throw Error(ErrorKind::user, loc, fmt::format("a DLPack tensor of {} dimensions without a shape", tensor.ndim),
                "hand over a valid tensor");
  }
  shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
  strides_ = contiguous_strides(shape_);
  const std::size_t elements = detail::checked_elements(shape_, static_cast<std::size_t>(size_of(type_)), loc);
  std::int64_t last = elements == 0 ? -1 : 0;  // element reached
  if (tensor.strides != nullptr) {
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (tensor.strides[d] < 0) {
        throw Error(ErrorKind::user, loc,
                    fmt::format("a DLPack tensor whose dimension {} has the stride {}", d, tensor.strides[d]),
                    "strides are 0 or more: copy the tensor to turn it round");
      }
      // The stride of a dimension of one element says nothing.
      if (shape_[d] > 1 && tensor.strides[d] != strides_[d] && elements > 0) contiguous_ = false;
    }
    if (!contiguous_) strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
  }
  for (std::size_t d = 0; d < shape_.size() && elements > 0; ++d) last += (shape_[d] - 1) * strides_[d];
  memory_.pointer = static_cast<char*>(tensor.data) + tensor.byte_offset;
  memory_.bytes = static_cast<std::size_t>(last + 1) * static_cast<std::size_t>(size_of(type_));
  memory_.read_only = read_only;
  memory_.source = PtrSource::host_memory;
  if (!gpu) return;
  device_ = Device::cuda(tensor.device.device_id, loc);
  memory_.device = device_->state().get();
  memory_.source = PtrSource::buffer;
}

PtrValue DlpackTensor::checked_memory(DType wanted, SourceLoc loc) const {
  if (type_ != wanted) {
    throw Error(ErrorKind::user, loc,
                fmt::format("the tensor holds {}, but the parameter is of {}", name_of(type_), name_of(wanted)),
                "convert the tensor, or take the kernel for its type");
  }
  PtrValue result = memory_;
  result.loc = loc;
  return result;
}

PtrValue DlpackTensor::checked_pointer(DType wanted, SourceLoc loc) const {
  if (!contiguous_) {
    throw Error(ErrorKind::user, loc,
                fmt::format("the tensor of shape [{}] has the strides [{}], but a kernel takes elements that lie one "
                            "after the other",
                            fmt::join(shape_, ", "), fmt::join(strides_, ", ")),
                "make it contiguous: tensor.contiguous(), numpy.ascontiguousarray(tensor)");
  }
  return checked_memory(wanted, loc);
}

DlpackTensor DlpackTensor::as(DType type, SourceLoc loc) const {
  if (size_of(type) != size_of(type_)) {
    throw Error(ErrorKind::user, loc, fmt::format("a tensor of {} taken as one of {}", name_of(type_), name_of(type)),
                "take it as a type of the same size");
  }
  DlpackTensor result = *this;
  result.type_ = type;
  return result;
}

detail::MatrixValue DlpackTensor::checked_matrix(SourceLoc loc) const {
  if (shape_.size() != 2) {
    throw Error(ErrorKind::user, loc,
                fmt::format("a tensor of shape [{}] is no matrix, which has two dimensions", fmt::join(shape_, ", ")),
                "reshape it");
  }
  return {type_, checked_memory(type_, loc), shape_[0], shape_[1], strides_[0], strides_[1], loc};
}

DlpackTensor from_dlpack(DLManagedTensor* tensor, SourceLoc loc) {
  if (tensor == nullptr) throw Error(ErrorKind::user, loc, "from_dlpack of a null pointer", "hand over a tensor");
  DlpackTensor result(tensor->dl_tensor, false, loc);
  result.owner_ = std::shared_ptr<void>(tensor, [](void* p) {
    auto* managed = static_cast<DLManagedTensor*>(p);
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
  return result;
}

DlpackTensor from_dlpack(DLManagedTensorVersioned* tensor, SourceLoc loc) {
  if (tensor == nullptr) throw Error(ErrorKind::user, loc, "from_dlpack of a null pointer", "hand over a tensor");
  if (tensor->version.major != 1) {
    throw Error(ErrorKind::user, loc,
                fmt::format("a DLPack tensor of version {}.{}", tensor->version.major, tensor->version.minor),
                "ask its library for version 1: max_version=(1, 0)");
  }
  DlpackTensor result(tensor->dl_tensor, (tensor->flags & dlpack::flag_read_only) != 0, loc);
  result.owner_ = std::shared_ptr<void>(tensor, [](void* p) {
    auto* managed = static_cast<DLManagedTensorVersioned*>(p);
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
  return result;
}

namespace detail {
namespace {

// A managed tensor with what it points to.
template <class Managed>
struct Exported {
  Managed managed;
  std::shared_ptr<void> owner;
  Shape shape;
  std::vector<std::int64_t> strides;
};

template <class Managed>
Managed* exported(std::shared_ptr<void> owner, void* data, DType type, const Shape& shape, const Device& device) {
  auto made = std::make_unique<Exported<Managed>>();
  made->owner = std::move(owner);
  made->shape = shape;
  made->strides = contiguous_strides(shape);
  DLTensor& tensor = made->managed.dl_tensor;
  tensor.data = data;
  tensor.device = device.is_simulated() ? DLDevice{dlpack::cpu, 0} : DLDevice{dlpack::cuda, device.ordinal()};
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = dlpack_type(type);
  tensor.shape = made->shape.data();
  tensor.strides = made->strides.data();
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](Managed* managed) { delete static_cast<Exported<Managed>*>(managed->manager_ctx); };
  return &made.release()->managed;
}

}  // namespace

DLManagedTensor* make_dlpack(std::shared_ptr<void> owner, void* data, DType type, const Shape& shape,
                             const Device& device) {
  return exported<DLManagedTensor>(std::move(owner), data, type, shape, device);
}
DLManagedTensorVersioned* make_dlpack_versioned(std::shared_ptr<void> owner, void* data, DType type, const Shape& shape,
                                                const Device& device) {
  return exported<DLManagedTensorVersioned>(std::move(owner), data, type, shape, device);
}

}  // namespace detail
}  // namespace tessera
