#include <nlohmann/json.hpp>
#include <set>

#include "check/hazard_text.hpp"
#include "example_report.hpp"

namespace tessera {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

struct ReportText : test::ReportTest {};
struct ReportJson : test::ReportTest {};

TEST_F(ReportText, ShowsEachFindingWithItsLines) {
  EXPECT_EQ(
      example().text(),
      "Matmul (block_m=128, stages=4): 2 findings; 6 schedules (eager, lazy, random:5 to 7, random:9), 24 blocks "
      "and 1234567 statements of warps run\n"
      "\n"
      "src dir/main.cpp:4: bulk-group: the store of line 4 overwrites what the TMA store of line 2 may still read: "
      "byte 8 of 'sc'\n"
      "    4 |   store_shared(sc, x[1]);\n"
      "src dir/main.cpp:2: note: the store reads the tile from here on\n"
      "    2 |   tma.store(sc);\n"
      "note: of shape {64, 64}\n"
      "  help: wait for the store's bulk group\n"
      "  seen 12 times; first in block (1, 2, 0), warp 3; reproduce with --schedule random:7\n"
      "\n"
      "registers: the warpgroups ask for too many\n"
      "  seen in the kernel itself, before it ran\n");
}

TEST_F(ReportText, ACleanReportIsOneLine) {
  CheckReport report = example();
  report.findings.clear();
  report.schedules = {"eager"};
  report.blocks = 1;
  EXPECT_EQ(report.text(),
            "Matmul (block_m=128, stages=4): no hazard found; 1 schedule (eager), 1 block and 1234567 statements of "
            "warps run\n");
  EXPECT_EQ(CheckReport{}.text(), "kernel: no hazard found; no schedule was run\n");
}

TEST_F(ReportText, WhatIsUnknownIsLeftOut) {
  CheckReport report;
  report.findings = {overwritten()};
  report.findings[0].warp = -1;
  report.findings[0].count = 1;
  std::filesystem::remove(file_);
  const std::string text = report.text();
  EXPECT_THAT(text, HasSubstr("kernel: 1 finding; no schedule was run\n"));
  EXPECT_THAT(text, HasSubstr("  seen once; in block (1, 2, 0); reproduce with --schedule random:7\n"));
  EXPECT_THAT(text, Not(HasSubstr("|")));
}

TEST_F(ReportText, OnlySchedulesThatCountOnAreJoined) {
  CheckReport report;
  report.schedules = {"random:1", "ordering:2", "ordering:3", "random:x", "random:3", "random:4 ", "random:5"};
  EXPECT_THAT(report.text(), HasSubstr("(random:1, ordering:2 to 3, random:x, random:3, random:4 , random:5)"));
}

TEST_F(ReportText, ManyOrdersAreCounted) {
  CheckReport report;
  report.schedules = {"lazy", "order:", "order:1.1", "order:2.1,3.1"};
  EXPECT_THAT(report.text(), HasSubstr("4 schedules (lazy, order:, order:1.1, order:2.1,3.1)"));
  report.schedules.push_back("order:4.1");
  report.schedules.push_back("eager");
  EXPECT_THAT(report.text(), HasSubstr("6 schedules (lazy, 4 of order, eager)"));
}

TEST_F(ReportJson, HasEveryField) {
  const CheckReport report = example();
  const json j = json::parse(report.json());
  EXPECT_EQ(j["tessera_check"], 1);
  EXPECT_THAT(j["version"].get<std::string>(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(j["kernel"], "Matmul");
  EXPECT_EQ(j["config"], "block_m=128, stages=4");
  EXPECT_EQ(j["clean"], false);
  EXPECT_EQ(j["schedules"].get<std::vector<std::string>>(), report.schedules);
  EXPECT_EQ(j["blocks"], 24);
  EXPECT_EQ(j["statements"], 1234567);
  EXPECT_EQ(j["waived"], 0);
  EXPECT_EQ(j.size(), 10u);
  ASSERT_EQ(j["findings"].size(), 2u);
}

TEST_F(ReportJson, HasEveryFieldOfAFinding) {
  const Finding finding = overwritten();
  const json j = json::parse(example().json())["findings"][0];
  EXPECT_EQ(j["hazard"], "bulk-group");
  EXPECT_EQ(j["description"], checker::text_of(Hazard::bulk_group).description);
  EXPECT_EQ(j["message"], finding.diagnostic.message);
  EXPECT_EQ(j["help"], finding.diagnostic.help);
  const json location = {
      {"file", file_}, {"line", 4}, {"function", "operator()"}, {"source", "  store_shared(sc, x[1]);"}};
  EXPECT_EQ(j["location"], location);
  ASSERT_EQ(j["notes"].size(), 2u);
  EXPECT_EQ(j["notes"][0]["message"], "the store reads the tile from here on");
  EXPECT_EQ(j["notes"][0]["location"]["line"], 2);
  EXPECT_EQ(j["notes"][1]["location"], nullptr);
  EXPECT_EQ(j["object"], "sc[1]");
  EXPECT_EQ(j["kernel"], "Matmul");
  EXPECT_EQ(j["schedule"], "random:7");
  EXPECT_EQ(j["block"], (json{1, 2, 0}));
  EXPECT_EQ(j["warp"], 3);
  EXPECT_EQ(j["count"], 12);
  EXPECT_EQ(j.size(), 12u);
}

TEST_F(ReportJson, WhatIsUnknownIsNull) {
  const json j = json::parse(example().json())["findings"][1];
  EXPECT_EQ(j["location"], nullptr);
  EXPECT_EQ(j["schedule"], nullptr);
  EXPECT_EQ(j["warp"], nullptr);
  EXPECT_EQ(j["notes"], json::array());
  EXPECT_EQ(j.size(), 12u);
}

TEST_F(ReportJson, ACleanReportSaysSo) {
  CheckReport report = example();
  report.findings.clear();
  const json j = json::parse(report.json());
  EXPECT_EQ(j["clean"], true);
  EXPECT_EQ(j["findings"], json::array());
}

TEST_F(ReportJson, NamesInAnyEncoding) {
  CheckReport report = example();
  report.kernel = "a\"b\\c\n\xff";
  EXPECT_EQ(json::parse(report.json())["kernel"], "a\"b\\c\n\xef\xbf\xbd");
}

TEST(HazardText, DescribesEveryHazardOnce) {
  std::set<std::string> names, descriptions;
  for (const checker::HazardText& text : checker::hazard_texts()) {
    EXPECT_STRNE(name_of(text.hazard), "?");
    names.insert(name_of(text.hazard));
    descriptions.insert(text.description);
    const std::string_view sentence = text.description;
    EXPECT_EQ(sentence.find(". "), std::string_view::npos) << sentence;
    EXPECT_TRUE(sentence.ends_with('.')) << sentence;
    EXPECT_EQ(std::string_view(text.help).substr(std::string_view(text.help).size() - 1), ".");
  }
  EXPECT_EQ(names.size(), checker::hazard_count);
  EXPECT_EQ(descriptions.size(), checker::hazard_count);
  EXPECT_STREQ(name_of(static_cast<Hazard>(checker::hazard_count)), "?");  // the table ends where the enumeration does
}

// docs/checker.md has a row for each hazard, in the words of the table.
TEST(HazardText, IsWhatTheDocumentSays) {
  std::ifstream file(TESSERA_CHECKER_DOC);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const checker::HazardText& text : checker::hazard_texts()) {
    EXPECT_THAT(document, HasSubstr("\n| `" + std::string(name_of(text.hazard)) + "` | " + text.description + " |\n"));
  }
}

}  // namespace
}  // namespace tessera
