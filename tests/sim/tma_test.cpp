// TMA boxes: swizzles, edges, alignment, the rules of tensor maps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Box {
  std::int64_t rows = 40, columns = 72, pitch = 80;  // of the view, elements
  std::int32_t row = 0, column = 0;                  // of the box
  std::uint32_t box_rows = 16, box_columns = 64;
  thread::Swizzle swizzle = thread::Swizzle::none;
  std::uint32_t destination = 0;
  std::uint32_t shared_bytes = 8192;
  std::int64_t base = 0;     // elements
  std::size_t elements = 0;  // of the buffer; 0: as the view needs
};

// One thread loads the box; then the warp copies `shared_bytes` minus the barrier's 1024 to `out` (uninitialised bytes
// are not read: `count` bytes from the destination on).
struct BoxKernel {
  KernelBuilder b;
  std::vector<std::uint16_t> source, out;

  explicit BoxKernel(const Box& box) : b(1, box.shared_bytes) {
    const auto in = b.pointer(DType::u16, "in");
    const auto result = b.pointer(DType::u16, "out");
    thread::TensorMap m;
    m.name = "view";
    m.param = in;
    m.type = DType::u16;
    m.base_offset = b.i64(box.base);
    m.dims = {b.i64(box.columns), b.i64(box.rows)};
    m.strides_bytes = {b.i64(box.pitch * 2)};
    m.box = {box.box_columns, box.box_rows};
    m.swizzle = box.swizzle;
    m.loc = SourceLoc::here();
    b.kernel.tensor_maps.push_back(m);
    const std::uint32_t barrier = box.shared_bytes - 8;
    const std::uint32_t bytes = box.box_rows * box.box_columns * 2;
    b.when(b.lane() == 0, [&] {
      b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(barrier), 1U);
      b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), b.shared(barrier), b.u32(bytes));
      b.add<thread::TmaLoadBox>(SourceLoc::here(), 0U, b.shared(box.destination),
                                std::vector<const Expr*>{b.i32(box.column), b.i32(box.row)}, b.shared(barrier));
    });
    b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(barrier), b.u32(0));
    const auto* a = b.regs(DType::u16, 1, "a");
    b.loop(b.lane(), b.i32(bytes / 2), b.i32(32), [&](E i) {
      b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1,
                                      b.shared(box.destination) + (i * 2).cast(DType::u32));
      b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), 1, result, i.cast(DType::i64), nullptr);
    });
    const auto needed = static_cast<std::size_t>(box.base + (box.rows - 1) * box.pitch + box.columns);
    source.resize(box.elements != 0 ? box.elements : needed);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i + 1);
    out.resize(bytes / 2);
  }
  std::vector<sim::Argument> arguments() { return {buffer(source), buffer(out)}; }
  Error error(const char* schedule = "eager") { return error_of(b.kernel, arguments(), options(schedule)); }
};

// Where the byte `byte` of the box lies, from the 16-byte chunk and the 128-byte line that it is in.
std::uint32_t swizzled(thread::Swizzle mode, std::uint32_t address) {
  const std::uint32_t chunk = address / 16 % 8, line = address / 128;
  const std::uint32_t keys[] = {0, line % 2, line % 4, line % 8};
  return address / 128 * 128 + (chunk ^ keys[static_cast<int>(mode)]) * 16 + address % 16;
}

void check(const Box& box, const char* schedule) {
  BoxKernel kernel(box);
  sim::run(kernel.b.kernel, kernel.arguments(), options(schedule));
  for (std::uint32_t r = 0; r < box.box_rows; ++r) {
    for (std::uint32_t c = 0; c < box.box_columns; ++c) {
      const std::int64_t row = box.row + static_cast<std::int64_t>(r),
                         column = box.column + static_cast<std::int64_t>(c);
      const bool inside = row >= 0 && row < box.rows && column >= 0 && column < box.columns;
      const auto expected =
          inside ? static_cast<std::uint16_t>(box.base + row * box.pitch + column + 1) : std::uint16_t{0};
      const std::uint32_t address = 0x400 + box.destination + (r * box.box_columns + c) * 2;
      const std::uint32_t at = swizzled(box.swizzle, address) - 0x400 - box.destination;
      ASSERT_EQ(kernel.out[at / 2], expected) << "row " << row << " column " << column << " " << schedule;
    }
  }
}

TEST(Tma, BoxesWithEachSwizzleAndEdges) {
  using thread::Swizzle;
  for (const char* schedule : all_schedules) {
    for (const auto& [swizzle, columns] :
         {std::pair{Swizzle::none, 64U}, {Swizzle::b32, 16U}, {Swizzle::b64, 32U}, {Swizzle::b128, 64U}}) {
      for (const auto& [row, column] :
           {std::pair{0, 0}, {8, 8}, {30, 40}, {-5, -9}, {39, 71}, {40, 0}, {-100, 0}, {0, 500}, {3, -500}}) {
        Box box;
        box.swizzle = swizzle;
        box.box_columns = columns;
        box.row = row;
        box.column = column;
        check(box, schedule);
      }
    }
  }
}

TEST(Tma, TheSwizzleComesFromTheAddress) {
  // 128 bytes past a pattern's start: line 1, so the first row already has a key.
  Box box;
  box.swizzle = thread::Swizzle::b128;
  box.destination = 128;
  check(box, "eager");
  box.swizzle = thread::Swizzle::b64;
  box.box_columns = 32;
  box.destination = 384;
  check(box, "eager");
}

TEST(Tma, ABaseInsideTheBuffer) {
  Box box;
  box.base = 8 * 5;
  check(box, "lazy");
}

// Ranks 1 and 3: boxes of a one-dimensional view, and panels through a third dimension.
TEST(Tma, OtherRanks) {
  KernelBuilder b(1, 8192);
  const auto in = b.pointer(DType::f32, "in");
  const auto result = b.pointer(DType::f32, "out");
  thread::TensorMap cube;
  cube.name = "cube";
  cube.param = in;
  cube.type = DType::f32;
  cube.dims = {b.i64(8), b.i64(3), b.i64(2)};
  cube.strides_bytes = {b.i64(32), b.i64(128)};
  cube.box = {4, 4, 2};
  thread::TensorMap line = cube;
  line.dims = {b.i64(21)};
  line.strides_bytes = {};
  line.box = {8};
  b.kernel.tensor_maps = {cube, line};
  b.when(b.lane() == 0, [&] {
    b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(4096), 1U);
    b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), b.shared(4096), b.u32(128 + 32));
    b.add<thread::TmaLoadBox>(SourceLoc::here(), 0U, b.shared(0),
                              std::vector<const Expr*>{b.i32(4), b.i32(0), b.i32(1)}, b.shared(4096));
    b.add<thread::TmaLoadBox>(SourceLoc::here(), 1U, b.shared(128), std::vector<const Expr*>{b.i32(16)},
                              b.shared(4096));
  });
  b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(4096), b.u32(0));
  const auto* a = b.regs(DType::f32, 2, "a");
  for (int i = 0; i < 2; ++i) {
    b.when(b.lane() < (i == 0 ? 32 : 8), [&] {
      b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a, i), 1,
                                      b.shared(128 * i) + (b.lane() * 4).cast(DType::u32));
      b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a, i), 1, result, b.lane().cast(DType::i64) + 32 * i,
                                       nullptr);
    });
  }
  std::vector<float> x(64), y(40, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(x), buffer(y)}, options("random:4"));
  for (std::size_t p = 0; p < 2; ++p) {
    for (std::size_t r = 0; r < 4; ++r) {
      for (std::size_t c = 0; c < 4; ++c) {
        const float expected = p == 0 && r < 3 ? static_cast<float>(32 + 8 * r + 4 + c + 1) : 0.0F;
        EXPECT_EQ(y[16 * p + 4 * r + c], expected) << p << r << c;
      }
    }
  }
  for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(y[32 + c], c < 5 ? static_cast<float>(17 + c) : 0.0F);
}

TEST(Tma, MisplacedBoxesAreReported) {
  Box box;
  box.destination = 64;
  const Error error = BoxKernel(box).error();
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("is not a multiple of 128 bytes"));
  box.destination = 8192 - 1024;
  EXPECT_THAT(BoxKernel(box).error().what(), HasSubstr("outside the block's 8192 bytes of shared memory"));
  box.destination = 8192 - 2048;
  EXPECT_THAT(BoxKernel(box).error().what(), HasSubstr("a TMA copy touches the storage of an mbarrier"));
}

TEST(Tma, AViewBeyondItsBufferIsReported) {
  Box box;
  box.elements = 39 * 80 + 71;  // the last element is missing
  box.row = 30;
  box.column = 40;
  const Error error = BoxKernel(box).error("lazy");
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("of parameter in, whose buffer has 6382 bytes"), HasSubstr("view")));
  box.row = 0;  // does not reach it
  EXPECT_TRUE(BoxKernel(box).error().diagnostics().empty());
}

TEST(Tma, RulesOfTensorMaps) {
  const auto error = [](auto change) {
    Box box;
    change(box);
    BoxKernel kernel(box);
    const Error found = kernel.error();
    EXPECT_EQ(found.kind(), ErrorKind::user);
    return std::string(found.what());
  };
  EXPECT_THAT(error([](Box& b) { b.pitch = 77; }),
              HasSubstr("the stride of dimension 1 is 154 bytes; multiples of 16"));
  EXPECT_THAT(error([](Box& b) { b.base = 3; }), HasSubstr("base address is not a multiple of 16 bytes"));
  EXPECT_THAT(error([](Box& b) { b.box_columns = 20; }),
              HasSubstr("a row of the box has 40 bytes; it must be a multiple of 16"));
  EXPECT_THAT(error([](Box& b) { b.swizzle = thread::Swizzle::b64; }),
              HasSubstr("a row of the box has 128 bytes, more than the swizzle's 64"));
  EXPECT_THAT(error([](Box& b) { b.box_rows = 257, b.shared_bytes = 65536; }),
              HasSubstr("the box has 257 elements along dimension 1; 1 to 256"));
}

TEST(Tma, AnEmptyViewIsOnlyAnErrorWhenItIsCopied) {
  Box box;
  box.columns = 0;
  EXPECT_THAT(BoxKernel(box).error().what(), HasSubstr("dimension 0 has 0 elements"));
}

}  // namespace
}  // namespace tessera::testing
