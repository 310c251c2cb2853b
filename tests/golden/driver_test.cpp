// The driver layer over a libcuda of our own (fake_driver.cpp): contexts, launches, errors, pointers, tensor maps.
#include "jit/driver.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "golden/builder.hpp"
#include "jit/driver_api.hpp"
#include "jit/launch_timer.hpp"
#include "tessera/core/error.hpp"

namespace tessera::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class F>
std::string message_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "no Error";
  return "";
}

class Driver : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(setenv("TESSERA_LIBCUDA", TESSERA_FAKE_DRIVER, 1), 0);
    fake = dlopen(TESSERA_FAKE_DRIVER, RTLD_NOW);
    ASSERT_NE(fake, nullptr) << dlerror();
    ASSERT_TRUE(jit::driver_available());
  }
  void SetUp() override { reinterpret_cast<void (*)()>(dlsym(fake, "fake_reset"))(); }
  static void set(const char* name, int value) {
    reinterpret_cast<void (*)(const char*, int)>(dlsym(fake, "fake_set"))(name, value);
  }
  static std::string record() { return reinterpret_cast<const char* (*)()>(dlsym(fake, "fake_record"))(); }
  static void* context(int i) { return reinterpret_cast<void* (*)(int)>(dlsym(fake, "fake_context"))(i); }
  static void* current() {
    void* c = nullptr;
    EXPECT_EQ(jit::driver_api().context_get(&c), 0);
    return c;
  }
  static inline void* fake = nullptr;
};

TEST_F(Driver, DescribesTheDevice) {
  EXPECT_EQ(jit::device_count(), 2);
  const jit::DeviceInfo info = jit::device_info(0);
  EXPECT_EQ(info.name, "Fake H200");
  EXPECT_EQ(info.compute_major, 9);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.driver_text, "CUDA 13.0");
  EXPECT_NO_THROW(jit::require_hopper(0));
}

TEST_F(Driver, RefusesADeviceThatIsNotThere) {
  const std::string text = message_of(ErrorKind::unsupported, [] { static_cast<void>(jit::device_info(2)); });
  EXPECT_THAT(text, HasSubstr("no CUDA device 2: the driver reports 2"));
  EXPECT_THAT(text, HasSubstr("simulated Hopper"));
  EXPECT_THAT(message_of(ErrorKind::unsupported, [] { jit::device_alloc(-1, 16); }), HasSubstr("no CUDA device -1"));
}

TEST_F(Driver, RefusesACardThatIsNoHopper) {
  set("major", 8);
  set("minor", 6);
  const std::string text = message_of(ErrorKind::unsupported, [] { jit::require_hopper(0); });
  EXPECT_THAT(text, HasSubstr("Fake H200 of compute capability 8.6"));
  EXPECT_THAT(text, HasSubstr("need 9.0"));
  set("major", 10);
  set("minor", 0);
  EXPECT_THAT(message_of(ErrorKind::unsupported, [] { jit::require_hopper(0); }), HasSubstr("10.0"));
}

TEST_F(Driver, MovesBytes) {
  const std::vector<int> in = {1, 2, 3, 4};
  std::vector<int> out(4);
  void* a = jit::device_alloc(0, 16);
  void* b = jit::device_alloc(0, 16);
  jit::copy_to_device(0, a, in.data(), 16);
  jit::copy_on_device(0, b, a, 16, nullptr);
  jit::fill_bytes(0, b, 0, 4, nullptr);
  jit::synchronize(0);
  jit::copy_to_host(0, out.data(), b, 16);
  EXPECT_EQ(out, (std::vector<int>{0, 2, 3, 4}));
  jit::device_free(0, a);
  jit::device_free(0, b);
  EXPECT_THAT(message_of(ErrorKind::device, [&] { jit::device_free(0, a); }), HasSubstr("cuMemFree failed"));
  EXPECT_NO_THROW(jit::device_free(0, nullptr));
}

TEST_F(Driver, FillsL2ByReadingThroughOtherMemory) {
  const std::size_t l2_bytes = jit::device_info(0).l2_bytes;
  {
    const jit::L2Flush flush(0);
    EXPECT_TRUE(flush.reads());
    EXPECT_THAT(flush.protocol(), HasSubstr("clean lines"));
    set("words", 2);  // the address of the memory and its size
    flush.run(nullptr);
    EXPECT_THAT(record(), HasSubstr("launch 1056 1 1 of 256, shared 0"));
    EXPECT_THAT(record(), HasSubstr(" " + std::to_string(2 * l2_bytes) + "\n"));
  }
  EXPECT_THAT(record(), HasSubstr("unload"));
}

TEST_F(Driver, FillsL2ByWritingWhereTheDriverTakesNoPtx) {
  for (const char* refused : {"load", "function"}) {
    set(refused, 218);  // CUDA_ERROR_INVALID_PTX
    const jit::L2Flush flush(0);
    EXPECT_FALSE(flush.reads()) << refused;
    EXPECT_THAT(flush.protocol(), HasSubstr("by writing"));
    EXPECT_NO_THROW(flush.run(nullptr));
    EXPECT_THAT(record(), Not(HasSubstr("launch"))) << refused;
    set(refused, 0);
  }
}

TEST_F(Driver, TimesShortWorkInPairsAndLongWorkAtTheClockOfABusyCard) {
  const jit::LaunchTimer timer(0);
  int launches = 0;
  set("elapsed_us", 99);
  EXPECT_NEAR(timer.milliseconds([&] { ++launches; }), 0.099, 1e-6);
  EXPECT_EQ(launches, 2);
  launches = 0;
  EXPECT_NEAR(timer.milliseconds_at_this_clock([&] { set("elapsed_us", ++launches == 1 ? 40 : 60); }), 0.05, 1e-6);
  EXPECT_EQ(launches, 2);
  launches = 0;
  set("elapsed_us", 101);
  EXPECT_NEAR(timer.milliseconds_at_this_clock([&] { ++launches; }), 0.101, 1e-6);
  EXPECT_EQ(launches, 1);
  for (const auto& [us, expected] : {std::pair{101, 3}, std::pair{2000, 3}, std::pair{4000, 2}, std::pair{90000, 2}}) {
    launches = 0;
    set("elapsed_us", us);
    EXPECT_NEAR(timer.milliseconds([&] { ++launches; }), us * 1e-3, 1e-3);
    EXPECT_EQ(launches, expected) << us;
  }
  EXPECT_THROW(static_cast<void>(timer.milliseconds([] { throw Error(ErrorKind::device, {}, "refused"); })), Error);
}

TEST_F(Driver, SaysWhenMemoryIsFull) {
  set("alloc", 2);
  const std::string text = message_of(ErrorKind::device, [] { jit::device_alloc(1, 1024); });
  EXPECT_THAT(text, HasSubstr("device 1 has no 1024 bytes of memory left"));
}

TEST_F(Driver, TellsPointersApart) {
  void* p = jit::device_alloc(0, 100);
  std::string what;
  int on_stack = 0;
  EXPECT_TRUE(jit::is_device_pointer(0, p));
  EXPECT_TRUE(jit::is_device_pointer(0, static_cast<char*>(p) + 50));
  EXPECT_EQ(jit::allocation_bytes_from(0, static_cast<char*>(p) + 40), 60U);
  EXPECT_EQ(jit::allocation_bytes_from(0, &on_stack), 0U);
  EXPECT_FALSE(jit::is_device_pointer(0, nullptr, &what));
  EXPECT_EQ(what, "a null pointer");
  EXPECT_FALSE(jit::is_device_pointer(0, &on_stack, &what));
  EXPECT_THAT(what, HasSubstr("ordinary host memory"));
  set("memory_type", 1);
  EXPECT_FALSE(jit::is_device_pointer(0, p, &what));
  EXPECT_EQ(what, "page-locked host memory");
  set("managed", 1);
  EXPECT_TRUE(jit::is_device_pointer(0, p));
  set("managed", 0);
  set("memory_type", 2);
  set("ordinal", 1);
  EXPECT_FALSE(jit::is_device_pointer(0, p, &what));
  EXPECT_EQ(what, "memory of device 1");
  jit::device_free(0, p);
}

TEST_F(Driver, LeavesTheCallersContextInPlace) {
  std::thread([] {
    EXPECT_EQ(current(), nullptr);
    jit::synchronize(0);
    EXPECT_EQ(current(), context(0));  // a thread without a context keeps the one it was given
    jit::synchronize(1);
    EXPECT_EQ(current(), context(0));
  }).join();
}

TEST_F(Driver, RetainsEachContextOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { jit::synchronize(1); });
  for (std::thread& t : threads) t.join();
  const std::string text = record();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST_F(Driver, LaunchesAKernel) {
  const std::vector<char> cubin(64, 'c');
  const unsigned grid[3] = {3, 2, 1};
  int n = 42;
  void* params[] = {&n};
  {
    const jit::Module module(0, cubin, "k", 40000);
    EXPECT_EQ(module.registers(), 77);
    EXPECT_EQ(module.local_bytes(), 0);
    EXPECT_EQ(module.max_active_ctas(128), 16);
    void* stream = jit::create_stream(0);
    module.launch(grid, 128, params, stream);
    jit::destroy_stream(0, stream);
  }
  EXPECT_THAT(record(), HasSubstr("attribute 8 = 40000\n"));
  EXPECT_THAT(record(), HasSubstr("attribute 9 = 100\n"));
  EXPECT_THAT(record(), HasSubstr("launch 3 2 1 of 128, shared 40000, first 42, stream\n"));
  EXPECT_THAT(record(), testing::Not(HasSubstr("launch attribute")));
  EXPECT_THAT(record(), testing::Not(HasSubstr("attribute 14")));
  EXPECT_THAT(record(), HasSubstr("unload\n"));
}

TEST_F(Driver, LaunchesClustersAndDependentKernels) {
  const std::vector<char> cubin(64, 'c');
  const unsigned grid[3] = {6, 2, 1};
  int n = 42;
  void* params[] = {&n};
  const jit::Module cluster(0, cubin, "k", 512, {{2, 1, 1}, true});
  cluster.launch(grid, 384, params, nullptr);
  EXPECT_EQ(record().substr(record().find("launch")),
            "launch attribute 4 2 1 1\nlaunch attribute 6 1\nlaunch 6 2 1 of 384, shared 512, first 42\n");
  EXPECT_THAT(record(), testing::Not(HasSubstr("attribute 14")));
  const jit::Module dependent(0, cubin, "k", 0, {{1, 1, 1}, true});
  SetUp();
  dependent.launch(grid, 128, params, nullptr);
  EXPECT_EQ(record(), "launch attribute 6 1\nlaunch 6 2 1 of 128, shared 0, first 42\n");
  const jit::Module large(0, cubin, "k", 0, {{4, 4, 1}, false});
  EXPECT_THAT(record(), HasSubstr("attribute 14 = 1\n")) << "more than 8 CTAs have to be allowed";
  set("launch", 912);
  const std::string text = message_of(ErrorKind::device, [&] { cluster.launch(grid, 384, params, nullptr); });
  EXPECT_THAT(text, HasSubstr("cuLaunchKernelEx of kernel 'k'"));
  EXPECT_THAT(text, HasSubstr("smaller cluster"));
}

TEST_F(Driver, NamesTheKernelAndTheFixInErrors) {
  const std::vector<char> cubin(64, 'c');
  set("load", 209);
  std::string text = message_of(ErrorKind::device, [&] { jit::Module(0, cubin, "my_kernel", 0); });
  EXPECT_THAT(text,
              HasSubstr("cuModuleLoadData of kernel 'my_kernel' failed: CUDA_ERROR_FAKE (209: as the test asked)"));
  EXPECT_THAT(text, HasSubstr("compute capability 9.0 only"));
  set("load", 0);
  set("function", 500);
  EXPECT_THAT(message_of(ErrorKind::device, [&] { jit::Module(0, cubin, "my_kernel", 0); }),
              HasSubstr("cuModuleGetFunction"));
  EXPECT_THAT(record(), HasSubstr("unload"));
  set("function", 0);
  const jit::Module module(0, cubin, "my_kernel", 0);
  set("launch", 701);
  const unsigned grid[3] = {1, 1, 1};
  text = message_of(ErrorKind::device, [&] { module.launch(grid, 32, nullptr, nullptr); });
  EXPECT_THAT(text, HasSubstr("cuLaunchKernel of kernel 'my_kernel'"));
  EXPECT_THAT(text, HasSubstr("registers, threads or shared memory"));
  set("synchronize", 700);
  EXPECT_THAT(message_of(ErrorKind::device, [] { jit::synchronize(0); }), HasSubstr("simulated Hopper"));
}

TEST_F(Driver, TimesWithEvents) {
  void* begin = jit::create_event(0);
  void* end = jit::create_event(0);
  jit::record_event(0, begin, nullptr);
  jit::record_event(0, end, nullptr);
  EXPECT_FLOAT_EQ(jit::elapsed_ms(0, begin, end), 1.5F);
  jit::destroy_event(0, begin);
  jit::destroy_event(0, end);
}

TEST_F(Driver, EncodesTensorMaps) {
  thread::TensorMap map;
  map.name = "a";
  map.type = DType::bf16;
  map.box = {64, 128};
  map.swizzle = thread::Swizzle::b128;
  const jit::EncodedTensorMap out = jit::encode_tensor_map(0, map, nullptr, {1024, 300}, {2048});
  EXPECT_EQ(out.words[15], 0x5a5a5a5a5a5a5a5aULL);
  // type 9: bfloat16; modes: no interleave, 128-byte swizzle, 128-byte promotion, zeros outside
  EXPECT_EQ(record(), "encode type 9 rank 2 dims 1024 300 strides 2048 box 64 128 steps 1 1 modes 0320\n");
  EXPECT_THAT(message_of(ErrorKind::internal, [&] { jit::encode_tensor_map(0, map, nullptr, {1024}, {}); }),
              HasSubstr("tensor map 'a' has 1 dims"));
  set("encode", 1);
  EXPECT_THAT(message_of(ErrorKind::internal,
                         [&] {
                           jit::encode_tensor_map(0, map, nullptr, {1024, 300}, {2048});
                         }),
              HasSubstr("refuses tensor map 'a'"));
}

TEST_F(Driver, GivesEveryTypeItsDescriptorType) {
  const std::pair<DType, int> expected[] = {
      {DType::u8, 0},  {DType::i8, 0},  {DType::boolean, 0}, {DType::u16, 1},    {DType::i16, 1},
      {DType::u32, 2}, {DType::i32, 3}, {DType::u64, 4},     {DType::f8e4m3, 0}, {DType::f8e5m2, 0},
      {DType::i64, 5}, {DType::f16, 6}, {DType::f32, 7},     {DType::bf16, 9}};
  for (const auto& [type, number] : expected) {
    thread::TensorMap map;
    map.type = type;
    map.box = {16};
    static_cast<void>(jit::encode_tensor_map(0, map, nullptr, {16}, {}));
    EXPECT_THAT(record(), HasSubstr("encode type " + std::to_string(number) + " rank 1"));
    SetUp();
  }
}

}  // namespace
}  // namespace tessera::golden
