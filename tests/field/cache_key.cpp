// The key of an entry: each thing that the binary depends on makes another one, and nothing else does. Kernels of the
// language, lowered and printed by the real passes; compiled by NVRTC where it is available, else by a function.
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "cache_fixture.hpp"
#include "jit/build_id.hpp"
#include "runtime/hash.hpp"
#include "runtime/variant.hpp"
#include "tessera/tessera.hpp"

namespace tessera::test {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

struct Variation {
  int block = 128, warps = 2, factor = 3;
  std::array<int, 3> cluster = {1, 1, 1};
};

namespace one {
struct Scale : Script {
  Variation v;
  explicit Scale(Variation variation) : v(variation) {}
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, v.block)};
    attrs.warps = v.warps;
    attrs.cluster = {v.cluster[0], v.cluster[1], v.cluster[2]};
    auto gx = global_view(x_ptr, {n});
    auto gy = global_view(y_ptr, {n});
    Int32 offset = blockIdx.x * v.block;
    auto x = load_global(gx, {offset}, {v.block});
    store_global(gy, x * static_cast<float>(v.factor), {offset});
  }
};
}  // namespace one

// The same program on other lines, with other names for everything but the script.
namespace two {
struct Scale : Script {
  Variation how;

  explicit Scale(Variation variation) : how(variation) {}

  // How much it moves does not matter.

  void operator()(Int32 length, Ptr<float> source, Ptr<float> destination) {
    attrs.warps = how.warps;
    attrs.cluster = {how.cluster[0], how.cluster[1], how.cluster[2]};
    attrs.blocks = {cdiv(length, how.block)};
    auto from = global_view(source, {length});
    auto to = global_view(destination, {length});
    Int32 begin = blockIdx.x * how.block;

    auto values = load_global(from, {begin}, {how.block});
    store_global(to, values * static_cast<float>(how.factor), {begin});
  }
};
}  // namespace two

// The same text under another name, and other texts under the same one.
struct Scaled : Script {
  Variation v;
  explicit Scaled(Variation variation) : v(variation) {}
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, v.block)};
    attrs.warps = v.warps;
    auto gx = global_view(x_ptr, {n});
    auto gy = global_view(y_ptr, {n});
    Int32 offset = blockIdx.x * v.block;
    auto x = load_global(gx, {offset}, {v.block});
    store_global(gy, x * static_cast<float>(v.factor), {offset});
  }
};
namespace in_place {
struct Scale : Script {
  Variation v;
  explicit Scale(Variation variation) : v(variation) {}
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float>) {
    attrs.blocks = {cdiv(n, v.block)};
    attrs.warps = v.warps;
    auto gx = global_view(x_ptr, {n});
    Int32 offset = blockIdx.x * v.block;
    auto x = load_global(gx, {offset}, {v.block});
    store_global(gx, x * static_cast<float>(v.factor), {offset});
  }
};
}  // namespace in_place
namespace narrow {
struct Scale : Script {
  Variation v;
  explicit Scale(Variation variation) : v(variation) {}
  void operator()(Int32 n, Ptr<bfloat16> x_ptr, Ptr<bfloat16> y_ptr) {
    attrs.blocks = {cdiv(n, v.block)};
    attrs.warps = v.warps;
    auto gx = global_view(x_ptr, {n});
    auto gy = global_view(y_ptr, {n});
    Int32 offset = blockIdx.x * v.block;
    store_global(gy, load_global(gx, {offset}, {v.block}), {offset});
  }
};
}  // namespace narrow
namespace wide {
struct Scale : Script {
  Variation v;
  explicit Scale(Variation variation) : v(variation) {}
  void operator()(Int64 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, v.block)};
    attrs.warps = v.warps;
    auto gx = global_view(x_ptr, {n});
    auto gy = global_view(y_ptr, {n});
    Int64 offset = blockIdx.x * v.block;
    auto x = load_global(gx, {offset}, {v.block});
    store_global(gy, x * static_cast<float>(v.factor), {offset});
  }
};
}  // namespace wide

struct Fixed : Script {
  Variation v;
  explicit Fixed(Variation variation) : v(variation) {}
  void operator()(Int32 blocks, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {blocks};
    attrs.warps = 1;
    auto gx = global_view(x_ptr, {16, 128});
    auto gy = global_view(y_ptr, {16, 128});
    store_global(gy, load_global(gx, {0, 0}, {16, 128}), {0, 0});
  }
};

struct KeyTest : CacheFieldTest {
  void SetUp() override {
    CacheFieldTest::SetUp();
    toolchain = *runtime::real_toolchain();
    if (!jit::available()) {
      toolchain.compile = [](const std::string& source, const std::string&) {
        jit::Compiled compiled;
        compiled.cubin.assign(source.begin(), source.end());
        return compiled;
      };
    }
    base = [&] { return built(one::Scale({})); };
    first = base();
    EXPECT_TRUE(first.compiled);
  }

  struct Built {
    fs::path directory;
    bool compiled = false;
  };
  template <class S>
  runtime::Variant variant(const S& script, std::uint64_t alignment = 3) const {
    const detail::Candidate candidate{"", [&](std::span<const std::int64_t> constants) {
                                        return detail::trace<S>(script, constants, SourceLoc::here());
                                      }};
    auto lowered = std::make_shared<runtime::LoweredVariant>();
    const std::array<std::int64_t, 3> constants{};
    const auto kernel = runtime::trace_candidate(candidate, constants, alignment, lowered.get());
    if (kernel) runtime::lower_candidate(*kernel, toolchain, lowered.get());
    if (lowered->error) throw Error(*lowered->error);
    runtime::Variant result;
    result.lowered = lowered;
    return result;
  }
  Built built(runtime::Variant variant) const {
    runtime::BuildCounters counters;
    runtime::build(&variant, "Scale", toolchain, runtime::Cache(root_), *device, &counters);
    return {variant.directory, counters.compiled == 1};
  }
  template <class S>
  Built built(const S& script, std::uint64_t alignment = 3) const {
    return built(variant(script, alignment));
  }
  void expect_miss(const char* what, const Built& other) const {
    EXPECT_TRUE(other.compiled || !device->needs_cubin()) << what;
    EXPECT_NE(other.directory.filename(), first.directory.filename()) << what;
  }
  void expect_hit(const char* what, const Built& other) const {
    EXPECT_FALSE(other.compiled) << what;
    EXPECT_EQ(other.directory.filename(), first.directory.filename()) << what;
  }

  runtime::Toolchain toolchain;
  std::shared_ptr<detail::DeviceState> device = std::make_shared<FakeDevice>(std::make_shared<FakeWorld>());
  std::function<Built()> base;
  Built first;
};

TEST_F(KeyTest, WhatTheProgramSaysIsInTheKey) {
  expect_miss("a constant of the text", built(one::Scale({.factor = 4})));
  expect_miss("a tile's size", built(one::Scale({.block = 64})));
  expect_miss("threads", built(one::Scale({.warps = 4})));
  expect_miss("a cluster", built(one::Scale({.cluster = {2, 1, 1}})));
  expect_miss("another cluster", built(one::Scale({.cluster = {4, 1, 1}})));
  expect_miss("what is written", built(in_place::Scale({})));
  expect_miss("the elements' type", built(narrow::Scale({})));
  expect_miss("the type of a run-time integer", built(wide::Scale({})));
  expect_miss("the kernel's name, which is the function's in the binary", built(Scaled({})));
  EXPECT_EQ(keys().size(), 10U);
  EXPECT_EQ(messages_, "");
}

// Where the code depends on it, and only there: with rows of a length known at compile time a thread moves sixteen
// bytes at once.
TEST_F(KeyTest, TheAlignmentOfEachPointerIsInTheKey) {
  std::set<fs::path> directories;
  std::set<std::string> texts;
  for (const std::uint64_t alignment : {0, 1, 2, 3}) {
    const runtime::Variant one = variant(Fixed({}), alignment);
    const bool fresh = texts.insert(one.lowered->canonical).second;
    runtime::Variant copy;
    copy.lowered = one.lowered;
    const Built entry = built(std::move(copy));
    EXPECT_EQ(entry.compiled, fresh) << alignment;
    directories.insert(entry.directory);
  }
  EXPECT_EQ(directories.size(), texts.size());
  EXPECT_GE(texts.size(), 3U) << "both unaligned, one, both";
}

TEST_F(KeyTest, RegistersAndTheRestOfTheHeadAreInTheText) {
  const runtime::Variant plain = variant(one::Scale({}));
  ir::thread::Kernel kernel = *plain.lowered->kernel;
  ++kernel.ctas_per_sm;  // what the compiler's share of registers follows from
  EXPECT_NE(toolchain.print_cuda(kernel, false), plain.lowered->canonical);
  // The bytes of shared memory are the launch's alone: the binary does not know them.
  kernel = *plain.lowered->kernel;
  kernel.shared_bytes += 1024;
  EXPECT_EQ(toolchain.print_cuda(kernel, false), plain.lowered->canonical);
}

TEST_F(KeyTest, TheCompilerIsInTheKey) {
  const std::string compiler = toolchain.compiler();
  const auto with = [&](const char* what, const std::string& text) {
    ASSERT_NE(text, compiler) << what;
    toolchain.compiler = [text] { return text; };
    expect_miss(what, base());
    toolchain.compiler = [compiler] { return compiler; };
  };
  with("another version", "NVRTC 99.9" + compiler.substr(compiler.find(' ')));
  for (std::string::size_type at = compiler.find(" --"); at != std::string::npos; at = compiler.find(" --", at + 1)) {
    std::string without = compiler;
    const std::string::size_type end = compiler.find(' ', at + 1);
    without.erase(at, end == std::string::npos ? end : end - at);
    with(("without" + compiler.substr(at, 20)).c_str(), without);
  }
  expect_hit("the compiler as it was", base());
}

TEST_F(KeyTest, TheTargetIsInTheKey) {
  const runtime::Variant plain = variant(one::Scale({}));
  const std::string target = runtime::target_text(toolchain, *device);
  EXPECT_THAT(target, HasSubstr("sm_90a"));
  EXPECT_THAT(target, HasSubstr("Tessera 0."));
  const std::string key = runtime::entry_key(*plain.lowered, target);
  EXPECT_EQ(key, first.directory.filename());
  for (const char* part : {"sm_90a", "Tessera 0."}) {
    std::string other = target;
    other.replace(other.find(part), std::strlen(part), "another");
    EXPECT_NE(runtime::entry_key(*plain.lowered, other), key) << part;
  }
  device = detail::make_sim_device({});
  expect_miss("a device without binaries", base());
}

TEST_F(KeyTest, WhatTheBinaryDoesNotDependOnIsNot) {
  expect_hit("the same again", base());
  expect_hit("another place, other names of variables and parameters", built(two::Scale({})));
  device = std::make_shared<FakeDevice>(std::make_shared<FakeWorld>(), "another GPU");
  expect_hit("another device of the architecture", base());
  for (const char* name : {"FOO", "TESSERA_QUIET", "LANG", "PWD", "TESSERA_CACHE_SIZE"}) ::setenv(name, "1G", 1);
  expect_hit("the environment", base());
  for (const char* name : {"FOO", "TESSERA_QUIET", "TESSERA_CACHE_SIZE"}) ::unsetenv(name);
  const fs::path before = fs::current_path();
  fs::current_path("/");
  expect_hit("the folder of the process", base());
  fs::current_path(before);
  const fs::path old_root = root_;
  root_ = old_root.string() + "-moved";
  fs::rename(old_root, root_);
  expect_hit("the place of the cache", base());
  EXPECT_EQ(messages_, "");
}

TEST_F(KeyTest, TheOrderOfFirstUseIsNot) {
  fs::remove_all(root_ / "kernels");
  built(narrow::Scale({}));
  built(two::Scale({.factor = 9}));
  const Built later = built(two::Scale({}));
  EXPECT_EQ(later.directory.filename(), first.directory.filename());
  EXPECT_TRUE(later.compiled) << "the entries were removed";
}

std::string compiler_in_another_process(const std::string& environment) {
  std::FILE* pipe = ::popen((environment + " '" + TESSERA_COMPILER_TEXT + "'").c_str(), "r");
  std::string text;
  std::array<char, 512> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  ::pclose(pipe);
  return text;
}

// NVIDIA ships several builds under one version, and a toolkit is patched in place.
TEST_F(KeyTest, AnotherBuildOfTheSameCompilerIsAnotherCompiler) {
  if (!jit::available()) GTEST_SKIP() << "no NVRTC available";
  const std::string usual = compiler_in_another_process("");
  EXPECT_EQ(usual, toolchain.compiler() + "\n");
  const std::string begin = "(build ";
  ASSERT_THAT(usual, HasSubstr(begin));
  const std::string id = usual.substr(usual.find(begin) + begin.size(), 40);
  for (const char* variable : {"NV_NVVM_VERSION", "NVRTC_APPEND_FLAGS", "NVRTC_PREPEND_FLAGS"}) {
    EXPECT_NE(compiler_in_another_process(std::string(variable) + "=x"), usual) << variable;
  }
  EXPECT_EQ(compiler_in_another_process("FOO=x LANG=C"), usual);
  // The same library with one bit of its build id changed, beside a copy of its companion.
  const fs::path library = jit::compiler_library();
  fs::create_directories(root_ / "toolkit");
  const fs::path copy = root_ / "toolkit" / library.filename();
  std::string bytes = runtime::read_file(library).value_or("");
  std::string raw;
  for (std::size_t i = 0; i < id.size(); i += 2) raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  const std::size_t at = bytes.find(raw);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  overwrite(copy, bytes);
  for (const auto& entry : fs::directory_iterator(library.parent_path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libnvrtc-builtins.so")) fs::copy_file(entry.path(), root_ / "toolkit" / name);
  }
  const std::string other = compiler_in_another_process("TESSERA_NVRTC='" + copy.string() + "'");
  EXPECT_THAT(other, HasSubstr("NVRTC "));
  EXPECT_THAT(other, Not(HasSubstr(id)));
  for (const auto& entry : fs::directory_iterator(root_ / "toolkit")) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so.")) {
      std::string builtins = runtime::read_file(entry.path()).value_or("");
      const std::string builtins_id = jit::build_id(entry.path());
      ASSERT_GE(builtins_id.size(), 16U);
      overwrite(entry.path(), builtins + "x");
      overwrite(entry.path(), builtins.replace(0, 4, "none"));  // no ELF file: known by its content
      EXPECT_NE(jit::build_id(entry.path()), builtins_id);
    }
  }
  EXPECT_NE(compiler_in_another_process("TESSERA_NVRTC='" + copy.string() + "'"), other);
}

TEST_F(KeyTest, BuildIds) {
  const std::string own = jit::build_id("/proc/self/exe");
  EXPECT_GE(own.size(), 16U);
  EXPECT_EQ(jit::build_id("/proc/self/exe"), own);
  EXPECT_EQ(jit::build_id((root_ / "nothing").string()), "");
  overwrite(root_ / "a", std::string(5'000'000, 'a'));
  const std::string id = jit::build_id((root_ / "a").string());
  EXPECT_THAT(id, HasSubstr("5000000-"));
  overwrite(root_ / "a", std::string(5'000'001, 'a'));
  EXPECT_NE(jit::build_id((root_ / "a").string()), id);
  overwrite(root_ / "a", std::string(5'000'000, 'b'));
  EXPECT_NE(jit::build_id((root_ / "a").string()), id);
  overwrite(root_ / "a", "");
  EXPECT_EQ(jit::build_id((root_ / "a").string()).substr(0, 2), "0-");
  overwrite(root_ / "a",
            "\x7f"
            "ELF\x02 and then nothing");
  EXPECT_NE(jit::build_id((root_ / "a").string()), "");
  EXPECT_THAT(jit::file_of(reinterpret_cast<const void*>(&::gnu_get_libc_version)), HasSubstr("libc"));
  EXPECT_EQ(jit::file_of(nullptr), "");
}

}  // namespace
}  // namespace tessera::test
