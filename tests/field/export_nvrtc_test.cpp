// Exports with the real compiler: what is embedded is a cubin for sm_90a.
#include <cstring>

#include "export_fixture.hpp"
#include "export_kernels.hpp"
#include "jit/compiler.hpp"

namespace tessera::test {
namespace {

class ExportNvrtc : public RuntimeTest {};

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST_F(ExportNvrtc, EmbedsCodeForHopper) {
  if (!jit::available()) GTEST_SKIP() << "NVRTC is not available";
  Kernel<ManyMaps> kernel(ManyMaps::Config{2});
  ExportOptions options;
  options.name = "maps";
  options.directory = (root_ / "out").string();
  const ExportReport report =
      export_kernel(kernel, options, 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>());
  EXPECT_GT(report.buckets.at(0).registers, 8);
  const std::string cubin = text_of(root_ / "out" / "maps_0.cubin");
  ASSERT_GT(cubin.size(), 64U);
  EXPECT_EQ(cubin.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(at<std::uint16_t>(cubin, 18), 190) << "EM_CUDA";
  const auto flags = at<std::uint32_t>(cubin, 48);
  EXPECT_TRUE((flags & 0xff) == 90 || (flags >> 8 & 0xff) == 90)
      << std::hex << flags;  // as different versions place it
  EXPECT_NE(cubin.find("ManyMaps"), std::string::npos) << "the function's name";
  // The words of the source are these bytes.
  const std::string source = text_of(root_ / "out" / "maps.c");
  char first[40];
  std::snprintf(first, sizeof first, "{\n    %#lxu, %#lxu", static_cast<unsigned long>(at<std::uint64_t>(cubin, 0)),
                static_cast<unsigned long>(at<std::uint64_t>(cubin, 8)));
  EXPECT_NE(source.find(first), std::string::npos) << first;
  std::string output;
  EXPECT_EQ(run_command("cc -std=c99" + std::string(strict) + "-DTESSERA_WITHOUT_CUDA_H -c -o " +
                            (root_ / "maps.o").string() + " " + (root_ / "out" / "maps.c").string(),
                        &output),
            0)
      << output;
  EXPECT_NE(text_of(root_ / "maps.o").find(cubin), std::string::npos) << "the object holds the cubin";
}

}  // namespace
}  // namespace tessera::test
