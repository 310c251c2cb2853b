// The page with the timeline: what its script reads, and the page around it.
#include <nlohmann/json.hpp>
#include <regex>

#include "check/hazard_text.hpp"
#include "check/timeline_data.hpp"
#include "check/timeline_html.hpp"
#include "example_report.hpp"

namespace tessera::checker {
namespace {
using nlohmann::json;
using sim::Timeline;
using sim::TimelineEvent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Kind = TimelineEvent::Kind;
using Tracks = Timeline::Track::Kind;

constexpr const char* hostile = "</script><script>alert('1')</script><!-- & \"\x01";

struct TimelineTest : test::ReportTest {
  static Timeline example_timeline() {
    Timeline timeline;
    timeline.kernel = "Matmul";
    timeline.file = file_;
    timeline.schedule = "random:7";
    timeline.end = 100;
    timeline.tracks = {{Tracks::warp, {0, 0, 0}, "warp 0"},
                       {Tracks::barrier, {0, 0, 0}, "full[0]"},
                       {Tracks::engine, {0, 0, 0}, "TMA"},
                       {Tracks::tile, {0, 0, 0}, "sc[1]"},
                       {Tracks::warp, {1, 2, 0}, "warp 3"}};
    timeline.events = {{Kind::wait, 0, 40, 90, 3, "waits on full[0] for parity 1"},
                       {Kind::run, 0, 0, 40, 2, "runs"},
                       {Kind::phase, 1, 0, 60, 2, "phase 0"},
                       {Kind::arrival, 1, 30, 30, 2, "warp 0 arrives"},
                       {Kind::copy, 2, 10, 60, 2, "load"},
                       {Kind::copy, 2, 20, 50, 2, "load"},
                       {Kind::store, 2, 60, 70, 4, "store"},
                       {Kind::held, 3, 10, 60, 2, "load"},
                       {Kind::wgmma, 4, 5, 6, 4, "wgmma"},
                       {Kind::finding, 4, 55, 55, 4, ""}};
    return timeline;
  }
  static std::string between(const std::string& text, const std::string& open, const std::string& close) {
    const std::size_t begin = text.find(open) + open.size();
    EXPECT_LT(begin, text.size()) << open;
    return text.substr(begin, text.find(close, begin) - begin);
  }
  static json data_of(const std::string& page) {
    return json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
  }
  // Begins of the events of a lane.
  static std::vector<std::uint64_t> begins(const Timeline& timeline, const EventIndices& lane) {
    std::vector<std::uint64_t> list;
    for (const std::uint32_t index : lane) list.push_back(timeline.events[index].begin);
    return list;
  }
};

TEST_F(TimelineTest, OverlappingEventsHaveLanesOfTheirOwn) {
  const Timeline timeline = example_timeline();
  const std::vector<TrackEvents> tracks = pack(timeline);
  ASSERT_EQ(tracks.size(), 5u);
  ASSERT_EQ(tracks[0].lanes.size(), 1u);
  EXPECT_THAT(begins(timeline, tracks[0].lanes[0]), ElementsAre(0, 40));  // sorted
  ASSERT_EQ(tracks[2].lanes.size(), 2u);
  EXPECT_THAT(begins(timeline, tracks[2].lanes[0]), ElementsAre(10, 60));  // one begins where the other ends
  EXPECT_THAT(begins(timeline, tracks[2].lanes[1]), ElementsAre(20));
  EXPECT_THAT(tracks[1].arrivals, ElementsAre(3));
  EXPECT_THAT(tracks[4].marks, ElementsAre(9));
}

TEST_F(TimelineTest, LanesAreBounded) {
  Timeline timeline = example_timeline();
  timeline.events.clear();
  for (std::uint64_t i = 0; i < 20; ++i) timeline.events.push_back({Kind::copy, 2, i, 100, 0, ""});
  const TrackEvents track = pack(timeline)[2];
  EXPECT_EQ(track.lanes.size(), most_lanes);
  EXPECT_EQ(track.lanes.back().size(), 20 - (most_lanes - 1));
}

TEST_F(TimelineTest, AnEventOfNoTrackIsABug) {
  Timeline timeline = example_timeline();
  timeline.events.push_back({Kind::run, 5, 0, 1, 0, ""});
  try {
    timeline_html(timeline, {});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    EXPECT_THAT(e.what(), HasSubstr("an event of track 5 in a timeline of 5 tracks"));
  }
}

TEST_F(TimelineTest, FindingsAreAtTheEventThatFitsBest) {
  Timeline timeline = example_timeline();
  const std::vector<Finding> findings = {overwritten(), bare()};
  EXPECT_THAT(places(timeline, findings), ElementsAre(9u, std::nullopt));
  timeline.events[9].line = 3;
  EXPECT_THAT(places(timeline, findings), ElementsAre(std::nullopt, std::nullopt));
  timeline.events.push_back({Kind::finding, 0, 10, 10, 4, ""});  // the line, but another block's warp
  timeline.events.push_back({Kind::finding, 4, 12, 12, 4, ""});
  EXPECT_THAT(places(timeline, findings), ElementsAre(11u, std::nullopt));
  timeline.events.push_back({Kind::finding, 0, 14, 14, 4, overwritten().diagnostic.message});
  EXPECT_THAT(places(timeline, findings), ElementsAre(12u, std::nullopt));
}

TEST_F(TimelineTest, TheDataHoldsEveryEvent) {
  const std::vector<Finding> findings = {overwritten(), bare()};
  const json data = data_of(timeline_html(example_timeline(), findings));
  EXPECT_EQ(data["end"], 100);
  EXPECT_EQ(data["kinds"].size(), 9u);
  EXPECT_EQ(data["file"], file_);
  const json& warp = data["tracks"][0];
  EXPECT_EQ(warp["name"], "warp 0");
  ASSERT_EQ(warp["lanes"].size(), 1u);
  ASSERT_EQ(warp["lanes"][0].size(), 10u);
  EXPECT_EQ(data["kinds"][warp["lanes"][0][5].get<int>()], "wait");
  EXPECT_EQ(warp["lanes"][0][6], 40);  // begin
  EXPECT_EQ(warp["lanes"][0][7], 50);  // length
  EXPECT_EQ(warp["lanes"][0][8], 3);   // line
  EXPECT_EQ(data["labels"][warp["lanes"][0][9].get<int>()], "waits on full[0] for parity 1");
  EXPECT_EQ(data["tracks"][1]["arrivals"][0], 30);
  EXPECT_EQ(data["tracks"][4]["marks"][0], 55);
  EXPECT_EQ(data["findings"], (json{{4, 55}, nullptr}));
  EXPECT_EQ(data["source"]["2"], "  tma.store(sc);");
  EXPECT_EQ(data["source"].size(), 3u);
}

TEST_F(TimelineTest, TimeGoesToTheLastEvent) {
  Timeline timeline = example_timeline();
  timeline.events.push_back({Kind::store, 2, 90, 130, 4, "store"});
  timeline.events.push_back({Kind::store, 2, 90, 80, 4, "ends before it begins"});
  const json data = data_of(timeline_html(timeline, {}));
  EXPECT_EQ(data["end"], 130);
  const json& lane = data["tracks"][2]["lanes"][1];
  EXPECT_EQ(lane[lane.size() - 3], 0);
}

TEST_F(TimelineTest, ThePageShowsEveryTrackAndFinding) {
  const std::vector<Finding> findings = {overwritten(), bare()};
  const std::string page = timeline_html(example_timeline(), findings);
  for (std::size_t i = 0; i < example_timeline().tracks.size(); ++i) {
    const std::string row = between(page, "data-track=\"" + std::to_string(i) + "\"", "</div>");
    EXPECT_THAT(row, HasSubstr(">" + example_timeline().tracks[i].name));
  }
  EXPECT_LT(page.find(">TMA<"), page.find(">sc[1]<"));
  EXPECT_LT(page.find(">warp 3<"), page.find(">sc[1]<"));
  EXPECT_LT(page.find(">sc[1]<"), page.find(">full[0]<"));
  EXPECT_THAT(page, HasSubstr("<div class=\"group\">Warps and engines (1, 2, 0)</div>"));
  EXPECT_THAT(page, HasSubstr("<button type=\"button\" data-finding=\"0\">bulk-group: sc[1]</button>"));
  EXPECT_THAT(page, HasSubstr("the store of line 4 overwrites what the TMA store of line 2 may still read"));
  EXPECT_THAT(page, HasSubstr("\n    4 |   store_shared(sc, x[1]);"));
  EXPECT_THAT(page, HasSubstr("<b>registers</b>"));
  EXPECT_THAT(page, HasSubstr("not in this picture"));
  EXPECT_THAT(page, HasSubstr(text_of(Hazard::bulk_group).description));
  EXPECT_THAT(page, Not(HasSubstr(text_of(Hazard::deadlock).description)));
  EXPECT_THAT(page, Not(HasSubstr("More happened than is kept")));
}

TEST_F(TimelineTest, APageSaysWhatItLacks) {
  Timeline timeline = example_timeline();
  timeline.truncated = true;
  const std::string page = timeline_html(timeline, {});
  EXPECT_THAT(page, HasSubstr("More happened than is kept"));
  EXPECT_THAT(page, HasSubstr("No hazard was found"));
  EXPECT_NO_THROW(data_of(timeline_html({}, {})));
}

struct Hostile : TimelineTest {
  static std::string page() {
    Timeline timeline = example_timeline();
    timeline.kernel = timeline.schedule = timeline.file = hostile;
    for (Timeline::Track& track : timeline.tracks) track.name = hostile;
    for (TimelineEvent& event : timeline.events) event.label = hostile;
    Finding finding = overwritten();
    finding.object = finding.kernel = finding.schedule = hostile;
    finding.diagnostic.message = finding.diagnostic.help = finding.diagnostic.notes[0].message = hostile;
    finding.diagnostic.loc.file = hostile;
    return timeline_html(timeline, std::vector<Finding>{finding});
  }
};

TEST_F(Hostile, NamesDoNotBecomeMarkup) {
  const std::string html = page();
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html,
              HasSubstr("<h1>&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&lt;!-- &amp; &quot;"));
  const std::regex close("</script>");
  EXPECT_EQ(std::distance(std::sregex_iterator(html.begin(), html.end(), close), std::sregex_iterator()), 2);
  const json data = data_of(html);
  EXPECT_EQ(data["labels"][0], hostile);
  EXPECT_EQ(data["tracks"][3]["name"], hostile);
}

TEST_F(Hostile, TagsAreBalanced) {
  std::string html = page();
  html.erase(html.find("<script type="));  // the scripts are the last elements
  html.erase(html.find("<style>"), html.find("</style>") - html.find("<style>"));
  html.insert(html.find("</style>"), "<style>");
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z0-9]+)((\\s+[a-z-]+(=\"[^\"<>]*\")?)*)\\s*>");
  for (std::sregex_iterator it(html.begin(), html.end(), tag), none; it != none; ++it) {
    const std::string name = (*it)[2];
    if (name == "meta") continue;
    if ((*it)[1].length() == 0) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_THAT(open, ElementsAre("html", "body"));
  const std::string text = std::regex_replace(html, tag, "");
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(text.find_first_of("<>", 15), text.npos);  // nothing else looks like a tag
}

TEST_F(Hostile, NothingIsLoaded) {
  const std::string html = page();
  for (const char* load : {"http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "import("}) {
    EXPECT_THAT(html, Not(HasSubstr(load)));
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

// The page's script finds by these ids what the page has, and the style has a colour for each kind.
TEST_F(TimelineTest, ThePageHasWhatItsScriptLooksFor) {
  const std::string page = timeline_html(example_timeline(), {});
  const std::regex by_id("(?:byId|getElementById)\\(\"([a-z]+)\"\\)");
  int looked_for = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), by_id), none; it != none; ++it, ++looked_for) {
    EXPECT_THAT(page, HasSubstr("id=\"" + (*it)[1].str() + "\""));
  }
  EXPECT_GT(looked_for, 8);
  const json data = data_of(page);
  for (const json& kind : data["kinds"]) {
    EXPECT_THAT(page, HasSubstr("--" + kind.get<std::string>() + ": #"));
    EXPECT_THAT(page, HasSubstr("swatch " + kind.get<std::string>() + "\""));
  }
}

}  // namespace
}  // namespace tessera::checker
