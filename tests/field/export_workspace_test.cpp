// What an exported launch of several kernels refuses, and which kernels it takes. What is refused launches nothing.
#include "export_steps.hpp"

namespace tessera::test {
namespace {
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Address memory = Address{1} << 32;
constexpr std::int64_t n = 128, k = 16384;
constexpr std::size_t row_bytes = 16384;  // of the partial sums: 32 splits of 128 floats

class ExportWorkspace : public ExportSteps {
 protected:
  static MatmulExport split_sums() {
    MatmulExport what;
    what.sizes = {{16, n, k}};
    return what;
  }
  static Arguments dense(std::int32_t m) { return {m, k, k, n, 1, 0, memory, 2 * memory, 3 * memory, 0}; }
  void expect(Exported& c, int status, Kind kind, const std::string& text) {
    EXPECT_EQ(c.kind(status), kind * kind_unit) << c.status_text(status);
    EXPECT_THAT(c.status_text(status), HasSubstr(text));
    EXPECT_THAT(launches(), IsEmpty()) << "refused, but launched";
    driver.clear();
  }
  // A launch that is given what it asks for.
  int served(Exported& c, const Arguments& x) {
    std::size_t bytes = 0;
    const int status = c.workspace_bytes(&bytes, x.m);
    return status != 0 ? status : launch(c, x, 4 * memory, bytes);
  }
};

TEST_F(ExportWorkspace, IsCheckedBeforeTheFirstKernel) {
  Exported c(written(split_sums(), options("split")));
  std::size_t bytes = 77;
  expect(c, c.workspace_bytes(&bytes, std::int32_t{16}), not_loaded, "not loaded");
  EXPECT_EQ(bytes, 0U);
  expect(c, launch(c, dense(16), memory, 1 << 20), not_loaded, "not loaded");
  ASSERT_EQ(c.load(), 0);
  driver.clear();
  EXPECT_EQ(c.workspace_bytes(&bytes, std::int32_t{16}), 0);
  EXPECT_EQ(bytes, 16 * row_bytes);
  EXPECT_EQ(c.workspace_bytes(&bytes, std::int32_t{9}), 0);
  EXPECT_EQ(bytes, 9 * row_bytes);
  expect(c, c.workspace_bytes(nullptr, std::int32_t{16}), null_pointer, "the workspace's size is null");
  expect(c, launch(c, dense(16), 0, 1 << 20), null_workspace, "it is null");
  expect(c, launch(c, dense(16), 0, 0), null_workspace, "it is null");
  expect(c, launch(c, dense(16), memory + 128, 1 << 20), misaligned_workspace, "not a multiple of 256 bytes");
  expect(c, launch(c, dense(16), memory + 1, 1 << 20), misaligned_workspace, "not a multiple of 256 bytes");
  expect(c, launch(c, dense(16), memory, 16 * row_bytes - 1), workspace_too_small, "too small for these sizes");
  expect(c, launch(c, dense(16), memory, 0), workspace_too_small, "too small for these sizes");
  EXPECT_EQ(launch(c, dense(16), memory, 16 * row_bytes), 0);
  EXPECT_EQ(launches().size(), 2U);
}

TEST_F(ExportWorkspace, OtherArgumentsAreCheckedBeforeTheFirstKernel) {
  MatmulExport what = split_sums();
  what.bias = true;
  Exported c(written(what, options("split")));
  ASSERT_EQ(c.load(), 0);
  driver.clear();
  Arguments good = dense(16);
  good.bias = 5 * memory;
  EXPECT_EQ(served(c, good), 0);
  driver.clear();
  const auto with = [&](const std::function<void(Arguments&)>& change) {
    Arguments x = good;
    change(x);
    return launch(c, x, 4 * memory, 1 << 20);
  };
  // c and the bias are used by both kernels, or by the second alone.
  expect(c, with([](Arguments& x) { x.a = 0; }), null_pointer, "a is a null pointer");
  expect(c, with([](Arguments& x) { x.b += 2; }), misaligned_pointer, "b is not a multiple of 16 bytes");
  expect(c, with([](Arguments& x) { x.c = 0; }), null_pointer, "c is a null pointer");
  expect(c, with([](Arguments& x) { x.c += 8; }), misaligned_pointer, "c is not a multiple of 16 bytes");
  expect(c, with([](Arguments& x) { x.bias += 4; }), misaligned_pointer, "bias is not a multiple of 16 bytes");
  expect(c, with([](Arguments& x) { x.a_pitch += 1; }), tensor_map_rule, "of a: the stride of dimension 0");
  expect(c, with([](Arguments& x) { x.b_pitch = -8; }), tensor_map_rule, "of b: the stride of dimension 0");
  expect(c, with([](Arguments& x) { x.c_pitch += 4; }), tensor_map_rule, "c_pitch is not a multiple of 8");
  expect(c, with([](Arguments& x) { x.m = -1; }), negative_extent, "is negative");
  // The first kernel's grid would do; the second has a row of blocks for each row.
  expect(c, with([](Arguments& x) { x.m = 65536; }), grid_too_large, "more than 65535 blocks along y");
  std::size_t bytes = 77;
  expect(c, c.workspace_bytes(&bytes, std::int32_t{65536}), grid_too_large, "more than 65535 blocks along y");
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(with([](Arguments& x) { x.m = 1, x.a_pitch = 3, x.c_pitch = 5; }), 0) << "no pitch leads to another row";
  driver.clear();
  EXPECT_EQ(with([](Arguments& x) { x.m = 0, x.a = 0, x.c = 0; }), 0);
  EXPECT_THAT(launches(), IsEmpty()) << "without rows there is nothing to do";
  driver.make_current(1);
  expect(c, launch(c, good, 4 * memory, 1 << 20), wrong_context, "the current context is not");
  driver.make_current(0);
}

TEST_F(ExportWorkspace, TheDriversRefusalEndsTheLaunch) {
  Exported c(written(split_sums(), options("split")));
  ASSERT_EQ(c.load(), 0);
  for (const int launch_number : {1, 2}) {
    driver.clear();
    driver.symbol<void(int)>("recording_fail_after")(launch_number);
    const int status = served(c, dense(16));
    EXPECT_EQ(status, 719);
    EXPECT_EQ(c.kind(status), driver_error * kind_unit);
    EXPECT_EQ(launches().size(), static_cast<std::size_t>(launch_number - 1));
  }
  driver.set("encode", 1);
  driver.clear();
  EXPECT_EQ(served(c, dense(16)), 1);
  EXPECT_THAT(launches(), IsEmpty());
}

TEST_F(ExportWorkspace, OneFunctionForSizesWithAndWithout) {
  MatmulExport what = split_sums();
  what.sizes.push_back({256, n, 512});  // too little k to be split
  ExportReport report = written(what, options("both"));
  ASSERT_EQ(report.buckets.size(), 2U);
  ASSERT_EQ(report.buckets[0].steps.size(), 2U) << report.text();
  ASSERT_EQ(report.buckets[1].steps.size(), 1U) << report.text();
  EXPECT_THAT(report.buckets[1].workspace, IsEmpty());
  EXPECT_THAT(report.text(), HasSubstr("2 kernels"));
  EXPECT_THAT(report.text(), HasSubstr("one kernel"));
  Exported c(report);
  ASSERT_EQ(c.load(), 0);
  const auto bytes_of = [&](std::int32_t m, std::int32_t columns) {
    std::size_t bytes = 77;
    EXPECT_EQ(c.workspace_bytes(&bytes, m, columns), 0);
    return bytes;
  };
  EXPECT_EQ(bytes_of(16, k), 16 * row_bytes);
  EXPECT_EQ(bytes_of(200, 512), 0U);
  const auto launch_with = [&](std::int32_t m, std::int32_t columns, Address workspace, std::size_t bytes) {
    driver.clear();
    return c.launch(m, columns, std::int64_t{columns}, std::int64_t{columns}, n, 1.0F, 0.0F, memory, 2 * memory,
                    3 * memory, workspace, bytes);
  };
  EXPECT_EQ(launch_with(200, 512, 0, 0), 0);
  EXPECT_EQ(launches().size(), 1U);
  EXPECT_EQ(launch_with(16, k, 4 * memory, 16 * row_bytes), 0);
  EXPECT_EQ(launches().size(), 2U);
  expect(c, launch_with(16, k, 0, 0), null_workspace, "it is null");
  expect(c, launch_with(16, 1024, 4 * memory, 1 << 20), not_exported, "no kernel was exported");
}

TEST_F(ExportWorkspace, TakesTheKernelsOfTheBucket) {
  MatmulExport what = split_sums();
  what.sizes.push_back({256, n, k});
  const ExportReport report = written(what, options("buckets"));
  ASSERT_EQ(report.buckets.size(), 2U);
  EXPECT_THAT(report.buckets[0].sizes, HasSubstr("m_size in (8, 16]"));
  EXPECT_THAT(report.buckets[1].sizes, HasSubstr("m_size in (128, 256]"));
  const auto splits_of = [&](const ExportReport::Bucket& bucket) {
    const std::string text = bucket.steps.at(0).what;
    return text.substr(text.find("in ") + 3);
  };
  ASSERT_NE(splits_of(report.buckets[0]), splits_of(report.buckets[1])) << "otherwise this test sees one kernel";
  Exported c(report);
  ASSERT_EQ(c.load(), 0);
  const auto grid_z = [&](std::int32_t m) {
    driver.clear();
    EXPECT_EQ(served(c, dense(m)), 0);
    std::istringstream words(launches().at(0).substr(launches().at(0).find("grid") + 5));
    std::string x, y, z;
    words >> x >> y >> z;
    return z + " parts";
  };
  for (const std::int32_t m : {1, 9, 16}) EXPECT_EQ(grid_z(m), splits_of(report.buckets[0])) << m;
  for (const std::int32_t m : {129, 256, 1000}) EXPECT_EQ(grid_z(m), splits_of(report.buckets[1])) << m;
  ExportOptions exact = options("exact");
  exact.dispatch = ExportOptions::Dispatch::exact;
  Exported e(written(what, exact));
  ASSERT_EQ(e.load(), 0);
  driver.clear();
  for (const std::int32_t m : {0, 8, 17, 128, 257})
    expect(e, served(e, dense(m)), not_exported, "no kernel was exported");
  for (const std::int32_t m : {9, 16, 129, 256}) EXPECT_EQ(served(e, dense(m)), 0) << m;
}

TEST_F(ExportWorkspace, OneOfEachBucket) {
  MatmulExport what = split_sums();
  what.sizes = {{16, n, k}, {12, n, k}, {16, 1, 512}};
  std::map<std::string, std::size_t> buckets;
  for (const ExportReport& report : export_matmul(what, options("mm"))) buckets[report.name] = report.buckets.size();
  const std::map<std::string, std::size_t> expected = {{"mm_split", 1}, {"mm_split_column", 1}};
  EXPECT_EQ(buckets, expected);
}

// A row alone may have any pitch, so that it is not copied where two rows are.
TEST_F(ExportWorkspace, KernelsForOneRowDoNoMore) {
  MatmulExport what;
  what.sizes = {{1, 512, 9001}};
  Exported one(written(what, options("one")));
  ASSERT_EQ(one.load(), 0);
  driver.clear();
  const auto arguments = [](std::int32_t m) {
    return Arguments{m, 9001, 9001, 512, 1, 0, memory, 2 * memory, 3 * memory, 0};
  };
  EXPECT_EQ(served(one, arguments(1)), 0);
  EXPECT_THAT(launches().at(0), HasSubstr("launch PackRows"));
  EXPECT_THAT(launches().at(1), Not(HasSubstr("PackRows"))) << "of b alone";
  driver.clear();
  expect(one, served(one, arguments(2)), not_exported, "no kernel was exported");
  what.sizes.push_back({2, 512, 9001});
  Exported both(written(what, options("both")));
  ASSERT_EQ(both.load(), 0);
  for (const std::int32_t m : {1, 2, 3}) {
    driver.clear();
    EXPECT_EQ(served(both, arguments(m)), 0);
    EXPECT_EQ(launches().at(1).find("launch PackRows") != std::string::npos, m > 1) << m;
  }
}

TEST_F(ExportWorkspace, SaysWhatTheStepsAre) {
  MatmulExport what;
  what.in = DType::f8e4m3;
  what.out = DType::bf16;
  what.sizes = {{24, 72, 65537}};
  const ExportReport report = written(what, options("said"));
  const std::string header = text_of(fs::path(report.directory) / "said.h");
  for (const std::string& text : {report.text(), header}) {
    EXPECT_THAT(text, ContainsRegex("PackRows: copies a"));
    EXPECT_THAT(text, ContainsRegex("PackRows: copies b"));
    EXPECT_THAT(text, ContainsRegex("SplitMatmul: multiplies, k in [0-9]+ parts; block_m="));
    EXPECT_THAT(text, ContainsRegex("ReduceSplits: adds the partial sums up"));
    EXPECT_THAT(text, HasSubstr("workspace: copy of a, m_size rows of 65552 bytes"));
    EXPECT_THAT(text, HasSubstr("workspace: copy of b, 72 rows of 65552 bytes"));
    EXPECT_THAT(text, ContainsRegex("workspace: partial sums, m_size rows of [0-9]+ bytes"));
  }
  EXPECT_THAT(header, HasSubstr("a multiple of 256 bytes"));
  const auto manifest = nlohmann::json::parse(text_of(fs::path(report.directory) / "said.json"));
  EXPECT_EQ(manifest["workspace_alignment"], 256);
  const auto& bucket = manifest["buckets"][0];
  EXPECT_EQ(bucket["steps"].size(), 4U);
  EXPECT_EQ(bucket["workspace"][1]["rows"], 72);
  EXPECT_EQ(bucket["workspace"][0]["rows"], "m_size");
  EXPECT_EQ(bucket["workspace"][0]["row_bytes"], 65552);
}

TEST_F(ExportWorkspace, ReadsCubinsFromFiles) {
  ExportOptions files = options("files");
  files.embed = false;
  const ExportReport report = written(split_sums(), files);
  Exported c(report);
  ASSERT_EQ(c.load(report.directory.c_str()), 0);
  driver.clear();
  EXPECT_EQ(served(c, dense(16)), 0);
  EXPECT_EQ(launches().size(), 2U);
  fs::remove(fs::path(report.directory) / "files_1.cubin");
  EXPECT_EQ(c.unload(), 0);
  EXPECT_EQ(c.kind(c.load(report.directory.c_str())), file_error * kind_unit) << "the second kernel's is missing";
}

TEST_F(ExportWorkspace, CompilesEverywhere) {
  MatmulExport what = split_sums();
  what.sizes.push_back({100, 1000, 3001});
  what.sizes.push_back({200, 512, 512});
  const std::vector<ExportReport> reports = export_matmul(what, options("mm"));
  EXPECT_EQ(reports.size(), 2U);
  std::vector<std::string> compilers = {"cc -std=c99 -O2 -c -o /dev/null", "c++ -x c++ -std=c++11 -fsyntax-only"};
  std::string output;
  if (run_command("command -v clang-14", &output) == 0) {
    compilers.emplace_back("clang-14 -std=c99 -fsyntax-only");
    compilers.emplace_back("clang-14 -x c++ -std=c++17 -fsyntax-only");
  }
  for (const ExportReport& report : reports) {
    for (const std::string& compiler : compilers) {
      const std::string command = compiler + strict + "-Wconversion -DTESSERA_WITHOUT_CUDA_H " +
                                  (fs::path(report.directory) / (report.name + ".c")).string();
      EXPECT_EQ(run_command(command, &output), 0) << command << "\n" << output;
    }
  }
}

}  // namespace
}  // namespace tessera::test
