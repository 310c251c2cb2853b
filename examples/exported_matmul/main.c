/* Runs an exported matmul, C = A * B^T in float16 or bfloat16, checks it against a product in C and prints what a launch
 * costs. Exit code: 0 right, 1 wrong result, 2 wrong use, 3 no GPU or a failure of the driver.
 *   run_matmul M N K [launches [rows to check]]          float16
 *   MATMUL_TYPE=bf16 run_matmul M N K ... */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include KERNEL_HEADER

#ifdef TESSERA_WITHOUT_CUDA_H
/* What this program itself calls beside the exported functions. */
typedef struct CUevent_st* CUevent;
CUresult cuInit(unsigned int flags);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CALL(function) JOIN(KERNEL, function)
#ifdef KERNEL_HAS_FIXED_SIZES
#define SIZES(m, n, k) (int32_t)(m)
#else
#define SIZES(m, n, k) (int32_t)(m), (int32_t)(n), (int32_t)(k)
#endif

enum { right = 0, wrong = 1, wrong_use = 2, failed = 3 };

static int is_bf16;

static float bits_to_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 1023u;
  if (is_bf16) return bits_to_float((uint32_t)h << 16);
  if (exponent == 0) return (sign != 0 ? -1.0f : 1.0f) * (float)fraction * 5.9604644775390625e-8f;
  if (exponent == 31) return bits_to_float(sign | 0x7f800000u | fraction << 13);
  return bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Small multiples of 1/8 have the same value in both types: -1 to 7/8. */
static uint16_t element(uint32_t* state) {
  static const float step = 0.125f;
  uint32_t bits;
  float value;
  *state = *state * 1664525u + 1013904223u;
  value = (float)((int)(*state >> 28) - 8) * step;
  if (value == 0) return 0;
  memcpy(&bits, &value, sizeof bits);
  if (is_bf16) return (uint16_t)(bits >> 16);
  return (uint16_t)((bits >> 16 & 0x8000u) | (((bits >> 23 & 255u) - 112) << 10) | (bits >> 13 & 1023u));
}

static int report(const char* what, int status) {
  if (status != 0) fprintf(stderr, "%s: %s (status %d)\n", what, CALL(_status_text)(status), status);
  return status;
}

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static uint16_t* make_matrix(size_t count, uint32_t seed) {
  uint16_t* matrix = (uint16_t*)malloc(count * sizeof *matrix + 1);
  size_t i;
  for (i = 0; matrix != NULL && i < count; ++i) matrix[i] = element(&seed);
  return matrix;
}

/* How many of the elements of some rows differ from the product by more than rounding the sum once allows. */
static long check(const uint16_t* a, const uint16_t* b, const uint16_t* c, long m, long n, long k, long rows) {
  const double rounding = is_bf16 ? 1.0 / 256 : 1.0 / 2048;
  long wrong_elements = 0, r, j, i;
  for (r = 0; r < rows; ++r) {
    const long row = rows < m ? (rows > 1 ? r * (m - 1) / (rows - 1) : m - 1) : r;
    for (j = 0; j < n; ++j) {
      double sum = 0;
      for (i = 0; i < k; ++i) sum += (double)to_float(a[row * k + i]) * (double)to_float(b[j * k + i]);
      /* Products are multiples of 1/64; their sums are exact in float32 as well. */
      if (!(fabs((double)to_float(c[row * n + j]) - sum) <= fabs(sum) * rounding)) ++wrong_elements;
    }
  }
  return wrong_elements;
}

struct memory {
  CUdeviceptr a, b, c;
};

static int allocate(struct memory* d, const uint16_t* a, const uint16_t* b, long m, long n, long k) {
  const size_t element_bytes = 2;
  uint16_t* nan = (uint16_t*)malloc((size_t)(m * n) * element_bytes + 1);
  int status = nan == NULL ? 2 : 0;
  if (nan != NULL) memset(nan, 0xff, (size_t)(m * n) * element_bytes);
  if (status == 0) status = (int)cuMemAlloc(&d->a, (size_t)(m * k) * element_bytes + 16);
  if (status == 0) status = (int)cuMemAlloc(&d->b, (size_t)(n * k) * element_bytes + 16);
  if (status == 0) status = (int)cuMemAlloc(&d->c, (size_t)(m * n) * element_bytes + 16);
  if (status == 0) status = (int)cuMemcpyHtoD(d->a, a, (size_t)(m * k) * element_bytes);
  if (status == 0) status = (int)cuMemcpyHtoD(d->b, b, (size_t)(n * k) * element_bytes);
  if (status == 0) status = (int)cuMemcpyHtoD(d->c, nan, (size_t)(m * n) * element_bytes);
  free(nan);
  return report("device memory", status);
}

/* `launches` launches one after another: what the host spends on one, and the whole for one with the GPU's work. */
static int measure(const CALL(_module) * kernel, const struct memory* d, long m, long n, long k, long launches) {
  double begin, issued, done;
  long i;
  int status = 0;
  (void)n;
  (void)k;
  begin = microseconds();
  for (i = 0; i < launches && status == 0; ++i) status = CALL(_launch)(kernel, SIZES(m, n, k), d->a, d->b, d->c, NULL);
  issued = microseconds();
  if (status == 0) status = (int)cuCtxSynchronize();
  done = microseconds();
  if (report("launches", status) != 0) return status;
  printf("%ld launches: %.2f us of the host each, %.2f us each until the GPU is done, %.1f TFLOPS\n", launches,
         (issued - begin) / (double)launches, (done - begin) / (double)launches,
         2.0 * (double)m * (double)n * (double)k * (double)launches / (done - begin) * 1e-6);
  return 0;
}

static int run(long m, long n, long k, long launches, long rows) {
  CALL(_module) kernel;
  struct memory d = {0, 0, 0};
  CUcontext context = NULL;
  CUdevice device = 0;
  char name[128] = "";
  uint16_t* a = make_matrix((size_t)(m * k), 1);
  uint16_t* b = make_matrix((size_t)(n * k), 2);
  uint16_t* c = (uint16_t*)malloc((size_t)(m * n) * sizeof *c + 1);
  long wrong_elements = -1;
  int status = a == NULL || b == NULL || c == NULL ? failed : (int)cuInit(0);
  memset(&kernel, 0, sizeof kernel);
  if (status == 0) status = (int)cuDeviceGet(&device, 0);
  if (status == 0) status = (int)cuDeviceGetName(name, (int)sizeof name, device);
  if (status == 0) status = (int)cuDevicePrimaryCtxRetain(&context, device);
  if (status == 0) status = (int)cuCtxSetCurrent(context);
  if (report("the driver", status) == 0) status = report("loading the kernel", CALL(_load)(&kernel));
  if (status == 0) status = allocate(&d, a, b, m, n, k);
  if (status == 0) status = report("the launch", CALL(_launch)(&kernel, SIZES(m, n, k), d.a, d.b, d.c, NULL));
  if (status == 0) status = report("the kernel", (int)cuCtxSynchronize());
  if (status == 0) status = report("the result", (int)cuMemcpyDtoH(c, d.c, (size_t)(m * n) * sizeof *c));
  if (status == 0) {
    rows = rows < m ? rows : m;
    wrong_elements = check(a, b, c, m, n, k, rows);
    printf("%ld x %ld x %ld %s on %s: %ld rows checked, wrong_elements=%ld\n", m, n, k, is_bf16 ? "bf16" : "f16", name,
           rows, wrong_elements);
  }
  if (status == 0 && wrong_elements == 0 && launches > 0) status = measure(&kernel, &d, m, n, k, launches);
  if (d.a != 0) (void)cuMemFree(d.a);
  if (d.b != 0) (void)cuMemFree(d.b);
  if (d.c != 0) (void)cuMemFree(d.c);
  (void)CALL(_unload)(&kernel);
  free(a);
  free(b);
  free(c);
  return status != 0 ? failed : wrong_elements != 0 ? wrong : right;
}

int main(int argc, char** argv) {
  long values[5] = {0, 0, 0, 20, 64};
  const char* type = getenv("MATMUL_TYPE");
  int i;
  for (i = 1; i < argc && i <= 5; ++i) {
    char* end = NULL;
    values[i - 1] = strtol(argv[i], &end, 10);
    if (end == argv[i] || *end != 0 || values[i - 1] < 0) argc = 0;
  }
  is_bf16 = type != NULL && strcmp(type, "bf16") == 0;
  if (argc < 4 || argc > 6) {
    fprintf(stderr, "usage: M N K [launches [rows to check]]\n");
    return wrong_use;
  }
  return run(values[0], values[1], values[2], values[3], values[4]);
}
