// Twins written in the language.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "passes/pipeline.hpp"
#include "passes/static_check.hpp"
#include "tessera/lang/lang.hpp"
#include "tessera/lang/params.hpp"
#include "twin.hpp"

namespace tessera::twins {

// A script of the suite reads x and writes y; `broken` is its mistake.
struct TwinScript : Script {
  static constexpr auto params = names("x", "y");
  bool broken = false;
  bool own_fences = false;  // the compiler inserts none

 protected:
  // The calling thread announces the tile and copies it from `row` of the view on.
  static void fetch(const SharedTensor& tile, const GlobalView& view, const detail::IndexArg& row, const Barrier& full,
                    SourceLoc loc = SourceLoc::here()) {
    mbarrier.arrive_and_expect_tx(full, {tile.nbytes(), loc}, loc);
    copy(tile, view, row, full, loc);
  }
  static void copy(const SharedTensor& tile, const GlobalView& view, const detail::IndexArg& row, const Barrier& full,
                   SourceLoc loc = SourceLoc::here()) {
    tma.global_to_shared({.src = view, .dst = tile, .offsets = {row, {0, loc}}, .mbarrier = full}, loc);
  }
  // One named thread of the group stores the tile and commits the store.
  static void send(const SharedTensor& tile, const GlobalView& view, const detail::IndexArg& row,
                   SourceLoc loc = SourceLoc::here()) {
    tma.shared_to_global({.src = tile, .dst = view, .offsets = {row, {0, loc}}}, loc);
    tma.commit_group(loc);
  }
  // One arrival of each warp of the group.
  static void signal(const Barrier& barrier, SourceLoc loc = SourceLoc::here()) {
    if (auto _ = single_thread_of_each_warp(loc)) mbarrier.arrive(barrier, {1, loc}, loc);
  }
  // A group of one product.
  static void multiply(const SharedTensor& a, const SharedTensor& b, const RegisterTensor& acc,
                       SourceLoc loc = SourceLoc::here()) {
    wgmma.fence(loc);
    wgmma.mma(a, b.transpose(loc), acc, {}, loc);
    wgmma.commit_group(loc);
  }
};

template <class T>
sim::Argument argument(std::vector<T>& data) {
  sim::Argument a;
  a.data = reinterpret_cast<std::byte*>(data.data());
  a.bytes = data.size() * sizeof(T);
  return a;
}

// Lowers the script; a run copies `in` to the memory behind x, and is right if y is `want` afterwards.
template <class S, class In, class Out>
Prepared launch(const S& script, const std::vector<In>& in, const std::vector<Out>& want) {
  const std::vector<std::int64_t> constants{0, 0};
  passes::Options options;
  options.insert_proxy_fences = !script.own_fences;
  const auto kernel = detail::trace(script, constants);
  auto by_text = passes::static_findings(*kernel, {.fences_inserted = !script.own_fences});
  const auto lowered = std::make_shared<passes::Lowered>(passes::lower(*kernel, options));
  const auto once = [=](const Launcher& on_machine) {
    auto x = in;
    std::vector<Out> y(want.size(), Out(std::numeric_limits<float>::quiet_NaN()));
    on_machine(lowered->kernel, std::vector<sim::Argument>{argument(x), argument(y)});
    return y == want;
  };
  return {once, std::move(by_text)};
}

// A twin whose script is `configure`d further: configure(script).
template <class S, class In, class Out, class F>
void add(const Family& family, const About& about, std::vector<In> in, std::vector<Out> want, F configure) {
  family.add(about, [=](bool broken) {
    S script;
    script.broken = broken;
    configure(script);
    return launch(script, in, want);
  });
}
template <class S, class In, class Out>
void add(const Family& family, const About& about, std::vector<In> in, std::vector<Out> want) {
  add<S>(family, about, std::move(in), std::move(want), [](S&) {});
}

inline std::size_t count(int n) { return static_cast<std::size_t>(n); }

// 0, 1, 2, ...
inline std::vector<float> counted(int n) {
  std::vector<float> values(count(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

// Operands of small integers: `blocks` times 64 rows of 16 for a, then 8 rows for b, all in one matrix.
inline std::vector<float16> operands(int blocks) {
  std::vector<float16> values(count((64 * blocks + 8) * 16));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float16(static_cast<float>(i * 7 % 5) - 2.0F);
  return values;
}
// The sum over the blocks of a of a times b transposed: 64 x 8.
inline std::vector<float> product(const std::vector<float16>& x, int blocks) {
  std::vector<float> sums(64 * 8);
  for (int i = 0; i < 64 * blocks; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 16; ++k) {
        sums[count(i % 64 * 8 + j)] +=
            static_cast<float>(x[count(i * 16 + k)]) * static_cast<float>(x[count((64 * blocks + j) * 16 + k)]);
      }
    }
  }
  return sums;
}

}  // namespace tessera::twins
