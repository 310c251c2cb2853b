// TMA stores and reductions: boxes, groups, and sources that are given up too early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// One warp fills a tile of 8 rows of 128 bytes, and its first thread stores it.
struct Store {
  KernelBuilder b;
  DType type;
  int columns;  // of the box
  std::uint32_t out;
  const ir::RegArray* value;

  explicit Store(DType t, int rows = 8, int pitch = 64, int width = 64, thread::Swizzle swizzle = thread::Swizzle::b128)
      : b(1, 4096), type(t), columns(128 / size_of(t)) {
    out = b.pointer(t, "out");
    thread::TensorMap m;
    m.name = "gc";
    m.param = out;
    m.type = t;
    m.dims = {b.i64(width), b.i64(rows)};
    m.strides_bytes = {b.i64(pitch * size_of(t))};
    m.box = {static_cast<std::uint32_t>(columns), 8};
    m.swizzle = swizzle;
    b.kernel.tensor_maps.push_back(m);
    b.region("sc", 1024, 1024);
    value = b.regs(t, 1, "value");
  }
  E number(E i) { return (i % 100 + 1).cast(type); }
  // Element i of the tile is i % 100 + 1, put where the swizzle wants it.
  void fill(bool fence = true, SourceLoc loc = SourceLoc::here()) {
    b.loop(b.lane(), b.i32(8 * columns), b.i32(32), [&](E i) {
      b.write(value, 0, {number(i)});
      const E row = i / columns, byte = i % columns * size_of(type);
      const E piece = byte / 16 ^ row;  // 128-byte rows: line = row
      const E at = row * 128 + piece * 16 + byte % 16;
      b.add<thread::StoreSharedVector>(loc, b.ref(value), 1, b.shared(1024) + at.cast(DType::u32));
    });
    if (fence) b.fence();
    b.add<thread::WarpSync>(SourceLoc::here(), 0xffffffffU);
  }
  void store(int column, int row, bool add = false, SourceLoc loc = SourceLoc::here()) {
    b.add<thread::TmaStoreBox>(loc, 0U, b.shared(1024), std::vector<const Expr*>{b.i32(column), b.i32(row)}, add);
  }
  void commit() { b.add<thread::TmaCommit>(SourceLoc::here()); }
  void wait(int pending, bool read) { b.add<thread::TmaWait>(SourceLoc::here(), pending, read); }
  void first(const KernelBuilder::Body& body) { b.when(b.lane() == 0, body); }
};

TEST(BulkStore, BoxesAreClipped) {
  for (const char* schedule : all_schedules) {
    for (const auto& [row, column] : {std::pair{0, 0}, {5, 20}, {-3, -7}, {15, 99}, {16, 0}, {-8, 0}, {0, 64}}) {
      Store s(DType::f16, 16, 104, 100);
      s.fill();
      s.first([&, row = row, column = column] {
        s.store(column, row);
        s.commit();
        s.wait(0, true);
      });
      std::vector<float16> out(16 * 104 + 8, float16(-1));
      sim::run(s.b.kernel, std::vector<sim::Argument>{buffer(out)}, options(schedule));
      for (int r = 0; r < 16; ++r) {
        for (int c = 0; c < 104; ++c) {
          const bool inside = c < 100 && r >= row && r < row + 8 && c >= column && c < column + 64;
          const int i = (r - row) * 64 + (c - column);
          EXPECT_EQ(static_cast<float>(out[static_cast<std::size_t>(104 * r + c)]),
                    inside ? static_cast<float>(i % 100 + 1) : -1.0F)
              << schedule << " " << r << " " << c;
        }
      }
    }
  }
}

template <class T>
void check_add() {
  for (const char* schedule : all_schedules) {
    Store s(dtype_of<T>, 8, 128 / sizeof(T), 128 / sizeof(T));
    s.b.kernel.grid[0] = s.b.i64(3);
    s.fill();
    s.first([&] {
      s.store(0, 0, true);
      s.store(0, 0, true);
      s.commit();
      s.wait(0, false);
    });
    std::vector<T> out(1024 / sizeof(T), T(7));
    sim::run(s.b.kernel, std::vector<sim::Argument>{buffer(out)}, options(schedule, 2));
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(static_cast<double>(static_cast<float>(out[i])), static_cast<double>(7 + 6 * (i % 100 + 1)))
          << name_of(dtype_of<T>) << " " << i;
    }
  }
}

TEST(BulkStore, Additions) {
  check_add<float16>();
  check_add<float>();
  check_add<std::int32_t>();
  check_add<std::uint32_t>();
  check_add<std::int64_t>();
}

TEST(BulkStore, AdditionsOfBfloat16Round) {
  Store s(DType::bf16);
  s.fill();
  s.first([&] {
    s.store(0, 0, true);
    s.commit();
    s.wait(0, true);
  });
  std::vector<bfloat16> out(8 * 64, bfloat16(256.0F));
  sim::run(s.b.kernel, std::vector<sim::Argument>{buffer(out)}, options());
  EXPECT_EQ(static_cast<float>(out[0]), 256.0F);  // 257 lies between 256 and 258
  EXPECT_EQ(static_cast<float>(out[2]), 260.0F);  // 259 between 258 and 260
}

TEST(BulkStore, TypesThatCannotBeAdded) {
  Store s(DType::i16);
  s.fill();
  s.first([&] { s.store(0, 0, true); });
  std::vector<std::int16_t> out(512);
  EXPECT_THAT(error_of(s.b.kernel, {buffer(out)}, options()).what(), HasSubstr("a TMA reduction adds int16 elements"));
}

// Two tiles in turn through one buffer, as an epilogue does.
void turns(Store& s, int rounds, bool wait, SourceLoc* write, SourceLoc* store) {
  for (int i = 0; i < rounds; ++i) {
    if (i > 0 && wait) s.first([&] { s.wait(0, true); });
    *write = SourceLoc::here();
    s.fill(true, *write);
    if (i + 1 < rounds) *store = SourceLoc::here();
    s.first([&] {
      s.store(0, 8 * i, false, *store);
      s.commit();
    });
  }
  s.first([&] { s.wait(0, false); });
}

TEST(BulkStore, ASourceIsReusedAfterAReadWait) {
  for (const char* schedule : all_schedules) {
    Store s(DType::f32, 32, 32, 32);
    SourceLoc write, store;
    turns(s, 4, true, &write, &store);
    std::vector<float> out(32 * 32);
    sim::run(s.b.kernel, std::vector<sim::Argument>{buffer(out)}, options(schedule));
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<float>(i % 256 % 100 + 1)) << schedule;
  }
}

TEST(BulkStore, ASourceIsOverwrittenTooEarly) {
  for (const char* schedule : all_schedules) {
    Store s(DType::f32, 32, 32, 32);
    SourceLoc write, store;
    turns(s, 2, false, &write, &store);
    std::vector<float> out(32 * 32);
    const Error error = error_of(s.b.kernel, {buffer(out)}, options(schedule));
    ASSERT_EQ(error.kind(), ErrorKind::user) << schedule;
    const Diagnostic& d = error.diagnostics().at(0);
    EXPECT_THAT(d.message,
                AllOf(HasSubstr("overwrites what the TMA store of line " + std::to_string(store.line)),
                      HasSubstr("the store of line " + std::to_string(write.line)), HasSubstr("of tile sc")));
    EXPECT_EQ(d.loc.line, write.line);
    ASSERT_EQ(d.notes.size(), 1U);
    EXPECT_EQ(d.notes[0].loc.line, store.line);
  }
}

TEST(BulkStore, AnotherThreadsWaitDoesNotCover) {
  Store s(DType::f32, 32, 32, 32);
  s.fill();
  s.first([&] {
    s.store(0, 0);
    s.commit();
  });
  s.b.when(s.b.lane() == 1, [&] { s.wait(0, true); });
  s.fill();
  std::vector<float> out(32 * 32);
  EXPECT_THAT(error_of(s.b.kernel, {buffer(out)}, options("lazy")).what(), HasSubstr("overwrites what the TMA store"));
}

TEST(BulkStore, GroupsThatMayStayPending) {
  for (const int pending : {0, 1}) {
    Store s(DType::f32, 32, 32, 32);
    s.fill();
    s.first([&] {
      s.store(0, 0);
      s.commit();
      s.commit();  // an empty group
      s.wait(pending, true);
    });
    s.fill();
    std::vector<float> out(32 * 32);
    EXPECT_TRUE(error_of(s.b.kernel, {buffer(out)}, options("lazy")).diagnostics().empty());
  }
  Store s(DType::f32, 32, 32, 32);
  s.fill();
  s.first([&] {
    s.store(0, 0);
    s.commit();
    s.wait(1, true);
  });
  s.fill();
  std::vector<float> out(32 * 32);
  EXPECT_THAT(error_of(s.b.kernel, {buffer(out)}, options("lazy")).what(), HasSubstr("overwrites what the TMA store"));
}

TEST(BulkStore, TheSourceIsNotFenced) {
  for (const char* schedule : all_schedules) {
    Store s(DType::f32, 32, 32, 32);
    const SourceLoc write = SourceLoc::here(), store = write;
    s.fill(false, write);
    s.first([&] {
      s.store(0, 0, false, store);
      s.commit();
      s.wait(0, true);
    });
    std::vector<float> out(32 * 32);
    const Error error = error_of(s.b.kernel, {buffer(out)}, options(schedule));
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("unfenced hand-over to the TMA engine: the store of"),
                                    HasSubstr("reads what warp 0 wrote on line " + std::to_string(write.line))));
  }
}

TEST(BulkStore, TheThreadEndsTooEarly) {
  for (const char* schedule : all_schedules) {
    for (const bool committed : {false, true}) {
      Store s(DType::f32, 32, 32, 32);
      s.fill();
      const SourceLoc store = SourceLoc::here();
      s.first([&] {
        s.store(0, 0, false, store);
        if (committed) s.commit();
        if (!committed) s.wait(0, false);
      });
      std::vector<float> out(32 * 32);
      const Error error = error_of(s.b.kernel, {buffer(out)}, options(schedule));
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_THAT(error.what(), HasSubstr(committed ? "ends without waiting for its bulk group"
                                                    : "ends without committing it to a bulk group"));
      EXPECT_EQ(error.diagnostics()[0].loc.line, store.line);
    }
  }
}

TEST(BulkStore, AMapThatReachesPastItsBuffer) {
  Store s(DType::f32, 32, 32, 32);
  s.fill();
  s.first([&] {
    s.store(0, 24);
    s.commit();
    s.wait(0, false);
  });
  std::vector<float> out(32 * 31);
  EXPECT_THAT(error_of(s.b.kernel, {buffer(out)}, options("lazy")).what(),
              HasSubstr("the TMA store writes bytes 3968 to 4095 of parameter out, whose buffer has 3968 bytes"));
}

TEST(BulkStore, UninitialisedBytesThatReachTheTensor) {
  Store s(DType::f32, 32, 32, 32);
  s.first([&] {
    s.store(0, 0);
    s.commit();
    s.wait(0, true);
  });
  std::vector<float> out(32 * 32);
  EXPECT_THAT(error_of(s.b.kernel, {buffer(out)}, options("lazy")).what(),
              HasSubstr("read of uninitialised shared memory: byte 0 of tile sc"));
}

TEST(BulkStore, HintsDoNothing) {
  Store s(DType::f32, 32, 32, 32);
  s.first([&] {
    s.b.add<thread::TmaPrefetchBox>(SourceLoc::here(), 0U, std::vector<const Expr*>{s.b.i32(0), s.b.i32(0)});
    s.b.add<thread::PrefetchTensorMap>(SourceLoc::here(), 0U);
    s.b.add<thread::GridDependency>(SourceLoc::here(), true);
  });
  std::vector<float> out(32 * 32);
  EXPECT_TRUE(error_of(s.b.kernel, {buffer(out)}, options()).diagnostics().empty());
  s.first([&] { s.b.add<thread::TmaPrefetchBox>(SourceLoc::here(), 0U, std::vector<const Expr*>{s.b.i32(0)}); });
  const Error error = error_of(s.b.kernel, {buffer(out)}, options());
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_THAT(error.what(), HasSubstr("has rank 2, has 1 coordinates"));
}

}  // namespace
}  // namespace tessera::testing
