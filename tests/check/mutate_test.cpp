// Mutations are one change each, exactly the one that they say, of a copy.
#include "check/mutate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/shorten_ring.hpp"
#include "golden/builder.hpp"
#include "golden/kernels.hpp"
#include "ir/thread_text.hpp"
#include "tessera/core/error.hpp"

namespace tessera::checker {
namespace {

using golden::Builder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::string> lines_of(const ir::thread::Kernel& kernel) {
  const std::string text = to_string(kernel, false);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::size_t first = std::min(text.find_first_not_of(' ', at), end);
    lines.push_back(text.substr(first, end - first));
    at = end + 1;
  }
  return lines;
}

// The lines that only one of two kernels has, in order: "- old", "+ new".
std::vector<std::string> difference(const ir::thread::Kernel& before, const ir::thread::Kernel& after) {
  std::map<std::string, int> count;
  const auto old_lines = lines_of(before), new_lines = lines_of(after);
  for (const std::string& line : new_lines) ++count[line];
  std::vector<std::string> result;
  for (const std::string& line : old_lines) {
    if (--count[line] < 0) result.push_back("- " + line);
  }
  for (const std::string& line : new_lines) {
    if (count[line] > 0) {
      --count[line];
      result.push_back("+ " + line);
    }
  }
  return result;
}

std::vector<Mutation> of_kind(const ir::thread::Kernel& kernel, const std::string& kind) {
  std::vector<Mutation> result = mutations(kernel);
  std::erase_if(result, [&](const Mutation& m) { return m.kind != kind; });
  return result;
}

// What the only mutation of that kind changes.
std::vector<std::string> effect(const ir::thread::Kernel& kernel, const std::string& kind) {
  const auto all = of_kind(kernel, kind);
  if (all.size() != 1) return {std::to_string(all.size()) + " mutations"};
  return difference(kernel, *mutate(kernel, all[0]));
}

std::vector<std::string> kinds(const ir::thread::Kernel& kernel) {
  std::vector<std::string> result;
  for (const Mutation& m : mutations(kernel)) result.push_back(m.kind);
  return result;
}

TEST(Mutate, ACopyReadsTheSameAndSharesNoStatement) {
  for (const golden::Case& c : golden::cases()) {
    const ir::thread::Kernel kernel = c.make();
    const auto duplicate = copy(kernel);
    EXPECT_EQ(to_string(kernel, true), to_string(*duplicate, true)) << c.name;
    std::set<const ir::Stmt*> of_original(kernel.body.begin(), kernel.body.end());
    for (const ir::Stmt* s : duplicate->body) EXPECT_EQ(of_original.count(s), 0U) << c.name;
  }
}

TEST(Mutate, EachMutationIsOneChangeAndTheOriginalStays) {
  std::set<Change> seen;
  for (const golden::Case& c : golden::cases()) {
    const ir::thread::Kernel kernel = c.make();
    const std::string text = to_string(kernel, true);
    for (const Mutation& m : mutations(kernel)) {
      seen.insert(m.change);
      const auto mutant = mutate(kernel, m);
      ASSERT_EQ(to_string(kernel, true), text) << c.name << ", " << m.text;
      EXPECT_NE(to_string(*mutant, false), to_string(kernel, false)) << c.name << ", " << m.text;
      const auto changed = difference(kernel, *mutant);
      const bool moved = m.change == Change::later || m.change == Change::earlier;
      const bool many = m.change == Change::shorten_ring || m.change == Change::shorten_round;
      const std::size_t lines = m.change == Change::erase ? 1 : moved ? 0 : 2;
      EXPECT_TRUE(many || changed.size() == lines) << c.name << ", " << m.text;
      EXPECT_EQ(m.text.rfind("line " + std::to_string(m.loc.line) + ": ", 0), 0U) << m.text;
    }
  }
  EXPECT_GE(seen.size(), 9U);
}

TEST(Mutate, ReadsTheSameTheSecondTime) {
  const ir::thread::Kernel kernel = golden::cluster_matmul();
  for (const Mutation& m : mutations(kernel))
    EXPECT_EQ(to_string(*mutate(kernel, m), true), to_string(*mutate(kernel, m), true)) << m.text;
}

TEST(Mutate, AMutantOutlivesTheOriginal) {
  std::shared_ptr<const ir::thread::Kernel> mutant;
  std::string text;
  {
    const ir::thread::Kernel kernel = golden::tma_pipeline();
    mutant = mutate(kernel, mutations(kernel).front());
    text = to_string(*mutant, true);
  }
  EXPECT_EQ(to_string(*mutant, true), text);
}

TEST(Mutate, CountsAndBytes) {
  Builder b("counts", 4);
  b.line(10).add<ir::thread::MbarrierInit>(b.shared(), 2U);
  EXPECT_EQ(mutations(b.kernel)[0].text, "line 10: mbarrier.init deleted");
  EXPECT_THAT(effect(b.kernel, "mbarrier.init deleted"), ElementsAre("- mbarrier.init [shared], 2"));
  EXPECT_THAT(effect(b.kernel, "mbarrier.init with one arrival more"),
              ElementsAre("- mbarrier.init [shared], 2", "+ mbarrier.init [shared], 3"));
  EXPECT_THAT(effect(b.kernel, "mbarrier.init with one arrival less"),
              ElementsAre("- mbarrier.init [shared], 2", "+ mbarrier.init [shared], 1"));

  Builder bytes("bytes", 4);
  bytes.add<ir::thread::MbarrierArriveExpectTx>(bytes.shared(), bytes.u32(96));
  const std::string old = "- mbarrier.arrive.expect_tx [shared], 96 bytes";
  const std::string head = "mbarrier.arrive.expect_tx ";
  EXPECT_THAT(effect(bytes.kernel, head + "with 16 bytes more"),
              ElementsAre(old, "+ mbarrier.arrive.expect_tx [shared], 112 bytes"));
  EXPECT_THAT(effect(bytes.kernel, head + "with 16 bytes less"),
              ElementsAre(old, "+ mbarrier.arrive.expect_tx [shared], 80 bytes"));
  EXPECT_THAT(effect(bytes.kernel, head + "with half the bytes"),
              ElementsAre(old, "+ mbarrier.arrive.expect_tx [shared], 48 bytes"));

  Builder named("named", 4);
  named.add<ir::thread::BarrierSync>(1, 64);
  EXPECT_THAT(effect(named.kernel, "barrier.sync with a warp less"),
              ElementsAre("- barrier.sync 1, 64 threads", "+ barrier.sync 1, 32 threads"));
  EXPECT_THAT(effect(named.kernel, "barrier.sync with a warp more"),
              ElementsAre("- barrier.sync 1, 64 threads", "+ barrier.sync 1, 96 threads"));
}

TEST(Mutate, NoCountFallsToNothing) {
  Builder b("smallest", 4);
  b.add<ir::thread::MbarrierInit>(b.shared(), 1U);
  b.add<ir::thread::BarrierSync>(1, 32);
  b.add<ir::thread::WgmmaWait>(7, std::vector<const ir::RegArray*>{});
  EXPECT_THAT(
      kinds(b.kernel),
      UnorderedElementsAre("mbarrier.init deleted", "mbarrier.init with one arrival more", "barrier.sync deleted",
                           "barrier.sync with a warp more", "barrier.sync moved behind the next",
                           "barrier.sync moved before the previous", "wgmma.wait_group deleted"));
}

TEST(Mutate, WaitsAndTheirParity) {
  Builder b("waits", 4);
  b.add<ir::thread::MbarrierWait>(b.shared(), b.u32(0));
  EXPECT_THAT(effect(b.kernel, "mbarrier.wait with the parity flipped"),
              ElementsAre("- mbarrier.wait [shared], parity 0", "+ mbarrier.wait [shared], parity 1"));
  Builder stores("stores", 4);
  stores.add<ir::thread::TmaWait>(0, false);
  EXPECT_THAT(effect(stores.kernel, "tma.wait_group only for reads"),
              ElementsAre("- tma.wait_group 0", "+ tma.wait_group.read 0"));
  EXPECT_THAT(effect(stores.kernel, "tma.wait_group with one more group left pending"),
              ElementsAre("- tma.wait_group 0", "+ tma.wait_group 1"));
}

TEST(Mutate, SignalsAndCopiesToOtherBlocks) {
  Builder b("remote", 4);
  b.add<ir::thread::MbarrierArrive>(b.shared(), 1U, b.u32(1));
  EXPECT_THAT(effect(b.kernel, "mbarrier.arrive.remote to its own block"),
              ElementsAre("- mbarrier.arrive [shared] of CTA 1, 1", "+ mbarrier.arrive [shared], 1"));
  Builder copies("copies", 4);
  auto* load = copies.add<ir::thread::TmaLoadBox>(0U, copies.shared(1024), std::vector{copies.i32(0)}, copies.shared());
  load->multicast = copies.u32(3);
  const auto changed = effect(copies.kernel, "tma.load without its multicast");
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_THAT(changed[0], HasSubstr("to CTAs"));
  EXPECT_THAT(changed[1], AllOf(HasSubstr("tma.load"), Not(HasSubstr("to CTAs"))));
}

// A wait, a comment, a store, a fence in a branch of its own.
struct Sequence : Builder {
  Sequence() : Builder("sequence", 4) {
    const ir::RegArray* r = regs("r", DType::i32, 1);
    line(5).add<ir::thread::MbarrierWait>(shared(), u32(0));
    add<ir::thread::Comment>("nothing");
    line(6).add<ir::thread::StoreSharedVector>(ref(r, 0), 1, shared(64));
    when(elected(), [&] { line(7).add<ir::thread::Fence>(ir::thread::FenceKind::proxy_async_shared, ""); });
  }
};

std::vector<ir::StmtKind> order(const ir::thread::Kernel& kernel) {
  std::vector<ir::StmtKind> result;
  for (const ir::Stmt* s : kernel.body) result.push_back(s->kind);
  return result;
}

TEST(Mutate, MovesPastTheNextThatDoesSomething) {
  Sequence s;
  const auto waits = of_kind(s.kernel, "mbarrier.wait moved behind the next");
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].text, "line 5: mbarrier.wait moved behind the next statement (StoreSharedVector of line 6)");
  using K = ir::StmtKind;
  EXPECT_THAT(order(*mutate(s.kernel, waits[0])),
              ElementsAre(K::thread_DeclareRegs, K::thread_Comment, K::thread_StoreSharedVector, K::thread_MbarrierWait,
                          K::control_If));
  EXPECT_THAT(of_kind(s.kernel, "mbarrier.wait moved before the previous"), IsEmpty());
}

TEST(Mutate, MovesTheBranchAroundAStatement) {
  Sequence s;
  const auto fences = of_kind(s.kernel, "fence.proxy.async moved before the previous");
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_EQ(fences[0].loc.line, 7U);
  using K = ir::StmtKind;
  EXPECT_THAT(order(*mutate(s.kernel, fences[0])),
              ElementsAre(K::thread_DeclareRegs, K::thread_MbarrierWait, K::thread_Comment, K::control_If,
                          K::thread_StoreSharedVector));
}

TEST(Mutate, DoesNotMoveWhereNothingWouldChange) {
  Builder b("pairs", 4);
  const ir::Var* parity = b.var("parity", b.u32(0));
  b.add<ir::thread::MbarrierWait>(b.shared(), b.e().var(parity));
  b.add<ir::thread::MbarrierWait>(b.shared(8), b.e().var(parity));  // two of a kind commute
  b.add<ir::control::AssignVar>(parity, b.u32(1));                  // behind it the wait would be another one
  b.add<ir::thread::WgmmaFence>();
  for (const Mutation& m : mutations(b.kernel)) {
    if (m.statement != ir::StmtKind::thread_MbarrierWait) continue;
    EXPECT_NE(m.change, Change::later) << m.text;
    EXPECT_NE(m.change, Change::earlier) << m.text;
  }
}

// Two slots of 256 bytes behind two barriers, read by wgmma.
struct TwoSlots : Builder {
  const ir::Var* slot;
  TwoSlots() : Builder("ring", 4), slot(var("slot", u32(0))) {
    e().set_facts(slot, 0, 1);
    kernel.regions = {
        {"full", 0, 16, true, at(3)}, {"tiles", 1024, 512, false, at(4)}, {"other", 2048, 512, false, at(5)}};
    const ir::Expr* tile = e().add(shared(1024), e().mul(e().var(slot), 256));
    line(8).add<ir::thread::TmaLoadBox>(0U, tile, std::vector{i32(0)}, shared());
    const ir::RegArray* acc = regs("acc", DType::f32, 4);
    auto* mma = add<ir::thread::Wgmma>(DType::f16, DType::f16, DType::f32, 8, ref(acc, 0));
    mma->a.low = mma->b.low = e().add(e().div(tile, 16), u32(1 << 16));
    const ir::Expr* next = e().add(e().var(slot), 1);
    line(9).add<ir::control::AssignVar>(slot, e().select(e().binary(ir::ExprKind::eq, next, u32(2)), u32(0), next));
  }
};

TEST(Mutate, TheLastSlotOfARingBecomesTheFirst) {
  TwoSlots r;
  const auto found = of_kind(r.kernel, "ring of tiles shortened");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "line 4: ring of tiles shortened, the last of tiles's 2 slots is the first");
  const auto changed = difference(r.kernel, *mutate(r.kernel, found[0]));
  ASSERT_EQ(changed.size(), 4U);
  EXPECT_THAT(changed[2], AllOf(HasSubstr("tma.load"), HasSubstr("256")));
  EXPECT_THAT(changed[3], AllOf(HasSubstr("wgmma"), HasSubstr("16383")));
}

TEST(Mutate, ACounterGoesRoundEarlier) {
  TwoSlots r;
  const auto changed = effect(r.kernel, "counter of slots shortened");
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_THAT(changed[0], HasSubstr("(slot + 1) == 2"));
  EXPECT_THAT(changed[1], HasSubstr("(slot + 1) == 1"));
}

// What mutation testing runs has to be well-formed: nothing is used before it is declared.
TEST(Mutate, MutantsOfPlaceAndOfAddressesKeepTheRulesOfTheThreadIR) {
  for (const golden::Case& c : golden::cases()) {
    const ir::thread::Kernel kernel = c.make();
    for (const Mutation& m : mutations(kernel)) {
      if (m.change == Change::count) continue;  // a barrier may get more threads than the block has
      EXPECT_NO_THROW(verify(*mutate(kernel, m))) << c.name << ", " << m.text;
    }
  }
}

TEST(Mutate, WhatAStatementNeedsIsComputedBeforeIt) {
  Builder b("order", 4);
  const ir::RegArray* r = b.regs("r", DType::i32, 1);
  b.add<ir::thread::StoreSharedVector>(b.ref(r, 0), 1, b.shared(64));
  const ir::Expr* barrier = b.let("barrier", b.e().add(b.shared(), b.e().cast(DType::u32, b.block(0))));
  b.add<ir::thread::MbarrierArrive>(barrier, 1U);
  const auto moved = of_kind(b.kernel, "mbarrier.arrive moved before the previous");
  ASSERT_EQ(moved.size(), 1U);
  using K = ir::StmtKind;
  EXPECT_THAT(order(*mutate(b.kernel, moved[0])), ElementsAre(K::thread_DeclareRegs, K::control_Let,
                                                              K::thread_MbarrierArrive, K::thread_StoreSharedVector));
}

TEST(Mutate, WithoutBarriersThereIsNoRing) {
  TwoSlots r;
  r.kernel.regions[0].is_barrier = false;
  EXPECT_THAT(rings(r.kernel), IsEmpty());
}

TEST(Mutate, RefusesAMutationOfAnotherKernel) {
  Builder b("nothing", 4);
  Mutation m;
  m.change = Change::parity;
  EXPECT_THROW(mutate(b.kernel, m), Error);
  b.add<ir::thread::WgmmaFence>();
  EXPECT_THROW(mutate(b.kernel, m), Error);
  m.change = Change::shorten_ring;
  EXPECT_THROW(mutate(b.kernel, m), Error);
  m.change = Change::count;
  EXPECT_THROW(mutate(b.kernel, m), Error);
}

}  // namespace
}  // namespace tessera::checker
