// What the language's instructions compute, against plain C++ on the host.
#include <gmock/gmock.h>

#include <numeric>

#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

// Runs under every schedule; `check` looks at the data afterwards.
template <class S, class Arguments, class Check>
void run_all(const S& script, const std::vector<std::int64_t>& constants, Arguments arguments, Check check) {
  const auto lowered = build(script, constants);
  for (const auto& schedule : all_schedules()) {
    sim::run(lowered.kernel, arguments(), with(schedule));
    check();
  }
}

struct VectorAdd : Script {
  int block, warps;
  VectorAdd(int b, int w) : block(b), warps(w) {}
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr, Ptr<float> z_ptr) {
    attrs.blocks = {cdiv(n, block)};
    attrs.warps = warps;
    Int32 offset = block * blockIdx.x;
    auto x = load_global(global_view(x_ptr, {n}), {offset}, {block});
    auto y = load_global(global_view(y_ptr, {n}), {offset}, {block});
    store_global(global_view(z_ptr, {n}), x + y, {offset});
  }
};

TEST(Instructions, VectorAddOfAnySize) {
  for (const auto& [block, warps] : {std::pair{128, 1}, {1024, 4}, {96, 3}, {33, 2}, {7, 1}}) {
    for (const std::int64_t n : {1, 31, 128, 1000}) {
      auto x = normal<float>(static_cast<std::size_t>(n), 1);
      auto y = normal<float>(static_cast<std::size_t>(n), 2);
      std::vector<float> z(x.size());
      run_all(
          VectorAdd(block, warps), {0, 0, 0, 0},
          [&] {
            z.assign(z.size(), -1.0F);
            return std::vector{argument(n), argument(x), argument(y), argument(z)};
          },
          [&] {
            for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], x[i] + y[i]) << i;
          });
    }
  }
}

struct Outer : Script {  // z = (x^T + y) * 2 - x_row / 4, with broadcasting of a row and of a column
  void operator()(Ptr<float> row_ptr, Ptr<float> column_ptr, Ptr<float> z_ptr) {
    attrs.blocks = {1};
    attrs.warps = 2;
    auto row = load_global(global_view(row_ptr, {1, 48}), {0, 0}, {1, 48});
    auto column = load_global(global_view(column_ptr, {20, 1}), {0, 0}, {20, 1});
    auto z = register_tensor<float>({20, 48}, 1.0f);
    z += row;
    z = z * column;
    store_global(global_view(z_ptr, {20, 48}), (z - row / 4.0f) + 2.0f, {0, 0});
  }
};

TEST(Instructions, BroadcastingAgreesWithTheHost) {
  auto row = normal<float>(48, 1);
  auto column = normal<float>(20, 2);
  std::vector<float> z(20 * 48);
  run_all(
      Outer(), {0, 0, 0},
      [&] {
        return std::vector{argument(row), argument(column), argument(z)};
      },
      [&] {
        for (std::size_t i = 0; i < 20; ++i) {
          for (std::size_t j = 0; j < 48; ++j)
            ASSERT_EQ(z[i * 48 + j], ((1.0F + row[j]) * column[i] - row[j] / 4.0F) + 2.0F);
        }
      });
}

struct Iota : Script {  // a function of the index, through shared memory, transposed
  void operator()(Ptr<std::int32_t> out) {
    attrs.blocks = {2, 2};
    attrs.warps = 4;
    auto tile = register_tensor<std::int32_t>({16, 24}, [](Int32 i, Int32 j) { return i * 100 + j; });
    auto shared = shared_tensor<std::int32_t>({16, 24});
    store_shared(shared, tile);
    sync();
    auto back = load_shared(shared);
    store_global(global_view(out, {48, 32}), back.transpose(), {24 * blockIdx.x, 16 * blockIdx.y});
  }
};

TEST(Instructions, FunctionsOfTheIndexAndTransposes) {
  std::vector<std::int32_t> out(48 * 32);
  run_all(
      Iota(), {0}, [&] { return std::vector{argument(out)}; },
      [&] {
        for (int i = 0; i < 48; ++i) {
          for (int j = 0; j < 32; ++j) ASSERT_EQ(out[static_cast<std::size_t>(i * 32 + j)], (j % 16) * 100 + i % 24);
        }
      });
}

struct Collatz : Script {  // loop_while, when / otherwise, break and continue on scalars
  void operator()(Int32 start, Ptr<std::int32_t> out) {
    attrs.blocks = {1};
    attrs.warps = 1;
    Var<Int32> x = start;
    Var<Int32> steps = 0;
    Var<Int32> even = 0;
    for (auto _ : loop_while([&] { return x != 1; })) {
      steps += 1;
      if (auto _ = when(x % 2 == 0)) {
        x = x / 2;
        even += 1;
        continue_loop();
      }
      x = 3 * x + 1;
      if (auto _ = when(steps >= 1000)) break_loop();
    }
    Var<Int32> sum = 0;
    for (auto i : range(0, 10, 3)) {
      if (auto _ = when(i == 3)) {
        sum += 100;
      }
      if (auto _ = otherwise()) {
        sum += i;
      }
    }
    auto result =
        register_tensor<std::int32_t>({3}, [&](Int32 i) { return select(i == 0, steps, select(i == 1, even, sum)); });
    store_global(global_view(out, {3}), result, {0});
  }
};

TEST(Instructions, ControlFlowOnTracedIntegers) {
  for (const std::int64_t start : {1, 7, 27, 97}) {
    std::int64_t x = start;
    std::int32_t steps = 0;
    std::int32_t even = 0;
    for (; x != 1; ++steps) {
      even += x % 2 == 0 ? 1 : 0;
      x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    }
    std::vector<std::int32_t> out(3);
    run_all(
        Collatz(), {0, 0},
        [&] {
          return std::vector{argument(start), argument(out)};
        },
        [&] { EXPECT_THAT(out, ::testing::ElementsAre(steps, even, 0 + 100 + 6 + 9)); });
  }
}

// A helper with state: plain C++ holding a variable and a tile, whose methods trace.
struct Accumulator {
  Var<Int32> rounds = 0;
  RegisterTensor sum;
  explicit Accumulator(int n) : sum(register_tensor<float>({n}, 0.0f)) {}
  void add(const RegisterTensor& x) {
    sum += x;
    rounds += 1;
  }
};

struct Sum : Script {
  void operator()(Int32 rows, Ptr<float> x_ptr, Ptr<float> out_ptr, Ptr<std::int32_t> rounds_ptr) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto x = global_view(x_ptr, {rows, 64});
    Accumulator total(64);
    for (auto i : range(rows)) {
      auto row = load_global(x, {i, 0}, {1, 64});
      auto flat = shared_tensor<float>({1, 64});
      store_shared(flat, row);
      sync();
      total.add(load_global(global_view(x_ptr + i * 64, {64}), {0}, {64}));
      sync();
    }
    store_global(global_view(out_ptr, {64}), total.sum, {0});
    auto rounds = total.rounds;
    store_global(global_view(rounds_ptr, {1}), register_tensor<std::int32_t>({1}, [&](Int32) { return rounds + 0; }),
                 {0});
  }
};

TEST(Instructions, HelperClassesWithState) {
  auto x = normal<float>(5 * 64, 3);
  std::vector<float> out(64);
  std::vector<std::int32_t> rounds(1);
  run_all(
      Sum(), {0, 0, 0, 0},
      [&] {
        return std::vector{argument(std::int64_t{5}), argument(x), argument(out), argument(rounds)};
      },
      [&] {
        EXPECT_EQ(rounds[0], 5);
        for (std::size_t j = 0; j < 64; ++j) {
          float sum = 0;
          for (std::size_t i = 0; i < 5; ++i) sum += x[i * 64 + j];
          ASSERT_EQ(out[j], sum);
        }
      });
}

struct Groups : Script {  // two groups pass a tile through shared memory and an mbarrier
  void operator()(Ptr<std::int32_t> in, Ptr<std::int32_t> out) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto tile = shared_tensor<std::int32_t>({256});
    auto ready = mbarrier.alloc(64);
    if (auto _ = warp_group(0, 2)) {
      store_shared(tile, load_global(global_view(in, {256}), {0}, {256}));
      mbarrier.arrive(ready);
    }
    if (auto _ = thread_group(64, 64)) {
      mbarrier.wait(ready, 0u);
      auto x = load_shared(tile);
      sync();
      if (auto _ = single_warp(1)) printf("warp {} of the second group\n", 1);
      store_global(global_view(out, {256}), x * 3, {0});
    }
  }
};

TEST(Instructions, ThreadGroupsAndBarriers) {
  std::vector<std::int32_t> in(256);
  std::iota(in.begin(), in.end(), 5);
  std::vector<std::int32_t> out(256);
  run_all(
      Groups(), {0, 0},
      [&] {
        return std::vector{argument(in), argument(out)};
      },
      [&] {
        for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(out[i], in[i] * 3);
      });
}

// c[i, j] = sum_k a[i, k] b[k, j] with operands from global memory and two consumers that want different layouts.
struct TwoConsumers : Script {
  void operator()(Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<float> c_ptr, Ptr<float16> copy_ptr) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto a = load_global(global_view(a_ptr, {48, 32}), {0, 0}, {48, 32});
    auto b = load_global(global_view(b_ptr, {32, 24}), {0, 0}, {32, 24});
    auto c = register_tensor<float>({48, 24}, 0.0f);
    dot(a, b, c);
    auto square = register_tensor<float>({48, 48}, 0.0f);
    dot(a, a.transpose(), square);
    store_global(global_view(c_ptr, {48, 24}), c, {0, 0});
    store_global(global_view(copy_ptr, {48, 32}), a, {0, 0});
  }
};

TEST(Instructions, ConsumersThatDisagreeGetAConversionAndARemark) {
  auto a = normal<float16>(48 * 32, 1);
  auto b = normal<float16>(32 * 24, 2);
  std::vector<float> c(48 * 24);
  std::vector<float16> copy(48 * 32);
  const auto lowered = build(TwoConsumers(), {0, 0, 0, 0});
  ASSERT_FALSE(lowered.remarks.empty());
  EXPECT_THAT(lowered.remarks[0].message, HasSubstr("layout"));
  run_all(
      TwoConsumers(), {0, 0, 0, 0},
      [&] {
        return std::vector{argument(a), argument(b), argument(c), argument(copy)};
      },
      [&] {
        for (std::size_t i = 0; i < 48; ++i) {
          for (std::size_t j = 0; j < 24; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < 32; ++k)
              sum += static_cast<double>(static_cast<float>(a[i * 32 + k])) * static_cast<float>(b[k * 24 + j]);
            ASSERT_NEAR(c[i * 24 + j], sum, 1e-4);
          }
          for (std::size_t k = 0; k < 32; ++k) ASSERT_EQ(copy[i * 32 + k].bits, a[i * 32 + k].bits);
        }
      });
}

template <class Accumulator>
struct DotTypes : Script {
  int m, n, k, warps;
  DotTypes(int m_, int n_, int k_, int w) : m(m_), n(n_), k(k_), warps(w) {}
  void operator()(Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<Accumulator> c_ptr) {
    attrs.blocks = {1};
    attrs.warps = warps;
    auto sa = shared_tensor<float16>({m, k});
    auto sb = shared_tensor<float16>({k, n});
    store_shared(sa, load_global(global_view(a_ptr, {m, k}), {0, 0}, {m, k}));
    store_shared(sb, load_global(global_view(b_ptr, {k, n}), {0, 0}, {k, n}));
    sync();
    auto c = register_tensor<Accumulator>({m, n}, Accumulator(1.0f));
    dot(load_shared(sa), load_shared(sb), c);  // b is n-major: ldmatrix.trans
    store_global(global_view(c_ptr, {m, n}), c, {0, 0});
  }
};

template <class T>
class DotOf : public ::testing::Test {};
using Accumulators = ::testing::Types<float, float16>;
TYPED_TEST_SUITE(DotOf, Accumulators);

TYPED_TEST(DotOf, TilesOfEveryShape) {
  struct Case {
    int m, n, k, warps;
  };
  for (const auto& [m, n, k, warps] :
       {Case{16, 8, 16, 1}, {16, 8, 16, 4}, {64, 128, 32, 4}, {48, 24, 48, 2}, {128, 64, 64, 8}, {32, 40, 16, 3}}) {
    auto a = normal<float16>(static_cast<std::size_t>(m * k), 1);
    auto b = normal<float16>(static_cast<std::size_t>(k * n), 2);
    std::vector<TypeParam> c(static_cast<std::size_t>(m * n));
    run_all(
        DotTypes<TypeParam>(m, n, k, warps), {0, 0, 0},
        [&] {
          return std::vector{argument(a), argument(b), argument(c)};
        },
        [&, m = m, n = n, k = k] {
          for (int i = 0; i < m; ++i) {
            for (int j = 0; j < n; ++j) {
              double sum = 1;
              double magnitude = 1;
              for (int l = 0; l < k; ++l) {
                const double p = static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(i * k + l)])) *
                                 static_cast<float>(b[static_cast<std::size_t>(l * n + j)]);
                sum += p;
                magnitude += std::fabs(p);
              }
              const double tolerance = (std::is_same_v<TypeParam, float> ? 1e-6 : 2e-3) * magnitude;
              ASSERT_NEAR(static_cast<float>(c[static_cast<std::size_t>(i * n + j)]), sum, tolerance)
                  << m << " " << n << " " << k << " at " << i << "," << j;
            }
          }
        });
  }
}

struct Casts : Script {
  void operator()(Ptr<float> in, Ptr<float16> h, Ptr<bfloat16> b, Ptr<std::int8_t> i8, Ptr<std::uint16_t> u16,
                  Ptr<std::int64_t> i64, Ptr<bool> positive) {
    attrs.blocks = {1};
    attrs.warps = 1;
    auto x = load_global(global_view(in, {64}), {0}, {64});
    store_global(global_view(h, {64}), cast<float16>(x), {0});
    store_global(global_view(b, {64}), cast<bfloat16>(x), {0});
    store_global(global_view(i8, {64}), cast<std::int8_t>(x), {0});
    store_global(global_view(u16, {64}), cast<std::uint16_t>(x), {0});
    store_global(global_view(i64, {64}), cast<std::int64_t>(x), {0});
    store_global(global_view(positive, {64}), x > 0.0f, {0});
  }
};

TEST(Instructions, CastsFollowTheTarget) {
  auto x = normal<float>(64, 4);
  for (std::size_t i = 0; i < 64; ++i) x[i] *= static_cast<float>(1 << (i % 12));
  std::vector<float16> h(64);
  std::vector<bfloat16> b(64);
  std::vector<std::int8_t> i8(64);
  std::vector<std::uint16_t> u16(64);
  std::vector<std::int64_t> i64(64);
  std::vector<char> positive(64);
  run_all(
      Casts(), {0, 0, 0, 0, 0, 0, 0},
      [&] {
        return std::vector{argument(x),   argument(h),   argument(b),       argument(i8),
                           argument(u16), argument(i64), argument(positive)};
      },
      [&] {
        for (std::size_t i = 0; i < 64; ++i) {
          ASSERT_EQ(h[i].bits, float16(x[i]).bits);
          ASSERT_EQ(b[i].bits, bfloat16(x[i]).bits);
          ASSERT_EQ(i8[i], static_cast<std::int8_t>(std::clamp(std::trunc(x[i]), -128.0F, 127.0F)));
          ASSERT_EQ(u16[i], static_cast<std::uint16_t>(std::clamp(std::trunc(x[i]), 0.0F, 65535.0F)));
          ASSERT_EQ(i64[i], static_cast<std::int64_t>(std::trunc(x[i])));
          ASSERT_EQ(positive[i] != 0, x[i] > 0);
        }
      });
}

struct Pinned : Script {
  void operator()(Ptr<std::int32_t> in, Ptr<std::int32_t> out) {
    attrs.blocks = {1};
    attrs.warps = 2;
    auto x = load_global(global_view(in, {16, 32}), {0, 0}, {16, 32});
    annotate_layout(x, layouts::column_local({2, 2}).spatial({8, 4}).local({1, 2}).spatial({1, 2}));
    store_global(global_view(out, {16, 32}), x + 1, {0, 0});
  }
};

TEST(Instructions, AnnotatedLayoutsAreKept) {
  std::vector<std::int32_t> in(512);
  std::iota(in.begin(), in.end(), 0);
  std::vector<std::int32_t> out(512);
  run_all(
      Pinned(), {0, 0},
      [&] {
        return std::vector{argument(in), argument(out)};
      },
      [&] {
        for (int i = 0; i < 512; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i + 1);
      });
}

struct Prints : Script {
  void operator()(Int32 n) {
    attrs.blocks = {2};
    attrs.warps = 2;
    printf("block {} of {}: n = {}\n", blockIdx.x, gridDim.x, n);
    auto t = register_tensor<std::int32_t>({2, 3}, [](Int32 i, Int32 j) { return i * 10 + j; });
    print_tensor("t", t);
  }
};

TEST(Instructions, PrintsAreInOrder) {
  const auto lowered = build(Prints(), {0});
  for (const auto& schedule : all_schedules()) {
    std::string text;
    sim::Options options = with(schedule);
    options.threads = 2;
    options.print = [&](std::string_view piece) { text += piece; };
    const std::vector<sim::Argument> arguments{argument(std::int64_t{42})};
    sim::run(lowered.kernel, arguments, options);
    EXPECT_EQ(text,
              "block 0 of 2: n = 42\nt\n[[ 0 1 2 ]\n[ 10 11 12 ]\n]\n"
              "block 1 of 2: n = 42\nt\n[[ 0 1 2 ]\n[ 10 11 12 ]\n]\n");
  }
}

// Panels: a tile wider than the swizzle span, loaded by TMA; and one with more than 256 rows.
struct WideTile : Script {
  int rows, columns;
  WideTile(int r, int c) : rows(r), columns(c) {}
  void operator()(Int32 m, int n, Ptr<float16> in, Ptr<float16> out) {
    attrs.blocks = {cdiv(m, rows)};
    attrs.warps = 4;
    auto view = global_view(in, {m, n});
    auto tile = shared_tensor<float16>({rows, columns});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_warp()) {
      if (auto _ = single_thread()) mbarrier.arrive_and_expect_tx(full, tile.nbytes());
      tma.global_to_shared({.src = view, .dst = tile, .offsets = {rows * blockIdx.x, -8}, .mbarrier = full});
    }
    mbarrier.wait(full, 0u);
    store_global(global_view(out, {m, columns}), load_shared(tile), {rows * blockIdx.x, 0});
  }
};

TEST(Instructions, TmaTilesOfManyBoxes) {
  for (const auto& [rows, columns] : {std::pair{16, 128}, {16, 192}, {320, 64}, {8, 40}, {24, 8}}) {
    const std::int64_t m = rows + 5;
    const int n = 152;
    auto in = normal<float16>(static_cast<std::size_t>(m * n), 1);
    std::vector<float16> out(static_cast<std::size_t>(m * columns));
    run_all(
        WideTile(rows, columns), {0, n, 0, 0},
        [&] {
          return std::vector{argument(m), argument(in), argument(out)};
        },
        [&, columns = columns] {
          for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              const std::int64_t from = j - 8;
              const std::uint16_t expected =
                  from < 0 || from >= n ? 0 : in[static_cast<std::size_t>(i * n + from)].bits;
              ASSERT_EQ(out[static_cast<std::size_t>(i * columns + j)].bits, expected) << i << "," << j;
            }
          }
        });
  }
}

}  // namespace
}  // namespace tessera::testing
