// The ladder of dumps shows each stage once, in order.
#include <gmock/gmock.h>

#include "matmul.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Dump, ShowsEveryStageThatIsAskedFor) {
  std::vector<std::string> stages;
  std::vector<std::string> texts;
  passes::Options options;
  options.dump = "tile,layout,plan,thread,cuda";
  options.dump_sink = [&](const std::string& stage, const std::string& text) {
    stages.push_back(stage);
    texts.push_back(text);
  };
  build(MatmulTma<float16>(MatmulConfig{64, 128, 64}), {0, 128, 128, 0, 0, 0}, options);
  ASSERT_THAT(stages, ElementsAre("tile", "layout", "plan", "thread", "cuda"));
  EXPECT_THAT(texts[0], AllOf(HasSubstr("dot(a, "), HasSubstr("matmul_v0.hpp:")));
  EXPECT_THAT(texts[1], HasSubstr("spatial(8, 4).local(1, 2)"));  // the accumulator's fragments
  EXPECT_THAT(texts[2], AllOf(HasSubstr("shared memory: 24584 bytes"), HasSubstr("fence.proxy_async")));
  EXPECT_THAT(texts[3], AllOf(HasSubstr("ldmatrix"), HasSubstr("conflict-free"), HasSubstr("mma")));
  EXPECT_THAT(texts[4], AllOf(HasSubstr("__global__"), HasSubstr("hands 'sa'")));
}

TEST(Dump, IsSilentOtherwise) {
  passes::Options options;
  options.dump = "none";
  options.dump_sink = [](const std::string& stage, const std::string&) { ADD_FAILURE() << stage; };
  build(MatmulTma<float16>(MatmulConfig{64, 128, 64}), {0, 128, 128, 0, 0, 0}, options);
}

}  // namespace
}  // namespace tessera::testing
