// The SARIF report against the demands of SARIF 2.1.0.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "check/hazard_text.hpp"
#include "example_report.hpp"

namespace tessera {
namespace {
using nlohmann::json;

struct Sarif : test::ReportTest {
  static json run_of(const CheckReport& report) {
    const json log = json::parse(report.sarif());
    EXPECT_EQ(log.at("version"), "2.1.0");
    EXPECT_EQ(log.at("runs").size(), 1u);
    return log.at("runs").at(0);
  }
  static json result_of(Finding finding) {
    CheckReport report = example();
    report.findings = {std::move(finding)};
    return run_of(report).at("results").at(0);
  }
  static std::string fingerprint(const Finding& finding) {
    return result_of(finding).at("partialFingerprints").at("tesseraFinding/v1");
  }
  static json artifact_of(const char* file) {
    Finding finding = overwritten();
    finding.diagnostic.loc.file = file;
    return result_of(finding).at("locations").at(0).at("physicalLocation").at("artifactLocation");
  }
  static std::string message_of(const char* message) {
    Finding finding;
    finding.diagnostic.message = message;
    return result_of(finding).at("message").at("text");
  }
};

TEST_F(Sarif, NamesTheToolAndItsRules) {
  const json run = run_of(example());
  const json& driver = run.at("tool").at("driver");
  EXPECT_EQ(driver.at("name"), "tessera-check");
  EXPECT_FALSE(driver.at("version").get<std::string>().empty());
  ASSERT_EQ(driver.at("rules").size(), checker::hazard_count);
  std::set<std::string> ids;
  for (const json& rule : driver.at("rules")) {
    ids.insert(rule.at("id").get<std::string>());
    for (const char* text : {"shortDescription", "fullDescription", "help"}) {
      EXPECT_FALSE(rule.at(text).at("text").get<std::string>().empty());
    }
  }
  EXPECT_EQ(ids.size(), checker::hazard_count);
  EXPECT_EQ(run.at("invocations").at(0).at("executionSuccessful"), true);
  EXPECT_EQ(run.at("automationDetails").at("id"), "tessera-check/Matmul/");
}

TEST_F(Sarif, EveryResultPointsAtItsRule) {
  CheckReport report = example();
  report.findings.clear();
  for (const checker::HazardText& text : checker::hazard_texts()) {
    report.findings.push_back(overwritten());
    report.findings.back().hazard = text.hazard;
  }
  const json run = run_of(report);
  const json& rules = run.at("tool").at("driver").at("rules");
  ASSERT_EQ(run.at("results").size(), checker::hazard_count);
  for (const json& result : run.at("results")) {
    EXPECT_EQ(rules.at(result.at("ruleIndex").get<std::size_t>()).at("id"), result.at("ruleId"));
    EXPECT_EQ(result.at("level"), "error");
  }
}

TEST_F(Sarif, AResultHasItsPlaces) {
  const json result = result_of(overwritten());
  EXPECT_EQ(result.at("ruleId"), "bulk-group");
  EXPECT_EQ(result.at("message").at("text"),
            "the store of line 4 overwrites what the TMA store of line 2 may still read: byte 8 of 'sc'\n"
            "Help: wait for the store's bulk group");
  const json& place = result.at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation"), (json{{"uri", "src%20dir/main.cpp"}, {"uriBaseId", "%SRCROOT%"}}));
  EXPECT_EQ(place.at("region").at("startLine"), 4);
  EXPECT_EQ(place.at("region").at("snippet").at("text"), "  store_shared(sc, x[1]);");
  EXPECT_EQ(result.at("locations").at(0).at("logicalLocations").at(0).at("name"), "Matmul");
  ASSERT_EQ(result.at("relatedLocations").size(), 2u);
  EXPECT_EQ(result.at("relatedLocations").at(0).at("physicalLocation").at("region").at("startLine"), 2);
  EXPECT_EQ(result.at("relatedLocations").at(1).at("message").at("text"), "of shape {{64, 64}}");
  EXPECT_FALSE(result.at("relatedLocations").at(1).contains("physicalLocation"));
  const json properties = {
      {"object", "sc[1]"}, {"schedule", "random:7"}, {"block", {1, 2, 0}}, {"warp", 3}, {"count", 12}};
  EXPECT_EQ(result.at("properties"), properties);
}

TEST_F(Sarif, AResultWithoutAPlace) {
  const json result = result_of(bare());
  EXPECT_EQ(result.at("locations"), json::array());
  EXPECT_FALSE(result.at("properties").contains("schedule"));
  EXPECT_FALSE(result.at("properties").contains("warp"));
}

TEST_F(Sarif, RelativePathsStayRelative) {
  EXPECT_EQ(artifact_of("./a/../b/c.cpp"), (json{{"uri", "b/c.cpp"}, {"uriBaseId", "%SRCROOT%"}}));
  EXPECT_EQ(artifact_of("c:d.cpp").at("uri"), "c%3Ad.cpp");  // no scheme
  EXPECT_EQ(example().sarif().find(folder_.string()), std::string::npos);
}

TEST_F(Sarif, AbsolutePathsAreFileUris) {
  EXPECT_EQ(artifact_of("/a b/100%/#1/\xc3\xa4?.cpp"), (json{{"uri", "file:///a%20b/100%25/%231/%C3%A4%3F.cpp"}}));
  const std::string uri = artifact_of("../up.cpp").at("uri");
  EXPECT_EQ(uri, "file://" + (folder_.parent_path() / "up.cpp").string());
}

TEST_F(Sarif, MessagesHaveNoPlaceholdersOrLinks) {
  EXPECT_EQ(message_of("{0} of {64, 64}"), "{{0}} of {{64, 64}}");
  EXPECT_EQ(message_of("full[0](x) and full[0] (x)"), "full[0\\](x) and full[0] (x)");
}

TEST_F(Sarif, AFingerprintOutlivesMovedLinesAndOtherSchedules) {
  const std::string print = fingerprint(overwritten());
  EXPECT_TRUE(std::regex_match(print, std::regex("[0-9a-f]{16}:1"))) << print;
  Finding moved = overwritten();
  write(file_, {"// one line more", "void operator()() {", "tma.store(sc);", "sync();", "store_shared(sc, x[1]);"});
  moved.diagnostic.loc.line = 5;
  moved.diagnostic.notes[0].loc.line = 3;
  moved.diagnostic.message =
      "the store of line 5 overwrites what the TMA store of line 3 may still read: byte 1024 of 'sc'";
  moved.block = {0, 0, 0};
  moved.warp = 0;
  moved.schedule = "lazy";
  moved.count = 1;
  moved.object = "sc[0]";
  EXPECT_EQ(fingerprint(moved), print);
}

TEST_F(Sarif, FingerprintsTellFindingsApart) {
  std::set<std::string> prints{fingerprint(overwritten())};
  Finding other = overwritten();
  other.hazard = Hazard::race;
  prints.insert(fingerprint(other));
  other = overwritten();
  other.diagnostic.loc = at(3);
  prints.insert(fingerprint(other));
  other = overwritten();
  other.kernel = "Split";
  prints.insert(fingerprint(other));
  other = overwritten();
  other.diagnostic.message += " and more";
  prints.insert(fingerprint(other));
  EXPECT_EQ(prints.size(), 5u);

  CheckReport twice = example();
  twice.findings = {overwritten(), overwritten()};
  const json results = run_of(twice).at("results");
  EXPECT_NE(results.at(0).at("partialFingerprints"), results.at(1).at("partialFingerprints"));
}

TEST_F(Sarif, ACleanReportHasNoResults) {
  CheckReport report = example();
  report.findings.clear();
  EXPECT_EQ(run_of(report).at("results"), json::array());  // an empty array, which says that the run found nothing
}

}  // namespace
}  // namespace tessera
