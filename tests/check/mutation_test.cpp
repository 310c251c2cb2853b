// Every synchronisation step of every kernel, changed one at a time: the checker finds all changes but those that are
// listed in expected_survivors.cpp, each with the reason why the kernel is right without the step. A gap that opens in
// the checker shows as a survivor that is not listed or as one too many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "expected_survivors.hpp"
#include "study.hpp"

namespace tessera::testing {
namespace {

class Mutations : public ::testing::TestWithParam<std::string> {};

TEST_P(Mutations, AllAreFoundButThoseThatDoNoHarm) {
  std::vector<int> times(expected_survivors().size() + 1, 0);
  std::size_t studied = 0;
  for (const Subject& subject : all_subjects()) {
    if (subject.kernel != GetParam()) continue;
    const Study s = study(subject);
    ++studied;
    ASSERT_EQ(s.flaw, "") << s.kernel << " (" << s.form << ")";
    for (const Outcome& o : s.outcomes) {
      if (o.verdict == Verdict::found) continue;
      const std::size_t entry = entry_of(o.mutation);
      ++times[entry];
      EXPECT_TRUE(o.verdict == Verdict::survived && entry < expected_survivors().size())
          << s.kernel << " (" << s.form << "), " << name_of(o.verdict) << ": " << o.mutation.text << "\n  "
          << source_of(o.mutation.loc) << "\n  " << o.message;
    }
  }
  EXPECT_NE(studied, 0U);
  for (std::size_t i = 0; i < expected_survivors().size(); ++i) {
    const ExpectedSurvivors& e = expected_survivors()[i];
    const auto expected = e.times.find(GetParam());
    EXPECT_EQ(times[i], expected == e.times.end() ? 0 : expected->second)
        << "survivors of \"" << e.mutation << "\" at \"" << e.source << "\", which are expected because " << e.reason;
  }
}

std::vector<std::string> kernels() {
  std::istringstream words(TESSERA_MUTATED_KERNELS);
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Kernel, Mutations, ::testing::ValuesIn(kernels()),
                         [](const auto& info) { return info.param; });

TEST(Study, OfAKernelThatIsWrongItselfEndsThere) {
  Subject subject = all_subjects().front();
  const ir::thread::Kernel right = subject.build();
  std::shared_ptr<const ir::thread::Kernel> wrong;
  for (const checker::Mutation& m : checker::mutations(right)) {
    if (m.kind == "mbarrier.init deleted") wrong = checker::mutate(right, m);
  }
  ASSERT_NE(wrong, nullptr);
  subject.build = [wrong] { return *wrong; };
  const Study s = study(subject);
  EXPECT_NE(s.flaw, "");
  EXPECT_TRUE(s.outcomes.empty());
}

}  // namespace
}  // namespace tessera::testing
