// Every form of wgmma through NVRTC: types, sizes, operands in registers, majors and signs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/printer.hpp"
#include "cuda/wgmma_helpers.hpp"
#include "golden/builder.hpp"
#include "ir/thread_text.hpp"
#include "ir/wgmma_shape.hpp"
#include "jit/compiler.hpp"
#include "tessera/core/error.hpp"

namespace tessera::golden {
namespace {

struct Form {
  DType a, b, accumulator;
  bool registers = false, a_mn = false, b_mn = false, negate_a = false, negate_b = false;
};

constexpr DType operand_types[] = {DType::f16,    DType::bf16, DType::f32, DType::f8e4m3,
                                   DType::f8e5m2, DType::i8,   DType::u8};
constexpr DType accumulator_types[] = {DType::f32, DType::f16, DType::i32};

std::vector<Form> plain_forms() {
  std::vector<Form> out;
  for (const DType a : operand_types)
    for (const DType b : operand_types)
      for (const DType accumulator : accumulator_types)
        if (ir::wgmma_shape_error(a, b, accumulator, 64).empty()) out.push_back({a, b, accumulator});
  return out;
}

std::vector<Form> every_form() {
  std::vector<Form> out;
  for (const Form& plain : plain_forms()) {
    const bool half = size_of(plain.a) == 2, integer = plain.accumulator == DType::i32;
    for (const bool registers : {false, true})
      for (const bool a_mn : {false, true})
        for (const bool b_mn : {false, true})
          for (const bool negate_a : {false, true})
            for (const bool negate_b : {false, true}) {
              if (((a_mn || b_mn) && !half) || (a_mn && registers) || ((negate_a || negate_b) && integer)) continue;
              out.push_back({plain.a, plain.b, plain.accumulator, registers, a_mn, b_mn, negate_a, negate_b});
            }
  }
  return out;
}

// A warpgroup that executes the form twice, in a scope of its own whose condition no other has, and stores its results.
void add_wgmma(Builder& b, const Form& f, int n, std::uint32_t out, int scope) {
  ir::ExprPool& e = b.e();
  b.when(e.binary(ExprKind::gt, e.leaf(ExprKind::param, DType::i32, 1), b.i32(scope)), [&] {
    const auto elements = static_cast<std::uint32_t>(n / 2);
    const auto* d = b.regs("d", f.accumulator, elements);
    const ir::RegArray* a = nullptr;
    if (f.registers) {
      a = b.regs("a", f.a, 16U / static_cast<std::uint32_t>(size_of(f.a)));
      b.add<thread::LoadSharedVector>(b.ref(a, 0), 16 / size_of(f.a), b.shared(0));
    }
    const Expr* low = b.let("low", e.binary(ExprKind::shr, b.shared(1024), b.u32(4)));
    b.add<thread::WgmmaFence>();
    for (const bool first : {true, false}) {
      auto* s = b.add<thread::Wgmma>(f.a, f.b, f.accumulator, n, b.ref(d, 0));
      if (f.registers)
        s->a_registers = b.ref(a, 0);
      else
        s->a = {low, 0x40000040};
      s->b = {e.add(low, 64), 0x40000040};
      s->a_mn_major = f.a_mn;
      s->b_mn_major = f.b_mn;
      s->negate_a = f.negate_a;
      s->negate_b = f.negate_b;
      if (first) s->accumulate = e.boolean(false);
    }
    b.add<thread::WgmmaCommit>();
    b.add<thread::WgmmaWait>(0, std::vector{d});
    const auto* sum = b.regs("sum", DType::f32, 1);
    const Expr* total = e.cast(DType::f32, b.reg(d, 0));
    for (std::uint32_t i = 1; i < elements; ++i) total = e.add(total, e.cast(DType::f32, b.reg(d, i)));
    b.add<thread::WriteRegs>(b.ref(sum, 0), std::vector{total});
    b.add<thread::StoreGlobalVector>(b.ref(sum, 0), 1, out, e.cast(DType::i64, b.thread_idx()), nullptr);
  });
}

void expect_clean(Builder& b) {
  thread::verify(b.kernel);
  const jit::Compiled out = jit::compile(cuda::print(b.kernel), cuda::function_name(b.kernel));
  EXPECT_EQ(out.facts.spill_store_bytes + out.facts.spill_load_bytes, 0) << out.log;
  EXPECT_TRUE(out.facts.remarks.empty()) << out.log;
  EXPECT_THAT(out.log, testing::Not(testing::HasSubstr("Performance")));
}

Builder wgmma_kernel(const std::string& name, std::uint32_t* out) {
  Builder b(name, 4);
  b.kernel.shared_bytes = 65536;
  b.kernel.regions.push_back({"tile", 0, 65536, false, Builder::at(1)});
  *out = b.pointer("out", DType::f32, true);
  b.scalar("limit", DType::i32);
  return b;
}

class Wgmma : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (!jit::available(&reason)) GTEST_SKIP() << reason;
  }
};

TEST_F(Wgmma, EveryFormCompilesCleanly) {
  const std::vector<Form> forms = every_form();
  EXPECT_EQ(forms.size(), 2U * 24 + 24 + 8 + 8 * 8 + 4 * 2);
  std::uint32_t out = 0;
  for (std::size_t first = 0; first < forms.size(); first += 24) {
    Builder b = wgmma_kernel("forms", &out);
    for (std::size_t i = first; i < std::min(first + 24, forms.size()); ++i)
      add_wgmma(b, forms[i], 32, out, static_cast<int>(i));
    expect_clean(b);
  }
}

TEST_F(Wgmma, EverySizeCompilesCleanly) {
  std::uint32_t out = 0;
  for (const Form& f : {Form{DType::f16, DType::f16, DType::f32}, Form{DType::f16, DType::f16, DType::f16},
                        Form{DType::i8, DType::u8, DType::i32}}) {
    Builder b = wgmma_kernel("sizes", &out);
    int sizes = 0;
    for (int n = 8; n <= 256; n += 8) {
      if (!ir::is_wgmma_n(f.a, n)) continue;
      add_wgmma(b, f, n, out, n);
      ++sizes;
    }
    EXPECT_EQ(sizes, f.a == DType::i8 ? 18 : 32);
    expect_clean(b);
  }
}

// The table of sizes is the hardware's: the assembler refuses what it leaves out.
TEST_F(Wgmma, SizesThatIntegersLackAreRefusedByTheAssembler) {
  for (const int n : {40, 56, 248}) {
    EXPECT_FALSE(ir::is_wgmma_n(DType::i8, n));
    std::uint32_t out = 0;
    Builder b = wgmma_kernel("refused", &out);
    add_wgmma(b, {DType::f16, DType::f16, DType::f32}, n, out, 0);
    std::string text = cuda::print(b.kernel);
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    };
    replace("k16.f32.f16.f16", "k32.s32.s8.s8");
    replace(", p, 1, 1, 0, 0;", ", p;");
    replace("\"+f\"", "\"+r\"");
    replace("float* d", "int* d");
    replace("float d[", "int d[");
    replace("keep_float", "keep_int");
    replace("keep_int_" + std::to_string(n / 2) + "(float* r)", "keep_int_" + std::to_string(n / 2) + "(int* r)");
    EXPECT_THROW(static_cast<void>(jit::compile(text, cuda::function_name(b.kernel))), Error) << n;
  }
}

// A register that ordinary code reads before the wait makes ptxas insert a wait of its own, and it says so.
TEST_F(Wgmma, AWaitThatTheAssemblerInsertsIsARemark) {
  std::uint32_t out = 0;
  Builder b = wgmma_kernel("serialised", &out);
  ir::ExprPool& e = b.e();
  const auto* d = b.regs("d", DType::f32, 32);
  b.loop("k", 64, 1, 1, [&](const Expr*) {
    b.add<thread::WgmmaFence>();
    auto* s = b.add<thread::Wgmma>(DType::f16, DType::f16, DType::f32, 64, b.ref(d, 0));
    s->a = s->b = {e.binary(ExprKind::shr, b.shared(1024), b.u32(4)), 0x40000040};
    b.add<thread::WgmmaCommit>();
    b.add<thread::WriteRegs>(b.ref(d, 0), std::vector{e.add(b.reg(d, 0), e.real(DType::f32, 1))});
    b.add<thread::StoreGlobalVector>(b.ref(d, 0), 1, out, e.cast(DType::i64, b.thread_idx()), nullptr);
  });
  b.add<thread::WgmmaWait>(0, std::vector{d});
  const jit::Compiled compiled = jit::compile(cuda::print(b.kernel), cuda::function_name(b.kernel));
  ASSERT_FALSE(compiled.facts.remarks.empty()) << compiled.log;
  EXPECT_THAT(compiled.facts.remarks[0], testing::HasSubstr("(C7517)"));
}

TEST(WgmmaHelpers, NamesAreReservedAndOthersAreNot) {
  EXPECT_TRUE(cuda::is_wgmma_helper_name("wgmma_m64n128k16_f32_bf16_bf16"));
  EXPECT_TRUE(cuda::is_wgmma_helper_name("wgmma_m64n8k8_f32_tf32_tf32_ra_nega"));
  EXPECT_TRUE(cuda::is_wgmma_helper_name("keep_float_128"));
  for (const char* name : {"wgmma", "wgmma_m64n12k16_f32_bf16_bf16", "wgmma_m64n40k32_s32_s8_s8", "keep_float_0",
                           "wgmma_m64n64k32_f32_bf16_bf16", "wgmma_m64n64k16_f16_bf16_bf16", "keep_double_2"}) {
    EXPECT_FALSE(cuda::is_wgmma_helper_name(name)) << name;
    EXPECT_THROW(static_cast<void>(cuda::wgmma_helper(std::string("wgmma:") + name)), Error);
  }
}

}  // namespace
}  // namespace tessera::golden
