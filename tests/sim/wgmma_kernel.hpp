// A kernel around wgmma, written by hand: shared memory filled with a prepared image, the instructions, and the
// accumulators to global memory.
#pragma once

#include <vector>

#include "kernel_builder.hpp"

namespace tessera::testing {

// How an operand of wgmma lies in shared memory. The formulas are this file's own: by lines of 128 bytes and pieces of
// 16, not by address bits.
struct OperandPlace {
  bool mn_major = false;
  int swizzle = 3;           // 0 none, 1, 2, 3: 32, 64, 128 bytes
  int rows = 64;             // of M or N
  int depth = 64;            // elements along k
  int bytes = 2;             // of an element
  bool k_first = true;       // without swizzle: which of the two distances is the short one
  std::uint32_t offset = 0;  // of the tile in shared memory, a multiple of 1024

  int span() const { return 16 << swizzle; }  // bytes of a row within the swizzle
  // Bytes of the tile, in whole rows of the swizzle.
  int size() const {
    const int inner = (mn_major ? rows : depth) * bytes, outer = mn_major ? depth : rows;
    return (inner + span() - 1) / span() * span() * outer;
  }
  std::uint32_t swizzled(std::uint32_t byte) const {
    const std::uint32_t line = byte / 128, piece = byte / 16 % 8;
    const std::uint32_t keys[] = {0, line % 2, line % 4, line % 8};
    return line * 128 + (piece ^ keys[swizzle]) * 16 + byte % 16;
  }
  // Byte of element (row, k), from the tile's start.
  std::uint32_t at(int row, int k) const;
  std::uint32_t leading() const, stride() const;
  // Start of k-step `step` (32 bytes of k), from the tile's start.
  std::uint32_t step(int step) const;
  thread::MatrixDescriptor descriptor(KernelBuilder& b, int step) const;
};

struct WgmmaPlan {
  DType a_type = DType::f16, b_type = DType::f16, accumulator = DType::f32;
  int n = 64, steps = 1;
  OperandPlace a, b;
  bool registers = false;  // A from registers
  bool accumulate = true;  // in the first instruction
  bool negate_a = false, negate_b = false;

  int depth() const { return steps * 32 / size_of(a_type); }
};

// Parameters: image (bytes of shared memory, a multiple of 16 x 128 threads), a (row-major, for registers), c (64 x n
// of the accumulator's type: read first, then written).
struct WgmmaKernel {
  KernelBuilder b;
  std::uint32_t image = 0, a = 0, c = 0;
  const ir::RegArray* d = nullptr;
  const ir::RegArray* fragment = nullptr;
  WgmmaPlan plan;
  std::uint32_t image_bytes = 0;

  explicit WgmmaKernel(const WgmmaPlan& plan, int warps = 4);
  // The steps of the kernel; each test puts its own together.
  void fill(bool fence = true);  // shared memory from the image, fence, block barrier
  void load();                   // the accumulators, and A's registers
  void fence(SourceLoc loc = SourceLoc::here()) { b.add<thread::WgmmaFence>(loc); }
  thread::Wgmma* multiply(int step, SourceLoc loc = SourceLoc::here());
  void commit(SourceLoc loc = SourceLoc::here()) { b.add<thread::WgmmaCommit>(loc); }
  void wait(int pending, SourceLoc loc = SourceLoc::here()) {
    b.add<thread::WgmmaWait>(loc, pending, std::vector<const ir::RegArray*>{d});
  }
  void store();
  void all();  // a complete kernel

 private:
  E accumulator_offset(int element);
};

// Numbers of a type, by tables and definitions; `encode` takes numbers that the type holds exactly.
double decode(DType type, std::uint32_t raw);
std::uint32_t encode(DType type, double value);

}  // namespace tessera::testing
