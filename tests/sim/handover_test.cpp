// Handing a tile from ordinary accesses to the copy engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Touch { read, write, none };
enum class Fencing { none, all, before_access, one_lane };

// Every warp touches the tile (or not), all synchronise, one thread copies into it, all wait, every warp reads it.
struct Handover {
  KernelBuilder b{2, 4096};
  std::vector<float> source = std::vector<float>(1024, 3.0F);
  std::uint32_t access_line = 0, copy_line = 0;

  Handover(Touch touch, Fencing fencing) {
    const auto in = b.pointer(DType::f32, "in");
    thread::TensorMap m;
    m.name = "view";
    m.param = in;
    m.type = DType::f32;
    m.dims = {b.i64(32), b.i64(32)};
    m.strides_bytes = {b.i64(128)};
    m.box = {32, 8};
    b.kernel.tensor_maps.push_back(m);
    b.region("sa", 1024, 1024);
    b.region("bar", 2048, 8, true);
    b.when(b.thread_idx() == 0, [&] { b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(2048), 1U); });
    const auto* a = b.regs(DType::f32, 1, "a");
    b.write(a, 0, {b.real(DType::f32, 1)});
    const E address = b.shared(1024) + (b.thread_idx() * 4).cast(DType::u32);
    if (fencing == Fencing::before_access) b.fence();
    if (touch != Touch::none) {
      const auto loc = SourceLoc::here();
      access_line = loc.line;
      b.add<thread::StoreSharedVector>(loc, b.ref(a), 1, address);
    }
    if (touch == Touch::read) {
      b.fence();
      const auto loc = SourceLoc::here();
      access_line = loc.line;
      b.add<thread::LoadSharedVector>(loc, b.ref(a), 1, address);
    }
    if (fencing == Fencing::all) b.fence();
    if (fencing == Fencing::one_lane) b.when(b.lane() == 0, [&] { b.fence(); });
    b.sync();
    b.when(b.thread_idx() == 0, [&] {
      b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), b.shared(2048), b.u32(1024));
      const auto loc = SourceLoc::here();
      copy_line = loc.line;
      b.add<thread::TmaLoadBox>(loc, 0U, b.shared(1024), std::vector<const Expr*>{b.i32(0), b.i32(0)}, b.shared(2048));
    });
    b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(2048), b.u32(0));
    b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1, address);
  }
  Error error(sim::Options o) { return error_of(b.kernel, {buffer(source)}, o); }
};

TEST(Handover, AFenceInEveryThreadIsEnough) {
  for (const char* schedule : all_schedules) {
    for (const Touch touch : {Touch::read, Touch::write}) {
      Handover h(touch, Fencing::all);
      const Error error = h.error(options(schedule));
      EXPECT_TRUE(error.diagnostics().empty()) << schedule << error.what();
    }
    Handover untouched(Touch::none, Fencing::none);
    EXPECT_TRUE(untouched.error(options(schedule)).diagnostics().empty());
  }
}

TEST(Handover, WithoutAFenceBothLinesAreNamed) {
  for (const char* schedule : all_schedules) {
    for (const Touch touch : {Touch::read, Touch::write}) {
      for (const Fencing fencing : {Fencing::none, Fencing::before_access, Fencing::one_lane}) {
        Handover h(touch, fencing);
        const Error error = h.error(options(schedule));
        EXPECT_EQ(error.kind(), ErrorKind::user);
        const Diagnostic& d = error.diagnostics().at(0);
        EXPECT_THAT(d.message, AllOf(HasSubstr("unfenced hand-over to the TMA engine"), HasSubstr("byte 0 of tile sa"),
                                     HasSubstr("line " + std::to_string(h.copy_line)),
                                     HasSubstr("line " + std::to_string(h.access_line))));
        EXPECT_EQ(d.loc.line, h.copy_line);
        ASSERT_EQ(d.notes.size(), 1U);
        EXPECT_EQ(d.notes[0].loc.line, h.access_line);
        EXPECT_THAT(d.help, HasSubstr("fence.proxy_async"));
      }
    }
  }
}

TEST(Handover, TheCheckCanBeSwitchedOff) {
  Handover h(Touch::write, Fencing::none);
  sim::Options o = options();
  o.check_proxy_handover = false;
  EXPECT_TRUE(h.error(o).diagnostics().empty());
}

// One thread writes a tile and fences for itself; the rest of its warp has unfenced accesses to another tile.
TEST(Handover, AThreadFencesItsOwnAccesses) {
  for (const bool fenced_by_the_same : {true, false}) {
    KernelBuilder b(1, 4096);
    const auto in = b.pointer(DType::f32, "in");
    thread::TensorMap m;
    m.name = "view";
    m.param = in;
    m.type = DType::f32;
    m.dims = {b.i64(32)};
    m.box = {32};
    b.kernel.tensor_maps.push_back(m);
    const auto* a = b.regs(DType::f32, 1, "a");
    b.write(a, 0, {b.real(DType::f32, 1)});
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, b.shared(1024) + (b.lane() * 4).cast(DType::u32));
    b.when(b.lane() == 0, [&] {
      b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(2048), 1U);
      b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, b.shared(0));
    });
    b.when(b.lane() == (fenced_by_the_same ? 0 : 1), [&] { b.fence(); });
    b.when(b.lane() == 0, [&] {
      b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), b.shared(2048), b.u32(128));
      b.add<thread::TmaLoadBox>(SourceLoc::here(), 0U, b.shared(0), std::vector<const Expr*>{b.i32(0)}, b.shared(2048));
    });
    b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(2048), b.u32(0));
    std::vector<float> x(32);
    const Error error = error_of(b.kernel, {buffer(x)}, options());
    if (fenced_by_the_same) {
      EXPECT_TRUE(error.diagnostics().empty()) << error.what();
    } else {
      EXPECT_THAT(error.what(), HasSubstr("unfenced hand-over"));
    }
  }
}

TEST(Handover, AnAccessWhileTheCopyIsInFlightIsToldApart) {
  KernelBuilder b(1, 4096);
  const auto in = b.pointer(DType::f32, "in");
  thread::TensorMap m;
  m.name = "view";
  m.param = in;
  m.type = DType::f32;
  m.dims = {b.i64(32)};
  m.box = {32};
  b.kernel.tensor_maps.push_back(m);
  b.region("sa", 0, 128);
  const auto* a = b.regs(DType::f32, 1, "a");
  b.write(a, 0, {b.real(DType::f32, 1)});
  b.when(b.lane() == 0, [&] {
    b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(1024), 1U);
    b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), b.shared(1024), b.u32(128));
    b.add<thread::TmaLoadBox>(SourceLoc::here(), 0U, b.shared(0), std::vector<const Expr*>{b.i32(0)}, b.shared(1024));
  });
  b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, b.shared(0) + (b.lane() * 4).cast(DType::u32));
  b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(1024), b.u32(0));
  std::vector<float> x(32);
  const Error error = error_of(b.kernel, {buffer(x)}, options("lazy"));
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("was still in flight when warp 0 accessed what it writes"),
                                  HasSubstr("byte 0 of tile sa")));
}

}  // namespace
}  // namespace tessera::testing
