// The measure that the examples judge results by is itself judged here, by values worked out by hand.
#include "common/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace {

using examples::accumulation_bound;
using examples::compare;
using examples::Comparison;
using examples::Reference;
using examples::reference_matmul;
using examples::sample_rows;
using tessera::bfloat16;
using tessera::float16;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> normal(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(float16(distribution(generator)));
  return values;
}

template <class T>
std::vector<T> rounded(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float value : values) result.push_back(T(value));
  return result;
}

// One element whose reference is `value`, with nothing allowed but the rounding of the output.
Reference single(float value, float magnitude = 0) { return {1, 1, 1, {value}, {magnitude}, 0, "hand"}; }

std::int64_t wrong(float out, const Reference& reference) {
  const std::vector<float16> values{float16(out)};
  return compare<float16>(values, reference).wrong_elements;
}

TEST(Reference, MultipliesByTheTranspose) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};            // 2×3
  const std::vector<float> b{1, 0, -1, 2, 2, 2, 0, 1, 0};  // 3×3
  const Reference reference = reference_matmul(a, b, 2, 3, 3);
  EXPECT_THAT(reference.value, testing::ElementsAre(-2, 12, 2, -2, 30, 5));
  ASSERT_EQ(reference.magnitude.size(), 6U);
  EXPECT_GE(reference.magnitude[0], 4.0F);
  EXPECT_LT(reference.magnitude[0], 4.00001F);
}

TEST(Reference, AgreesWithPlainLoopsBeyondOneBlockOfRows) {
  const std::int64_t m = 130, n = 9, k = 33;
  const auto a = normal(static_cast<std::size_t>(m * k), 1);
  const auto b = normal(static_cast<std::size_t>(n * k), 2);
  const Reference reference = reference_matmul(a, b, m, n, k);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(a[static_cast<std::size_t>(i * k + l)]) *
               static_cast<double>(b[static_cast<std::size_t>(j * k + l)]);
      }
      EXPECT_NEAR(reference.value[static_cast<std::size_t>(i * n + j)], sum, 1e-5);
    }
  }
}

TEST(Reference, CarriesNanAndInfinityToTheirRowsAndColumnsOnly) {
  std::vector<float> a(6, 1.0F), b(6, 1.0F);  // 3×2 and 3×2
  a[2] = nan;
  b[1] = infinity;
  const Reference reference = reference_matmul(a, b, 3, 3, 2);
  EXPECT_EQ(reference.value[0], infinity);
  EXPECT_EQ(reference.value[1], 2.0F);
  EXPECT_TRUE(std::isnan(reference.value[3]));
  EXPECT_TRUE(std::isnan(reference.value[4]));
  EXPECT_EQ(reference.value[8], 2.0F);
}

TEST(Reference, IsZeroWithoutProducts) {
  EXPECT_THAT(reference_matmul({}, {}, 2, 2, 0).value, testing::Each(0.0F));
  EXPECT_TRUE(reference_matmul({}, normal(6, 3), 0, 3, 2).value.empty());
}

TEST(Bound, GrowsByOneCutAProductAndOneABlockOfEight) {
  EXPECT_EQ(accumulation_bound(0), 0);
  EXPECT_NEAR(accumulation_bound(8), 9 * 0x1p-23, 1e-11);
  EXPECT_NEAR(accumulation_bound(9), 11 * 0x1p-23, 1e-11);
  EXPECT_NEAR(accumulation_bound(8192), 9216 * 0x1p-23 / (1 - 9216 * 0x1p-23), 1e-9);
}

TEST(Compare, AcceptsTheNearestOutputsAndNoOthers) {
  // 1 + 2^-11 lies halfway between the float16 neighbours 1 and 1 + 2^-10, which round to even takes to 1.
  EXPECT_EQ(wrong(1.0F, single(1.0F + 0x1p-11F)), 0);
  EXPECT_EQ(wrong(1.0F + 0x1p-10F, single(1.0F + 0x1p-11F)), 1);
  // A little freedom in the accumulation makes both right.
  EXPECT_EQ(wrong(1.0F + 0x1p-10F, single(1.0F + 0x1p-11F, 1.0F)), 0);
  EXPECT_EQ(wrong(1.0F + 0x1p-9F, single(1.0F + 0x1p-11F, 1.0F)), 1);
}

TEST(Compare, WantsTheSameValuesNotToBeFinite) {
  EXPECT_EQ(wrong(nan, single(1.0F)), 1);
  EXPECT_EQ(wrong(infinity, single(1.0F)), 1);
  EXPECT_EQ(wrong(1.0F, single(nan)), 1);
  EXPECT_EQ(wrong(nan, single(nan)), 0);
  EXPECT_EQ(wrong(infinity, single(infinity)), 0);
  EXPECT_EQ(wrong(-infinity, single(infinity)), 1);
  EXPECT_EQ(wrong(nan, single(infinity)), 1);
}

TEST(Compare, TakesAnOverflowOfTheOutputTypeForWhatItIs) {
  EXPECT_EQ(wrong(infinity, single(70000.0F)), 0);
  EXPECT_EQ(wrong(65504.0F, single(70000.0F)), 1);
  EXPECT_EQ(wrong(infinity, single(65000.0F)), 1);
  const std::vector<float16> out{float16(infinity)};
  EXPECT_EQ(compare<float16>(out, single(70000.0F)).relative_error, 0);
}

TEST(Compare, CountsAndNamesTheWrongElements) {
  const std::int64_t m = 40, n = 30, k = 64;
  const auto a = normal(static_cast<std::size_t>(m * k), 4);
  const auto b = normal(static_cast<std::size_t>(n * k), 5);
  const Reference reference = reference_matmul(a, b, m, n, k);
  auto out = rounded<bfloat16>(reference.value);
  const Comparison clean = compare<bfloat16>(out, reference);
  EXPECT_EQ(clean.wrong_elements, 0);
  EXPECT_GT(clean.relative_error, 0);
  EXPECT_LT(clean.relative_error, 0x1p-8);

  out[5 * 30 + 7] = bfloat16(reference.value[5 * 30 + 7] + 1.0F);
  out[39 * 30 + 29] = bfloat16(nan);
  const Comparison dirty = compare<bfloat16>(out, reference);
  EXPECT_EQ(dirty.wrong_elements, 2);
  EXPECT_TRUE(std::isnan(dirty.relative_error));
  EXPECT_THAT(dirty.first_wrong, testing::StartsWith("[5, 7] is "));
}

TEST(Compare, SeesOneMissingBlockOfK) {
  const std::int64_t m = 16, n = 16, k = 512;
  const auto a = normal(static_cast<std::size_t>(m * k), 6);
  const auto b = normal(static_cast<std::size_t>(n * k), 7);
  auto shortened = a;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 448; l < k; ++l) shortened[static_cast<std::size_t>(i * k + l)] = 0;
  }
  const auto out = rounded<float16>(reference_matmul(shortened, b, m, n, k).value);
  EXPECT_GT(compare<float16>(out, reference_matmul(a, b, m, n, k)).wrong_elements, 250);
}

TEST(Compare, MeasuresTheErrorRelativeToTheNormOfTheReference) {
  const Reference reference{1, 2, 1, {3.0F, 4.0F}, {100.0F, 100.0F}, 1.0, "hand"};
  const std::vector<float> out{3.0F, 4.5F};
  EXPECT_DOUBLE_EQ(compare<float>(out, reference).relative_error, 0.1);
}

TEST(Rows, AreSampledEvenlyWithBothEnds) {
  EXPECT_THAT(sample_rows(5, 8), testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sample_rows(101, 3), testing::ElementsAre(0, 50, 100));
  EXPECT_THAT(sample_rows(7, 1), testing::ElementsAre(0));
  EXPECT_THAT(sample_rows(0, 4), testing::IsEmpty());
  const std::vector<float> matrix{0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> rows{2, 0};
  EXPECT_THAT(examples::take_rows<float>(matrix, 2, rows), testing::ElementsAre(4, 5, 0, 1));
}

TEST(Worse, KeepsTheLargerErrorAndTheLargerCount) {
  const Comparison first{0.1, 2, "first"}, second{nan, 3, "second"};
  const Comparison both = worse(first, second);
  EXPECT_TRUE(std::isnan(both.relative_error));
  EXPECT_EQ(both.wrong_elements, 3);
  EXPECT_EQ(both.first_wrong, "first");
}

}  // namespace
