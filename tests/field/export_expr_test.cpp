// Expressions as C: random ones, with all types, wrap-around and undefined operations, compiled by the host's compiler
// and compared with ir::evaluate_on_host.
#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <random>

#include "export/c_expr.hpp"
#include "export_fixture.hpp"
#include "ir/context.hpp"

namespace tessera::test {
namespace {
using ir::Expr;
using ir::ExprKind;

constexpr DType types[] = {DType::i8,  DType::i16, DType::i32, DType::i64,     DType::u8,
                           DType::u16, DType::u32, DType::u64, DType::boolean, DType::f32};
constexpr int sms = 132;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  const Expr* expression(DType type, int depth) {
    if (depth == 0 || chance(8)) return leaf(type);
    if (!made_.empty() && chance(6)) {  // shared parts
      for (int tries = 0; tries < 8; ++tries) {
        const Expr* e = made_[below(made_.size())];
        if (e->type == type) return e;
      }
    }
    const Expr* e = compound(type, depth - 1);
    made_.push_back(e);
    return e;
  }
  ir::ExprPool& pool() { return context_.expr; }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  bool chance(int one_in) { return below(static_cast<std::size_t>(one_in)) == 0; }

  const Expr* leaf(DType type) {
    if (chance(2)) {
      for (std::size_t i = 0; i < std::size(types); ++i) {
        if (types[i] == type) return pool().leaf(ExprKind::param, type, static_cast<std::int64_t>(i));
      }
    }
    if (type == DType::i32 && chance(4)) return pool().leaf(ExprKind::sm_count, type);
    constexpr std::int64_t interesting[] = {0,  1,    2,         3,         7,         16,        31,
                                            63, 64,   127,       128,       255,       4096,      -1,
                                            -2, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 0xffffffff};
    if (type == DType::f32) return pool().leaf(ExprKind::param, type, 9);
    return pool().constant(type, interesting[below(std::size(interesting))]);
  }
  DType integer() { return types[below(8)]; }

  const Expr* compound(DType type, int depth) {
    if (type == DType::f32) return leaf(type);
    if (type == DType::boolean) return truth(depth);
    const std::size_t pick = below(16);
    constexpr ExprKind binary[] = {ExprKind::add, ExprKind::sub,    ExprKind::mul,     ExprKind::div,
                                   ExprKind::mod, ExprKind::min,    ExprKind::max,     ExprKind::bit_and,
                                   ExprKind::shl, ExprKind::bit_or, ExprKind::bit_xor, ExprKind::shr};
    if (pick < std::size(binary)) return pool().binary(binary[pick], expression(type, depth), expression(type, depth));
    if (pick == 12) return pool().unary(ExprKind::neg, expression(type, depth));
    if (pick == 13) return pool().unary(ExprKind::bit_not, expression(type, depth));
    if (pick == 14)
      return pool().select(expression(DType::boolean, depth), expression(type, depth), expression(type, depth));
    return pool().cast(type, expression(chance(4) ? DType::boolean : integer(), depth));
  }
  const Expr* truth(int depth) {
    constexpr ExprKind kinds[] = {ExprKind::lt, ExprKind::le, ExprKind::gt, ExprKind::ge, ExprKind::eq, ExprKind::ne};
    const std::size_t pick = below(9);
    const DType type = integer();
    if (pick < std::size(kinds)) return pool().binary(kinds[pick], expression(type, depth), expression(type, depth));
    const Expr* a = expression(DType::boolean, depth);
    if (pick == 6) return pool().unary(ExprKind::logical_not, a);
    return pool().binary(pick == 7 ? ExprKind::logical_and : ExprKind::logical_or, a,
                         expression(DType::boolean, depth));
  }

  std::mt19937_64 random_;
  ir::Context context_;
  std::vector<const Expr*> made_;
};

std::vector<std::int64_t> random_values(std::mt19937_64& random) {
  std::vector<std::int64_t> values;
  for (const DType type : types) {
    std::int64_t bits = static_cast<std::int64_t>(random());
    switch (random() % 4) {
      case 0: bits %= 9; break;
      case 1: bits %= 70; break;
      case 2: bits >>= 31; break;
      default: break;
    }
    values.push_back(type == DType::f32 ? static_cast<std::int64_t>(static_cast<std::uint32_t>(bits))
                                        : ir::wrap_to(type, bits));
  }
  return values;
}

constexpr const char* head = R"(#include <stdint.h>
#include <string.h>
)";
constexpr const char* parameters =
    "int8_t i8, int16_t i16, int32_t i32, int64_t i64, uint8_t u8, uint16_t u16, uint32_t u32, uint64_t u64, uint8_t "
    "b, float f";
using Function = int(std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                     std::uint64_t, std::uint8_t, float, std::int64_t*);

// `int f<index>(..., int64_t* out)`: 1 where it is undefined.
std::string function_text(const Expr* e, int index, std::set<std::string>* helpers) {
  std::vector<exporter::CExpressions::Param> params;
  const char* const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "b", "f"};
  for (std::size_t i = 0; i < std::size(types); ++i)
    params.push_back({i == 9 ? std::string("bits_of(f)") : "(int64_t)" + std::string(names[i]), types[i]});
  exporter::CExpressions c(params);
  c.count(e);
  const std::string value = c.text(e);
  std::string text = "int f" + std::to_string(index) + "(" + parameters + ", int64_t* out);\nint f" +
                     std::to_string(index) + "(" + parameters + ", int64_t* out) {\n  int bad = 0;\n" +
                     "  const int64_t multiprocessors = 132;\n";
  for (const std::string& definition : c.take_definitions()) text += "  " + definition + "\n";
  text += "  *out = " + value + ";\n";
  for (const char* name : names) text += std::string("  (void)") + name + ";\n";
  text += "  (void)multiprocessors;\n  return bad;\n}\n";
  helpers->insert(c.helpers().begin(), c.helpers().end());
  return text;
}

class ExportExpr : public RuntimeTest {};

TEST_F(ExportExpr, MeansWhatTheHostEvaluates) {
  constexpr int count = 400, rounds = 120;
  std::vector<const Expr*> roots;
  std::vector<std::unique_ptr<Generator>> generators;
  std::set<std::string> helpers;
  std::string functions;
  for (int i = 0; i < count; ++i) {
    generators.push_back(std::make_unique<Generator>(static_cast<std::uint64_t>(i) + 1));
    roots.push_back(generators.back()->expression(types[static_cast<std::size_t>(i) % 9], 2 + i % 6));
    functions += function_text(roots.back(), i, &helpers);
  }
  helpers.insert("bits_of");
  std::ofstream(root_ / "f.c")
      << head << "/* clang-format off */\n"
      << exporter::helper_text(helpers) << functions
      << "int unused_helpers(void);\nint unused_helpers(void) { return (int)bits_of(0.0f); }\n";
  std::string output;
  ASSERT_EQ(run_command("cc -std=c99 -O1 -ftrapv" + std::string(strict) + "-shared -fPIC -o " +
                            (root_ / "f.so").string() + " " + (root_ / "f.c").string(),
                        &output),
            0)
      << output;
  void* library = ::dlopen((root_ / "f.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << ::dlerror();
  std::mt19937_64 random(7);
  int undefined = 0, defined = 0;
  for (int i = 0; i < count; ++i) {
    auto* f = reinterpret_cast<Function*>(::dlsym(library, ("f" + std::to_string(i)).c_str()));
    ASSERT_NE(f, nullptr);
    for (int round = 0; round < rounds; ++round) {
      const std::vector<std::int64_t> v = random_values(random);
      std::optional<std::int64_t> expected;
      try {
        expected = ir::evaluate_on_host(roots[static_cast<std::size_t>(i)], v, sms);
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::user) << error.what();
      }
      std::int64_t found = 0;
      const int bad =
          f(static_cast<std::int8_t>(v[0]), static_cast<std::int16_t>(v[1]), static_cast<std::int32_t>(v[2]), v[3],
            static_cast<std::uint8_t>(v[4]), static_cast<std::uint16_t>(v[5]), static_cast<std::uint32_t>(v[6]),
            static_cast<std::uint64_t>(v[7]), static_cast<std::uint8_t>(v[8]),
            std::bit_cast<float>(static_cast<std::uint32_t>(v[9])), &found);
      ++(expected ? defined : undefined);
      ASSERT_EQ(bad, expected ? 0 : 1) << ir::to_string(roots[static_cast<std::size_t>(i)]);
      if (expected) {
        ASSERT_EQ(found, *expected) << ir::to_string(roots[static_cast<std::size_t>(i)]);
      }
    }
  }
  ::dlclose(library);
  EXPECT_GT(undefined, count * rounds / 50);
  EXPECT_GT(defined, count * rounds / 2);
}

TEST_F(ExportExpr, RefusesWhatALaunchDoesNotKnow) {
  ir::Context context;
  exporter::CExpressions c({});
  const Error error = error_of([&] { c.text(context.expr.leaf(ExprKind::block_idx, DType::i32, 0)); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
}

TEST_F(ExportExpr, RefusesWhatGrowsWithoutBound) {
  ir::Context context;
  ir::ExprPool& pool = context.expr;
  const Expr* e = pool.leaf(ExprKind::param, DType::i32, 0);
  for (int i = 0; i < 40; ++i) e = pool.div(pool.add(e, e), pool.add(e, 1));
  exporter::CExpressions c({{"n", DType::i32}});
  c.count(e);
  const Error error = error_of([&] { c.text(e); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), ::testing::HasSubstr("too long an expression"));
}

}  // namespace
}  // namespace tessera::test
