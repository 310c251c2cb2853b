// Every broken twin is found under every schedule; about its fixed one nothing is said, and its results are right.
#include <gtest/gtest.h>

#include <set>

#include "verdict.hpp"

namespace tessera::twins {
namespace {

class Twins : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Twin& twin() const { return all_twins()[GetParam()]; }
};

TEST_P(Twins, TheBrokenOneIsFoundUnderEverySchedule) {
  const Variant broken(twin(), true);
  for (const sim::Schedule& schedule : schedules(8)) EXPECT_EQ(broken.check(schedule), "");
}

TEST_P(Twins, TheFixedOneIsRightAndNothingIsSaidOfIt) {
  const Variant fixed(twin(), false);
  EXPECT_EQ(fixed.blamed_by_text(), "");
  for (const sim::Schedule& schedule : schedules(200)) ASSERT_EQ(fixed.check(schedule), "");
}

std::string name_of_case(const ::testing::TestParamInfo<std::size_t>& info) {
  return all_twins()[info.param].about.name;
}
INSTANTIATE_TEST_SUITE_P(Check, Twins, ::testing::Range<std::size_t>(0, all_twins().size()), name_of_case);

TEST(TwinSuite, HasItsSizeAndNamesThatDiffer) {
  std::set<std::string> names;
  int executed = 0;
  for (const Twin& twin : all_twins()) {
    EXPECT_TRUE(names.insert(twin.about.name).second) << twin.about.name;
    EXPECT_FALSE(twin.about.source.empty() || twin.about.expected.empty() || twin.about.object.empty())
        << twin.about.name;
    if (!twin.about.while_tracing) ++executed;
  }
  EXPECT_GE(names.size(), 90U);
  EXPECT_GE(executed, 60);
}

// What the demands are made of: a finding of another kind, at another line or of another object is not the twin's.
TEST(TwinSuite, AFindingHasToFit) {
  Twin twin;
  twin.about = {.name = "an_example", .source = "", .expected = {Hazard::race}, .object = "tile"};
  const Marks marks{{10}, {20}};
  Finding fits;
  fits.hazard = Hazard::race;
  fits.diagnostic = {{"file.cpp", "", 20}, "byte 0 of tile", "", {{{"file.cpp", "", 10}, "here"}}};
  EXPECT_EQ(mismatch(twin, marks, fits), "");
  Finding other = fits;
  other.hazard = Hazard::deadlock;
  EXPECT_EQ(mismatch(twin, marks, other), "another kind of hazard");
  other = fits;
  other.diagnostic.loc.line = 11;
  EXPECT_EQ(mismatch(twin, marks, other), "at a line that is not marked");
  other = fits;
  other.diagnostic.notes.clear();
  EXPECT_EQ(mismatch(twin, marks, other), "does not name the line marked 'first'");
  other.diagnostic.message += ", written on line 100";
  EXPECT_EQ(mismatch(twin, marks, other), "does not name the line marked 'first'");
  other.diagnostic.message += ", copied on line 10";
  EXPECT_EQ(mismatch(twin, marks, other), "");
  other = fits;
  other.diagnostic.message = "byte 0 of another one";
  EXPECT_EQ(mismatch(twin, marks, other), "does not name tile");
}

}  // namespace
}  // namespace tessera::twins
