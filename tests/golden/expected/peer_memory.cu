// peer_memory, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 2560 bytes:
//        0 ..   2560  slots

#define DEVICE static __device__ __forceinline__
DEVICE unsigned short lo16(unsigned w) { return (unsigned short)w; }
DEVICE unsigned char get8(const unsigned* r, int i) { return (unsigned char)(r[i / 4] >> (i % 4 * 8)); }
DEVICE unsigned address_in_cta(unsigned address, unsigned cta) {
  unsigned r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(cta));
  return r;
}
DEVICE int cta_rank() { int r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
DEVICE void load_cluster_16(unsigned* r, unsigned p) {
  asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
DEVICE unsigned load_cluster_1(unsigned p) {
  unsigned v = 0;
  asm volatile("ld.shared::cluster.u8 %0, [%1];" : "+r"(v) : "r"(p) : "memory");
  return v;
}
DEVICE unsigned load_cluster_2(unsigned p) {
  unsigned v = 0;
  asm volatile("ld.shared::cluster.u16 %0, [%1];" : "+r"(v) : "r"(p) : "memory");
  return v;
}
DEVICE void load_cluster_4(unsigned* r, unsigned p) {
  asm volatile("ld.shared::cluster.b32 %0, [%1];"
               : "=r"(r[0]) : "r"(p) : "memory");
}
DEVICE void load_cluster_8(unsigned* r, unsigned p) {
  asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(p) : "memory");
}
DEVICE void load_global_16(unsigned* r, const void* p) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(p) : "memory");
}
DEVICE unsigned load_global_1(const void* p) {
  unsigned v = 0;
  asm volatile("ld.global.u8 %0, [%1];" : "+r"(v) : "l"(p) : "memory");
  return v;
}
DEVICE unsigned load_global_2(const void* p) {
  unsigned v = 0;
  asm volatile("ld.global.u16 %0, [%1];" : "+r"(v) : "l"(p) : "memory");
  return v;
}
DEVICE void load_global_4(unsigned* r, const void* p) {
  asm volatile("ld.global.b32 %0, [%1];"
               : "=r"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_global_8(unsigned* r, const void* p) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "l"(p) : "memory");
}
DEVICE void store_cluster_16_if(bool on, const unsigned* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on st.shared::cluster.v4.b32 [%4], {%0, %1, %2, %3}; }"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_cluster_1_if(bool on, unsigned v, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on st.shared::cluster.u8 [%1], %0; }" :: "r"(v), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_cluster_2(unsigned v, unsigned p) {
  asm volatile("st.shared::cluster.u16 [%1], %0;" :: "r"(v), "r"(p) : "memory");
}
DEVICE void store_cluster_4_if(bool on, const unsigned* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on st.shared::cluster.b32 [%1], %0; }"
               :: "r"(r[0]), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_cluster_8(const unsigned* r, unsigned p) {
  asm volatile("st.shared::cluster.v2.b32 [%2], {%0, %1};"
               :: "r"(r[0]), "r"(r[1]), "r"(p) : "memory");
}
DEVICE void store_global_16(const unsigned* r, void* p) {
  asm volatile("st.global.v4.b32 [%4], {%0, %1, %2, %3};"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(p) : "memory");
}
DEVICE void store_global_1(unsigned v, void* p) {
  asm volatile("st.global.u8 [%1], %0;" :: "r"(v), "l"(p) : "memory");
}
DEVICE void store_global_2(unsigned v, void* p) {
  asm volatile("st.global.u16 [%1], %0;" :: "r"(v), "l"(p) : "memory");
}
DEVICE void store_global_4(const unsigned* r, void* p) {
  asm volatile("st.global.b32 [%1], %0;"
               :: "r"(r[0]), "l"(p) : "memory");
}
DEVICE void store_global_8(const unsigned* r, void* p) {
  asm volatile("st.global.v2.b32 [%2], {%0, %1};"
               :: "r"(r[0]), "r"(r[1]), "l"(p) : "memory");
}
DEVICE void store_shared_16(const unsigned* r, unsigned p) {
  asm volatile("st.shared.v4.b32 [%4], {%0, %1, %2, %3};"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(p) : "memory");
}
DEVICE void store_shared_1(unsigned v, unsigned p) {
  asm volatile("st.shared.u8 [%1], %0;" :: "r"(v), "r"(p) : "memory");
}
DEVICE void store_shared_2(unsigned v, unsigned p) {
  asm volatile("st.shared.u16 [%1], %0;" :: "r"(v), "r"(p) : "memory");
}
DEVICE void store_shared_4(const unsigned* r, unsigned p) {
  asm volatile("st.shared.b32 [%1], %0;"
               :: "r"(r[0]), "r"(p) : "memory");
}
DEVICE void store_shared_8(const unsigned* r, unsigned p) {
  asm volatile("st.shared.v2.b32 [%2], {%0, %1};"
               :: "r"(r[0]), "r"(r[1]), "r"(p) : "memory");
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(32, 1) peer_memory(const unsigned char* in_bytes, const unsigned short* in_halves, const unsigned* in_words, unsigned char* out_bytes, unsigned short* out_halves, unsigned* out_words) {
  const int cluster_rank = cta_rank();
  const int lane = threadIdx.x & 31;
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  const int mine = cluster_rank * 32 + lane;  // kernels.cpp:2
  const unsigned next = (unsigned)((cluster_rank + 1) % 4);  // kernels.cpp:3
  const unsigned other = (unsigned)((cluster_rank + 2) % 4);  // kernels.cpp:4
  unsigned own0[1];  // kernels.cpp:10, 1 uint8
  own0[0] = (unsigned char)(load_global_1(in_bytes + (long long)mine));
  store_shared_1(get8(own0, 0), shared + (unsigned)lane);
  unsigned own1[1];  // 1 uint16
  own1[0] = (unsigned short)(load_global_2(in_halves + (long long)mine));
  store_shared_2(lo16(own1[0]), shared + (unsigned)(lane * 2) + 512);
  unsigned own2[1];
  load_global_4(own2, in_words + (long long)mine);
  store_shared_4(own2, shared + (unsigned)(lane * 4) + 1024);
  unsigned own3[2];
  load_global_8(own3, in_words + (long long)(mine * 2 + 128));
  store_shared_8(own3, shared + (unsigned)(lane * 8) + 1536);
  unsigned own4[4];
  load_global_16(own4, in_words + (long long)(mine * 4 + 384));
  store_shared_16(own4, shared + (unsigned)(lane * 16) + 2048);
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");  // kernels.cpp:20
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned sent0[1];  // kernels.cpp:21, 1 uint8
  sent0[0] = (unsigned char)(load_global_1(in_bytes + (long long)mine));
  store_cluster_1_if(lane % 3 != 0, get8(sent0, 0), address_in_cta(shared + (unsigned)lane, next));  // kernels.cpp:22
  unsigned sent1[1];  // kernels.cpp:21, 1 uint16
  sent1[0] = (unsigned short)(load_global_2(in_halves + (long long)mine));
  store_cluster_2(lo16(sent1[0]), address_in_cta(shared + (unsigned)(lane * 2) + 512, next));  // kernels.cpp:22
  unsigned sent2[1];  // kernels.cpp:21
  load_global_4(sent2, in_words + (long long)mine);
  store_cluster_4_if(lane % 3 != 0, sent2, address_in_cta(shared + (unsigned)(lane * 4) + 1024, next));  // kernels.cpp:22
  unsigned sent3[2];  // kernels.cpp:21
  load_global_8(sent3, in_words + (long long)(mine * 2 + 128));
  store_cluster_8(sent3, address_in_cta(shared + (unsigned)(lane * 8) + 1536, next));  // kernels.cpp:22
  unsigned sent4[4];  // kernels.cpp:21
  load_global_16(sent4, in_words + (long long)(mine * 4 + 384));
  store_cluster_16_if(lane % 3 != 0, sent4, address_in_cta(shared + (unsigned)(lane * 16) + 2048, next));  // kernels.cpp:22
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");  // kernels.cpp:30
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned got0[1];  // kernels.cpp:31, 1 uint8
  got0[0] = (unsigned char)(load_cluster_1(address_in_cta(shared + (unsigned)lane, other)));  // kernels.cpp:32
  store_global_1(get8(got0, 0), out_bytes + (long long)mine);  // kernels.cpp:33
  unsigned got1[1];  // kernels.cpp:31, 1 uint16
  got1[0] = (unsigned short)(load_cluster_2(address_in_cta(shared + (unsigned)(lane * 2) + 512, other)));  // kernels.cpp:32
  store_global_2(lo16(got1[0]), out_halves + (long long)mine);  // kernels.cpp:33
  unsigned got2[1];  // kernels.cpp:31
  load_cluster_4(got2, address_in_cta(shared + (unsigned)(lane * 4) + 1024, other));  // kernels.cpp:32
  store_global_4(got2, out_words + (long long)mine);  // kernels.cpp:33
  unsigned got3[2];  // kernels.cpp:31
  load_cluster_8(got3, address_in_cta(shared + (unsigned)(lane * 8) + 1536, other));  // kernels.cpp:32
  store_global_8(got3, out_words + (long long)(mine * 2 + 128));  // kernels.cpp:33
  unsigned got4[4];  // kernels.cpp:31
  load_cluster_16(got4, address_in_cta(shared + (unsigned)(lane * 16) + 2048, other));  // kernels.cpp:32
  store_global_16(got4, out_words + (long long)(mine * 4 + 384));  // kernels.cpp:33
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");  // kernels.cpp:40
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
