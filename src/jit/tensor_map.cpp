// Encoding of TMA descriptors by the driver.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jit/driver.hpp"
#include "jit/driver_api.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

constexpr std::size_t most_dims = 5;
constexpr int interleave_none = 0, promotion_128b = 2, fill_zero = 0;

// CUtensorMapDataType. Types that the engine does not know are moved as unsigned words of their size: a copy needs no
// more.
int data_type(DType type) {
  switch (type) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
    case DType::f8e4m3:
    case DType::f8e5m2: return 0;
    case DType::i16:
    case DType::u16: return 1;
    case DType::u32: return 2;
    case DType::i32: return 3;
    case DType::u64: return 4;
    case DType::i64: return 5;
    case DType::f16: return 6;
    case DType::f32: return 7;
    case DType::bf16: return 9;
  }
  return 0;
}

}  // namespace

EncodedTensorMap encode_tensor_map(int device, const ir::thread::TensorMap& map, void* base,
                                   const std::vector<std::int64_t>& dims,
                                   const std::vector<std::int64_t>& strides_bytes) {
  const std::size_t rank = dims.size();
  if (rank == 0 || rank > most_dims || map.box.size() != rank || strides_bytes.size() + 1 != rank) {
    throw Error(ErrorKind::internal, map.loc,
                fmt::format("tensor map '{}' has {} dims, {} strides and a box of {}", map.name, rank,
                            strides_bytes.size(), map.box.size()));
  }
  const ContextScope scope(device);
  std::array<std::uint64_t, most_dims> extents{}, strides{};
  std::array<std::uint32_t, most_dims> box{}, steps{};
  for (std::size_t i = 0; i < rank; ++i) {
    extents[i] = static_cast<std::uint64_t>(dims[i]);
    box[i] = map.box[i];
    steps[i] = 1;
    if (i + 1 < rank) strides[i] = static_cast<std::uint64_t>(strides_bytes[i]);
  }
  // The driver wants 64 bytes. g++ 12 aligns a named object so, but not one that is returned.
  alignas(alignof(EncodedTensorMap)) std::array<std::uint64_t, 16> words{};
  const CuResult code = driver_api().encode_tiled(
      words.data(), data_type(map.type), static_cast<std::uint32_t>(rank), base, extents.data(), strides.data(),
      box.data(), steps.data(), interleave_none, static_cast<int>(map.swizzle), promotion_128b, fill_zero);
  if (code != 0) {
    throw Error(
        ErrorKind::internal, map.loc,
        fmt::format("the driver refuses tensor map '{}' (CUDA error {}): base {}, dims [{}], strides [{}] bytes, "
                    "box [{}], swizzle {}",
                    map.name, code, base, fmt::join(dims, ", "), fmt::join(strides_bytes, ", "),
                    fmt::join(map.box, ", "), static_cast<int>(map.swizzle)));
  }
  EncodedTensorMap out;
  std::copy(words.begin(), words.end(), std::begin(out.words));
  return out;
}

void replace_address(int device, EncodedTensorMap* map, void* base) {
  const ContextScope scope(device);
  check_cuda(driver_api().replace_address(map->words, base), "cuTensorMapReplaceAddress");
}

}  // namespace tessera::jit
