// Tensor-core products, synchronisation, mbarriers, printing of tiles.
#pragma once

#include "tessera/lang/tensor.hpp"

namespace tessera {

// acc[m, n] += sum over k of a[m, k] * b[k, n], on the tensor cores (PTX mma.sync m16n8k16).
// Group: whole warps. Types (a and b, acc): float16, float32; float16, float16; bfloat16, float32. m and k are
// multiples of 16, n of 8. acc was made by register_tensor.
void dot(const RegisterTensor& a, const RegisterTensor& b, const RegisterTensor& acc,
         SourceLoc loc = SourceLoc::here());

// Barrier among the threads of the current group; all of them must reach it.
void sync(SourceLoc loc = SourceLoc::here());

// Prints the message and the elements in index order.
void print_tensor(const char* message, const RegisterTensor& tile, SourceLoc loc = SourceLoc::here());
void print_tensor(const char* message, const SharedTensor& tile, SourceLoc loc = SourceLoc::here());

namespace detail {

struct Fence {
  // Orders this thread's earlier accesses to shared memory before later ones of the asynchronous engines (PTX
  // fence.proxy.async). The compiler inserts the ones that a TMA load needs by itself.
  void proxy_async(SourceLoc loc = SourceLoc::here()) const;
};

struct Mbarrier {
  // mbarriers (PTX 9.7.13.15), initialised before the kernel's first statement. A count is the number of arrivals that
  // complete a phase: 1 to 2^20 - 1.
  Barrier alloc(const HostInt& count, SourceLoc loc = SourceLoc::here()) const;
  BarrierArray alloc(std::initializer_list<HostInt> counts, SourceLoc loc = SourceLoc::here()) const;
  BarrierArray alloc(const std::vector<int>& counts, SourceLoc loc = SourceLoc::here()) const;
  // Every thread of the group arrives `count` times.
  void arrive(const Barrier& barrier, const HostInt& count = 1, SourceLoc loc = SourceLoc::here()) const;
  // Every thread of the group arrives `count` times at the barrier of the same name in block `cta` of the cluster.
  void arrive_remote(const Barrier& barrier, const IndexArg& cta, const HostInt& count = 1,
                     SourceLoc loc = SourceLoc::here()) const;
  // Every thread of the group arrives once and announces `bytes` (1 to 2^20 - 1) of asynchronous copies in this phase.
  void arrive_and_expect_tx(const Barrier& barrier, const IndexArg& bytes, SourceLoc loc = SourceLoc::here()) const;
  // Waits until the phase of this parity has completed: 0 for the first phase, then alternating.
  template <class X>
  requires IndexLike<X>
  void wait(const Barrier& barrier, const X& phase, SourceLoc loc = SourceLoc::here()) const {
    if constexpr (TracedScalar<X>)
      wait_on(barrier, to_ref<traced_element_t<X>>(phase, loc), loc);
    else
      wait_on(barrier, to_ref<std::uint32_t>(phase, loc), loc);
  }

 private:
  void wait_on(const Barrier& barrier, const ScalarRef& phase, SourceLoc loc) const;
};

}  // namespace detail

inline constexpr detail::Fence fence;
inline constexpr detail::Mbarrier mbarrier;

}  // namespace tessera
