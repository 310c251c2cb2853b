// The implementation of LaneOps, compiled once for each instruction set: the including file opens a namespace of its
// own around it, and nothing here may end up in a function that two such files share (so: no library templates).

#include "sim/lane_types.inl"
#include "sim/tensor_core.inl"
#include "sim/wgmma.inl"

template <int...>
struct Ints {};

struct Add {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating)
      return a + b;
    else
      return static_cast<typename L::Wide>(a) + static_cast<typename L::Wide>(b);
  }
};
struct Sub {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating)
      return a - b;
    else
      return static_cast<typename L::Wide>(a) - static_cast<typename L::Wide>(b);
  }
};
struct Mul {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating)
      return a * b;
    else
      return static_cast<typename L::Wide>(a) * static_cast<typename L::Wide>(b);
  }
};
struct Div {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating) {
      return a / b;
    } else {
      using W = typename L::Wide;
      if (b == 0) return W{0};
      if (static_cast<W>(b) == static_cast<W>(-1)) {  // the one quotient that overflows, or any unsigned by its maximum
        if constexpr (static_cast<typename L::Value>(-1) < 0) return static_cast<W>(W{0} - static_cast<W>(a));
      }
      return static_cast<W>(a / b);
    }
  }
};
struct Mod {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating) {
      return __builtin_fmodf(a, b);
    } else {
      using W = typename L::Wide;
      if (b == 0) return W{0};
      if constexpr (static_cast<typename L::Value>(-1) < 0) {
        if (b == -1) return W{0};
      }
      return static_cast<W>(a % b);
    }
  }
};
// PTX min and max: a NaN loses against a number, and -0 is less than +0 (PTX ISA 9.7.3.11).
struct Min {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return __builtin_bit_cast(float, bits_of(a) | bits_of(b));
      return a < b ? a : b;
    } else {
      return static_cast<typename L::Wide>(a < b ? a : b);
    }
  }
};
struct Max {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    if constexpr (L::floating) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return __builtin_bit_cast(float, bits_of(a) & bits_of(b));
      return a > b ? a : b;
    } else {
      return static_cast<typename L::Wide>(a > b ? a : b);
    }
  }
};
struct And {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    return static_cast<typename L::Wide>(a & b);
  }
};
struct Or {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    return static_cast<typename L::Wide>(a | b);
  }
};
struct Xor {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    return static_cast<typename L::Wide>(a ^ b);
  }
};
struct Shl {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    using W = typename L::Wide;
    return static_cast<W>(static_cast<W>(a) << (static_cast<W>(b) & (sizeof(W) * 8 - 1)));
  }
};
struct Shr {
  template <class L>
  static auto run(typename L::Value a, typename L::Value b) {
    using W = typename L::Wide;
    return static_cast<W>(a >> (static_cast<W>(b) & (sizeof(W) * 8 - 1)));
  }
};
struct Lt {
  template <class L>
  static bool run(typename L::Value a, typename L::Value b) {
    return a < b;
  }
};
struct Le {
  template <class L>
  static bool run(typename L::Value a, typename L::Value b) {
    return a <= b;
  }
};
struct Gt {
  template <class L>
  static bool run(typename L::Value a, typename L::Value b) {
    return a > b;
  }
};
struct Ge {
  template <class L>
  static bool run(typename L::Value a, typename L::Value b) {
    return a >= b;
  }
};
struct Eq {
  template <class L>
  static bool run(typename L::Value a, typename L::Value b) {
    return a == b;
  }
};
struct Ne {
  template <class L>
  static bool run(typename L::Value a, typename L::Value b) {
    return a != b;
  }
};

template <class Op, class L, int N>
void binary(void* dst, const void* a, const void* b, const void*) {
  using Raw = typename L::Raw;
  auto* d = static_cast<Raw*>(dst);
  const auto* x = static_cast<const Raw*>(a);
  const auto* y = static_cast<const Raw*>(b);
  if constexpr (L::half && N == warp_lanes) {
    float u[N], v[N];
    L::unpack(x, u);
    L::unpack(y, v);
    for (int i = 0; i < N; ++i) u[i] = Op::template run<L>(u[i], v[i]);
    L::pack(u, d);
  } else {
    for (int i = 0; i < N; ++i) d[i] = L::put(Op::template run<L>(L::get(x[i]), L::get(y[i])));
  }
}

template <class Op, class L, int N>
void compare(void* dst, const void* a, const void* b, const void*) {
  using Raw = typename L::Raw;
  auto* d = static_cast<std::uint32_t*>(dst);
  const auto* x = static_cast<const Raw*>(a);
  const auto* y = static_cast<const Raw*>(b);
  for (int i = 0; i < N; ++i) d[i] = Op::template run<L>(L::get(x[i]), L::get(y[i])) ? 1U : 0U;
}

template <class L, int N>
void negate(void* dst, const void* a, const void*, const void*) {
  using Raw = typename L::Raw;
  auto* d = static_cast<Raw*>(dst);
  const auto* x = static_cast<const Raw*>(a);
  for (int i = 0; i < N; ++i) {
    if constexpr (L::half)
      d[i] = x[i] ^ 0x8000U;
    else if constexpr (L::floating)
      d[i] = x[i] ^ 0x80000000U;
    else
      d[i] = L::put(static_cast<typename L::Wide>(0) - static_cast<typename L::Wide>(L::get(x[i])));
  }
}
template <class L, int N>
void invert(void* dst, const void* a, const void*, const void*) {
  using Raw = typename L::Raw;
  auto* d = static_cast<Raw*>(dst);
  const auto* x = static_cast<const Raw*>(a);
  for (int i = 0; i < N; ++i) d[i] = L::put(static_cast<typename L::Wide>(~L::get(x[i])));
}
template <int N>
void logical_not(void* dst, const void* a, const void*, const void*) {
  auto* d = static_cast<std::uint32_t*>(dst);
  const auto* x = static_cast<const std::uint32_t*>(a);
  for (int i = 0; i < N; ++i) d[i] = x[i] ^ 1U;
}
template <class Raw, int N>
void select(void* dst, const void* a, const void* b, const void* c) {
  auto* d = static_cast<Raw*>(dst);
  const auto* p = static_cast<const std::uint32_t*>(a);
  const auto* x = static_cast<const Raw*>(b);
  const auto* y = static_cast<const Raw*>(c);
  for (int i = 0; i < N; ++i) d[i] = p[i] != 0 ? x[i] : y[i];
}
template <class Raw>
void broadcast(void* dst, const void* a, const void*, const void*) {
  auto* d = static_cast<Raw*>(dst);
  const Raw v = *static_cast<const Raw*>(a);
  for (int i = 0; i < warp_lanes; ++i) d[i] = v;
}

// cvt.rzi with saturation; NaN gives 0 (PTX ISA 9.7.9.22).
template <class To>
typename To::Wide float_to_integer(float f) {
  using S = typename To::Stored;
  constexpr bool is_signed = static_cast<S>(-1) < 0;
  constexpr int magnitude_bits = To::bits - (is_signed ? 1 : 0);
  constexpr S high = static_cast<S>(magnitude_bits == 64 ? ~0ULL : (1ULL << magnitude_bits) - 1);
  constexpr S low = is_signed ? static_cast<S>(-high - 1) : S{0};
  const float limit = 2.0F * static_cast<float>(1ULL << (magnitude_bits - 1));
  S result = 0;
  if (f >= limit)
    result = high;
  else if (f <= static_cast<float>(low))
    result = low;
  else if (f == f)
    result = static_cast<S>(f);
  return static_cast<typename To::Wide>(static_cast<typename To::Value>(result));
}

template <DType F, DType T, int N>
void convert(void* dst, const void* a, const void*, const void*) {
  using From = LaneOf<F>;
  using To = LaneOf<T>;
  auto* d = static_cast<typename To::Raw*>(dst);
  const auto* x = static_cast<const typename From::Raw*>(a);
  if constexpr (F == T) {
    for (int i = 0; i < N; ++i) d[i] = x[i];
  } else if constexpr (T == DType::boolean) {
    for (int i = 0; i < N; ++i) d[i] = From::get(x[i]) != 0 ? 1U : 0U;
  } else if constexpr (From::half && T == DType::f32 && N == warp_lanes) {
    From::unpack(x, reinterpret_cast<float*>(dst));
  } else if constexpr (F == DType::f32 && To::half && N == warp_lanes) {
    To::pack(reinterpret_cast<const float*>(a), d);
  } else if constexpr (To::floating) {
    for (int i = 0; i < N; ++i) d[i] = To::put(static_cast<float>(From::get(x[i])));
  } else if constexpr (From::floating) {
    for (int i = 0; i < N; ++i) d[i] = To::put(float_to_integer<To>(From::get(x[i])));
  } else {
    for (int i = 0; i < N; ++i) d[i] = To::put(static_cast<typename To::Wide>(From::get(x[i])));
  }
}

template <DType T, int N>
constexpr void fill_arithmetic(LaneOps& ops) {
  using K = ir::ExprKind;
  using L = LaneOf<T>;
  const auto set = [&ops](K kind, LaneFn f) { ops.op[static_cast<int>(kind)][static_cast<int>(T)] = f; };
  if constexpr (T != DType::boolean) {
    set(K::add, binary<Add, L, N>);
    set(K::sub, binary<Sub, L, N>);
    set(K::mul, binary<Mul, L, N>);
    set(K::div, binary<Div, L, N>);
    set(K::mod, binary<Mod, L, N>);
    set(K::neg, negate<L, N>);
  }
  set(K::min, binary<Min, L, N>);
  set(K::max, binary<Max, L, N>);
  if constexpr (!L::floating) {
    set(K::bit_and, binary<And, L, N>);
    set(K::bit_or, binary<Or, L, N>);
    set(K::bit_xor, binary<Xor, L, N>);
    if constexpr (T != DType::boolean) {
      set(K::shl, binary<Shl, L, N>);
      set(K::shr, binary<Shr, L, N>);
      set(K::bit_not, invert<L, N>);
    } else {
      set(K::bit_not, logical_not<N>);
      set(K::logical_not, logical_not<N>);
      set(K::logical_and, binary<And, L, N>);
      set(K::logical_or, binary<Or, L, N>);
    }
  }
  set(K::lt, compare<Lt, L, N>);
  set(K::le, compare<Le, L, N>);
  set(K::gt, compare<Gt, L, N>);
  set(K::ge, compare<Ge, L, N>);
  set(K::eq, compare<Eq, L, N>);
  set(K::ne, compare<Ne, L, N>);
}

template <DType T, int N>
constexpr void fill_type(LaneOps& ops) {
  ops.op[static_cast<int>(ir::ExprKind::select)][static_cast<int>(T)] = select<typename LaneOf<T>::Raw, N>;
  if constexpr (!is_float8(T)) fill_arithmetic<T, N>(ops);
}

template <DType F, int N, int... T>
constexpr void fill_casts_from(LaneOps& ops, Ints<T...>) {
  ((ops.cast[static_cast<int>(F)][T] = convert<F, static_cast<DType>(T), N>), ...);
}

template <int N, int... T>
constexpr void fill(LaneOps& ops, Ints<T...> all) {
  (fill_type<static_cast<DType>(T), N>(ops), ...);
  (fill_casts_from<static_cast<DType>(T), N>(ops, all), ...);
}

template <int N>
constexpr LaneOps make_ops() {
  LaneOps ops;
  fill<N>(ops, Ints<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13>{});
  if constexpr (N == warp_lanes) {
    ops.broadcast32 = broadcast<std::uint32_t>;
    ops.broadcast64 = broadcast<std::uint64_t>;
    ops.mma_f16_f32 = mma_f32<HalfLane>;
    ops.mma_bf16_f32 = mma_f32<BrainLane>;
    ops.mma_f16_f16 = mma_f16;
    ops.wgmma = wgmma;
  }
  return ops;
}
static_assert(dtype_count == 14);
