// wgmma in all its forms, TMA stores and reductions, named barriers and the rest of Hopper, from the language down to
// the simulated machine. Operands are small integers, so that every sum is exact whatever the types.
#include <type_traits>

#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

enum Form { from_shared, from_registers, a_by_columns, b_by_columns, negated };

// Two instructions of rows where the sums leave room for them.
constexpr int rows_of(std::int64_t n) { return n > 192 ? 64 : 128; }

// c[m, n] = 1 + a · bᵀ, where a is [m, k] and b [n, k], or stored the other way round.
template <class A, class B, class C>
struct Product : Script {
  void operator()(int n, int k, int form, Ptr<A> a_ptr, Ptr<B> b_ptr, Ptr<C> c_ptr) {
    const int m = rows_of(n);
    attrs.blocks = 1;
    attrs.warps = 4;
    const bool a_turned = form == a_by_columns, b_turned = form == b_by_columns;
    auto ga = a_turned ? global_view(a_ptr, {k, m}) : global_view(a_ptr, {m, k});
    auto gb = b_turned ? global_view(b_ptr, {k, n}) : global_view(b_ptr, {n, k});
    auto gc = global_view(c_ptr, {m, n});
    auto sa = a_turned ? shared_tensor<A>({k, m}) : shared_tensor<A>({m, k});
    auto sb = b_turned ? shared_tensor<B>({k, n}) : shared_tensor<B>({n, k});
    auto acc = register_tensor<C>({m, n}, C(1));
    auto loaded = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(loaded, sa.nbytes() + sb.nbytes());
      tma.global_to_shared({.src = ga, .dst = sa, .offsets = {0, 0}, .mbarrier = loaded});
      tma.global_to_shared(
          {.src = gb, .dst = sb, .offsets = {0, 0}, .mbarrier = loaded, .hint = CacheHint::evict_last});
    }
    mbarrier.wait(loaded, 0);
    auto b = b_turned ? sb : sb.transpose();
    if (form == from_registers) {
      auto a = load_shared(sa);
      wgmma.fence();
      wgmma.mma(a, b, acc);
    } else {
      wgmma.fence();
      wgmma.mma(a_turned ? sa.transpose() : sa, b, acc, {.negate_a = form == negated});
    }
    wgmma.commit_group();
    wgmma.wait_group(0);
    store_global(gc, acc, {0, 0});
  }
};

template <class T>
double number(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<double>(x);
  } else {
    return static_cast<double>(static_cast<float>(x));
  }
}
template <class T>
std::vector<T> small_integers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& v : values) {
    const int i = static_cast<int>(random() % 7) - (std::is_unsigned_v<T> ? 0 : 3);
    if constexpr (std::is_integral_v<T>) {
      v = static_cast<T>(i);
    } else {
      v = T(static_cast<float>(i));
    }
  }
  return values;
}

template <class A, class B, class C>
void expect_product(std::int64_t n, std::int64_t k, Form form) {
  const std::int64_t m = rows_of(n);
  SCOPED_TRACE("n " + std::to_string(n) + " k " + std::to_string(k) + " form " + std::to_string(form));
  auto a = small_integers<A>(static_cast<std::size_t>(m * k), 1), a_turned = a;
  auto b = small_integers<B>(static_cast<std::size_t>(n * k), 2), b_turned = b;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t l = 0; l < k; ++l) {
    for (std::int64_t i = 0; i < m; ++i) a_turned[at(l * m + i)] = a[at(i * k + l)];
    for (std::int64_t j = 0; j < n; ++j) b_turned[at(l * n + j)] = b[at(j * k + l)];
  }
  const auto lowered = build(Product<A, B, C>(), {n, k, form, 0, 0, 0});
  for (const auto& schedule : all_schedules()) {
    std::vector<C> c(at(m * n));
    sim::run(lowered.kernel,
             std::vector<sim::Argument>{argument(form == a_by_columns ? a_turned : a),
                                        argument(form == b_by_columns ? b_turned : b), argument(c)},
             with(schedule));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += number(a[at(i * k + l)]) * number(b[at(j * k + l)]);
        const double want = 1 + (form == negated ? -sum : sum);
        ASSERT_EQ(number(c[at(i * n + j)]), want) << i << ", " << j << " " << sim::to_string(schedule);
      }
    }
  }
}

TEST(WgmmaInstructions, EveryNumberOfColumnsInEveryForm) {
  for (const int n : {8, 24, 96, 192, 256, 264, 320}) {
    expect_product<float16, float16, float>(n, 64, from_shared);
    expect_product<float16, float16, float>(n, 32, from_registers);
    expect_product<bfloat16, bfloat16, float>(n, 48, negated);
    expect_product<float16, float16, float>(n, 32, a_by_columns);
    if (n % 64 == 0) expect_product<bfloat16, bfloat16, float>(n, 64, b_by_columns);
  }
}

// Instructions begin at whole blocks of contiguous columns: 320 are 192 and 128, not twice 160.
TEST(WgmmaInstructions, ColumnsOfAnOperandStoredByColumns) {
  for (const int n : {16, 32, 96, 160, 288, 320, 448}) expect_product<float16, float16, float>(n, 32, b_by_columns);
}

TEST(WgmmaInstructions, KOfEveryWidth) {
  for (const int k : {16, 32, 48, 64, 96, 128, 192}) {
    expect_product<float16, float16, float>(40, k, from_shared);
    expect_product<float16, float16, float>(40, k, from_registers);
    expect_product<float16, float16, float>(64, k, b_by_columns);
  }
}

TEST(WgmmaInstructions, EveryPairOfTypes) {
  for (const Form form : {from_shared, from_registers}) {
    expect_product<float16, float16, float16>(72, 64, form);
    expect_product<float, float, float>(72, 40, form);
    expect_product<float8_e4m3, float8_e4m3, float>(72, 96, form);
    expect_product<float8_e4m3, float8_e5m2, float>(72, 128, form);
    expect_product<float8_e5m2, float8_e4m3, float16>(72, 64, form);
    expect_product<std::int8_t, std::int8_t, std::int32_t>(48, 96, form);
    expect_product<std::uint8_t, std::int8_t, std::int32_t>(24, 64, form);
    expect_product<std::uint8_t, std::uint8_t, std::int32_t>(272, 32, form);
  }
}

TEST(WgmmaInstructions, EightBitOperandsByColumnsAreRefused) {
  const std::string text = error_of([] { build(Product<float8_e4m3, float8_e4m3, float>(), {64, 64, a_by_columns}); });
  EXPECT_NE(text.find("16-bit"), std::string::npos) << text;
}

// Four blocks add their tiles to one place of c.
struct AddTogether : Script {
  void operator()(int rows, int columns, Ptr<float> a_ptr, Ptr<float> c_ptr) {
    attrs.blocks = 4;
    attrs.warps = 4;
    attrs.dependent_launch = true;
    auto ga = global_view(a_ptr, {4 * rows, columns});
    auto gc = global_view(c_ptr, {rows, columns});
    auto tile = shared_tensor<float>({64, 64});
    grid_dependency.wait();
    if (auto _ = single_thread(0)) tma.prefetch({.src = ga, .shape = {64, 64}, .offsets = {rows * blockIdx.x, 0}});
    for (auto row : range(0, rows, 64)) {
      for (auto column : range(0, columns, 64)) {
        auto values = load_global(ga, {rows * blockIdx.x + row, column}, {64, 64});
        if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});
        sync();
        store_shared(tile, values);
        fence.proxy_async();
        sync();
        if (auto _ = single_thread(0)) {
          tma.reduce_add({.src = tile, .dst = gc, .offsets = {row, column}});
          tma.commit_group();
        }
      }
    }
    grid_dependency.launch();
    if (auto _ = single_thread(0)) tma.wait_group(0);
  }
};

TEST(TmaInstructions, ReductionsOfSeveralBlocksAddUp) {
  constexpr std::int64_t rows = 128, columns = 100;
  auto a = small_integers<float>(4 * rows * columns, 3);
  const auto lowered = build(AddTogether(), {rows, columns, 0, 0});
  EXPECT_TRUE(lowered.kernel.dependent_launch);
  for (const auto& schedule : all_schedules()) {
    std::vector<float> c(rows * columns, 10.0F);
    sim::run(lowered.kernel, std::vector<sim::Argument>{argument(a), argument(c)}, with(schedule));
    for (std::size_t i = 0; i < c.size(); ++i) {
      float want = 10;
      for (std::size_t block = 0; block < 4; ++block) want += a[block * c.size() + i];
      ASSERT_EQ(c[i], want) << i << " " << sim::to_string(schedule);
    }
  }
}

// One group writes a tile and says so, another waits for it and reads it.
struct HandOver : Script {
  bool arrive = true;
  void operator()(Ptr<float> out_ptr) {
    attrs.blocks = 1;
    attrs.warps = 8;
    auto out = global_view(out_ptr, {64, 64});
    auto tile = shared_tensor<float>({64, 64});
    auto written = named_barrier.alloc(256);
    if (auto _ = warp_group(0, 4)) {
      store_shared(tile, register_tensor<float>({64, 64}, [](Int32 i, Int32 j) { return cast<Float32>(i * 64 + j); }));
      if (arrive) named_barrier.arrive(written);
    }
    if (auto _ = warp_group(4, 4)) {
      named_barrier.sync(written);
      store_global(out, load_shared(tile), {0, 0});
    }
  }
};

TEST(NamedBarriers, HandATileOver) {
  for (const auto& schedule : all_schedules()) {
    std::vector<float> out(64 * 64);
    sim::run(build(HandOver(), {0}).kernel, std::vector<sim::Argument>{argument(out)}, with(schedule));
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<float>(i));
  }
}

TEST(NamedBarriers, AMissingArrivalIsADeadlock) {
  HandOver script;
  script.arrive = false;
  std::vector<float> out(64 * 64);
  const std::string text = error_of([&] {
    sim::run(build(script, {0}).kernel, std::vector<sim::Argument>{argument(out)}, with(all_schedules()[0]));
  });
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
}

// What the compiler inserts by itself where ordinary writes are read by wgmma, and that it is needed.
struct WrittenByThreads : Script {
  void operator()(Ptr<float16> a_ptr, Ptr<float> c_ptr) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto ga = global_view(a_ptr, {64, 64});
    auto gc = global_view(c_ptr, {64, 64});
    auto sa = shared_tensor<float16>({64, 64});
    auto acc = register_tensor<float>({64, 64}, 0.0f);
    store_shared(sa, load_global(ga, {0, 0}, {64, 64}));
    sync();
    wgmma.fence();
    wgmma.mma(sa, sa.transpose(), acc);
    wgmma.commit_group();
    wgmma.wait_group(0);
    store_global(gc, acc, {0, 0});
  }
};

TEST(ProxyFences, AreInsertedBeforeWgmmaReadsWhatThreadsWrote) {
  auto a = small_integers<float16>(64 * 64, 5);
  std::vector<float> c(64 * 64);
  const std::vector<sim::Argument> arguments{argument(a), argument(c)};
  sim::run(build(WrittenByThreads(), {0, 0}).kernel, arguments, with(all_schedules()[2]));
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 64; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < 64; ++l) sum += number(a[i * 64 + l]) * number(a[j * 64 + l]);
      ASSERT_EQ(number(c[i * 64 + j]), sum);
    }
  }
  passes::Options options;
  options.insert_proxy_fences = false;
  const std::string text = error_of([&] {
    sim::run(build(WrittenByThreads(), {0, 0}, options).kernel, arguments, with(all_schedules()[0]));
  });
  EXPECT_NE(text.find("fence.proxy_async"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera::testing
