// Simplification never changes a value: random integer expressions are evaluated as built and as simplified.
#include "ir/expr.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace {

using namespace tessera;
using ir::Expr;
using ir::ExprKind;

struct Leaf {
  const Expr* e;
  std::int64_t low, high, step;
};

// Builds the same expression twice: through the pool, and as a value computed by plain C++ arithmetic.
class Builder {
 public:
  Builder(std::mt19937_64& random, ir::ExprPool& pool, DType type, const std::vector<Leaf>& leaves,
          const std::vector<std::int64_t>& params)
      : random_(random), pool_(pool), type_(type), leaves_(leaves), params_(params) {}

  struct Pair {
    const Expr* e;
    std::optional<std::int64_t> value;  // nothing: undefined
  };

  Pair make(int depth) {
    if (depth == 0 || pick(5) == 0) return leaf();
    static constexpr ExprKind kinds[] = {ExprKind::add,    ExprKind::sub,     ExprKind::mul, ExprKind::div,
                                         ExprKind::mod,    ExprKind::min,     ExprKind::max, ExprKind::bit_and,
                                         ExprKind::bit_or, ExprKind::bit_xor, ExprKind::shl, ExprKind::shr};
    const auto choice = pick(14);
    if (choice == 12) return choose(depth);
    if (choice == 13) {
      const Pair a = make(depth - 1);
      return {pool_.unary(ExprKind::neg, a.e), a.value ? std::optional(ir::wrap_to(type_, -*a.value)) : std::nullopt};
    }
    const ExprKind kind = kinds[choice];
    const Pair a = make(depth - 1);
    const bool small = kind == ExprKind::shl || kind == ExprKind::shr || pick(2) == 0;
    const Pair b = small ? constant(static_cast<std::int64_t>(pick(9))) : make(depth - 1);
    return combine(kind, a, b);
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }
  Pair constant(std::int64_t v) { return {pool_.constant(type_, v), ir::wrap_to(type_, v)}; }
  Pair leaf() {
    const auto i = pick(leaves_.size() + 1);
    if (i == leaves_.size()) return constant(static_cast<std::int64_t>(pick(130)));
    return {leaves_[i].e, params_[i]};
  }
  Pair combine(ExprKind kind, const Pair& a, const Pair& b) {
    std::optional<std::int64_t> value;
    std::int64_t r = 0;
    if (a.value && b.value && ir::evaluate_integer(kind, type_, *a.value, *b.value, &r)) value = r;
    return {pool_.binary(kind, a.e, b.e), value};
  }
  Pair choose(int depth) {
    static constexpr ExprKind comparisons[] = {ExprKind::lt, ExprKind::le, ExprKind::gt,
                                               ExprKind::ge, ExprKind::eq, ExprKind::ne};
    const Pair c = combine(comparisons[pick(6)], make(depth - 1), make(depth - 1));
    const Pair a = make(depth - 1);
    const Pair b = make(depth - 1);
    std::optional<std::int64_t> value;
    if (c.value && a.value && b.value) value = *c.value != 0 ? a.value : b.value;
    return {pool_.select(c.e, a.e, b.e), value};
  }

  std::mt19937_64& random_;
  ir::ExprPool& pool_;
  DType type_;
  const std::vector<Leaf>& leaves_;
  const std::vector<std::int64_t>& params_;
};

class ExprFuzz : public ::testing::TestWithParam<DType> {};

TEST_P(ExprFuzz, SimplifiedAndPlainAgree) {
  const DType type = GetParam();
  std::mt19937_64 random(12345);
  int compared = 0;
  for (int round = 0; round < 20000; ++round) {
    support::Arena arena;
    ir::ExprPool pool(arena);
    std::vector<Leaf> leaves;
    std::vector<std::int64_t> params;
    for (int i = 0; i < 4; ++i) {
      const bool narrow = size_of(type) == 1;
      const std::int64_t step = std::int64_t{1} << (random() % (narrow ? 2 : 6));
      const std::int64_t low =
          is_signed(type) && random() % 3 == 0 ? -step * static_cast<std::int64_t>(random() % 9) : 0;
      const std::int64_t high = low + step * static_cast<std::int64_t>(random() % 40);
      leaves.push_back({pool.bounded_leaf(ExprKind::param, type, i, low, high, step), low, high, step});
      params.push_back(
          low + step * static_cast<std::int64_t>(random() % static_cast<std::uint64_t>((high - low) / step + 1)));
    }
    const auto pair = Builder(random, pool, type, leaves, params).make(5);
    if (!pair.value) continue;
    std::int64_t simplified = 0;
    try {
      simplified = ir::evaluate_on_host(pair.e, params);
    } catch (const std::exception& e) {
      FAIL() << e.what();
    }
    ASSERT_EQ(simplified, *pair.value) << ir::to_string(pair.e) << " in round " << round;
    EXPECT_LE(pair.e->low, *pair.value) << ir::to_string(pair.e);
    EXPECT_GE(pair.e->high, *pair.value) << ir::to_string(pair.e);
    if (pair.e->divisor != 0) {
      EXPECT_EQ(*pair.value % pair.e->divisor, 0) << ir::to_string(pair.e);
    }
    ++compared;
  }
  EXPECT_GT(compared, 5000);
}

INSTANTIATE_TEST_SUITE_P(Types, ExprFuzz, ::testing::Values(DType::i32, DType::i64, DType::u32, DType::i8, DType::u64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Expr, EqualExpressionsAreOneObject) {
  support::Arena arena;
  ir::ExprPool x(arena);
  const Expr* a = x.leaf(ExprKind::block_idx, DType::i32, 0);
  EXPECT_EQ(x.add(x.mul(a, 3), 1), x.add(x.mul(a, 3), 1));
  EXPECT_NE(x.add(x.mul(a, 3), 1), x.add(x.mul(a, 3), 2));
}

TEST(Expr, IndexArithmeticOfLayoutsCollapses) {
  support::Arena arena;
  ir::ExprPool x(arena);
  const Expr* warp = x.bounded_leaf(ExprKind::warp_idx, DType::i32, 0, 0, 3);
  const Expr* lane = x.bounded_leaf(ExprKind::lane_idx, DType::i32, 0, 0, 31);
  const Expr* thread = x.add(x.mul(warp, 32), lane);
  EXPECT_EQ(x.div(thread, 32), warp);
  EXPECT_EQ(x.mod(thread, 32), lane);
  EXPECT_EQ(x.mod(x.div(thread, 4), 8), x.div(lane, 4));
}

TEST(Expr, HostEvaluationRejectsDeviceLeaves) {
  support::Arena arena;
  ir::ExprPool x(arena);
  const Expr* e = x.add(x.leaf(ExprKind::block_idx, DType::i32, 0), 1);
  EXPECT_FALSE(ir::is_host_computable(e));
  EXPECT_ANY_THROW(ir::evaluate_on_host(e, {}));
}

}  // namespace
