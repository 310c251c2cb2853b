// Warpgroup instructions, clusters and 8-bit floats on the card, against the simulated Hopper and the host's
// arithmetic. The simulated half runs everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden/buffers.hpp"
#include "golden/builder.hpp"
#include "golden/kernels.hpp"
#include "gpu/harness.hpp"
#include "ir/thread_text.hpp"
#include "ir/wgmma_shape.hpp"

namespace tessera::gpu_tests {
namespace {

using namespace golden;  // NOLINT(google-build-using-namespace)

// Strides in bytes and the descriptor's code for the swizzle of an operand that lies within 8 KiB (PTX ISA 9.7.15.5.1).
struct Placement {
  const char* name;
  bool mn_major;
  std::uint32_t leading, stride, swizzle;
};
constexpr Placement placements[] = {{"K-major 128", false, 16, 1024, 1},   {"K-major 64", false, 16, 512, 2},
                                    {"K-major 32", false, 16, 256, 3},     {"K-major none", false, 128, 256, 0},
                                    {"MN-major 128", true, 2048, 1024, 1}, {"MN-major 64", true, 1024, 512, 2},
                                    {"MN-major 32", true, 512, 256, 3},    {"MN-major none", true, 1024, 128, 0}};

struct Form {
  DType a, b, accumulator;
  int n = 32;
  Placement a_place = placements[0], b_place = placements[0];
  bool registers = false, negate_a = false, negate_b = false;

  std::string name() const {
    return std::string(name_of(a)) + " * " + name_of(b) + " -> " + name_of(accumulator) + ", n " + std::to_string(n) +
           ", a " + (registers ? "registers" : a_place.name) + ", b " + b_place.name + (negate_a ? ", -a" : "") +
           (negate_b ? ", -b" : "");
  }
};

constexpr std::int64_t operand_bytes = 8192, in_bytes = 2 * operand_bytes;

// out[thread][n / 2] = 1 + 2 a * b, with a and b as the bytes of `in` happen to lie, 8 KiB each.
thread::Kernel wgmma_kernel(const Form& f) {
  Builder b("wgmma_form", 4);
  ir::ExprPool& e = b.e();
  b.kernel.shared_bytes = in_bytes;
  b.kernel.regions = {{"operands", 0, in_bytes, false, Builder::at(1)}};
  const auto in = b.pointer("in", DType::u32, false), out = b.pointer("out", f.accumulator, true);
  const auto* r = b.regs("r", DType::u32, 4);
  b.loop("i", in_bytes, 2048, 0, [&](const Expr* i) {
    const Expr* at = e.add(e.mul(b.thread_idx(), 16), i);
    b.add<thread::LoadGlobalVector>(b.ref(r, 0), 4, in, e.cast(DType::i64, e.div(at, 4)), nullptr);
    b.add<thread::StoreSharedVector>(b.ref(r, 0), 4, e.add(b.shared(), e.cast(DType::u32, at)));
  });
  b.add<thread::Fence>(thread::FenceKind::proxy_async_shared, "");
  b.add<thread::BarrierSync>(0, 128);
  const auto* d = b.regs("d", f.accumulator, static_cast<std::uint32_t>(f.n / 2));
  const Expr* one = is_float(f.accumulator) ? e.real(f.accumulator, 1) : e.constant(f.accumulator, 1);
  b.add<thread::WriteRegs>(b.ref(d, 0), std::vector<const Expr*>(static_cast<std::size_t>(f.n / 2), one));
  const ir::RegArray* a = nullptr;
  if (f.registers) {
    a = b.regs("a", f.a, 16U / static_cast<std::uint32_t>(size_of(f.a)));
    b.add<thread::LoadSharedVector>(b.ref(a, 0), 16 / size_of(f.a),
                                    e.add(b.shared(), e.cast(DType::u32, e.mul(b.thread_idx(), 16))));
  }
  const auto descriptor = [&](const Placement& p, std::int64_t offset) {
    const Expr* low = e.binary(ExprKind::shr, b.shared(offset), b.u32(4));
    return thread::MatrixDescriptor{e.binary(ExprKind::bit_or, low, b.u32(p.leading / 16 << 16)),
                                    p.stride / 16 | p.swizzle << 30};
  };
  b.add<thread::WgmmaFence>();
  for (int twice = 0; twice < 2; ++twice) {
    // ptxas 13.0 drops the second of two equal wgmmas of one group; no product of tiles has such a pair.
    if (twice == 1) {
      b.add<thread::WgmmaCommit>();
      b.add<thread::WgmmaWait>(0, std::vector{d});
      b.add<thread::WgmmaFence>();
    }
    auto* s = b.add<thread::Wgmma>(f.a, f.b, f.accumulator, f.n, b.ref(d, 0));
    if (f.registers)
      s->a_registers = b.ref(a, 0);
    else
      s->a = descriptor(f.a_place, 0);
    s->b = descriptor(f.b_place, operand_bytes);
    s->a_mn_major = !f.registers && f.a_place.mn_major;
    s->b_mn_major = f.b_place.mn_major;
    s->negate_a = f.negate_a;
    s->negate_b = f.negate_b;
  }
  b.add<thread::WgmmaCommit>();
  b.add<thread::WgmmaWait>(0, std::vector{d});
  const int vector = 16 / size_of(f.accumulator) < f.n / 2 ? 16 / size_of(f.accumulator) : f.n / 2;
  for (int i = 0; i < f.n / 2; i += vector) {
    const Expr* at = e.cast(DType::i64, e.add(e.mul(b.thread_idx(), f.n / 2), i));
    b.add<thread::StoreGlobalVector>(b.ref(d, i), vector, out, at, nullptr);
  }
  thread::verify(b.kernel);
  return std::move(b.kernel);
}

// Numbers of about 1, or small integers, of the type.
std::vector<std::byte> operand(DType type) {
  std::vector<std::byte> bytes(operand_bytes);
  const auto width = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    const float x = std::normal_distribution<float>()(engine());
    const float16 half(x);
    const bfloat16 brain(x);
    const float8_e4m3 e4m3(x);
    const float8_e5m2 e5m2(x);
    const auto small = static_cast<std::uint8_t>(engine()() % 100);
    const void* from = type == DType::f16      ? static_cast<const void*>(&half)
                       : type == DType::bf16   ? static_cast<const void*>(&brain)
                       : type == DType::f32    ? static_cast<const void*>(&x)
                       : type == DType::f8e4m3 ? static_cast<const void*>(&e4m3)
                       : type == DType::f8e5m2 ? static_cast<const void*>(&e5m2)
                                               : static_cast<const void*>(&small);
    std::memcpy(bytes.data() + i, from, width);
  }
  return bytes;
}

double value(DType type, const std::vector<std::byte>& bytes, std::size_t i) {
  if (type == DType::f16) return float16::to_float(values_of<std::uint16_t>(bytes)[i]);
  if (type == DType::f32) return values_of<float>(bytes)[i];
  return values_of<std::int32_t>(bytes)[i];
}

void compare(const Form& f) {
  const thread::Kernel kernel = wgmma_kernel(f);
  std::vector<std::byte> in = operand(f.a);
  const std::vector<std::byte> second = operand(f.b);
  in.insert(in.end(), second.begin(), second.end());
  const std::size_t count = 128U * static_cast<std::size_t>(f.n / 2);
  std::vector<Argument> simulated = {
      {0, in}, {0, std::vector<std::byte>(count * static_cast<std::size_t>(size_of(f.accumulator)))}};
  std::vector<Argument> on_card = simulated;
  run_on_simulator(kernel, simulated);
  double largest = 0;
  for (std::size_t i = 0; i < count; i += 7)
    largest = std::max(largest, std::fabs(value(f.accumulator, simulated[1].bytes, i)));
  EXPECT_GT(largest, 4) << f.name() << ": a sum of products of normal numbers";
  if (!why_no_card().empty()) return;
  run_on_card(kernel, on_card);
  // Other orders of summation; 8-bit products are summed with fewer bits, f16 accumulators rounded more often.
  const double share = f.accumulator == DType::i32   ? 0
                       : f.accumulator == DType::f16 ? 0x1p-8
                       : is_float8(f.a)              ? 0x1p-9
                                                     : 0x1p-17;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double want = value(f.accumulator, simulated[1].bytes, i), got = value(f.accumulator, on_card[1].bytes, i);
    if (!(std::fabs(want - got) <= share * largest) && wrong++ == 0)
      ADD_FAILURE() << f.name() << ": element " << i << " is " << got << " on the card, " << want << " simulated";
  }
  EXPECT_EQ(wrong, 0U) << f.name() << ", of " << count;
}

constexpr DType operand_types[] = {DType::f16,    DType::bf16, DType::f32, DType::f8e4m3,
                                   DType::f8e5m2, DType::i8,   DType::u8};

TEST(WgmmaOnCard, EveryPairOfTypesAndEveryPlacement) {
  for (const DType a : operand_types)
    for (const DType b : operand_types)
      for (const DType accumulator : {DType::f32, DType::f16, DType::i32}) {
        if (!ir::wgmma_shape_error(a, b, accumulator, 32).empty()) continue;
        for (const Placement& p : placements) {
          if (p.mn_major && size_of(a) != 2) continue;
          compare({a, b, accumulator, 32, p, placements[0]});
          compare({a, b, accumulator, 32, placements[0], p});
        }
        compare({a, b, accumulator, 32, placements[0], placements[0], true});
      }
}

TEST(WgmmaOnCard, SignsAndSizes) {
  for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::f8e4m3}) {
    compare({t, t, DType::f32, 24, placements[0], placements[0], false, true, false});
    compare({t, t, DType::f32, 24, placements[0], placements[0], false, false, true});
    compare({t, t, DType::f32, 24, placements[0], placements[0], true, true, true});
  }
  for (const int n : {8, 16, 40, 56, 64}) compare({DType::f16, DType::f16, DType::f32, n});
  for (const int n : {8, 24, 48, 64}) compare({DType::i8, DType::u8, DType::i32, n});
}

TEST(ClusterOnCard, Matmul) {
  constexpr std::size_t n = golden::matmul_n, k = golden::matmul_k;
  const bool card = why_no_card().empty();
  for (const std::size_t m : {256U, 300U}) {
    std::vector<std::uint16_t> a(m * k), b(n * k), c(m * n, 0x7fff);
    for (auto& x : a) x = bfloat16::from_float(std::normal_distribution<float>()(engine()));
    for (auto& x : b) x = bfloat16::from_float(std::normal_distribution<float>()(engine()));
    std::vector<Argument> arguments = {
        {static_cast<std::int64_t>(m), {}}, {0, bytes_of(a)}, {0, bytes_of(b)}, {0, bytes_of(c)}};
    if (card)
      run_on_card(golden::cluster_matmul(), arguments);
    else
      run_on_simulator(golden::cluster_matmul(), arguments);
    c = values_of<std::uint16_t>(arguments[3].bytes);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; j += 3) {
        double sum = 0;
        for (std::size_t x = 0; x < k; ++x)
          sum += static_cast<double>(bfloat16::to_float(a[i * k + x])) * bfloat16::to_float(b[j * k + x]);
        const double got = bfloat16::to_float(c[i * n + j]);
        // half a unit of the result's format and the rounding of a float32 sum over k
        if (!(std::abs(got - sum) <= std::abs(sum) * 0x1p-8 + 0.01)) ++wrong;
      }
    }
    EXPECT_EQ(wrong, 0U) << "m = " << m;
  }
}

TEST(ClusterOnCard, MemoryOfPeers) {
  constexpr std::size_t threads = 128;  // of the four CTAs
  std::vector<std::uint8_t> bytes(threads);
  std::vector<std::uint16_t> halves(threads);
  std::vector<std::uint32_t> words(threads * (1 + 2 + 4));
  for (auto& x : bytes) x = static_cast<std::uint8_t>(engine()());
  for (auto& x : halves) x = static_cast<std::uint16_t>(engine()());
  for (auto& x : words) x = static_cast<std::uint32_t>(engine()());
  const std::vector<Argument> before = {{0, bytes_of(bytes)},
                                        {0, bytes_of(halves)},
                                        {0, bytes_of(words)},
                                        {0, std::vector<std::byte>(threads)},
                                        {0, std::vector<std::byte>(threads * 2)},
                                        {0, std::vector<std::byte>(words.size() * 4)}};
  std::vector<Argument> after = before;
  if (why_no_card().empty())
    run_on_card(golden::peer_memory(), after);
  else
    run_on_simulator(golden::peer_memory(), after);
  // Thread t of CTA c reads what CTA c + 1 sent to CTA c + 2, or, where its lane was masked out, that CTA's own.
  const auto source = [](std::size_t thread, bool masked) {
    const bool sent = !masked || thread % 32 % 3 != 0;
    return (thread / 32 + (sent ? 1 : 2)) % 4 * 32 + thread % 32;
  };
  const auto got_bytes = values_of<std::uint8_t>(after[3].bytes);
  const auto got_halves = values_of<std::uint16_t>(after[4].bytes);
  const auto got_words = values_of<std::uint32_t>(after[5].bytes);
  for (std::size_t t = 0; t < threads; ++t) {
    EXPECT_EQ(got_bytes[t], bytes[source(t, true)]) << t;
    EXPECT_EQ(got_halves[t], halves[source(t, false)]) << t;
    std::size_t first = 0;
    for (const std::size_t count : {1U, 2U, 4U}) {
      const std::size_t from = source(t, count != 2);
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(got_words[first + t * count + i], words[first + from * count + i])
            << t << " of " << count << " words";
      first += threads * count;
    }
  }
}

TEST(Float8OnCard, Casts) {
  const auto kernel = golden::float8_casts();
  std::vector<Argument> arguments = interesting_arguments(kernel, 128UL * 14);
  for (int round = 0; round < 2; ++round) {  // all 256 codes in two rounds
    for (const std::size_t in : {0U, 2U})
      for (std::size_t i = 0; i < 128; ++i)
        arguments[in].bytes[i] = static_cast<std::byte>(128 * round + static_cast<int>(i));
    std::vector<Argument> simulated = arguments, on_card = arguments;
    run_on_simulator(kernel, simulated);
    if (!why_no_card().empty()) GTEST_SKIP() << why_no_card();
    run_on_card(kernel, on_card);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      expect_same(kernel.params[i].type, on_card[i].bytes, simulated[i].bytes, kernel.params[i].name);
  }
}

}  // namespace
}  // namespace tessera::gpu_tests
