// One warp's part of wgmma.mma_async.m64nNk(32 bytes), included once for each instruction set (see lane_ops.inl).
//
// Numbers: a product of two operands of 16 or 8 bits, or of two tf32, is exact in float32 (bfloat16 and tf32: unless it
// leaves float32's range), and is added to the float32 accumulator with rounding to nearest even, for k = 0, 1, ... in
// this order. The card adds in groups and truncates within them (for 8-bit floats it keeps fewer bits); results agree
// to float32 rounding. A float16 accumulator is widened first and rounded once, at the end of the instruction. Integers
// are exact and wrap.
//
// D fragment (PTX ISA 9.7.15.5.1.1): of eight columns, register word 0 (2 and 3 for rows 8 to 15) holds the even ones
// of row l / 4, word 1 the odd ones, so B's columns are put in that order within each eight: 0 2 4 6 1 3 5 7.

inline constexpr int most_columns = 256;

using Int8 = std::uint32_t __attribute__((vector_size(32)));

inline int fragment_column(int column) { return (column & ~7) + (column & 1) * 4 + ((column & 7) >> 1); }

// 32 bytes of consecutive k to numbers.
template <class L, int Bits>
inline void widen_row(const std::byte* bytes, float* out) {
  if constexpr (Bits == 32) {  // tf32: float32 without the 13 lowest bits
    std::uint32_t words[8];
    __builtin_memcpy(words, bytes, 32);
    for (int k = 0; k < 8; ++k) out[k] = __builtin_bit_cast(float, words[k] & 0xffffe000U);
  } else if constexpr (Bits == 16) {
    std::uint16_t words[16];
    __builtin_memcpy(words, bytes, 32);
    for (int k = 0; k < 16; ++k) out[k] = L::get(words[k]);
  } else {
    std::uint8_t words[32];
    __builtin_memcpy(words, bytes, 32);
    for (int k = 0; k < 32; ++k) out[k] = L::get(words[k]);
  }
}

inline void widen_float_row(DType type, const std::byte* bytes, float* out) {
  switch (type) {
    case DType::f16:
#if defined(__F16C__)
      for (int k = 0; k < 16; k += 8) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * k));
        _mm256_storeu_ps(out + k, _mm256_cvtph_ps(x));
      }
      return;
#else
      return widen_row<HalfLane, 16>(bytes, out);
#endif
    case DType::bf16: return widen_row<BrainLane, 16>(bytes, out);
    case DType::f32: return widen_row<FloatLane, 32>(bytes, out);
    case DType::f8e4m3: return widen_row<Float8E4M3Lane, 8>(bytes, out);
    default: return widen_row<Float8E5M2Lane, 8>(bytes, out);
  }
}

// c(rows r..r+3, 8 * Groups columns) += a * b. `c` points to the first row of the first group; rows are 8 floats,
// groups 128 apart. b: one row of `columns` floats a k.
template <int Groups>
inline void multiply_block(const float* a, int a_stride, const float* b, int columns, int depth, float* c) {
  Vec8 acc[4][Groups];
  for (int r = 0; r < 4; ++r) {
    for (int g = 0; g < Groups; ++g) acc[r][g] = load_vector<Vec8>(c + 128 * g + 8 * r);
  }
  for (int k = 0; k < depth; ++k) {
    Vec8 row[Groups];
    for (int g = 0; g < Groups; ++g) row[g] = load_vector<Vec8>(b + k * columns + 8 * g);
    for (int r = 0; r < 4; ++r) {
      for (int g = 0; g < Groups; ++g) acc[r][g] = multiply_add(a[r * a_stride + k], row[g], acc[r][g]);
    }
  }
  for (int r = 0; r < 4; ++r) {
    for (int g = 0; g < Groups; ++g) __builtin_memcpy(c + 128 * g + 8 * r, &acc[r][g], 32);
  }
}

// c: groups of 8 columns, 16 rows of 8 floats each.
inline void multiply_floats(const float* a, const float* b, int n, int depth, float* c) {
  for (int column = 0; column < n; column += 16) {
    for (int r = 0; r < 16; r += 4) {
      float* block = c + 16 * column + 8 * r;
      if (column + 8 < n) {
        multiply_block<2>(a + r * depth, depth, b + column, n, depth, block);
      } else {
        multiply_block<1>(a + r * depth, depth, b + column, n, depth, block);
      }
    }
  }
}

// The accumulators of one group of 8 columns as 16 rows in fragment order, and back. `from` words are 4 bytes.
inline void group_from_words(const RegisterWord* words, float* c) {
  for (int r = 0; r < 16; ++r) {
    const int word = 2 * (r / 8);
    __builtin_memcpy(c + 8 * r, &words[word][4 * (r % 8)], 16);
    __builtin_memcpy(c + 8 * r + 4, &words[word + 1][4 * (r % 8)], 16);
  }
}
inline void group_to_words(const float* c, RegisterWord* words) {
  for (int r = 0; r < 16; ++r) {
    const int word = 2 * (r / 8);
    __builtin_memcpy(&words[word][4 * (r % 8)], c + 8 * r, 16);
    __builtin_memcpy(&words[word + 1][4 * (r % 8)], c + 8 * r + 4, 16);
  }
}
// 16-bit accumulators: word 0 holds pairs of columns of rows 0 to 7, word 1 of rows 8 to 15.
inline void group_from_halves(const RegisterWord* words, float* c) {
  for (int r = 0; r < 16; ++r) {
    for (int pair = 0; pair < 4; ++pair) {
      const std::uint32_t both = words[r / 8][4 * (r % 8) + pair];
      c[8 * r + pair] = HalfLane::get(both & 0xffffU);
      c[8 * r + 4 + pair] = HalfLane::get(both >> 16);
    }
  }
}
inline void group_to_halves(const float* c, RegisterWord* words) {
  for (int r = 0; r < 16; ++r) {
    for (int pair = 0; pair < 4; ++pair) {
      words[r / 8][4 * (r % 8) + pair] = HalfLane::put(c[8 * r + pair]) | (HalfLane::put(c[8 * r + 4 + pair]) << 16);
    }
  }
}

inline void wgmma_floats(const WgmmaShape& shape, RegisterWord* d, const std::byte* a, const std::byte* b) {
  alignas(64) float a_wide[16 * 32];
  alignas(64) float b_wide[most_columns * 32];
  alignas(64) float c[16 * most_columns];
  const int n = shape.n;
  const int depth = 32 / size_of(shape.a_type);
  for (int r = 0; r < 16; ++r) widen_float_row(shape.a_type, a + 32 * r, a_wide + depth * r);
  if (shape.negate) {
    for (int i = 0; i < 16 * depth; ++i) a_wide[i] = -a_wide[i];
  }
  float row[32];
  for (int column = 0; column < n; ++column) {
    widen_float_row(shape.b_type, b + 32 * column, row);
    const int at = fragment_column(column);
    for (int k = 0; k < depth; ++k) b_wide[k * n + at] = row[k];
  }
  const bool halves = shape.accumulator_type == DType::f16;
  const int words = halves ? 2 : 4;
  if (shape.accumulate) {
    for (int g = 0; g < n / 8; ++g) {
      halves ? group_from_halves(d + words * g, c + 128 * g) : group_from_words(d + words * g, c + 128 * g);
    }
  } else {
    __builtin_memset(c, 0, static_cast<std::size_t>(n) * 16 * sizeof(float));
  }
  multiply_floats(a_wide, b_wide, n, depth, c);
  for (int g = 0; g < n / 8; ++g) {
    halves ? group_to_halves(c + 128 * g, d + words * g) : group_to_words(c + 128 * g, d + words * g);
  }
}

inline std::uint32_t widen_byte(DType type, std::byte b) {
  const auto raw = static_cast<std::uint32_t>(b);
  return type == DType::i8 ? (raw ^ 0x80U) - 0x80U : raw;
}

inline void wgmma_integers(const WgmmaShape& shape, RegisterWord* d, const std::byte* a, const std::byte* b) {
  alignas(64) std::uint32_t b_wide[8 * 32];
  for (int g = 0; g < shape.n / 8; ++g) {
    for (int column = 0; column < 8; ++column) {
      const std::byte* bytes = b + 32 * (8 * g + column);
      for (int k = 0; k < 32; ++k) b_wide[8 * k + fragment_column(column)] = widen_byte(shape.b_type, bytes[k]);
    }
    for (int r = 0; r < 16; ++r) {
      RegisterWord* words = d + 4 * g + 2 * (r / 8);
      std::uint32_t row[8] = {};
      if (shape.accumulate) {
        __builtin_memcpy(row, &words[0][4 * (r % 8)], 16);
        __builtin_memcpy(row + 4, &words[1][4 * (r % 8)], 16);
      }
      auto sum = load_vector<Int8>(row);
      for (int k = 0; k < 32; ++k) sum += widen_byte(shape.a_type, a[32 * r + k]) * load_vector<Int8>(b_wide + 8 * k);
      __builtin_memcpy(row, &sum, 32);
      __builtin_memcpy(&words[0][4 * (r % 8)], row, 16);
      __builtin_memcpy(&words[1][4 * (r % 8)], row + 4, 16);
    }
  }
}

inline void wgmma(const WgmmaShape& shape, RegisterWord* d, const std::byte* a, const std::byte* b) {
  if (shape.accumulator_type == DType::i32) {
    wgmma_integers(shape, d, a, b);
  } else {
    wgmma_floats(shape, d, a, b);
  }
}
