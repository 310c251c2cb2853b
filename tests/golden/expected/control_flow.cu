// for, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.

#define DEVICE static __device__ __forceinline__
DEVICE int wrap_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
DEVICE int wrap_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
DEVICE void store_global_4(const int* r, void* p) {
  asm volatile("st.global.b32 [%1], %0;"
               :: "r"(r[0]), "l"(p) : "memory");
}

extern "C" __global__ void __launch_bounds__(32, 1) for_1(int while_1, int* out_put) {
  const int lane = threadIdx.x & 31;
  int count = 0;  // kernels.cpp:4
  for (int i = 0; i < 100; ++i) {  // kernels.cpp:5
    if (i == while_1) {  // kernels.cpp:6
      break;
    }
    if (i % 2 == 1) {  // kernels.cpp:7
      continue;
    } else if (i > 50) {  // kernels.cpp:8
      count = wrap_add(count, 2);
    } else {
      count = wrap_add(count, 1);  // kernels.cpp:9
    }
  }
  #pragma unroll 4
  for (int i_1 = 0, i_1_end = count; i_1 < i_1_end; i_1 += 3) {  // kernels.cpp:11
    count = wrap_add(count, i_1);  // kernels.cpp:12
  }
  while (true) {  // kernels.cpp:13
    // until the count is large
    count = wrap_add(wrap_mul(count, 3), 1);  // kernels.cpp:14
    if (count > 1000) {  // kernels.cpp:15
      break;
    }
  }
  if (lane < 16) {  // kernels.cpp:16
    __syncwarp(0x0000ffffu);
  }
  int count_1[1];  // kernels.cpp:17
  count_1[0] = count;
  store_global_4(count_1, out_put);
}
