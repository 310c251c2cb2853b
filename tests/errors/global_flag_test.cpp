// Mistakes with flags in global memory, and what correct programs record.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

struct Flags : Script {
  std::function<void(const GlobalView&, const Int32&)> body;
  explicit Flags(std::function<void(const GlobalView&, const Int32&)> b) : body(std::move(b)) {}
  void operator()(Int32 n, Ptr<std::uint32_t> flags_ptr) {
    attrs.blocks = {n};
    attrs.warps = 4;
    auto flags = global_view(flags_ptr, {n, 4});
    body(flags, n);
  }
};
KernelPtr trace_flags(std::function<void(const GlobalView&, const Int32&)> body) {
  return detail::trace(Flags(std::move(body)), std::vector<std::int64_t>{0, 0});
}
void expect_flag_error(std::function<void(const GlobalView&, const Int32&)> body, const std::string& sentence) {
  expect_error([&] { trace_flags(std::move(body)); }, sentence);
}

TEST(GlobalFlags, WhatIsRecorded) {
  const auto kernel = trace_flags([](const GlobalView& flags, const Int32& n) {
    global_flag.wait(flags, {blockIdx.x, 1}, 1);
    if (auto _ = single_warp(1)) global_flag.wait_at_least(flags, {0, 0}, n);
    sync();
    if (auto _ = single_thread()) {
      global_flag.signal(flags, {blockIdx.x, 2}, 1);
      global_flag.add(flags, {0, 0}, cast<UInt32>(n));
    }
  });
  EXPECT_THAT(ir::tile::to_string(*kernel, false), HasSubstr(R"(global_flag.wait(flags, [blockIdx.x, 1], 1)
threads 32..63 {
  global_flag.wait_at_least(flags, [0, 0], uint32(n))
}
sync()
one thread elected in warp 0 {
  global_flag.signal(flags, [blockIdx.x, 2], 1)
  global_flag.add(flags, [0, 0], uint32(n))
}
)"));
}

TEST(GlobalFlags, OneThreadSignals) {
  expect_flag_error(
      [](const GlobalView& flags, const Int32&) {
        global_flag.signal(flags, {0, 0}, 1);  // <- error
      },
      "global_flag.signal() is executed by threads 0..127");
  expect_flag_error(
      [](const GlobalView& flags, const Int32&) {
        if (auto _ = single_warp(0)) global_flag.add(flags, {0, 0}, 1);  // <- error
      },
      "global_flag.add() is executed by threads 0..31");
}

TEST(GlobalFlags, TheyAreUnsignedIntegers) {
  expect_mistake(
      [](Program& k) {
        auto c = global_view(*k.c, {*k.n});
        global_flag.wait(c, {0}, 1);  // <- error
      },
      "global_flag.wait() on 'c', which holds float32");
}

TEST(GlobalFlags, OneOffsetADimension) {
  expect_flag_error([](const GlobalView& flags, const Int32&) { global_flag.wait(flags, {0}, 1); },  // <- error
                    "global_flag.wait() has 1 offsets for 'flags', which has 2 dimensions");
}

TEST(GlobalFlags, ValuesFit) {
  expect_flag_error(
      [](const GlobalView& flags, const Int32&) {
        global_flag.wait(flags, {0, 0}, -1);  // <- error
      },
      "global_flag.wait() with the value -1");
  expect_flag_error(
      [](const GlobalView& flags, const Int32&) {
        global_flag.wait_at_least(flags, {0, 0}, std::int64_t{1} << 32);  // <- error
      },
      "global_flag.wait_at_least() with the value 4294967296");
}

}  // namespace
}  // namespace tessera::test
