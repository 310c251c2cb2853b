// The shipped matmuls: exported and launched as the library launches them.
#include <random>

#include "export_fixture.hpp"
#include "hopper_matmul/versions.hpp"

namespace tessera::test {
namespace {
using Address = unsigned long long;

class ExportLadder : public ExportTest, public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(ExportLadder, LaunchesAsTheLibraryDoes) {
  const auto& [version, config] = GetParam();
  const auto kernel = hopper_matmul::make_matmul<float16>(version, config);
  const std::vector<std::vector<std::int64_t>> sizes = {{256, 264, 200}, {300, 128, 1000}};
  const ExportReport report = kernel->export_as_c(options("matmul"), sizes);
  Exported c(report);
  ASSERT_EQ(c.load(), 0);
  const Device device = Device::cuda(0);
  std::string manifest = text_of(fs::path(report.directory) / "matmul.json");
  const std::size_t at = manifest.find("\"tensor_maps\": ") + 15;
  std::vector<int> bytes = {4, 8, 8, 8};
  bytes.insert(bytes.end(), static_cast<std::size_t>(manifest[at] - '0'), 128);
  driver.parameters(bytes);
  std::mt19937 random(3);
  int launched = 0;
  for (const auto& size : sizes) {
    const std::int64_t n = size[1], k = size[2];
    const auto b = device.empty<float16>({n, k});
    for (int i = 0; i < 40; ++i) {
      const std::int64_t m = i < 4 ? i : static_cast<std::int64_t>(random() % 3000);
      const auto a = device.empty<float16>({m, k});
      auto result = device.empty<float16>({m, n});
      const std::string expected = library([&] { kernel->launch(nullptr, m, n, k, a, b, result); });
      const auto address = [](const Buffer<float16>& x) {
        return static_cast<Address>(reinterpret_cast<std::uintptr_t>(x.data()));
      };
      const std::string found = exported([&] {
        return c.launch(static_cast<std::int32_t>(m), static_cast<std::int32_t>(n), static_cast<std::int32_t>(k),
                        address(a), address(b), address(result));
      });
      ASSERT_EQ(found, expected) << m << " " << n << " " << k;
      launched += expected.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(launched, 70);
}

INSTANTIATE_TEST_SUITE_P(Versions, ExportLadder,
                         ::testing::Values(std::pair("v0", "block_m=64,block_n=128,block_k=64"),
                                           std::pair("v4", "block_m=256,block_n=128,block_k=64,stages=3,group=4"),
                                           std::pair("v6", "block_m=128,block_n=128,stages=6,cluster=2,group=16"),
                                           std::pair("v7", "block_m=128,block_n=168,stages=5,cluster=2,group=8")),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace tessera::test
