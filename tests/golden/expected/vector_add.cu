// vector_add, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// The tile program:
//   kernel vector_add(n: int32, a: *float32, b: *float32, c: *float32)
//     c[i] = a[i] + b[i]

#define DEVICE static __device__ __forceinline__
DEVICE void load_global_16_if(bool on, float* r, const void* p) {
  r[0] = r[1] = r[2] = r[3] = 0;
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on ld.global.v4.f32 {%0, %1, %2, %3}, [%4]; }"
               : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3]) : "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void load_global_4_if(bool on, float* r, const void* p) {
  r[0] = 0;
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.f32 %0, [%1]; }"
               : "+f"(r[0]) : "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_global_16_if(bool on, const float* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on st.global.v4.f32 [%4], {%0, %1, %2, %3}; }"
               :: "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_global_4_if(bool on, const float* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on st.global.f32 [%1], %0; }"
               :: "f"(r[0]), "l"(p), "r"((unsigned)on) : "memory");
}

extern "C" __global__ void __launch_bounds__(128, 1) vector_add(int n, const float* a, const float* b, float* c) {
  const int block_x = blockIdx.x;
  const int thread = threadIdx.x;
  const long long first = (long long)block_x * 512 + (long long)(thread * 4);  // kernels.cpp:10
  const bool inside = first + 4 <= (long long)n;
  float x[4];  // kernels.cpp:11
  load_global_16_if(inside, x, a + first);
  float y[4];  // kernels.cpp:12
  load_global_16_if(inside, y, b + first);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {  // kernels.cpp:13
    x[i] = x[i] + y[i];
  }
  store_global_16_if(inside, x, c + first);  // kernels.cpp:14
  #pragma unroll
  for (int j = 0; j < 4; ++j) {  // kernels.cpp:15
    load_global_4_if(!inside && first + (long long)j < (long long)n, &x[j], a + first + (long long)j);
    load_global_4_if(!inside && first + (long long)j < (long long)n, &y[j], b + first + (long long)j);
    x[j] = x[j] + y[j];
    store_global_4_if(!inside && first + (long long)j < (long long)n, &x[j], c + first + (long long)j);
  }
}
