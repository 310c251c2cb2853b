// The thread IR's dump and its verifier: every rule has a program that breaks it.
#include "ir/thread_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "golden/builder.hpp"
#include "golden/kernels.hpp"
#include "ir/tile.hpp"
#include "tessera/core/error.hpp"

namespace tessera::golden {
namespace {

using testing::HasSubstr;

class ThreadText : public testing::TestWithParam<Case> {};

TEST_P(ThreadText, IsAsExpected) {
  const std::string text = thread::to_string(GetParam().make(), true);
  const std::string path = std::string(TESSERA_GOLDEN_DIR) + "/" + GetParam().name + ".thread";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << "if the change is wanted, run with UPDATE_GOLDEN=1";
}

TEST_P(ThreadText, WithoutLocationsNamesNoFile) {
  EXPECT_THAT(thread::to_string(GetParam().make(), false), testing::Not(HasSubstr("kernels.cpp")));
}

TEST_P(ThreadText, ObeysTheRules) { EXPECT_NO_THROW(thread::verify(GetParam().make())); }

INSTANTIATE_TEST_SUITE_P(Golden, ThreadText, testing::ValuesIn(cases()), [](const auto& c) { return c.param.name; });

// What verify says about a small program after `spoil` has changed it.
std::string complaint(const std::function<void(Builder&)>& spoil) {
  Builder b("spoiled", 4);
  b.kernel.shared_bytes = 4096;
  b.pointer("out", DType::f32, true);
  b.scalar("n", DType::i32);
  const auto* r = b.regs("r", DType::f32, 4);
  b.add<thread::StoreGlobalVector>(b.ref(r, 0), 4, 0U, b.e().i64(0), nullptr);
  b.line(77);
  spoil(b);
  try {
    thread::verify(b.kernel);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "";
}

thread::TensorMap map_of(Builder& b) {
  thread::TensorMap map;
  map.name = "m";
  map.param = 0;
  map.type = DType::f16;
  map.base_offset = b.e().i64(0);
  map.dims = {b.e().i64(64), b.e().i64(64)};
  map.strides_bytes = {b.e().i64(128)};
  map.box = {64, 8};
  map.swizzle = thread::Swizzle::b128;
  return map;
}

// A wgmma that obeys the rules, for tests to spoil.
thread::Wgmma* wgmma_of(Builder& b, DType type = DType::bf16, DType accumulator = DType::f32, int n = 64) {
  const auto* d = b.regs("d", accumulator, static_cast<std::uint32_t>(n / 2));
  auto* s = b.add<thread::Wgmma>(type, type, accumulator, n, b.ref(d, 0));
  s->a = s->b = {b.u32(0x10000), 0x40000040};
  return s;
}
void in_cluster(Builder& b) {
  b.kernel.cluster = {2, 1, 1};
  b.kernel.tensor_maps.push_back(map_of(b));
}

struct Broken {
  const char* rule;
  const char* says;
  std::function<void(Builder&)> spoil;
};

class Rule : public testing::TestWithParam<Broken> {};

TEST_P(Rule, IsChecked) {
  EXPECT_EQ(complaint([](Builder&) {}), "");
  const std::string text = complaint(GetParam().spoil);
  EXPECT_THAT(text, HasSubstr(std::string("rule ") + GetParam().rule + ":"));
  EXPECT_THAT(text, HasSubstr(GetParam().says));
}

const std::vector<Broken>& broken() {
  static const std::vector<Broken> all = {
      {"K1", "33 warps", [](Builder& b) { b.kernel.warps = 33; }},
      {"K1", "17 CTAs an SM of 4 warps", [](Builder& b) { b.kernel.ctas_per_sm = 17; }},
      {"K1", "232449 bytes", [](Builder& b) { b.kernel.shared_bytes = 232449; }},
      {"T4", "a flag in memory of float32",
       [](Builder& b) { b.add<thread::WaitFlag>(0U, b.e().i64(0), b.u32(1), false); }},
      {"T4", "a flag in memory of float32",
       [](Builder& b) { b.add<thread::SignalFlag>(0U, b.e().i64(0), b.u32(1), false); }},
      {"T5", "the flag's value",
       [](Builder& b) {
         b.add<thread::WaitFlag>(b.pointer("flags", DType::u32, false), b.e().i64(0), b.i32(1), false);
       }},
      {"T5", "the offset",
       [](Builder& b) { b.add<thread::SignalFlag>(b.pointer("flags", DType::u32, true), b.i32(0), b.u32(1), true); }},
      {"K5", "parameter 2 is stored to but not listed",
       [](Builder& b) {
         b.add<thread::SignalFlag>(b.pointer("flags", DType::u32, false), b.e().i64(0), b.u32(1), true);
       }},
      {"K2", "not known at launch", [](Builder& b) { b.kernel.grid[0] = b.e().cast(DType::i64, b.thread_idx()); }},
      {"K2", "is int32, not int64", [](Builder& b) { b.kernel.grid[1] = b.i32(1); }},
      {"K2", "a view's size is missing",
       [](Builder& b) {
         b.kernel.views.push_back({"v", 0, DType::f32, {}, nullptr, {}});
       }},
      {"K3", "ends at 4100",
       [](Builder& b) {
         b.kernel.regions.push_back({"a", 4000, 100, false, {}});
       }},
      {"K3", "overlaps 'a'",
       [](Builder& b) {
         b.kernel.regions = {{"a", 0, 64, false, {}}, {"bar", 56, 8, true, {}}};
       }},
      {"K4", "box extent of 257",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.kernel.tensor_maps[0].box[1] = 257;
       }},
      {"K4", "under a 64-byte swizzle",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.kernel.tensor_maps[0].swizzle = thread::Swizzle::b64;
       }},
      {"K4", "innermost box of 24 bytes",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.kernel.tensor_maps[0].box[0] = 12;
       }},
      {"K4", "2 strides for rank 2",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.kernel.tensor_maps[0].strides_bytes.push_back(b.e().i64(8));
       }},
      {"K5", "not listed as written", [](Builder& b) { b.kernel.written_params.clear(); }},
      {"S1", "outside its scope",
       [](Builder& b) {
         const Expr* inner = nullptr;
         b.when(b.e().boolean(true), [&] { inner = b.let("inner", b.thread_idx()); });
         b.let("outer", inner);
       }},
      {"S1", "defined twice",
       [](Builder& b) {
         const auto* v = b.kernel.context->new_value(DType::i32, "v", {});
         b.add<control::Let>(v, b.i32(1));
         b.add<control::Let>(v, b.i32(2));
       }},
      {"S1", "array 'late'",
       [](Builder& b) {
         const auto* late = b.kernel.context->new_regs(DType::f32, 1, "late", {});
         b.add<thread::WriteRegs>(b.ref(late, 0), std::vector{b.e().real(DType::f32, 0)});
       }},
      {"S2", "break outside", [](Builder& b) { b.add<control::Break>(); }},
      {"S2", "continue outside", [](Builder& b) { b.add<control::Continue>(); }},
      {"S3", "tile IR", [](Builder& b) { b.add<ir::tile::Sync>(); }},
      {"S3", "tile IR", [](Builder& b) { b.let("x", b.e().leaf(ExprKind::index, DType::i32, 0)); }},
      {"T1", "the mask",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f32, 1);
         b.add<thread::StoreGlobalVector>(b.ref(r, 0), 1, 0U, b.e().i64(0), b.i32(1));
       }},
      {"T2", "is int32, not float32",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f32, 1);
         b.add<thread::WriteRegs>(b.ref(r, 0), std::vector{b.thread_idx()});
       }},
      {"T3", "not positive", [](Builder& b) { b.loop("i", 4, 1, 1, [](const Expr*) {})->step = b.i32(0); }},
      {"T4", "not a scalar parameter", [](Builder& b) { b.let("x", b.e().leaf(ExprKind::param, DType::i64, 1)); }},
      {"T4", "through a pointer to float32",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::i32, 1);
         b.add<thread::LoadGlobalVector>(b.ref(r, 0), 1, 0U, b.e().i64(0), nullptr);
       }},
      {"T4", "parameter 1 is not a pointer",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::i32, 1);
         b.add<thread::LoadGlobalVector>(b.ref(r, 0), 1, 1U, b.e().i64(0), nullptr);
       }},
      {"T5", "the offset",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f32, 1);
         b.add<thread::LoadGlobalVector>(b.ref(r, 0), 1, 0U, b.i32(0), nullptr);
       }},
      {"T5", "the shared address", [](Builder& b) { b.add<thread::MbarrierInit>(b.i32(0), 1U); }},
      {"R1", "elements 2 to 5",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f32, 4);
         b.add<thread::LoadSharedVector>(b.ref(r, 2), 4, b.shared());
       }},
      {"R2", "moves 12 bytes",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f32, 4);
         b.add<thread::LoadSharedVector>(b.ref(r, 0), 3, b.shared());
       }},
      {"R3", "within a 32-bit register",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f16, 10);
         b.add<thread::LdMatrix>(b.ref(r, 1), 4, false, b.shared());
       }},
      {"R3", "of float32 elements",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f32, 8);
         b.add<thread::LdMatrix>(b.ref(r, 0), 4, false, b.shared());
       }},
      {"I1", "3 matrices",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f16, 8);
         b.add<thread::LdMatrix>(b.ref(r, 0), 3, false, b.shared());
       }},
      {"I1", "bfloat16 into bfloat16",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::bf16, 8);
         b.add<thread::MmaSync>(DType::bf16, DType::bf16, b.ref(r, 0), b.ref(r, 0), b.ref(r, 0));
       }},
      {"I2", "barrier 16", [](Builder& b) { b.add<thread::BarrierSync>(16, 32); }},
      {"I2", "160 threads in a CTA of 128", [](Builder& b) { b.add<thread::BarrierSync>(1, 160); }},
      {"I2", "48 threads", [](Builder& b) { b.add<thread::BarrierSync>(1, 48); }},
      {"I3", "count of 0", [](Builder& b) { b.add<thread::MbarrierInit>(b.shared(), 0U); }},
      {"I3", "1048576 bytes", [](Builder& b) { b.add<thread::MbarrierArriveExpectTx>(b.shared(), b.u32(1 << 20)); }},
      {"I3", "neither 0 nor 1", [](Builder& b) { b.add<thread::MbarrierWait>(b.shared(), b.u32(2)); }},
      {"I4", "no tensor map 0",
       [](Builder& b) { b.add<thread::TmaLoadBox>(0U, b.shared(), std::vector{b.i32(0)}, b.shared(128)); }},
      {"I4", "1 coordinates for a tensor map of rank 2",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.add<thread::TmaLoadBox>(0U, b.shared(), std::vector{b.i32(0)}, b.shared(128));
       }},
      {"K1", "a cluster of 4 x 5 x 1",
       [](Builder& b) {
         b.kernel.cluster = {4, 5, 1};
       }},
      {"K1", "a cluster of 0 x 1 x 1", [](Builder& b) { b.kernel.cluster[0] = 0; }},
      {"K5", "parameter 2 is stored to",
       [](Builder& b) {
         b.pointer("halves", DType::f16, false);
         b.kernel.tensor_maps.push_back(map_of(b));
         b.kernel.tensor_maps[0].param = 2;
         b.add<thread::TmaStoreBox>(0U, b.shared(), std::vector{b.i32(0), b.i32(0)}, false);
       }},
      {"S3", "sm_count", [](Builder& b) { b.let("x", b.e().leaf(ExprKind::sm_count, DType::i32)); }},
      {"S1", "array 'late'",
       [](Builder& b) {
         const ir::RegArray* late = b.kernel.context->new_regs(DType::f32, 1, "late", {});
         b.add<thread::WgmmaWait>(0, std::vector{late});
       }},
      {"T1", "the mask", [](Builder& b) { wgmma_of(b)->accumulate = b.i32(1); }},
      {"T5", "the low word", [](Builder& b) { wgmma_of(b)->a.low = b.i32(1); }},
      {"T5", "the rank of the CTA",
       [](Builder& b) {
         in_cluster(b);
         b.add<thread::MbarrierArrive>(b.shared(), 1U, b.i32(0));
       }},
      {"T6", "computes with float8_e4m3",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f8e4m3, 4);
         b.add<thread::WriteRegs>(b.ref(r, 0), std::vector{b.e().add(b.reg(r, 0), b.reg(r, 1))});
       }},
      {"T6", "computes with float8_e5m2",
       [](Builder& b) {
         const auto* r = b.regs("q", DType::f8e5m2, 4);
         b.let("x", b.e().binary(ExprKind::lt, b.reg(r, 0), b.reg(r, 1)));
       }},
      {"R1", "elements 0 to 31", [](Builder& b) { wgmma_of(b, DType::bf16, DType::f32, 32)->n = 64; }},
      {"R3", "operand a of wgmma is of float16",
       [](Builder& b) {
         const auto* a = b.regs("a", DType::f16, 8);
         auto* s = wgmma_of(b);
         s->a_registers = b.ref(a, 0);
         s->a = {};
       }},
      {"R3", "begins at element '2'",
       [](Builder& b) {
         const auto* a = b.regs("a", DType::i8, 20);
         auto* s = wgmma_of(b, DType::i8, DType::i32);
         s->a_registers = b.ref(a, 2);
         s->a = {};
       }},
      {"R3", "the source of stmatrix",
       [](Builder& b) { b.add<thread::StMatrix>(b.ref(b.regs("q", DType::f32, 8), 0), 4, false, b.shared()); }},
      {"I1", "stmatrix of 3 matrices",
       [](Builder& b) { b.add<thread::StMatrix>(b.ref(b.regs("q", DType::f16, 8), 0), 3, false, b.shared()); }},
      {"I2", "barrier 0", [](Builder& b) { b.add<thread::BarrierArrive>(0, 128); }},
      {"I2", "160 threads in a CTA of 128", [](Builder& b) { b.add<thread::BarrierArrive>(1, 160); }},
      {"I4", "no tensor map 0", [](Builder& b) { b.add<thread::TmaPrefetchBox>(0U, std::vector{b.i32(0)}); }},
      {"I4", "no tensor map 7", [](Builder& b) { b.add<thread::PrefetchTensorMap>(7U); }},
      {"I4", "a reduction of int8",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.kernel.tensor_maps[0].type = DType::i8;
         b.add<thread::TmaStoreBox>(0U, b.shared(), std::vector{b.i32(0), b.i32(0)}, true);
       }},
      {"I4", "a wait for -1", [](Builder& b) { b.add<thread::TmaWait>(-1, true); }},
      {"I6", "bfloat16 and bfloat16 into float16", [](Builder& b) { wgmma_of(b, DType::bf16, DType::f16); }},
      {"I6", "with n = 260", [](Builder& b) { wgmma_of(b, DType::bf16, DType::f32, 260); }},
      {"I6", "of int8 with n = 40", [](Builder& b) { wgmma_of(b, DType::i8, DType::i32, 40); }},
      {"I6", "both in registers and in shared memory",
       [](Builder& b) { wgmma_of(b)->a_registers = b.ref(b.regs("a", DType::bf16, 8), 0); }},
      {"I6", "an MN-major operand a in registers",
       [](Builder& b) {
         const auto* a = b.regs("a", DType::bf16, 8);
         auto* s = wgmma_of(b);
         s->a_registers = b.ref(a, 0);
         s->a = {};
         s->a_mn_major = true;
       }},
      {"I6", "an MN-major operand of float8_e4m3", [](Builder& b) { wgmma_of(b, DType::f8e4m3)->b_mn_major = true; }},
      {"I6", "negates integers", [](Builder& b) { wgmma_of(b, DType::u8, DType::i32)->negate_b = true; }},
      {"I6", "the high word 0x40024000 of operand b", [](Builder& b) { wgmma_of(b)->b.high = 0x40024000; }},
      {"I6", "wgmma in a CTA of 3 warps",
       [](Builder& b) {
         b.kernel.warps = 3;
         wgmma_of(b);
       }},
      {"I6", "wait_group 8", [](Builder& b) { b.add<thread::WgmmaWait>(8, std::vector<const ir::RegArray*>{}); }},
      {"I7", "setmaxnreg 20", [](Builder& b) { b.add<thread::SetMaxRegisters>(20, false); }},
      {"I7", "setmaxnreg 100", [](Builder& b) { b.add<thread::SetMaxRegisters>(100, true); }},
      {"I7", "setmaxnreg in a CTA of 3 warps",
       [](Builder& b) {
         b.kernel.warps = 3;
         b.add<thread::SetMaxRegisters>(40, false);
       }},
      {"I8", "a multicast without a cluster",
       [](Builder& b) {
         b.kernel.tensor_maps.push_back(map_of(b));
         b.add<thread::TmaLoadBox>(0U, b.shared(), std::vector{b.i32(0), b.i32(0)}, b.shared(2048))->multicast =
             b.u32(1);
       }},
      {"I8", "a multicast to CTAs 0x7 of a cluster of 2",
       [](Builder& b) {
         in_cluster(b);
         b.add<thread::TmaLoadBox>(0U, b.shared(), std::vector{b.i32(0), b.i32(0)}, b.shared(2048))->multicast =
             b.u32(7);
       }},
      {"I8", "without a cluster", [](Builder& b) { b.add<thread::MbarrierArrive>(b.shared(), 1U, b.u32(0)); }},
      {"I8", "CTA 2 of a cluster of 2",
       [](Builder& b) {
         in_cluster(b);
         b.add<thread::MbarrierArrive>(b.shared(), 1U, b.u32(2));
       }},
      {"I8", "a load from another CTA without a cluster",
       [](Builder& b) {
         b.add<thread::LoadSharedVector>(b.ref(b.regs("r", DType::u32, 1), 0), 1, b.shared(), b.u32(0));
       }},
      {"I8", "a store to CTA 2 of a cluster of 2",
       [](Builder& b) {
         in_cluster(b);
         b.add<thread::StoreSharedVector>(b.ref(b.regs("r", DType::u32, 1), 0), 1, b.shared(), nullptr, b.u32(2));
       }},
      {"T5", "the rank of the CTA",
       [](Builder& b) {
         in_cluster(b);
         b.add<thread::LoadSharedVector>(b.ref(b.regs("r", DType::u32, 1), 0), 1, b.shared(), b.i32(0));
       }},
      {"R1", "a checked index that is not i32",
       [](Builder& b) { b.add<thread::CheckIndex>(b.u32(0), std::int64_t{4}, "element", "", "", SourceLoc()); }},
      {"R1", "an index into nothing",
       [](Builder& b) { b.add<thread::CheckIndex>(b.i32(0), std::int64_t{0}, "element", "", "", SourceLoc()); }},
      {"I5", "no lane", [](Builder& b) { b.add<thread::WarpSync>(0U); }},
      {"I5", "1 pieces for 1 arguments",
       [](Builder& b) { b.add<thread::PrintThread>(std::vector<std::string>{"x"}, std::vector{b.thread_idx()}); }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Thread, Rule, testing::ValuesIn(broken()),
                         [](const auto& c) { return c.param.rule + std::string("_") + std::to_string(c.index); });

TEST(ThreadVerifier, AcceptsWhatTheRulesAllow) {
  EXPECT_EQ(complaint([](Builder& b) {
              in_cluster(b);
              for (const int n : {8, 24, 248, 256}) wgmma_of(b, DType::bf16, DType::f32, n);
              for (const int n : {8, 24, 32, 48, 256}) wgmma_of(b, DType::i8, DType::i32, n);
              wgmma_of(b, DType::f8e4m3, DType::f16)->b_type = DType::f8e5m2;
              wgmma_of(b)->a_mn_major = true;
              const auto* a = b.regs("a", DType::f32, 4);
              auto* s = wgmma_of(b, DType::f32);
              s->a_registers = b.ref(a, 0);
              s->a = {};
              b.add<thread::MbarrierArrive>(b.shared(), 1U, b.u32(1));
              b.add<thread::SetMaxRegisters>(256, true);
              const auto* q = b.regs("q", DType::f8e4m3, 1);
              const Expr* x = b.reg(q, 0);
              b.add<thread::WriteRegs>(b.ref(q, 0), std::vector{b.e().select(b.e().boolean(true), x, x)});
            }),
            "");
}

TEST(ThreadVerifier, ListsEveryBrokenRuleWithItsLine) {
  const std::string text = complaint([](Builder& b) {
    b.add<control::Break>();
    b.line(78).add<thread::WarpSync>(0U);
  });
  EXPECT_THAT(text, HasSubstr("kernels.cpp:77"));
  EXPECT_THAT(text, HasSubstr("kernels.cpp:78"));
  EXPECT_THAT(text, HasSubstr("rule S2"));
  EXPECT_THAT(text, HasSubstr("rule I5"));
}

}  // namespace
}  // namespace tessera::golden
