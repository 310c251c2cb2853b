#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime_fixture.hpp"

namespace tessera {
namespace {
using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Order : std::uint8_t { row, column };
struct Config {
  int block_m = 128;
  int block_n = 128;
  std::uint8_t stages = 4;
  bool pipelined = false;
  Order order = Order::row;
  double ratio = 0.5;
};

TEST(Space, EnumeratesInOrderWithTheLastFieldFastest) {
  Space<Config> space;
  space.choices<&Config::block_m, &Config::block_n>({{64, 128}, {128, 256}}).choices<&Config::stages>({2, 3});
  std::vector<std::string> texts;
  for (const Config& config : space.configs()) texts.push_back(space.text(config));
  EXPECT_THAT(texts, ElementsAre("block_m=64,block_n=128,stages=2", "block_m=64,block_n=128,stages=3",
                                 "block_m=128,block_n=256,stages=2", "block_m=128,block_n=256,stages=3"));
  EXPECT_THAT(space.names(), ElementsAre("block_m", "block_n", "stages"));
}

TEST(Space, WhereKeepsWhatHolds) {
  const auto space =
      Space<Config>{}.choices<&Config::block_m>({32, 64, 96}).where([](const Config& c) { return c.block_m > 32; });
  EXPECT_EQ(space.size(), 2U);
}

TEST(Space, TextAndParseAreInverse) {
  const auto space = Space<Config>{}
                         .choices<&Config::block_m>({64})
                         .choices<&Config::pipelined>({false, true})
                         .choices<&Config::order>({Order::column})
                         .choices<&Config::ratio>({0.25});
  for (const Config& config : space.configs()) {
    const Config again = space.parse(space.text(config));
    EXPECT_EQ(again.block_m, config.block_m);
    EXPECT_EQ(again.pipelined, config.pipelined);
    EXPECT_EQ(again.order, config.order);
    EXPECT_EQ(again.ratio, config.ratio);
  }
  EXPECT_EQ(space.parse(" block_m = 7 ").block_m, 7);
  EXPECT_EQ(space.parse("").block_m, 128) << "fields left out keep their default";
}

TEST(Space, OfIsExactlyTheGivenConfigurations) {
  const std::vector<Config> configs = {{.block_m = 64, .block_n = 128}, {.block_m = 128, .block_n = 32}};
  const auto space = Space<Config>::of<&Config::block_m, &Config::block_n>(configs);
  ASSERT_EQ(space.size(), 2U);
  EXPECT_EQ(space.text(space.configs()[0]), "block_m=64,block_n=128");
  EXPECT_EQ(space.text(space.configs()[1]), "block_m=128,block_n=32");
  EXPECT_EQ(space.parse("block_m=128,block_n=32").block_n, 32);
  EXPECT_THAT(error_of([] { Space<Config>::of<&Config::block_m>({}); }).what(), HasSubstr("without a value"));
  const Error error = error_of([&] { Space<Config>::of<&Config::block_m>({configs[0], configs[0]}); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("block_m=64 is listed twice"));
}

TEST(Space, RefusesARepeatedValueAtTheUsersLine) {
  const Error error = error_of([] { Space<Config>{}.choices<&Config::block_m>({64, 32, 64}); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_EQ(error.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 2));
  EXPECT_THAT(error.what(), HasSubstr("{64} is listed twice"));
}

TEST(Space, RefusesTwoChoicesOfOneField) {
  const Error error = error_of([] {
    Space<Config> space;
    space.choices<&Config::block_m, &Config::block_n>({{64, 64}});
    space.choices<&Config::block_n>({32});
  });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("the field block_n has choices already"));
  ASSERT_EQ(error.diagnostics()[0].notes.size(), 1U);
  EXPECT_LT(error.diagnostics()[0].notes[0].loc.line, error.diagnostics()[0].loc.line);
}

TEST(Space, RefusesNoValuesAndNoConfigurations) {
  EXPECT_THAT(error_of([] { Space<Config>{}.choices<&Config::block_m>({}); }).what(), HasSubstr("without a value"));
  const Error error = error_of([] {
    Space<Config>{}.choices<&Config::block_m>({64, 128}).where([](const Config&) { return false; }).configs();
  });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("none of its 2 configurations is left"));
  EXPECT_TRUE(error.diagnostics()[0].loc.known());
}

TEST(Space, ParseNamesWhatItDoesNotKnow) {
  const auto space = Space<Config>{}.choices<&Config::block_m>({64}).choices<&Config::stages>({2});
  EXPECT_THAT(error_of([&] { space.parse("block_q=1"); }).what(), HasSubstr("no field \"block_q\""));
  EXPECT_THAT(error_of([&] { space.parse("block_q=1"); }).what(), HasSubstr("block_m, stages"));
  EXPECT_THAT(error_of([&] { space.parse("block_m"); }).what(), HasSubstr("field=value"));
  EXPECT_THAT(error_of([&] { space.parse("block_m=x"); }).what(), HasSubstr("not a value of the field block_m"));
  EXPECT_THAT(error_of([&] { space.parse("stages=300"); }).what(), HasSubstr("not a value of the field stages"));
  EXPECT_THAT(error_of([&] { space.parse("block_m=1,block_m=2"); }).what(), HasSubstr("given twice"));
}

}  // namespace
}  // namespace tessera
