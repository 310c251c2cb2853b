// An exported launch and the library's own, through the same driver: the same calls with the same bytes, or both
// refuse.
#include <random>

#include "export_fixture.hpp"
#include "export_kernels.hpp"

namespace tessera::test {
namespace {
using Address = unsigned long long;  // CUdeviceptr

class ExportLaunch : public ExportTest {
 protected:
  void SetUp() override {
    ExportTest::SetUp();
    Address base = 0;
    driver.symbol<int(Address*, std::size_t)>("cuMemAlloc_v2")(&base, std::size_t{1} << 20);
    memory_ = base;
    aligned_ = (base + 255) / 256 * 256;
  }
  void TearDown() override {
    driver.symbol<int(Address)>("cuMemFree_v2")(memory_);
    ExportTest::TearDown();
  }
  // Somewhere in the memory: now and then null or badly aligned.
  Address pointer(std::size_t element, bool any_alignment) {
    const Address inside = aligned_ + below(1000) * 256;
    if (!any_alignment) return inside;
    if (below(20) == 0) return 0;
    if (below(4) == 0) return inside + element * below(16);
    return below(30) == 0 && element > 1 ? inside + 1 : inside;
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  std::int64_t size(std::int64_t most) {
    switch (below(12)) {
      case 0: return 0;
      case 1: return -below(3);
      case 2: return below(std::int64_t{1} << 31);
      default: return below(most) + 1;
    }
  }
  template <class T>
  static T* at(Address address) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
  }
  void count(const std::string& outcome) { ++(outcome == "refused" ? refused_ : outcome.empty() ? empty_ : launched_); }

  std::mt19937_64 random_{5};
  Address memory_ = 0, aligned_ = 0;
  int refused_ = 0, empty_ = 0, launched_ = 0;
};

TEST_F(ExportLaunch, VectorAddIsTheLibrarysLaunch) {
  Kernel<VectorAdd> kernel(VectorAdd::Config{512});
  kernel.on(Device::cuda(0));
  // Every combination of alignments, as the library compiles them.
  KernelExport out(kernel, options("vector_add"));
  for (int mask = 0; mask < 8; ++mask) {
    const auto at = [&](int bit) { return export_memory<float>((mask >> bit & 1) != 0 ? 256 : 4); };
    out.call(1000, at(0), at(1), at(2));
  }
  Exported c(out.write());
  ASSERT_EQ(c.load(), 0);
  driver.parameters({4, 8, 8, 8});
  for (int i = 0; i < 400; ++i) {
    const auto n = static_cast<std::int32_t>(size(100000));
    const Address x = pointer(4, true), y = pointer(4, true), z = pointer(4, true);
    const std::string expected = library([&] { kernel(n, at<float>(x), at<float>(y), at<float>(z)); });
    const std::string found = exported([&] { return c.launch(n, x, y, z); });
    ASSERT_EQ(found, expected) << n << " " << x << " " << y << " " << z;
    count(expected);
  }
  EXPECT_GT(refused_, 20);
  EXPECT_GT(empty_, 20);
  EXPECT_GT(launched_, 200);
  EXPECT_EQ(c.unload(), 0);
}

TEST_F(ExportLaunch, TwentyParametersArriveAsTheyAre) {
  Kernel<Mixed> kernel;
  kernel.on(Device::cuda(0));
  KernelExport out(kernel, options("mixed"));
  for (const int mode : {first, second}) {
    out.call(1, 1000, 1, 2, 3, 4, 5, mode, 6, 7, 8, true, 1.0F, float16(1.0F), bfloat16(1.0F), true,
             export_memory<float>(), export_memory<float>(), export_memory<bfloat16>(), float8_e4m3(1.0F));
  }
  Exported c(out.write());
  ASSERT_EQ(c.load(), 0);
  driver.parameters({4, 4, 1, 2, 1, 8, 1, 2, 4, 8, 1, 4, 2, 2, 8, 8, 8, 1});
  for (int i = 0; i < 200; ++i) {
    const auto rows = static_cast<std::int32_t>(random_());
    const auto n = static_cast<std::int32_t>(size(100000));
    const auto a8 = static_cast<std::int8_t>(random_());
    const auto a16 = static_cast<std::int16_t>(random_());
    const auto t0 = static_cast<std::uint8_t>(random_()), u8 = static_cast<std::uint8_t>(random_());
    const auto a64 = static_cast<std::int64_t>(random_());
    const auto u16 = static_cast<std::uint16_t>(random_()), half = static_cast<std::uint16_t>(random_() % 0x7c00),
               brain = static_cast<std::uint16_t>(random_() % 0x7f80);
    const auto u32 = static_cast<std::uint32_t>(random_());
    const std::uint64_t u64 = random_();
    const bool flag = random_() % 2 == 0;
    const float scale = static_cast<float>(below(1000)) / 7.0F;
    const auto f8 = static_cast<std::uint8_t>(random_() % 0x7f);
    const int mode = random_() % 2 == 0 ? first : second;
    const Address x = pointer(4, false), y = pointer(4, false), z = pointer(2, false);
    float16 h{};
    h.bits = half;
    bfloat16 b{};
    b.bits = brain;
    float8_e4m3 e{};
    e.bits = f8;
    const std::string expected = library([&] {
      kernel(rows, n, a8, a16, t0, a64, u8, mode, u16, u32, u64, flag, scale, h, b, true, at<float>(x), at<float>(y),
             at<bfloat16>(z), e);
    });
    // `fixed` is the same in all calls and so no parameter; `mode` is one.
    const std::string found = exported([&] {
      return c.launch(rows, n, a8, a16, t0, a64, u8, mode, u16, u32, u64, flag, scale, half, brain, x, y, z, f8);
    });
    ASSERT_EQ(found, expected);
    count(expected);
  }
  EXPECT_GT(launched_, 100);
}

TEST_F(ExportLaunch, OddIntegersAreTheHosts) {
  Kernel<OddIntegers> kernel;
  kernel.on(Device::cuda(0));
  Exported c(export_kernel(kernel, options("odd"), 100, 4, 3, 2, 5, 9, export_memory<float>(), export_memory<float>()));
  ASSERT_EQ(c.load(), 0);
  driver.parameters({4, 4, 4, 4, 8, 4, 8, 8});
  for (int i = 0; i < 1500; ++i) {
    const auto m = static_cast<std::int32_t>(below(3) == 0 ? static_cast<std::int64_t>(random_()) : size(2000));
    const auto n = static_cast<std::int32_t>(below(3) == 0 ? static_cast<std::int64_t>(random_()) : size(200));
    const auto by = static_cast<std::int32_t>(below(9)) - 2, shift = static_cast<std::int32_t>(below(40)) - 3;
    const auto wide = static_cast<std::int64_t>(below(2) == 0 ? static_cast<std::int64_t>(random_()) : below(100));
    const auto bits = static_cast<std::uint32_t>(below(2) == 0 ? static_cast<std::int64_t>(random_()) : below(10));
    const Address x = pointer(4, false), y = pointer(4, false);
    const std::string expected = library([&] { kernel(m, n, by, shift, wide, bits, at<float>(x), at<float>(y)); });
    const std::string found = exported([&] { return c.launch(m, n, by, shift, wide, bits, x, y); });
    ASSERT_EQ(found, expected) << m << " " << n << " " << by << " " << shift << " " << wide << " " << bits;
    count(expected);
  }
  EXPECT_GT(refused_, 200);
  EXPECT_GT(launched_, 50);
}

TEST_F(ExportLaunch, ClustersAndTensorMapsAreTheLibrarys) {
  for (const int cluster : {1, 2, 4}) {
    Kernel<ManyMaps> kernel(ManyMaps::Config{cluster});
    kernel.on(Device::cuda(0));
    driver.clear();
    const ExportReport report = export_kernel(kernel, options("maps" + std::to_string(cluster)), 2, 256, 64, 64, 0,
                                              export_memory<float16>(), export_memory<float16>());
    Exported c(report);
    ASSERT_EQ(c.load(), 0);
    driver.parameters({4, 4, 4, 8, 4, 8, 8, 128, 128, 128});
    const int before = launched_;
    for (int i = 0; i < 400; ++i) {
      const auto batch = static_cast<std::int32_t>(below(5)), rows = static_cast<std::int32_t>(size(3000)),
                 columns = static_cast<std::int32_t>(size(300)), first = static_cast<std::int32_t>(below(40)) - 4;
      const std::int64_t pitch =
          below(3) == 0 ? below(std::int64_t{1} << 41) : 8 * below(1000) + (below(5) == 0 ? 1 : 0);
      const Address x = pointer(2, false) + (below(6) == 0 ? 8 : 0), y = pointer(2, false);
      const std::string expected =
          library([&] { kernel(batch, rows, columns, pitch, first, at<float16>(x), at<float16>(y)); });
      const std::string found = exported([&] { return c.launch(batch, rows, columns, pitch, first, x, y); });
      if (x % 16 != 0 && found == "refused") continue;  // another specialisation of the library, which was not exported
      ASSERT_EQ(found, expected) << batch << " " << rows << " " << columns << " " << pitch << " " << first << " " << x;
      count(expected);
    }
    EXPECT_GT(launched_, before + 20) << cluster;
  }
  EXPECT_GT(refused_, 100);
}

TEST_F(ExportLaunch, TheGridOfAPersistentKernelIsTheDevices) {
  Kernel<Persistent> kernel;
  kernel.on(Device::cuda(0));
  Exported c(export_kernel(kernel, options("persistent"), 1000, export_memory<float>()));
  ASSERT_EQ(c.load(), 0);
  driver.parameters({4, 8});
  const std::string expected = library([&] { kernel(77, at<float>(aligned_)); });
  EXPECT_EQ(exported([&] { return c.launch(std::int32_t{77}, aligned_); }), expected);
  EXPECT_THAT(expected, ::testing::HasSubstr("grid 132 1 1"));
}

TEST_F(ExportLaunch, ConstantsMayBeAllThereIs) {
  Kernel<Constant> kernel;
  Exported c(export_kernel(kernel, options("constant"), 3));
  ASSERT_EQ(c.load(), 0);
  driver.parameters({});
  driver.clear();
  EXPECT_EQ(c.launch(), 0);
  EXPECT_THAT(driver.last_launch(), ::testing::HasSubstr("grid 3 1 1 block 32 1 1"));
}

TEST_F(ExportLaunch, LoadsAsTheLibraryDoes) {
  Kernel<ManyMaps> kernel(ManyMaps::Config{4});
  kernel.on(Device::cuda(0));
  const auto text_of_load = [&](const auto& load) {
    driver.clear();
    load();
    std::string text = driver.text();
    return text.substr(0, text.find("extended"));
  };
  Exported c(
      export_kernel(kernel, options("maps"), 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>()));
  const std::string expected =
      text_of_load([&] { kernel.compile(2, 256, 64, 64, 0, at<float16>(aligned_), at<float16>(aligned_)); });
  EXPECT_EQ(text_of_load([&] { EXPECT_EQ(c.load(), 0); }), expected);
  EXPECT_THAT(expected, ::testing::HasSubstr("attribute 8 ="));
  EXPECT_THAT(expected, ::testing::HasSubstr("attribute 9 = 100"));
}

TEST_F(ExportLaunch, StreamsArePassedOn) {
  Kernel<Persistent> kernel;
  Exported c(export_kernel(kernel, options("persistent"), 1000, export_memory<float>()));
  ASSERT_EQ(c.load(), 0);
  c.stream = at<void>(12345);
  EXPECT_EQ(c.launch(std::int32_t{77}, aligned_), 0);
  EXPECT_THAT(driver.last_launch(), ::testing::HasSubstr("stream 12345"));
}

}  // namespace
}  // namespace tessera::test
