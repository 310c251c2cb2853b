// ldmatrix and mma.sync against their definitions (PTX ISA 9.7.14.5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

// Fills shared memory with element number i at byte 2i, loads with ldmatrix, and returns each thread's elements.
std::vector<std::uint16_t> run_ldmatrix(int matrices, bool transposed,
                                        const std::function<E(KernelBuilder&)>& row_address) {
  KernelBuilder b(1, 4096);
  const auto out = b.pointer(DType::u16, "out");
  const auto* fill = b.regs(DType::u16, 8, "fill");
  b.loop(b.i32(0), b.i32(8), b.i32(1), [&](E i) {
    const E first = b.let((i * 32 + b.lane()) * 8);
    std::vector<const Expr*> values;
    for (int j = 0; j < 8; ++j) values.push_back((first + j).cast(DType::u16));
    b.write(fill, 0, values);
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(fill), 8, b.shared(0) + (first * 2).cast(DType::u32));
  });
  const auto* a = b.regs(DType::u16, 8, "a");
  b.add<thread::LdMatrix>(SourceLoc::here(), b.ref(a), matrices, transposed, row_address(b));
  for (int i = 0; i < 2 * matrices; ++i) {
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a, i), 1, out, b.lane().cast(DType::i64) * 8 + i,
                                     nullptr);
  }
  std::vector<std::uint16_t> r(256);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  return r;
}

TEST(LdMatrix, EveryCountAndTransposition) {
  for (const int matrices : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      // Row r of matrix i lies in 16-byte chunk (37 * lane + 5) % 256 with lane = 8i + r.
      const auto r = run_ldmatrix(matrices, transposed, [](KernelBuilder& b) {
        return b.shared(0) + ((b.lane() * 37 + 5) % 256 * 16).cast(DType::u32);
      });
      for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < matrices; ++i) {
          for (int h = 0; h < 2; ++h) {
            int row = lane / 4, column = 2 * (lane % 4) + h;
            if (transposed) std::swap(row, column);
            const int chunk = ((8 * i + row) * 37 + 5) % 256;
            EXPECT_EQ(r[static_cast<std::size_t>(8 * lane + 2 * i + h)], chunk * 8 + column)
                << matrices << transposed << " lane " << lane;
          }
        }
      }
    }
  }
}

TEST(LdMatrix, RowsMustBeAlignedTo16Bytes) {
  try {
    run_ldmatrix(1, false, [](KernelBuilder& b) { return b.shared(0) + (b.lane() * 8).cast(DType::u32); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("must be a multiple of 16"));
    EXPECT_THAT(error.what(), HasSubstr("lane 1"));
  }
}

// Only the lanes that give row addresses count: those of the others may be anything.
TEST(LdMatrix, AddressesOfOtherLanesAreIgnored) {
  const auto r = run_ldmatrix(1, false, [](KernelBuilder& b) {
    return b.select(b.lane() < 8, b.shared(0) + (b.lane() * 16).cast(DType::u32), b.u32(1));
  });
  EXPECT_EQ(r[8 * 31], 7 * 8 + 6);
}

TEST(LdMatrix, UninitialisedRowsAreReported) {
  KernelBuilder b(1, 256);
  b.region("sb", 0, 256);
  const auto* a = b.regs(DType::f16, 2, "a");
  b.add<thread::LdMatrix>(SourceLoc::here(), b.ref(a), 1, false, b.shared(0) + (b.lane() % 8 * 16).cast(DType::u32));
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(), HasSubstr("uninitialised shared memory: byte 0 of tile sb"));
}

TEST(LdMatrix, NeedsTheWholeWarp) {
  KernelBuilder b(1, 256);
  const auto* a = b.regs(DType::f16, 2, "a");
  b.when(b.lane() < 8, [&] { b.add<thread::LdMatrix>(SourceLoc::here(), b.ref(a), 1, false, b.shared(0)); });
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("ldmatrix must be executed by a whole warp; here only 8 of 32 lanes"));
}

// stmatrix puts element h of matrix i in lane L to row L / 4, column 2 (L % 4) + h.
TEST(StMatrix, EveryCountAndTransposition) {
  for (const int matrices : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      KernelBuilder b(1, 1024);
      const auto out = b.pointer(DType::u16, "out");
      const auto* a = b.regs(DType::u16, 8, "a");
      std::vector<const Expr*> values;
      for (int j = 0; j < 8; ++j) values.push_back((b.lane() * 8 + j).cast(DType::u16));
      b.write(a, 0, values);
      b.add<thread::StMatrix>(SourceLoc::here(), b.ref(a), matrices, transposed,
                              b.shared(0) + ((b.lane() * 5 + 3) % 32 * 16).cast(DType::u32));
      b.loop(b.lane(), b.i32(64 * matrices), b.i32(32), [&](E i) {  // element i % 8 of row i / 8 % 8 of matrix i / 64
        const E row = (i / 8 * 5 + 3) % 32;
        b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1,
                                        b.shared(0) + (row * 16 + i % 8 * 2).cast(DType::u32));
        b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), 1, out, i.cast(DType::i64), nullptr);
      });
      std::vector<std::uint16_t> r(256);
      sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
      for (int i = 0; i < 64 * matrices; ++i) {
        int row = i / 8 % 8, column = i % 8;
        if (transposed) std::swap(row, column);
        const int lane = 4 * row + column / 2;
        EXPECT_EQ(r[static_cast<std::size_t>(i)], lane * 8 + 2 * (i / 64) + column % 2) << matrices << transposed;
      }
    }
  }
}

TEST(StMatrix, NeedsTheWholeWarp) {
  KernelBuilder b(1, 256);
  const auto* a = b.regs(DType::f16, 2, "a");
  b.when(b.lane() < 8, [&] { b.add<thread::StMatrix>(SourceLoc::here(), b.ref(a), 1, false, b.shared(0)); });
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("stmatrix must be executed by a whole warp; here only 8 of 32 lanes"));
}

// D = A B + C for one instruction: operands and result in row-major buffers, moved to the fragments element by element.
template <class T, class Acc>
void check_mma() {
  KernelBuilder b;
  const DType type = dtype_of<T>, acc_type = dtype_of<Acc>;
  const auto pa = b.pointer(type, "a"), pb = b.pointer(type, "b"), pc = b.pointer(acc_type, "c");
  const auto* a = b.regs(type, 8, "a");
  const auto* bb = b.regs(type, 4, "b");
  const auto* d = b.regs(acc_type, 4, "d");
  const E g = b.lane() / 4, q = b.lane() % 4;
  const auto c_offset = [&](int i) { return ((g + 8 * (i / 2)) * 8 + (q * 2 + i % 2)).cast(DType::i64); };
  for (int i = 0; i < 8; ++i) {
    const E row = g + 8 * (i / 2 % 2), k = q * 2 + (i % 2 + 8 * (i / 4));
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(a, i), 1, pa, (row * 16 + k).cast(DType::i64), nullptr);
  }
  for (int i = 0; i < 4; ++i) {
    const E k = q * 2 + (i % 2 + 8 * (i / 2));
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(bb, i), 1, pb, (k * 8 + g).cast(DType::i64), nullptr);
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(d, i), 1, pc, c_offset(i), nullptr);
  }
  b.add<thread::MmaSync>(SourceLoc::here(), type, acc_type, b.ref(d), b.ref(a), b.ref(bb));
  for (int i = 0; i < 4; ++i)
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(d, i), 1, pc, c_offset(i), nullptr);

  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<T> x(256), y(128);
  std::vector<Acc> z(128);
  for (T& v : x) v = T(normal(random));
  for (T& v : y) v = T(normal(random));
  for (Acc& v : z) v = Acc(normal(random));
  std::vector<Acc> expected = z;
  for (std::size_t m = 0; m < 16; ++m) {
    for (std::size_t n = 0; n < 8; ++n) {
      float sum = static_cast<float>(z[8 * m + n]);
      for (std::size_t k = 0; k < 16; ++k) sum += static_cast<float>(x[16 * m + k]) * static_cast<float>(y[8 * k + n]);
      expected[8 * m + n] = Acc(sum);
    }
  }
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(x), buffer(y), buffer(z)}, options());
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(static_cast<float>(z[i]), static_cast<float>(expected[i]))
        << name_of(type) << " into " << name_of(acc_type) << " " << i;
  }
}

TEST(Mma, AgreesWithTheDefinition) {
  check_mma<float16, float>();
  check_mma<bfloat16, float>();
  check_mma<float16, float16>();
}

}  // namespace
}  // namespace tessera::testing
