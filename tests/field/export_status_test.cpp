// What an exported launch refuses, which of its kernels it takes, and what loading does when something is wrong.
#include <thread>

#include "export_fixture.hpp"
#include "export_kernels.hpp"

namespace tessera::test {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
using Address = unsigned long long;

constexpr Address memory = Address{1} << 20;

class ExportStatus : public ExportTest {
 protected:
  // The status's kind, with its text checked.
  void expect(Exported& c, int status, Kind kind, const std::string& text) {
    EXPECT_EQ(c.kind(status), kind * kind_unit) << c.status_text(status);
    EXPECT_THAT(c.status_text(status), HasSubstr(text));
    EXPECT_EQ(driver.last_launch(), "");
  }
};

TEST_F(ExportStatus, EachMistakeHasItsStatus) {
  Kernel<ManyMaps> kernel(ManyMaps::Config{2});
  Exported c(
      export_kernel(kernel, options("maps"), 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>()));
  const auto launch = [&](std::int32_t batch, std::int32_t rows, std::int32_t columns, std::int64_t pitch,
                          std::int32_t first, Address x, Address y) {
    driver.clear();
    return c.launch(batch, rows, columns, pitch, first, x, y);
  };
  expect(c, launch(2, 256, 64, 64, 0, memory, memory), not_loaded, "not loaded");
  ASSERT_EQ(c.load(), 0);
  EXPECT_EQ(launch(2, 256, 64, 64, 0, memory, memory), 0);
  EXPECT_NE(driver.last_launch(), "");
  expect(c, launch(2, -256, 64, 64, 0, memory, memory), negative_extent, "dimension 1 of the view \"gx\" of x");
  expect(c, launch(2, 256, -1, 64, 0, memory, memory), negative_extent, "dimension 2 of the view \"gx\" of x");
  expect(c, launch(70000, 256, 64, 64, 0, memory, memory), grid_too_large, "more than 65535 blocks along y");
  expect(c, launch(2, 64, 64, 64, 0, memory, memory), cluster_misfit, "along x are not a multiple of the cluster's 2");
}

TEST_F(ExportStatus, PointersAreChecked) {
  Kernel<ManyMaps> kernel(ManyMaps::Config{2});
  Exported c(
      export_kernel(kernel, options("maps"), 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>()));
  ASSERT_EQ(c.load(), 0);
  driver.clear();
  const auto launch = [&](std::int64_t pitch, std::int32_t first, Address x, Address y) {
    return c.launch(std::int32_t{2}, std::int32_t{256}, std::int32_t{64}, pitch, first, x, y);
  };
  expect(c, launch(64, 0, 0, memory), null_pointer, "x is a null pointer");
  expect(c, launch(64, 0, memory, 0), null_pointer, "y is a null pointer");
  expect(c, launch(64, 0, memory + 2, memory), misaligned_pointer, "x is not a multiple of 16 bytes");
  expect(c, launch(64, 0, memory, memory + 1), misaligned_pointer, "y is not a multiple of 16 bytes");
  expect(c, launch(65, 0, memory, memory), tensor_map_rule, "stride of dimension");
  expect(c, launch(-64, 0, memory, memory), tensor_map_rule, "stride of dimension");
  expect(c, launch(std::int64_t{1} << 40, 0, memory, memory), tensor_map_rule, "2^40");
  // A grid without blocks is looked at before pointers, as the library does.
  EXPECT_EQ(c.launch(std::int32_t{0}, std::int32_t{256}, std::int32_t{64}, std::int64_t{64}, std::int32_t{0},
                     Address{0}, Address{0}),
            0);
  EXPECT_EQ(driver.last_launch(), "");
}

TEST_F(ExportStatus, ArithmeticAndNegativeGrids) {
  Kernel<OddIntegers> kernel;
  Exported c(export_kernel(kernel, options("odd"), 100, 4, 3, 2, 5, 9, export_memory<float>(), export_memory<float>()));
  ASSERT_EQ(c.load(), 0);
  driver.clear();
  const auto launch = [&](std::int32_t m, std::int32_t n, std::int32_t by, std::int32_t shift) {
    return c.launch(m, n, by, shift, std::int64_t{5}, std::uint32_t{0}, memory, memory);
  };
  expect(c, launch(100, 4, 0, 2), arithmetic, "divides by zero or shifts too far");
  expect(c, launch(100, 4, 3, 32), arithmetic, "divides by zero or shifts too far");
  expect(c, launch(100, 4, 3, 30), negative_grid, "negative number of blocks along y");
  expect(c, launch(100, 4, 3, 16), grid_too_large, "along y");
}

// A map whose base is a matter of run time.
TEST_F(ExportStatus, TheBaseAndTheExtentsOfAMap) {
  Kernel<Offset> kernel;
  Exported c(export_kernel(kernel, options("offset"), 100, 0, export_memory<float>()));
  ASSERT_EQ(c.load(), 0);
  driver.clear();
  expect(c, c.launch(std::int64_t{100}, std::int64_t{1}, memory), tensor_map_rule,
         "does not begin at a multiple of 16 bytes");
  expect(c, c.launch((std::int64_t{1} << 32) + 1, std::int64_t{0}, memory), tensor_map_rule, "more than 2^32 elements");
  driver.parameters({8, 8, 8, 128});
  EXPECT_EQ(c.launch(std::int64_t{1} << 32, std::int64_t{4}, memory), 0);
  EXPECT_THAT(driver.last_launch(), HasSubstr("dims 4294967296"));
  EXPECT_THAT(driver.last_launch(), HasSubstr("base " + std::to_string(memory + 16)));
  EXPECT_EQ(c.launch(std::int64_t{0}, std::int64_t{0}, memory), 0);
  EXPECT_THAT(driver.last_launch(), HasSubstr("no map"));
}

TEST_F(ExportStatus, TakesTheKernelOfTheBucket) {
  Kernel<VectorAdd> kernel(VectorAdd::Config{256}), large(VectorAdd::Config{1024});
  KernelExport out(kernel, options("two"));
  out.call(1000, export_memory<float>(), export_memory<float>(), export_memory<float>());
  const ExportReport one = out.write();
  ASSERT_EQ(one.buckets.size(), 1U);
  EXPECT_EQ(one.buckets[0].sizes, "n in (512, 1024]");
  EXPECT_EQ(one.buckets[0].config, "block=256");
  Exported c(one);
  ASSERT_EQ(c.load(), 0);
  for (const std::int32_t n : {1, 512, 513, 1024, 1025, 1 << 30}) {
    driver.clear();
    EXPECT_EQ(c.launch(n, memory, memory, memory), 0) << n;
    EXPECT_NE(driver.last_launch(), "") << n;
  }
  ExportOptions exact = options("exact");
  exact.dispatch = ExportOptions::Dispatch::exact;
  Exported e(
      export_kernel(kernel, exact, 1000, export_memory<float>(), export_memory<float>(), export_memory<float>()));
  ASSERT_EQ(e.load(), 0);
  for (const std::int32_t n : {513, 1000, 1024}) EXPECT_EQ(e.launch(n, memory, memory, memory), 0) << n;
  driver.clear();
  for (const std::int32_t n : {-1, 0, 1, 512, 1025}) {
    expect(e, e.launch(n, memory, memory, memory), not_exported, "no kernel was exported for these sizes");
  }
}

// Constants decide exactly, sizes by the nearest power of two; of equal ones the alignment that fits.
TEST_F(ExportStatus, TakesTheNearestOfSeveral) {
  Kernel<Blocks> kernel;
  KernelExport out(kernel, options("several"));
  for (const int block : {64, 128}) {
    for (const int n : {100, 5000}) out.call(n, block, export_memory<float>());
  }
  out.call(5000, 128, export_memory<float>(4));
  const ExportReport report = out.write();
  ASSERT_EQ(report.buckets.size(), 5U);
  Exported c(report);
  ASSERT_EQ(c.load(), 0);
  const auto grid_of = [&](std::int32_t n, std::int32_t block, Address x) {
    driver.clear();
    EXPECT_EQ(c.launch(n, block, x), 0) << n << " " << block;
    const std::string text = driver.last_launch();
    return text.substr(text.find("grid"), text.find(" block") - text.find("grid"));
  };
  EXPECT_EQ(grid_of(128, 64, memory), "grid 2 1 1");
  EXPECT_EQ(grid_of(128, 128, memory), "grid 1 1 1");
  const std::string aligned = (grid_of(5000, 128, memory), driver.last_launch());
  const std::string unaligned = (grid_of(5000, 128, memory + 4), driver.last_launch());
  EXPECT_NE(aligned.substr(0, 60), unaligned.substr(0, 60)) << "another image";
  EXPECT_NE((grid_of(100, 128, memory + 4), driver.last_launch()), "") << "the other bucket has the only kernel for it";
  driver.clear();
  expect(c, c.launch(std::int32_t{128}, std::int32_t{32}, memory), not_exported, "no kernel was exported");
  expect(c, c.launch(std::int32_t{128}, std::int32_t{64}, memory + 4), misaligned_pointer, "x is not a multiple of 16");
}

TEST_F(ExportStatus, LoadsOnHopperOnly) {
  Kernel<Persistent> kernel;
  Exported c(export_kernel(kernel, options("persistent"), 1000, export_memory<float>()));
  const int before = driver.loaded();
  driver.set("major", 10);
  expect(c, c.load(), wrong_device, "compute capability 9.0");
  driver.set("major", 9);
  driver.set("minor", 1);
  expect(c, c.load(), wrong_device, "compute capability 9.0");
  EXPECT_EQ(driver.loaded(), before);
}

TEST_F(ExportStatus, TheDriversRefusalsAreItsOwn) {
  Kernel<ManyMaps> kernel(ManyMaps::Config{2});
  Exported c(
      export_kernel(kernel, options("maps"), 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>()));
  const int before = driver.loaded();
  for (const char* call : {"load", "function", "attribute", "context_device"}) {
    driver.set(call, 209);
    const int status = c.load();
    EXPECT_EQ(status, 209) << call;
    EXPECT_EQ(c.kind(status), driver_error * kind_unit);
    EXPECT_EQ(c.status_text(status), "as the test asked");
    EXPECT_EQ(driver.loaded(), before) << "nothing stays behind";
    driver.set(call, 0);
  }
  ASSERT_EQ(c.load(), 0);
  for (const char* call : {"encode", "launch"}) {
    driver.set(call, 1);
    EXPECT_EQ(c.launch(std::int32_t{2}, std::int32_t{256}, std::int32_t{64}, std::int64_t{64}, std::int32_t{0}, memory,
                       memory),
              1)
        << call;
    driver.set(call, 0);
  }
  EXPECT_EQ(c.unload(), 0);
  EXPECT_EQ(driver.loaded(), before);
  EXPECT_EQ(c.unload(), 0) << "twice does no harm";
  EXPECT_THAT(c.status_text(-5), HasSubstr("do not return"));
  EXPECT_THAT(c.status_text(kind_unit * 60), HasSubstr("do not return"));
  EXPECT_EQ(c.status_text(0), "success");
}

TEST_F(ExportStatus, WantsItsContext) {
  Kernel<Persistent> kernel;
  const ExportReport report = export_kernel(kernel, options("persistent"), 1000, export_memory<float>());
  Exported first(report), second(report);
  driver.make_none_current();
  EXPECT_EQ(first.load(), 201) << "no context is current";
  driver.make_current(0);
  ASSERT_EQ(first.load(), 0);
  driver.make_current(1);
  driver.clear();
  expect(first, first.launch(std::int32_t{77}, memory), wrong_context, "the current context is not");
  ASSERT_EQ(second.load(), 0);  // each device has its own
  EXPECT_EQ(second.launch(std::int32_t{77}, memory), 0);
  driver.make_current(0);
  EXPECT_EQ(first.launch(std::int32_t{77}, memory), 0);
  expect(first, (driver.clear(), first.launch_without_module(std::int32_t{77}, memory)), not_loaded, "not loaded");
}

TEST_F(ExportStatus, ReadsCubinsFromFiles) {
  Kernel<Persistent> kernel;
  ExportOptions files = options("files");
  files.embed = false;
  const ExportReport report = export_kernel(kernel, files, 1000, export_memory<float>());
  EXPECT_THAT(text_of(fs::path(report.directory) / "files.c"), Not(HasSubstr("cubin_0[]")));
  Exported c(report);
  expect(c, c.load("/nowhere"), file_error, "a cubin file cannot be read");
  driver.clear();
  ASSERT_EQ(c.load(report.directory.c_str()), 0);
  const std::string cubin = text_of(fs::path(report.directory) / "files_0.cubin");
  EXPECT_THAT(driver.text(), HasSubstr("load " + std::string(cubin.c_str())));
  EXPECT_EQ(c.launch(std::int32_t{77}, memory), 0);
  std::ofstream(fs::path(report.directory) / "files_0.cubin", std::ios::trunc);
  EXPECT_EQ(c.unload(), 0);
  driver.clear();
  expect(c, c.load(report.directory.c_str()), file_error, "a cubin file cannot be read");
}

TEST_F(ExportStatus, ThreadsShareAModule) {
  Kernel<ManyMaps> kernel(ManyMaps::Config{2});
  Exported c(
      export_kernel(kernel, options("maps"), 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>()));
  ASSERT_EQ(c.load(), 0);
  driver.parameters({4, 4, 4, 8, 4, 8, 8, 128, 128, 128});
  driver.clear();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      driver.make_current(0);
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(c.launch(std::int32_t{t + 1}, std::int32_t{256}, std::int32_t{8 * (t + 1)}, std::int64_t{64},
                           std::int32_t{0}, memory * static_cast<Address>(t + 1), memory),
                  0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(driver.text());
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("launch") == std::string::npos) continue;
    ++count;
    const std::size_t at = line.find("parameters 4:") + 13;
    const int t = line[at] - '0';
    EXPECT_THAT(line, HasSubstr("dims " + std::to_string(8 * t) + " 256 " + std::to_string(t)));
    EXPECT_THAT(line, HasSubstr("base " + std::to_string(memory * static_cast<Address>(t))));
  }
  EXPECT_EQ(count, 200);
}

}  // namespace
}  // namespace tessera::test
