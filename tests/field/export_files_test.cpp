// The files of an export: C and C++ without a warning, names, comments, the manifest, and what cannot be exported.
#include <nlohmann/json.hpp>

#include "export_fixture.hpp"
#include "export_kernels.hpp"
#include "runtime/hash.hpp"

namespace tessera::test {
namespace {
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ExportFiles : public ExportTest {
 protected:
  // Exports that differ in everything the source can have or lack.
  std::vector<ExportReport> exports() {
    std::vector<ExportReport> all;
    Kernel<VectorAdd> add(VectorAdd::Config{512});
    all.push_back(export_kernel(add, options("vector_add"), 1000, export_memory<float>(), export_memory<float>(),
                                export_memory<float>()));
    Kernel<Mixed> mixed;
    ExportOptions keep = options("mixed");
    keep.keep_constants = true;
    keep.dispatch = ExportOptions::Dispatch::exact;
    all.push_back(export_kernel(mixed, keep, 1, 1000, 1, 2, 3, 4, 5, int{second}, 6, 7, 8, true, 1.0F, float16(1.0F),
                                bfloat16(1.0F), true, export_memory<float>(), export_memory<float>(),
                                export_memory<bfloat16>(), float8_e4m3(1.0F)));
    Kernel<OddIntegers> odd;
    ExportOptions files = options("odd");
    files.embed = false;
    all.push_back(export_kernel(odd, files, 100, 4, 3, 2, 5, 9, export_memory<float>(), export_memory<float>()));
    Kernel<ManyMaps> maps(ManyMaps::Config{4});
    all.push_back(
        export_kernel(maps, options("maps"), 2, 256, 64, 64, 0, export_memory<float16>(), export_memory<float16>()));
    Kernel<Persistent> persistent;
    all.push_back(export_kernel(persistent, options("persistent"), 1000, export_memory<float>()));
    Kernel<Constant> constant;
    all.push_back(export_kernel(constant, options("constant"), 3));
    return all;
  }
};

bool has_command(const std::string& name) {
  std::string output;
  return run_command("command -v " + name, &output) == 0;
}

TEST_F(ExportFiles, CompileWithoutAWarning) {
  const std::string cuda = TESSERA_CUDA_INCLUDE;
  struct Way {
    std::string compiler;
    bool own;  // declarations, rather than the toolkit's
  };
  std::vector<Way> ways = {{"cc -std=c99 -O2 -c", true},
                           {"cc -std=c99 -fsyntax-only", false},
                           {"c++ -x c++ -std=c++11 -fsyntax-only", true},
                           {"c++ -x c++ -std=c++20 -fsyntax-only", false}};
  if (has_command("clang-14")) {
    ways.push_back({"clang-14 -std=c99 -fsyntax-only", false});
    ways.push_back({"clang-14 -x c++ -std=c++17 -fsyntax-only", true});
  }
  std::string sources;
  for (const ExportReport& report : exports()) sources += " " + report.directory + "/" + report.name + ".c";
  for (const Way& way : ways) {
    if (!way.own && cuda.empty()) continue;  // the toolkit's headers are not available
    const std::string flags = way.own ? "-DTESSERA_WITHOUT_CUDA_H" : "-isystem " + cuda;
    const std::string command = way.compiler + strict + "-Wconversion " + flags + sources;
    std::string output;
    EXPECT_EQ(run_command("cd " + root_.string() + " && " + command, &output), 0) << command << "\n" << output;
    EXPECT_EQ(output, "");
  }
}

TEST_F(ExportFiles, HeadersLiveTogether) {
  const std::vector<ExportReport> all = exports();
  std::ofstream main_file(root_ / "main.c");
  std::string includes;
  for (const ExportReport& report : all) {
    main_file << "#include \"" << report.name << ".h\"\n#include \"" << report.name << ".h\"\n";
    includes += " -I " + report.directory;
  }
  main_file << "int main(void) { return VECTOR_ADD_SUCCESS + MAPS_SUCCESS; }\n";
  main_file.close();
  for (const char* compiler : {"cc -std=c99", "c++ -x c++"}) {
    std::string output;
    EXPECT_EQ(run_command(compiler + std::string(strict) + "-DTESSERA_WITHOUT_CUDA_H" + includes + " -c -o /dev/null " +
                              (root_ / "main.c").string(),
                          &output),
              0)
        << output;
  }
}

// The declarations of our own have the sizes and values of the toolkit's.
TEST_F(ExportFiles, DeclarationsAreTheToolkits) {
  const std::string cuda = TESSERA_CUDA_INCLUDE;
  if (cuda.empty()) GTEST_SKIP() << "cuda.h is not available";
  Kernel<Constant> constant;
  const ExportReport report = export_kernel(constant, options("constant"), 3);
  std::ofstream(root_ / "sizes.c") << R"(#include <stddef.h>
#include <stdio.h>
#include "tessera_cuda.h"
#define SHOW(x) printf(#x " %lu\n", (unsigned long)(x))
int main(void) {
  SHOW(sizeof(CUlaunchConfig)); SHOW(sizeof(CUlaunchAttribute)); SHOW(sizeof(CUtensorMap)); SHOW(sizeof(CUdeviceptr));
  SHOW(offsetof(CUlaunchConfig, blockDimX)); SHOW(offsetof(CUlaunchConfig, sharedMemBytes));
  SHOW(offsetof(CUlaunchConfig, hStream)); SHOW(offsetof(CUlaunchConfig, attrs)); SHOW(offsetof(CUlaunchConfig, numAttrs));
  SHOW(offsetof(CUlaunchAttribute, value)); SHOW(offsetof(CUlaunchAttributeValue, clusterDim.z));
  SHOW(CUDA_ERROR_INVALID_CONTEXT); SHOW(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  SHOW(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR); SHOW(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  SHOW(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES); SHOW(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  SHOW(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED); SHOW(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  SHOW(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION); SHOW(CU_TENSOR_MAP_DATA_TYPE_UINT8);
  SHOW(CU_TENSOR_MAP_DATA_TYPE_UINT16); SHOW(CU_TENSOR_MAP_DATA_TYPE_UINT32); SHOW(CU_TENSOR_MAP_DATA_TYPE_INT32);
  SHOW(CU_TENSOR_MAP_DATA_TYPE_UINT64); SHOW(CU_TENSOR_MAP_DATA_TYPE_INT64); SHOW(CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  SHOW(CU_TENSOR_MAP_DATA_TYPE_FLOAT32); SHOW(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16); SHOW(CU_TENSOR_MAP_SWIZZLE_32B);
  SHOW(CU_TENSOR_MAP_SWIZZLE_64B); SHOW(CU_TENSOR_MAP_SWIZZLE_128B); SHOW(CU_TENSOR_MAP_INTERLEAVE_NONE);
  SHOW(CU_TENSOR_MAP_L2_PROMOTION_L2_128B); SHOW(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return 0;
}
)";
  std::string outputs[2];
  for (const bool own : {true, false}) {
    std::string output;
    const std::string program = (root_ / (own ? "own" : "theirs")).string();
    ASSERT_EQ(
        run_command("cc -std=c11 -I " + report.directory + (own ? " -DTESSERA_WITHOUT_CUDA_H" : " -isystem " + cuda) +
                        " -o " + program + " " + (root_ / "sizes.c").string(),
                    &output),
        0)
        << output;
    ASSERT_EQ(run_command(program, &outputs[own ? 0 : 1]), 0);
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_THAT(outputs[0], HasSubstr("sizeof(CUlaunchConfig) 56"));
}

TEST_F(ExportFiles, SignaturesAreTheScripts) {
  const std::vector<ExportReport> all = exports();
  const auto header = [&](std::size_t i) { return text_of(fs::path(all[i].directory) / (all[i].name + ".h")); };
  EXPECT_THAT(header(0), HasSubstr("int vector_add_launch(const vector_add_module* module, int32_t n, CUdeviceptr a, "
                                   "CUdeviceptr b, CUdeviceptr c,"));
  EXPECT_THAT(header(0), HasSubstr("n in (512, 1024]: block=512, the only candidate"));
  std::string mixed = header(1);
  mixed.erase(std::remove(mixed.begin(), mixed.end(), '\n'), mixed.end());
  for (std::size_t at = mixed.find("    "); at != std::string::npos; at = mixed.find("    ")) mixed.replace(at, 4, " ");
  EXPECT_THAT(mixed,
              HasSubstr("int mixed_launch(const mixed_module* module, int32_t int_, int32_t n, int8_t a8, int16_t "
                        "module_, uint8_t t0_, int64_t a64, "
                        "uint8_t u8, int32_t mode, uint16_t u16, uint32_t u32, uint64_t in_, bool flag, float scale, "
                        "uint16_t half, uint16_t add_, bool fixed, "
                        "CUdeviceptr stream_, CUdeviceptr out, CUdeviceptr plan_, uint8_t f8, CUstream stream);"));
  EXPECT_THAT(header(1), HasSubstr("half: the bits of a float16"));
  EXPECT_THAT(header(1), HasSubstr("mode: int32, one of the exported values"));
  EXPECT_THAT(header(1), HasSubstr("Other sizes are refused"));
  EXPECT_THAT(header(5), HasSubstr("Compile-time constants, the same for all: blocks = 3."));
  EXPECT_THAT(header(5), HasSubstr("int constant_launch(const constant_module* module, CUstream stream);"));
}

TEST_F(ExportFiles, TheManifestDescribesThem) {
  for (const ExportReport& report : exports()) {
    const fs::path folder = report.directory;
    const json manifest = json::parse(text_of(folder / (report.name + ".json")));
    EXPECT_EQ(manifest.at("name"), report.name);
    EXPECT_EQ(manifest.at("target"), "sm_90a");
    EXPECT_THAT(manifest.at("compiler").get<std::string>(), HasSubstr("NVRTC 0.1"));
    EXPECT_EQ(manifest.at("buckets").size(), report.buckets.size());
    std::vector<std::string> names;
    for (const auto& [name, file] : manifest.at("files").items()) {
      const std::string content = text_of(folder / name);
      EXPECT_EQ(file.at("bytes"), content.size()) << name;
      EXPECT_EQ(file.at("xxh3"), runtime::hash_hex(content)) << name;
      names.push_back(name);
    }
    names.push_back(report.name + ".json");
    EXPECT_THAT(report.files, ::testing::UnorderedElementsAreArray(names));
    std::size_t written = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++written;
    EXPECT_EQ(written, names.size());
  }
  const json maps = json::parse(text_of(root_ / "maps" / "maps.json"));
  const json& bucket = maps.at("buckets").at(0);
  EXPECT_EQ(bucket.at("cluster"), json({4, 1, 1}));
  EXPECT_EQ(bucket.at("dependent_launch"), true);
  EXPECT_EQ(bucket.at("tensor_maps"), 3);
  EXPECT_EQ(bucket.at("pointer_alignment").at("x"), 16);
  EXPECT_EQ(maps.at("parameters").size(), 7U);
}

TEST_F(ExportFiles, AreTheSameAgain) {
  std::map<std::string, std::string> before;
  for (const ExportReport& report : exports()) {
    for (const std::string& file : report.files)
      before[report.name + file] = text_of(fs::path(report.directory) / file);
  }
  for (const ExportReport& report : exports()) {
    for (const std::string& file : report.files)
      EXPECT_EQ(before[report.name + file], text_of(fs::path(report.directory) / file)) << file;
  }
}

TEST_F(ExportFiles, ChoosesByEstimateAndSaysSo) {
  Kernel<VectorAdd> kernel;
  KernelExport out(kernel, options(""));
  out.call(1000, export_memory<float>(), export_memory<float>(), export_memory<float>());
  out.call(1000000, export_memory<float>(), export_memory<float>(), export_memory<float>());
  out.call(1001, export_memory<float>(), export_memory<float>(), export_memory<float>());  // the first bucket again
  const ExportReport report = out.write();
  EXPECT_EQ(report.name, "vector_add");
  ASSERT_EQ(report.buckets.size(), 2U);
  EXPECT_EQ(report.buckets[0].chosen, "by a static estimate among 3");
  EXPECT_EQ(report.buckets[0].registers, 40);
  EXPECT_THAT(report.text(), HasSubstr("static estimate, since nothing was measured"));
  EXPECT_THAT(report.text(), HasSubstr("n in (524288, 1048576]"));
}

// With a GPU (here: the stand-in, whose clock always says the same) the choice is measured, and its record chooses
// where there is none.
TEST_F(ExportFiles, TakesWhatWasMeasured) {
  Kernel<VectorAdd> kernel;
  const Device device = Device::cuda(0);
  const auto a = device.full<float>({1000}, 1.0F), b = device.full<float>({1000}, 2.0F);
  auto c = device.empty<float>({1000});
  const ExportReport measured = export_kernel(kernel, options("measured"), 1000, a, b, c);
  EXPECT_THAT(measured.buckets.at(0).chosen, HasSubstr("measured among 3 on Fake H200"));
  EXPECT_THAT(measured.remarks, ::testing::IsEmpty());

  // Another machine, with the records only.
  const fs::path records = root_ / "records";
  fs::copy(root_ / "tuning", records);
  const fs::path record = fs::directory_iterator(records)->path();
  const json text = json::parse(text_of(record));
  EXPECT_EQ(text.at("winner"), measured.buckets.at(0).config);
  for (const fs::path& path : {records, record}) {
    ExportOptions tuned = options("tuned");
    tuned.tuning = path.string();
    Kernel<VectorAdd> other;
    const ExportReport recorded =
        export_kernel(other, tuned, 1000, export_memory<float>(), export_memory<float>(), export_memory<float>());
    EXPECT_EQ(recorded.buckets.at(0).chosen, "by the tuning record of Fake H200, CUDA 13.0");
    EXPECT_EQ(recorded.buckets.at(0).config, measured.buckets.at(0).config);
    const ExportReport estimated =
        export_kernel(other, tuned, 100000, export_memory<float>(), export_memory<float>(), export_memory<float>());
    EXPECT_EQ(estimated.buckets.at(0).chosen, "by a static estimate among 3") << "a record of another bucket";
  }
  ExportOptions nothing = options("tuned");
  nothing.tuning = (root_ / "kernels").string();
  Kernel<VectorAdd> other;
  EXPECT_THAT(error_of([&] { export_kernel(other, nothing, 1000, a.data(), b.data(), c.data()); }).what(),
              HasSubstr("holds no tuning record"));
}

// Memory of the simulated Hopper says which alignments are meant, no more.
TEST_F(ExportFiles, TakesBuffersOfTheSimulatedDevice) {
  Kernel<VectorAdd> kernel(VectorAdd::Config{256});
  const Device device = Device::sim();
  const auto a = device.full<float>({1000}, 1.0F), b = device.full<float>({1000}, 2.0F);
  std::vector<float> c(1000);
  const ExportReport report = export_kernel(kernel, options("sim"), 990, a.from(1), b, c);
  const json manifest = json::parse(text_of(root_ / "sim" / "sim.json"));
  EXPECT_EQ(manifest.at("buckets").at(0).at("pointer_alignment").at("a"), 4);
  EXPECT_EQ(manifest.at("buckets").at(0).at("pointer_alignment").at("b"), 16);
}

TEST_F(ExportFiles, RefusesWhatCannotBe) {
  Kernel<VectorAdd> kernel(VectorAdd::Config{256});
  const auto message = [&](const ExportOptions& options, int n) {
    const Error error = error_of([&] {
      export_kernel(kernel, options, n, export_memory<float>(), export_memory<float>(), export_memory<float>());
    });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    return std::string(error.what());
  };
  EXPECT_THAT(message(options("a-b"), 10), HasSubstr("'a-b' cannot be the prefix of C names"));
  EXPECT_THAT(message(options("1st"), 10), HasSubstr("begins with a letter"));
  EXPECT_THAT(message(options("none"), 0), HasSubstr("a call that is exported has no blocks"));
  EXPECT_THAT(message(options("none"), -5), HasSubstr("negative extent"));
  ExportOptions nowhere = options("nowhere");
  nowhere.directory = "/proc/nowhere";
  EXPECT_THAT(message(nowhere, 10), HasSubstr("cannot be written to /proc/nowhere"));
  KernelExport empty(kernel, options("empty"));
  EXPECT_THAT(error_of([&] { empty.write(); }).what(), HasSubstr("an export without a call"));
}

}  // namespace
}  // namespace tessera::test
