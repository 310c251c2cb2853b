// Without NVRTC, driver and cuBLAS: what was looked for, where, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jit/compiler.hpp"
#include "jit/cublas.hpp"
#include "jit/driver.hpp"
#include "jit/dynamic_library.hpp"
#include "tessera/core/error.hpp"

namespace tessera::golden {
namespace {

using testing::HasSubstr;

class NoCuda : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TESSERA_NVRTC", "/nowhere/libnvrtc.so", 1);
    setenv("TESSERA_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    setenv("TESSERA_CUBLAS", "/nowhere/libcublas.so", 1);
  }
};

TEST_F(NoCuda, TheCompilerIsMissing) {
  std::string reason;
  EXPECT_FALSE(jit::available(&reason));
  EXPECT_THAT(reason, HasSubstr("/nowhere/libnvrtc.so (from TESSERA_NVRTC)"));
  EXPECT_EQ(jit::compiler_version(), "");
  try {
    static_cast<void>(jit::compile("", "k"));
    FAIL() << "compiled without a compiler";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("looked for /nowhere/libnvrtc.so"));
    EXPECT_THAT(error.what(), HasSubstr("install the CUDA toolkit"));
  }
}

TEST_F(NoCuda, TheDriverIsMissing) {
  std::string reason;
  EXPECT_FALSE(jit::driver_available(&reason));
  EXPECT_THAT(reason, HasSubstr("/nowhere/libcuda.so.1 (from TESSERA_LIBCUDA)"));
  EXPECT_EQ(jit::device_count(), 0);
  for (const auto& call : std::initializer_list<void (*)()>{[] { static_cast<void>(jit::device_info(0)); },
                                                            [] { static_cast<void>(jit::device_alloc(0, 4)); },
                                                            [] { jit::require_hopper(0); }}) {
    try {
      call();
      FAIL() << "worked without a driver";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_THAT(error.what(), HasSubstr("looked for /nowhere/libcuda.so.1"));
      EXPECT_THAT(error.what(), HasSubstr("simulated Hopper"));
    }
  }
}

TEST_F(NoCuda, CublasIsMissing) {
  std::string reason;
  EXPECT_FALSE(jit::cublas_available(&reason));
  EXPECT_THAT(reason, HasSubstr("/nowhere/libcublas.so (from TESSERA_CUBLAS)"));
  EXPECT_THROW(jit::Cublas(0), Error);
}

TEST(DynamicLibrary, ListsWhereItLooked) {
  const jit::DynamicLibrary library({"TESSERA_TEST_NO_SUCH_VARIABLE", {"libno_such.so.2", "libno_such.so"}, true});
  EXPECT_FALSE(library.loaded());
  EXPECT_EQ(library.symbol("f"), nullptr);
  EXPECT_THAT(library.looked_for(), HasSubstr("libno_such.so.2, libno_such.so where the system's loader looks"));
  EXPECT_THAT(library.reason(), HasSubstr("libno_such.so"));
  EXPECT_THAT(library.why_not("it"), HasSubstr("it was not found: looked for libno_such.so.2, libno_such.so where"));
  EXPECT_THAT(library.why_not("it"), HasSubstr("(the loader says: libno_such.so"));
}

TEST(DynamicLibrary, NamesTheFirstEntryPointThatIsMissing) {
  jit::DynamicLibrary library({"TESSERA_TEST_NO_SUCH_VARIABLE", {"libc.so.6"}});
  double (*absent)(double) = [](double x) { return x; };
  int (*present)(int) = nullptr;
  library.bind(present, "abs");
  ASSERT_NE(present, nullptr);
  EXPECT_EQ(present(-3), 3);
  EXPECT_EQ(library.why_not("the C library"), "");
  library.bind(absent, "no_such_function");
  library.bind(absent, "nor_this_one");
  EXPECT_EQ(absent, nullptr);
  EXPECT_EQ(library.missing(), "no_such_function");
  EXPECT_THAT(library.why_not("the C library"),
              HasSubstr("the library found as the C library has no no_such_function: looked for libc.so.6"));
}

TEST(DynamicLibrary, LooksIntoTheToolkitOfCudaHome) {
  const auto root = std::filesystem::path(testing::TempDir()) / "tessera_toolkit";
  std::filesystem::create_directories(root / "lib64");
  std::ofstream(root / "lib64" / "libbroken.so") << "not a library";
  setenv("CUDA_HOME", root.c_str(), 1);
  EXPECT_EQ(jit::cuda_library_folders().front(), (root / "lib64").string());
  const jit::DynamicLibrary library({"TESSERA_TEST_NO_SUCH_VARIABLE", {"libbroken.so"}, true});
  unsetenv("CUDA_HOME");
  std::filesystem::remove_all(root);
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.looked_for(), HasSubstr((root / "lib64").string()));
  EXPECT_THAT(library.reason(), HasSubstr("libbroken.so"));
}

}  // namespace
}  // namespace tessera::golden
