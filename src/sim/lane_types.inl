// How each element type is held in a lane's word, included once for each instruction set (see lane_ops.inl).

template <class ValueT, class StoredT>
struct IntegerLane {
  using Raw = std::conditional_t<sizeof(StoredT) == 8, std::uint64_t, std::uint32_t>;
  using Value = ValueT;                       // what comparisons and divisions see
  using Stored = StoredT;                     // the type itself, for wrapping
  using Wide = std::make_unsigned_t<ValueT>;  // what wraps without undefined behaviour
  static constexpr bool floating = false;
  static constexpr bool half = false;
  static constexpr int bits = 8 * static_cast<int>(sizeof(StoredT));
  static Value get(Raw r) { return static_cast<Value>(r); }
  static Raw put(Wide v) { return static_cast<Raw>(static_cast<Wide>(static_cast<Value>(static_cast<Stored>(v)))); }
};
struct BoolLane {
  using Raw = std::uint32_t;
  using Value = std::uint32_t;
  using Stored = std::uint32_t;
  using Wide = std::uint32_t;
  static constexpr bool floating = false;
  static constexpr bool half = false;
  static constexpr int bits = 1;
  static Value get(Raw r) { return r; }
  static Raw put(Wide v) { return v != 0 ? 1U : 0U; }
};
struct FloatLane {
  using Raw = std::uint32_t;
  using Value = float;
  static constexpr bool floating = true;
  static constexpr bool half = false;
  static Value get(Raw r) { return __builtin_bit_cast(float, r); }
  static Raw put(float v) { return __builtin_bit_cast(std::uint32_t, v); }
};

inline std::uint32_t bits_of(float v) { return __builtin_bit_cast(std::uint32_t, v); }

// Branch-free forms of float16::to_float and float16::from_float, so that loops over lanes vectorise.
inline float half_to_float(std::uint32_t h) {
  const std::uint32_t sign = (h & 0x8000U) << 16;
  const std::uint32_t magnitude = h & 0x7fffU;
  // Moves exponent and mantissa to float's place and corrects the bias with a multiplication, which also handles
  // subnormals; infinity and NaN need the exponent filled up.
  const float scaled = __builtin_bit_cast(float, magnitude << 13) * __builtin_bit_cast(float, 0x77800000U);
  const std::uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return __builtin_bit_cast(float, bits_of(scaled) | special | sign);
}
inline std::uint32_t float_to_half(float value) {
  const std::uint32_t x = bits_of(value);
  const std::uint32_t sign = (x >> 16) & 0x8000U;
  const std::uint32_t magnitude = x & 0x7fffffffU;
  // Normal results: round the mantissa to ten bits. Subnormal ones: adding 0.5 lets the adder do the rounding.
  const std::uint32_t rounded = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  const std::uint32_t tiny = bits_of(__builtin_bit_cast(float, magnitude) + 0.5F) - 0x3f000000U;
  std::uint32_t result = magnitude < 0x38800000U ? tiny : rounded;
  result = magnitude >= 0x477ff000U ? 0x7c00U : result;
  result |= sign;
  return magnitude > 0x7f800000U ? 0x7fffU : result;
}

struct HalfLane {
  using Raw = std::uint32_t;
  using Value = float;
  static constexpr bool floating = true;
  static constexpr bool half = true;
  static Value get(Raw r) { return half_to_float(r); }
  static Raw put(float v) { return float_to_half(v); }
  // Whole warps at once.
  static void unpack(const Raw* r, float* v) {
#if defined(__F16C__)
    for (int i = 0; i < warp_lanes; i += 8) {
      const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(r + i));
      const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(r + i + 4));
      _mm256_storeu_ps(v + i, _mm256_cvtph_ps(_mm_packus_epi32(low, high)));
    }
#else
    for (int i = 0; i < warp_lanes; ++i) v[i] = half_to_float(r[i]);
#endif
  }
  static void pack(const float* v, Raw* r) {
#if defined(__F16C__)
    for (int i = 0; i < warp_lanes; i += 8) {
      const __m256 x = _mm256_loadu_ps(v + i);
      const __m256i h = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
      const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(r + i), _mm256_blendv_epi8(h, _mm256_set1_epi32(0x7fff), nan));
    }
#else
    for (int i = 0; i < warp_lanes; ++i) r[i] = float_to_half(v[i]);
#endif
  }
};
struct BrainLane {
  using Raw = std::uint32_t;
  using Value = float;
  static constexpr bool floating = true;
  static constexpr bool half = true;
  static Value get(Raw r) { return __builtin_bit_cast(float, r << 16); }
  static Raw put(float v) {
    const std::uint32_t x = bits_of(v);
    const std::uint32_t rounded = (x + 0x7fffU + ((x >> 16) & 1U)) >> 16;
    return (x & 0x7fffffffU) > 0x7f800000U ? 0x7fffU : rounded;
  }
  static void unpack(const Raw* r, float* v) {
    for (int i = 0; i < warp_lanes; ++i) v[i] = get(r[i]);
  }
  static void pack(const float* v, Raw* r) {
    for (int i = 0; i < warp_lanes; ++i) r[i] = put(v[i]);
  }
};

// The 8-bit floats: storage types, which only conversions and selections see. Conversion is cvt.rn.satfinite (PTX ISA
// 9.7.9.22): round to nearest even, saturate at the largest finite number, NaN gives 0x7f. `Largest`: its code.
template <int Mantissa, int Bias, std::uint32_t Largest>
struct Float8Lane {
  using Raw = std::uint32_t;
  using Value = float;
  static constexpr bool floating = true;
  static constexpr bool half = false;
  static float get(Raw r) {
    const std::uint32_t magnitude = r & 0x7fU;
    // As for float16: the multiplication corrects the bias and handles subnormals. NaN as it comes out of float16.
    const float scaled = __builtin_bit_cast(float, magnitude << (23 - Mantissa)) *
                         __builtin_bit_cast(float, static_cast<std::uint32_t>(254 - Bias) << 23);
    const std::uint32_t finite = bits_of(scaled) | (r & 0x80U) << 24;
    const std::uint32_t infinity = Mantissa == 2 && magnitude == 0x7cU ? 0x7f800000U | (r & 0x80U) << 24 : finite;
    const bool nan = Mantissa == 2 ? magnitude > 0x7cU : magnitude == 0x7fU;
    return __builtin_bit_cast(float, nan ? 0x7fffe000U : infinity);
  }
  static Raw put(float value) {
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - Bias) << 23;
    // A number whose unit in the last place is the smallest subnormal: adding it lets the adder do the rounding.
    constexpr std::uint32_t unit = static_cast<std::uint32_t>(127 + 24 - Bias - Mantissa) << 23;
    constexpr int shift = 23 - Mantissa;
    const std::uint32_t x = bits_of(value);
    const std::uint32_t magnitude = x & 0x7fffffffU;
    const std::uint32_t rounded = ((magnitude + (1U << (shift - 1)) - 1U + ((magnitude >> shift) & 1U)) >> shift) -
                                  (static_cast<std::uint32_t>(127 - Bias) << Mantissa);
    const std::uint32_t tiny = bits_of(__builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, unit)) - unit;
    std::uint32_t result = magnitude < smallest_normal ? tiny : rounded;
    result = result > Largest || magnitude >= 0x7f800000U ? Largest : result;
    return magnitude > 0x7f800000U ? 0x7fU : result | ((x >> 24) & 0x80U);
  }
};
using Float8E4M3Lane = Float8Lane<3, 7, 0x7eU>;
using Float8E5M2Lane = Float8Lane<2, 15, 0x7bU>;

template <DType T>
struct LaneOf;
template <>
struct LaneOf<DType::f16> : HalfLane {};
template <>
struct LaneOf<DType::bf16> : BrainLane {};
template <>
struct LaneOf<DType::f32> : FloatLane {};
template <>
struct LaneOf<DType::i8> : IntegerLane<std::int32_t, std::int8_t> {};
template <>
struct LaneOf<DType::i16> : IntegerLane<std::int32_t, std::int16_t> {};
template <>
struct LaneOf<DType::i32> : IntegerLane<std::int32_t, std::int32_t> {};
template <>
struct LaneOf<DType::i64> : IntegerLane<std::int64_t, std::int64_t> {};
template <>
struct LaneOf<DType::u8> : IntegerLane<std::uint32_t, std::uint8_t> {};
template <>
struct LaneOf<DType::u16> : IntegerLane<std::uint32_t, std::uint16_t> {};
template <>
struct LaneOf<DType::u32> : IntegerLane<std::uint32_t, std::uint32_t> {};
template <>
struct LaneOf<DType::u64> : IntegerLane<std::uint64_t, std::uint64_t> {};
template <>
struct LaneOf<DType::boolean> : BoolLane {};
template <>
struct LaneOf<DType::f8e4m3> : Float8E4M3Lane {};
template <>
struct LaneOf<DType::f8e5m2> : Float8E5M2Lane {};
