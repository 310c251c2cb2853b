// Kernels whose launches have something unusual about them.
#pragma once

#include "tessera/tessera.hpp"

namespace tessera::test {

struct VectorAdd : Script {
  struct Config {
    int block = 256;
  };
  static Space<Config> space() { return Space<Config>{}.choices<&Config::block>({256, 512, 1024}); }
  static constexpr auto params = names("n", "a", "b", "c");
  Config config;
  explicit VectorAdd(Config c) : config(c) {}

  void operator()(Int32 n, Ptr<float> a, Ptr<float> b, Ptr<float> c) {
    attrs.blocks = {cdiv(n, config.block)};
    attrs.warps = 4;
    Int32 offset = config.block * blockIdx.x;
    auto x = load_global(global_view(a, {n}), {offset}, {config.block});
    auto y = load_global(global_view(b, {n}), {offset}, {config.block});
    store_global(global_view(c, {n}), x + y, {offset});
  }
};

enum Mode : int { first, second };

// Every kind of parameter, with names that C does not have or that the source uses itself.
struct Mixed : Script {
  static constexpr auto params = names("int", "n", "a8", "module", "t0", "a64", "u8", "mode", "u16", "u32", "in",
                                       "flag", "scale", "half", "add", "fixed", "stream", "out", "plan", "f8");
  void operator()(Int32 rows, Int32 n, Int8 a8, Int16 a16, UInt8 t0, Int64 a64, UInt8 u8, int mode, UInt16 u16,
                  UInt32 u32, UInt64 u64, Bool flag, Float32 scale, Float16 half, BFloat16 brain, bool fixed,
                  Ptr<float> x, Ptr<float> out, Ptr<bfloat16> y, Float8E4M3 f8) {
    attrs.blocks = {cdiv(n, 128), min(cast<Int32>(u8), 7) + 1, select(flag, 2, 1)};
    attrs.warps = mode == first ? 2 : 4;
    Int32 offset = 128 * blockIdx.x;
    auto tile = load_global(global_view(x, {n}), {offset}, {128}) * scale + cast<Float32>(half) + cast<Float32>(brain) +
                cast<Float32>(f8);
    auto sum = cast<Float32>(rows + cast<Int32>(a8) + cast<Int32>(a16) + cast<Int32>(t0) + cast<Int32>(u16)) +
               cast<Float32>(cast<Int32>(a64)) + cast<Float32>(u32) + cast<Float32>(cast<UInt32>(u64));
    auto more = fixed ? cast<float>(load_global(global_view(y, {n}), {offset}, {128})) : tile;
    store_global(global_view(out, {n}), tile + more + sum, {offset});
  }
};

// Grids, extents and strides that wrap around, divide by parameters and shift by them.
struct OddIntegers : Script {
  static constexpr auto params = names("m", "n", "by", "shift", "wide", "bits", "x", "y");
  void operator()(Int32 m, Int32 n, Int32 by, Int32 shift, Int64 wide, UInt32 bits, Ptr<float> x, Ptr<float> y) {
    attrs.blocks = {max(m / by, 0 - n % by), select(bits > 7u, cast<Int32>(bits >> 3u) % 5 + 1, 3 << shift),
                    cast<Int32>(wide * 3 / 7 % 4) + 1};
    attrs.warps = 1;
    auto gx = global_view(x, {m * n, 4}, {4, 1});
    auto gy = global_view(y + cast<Int64>(min(m, 3)), {min(n, m - by), 4}, {4, 1});
    store_global(gy, load_global(gx, {blockIdx.x, 0}, {1, 4}), {blockIdx.x, 0});
  }
};

// Tensor maps of three dimensions, of a part of the memory, with strides of run time, in clusters and before the end of
// the kernel in front.
struct ManyMaps : Script {
  struct Config {
    int cluster = 2;
  };
  static Space<Config> space() { return Space<Config>{}.choices<&Config::cluster>({1, 2, 4}); }
  static constexpr auto params = names("batch", "rows", "columns", "pitch", "first", "x", "y");
  Config config;
  explicit ManyMaps(Config c) : config(c) {}

  void operator()(Int32 batch, Int32 rows, Int32 columns, Int64 pitch, Int32 first, Ptr<float16> x, Ptr<float16> y) {
    attrs.cluster = {config.cluster};
    attrs.blocks = {cdiv(rows, 64), batch};
    attrs.warps = 4;
    attrs.dependent_launch = true;
    auto gx = global_view(x + cast<Int64>(first) * 8, {batch, rows, columns}, {pitch * cast<Int64>(rows), pitch, 1});
    auto gy = global_view(y, {rows, columns}, {pitch, 1});
    auto gz = global_view(y + pitch, {columns}, {1});
    auto tile = shared_tensor<float16>({1, 64, 64});
    auto flat = shared_tensor<float16>({64, 64});
    auto line = shared_tensor<float16>({64});
    auto full = mbarrier.alloc(1);
    grid_dependency.wait();
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, tile.nbytes() + flat.nbytes() + line.nbytes());
      tma.global_to_shared({.src = gx, .dst = tile, .offsets = {blockIdx.y, 64 * blockIdx.x, 0}, .mbarrier = full});
      tma.global_to_shared({.src = gy, .dst = flat, .offsets = {64 * blockIdx.x, 0}, .mbarrier = full});
      tma.global_to_shared({.src = gz, .dst = line, .offsets = {0}, .mbarrier = full});
      mbarrier.wait(full, 0u);
    }
    sync();
    store_global(gy, load_shared(flat), {64 * blockIdx.x, 0});
  }
};

// As many blocks as the device has multiprocessors.
struct Persistent : Script {
  static constexpr auto params = names("n", "x");
  void operator()(Int32 n, Ptr<float> x) {
    attrs.blocks = persistent_grid();
    attrs.warps = 1;
    auto view = global_view(x, {n});
    for (auto i : range(blockIdx.x * 32, n, gridDim.x * 32))
      store_global(view, load_global(view, {i}, {32}) * 2.0f, {i});
  }
};

// Without a parameter of run time.
struct Constant : Script {
  static constexpr auto params = names("blocks");
  void operator()(int blocks) {
    attrs.blocks = {blocks};
    attrs.warps = 1;
    sync();
  }
};

// A map whose base is a matter of run time.
struct Offset : Script {
  static constexpr auto params = names("n", "first", "x");
  void operator()(Int64 n, Int64 first, Ptr<float> x) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto view = global_view(x + first, {n});
    auto tile = shared_tensor<float>({64});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, tile.nbytes());
      tma.global_to_shared({.src = view, .dst = tile, .offsets = {0}, .mbarrier = full});
      mbarrier.wait(full, 0u);
    }
    sync();
    store_global(view, load_shared(tile), {0});
  }
};

// A constant that decides the grid.
struct Blocks : Script {
  static constexpr auto params = names("n", "block", "x");
  void operator()(Int32 n, int block, Ptr<float> x) {
    attrs.blocks = {cdiv(n, block)};
    attrs.warps = 1;
    auto view = global_view(x, {n, block});
    store_global(view, load_global(view, {blockIdx.x, 0}, {1, block}) * 2.0f, {blockIdx.x, 0});
  }
};

}  // namespace tessera::test
