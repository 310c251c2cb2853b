// mma.sync.m16n8k16, included once for each instruction set (see lane_ops.inl).
//
// Numbers: a product of two 16-bit operands is exact in float32 (bfloat16: unless it leaves float32's range), and is
// added to the float32 accumulator with rounding to nearest even, for k = 0, 1, ..., 15 in this order. The card adds in
// groups and truncates within them, in an order that PTX leaves open; results agree to float32 rounding. A float16
// accumulator is widened first and rounded once, at the end of the instruction.
//
// Fragments (PTX ISA 9.7.14.5.8): lane 4g + q holds A(g, 2q), A(g, 2q+1) in its first register, so the 32 words of that
// register are the rows of an 8x8 block of A, in order; likewise the others, and B by columns.

using Vec8 = float __attribute__((vector_size(32)));

inline Vec8 multiply_add(float a, Vec8 b, Vec8 c) {
#if defined(__FMA__)
  return reinterpret_cast<Vec8>(
      _mm256_fmadd_ps(_mm256_set1_ps(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  return a * b + c;
#endif
}

template <class V>
inline V load_vector(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

// 64 16-bit numbers of one register word to float.
template <class L>
inline void widen_word(const RegisterWord& word, float* out) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(word);
#if defined(__F16C__)
  for (int i = 0; i < 64; i += 8) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * i));
    if constexpr (__is_same(L, HalfLane)) {
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(x));
    } else {
      _mm256_storeu_ps(out + i, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)));
    }
  }
#else
  std::uint16_t h[64];
  __builtin_memcpy(h, bytes, sizeof(h));
  for (int i = 0; i < 64; ++i) out[i] = L::get(h[i]);
#endif
}

// rows[r][c] -> out[c] = column c, for 8 rows of 8.
inline void transpose8(const float* rows, Vec8* out) {
  Vec8 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = load_vector<Vec8>(rows + 8 * i);
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    r[4 * i + 1] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    r[4 * i + 2] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    r[4 * i + 3] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    out[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// c[r] += sum over k of a(r, k) b[k], where a holds the 8x8 blocks (rows 0-7, k 0-7), (rows 8-15, k 0-7),
// (rows 0-7, k 8-15), (rows 8-15, k 8-15).
inline void multiply_fragments(const float* a, const Vec8* b, Vec8* c) {
  for (int half = 0; half < 2; ++half) {
    Vec8 acc[8];
    for (int r = 0; r < 8; ++r) acc[r] = c[8 * half + r];
    for (int k = 0; k < 16; ++k) {
      const float* column = a + 64 * (half + 2 * (k / 8)) + k % 8;
      for (int r = 0; r < 8; ++r) acc[r] = multiply_add(column[8 * r], b[k], acc[r]);
    }
    for (int r = 0; r < 8; ++r) c[8 * half + r] = acc[r];
  }
}

template <class L>
inline void widen_operands(const RegisterWord* a, const RegisterWord* b, float* a_out, Vec8* b_out) {
  for (int w = 0; w < 4; ++w) widen_word<L>(a[w], a_out + 64 * w);
  float columns[64];
  for (int w = 0; w < 2; ++w) {
    widen_word<L>(b[w], columns);
    transpose8(columns, b_out + 8 * w);
  }
}

template <class L>
void mma_f32(RegisterWord* d, const RegisterWord* a, const RegisterWord* b) {
  alignas(32) float a_wide[256];
  Vec8 b_wide[16];
  widen_operands<L>(a, b, a_wide, b_wide);
  // Even columns lie in one register and odd ones in the next, so B's columns are put in that order too.
  for (auto& row : b_wide) row = __builtin_shufflevector(row, row, 0, 2, 4, 6, 1, 3, 5, 7);
  using Vec4 = float __attribute__((vector_size(16)));
  Vec8 c[16];
  for (int r = 0; r < 16; ++r) {
    const int word = 2 * (r / 8);
    const auto even = load_vector<Vec4>(&d[word][4 * (r % 8)]);
    const auto odd = load_vector<Vec4>(&d[word + 1][4 * (r % 8)]);
    c[r] = __builtin_shufflevector(even, odd, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  multiply_fragments(a_wide, b_wide, c);
  for (int r = 0; r < 16; ++r) {
    const int word = 2 * (r / 8);
    __builtin_memcpy(&d[word][4 * (r % 8)], &c[r], 16);
    __builtin_memcpy(&d[word + 1][4 * (r % 8)], reinterpret_cast<const char*>(&c[r]) + 16, 16);
  }
}

inline void mma_f16(RegisterWord* d, const RegisterWord* a, const RegisterWord* b) {
  alignas(32) float a_wide[256];
  Vec8 b_wide[16];
  widen_operands<HalfLane>(a, b, a_wide, b_wide);
  alignas(32) float c_wide[128];
  for (int w = 0; w < 2; ++w) widen_word<HalfLane>(d[w], c_wide + 64 * w);
  Vec8 c[16];
  for (int r = 0; r < 16; ++r) c[r] = load_vector<Vec8>(c_wide + 8 * r);
  multiply_fragments(a_wide, b_wide, c);
  __builtin_memcpy(c_wide, c, sizeof(c));
  for (int w = 0; w < 2; ++w) {
    std::uint32_t packed[64];
    HalfLane::pack(c_wide + 64 * w, packed);
    HalfLane::pack(c_wide + 64 * w + 32, packed + 32);
    for (int lane = 0; lane < warp_lanes; ++lane) d[w][lane] = packed[2 * lane] | (packed[2 * lane + 1] << 16);
  }
}
