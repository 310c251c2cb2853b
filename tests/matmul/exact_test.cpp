// Results of matmul() over types, layouts, sizes and epilogues.
#include <cstdlib>
#include <type_traits>

#include "matmul_case.hpp"

namespace tessera::testing {
namespace {

template <class P>
class Exact : public ::testing::Test {
 protected:
  using In = typename P::first_type;
  using Out = typename P::second_type;
  void run(std::int64_t m, std::int64_t n, std::int64_t k, Layouts layouts = {}, const MatmulOptions& options = {},
           bool bias = false) {
    SCOPED_TRACE(std::string("a ") + name_of_stored(layouts.a) + ", b " + name_of_stored(layouts.b) + ", c " +
                 name_of_stored(layouts.c));
    MatmulCase<In, Out> test(m, n, k, layouts, static_cast<unsigned>(m * 7 + n * 3 + k));
    test.run(simulated(all_schedules()[rounds_++ % all_schedules().size()]), options, bias);
  }
  // With TESSERA_TEST_SHARE=n only every n-th of the calls, types in turn other ones.
  void run_share(std::int64_t m, std::int64_t n, std::int64_t k) {
    const char* share = std::getenv("TESSERA_TEST_SHARE");
    const std::size_t every = share == nullptr ? 1 : std::stoul(share);
    constexpr std::size_t type =
        sizeof(In) + 2 * sizeof(Out) + (std::is_same_v<In, bfloat16> ? 1 : 0) + (std::is_same_v<Out, bfloat16> ? 3 : 0);
    if ((calls_++ + type) % every == 0) run(m, n, k);
  }

 private:
  std::size_t rounds_ = 0, calls_ = 0;
};

using Types = ::testing::Types<std::pair<float16, float16>, std::pair<float16, float>, std::pair<bfloat16, bfloat16>,
                               std::pair<bfloat16, float>, std::pair<float8_e4m3, float16>,
                               std::pair<float8_e4m3, bfloat16>, std::pair<float8_e4m3, float>>;
TYPED_TEST_SUITE(Exact, Types);

TYPED_TEST(Exact, Sizes) {
  for (const int m : {1, 7, 63, 65, 129, 200})
    for (const int n : {1, 8, 63, 129, 200})
      for (const int k : {8, 16, 64, 136, 200}) this->run_share(m, n, k);
}

// Pitches that are no multiple of 16 bytes.
TYPED_TEST(Exact, OddSizes) {
  for (const int m : {1, 7, 65})
    for (const int n : {1, 63, 129})
      for (const int k : {1, 7, 63, 65, 129}) this->run_share(m, n, k);
}

TYPED_TEST(Exact, EveryLayoutOfEveryMatrix) {
  constexpr Stored all[] = {Stored::rows,     Stored::columns,     Stored::padded_rows, Stored::padded_columns,
                            Stored::odd_rows, Stored::odd_columns, Stored::spread,      Stored::shifted};
  for (const Stored a : all)
    for (const Stored b : all) this->run(72, 40, 80, {a, b, Stored::rows});
  for (const Stored c : all) {
    this->run(72, 40, 80, {Stored::rows, Stored::rows, c});
    this->run(137, 200, 24, {Stored::rows, Stored::columns, c});
    this->run(1, 40, 32, {Stored::columns, Stored::rows, c});
    this->run(40, 1, 32, {Stored::rows, Stored::columns, c});
  }
}

TYPED_TEST(Exact, Epilogues) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu, Activation::silu}) {
    for (const Stored c : {Stored::rows, Stored::columns, Stored::odd_rows, Stored::odd_columns, Stored::spread}) {
      const Layouts layouts{Stored::rows, Stored::rows, c};
      this->run(65, 136, 72, layouts, {.alpha = 0.25f, .activation = activation});
      this->run(65, 136, 72, layouts, {.alpha = 0.125f, .beta = -1.5f, .activation = activation}, true);
      this->run(200, 40, 40, layouts, {.alpha = -0.5f, .beta = 2, .activation = activation});
      this->run(7, 264, 40, layouts, {.activation = activation}, true);
    }
  }
}

// Few rows and a long k: SplitMatmul, by CTAs of clusters that share k, and with ReduceSplits.
TYPED_TEST(Exact, FewRowsAndLongK) {
  int by_clusters = 0, with_reduction = 0;
  for (const int m : {1, 16, 64, 128}) {
    for (const int k : {1024, 5000, 10000}) {
      this->run(m, 136, k);
      const MatmulReport report = last_matmul_report();
      if (report.kernel.starts_with("SplitMatmul, ")) {
        ++with_reduction;
      } else if (report.kernel == "SplitMatmul" && !report.config.ends_with("cluster_k=1")) {
        ++by_clusters;
      }
      this->run(m, 136, k, {Stored::rows, Stored::rows, Stored::columns},
                {.alpha = 0.01f, .beta = 0.5f, .activation = Activation::silu}, true);
    }
  }
  EXPECT_GT(by_clusters, 0);
  EXPECT_GT(with_reduction, 0);
}

TYPED_TEST(Exact, WithoutProducts) {
  this->run(65, 40, 0, {}, {.beta = 0.5f, .activation = Activation::relu}, true);
  this->run(65, 40, 0);
  this->run(65, 40, 24, {}, {.alpha = 0, .beta = 1}, true);
  this->run(0, 40, 24);
  this->run(65, 0, 24);
}

TEST(Exact, ANonFiniteBIsNotReadWithAlphaZeroNorIsCWithBetaZero) {
  MatmulCase<float16, float16> test(5, 8, 16);
  test.b.at(0, 0) = float16(std::numeric_limits<float>::infinity());
  test.run(simulated(Schedule::eager()), {.alpha = 0}, true);
}

TEST(Exact, BuffersAndBlocksOfThem) {
  const Device device = simulated(Schedule::random(4));
  const std::int64_t m = 70, n = 48, k = 40;
  auto a = device.randn<float16>({2 * m, k + 24}, 1), b = device.randn<float16>({n, k}, 2);
  auto c = device.zeros<float>({m, n + 8});
  matmul(Matrix(a).block(m, 8, m, k), b, Matrix(c).block(0, 4, m, n));
  const auto x = a.to_host(), y = b.to_host();
  const auto z = c.to_host();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n + 8; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k && j >= 4 && j < n + 4; ++l)
        sum += static_cast<double>(static_cast<float>(x[static_cast<std::size_t>((m + i) * (k + 24) + 8 + l)])) *
               static_cast<double>(static_cast<float>(y[static_cast<std::size_t>((j - 4) * k + l)]));
      ASSERT_NEAR(z[static_cast<std::size_t>(i * (n + 8) + j)], sum, 1e-3) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
