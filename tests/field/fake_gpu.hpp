// Device::cuda over the fake driver and the fake NVRTC.
#pragma once

#include <dlfcn.h>

#include "runtime_fixture.hpp"
#include "tessera/tessera.hpp"

namespace tessera::test {

struct Scale : Script {
  static constexpr auto params = names("n", "factor", "x_ptr", "y_ptr");
  void operator()(Int32 n, int factor, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, 64)};
    attrs.warps = 1;
    auto x = load_global(global_view(x_ptr, {n}), {blockIdx.x * 64}, {64});
    store_global(global_view(y_ptr, {n}), x * static_cast<float>(factor), {blockIdx.x * 64});
  }
};

// The same by the copy engine: one tensor map a pointer.
struct TmaScale : Script {
  static constexpr auto params = names("n", "x_ptr", "y_ptr");
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, 64)};
    attrs.warps = 1;
    auto gx = global_view(x_ptr, {n});
    auto sx = shared_tensor<float>({64});
    auto landed = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(landed, sx.nbytes());
      tma.global_to_shared({.src = gx, .dst = sx, .offsets = {blockIdx.x * 64}, .mbarrier = landed});
      mbarrier.wait(landed, 0u);
    }
    sync();
    store_global(global_view(y_ptr, {n}), load_shared(sx) * 2.0f, {blockIdx.x * 64});
  }
};

class FakeGpuTest : public RuntimeTest {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(::setenv("TESSERA_LIBCUDA", TESSERA_FAKE_DRIVER, 1), 0);
    ASSERT_EQ(::setenv("TESSERA_NVRTC", TESSERA_FAKE_NVRTC, 1), 0);
    fake = ::dlopen(TESSERA_FAKE_DRIVER, RTLD_NOW);
    ASSERT_NE(fake, nullptr) << ::dlerror();
  }
  void SetUp() override {
    RuntimeTest::SetUp();
    set_progress(Progress::quiet);
    function<void()>("fake_reset")();
  }
  template <class F>
  static F* function(const char* name) {
    return reinterpret_cast<F*>(::dlsym(fake, name));
  }
  static void set(const char* name, int value) { function<void(const char*, int)>("fake_set")(name, value); }
  static std::string record() { return function<const char*()>("fake_record")(); }
  static void forget() { function<void()>("fake_reset")(); }
  static int count(const std::string& what) {
    int n = 0;
    const std::string text = record();
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
  template <class T>
  static std::string address(const Buffer<T>& buffer) {
    return " " + std::to_string(reinterpret_cast<std::uintptr_t>(buffer.data()));
  }
  static inline void* fake = nullptr;
};

}  // namespace tessera::test
