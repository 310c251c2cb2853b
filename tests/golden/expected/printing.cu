// printing, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
DEVICE float f16_to_float(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }

extern "C" __global__ void __launch_bounds__(32, 1) printing(f16 h, float f, unsigned long long l, signed char s) {
  const int thread = threadIdx.x;
  if (thread == 0) {  // kernels.cpp:5
    printf("100%% \"sure\"\\\t\n");
    printf("h = %g, f = %g, l = %llu, s = %d, b = %d\n", (double)f16_to_float(h), (double)f, l, (int)s, (int)(s < 3));  // kernels.cpp:6
    printf(" %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d ", thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread, thread);  // kernels.cpp:7
    printf("%d %d %d %d %d %d %d %d ", thread, thread, thread, thread, thread, thread, thread, thread);
  }
}
