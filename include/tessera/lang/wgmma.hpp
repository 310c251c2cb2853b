// Warpgroup matrix multiply-accumulate: asynchronous products on the tensor cores, straight from shared memory.
#pragma once

#include "tessera/lang/tensor.hpp"

namespace tessera {

struct WgmmaOptions {
  detail::BoolArg accumulate = true;  // false: acc = a * b, whatever acc held
  bool negate_a = false, negate_b = false;
};

namespace detail {

// Every call is for one warpgroup: 128 threads from a multiple of 128. Group by group:
//   wgmma.fence();  wgmma.mma(...);  ...  wgmma.commit_group();  wgmma.wait_group(0);
struct Wgmma {
  // Orders the registers of acc and a before the next mma (PTX wgmma.fence): before the first mma of a group, and where
  // ordinary code touched them.
  void fence(SourceLoc loc = SourceLoc::here()) const;
  // acc[m, n] (+)= a[m, k] * b[k, n] (PTX ISA 9.7.15), b usually tile.transpose(). a may lie in registers. m is a
  // multiple of 64, k of 32 bytes, n of 8 (integers: 8, 24, or a multiple of 16). Types (a and b, acc): float16,
  // float32 or float16; bfloat16, float32; float (read as tf32), float32; float8_e4m3 and float8_e5m2 in any mix,
  // float32 or float16; int8 and uint8 in any mix, int32. acc was made by register_tensor, and nothing touches it
  // before the wait.
  void mma(const SharedTensor& a, const SharedTensor& b, const RegisterTensor& acc, const WgmmaOptions& options = {},
           SourceLoc loc = SourceLoc::here()) const;
  void mma(const RegisterTensor& a, const SharedTensor& b, const RegisterTensor& acc, const WgmmaOptions& options = {},
           SourceLoc loc = SourceLoc::here()) const;
  // Makes one group of the products since the last commit.
  void commit_group(SourceLoc loc = SourceLoc::here()) const;
  // Waits until at most `pending` (0 to 7) of the newest groups are under way.
  void wait_group(const HostInt& pending, SourceLoc loc = SourceLoc::here()) const;
};

}  // namespace detail

inline constexpr detail::Wgmma wgmma;

}  // namespace tessera
