// The kernels of tessera::matmul: exported by the model's choice, launched as matmul() launches them.
#include "export_fixture.hpp"
#include "tessera/matmul_export.hpp"

namespace tessera::test {
namespace {
using ::testing::HasSubstr;
using Address = unsigned long long;

class ExportMatmul : public ExportTest {
 protected:
  static Address address(const Buffer<float16>& x) {
    return static_cast<Address>(reinterpret_cast<std::uintptr_t>(x.data()));
  }
};

// The device stand-in has a clock, on which every kernel takes as long: matmul() takes one of those that it compares.
// If that is the exported one, the launches are the same; the test looks at sizes where one kernel stands alone.
TEST_F(ExportMatmul, LaunchesAsMatmulDoes) {
  constexpr std::int64_t m = 4096, n = 4096, k = 512;
  MatmulExport what;
  what.sizes = {{m, n, k}};
  const std::vector<ExportReport> reports = export_matmul(what, options("matmul"));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].name, "matmul");
  EXPECT_EQ(reports[0].kernel, "PersistentMatmul");
  EXPECT_THAT(reports[0].text(), HasSubstr("nothing was measured"));
  Exported c(reports[0]);
  ASSERT_EQ(c.load(), 0);
  const Device device = Device::cuda(0);
  const auto a = device.empty<float16>({m, k}), b = device.empty<float16>({n, k});
  auto result = device.empty<float16>({m, n});
  driver.parameters({4, 8, 8, 8, 8, 4, 4, 8, 8, 8, 8});
  const std::string expected = library([&] { matmul(a, b, result); });
  const std::string found = exported([&] {
    return c.launch(std::int32_t{m}, std::int64_t{k}, std::int64_t{k}, std::int64_t{n / 8}, std::int64_t{1}, 1.0F, 0.0F,
                    address(a), address(b), address(result), address(result));
  });
  const auto parameters = [](const std::string& text) { return text.substr(text.find("parameters")); };
  EXPECT_EQ(parameters(found), parameters(expected));
  if (last_matmul_report().config == reports[0].buckets.at(0).config) {
    EXPECT_EQ(found, expected);
  }
  // The header says what the strides are.
  EXPECT_THAT(text_of(fs::path(reports[0].directory) / "matmul.h"),
              HasSubstr("n_size = 4096, k_size = 512: a_pitch = 512, b_pitch = 512, c_rows = 512, c_columns = 1"));
}

TEST_F(ExportMatmul, EachScriptHasAnExport) {
  MatmulExport what;
  what.in = DType::bf16;
  what.out = DType::f32;
  what.activation = Activation::relu;
  what.sizes = {{16, 512, 16384}, {4096, 4096, 512}, {300, 100, 77}};
  const std::vector<ExportReport> reports = export_matmul(what, options("mm"));
  std::vector<std::string> names;
  for (const ExportReport& report : reports) names.push_back(report.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("mm_persistent", "mm_pitch", "mm_split"));
  for (const ExportReport& report : reports) {
    Exported c(report);
    EXPECT_EQ(c.load(), 0);
    EXPECT_EQ(c.unload(), 0);
  }
}

// Where a matrix has one column, rows and columns are the same to the library, but not to an exported launch.
TEST_F(ExportMatmul, SaysWhatItLeavesOut) {
  MatmulExport what;
  what.sizes = {{16, 1, 16384}};
  const std::vector<ExportReport> reports = export_matmul(what, options("mm"));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_THAT(reports[0].buckets.at(0).steps, ::testing::IsEmpty());
  EXPECT_THAT(reports[0].text(),
              ::testing::ContainsRegex("16 x 1 x 16384: SplitMatmul, [0-9]+ splits is expected to take [0-9.]+ us "
                                       "instead of [0-9.]+, but several kernels are not exported"));
}

TEST_F(ExportMatmul, RefusesSizesWithoutAProduct) {
  MatmulExport what;
  what.sizes = {{16, 0, 64}};
  const Error error = error_of([&] { export_matmul(what, options("mm")); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("the size 16 x 0 x 64"));
}

}  // namespace
}  // namespace tessera::test
