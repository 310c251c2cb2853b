// What a program and the shared library have to have in common.
#include <cxxabi.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>

#include "tessera/check.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;
using testing::HasSubstr;

struct Doubled : Script {
  void operator()(Int32 n, Ptr<float> from, Ptr<float> to) {
    attrs.blocks = {cdiv(n, 128)};
    attrs.warps = 4;
    Int32 offset = 128 * blockIdx.x;
    auto x = load_global(global_view(from, {n}), {offset}, {128});
    store_global(global_view(to, {n}), x + x, {offset});
  }
};

struct Surprise : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Throws : Script {
  void operator()(Int32 n, Ptr<float>) {
    attrs.blocks = {n};
    attrs.warps = 1;
    throw Surprise("of the program's own");
  }
};

struct WrongWarps : Script {
  void operator()(Int32 n, Ptr<float>) {
    attrs.blocks = {n};
    attrs.warps = 77;
  }
};

int wrong_elements(int n) {
  const Device device = Device::sim();
  const auto from = device.randn<float>({n}, 3);
  auto to = device.empty<float>({n});
  Kernel<Doubled> doubled;
  doubled(n, from, to);
  const auto x = from.to_host(), y = to.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) wrong += y[i] != 2 * x[i] ? 1 : 0;
  return wrong;
}

TEST(Boundary, TheLibraryIsOfTheVersionOfTheHeaders) {
  const std::string headers =
      std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch);
  EXPECT_EQ(version(), headers);
  EXPECT_EQ(version(), TESSERA_TEST_VERSION);
}

TEST(Boundary, TheProgramCatchesWhatTheLibraryThrows) {
  try {
    Schedule::parse("sometimes");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("sometimes"));
  }
}

TEST(Boundary, AnErrorOfTracingNamesTheProgramsOwnLine) {
  const Device device = Device::sim();
  const auto a = device.empty<float>({4});
  Kernel<WrongWarps> kernel;
  EXPECT_THAT([&] { kernel(1, a); }, testing::ThrowsMessage<Error>(HasSubstr("boundary_test.cpp:")));
}

TEST(Boundary, AnExceptionOfAScriptBecomesAnError) {
  const Device device = Device::sim();
  const auto a = device.empty<float>({4});
  Kernel<Throws> kernel;
  EXPECT_THAT([&] { kernel(1, a); }, testing::ThrowsMessage<Error>(HasSubstr("of the program's own")));
  EXPECT_EQ(wrong_elements(1000), 0);  // the trace that it ended is no longer under way
}

TEST(Boundary, TheLibraryCatchesWhatTheProgramThrows) {
  register_check("thrown", [](const CheckOptions&) -> CheckReport {
    throw Error(ErrorKind::user, SourceLoc::here(), "thrown by the program");
  });
  char name[] = "boundary", *argv[] = {name};
  testing::internal::CaptureStderr();
  EXPECT_EQ(check_main(1, argv), 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("thrown by the program"));
}

TEST(Boundary, ThreadsTraceSideBySide) {
  int wrong[4] = {-1, -1, -1, -1};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&wrong, i] { wrong[i] = wrong_elements(500 + i); });
  }
  EXPECT_THAT(wrong, testing::Each(0));
}

// A program that hides its own names gets on with its own copies (the tests above); others share the library's.
TEST(Boundary, TypesAndObjectsAreOne) {
  if (std::string(TESSERA_TEST_VISIBILITY) == "hidden") return;
  try {
    Schedule::parse("never");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(&typeid(error), &typeid(Error));  // from the vtable that the library gave it
    EXPECT_EQ(abi::__cxa_current_exception_type(), &typeid(Error));
  }
  void* library = dlopen(TESSERA_TEST_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "_ZN7tessera8blockIdxE"), static_cast<const void*>(&blockIdx));
  dlclose(library);
}

}  // namespace
