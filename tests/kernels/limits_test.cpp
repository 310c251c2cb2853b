// What lowering refuses, with the user's line and the fix; and sizes that only fit 64 bits.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The message of lowering `script`; it names a line of this file.
template <class S>
std::string refusal(const S& script, std::size_t parameters) {
  const std::string text = error_of([&] { build(script, std::vector<std::int64_t>(parameters, 0)); }, ErrorKind::user);
  EXPECT_THAT(text, HasSubstr("limits_test.cpp:"));
  return text;
}

struct BigShared : Script {
  void operator()(Ptr<float> p) {
    attrs.blocks = {1};
    attrs.warps = 16;
    auto one = shared_tensor<float>({128, 256});
    auto two = shared_tensor<float>({128, 256});
    auto view = global_view(p, {128, 256});
    store_shared(one, load_global(view, {0, 0}, {128, 256}));
    store_shared(two, load_global(view, {0, 0}, {128, 256}));
    sync();
    store_global(view, load_shared(one), {0, 0});
    store_global(view, load_shared(two), {0, 0});
  }
};

TEST(Limits, SharedMemoryListsTheTiles) {
  EXPECT_THAT(refusal(BigShared(), 1), AllOf(HasSubstr("232448"), HasSubstr("262144"), HasSubstr("'one'"),
                                             HasSubstr("'two'"), HasSubstr("131072 bytes"), HasSubstr("help:")));
}

struct BigAccumulator : Script {
  void operator()(Ptr<float16> p, Ptr<float> out) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto a = load_global(global_view(p, {128, 16}), {0, 0}, {128, 16});
    auto b = load_global(global_view(p, {16, 256}), {0, 0}, {16, 256});
    auto acc = register_tensor<float>({128, 256}, 0.0f);
    dot(a, b, acc);
    store_global(global_view(out, {128, 256}), acc, {0, 0});
  }
};

TEST(Limits, AnAccumulatorThatCannotFit) {
  EXPECT_THAT(refusal(BigAccumulator(), 2), AllOf(HasSubstr("'acc'"), HasSubstr("256 registers a thread"),
                                                  HasSubstr("255"), HasSubstr("more warps")));
}

// One TMA copy of a tile of `rows` by `columns` from a view with rows of `pitch` elements.
struct Copy : Script {
  static constexpr int view_line = __LINE__ + 7;
  int rows, columns, pitch;
  bool row_major = false;
  Copy(int r, int c, int p, bool plain = false) : rows(r), columns(c), pitch(p), row_major(plain) {}
  void operator()(Ptr<float16> in, Ptr<float16> out) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto view = global_view(in, {rows, columns}, {pitch, 1});
    auto tile = shared_tensor<float16>({rows, columns});
    if (row_major) annotate_layout(tile, layouts::row_major());
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, tile.nbytes());
      tma.global_to_shared({.src = view, .dst = tile, .offsets = {0, 0}, .mbarrier = full});
    }
    mbarrier.wait(full, 0u);
    store_global(global_view(out, {rows, columns}), load_shared(tile), {0, 0});
  }
};

// Where the simulator refuses what a copy does, it names the copy and shows where the view was made.
TEST(Limits, ATmaCopyPastTheBuffer) {
  const passes::Lowered lowered = build(Copy(8, 64, 64), {0, 0});
  std::vector<float16> in(7 * 64), out(8 * 64);
  const std::string text = error_of([&] {
    sim::run(lowered.kernel, std::vector{argument(in), argument(out)}, with(all_schedules().front()));
  });
  EXPECT_THAT(text, HasSubstr("the view view_map reaches past the buffer"));
  EXPECT_THAT(text,
              HasSubstr("limits_test.cpp:" + std::to_string(Copy::view_line) + ": note: the view is declared here"));
}

TEST(Limits, TmaRowStridesAreMultiplesOf16Bytes) {
  EXPECT_THAT(refusal(Copy(8, 64, 100), 2),
              AllOf(HasSubstr("'view'"), HasSubstr("200 bytes"), HasSubstr("multiple of 16"), HasSubstr("pad")));
}

TEST(Limits, TmaBoxesHaveAtMost256ElementsARow) {
  EXPECT_THAT(refusal(Copy(8, 512, 512, true), 2), AllOf(HasSubstr("'tile'"), HasSubstr("512"), HasSubstr("256")));
  EXPECT_NO_THROW(build(Copy(8, 512, 512), {0, 0}));  // panels of the swizzle are boxes of 64
}

TEST(Limits, TmaBoxRowsAreMultiplesOf16Bytes) {
  EXPECT_THAT(refusal(Copy(8, 12, 16), 2), AllOf(HasSubstr("24 bytes"), HasSubstr("multiple of 8")));
}

struct ColumnMajor : Script {
  void operator()(Ptr<float16> in) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto view = global_view(in, {64, 64}, {1, 64});
    auto tile = shared_tensor<float16>({64, 64});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, tile.nbytes());
      tma.global_to_shared({.src = view, .dst = tile, .offsets = {0, 0}, .mbarrier = full});
    }
    mbarrier.wait(full, 0u);
  }
};

TEST(Limits, TmaNeedsAContiguousLastDimension) {
  EXPECT_THAT(refusal(ColumnMajor(), 1), AllOf(HasSubstr("stride 64"), HasSubstr("contiguous one is the last")));
}

struct WrongPin : Script {
  void operator()(Ptr<float16> p, Ptr<float> out) {
    attrs.blocks = {1};
    attrs.warps = 1;
    auto a = load_global(global_view(p, {16, 16}), {0, 0}, {16, 16});
    auto acc = register_tensor<float>({16, 16}, 0.0f);
    annotate_layout(acc, layouts::local({1, 8}).spatial({16, 2}));
    dot(a, a, acc);
    store_global(global_view(out, {16, 16}), acc, {0, 0});
  }
};

TEST(Limits, APinnedAccumulatorThatMmaCannotWrite) {
  EXPECT_THAT(refusal(WrongPin(), 2), AllOf(HasSubstr("annotated layout"), HasSubstr("'acc'"), HasSubstr("m16n8k16")));
}

struct ManyGroups : Script {
  void operator()() {
    attrs.blocks = {1};
    attrs.warps = 32;
    for (int i = 0; i < 16; ++i) {
      if (auto _ = warp_group(2 * i, 2)) sync();
    }
  }
};

TEST(Limits, SixteenHardwareBarriers) {
  EXPECT_THAT(refusal(ManyGroups(), 0), AllOf(HasSubstr("15"), HasSubstr("hardware barriers")));
}

// More than 2^32 elements: the last rows of a matrix of 70,000 by 65,536 bytes, through registers and by TMA.
struct FarCorner : Script {
  void operator()(Int32 rows, int columns, Ptr<std::uint8_t> in, Ptr<std::uint8_t> out) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto from = global_view(in, {rows, columns});
    auto to = global_view(out, {rows, columns});
    store_global(to, load_global(from, {rows - 16, columns - 64}, {16, 64}), {rows - 16, columns - 64});
    auto tile = shared_tensor<std::uint8_t>({16, 64});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, tile.nbytes());
      tma.global_to_shared({.src = from, .dst = tile, .offsets = {rows - 16, columns - 128}, .mbarrier = full});
    }
    mbarrier.wait(full, 0u);
    store_global(to, load_shared(tile), {rows - 16, columns - 128});
  }
};

// Address space without memory behind it until it is touched.
struct Reserved {
  std::size_t bytes;
  std::byte* data;
  explicit Reserved(std::size_t n)
      : bytes(n),
        data(static_cast<std::byte*>(
            mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (data == MAP_FAILED) throw std::bad_alloc();  // NOLINT: the macro is a cast
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() { munmap(data, bytes); }
  sim::Argument argument() const {
    sim::Argument a;
    a.data = data;
    a.bytes = bytes;
    return a;
  }
};

TEST(Limits, OffsetsPast32BitsAreExact) {
  const std::int64_t rows = 70000;
  const std::int64_t columns = 65536;
  const Reserved in(static_cast<std::size_t>(rows * columns));
  const Reserved out(static_cast<std::size_t>(rows * columns));
  const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * columns + j); };
  for (std::int64_t i = rows - 16; i < rows; ++i) {
    for (std::int64_t j = columns - 128; j < columns; ++j) in.data[at(i, j)] = static_cast<std::byte>(i * 7 + j);
  }
  const auto lowered = build(FarCorner(), {0, columns, 0, 0});
  const std::vector<sim::Argument> arguments{argument(rows), in.argument(), out.argument()};
  for (const auto& schedule : all_schedules()) {
    sim::run(lowered.kernel, arguments, with(schedule));
    for (std::int64_t i = rows - 16; i < rows; ++i) {
      for (std::int64_t j = columns - 128; j < columns; ++j) ASSERT_EQ(out.data[at(i, j)], in.data[at(i, j)]);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
