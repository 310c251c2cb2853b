#include "wgmma_kernel.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

namespace tessera::testing {

std::uint32_t OperandPlace::at(int row, int k) const {
  const auto u = [](int v) { return static_cast<std::uint32_t>(v); };
  if (!mn_major) {
    const int byte = k * bytes;
    if (swizzle != 0) {
      const int panel = byte / span();
      return u(panel * rows * span()) + swizzled(u(row * span() + byte % span()));
    }
    return u(row / 8) * stride() + u(byte / 16) * leading() + u(row % 8 * 16 + byte % 16);
  }
  const int byte = row * bytes;
  if (swizzle != 0) return u(byte / span()) * leading() + swizzled(u(k * span() + byte % span()));
  return u(byte / 16) * stride() + u(k / 8) * leading() + u(k % 8 * 16 + byte % 16);
}

std::uint32_t OperandPlace::leading() const {
  if (mn_major) return static_cast<std::uint32_t>(swizzle != 0 ? depth * span() : k_first ? 128 : 128 * rows / 8);
  if (swizzle != 0) return 16;
  return static_cast<std::uint32_t>(k_first ? 128 : 128 * rows / 8);
}

std::uint32_t OperandPlace::stride() const {
  if (swizzle != 0) return static_cast<std::uint32_t>(8 * span());
  return static_cast<std::uint32_t>(!k_first ? 128 : mn_major ? 128 * depth / 8 : 128 * depth * bytes / 16);
}

std::uint32_t OperandPlace::step(int step) const {
  if (mn_major)
    return static_cast<std::uint32_t>(swizzle != 0 ? 16 * step * span() : 2 * step * static_cast<int>(leading()));
  if (swizzle == 0) return static_cast<std::uint32_t>(2 * step) * leading();
  const int byte = 32 * step;
  return static_cast<std::uint32_t>(byte / span() * rows * span() + byte % span());
}

thread::MatrixDescriptor OperandPlace::descriptor(KernelBuilder& b, int k_step) const {
  thread::MatrixDescriptor d;
  const E address = b.shared(offset + step(k_step));
  d.low = (address / 16) + (leading() / 16 << 16);
  const std::uint32_t modes[] = {0, 3, 2, 1};
  d.high = (stride() / 16) | (modes[swizzle] << 30);
  return d;
}

WgmmaKernel::WgmmaKernel(const WgmmaPlan& p, int warps) : b(warps), plan(p) {
  const auto up = [](int bytes) { return static_cast<std::uint32_t>((bytes + 2047) / 2048 * 2048); };
  plan.a.rows = 64;
  plan.b.rows = plan.n;
  plan.a.depth = plan.b.depth = plan.depth();
  plan.a.bytes = plan.b.bytes = size_of(plan.a_type);
  plan.a.offset = 0;
  plan.b.offset = up(plan.a.size());
  image_bytes = plan.b.offset + up(plan.b.size());
  b.kernel.shared_bytes = image_bytes + 64;
  image = b.pointer(DType::u32, "image");
  a = b.pointer(plan.a_type, "a");
  c = b.pointer(plan.accumulator, "c");
  b.region("sa", plan.a.offset, up(plan.a.size()));
  b.region("sb", plan.b.offset, up(plan.b.size()));
}

void WgmmaKernel::fill(bool fence) {
  const auto* piece = b.regs(DType::u32, 4, "piece");
  b.loop(b.thread_idx(), b.i32(image_bytes / 16), b.i32(32 * b.kernel.warps), [&](E i) {
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(piece), 4, image, (i * 4).cast(DType::i64), nullptr);
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(piece), 4, b.shared(0) + (i * 16).cast(DType::u32));
  });
  if (fence) b.fence();
  b.sync();
}

E WgmmaKernel::accumulator_offset(int i) {
  const E row = b.warp() % 4 * 16 + (b.lane() / 4 + 8 * (i / 2 % 2));
  return (row * plan.n + (b.lane() % 4 * 2 + (8 * (i / 4) + i % 2))).cast(DType::i64);
}

void WgmmaKernel::load() {
  d = b.regs(plan.accumulator, static_cast<std::uint32_t>(plan.n / 2), "acc");
  if (plan.accumulate) {
    for (int i = 0; i < plan.n / 2; ++i) {
      b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(d, i), 1, c, accumulator_offset(i), nullptr);
    }
  }
  if (!plan.registers) return;
  const int bytes = size_of(plan.a_type), per_step = 16 / bytes;
  fragment = b.regs(plan.a_type, static_cast<std::uint32_t>(plan.steps * per_step), "fragment");
  const E g = b.lane() / 4, q = b.lane() % 4;
  for (int step = 0; step < plan.steps; ++step) {
    for (int i = 0; i < per_step; ++i) {
      const int in_word = 4 / bytes, word = i / in_word;
      const E row = b.warp() % 4 * 16 + (g + 8 * (word % 2));
      const E k = q * in_word + (i % in_word + word / 2 * 4 * in_word + step * 32 / bytes);
      b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(fragment, step * per_step + i), 1, a,
                                      (row * plan.depth() + k).cast(DType::i64), nullptr);
    }
  }
}

thread::Wgmma* WgmmaKernel::multiply(int step, SourceLoc loc) {
  auto* s = b.add<thread::Wgmma>(loc, plan.a_type, plan.b_type, plan.accumulator, plan.n, b.ref(d));
  if (plan.registers) {
    s->a_registers = b.ref(fragment, step * 16 / size_of(plan.a_type));
  } else {
    s->a = plan.a.descriptor(b, step);
    s->a_mn_major = plan.a.mn_major;
  }
  s->b = plan.b.descriptor(b, step);
  s->b_mn_major = plan.b.mn_major;
  s->negate_a = plan.negate_a;
  s->negate_b = plan.negate_b;
  if (!plan.accumulate) s->accumulate = b.pool().boolean(step > 0);
  return s;
}

void WgmmaKernel::store() {
  for (int i = 0; i < plan.n / 2; ++i) {
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(d, i), 1, c, accumulator_offset(i), nullptr);
  }
}

void WgmmaKernel::all() {
  fill();
  load();
  fence();
  for (int step = 0; step < plan.steps; ++step) multiply(step);
  commit();
  wait(0);
  store();
}

namespace {

double decode_float(std::uint32_t raw, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(raw >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(raw) & ((1 << mantissa_bits) - 1);
  const double sign = (raw >> (exponent_bits + mantissa_bits) & 1U) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

}  // namespace

double decode(DType type, std::uint32_t raw) {
  switch (type) {
    case DType::f16: return decode_float(raw, 5, 10);
    case DType::bf16: return decode_float(raw, 8, 7);
    case DType::f8e4m3: return decode_float(raw, 4, 3);
    case DType::f8e5m2: return decode_float(raw, 5, 2);
    case DType::f32: return static_cast<double>(std::bit_cast<float>(raw));
    case DType::i8: return static_cast<std::int8_t>(raw);
    case DType::i32: return static_cast<std::int32_t>(raw);
    default: return raw;
  }
}

std::uint32_t encode(DType type, double value) {
  if (type == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (is_integer(type)) {
    const auto bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
    return size_of(type) == 1 ? bits & 0xffU : bits;
  }
  if (type == DType::f16) {
    const std::uint32_t raw = float16(static_cast<float>(value)).bits;
    if (decode(type, raw) == value) return raw;
  }
  // By the definition: the number whose decoding is the value.
  for (std::uint32_t raw = 0; raw < 1U << (8 * size_of(type)); ++raw) {
    if (decode(type, raw) == value) return raw;
  }
  throw std::invalid_argument("no such number");
}

}  // namespace tessera::testing
