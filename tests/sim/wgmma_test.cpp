// wgmma against its definition (PTX ISA 9.7.15.5): every operand type, major and swizzle, from shared memory and
// registers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "wgmma_kernel.hpp"

namespace tessera::testing {
namespace {

// Operands and result as numbers and as bytes.
struct WgmmaData {
  WgmmaPlan plan;
  std::vector<double> a, b, c;
  std::vector<std::byte> image, a_bytes, c_bytes;

  WgmmaData(const WgmmaKernel& kernel, int seed) : plan(kernel.plan), image(kernel.image_bytes, std::byte{0}) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const bool integers = plan.accumulator == DType::i32;
    const auto draw = [&](DType type) -> double {
      if (type == DType::i8) return std::uniform_int_distribution<int>(-128, 127)(random);
      if (type == DType::u8) return std::uniform_int_distribution<int>(0, 255)(random);
      return std::uniform_int_distribution<int>(-4, 4)(random) * 0.5;
    };
    const int depth = plan.depth();
    for (int i = 0; i < 64 * depth; ++i) a.push_back(draw(plan.a_type));
    for (int i = 0; i < plan.n * depth; ++i) b.push_back(draw(plan.b_type));
    for (int i = 0; i < 64 * plan.n; ++i) c.push_back(integers ? i * 1000 : i % 17 - 8);
    place(plan.a, plan.a_type, a, 64);
    place(plan.b, plan.b_type, b, plan.n);
    for (const double v : a) put(a_bytes, plan.a_type, v);
    for (const double v : c) put(c_bytes, plan.accumulator, v);
  }
  static std::uint32_t raw(DType type, double v) {
    static std::map<std::pair<DType, double>, std::uint32_t> known;
    const auto [it, added] = known.try_emplace({type, v}, 0);
    if (added) it->second = encode(type, v);
    return it->second;
  }
  static void put(std::vector<std::byte>& to, DType type, double v) {
    const std::uint32_t bits = raw(type, v);
    const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
    to.insert(to.end(), bytes, bytes + size_of(type));
  }
  void place(const OperandPlace& where, DType type, const std::vector<double>& values, int rows) {
    const int depth = plan.depth();
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < depth; ++k) {
        std::uint32_t bits = raw(type, values[static_cast<std::size_t>(row * depth + k)]);
        if (type == DType::f32) bits |= 0x1abcU;  // what tf32 drops
        std::memcpy(image.data() + where.offset + where.at(row, k), &bits, static_cast<std::size_t>(size_of(type)));
      }
    }
  }
  std::vector<sim::Argument> arguments() { return {buffer(image), buffer(a_bytes), buffer(c_bytes)}; }
  void check(const std::string& what) const {
    const double sign = plan.negate_a != plan.negate_b ? -1 : 1;
    const int depth = plan.depth();
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < plan.n; ++column) {
        double sum = plan.accumulate ? c[static_cast<std::size_t>(row * plan.n + column)] : 0;
        for (int k = 0; k < depth; ++k) {
          sum += sign * a[static_cast<std::size_t>(row * depth + k)] * b[static_cast<std::size_t>(column * depth + k)];
        }
        std::uint32_t bits = 0;
        const int size = size_of(plan.accumulator);
        std::memcpy(&bits, c_bytes.data() + (row * plan.n + column) * size, static_cast<std::size_t>(size));
        ASSERT_EQ(decode(plan.accumulator, bits), sum) << what << " row " << row << " column " << column;
      }
    }
  }
};

void check(const WgmmaPlan& plan, const char* schedule = "eager") {
  WgmmaKernel kernel(plan);
  kernel.all();
  WgmmaData data(kernel, plan.n + plan.steps);
  sim::run(kernel.b.kernel, data.arguments(), options(schedule));
  data.check(std::string(name_of(plan.a_type)) + " " + name_of(plan.b_type) + " n " + std::to_string(plan.n) +
             " swizzles " + std::to_string(plan.a.swizzle) + std::to_string(plan.b.swizzle) + " majors " +
             std::to_string(plan.a.mn_major) + std::to_string(plan.b.mn_major) + " " + schedule);
}

TEST(Wgmma, EveryMajorAndSwizzle) {
  for (const bool a_mn : {false, true}) {
    for (const bool b_mn : {false, true}) {
      for (int swizzle = 0; swizzle < 4; ++swizzle) {
        for (const bool k_first : {true, false}) {
          if (swizzle != 0 && !k_first) continue;
          WgmmaPlan plan;
          plan.steps = 4;
          plan.n = 64;
          plan.a.mn_major = a_mn;
          plan.b.mn_major = b_mn;
          plan.a.swizzle = swizzle;
          plan.b.swizzle = (swizzle + (a_mn ? 1 : 0)) % 4;
          plan.a.k_first = plan.b.k_first = k_first;
          check(plan);
        }
      }
    }
  }
}

TEST(Wgmma, EveryWidth) {
  for (const int n : {8, 24, 96, 256}) {
    for (const char* schedule : all_schedules) {
      WgmmaPlan plan;
      plan.n = n;
      plan.steps = 4;
      check(plan, schedule);
    }
  }
}

TEST(Wgmma, EveryType) {
  struct Types {
    DType a, b, accumulator;
  };
  for (const auto& [a, b, accumulator] : {Types{DType::bf16, DType::bf16, DType::f32},
                                          {DType::f16, DType::f16, DType::f16},
                                          {DType::f32, DType::f32, DType::f32},
                                          {DType::f8e4m3, DType::f8e4m3, DType::f32},
                                          {DType::f8e5m2, DType::f8e4m3, DType::f32},
                                          {DType::f8e4m3, DType::f8e5m2, DType::f16},
                                          {DType::f8e5m2, DType::f8e5m2, DType::f32},
                                          {DType::i8, DType::i8, DType::i32},
                                          {DType::u8, DType::i8, DType::i32},
                                          {DType::i8, DType::u8, DType::i32},
                                          {DType::u8, DType::u8, DType::i32}}) {
    for (const bool registers : {false, true}) {
      if (registers && a == DType::f32) continue;  // the register form of tf32 would hold the dropped bits, too
      for (int swizzle = 0; swizzle < 4; ++swizzle) {
        WgmmaPlan plan;
        plan.a_type = a;
        plan.b_type = b;
        plan.accumulator = accumulator;
        plan.registers = registers;
        plan.n = 24;
        plan.steps = 4;
        plan.a.swizzle = plan.b.swizzle = swizzle;
        check(plan);
      }
    }
  }
}

TEST(Wgmma, FromRegisters) {
  for (const char* schedule : all_schedules) {
    for (const DType type : {DType::f16, DType::f32}) {
      WgmmaPlan plan;
      plan.a_type = plan.b_type = type;
      plan.registers = true;
      plan.n = 96;
      plan.steps = 2;
      plan.b.mn_major = type == DType::f16;
      plan.b.swizzle = 2;  // blocks of 32 columns
      check(plan, schedule);
    }
  }
}

TEST(Wgmma, WithoutAccumulatorsAndNegated) {
  for (const bool accumulate : {false, true}) {
    for (const bool negate_a : {false, true}) {
      for (const bool negate_b : {false, true}) {
        WgmmaPlan plan;
        plan.steps = 2;
        plan.n = 16;
        plan.accumulate = accumulate;
        plan.negate_a = negate_a;
        plan.negate_b = negate_b;
        check(plan, "lazy");
      }
    }
  }
}

TEST(Wgmma, IntegersWrap) {
  WgmmaPlan plan;
  plan.a_type = plan.b_type = DType::u8;
  plan.accumulator = DType::i32;
  plan.n = 8;
  WgmmaKernel kernel(plan);
  kernel.all();
  WgmmaData data(kernel, 1);
  std::fill(data.image.begin(), data.image.end(), std::byte{255});
  for (std::size_t i = 0; i < data.c_bytes.size(); i += 4) {
    const std::int32_t largest = 0x7fffffff;
    std::memcpy(data.c_bytes.data() + i, &largest, 4);
  }
  sim::run(kernel.b.kernel, data.arguments(), options());
  std::int32_t found = 0;
  std::memcpy(&found, data.c_bytes.data(), 4);
  EXPECT_EQ(found, INT32_MIN + 32 * 255 * 255 - 1);
}

// Sums round after each product, in the order of k.
TEST(Wgmma, SumsRoundInOrder) {
  WgmmaPlan plan;
  plan.n = 40;
  plan.steps = 4;
  plan.accumulate = false;
  WgmmaKernel kernel(plan);
  kernel.all();
  WgmmaData data(kernel, 1);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (auto* values : {&data.a, &data.b}) {
    for (double& v : *values) v = static_cast<double>(static_cast<float>(float16(normal(random))));
  }
  data.place(data.plan.a, DType::f16, data.a, 64);
  data.place(data.plan.b, DType::f16, data.b, 40);
  sim::run(kernel.b.kernel, data.arguments(), options("random:9"));
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 40; ++column) {
      float sum = 0;
      for (int k = 0; k < 64; ++k) {
        sum += static_cast<float>(data.a[static_cast<std::size_t>(64 * row + k)]) *
               static_cast<float>(data.b[static_cast<std::size_t>(64 * column + k)]);
      }
      float found = 0;
      std::memcpy(&found, data.c_bytes.data() + 4 * (row * 40 + column), 4);
      ASSERT_EQ(found, sum) << row << " " << column;
    }
  }
}

// The warps of the second warpgroup have rows of their own, too.
TEST(Wgmma, TwoWarpgroups) {
  WgmmaPlan plan;
  plan.n = 32;
  plan.steps = 2;
  WgmmaKernel kernel(plan, 8);
  kernel.fill();
  kernel.load();
  kernel.fence();
  for (int step = 0; step < 2; ++step) kernel.multiply(step);
  kernel.commit();
  kernel.wait(0);
  kernel.b.when(kernel.b.warp() >= 4, [&] { kernel.store(); });
  WgmmaData data(kernel, 5);
  sim::run(kernel.b.kernel, data.arguments(), options("random:2"));
  data.check("second warpgroup");
}

}  // namespace
}  // namespace tessera::testing
