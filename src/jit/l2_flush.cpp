#include "jit/l2_flush.hpp"

#include <array>

#include "jit/driver.hpp"
#include "jit/driver_api.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

constexpr unsigned threads = 256, bytes_a_thread = 16;

// read_through(from, bytes): every thread reads 16 bytes, volatile since nothing is done with them, and goes on behind
// the grid's bytes. `bytes` is a multiple of 16.
constexpr const char* program = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry read_through(.param .u64 from, .param .u64 bytes)
{
  .reg .pred %more;
  .reg .b32 %thread, %block, %threads, %blocks, %stride, %r<4>;
  .reg .b64 %at, %end, %length, %step, %offset;
  ld.param.u64 %at, [from];
  ld.param.u64 %length, [bytes];
  cvta.to.global.u64 %at, %at;
  add.u64 %end, %at, %length;
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %thread, %block, %threads, %thread;
  mul.lo.u32 %stride, %blocks, %threads;
  mul.wide.u32 %offset, %thread, 16;
  mul.wide.u32 %step, %stride, 16;
  add.u64 %at, %at, %offset;
again:
  setp.lt.u64 %more, %at, %end;
  @!%more bra done;
  ld.volatile.global.v4.b32 {%r0, %r1, %r2, %r3}, [%at];
  add.u64 %at, %at, %step;
  bra again;
done:
  ret;
}
)";

}  // namespace

L2Flush::L2Flush(int device)
    : device_(device),
      bytes_(2 * device_info(device).l2_bytes / bytes_a_thread * bytes_a_thread),
      blocks_(8U * static_cast<unsigned>(device_info(device).multiprocessors)),
      memory_(device_alloc(device, bytes_)) {
  const ContextScope scope(device_);
  const DriverApi& api = driver_api();
  if (api.module_load(&module_, program) != 0) {
    module_ = nullptr;
  } else if (api.module_function(&function_, module_, "read_through") != 0) {
    function_ = nullptr;
  }
}

L2Flush::~L2Flush() {
  try {
    const ContextScope scope(device_);
    if (module_ != nullptr) static_cast<void>(driver_api().module_unload(module_));
    device_free(device_, memory_);
  } catch (const Error&) {  // its error is already on its way to the user
  }
}

void L2Flush::run(void* stream) const {
  if (!reads()) return fill_bytes(device_, memory_, 0, bytes_, stream);
  const ContextScope scope(device_);
  std::uint64_t from = reinterpret_cast<std::uintptr_t>(memory_), bytes = bytes_;
  std::array<void*, 2> params = {&from, &bytes};
  check_cuda(driver_api().launch(function_, blocks_, 1, 1, threads, 1, 1, 0, stream, params.data(), nullptr),
             "cuLaunchKernel", "read_through");
}

}  // namespace tessera::jit
