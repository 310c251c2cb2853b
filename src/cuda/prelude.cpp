#include "cuda/prelude.hpp"

#include <fmt/format.h>

#include "cuda/memory_helpers.hpp"
#include "cuda/names.hpp"
#include "cuda/tma_helpers.hpp"
#include "cuda/wgmma_helpers.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cuda {
namespace {

struct Helper {
  const char* name;
  const char* needs;  // one other helper, or ""
  const char* text;
};

// In the order of emission: what a helper needs stands before it. DEVICE stands for the qualifiers of a helper.
constexpr Helper table[] = {
    {"f16", "", R"(typedef unsigned short f16;   // IEEE binary16, as bits)"},
    {"bf16", "", R"(typedef unsigned short bf16;  // bfloat16, as bits)"},
    {"TensorMap", "", R"(struct alignas(64) TensorMap { unsigned long long words[16]; };)"},

    // Two 16-bit or four 8-bit elements share a 32-bit register.
    {"lo16", "", R"(DEVICE unsigned short lo16(unsigned w) { return (unsigned short)w; })"},
    {"hi16", "", R"(DEVICE unsigned short hi16(unsigned w) { return (unsigned short)(w >> 16); })"},
    {"get16", "",
     R"(DEVICE unsigned short get16(const unsigned* r, int i) { return (unsigned short)(r[i / 2] >> (i % 2 * 16)); })"},
    {"get8", "",
     R"(DEVICE unsigned char get8(const unsigned* r, int i) { return (unsigned char)(r[i / 4] >> (i % 4 * 8)); })"},
    {"pack16", "",
     R"(DEVICE unsigned pack16(unsigned short lo, unsigned short hi) { return lo | (unsigned)hi << 16; })"},
    {"pack8", "", R"(DEVICE unsigned pack8(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
  return a | (unsigned)b << 8 | (unsigned)c << 16 | (unsigned)d << 24;
})"},
    {"set16", "", R"(DEVICE void set16(unsigned* r, int i, unsigned short v) {
  r[i / 2] = (r[i / 2] & ~(0xffffu << (i % 2 * 16))) | (unsigned)v << (i % 2 * 16);
})"},
    {"set8", "", R"(DEVICE void set8(unsigned* r, int i, unsigned char v) {
  r[i / 4] = (r[i / 4] & ~(0xffu << (i % 4 * 8))) | (unsigned)v << (i % 4 * 8);
})"},

    // Conversions. Float to integer truncates and saturates, NaN becomes 0; to a 16-bit float rounds to nearest even.
    {"f16_to_float", "f16",
     R"(DEVICE float f16_to_float(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; })"},
    {"bf16_to_float", "bf16", R"(DEVICE float bf16_to_float(bf16 x) { return __uint_as_float((unsigned)x << 16); })"},
    {"float_to_f16", "f16",
     R"(DEVICE f16 float_to_f16(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; })"},
    {"float_to_bf16", "bf16",
     R"(DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; })"},
    {"pack_f16", "", R"(DEVICE unsigned pack_f16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
})"},
    {"pack_bf16", "", R"(DEVICE unsigned pack_bf16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
})"},
    {"e4m3_to_f16", "f16", R"(DEVICE f16 e4m3_to_f16(unsigned char x) {
  unsigned r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
  return (f16)r;
})"},
    {"e4m3_to_float", "e4m3_to_f16",
     R"(DEVICE float e4m3_to_float(unsigned char x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(e4m3_to_f16(x)));
  return r;
})"},
    {"float_to_e4m3", "", R"(DEVICE unsigned char float_to_e4m3(float x) {
  unsigned short r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));
  return (unsigned char)r;
})"},
    {"pack_e4m3", "", R"(DEVICE unsigned pack_e4m3(float a, float b, float c, float d) {
  unsigned short lo, hi;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(b), "f"(a));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(d), "f"(c));
  return lo | (unsigned)hi << 16;
})"},
    {"e5m2_to_f16", "f16", R"(DEVICE f16 e5m2_to_f16(unsigned char x) {
  unsigned r;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
  return (f16)r;
})"},
    {"e5m2_to_float", "e5m2_to_f16",
     R"(DEVICE float e5m2_to_float(unsigned char x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(e5m2_to_f16(x)));
  return r;
})"},
    {"float_to_e5m2", "", R"(DEVICE unsigned char float_to_e5m2(float x) {
  unsigned short r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));
  return (unsigned char)r;
})"},
    {"pack_e5m2", "", R"(DEVICE unsigned pack_e5m2(float a, float b, float c, float d) {
  unsigned short lo, hi;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(b), "f"(a));
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(d), "f"(c));
  return lo | (unsigned)hi << 16;
})"},
    {"float_to_i32", "",
     R"(DEVICE int float_to_i32(float x) { int r; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; })"},
    {"float_to_u32", "",
     R"(DEVICE unsigned float_to_u32(float x) {
  unsigned r;
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
})"},
    {"float_to_i64", "", R"(DEVICE long long float_to_i64(float x) {
  long long r;
  asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(r) : "f"(x));
  return x == x ? r : 0;
})"},
    {"float_to_u64", "", R"(DEVICE unsigned long long float_to_u64(float x) {
  unsigned long long r;
  asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(r) : "f"(x));
  return x == x ? r : 0;
})"},
    {"float_to_i8", "float_to_i32", R"(DEVICE signed char float_to_i8(float x) {
  const int r = float_to_i32(x);
  return (signed char)(r < -128 ? -128 : r > 127 ? 127 : r);
})"},
    {"float_to_u8", "float_to_u32", R"(DEVICE unsigned char float_to_u8(float x) {
  const unsigned r = float_to_u32(x);
  return (unsigned char)(r > 255 ? 255 : r);
})"},
    {"float_to_i16", "float_to_i32", R"(DEVICE short float_to_i16(float x) {
  const int r = float_to_i32(x);
  return (short)(r < -32768 ? -32768 : r > 32767 ? 32767 : r);
})"},
    {"float_to_u16", "float_to_u32", R"(DEVICE unsigned short float_to_u16(float x) {
  const unsigned r = float_to_u32(x);
  return (unsigned short)(r > 65535 ? 65535 : r);
})"},

    // Signed arithmetic that may wrap around; where it cannot, the plain operators are printed.
    {"wrap_add", "", R"(DEVICE int wrap_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); })"},
    {"wrap_sub", "", R"(DEVICE int wrap_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); })"},
    {"wrap_mul", "", R"(DEVICE int wrap_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); })"},
    {"wrap_shl", "", R"(DEVICE int wrap_shl(int a, int b) { return (int)((unsigned)a << b); })"},
    {"wrap_div", "wrap_sub", R"(DEVICE int wrap_div(int a, int b) { return b == -1 ? wrap_sub(0, a) : a / b; })"},
    {"wrap_mod", "", R"(DEVICE int wrap_mod(int a, int b) { return b == -1 ? 0 : a % b; })"},
    {"wrap_add64", "", R"(DEVICE long long wrap_add64(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
})"},
    {"wrap_sub64", "", R"(DEVICE long long wrap_sub64(long long a, long long b) {
  return (long long)((unsigned long long)a - (unsigned long long)b);
})"},
    {"wrap_mul64", "", R"(DEVICE long long wrap_mul64(long long a, long long b) {
  return (long long)((unsigned long long)a * (unsigned long long)b);
})"},
    {"wrap_shl64", "", R"(DEVICE long long wrap_shl64(long long a, long long b) {
  return (long long)((unsigned long long)a << b);
})"},
    {"wrap_div64", "wrap_sub64", R"(DEVICE long long wrap_div64(long long a, long long b) {
  return b == -1 ? wrap_sub64(0, a) : a / b;
})"},
    {"wrap_mod64", "", R"(DEVICE long long wrap_mod64(long long a, long long b) { return b == -1 ? 0 : a % b; })"},

    // Binary16 arithmetic, rounded to nearest even after every operation and never fused.
    {"f16_add", "f16",
     R"(DEVICE f16 f16_add(f16 a, f16 b) {
  f16 r;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
})"},
    {"f16_sub", "f16",
     R"(DEVICE f16 f16_sub(f16 a, f16 b) {
  f16 r;
  asm("sub.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
})"},
    {"f16_mul", "f16",
     R"(DEVICE f16 f16_mul(f16 a, f16 b) {
  f16 r;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
})"},

    {"elect_one", "", R"(// True in one lane of the warp, whose lanes are together here.
DEVICE bool elect_one() {
  unsigned on;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(on));
  return on != 0;
})"},

    // Matrices of 8 x 8 16-bit elements; lanes 8i to 8i + 7 give the row addresses of matrix i.
    {"ldmatrix_x1", "", R"(DEVICE void ldmatrix_x1(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
})"},
    {"ldmatrix_x1_trans", "", R"(DEVICE void ldmatrix_x1_trans(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
})"},
    {"ldmatrix_x2", "", R"(DEVICE void ldmatrix_x2(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
})"},
    {"ldmatrix_x2_trans", "", R"(DEVICE void ldmatrix_x2_trans(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
})"},
    {"ldmatrix_x4", "", R"(DEVICE void ldmatrix_x4(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
})"},
    {"ldmatrix_x4_trans", "", R"(DEVICE void ldmatrix_x4_trans(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
})"},

    {"stmatrix_x1", "", R"(DEVICE void stmatrix_x1(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :: "r"(address), "r"(r[0]) : "memory");
})"},
    {"stmatrix_x1_trans", "", R"(DEVICE void stmatrix_x1_trans(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               :: "r"(address), "r"(r[0]) : "memory");
})"},
    {"stmatrix_x2", "", R"(DEVICE void stmatrix_x2(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :: "r"(address), "r"(r[0]), "r"(r[1]) : "memory");
})"},
    {"stmatrix_x2_trans", "", R"(DEVICE void stmatrix_x2_trans(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :: "r"(address), "r"(r[0]), "r"(r[1]) : "memory");
})"},
    {"stmatrix_x4", "", R"(DEVICE void stmatrix_x4(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
})"},
    {"stmatrix_x4_trans", "", R"(DEVICE void stmatrix_x4_trans(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
})"},

    // d += a * b on the tensor cores. Not volatile: it touches registers alone, so the compiler may move it.
    {"mma_m16n8k16_f16_f32", "", R"(DEVICE void mma_m16n8k16_f16_f32(float* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"},
    {"mma_m16n8k16_bf16_f32", "", R"(DEVICE void mma_m16n8k16_bf16_f32(float* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"},
    {"mma_m16n8k16_f16_f16", "",
     R"(DEVICE void mma_m16n8k16_f16_f16(unsigned* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
})"},

    {"mbarrier_init", "", R"(DEVICE void mbarrier_init(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
})"},
    {"mbarrier_arrive", "", R"(DEVICE void mbarrier_arrive(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
})"},
    {"mbarrier_arrive_expect_tx", "", R"(DEVICE void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
})"},
    {"mbarrier_wait", "", R"(DEVICE void mbarrier_wait(unsigned barrier, unsigned parity) {
  asm volatile("{ .reg .pred done;\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again; }"
               :: "r"(barrier), "r"(parity) : "memory");
})"},

    // Flags in global memory, between CTAs that need not be of one cluster. Release and acquire at the scope of the GPU
    // are cumulative: what the thread has seen through barriers is passed on as well.
    {"flag_store", "", R"(DEVICE void flag_store(unsigned* flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(value) : "memory");
})"},
    {"flag_add", "", R"(DEVICE void flag_add(unsigned* flag, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(flag), "r"(value) : "memory");
})"},
    {"flag_load", "", R"(DEVICE unsigned flag_load(const unsigned* flag) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
  return v;
})"},
    {"flag_wait", "flag_load", R"(DEVICE void flag_wait(const unsigned* flag, unsigned value) {
  while (flag_load(flag) != value) {}
})"},
    {"flag_wait_at_least", "flag_load", R"(DEVICE void flag_wait_at_least(const unsigned* flag, unsigned value) {
  while (flag_load(flag) < value) {}
})"},

    // The barrier at the same place in another CTA of the cluster. Tiles cross between CTAs by the copy engine alone,
    // whose bytes the barrier itself makes visible, so .release at the scope of the CTA orders what has to be ordered;
    // .release.cluster would put a MEMBAR.ALL.GPU before every arrive, .acquire.cluster a CCTL.IVALL behind every wait.
    {"mbarrier_arrive_cta", "", R"(DEVICE void mbarrier_arrive_cta(unsigned barrier, unsigned cta, unsigned count) {
  asm volatile("{ .reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote], %2; }"
               :: "r"(barrier), "r"(cta), "r"(count) : "memory");
})"},
    // The same place in the shared memory of another CTA of the cluster.
    {"address_in_cta", "", R"(DEVICE unsigned address_in_cta(unsigned address, unsigned cta) {
  unsigned r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(cta));
  return r;
})"},
    {"cta_rank", "", R"(DEVICE int cta_rank() { int r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; })"},

    // The copy engine writes one box to this CTA's shared memory and counts its bytes on the mbarrier.
    {"tma_load_1d", "TensorMap",
     R"(DEVICE void tma_load_1d(unsigned dst, const TensorMap* map, int x, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2}], [%3];"
               :: "r"(dst), "l"(map), "r"(x), "r"(barrier) : "memory");
})"},
    {"tma_load_2d", "TensorMap",
     R"(DEVICE void tma_load_2d(unsigned dst, const TensorMap* map, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
})"},
    {"tma_load_3d", "TensorMap",
     R"(DEVICE void tma_load_3d(unsigned dst, const TensorMap* map, int x, int y, int z, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
})"},
    {"tma_load_4d", "TensorMap",
     R"(DEVICE void tma_load_4d(unsigned dst, const TensorMap* map, int x, int y, int z, int w, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5}], [%6];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier) : "memory");
})"},
    {"tma_load_5d", "TensorMap",
     R"(DEVICE void tma_load_5d(unsigned dst, const TensorMap* map, int x, int y, int z, int w, int v,
                        unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v), "r"(barrier) : "memory");
})"},

    {"prefetch_tensor_map", "TensorMap", R"(DEVICE void prefetch_tensor_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
})"},

    {"fence_proxy_async_shared", "",
     R"(DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); })"},
    {"fence_proxy_async_cluster", "",
     R"(DEVICE void fence_proxy_async_cluster() { asm volatile("fence.proxy.async.shared::cluster;" ::: "memory"); })"},
    {"fence_mbarrier_init", "",
     R"(DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); })"},
};

const Helper* find(std::string_view name) {
  for (const Helper& h : table)
    if (name == h.name) return &h;
  return nullptr;
}

std::string keyed_helper(std::string_view key) {
  if (key.substr(0, 4) == "tma:") return tma_helper(key);
  return key.substr(0, 6) == "wgmma:" || key.substr(0, 5) == "keep:" ? wgmma_helper(key) : memory_helper(key);
}

}  // namespace

void Prelude::use(std::string_view name) {
  if (name.find(':') == std::string_view::npos) {
    const Helper* h = find(name);
    if (h == nullptr) throw Error(ErrorKind::internal, {}, fmt::format("the CUDA prelude has no helper '{}'", name));
    if (*h->needs != '\0') use(h->needs);
  }
  used_.emplace(name);
}

std::string Prelude::text() const {
  std::string out;
  for (const Helper& h : table) {
    if (used_.count(h.name) != 0) out += std::string(h.text) + "\n";
  }
  for (const std::string& name : used_) {
    if (name.find(':') != std::string::npos) out += keyed_helper(name);
  }
  // Types alone need no qualifiers.
  const bool functions = out.find("DEVICE ") != std::string::npos;
  return (functions ? "#define DEVICE static __device__ __forceinline__\n" : "") + out;
}

bool Prelude::is_reserved(std::string_view identifier) {
  return find(identifier) != nullptr || is_memory_helper_name(identifier) || is_tma_helper_name(identifier) ||
         is_wgmma_helper_name(identifier) || is_reserved_word(identifier);
}

}  // namespace tessera::cuda
