// Which file a library's name stands for, and that NVRTC is not opened before something is to be compiled. The
// independent reference is the loader itself.
#include "jit/library_file.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jit/compiler.hpp"

namespace tessera::golden {
namespace {

namespace fs = std::filesystem;
using testing::ExitedWithCode;
using testing::HasSubstr;

// Of libraries that most systems have and that nothing here is linked with.
const char* const names[] = {"libz.so.1",    "liblzma.so.5",     "libbz2.so.1.0", "libexpat.so.1",  "libffi.so.8",
                             "libgmp.so.10", "libncursesw.so.6", "libtinfo.so.6", "libnvrtc.so.13", "libm.so.6"};

std::string opened_by_loader(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  return map->l_name;
}

std::string maps_of_this_process() {
  std::stringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  return text.str();
}

class LibraryFile : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // fresh processes, which read their environment anew
    const char* of_parent = std::getenv("TESSERA_TEST_FOLDER");
    is_child_ = of_parent != nullptr;
    std::string pattern = is_child_ ? of_parent : (fs::temp_directory_path() / "tessera-library-XXXXXX").string();
    if (!is_child_) {
      ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    }
    folder_ = pattern;
    ::setenv("TESSERA_TEST_FOLDER", folder_.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"TESSERA_TEST_FOLDER", "LD_LIBRARY_PATH", "TESSERA_NVRTC"}) ::unsetenv(name);
    fs::remove_all(folder_);
  }
  // Another file of the name, in a folder of its own.
  fs::path copy_of(const std::string& name) const {
    if (!fs::exists(folder_ / name)) fs::copy_file(jit::library_file(name), folder_ / name);
    return folder_ / name;
  }
  bool is_child_ = false;  // of a test in a process of its own, which begins anew
  fs::path folder_;
};

TEST_F(LibraryFile, IsTheOneThatTheLoaderOpens) {
  int found = 0;
  for (const std::string name : names) {
    const std::string file = jit::library_file(name);  // before the loader has it
    if (opened_by_loader(name).empty()) {
      EXPECT_EQ(file, "") << name;
      continue;
    }
    EXPECT_TRUE(fs::equivalent(file, opened_by_loader(name))) << name << ": " << file;
    ++found;
  }
  EXPECT_GT(found, 3);
}

TEST_F(LibraryFile, IsThatOfThePathOfTheEnvironment) {
  if (jit::library_file("libz.so.1").empty()) GTEST_SKIP() << "libz.so.1 is not available";
  const fs::path copy = copy_of("libz.so.1");
  ::setenv("LD_LIBRARY_PATH", ("/nowhere:" + folder_.string()).c_str(), 1);
  const auto child = [&] {
    const bool same = jit::library_file("libz.so.1") == copy && opened_by_loader("libz.so.1") == copy;
    std::exit(same ? 0 : 1);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "");
}

TEST_F(LibraryFile, IsTheOneThatIsLoadedAlready) {
  if (jit::library_file("libz.so.1").empty()) GTEST_SKIP() << "libz.so.1 is not available";
  const auto child = [&] {
    const fs::path copy = copy_of("libz.so.1");
    if (opened_by_loader(copy) != copy) std::exit(2);
    const bool same = jit::library_file("libz.so.1") == copy && opened_by_loader("libz.so.1") == copy;
    std::exit(same ? 0 : 1);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "");
}

TEST_F(LibraryFile, WhatIsNoLibraryIsNone) {
  std::ofstream(folder_ / "libtext.so.1") << "GROUP ( libtext.so.2 )\n";
  EXPECT_EQ(jit::library_file(folder_ / "libtext.so.1"), "");
  EXPECT_EQ(jit::library_file(folder_ / "libmissing.so.1"), "");
  EXPECT_EQ(jit::library_file("libno_such_library.so.1"), "");
  fs::create_directory(folder_ / "libfolder.so.1");
  EXPECT_EQ(jit::library_file(folder_ / "libfolder.so.1"), "");
  const std::string math = jit::library_file("libm.so.6");
  EXPECT_EQ(jit::library_file(math), math);
}

TEST_F(LibraryFile, IsLookedForAsTheLibraryIs) {
  const std::string math = jit::library_file("libm.so.6");
  const jit::DynamicLibrary::Request request{"TESSERA_TEST_LIBRARY", {"libno_such_library.so.1", "libm.so.6"}, true};
  EXPECT_EQ(jit::find_library(request), math);
  ::setenv("TESSERA_TEST_LIBRARY", "/nowhere/libm.so.6", 1);
  EXPECT_EQ(jit::find_library(request), "") << "the variable decides alone";
  ::unsetenv("TESSERA_TEST_LIBRARY");
  EXPECT_EQ(jit::find_library({"TESSERA_TEST_LIBRARY", {"libno_such_library.so.1"}, true}), "");
}

// A process that finds its kernels in the cache asks for no more than this.
TEST_F(LibraryFile, NvrtcIsOpenedByTheFirstCompilation) {
  if (!jit::available()) GTEST_SKIP() << "no NVRTC available";
  const auto child = [] {
    if (!jit::available() || jit::compiler_version().empty() || jit::compiler_build().empty()) std::exit(2);
    if (maps_of_this_process().find("libnvrtc") != std::string::npos) std::exit(3);
    const std::string version = jit::compiler_version(), library = jit::compiler_library();
    static_cast<void>(jit::compile("extern \"C\" __global__ void k() {}", "k"));
    if (maps_of_this_process().find(fs::canonical(library)) == std::string::npos) std::exit(4);
    // What was said of it is what it says itself.
    int major = 0, minor = 0;
    const auto ask = reinterpret_cast<int (*)(int*, int*)>(
        ::dlsym(::dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY), "nvrtcVersion"));
    const bool same = ask != nullptr && ask(&major, &minor) == 0 &&
                      version == "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
    std::exit(same ? 0 : 5);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "");
}

// Beside two companions the version is not clear, and NVRTC is asked.
TEST_F(LibraryFile, AnUnclearVersionIsAskedFor) {
  if (!is_child_) {
    if (!jit::available()) GTEST_SKIP() << "no NVRTC available";
    fs::create_symlink(fs::canonical(jit::compiler_library()), folder_ / "libnvrtc.so");
    std::ofstream(folder_ / "libnvrtc-builtins.so.1.2") << "";
    std::ofstream(folder_ / "libnvrtc-builtins.so.1.3") << "";
    ::setenv("TESSERA_TEST_VERSION", jit::compiler_version().c_str(), 1);
    ::setenv("TESSERA_NVRTC", (folder_ / "libnvrtc.so").c_str(), 1);
  }
  const auto child = [] {
    const bool same = jit::compiler_version() == std::getenv("TESSERA_TEST_VERSION");
    std::exit(same && maps_of_this_process().find("libnvrtc") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "");
  ::unsetenv("TESSERA_TEST_VERSION");
}

// A file that is there and cannot be opened is named, with the loader's reason.
TEST_F(LibraryFile, ABrokenNvrtcIsNamed) {
  if (!is_child_) {
    const fs::path broken = folder_ / "libnvrtc.so.13";
    std::ifstream whole(jit::library_file("libm.so.6"), std::ios::binary);
    std::string head(4096, '\0');
    whole.read(head.data(), static_cast<std::streamsize>(head.size()));
    ++head.at(
        offsetof(Elf64_Ehdr, e_phentsize));  // what the loader refuses, and nobody who looks at the kind of the file
    std::ofstream(broken, std::ios::binary) << head;
    std::ofstream(folder_ / "libnvrtc-builtins.so.13.0") << "";
    ::setenv("TESSERA_NVRTC", broken.c_str(), 1);
  }
  const auto child = [] {
    try {
      static_cast<void>(jit::compile("", "k"));
    } catch (const std::exception& error) {
      std::fputs(error.what(), stderr);
      std::exit(0);
    }
    std::exit(1);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "cannot be opened: .*libnvrtc.so.13");
}

}  // namespace
}  // namespace tessera::golden
