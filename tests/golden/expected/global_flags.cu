// global_flags, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.

#define DEVICE static __device__ __forceinline__
// True in one lane of the warp, whose lanes are together here.
DEVICE bool elect_one() {
  unsigned on;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(on));
  return on != 0;
}
DEVICE void flag_store(unsigned* flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(value) : "memory");
}
DEVICE void flag_add(unsigned* flag, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(flag), "r"(value) : "memory");
}
DEVICE unsigned flag_load(const unsigned* flag) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
  return v;
}
DEVICE void flag_wait(const unsigned* flag, unsigned value) {
  while (flag_load(flag) != value) {}
}
DEVICE void flag_wait_at_least(const unsigned* flag, unsigned value) {
  while (flag_load(flag) < value) {}
}

extern "C" __global__ void __launch_bounds__(32, 1) global_flags(unsigned* flags, const unsigned* started) {
  const int block_x = blockIdx.x;
  const bool elected = elect_one();
  const long long me = (long long)block_x;  // kernels.cpp:2
  if (elected) {  // kernels.cpp:3
    flag_wait(started, 1u);  // kernels.cpp:4
    flag_wait_at_least(flags + 8ll, (unsigned)me);  // kernels.cpp:5
    flag_store(flags + me, 1u);  // kernels.cpp:6
    flag_add(flags + 8ll, 1u);  // kernels.cpp:7
  }
}
