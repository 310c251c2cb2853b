// The page with the timeline: what its script reads, and the page around it.
#include <nlohmann/json.hpp>
#include <regex>

#include "check/hazard_text.hpp"
#include "check/timeline_data.hpp"
#include "check/timeline_html.hpp"
#include "check/timeline_rows.hpp"
#include "check/timeline_svg.hpp"
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

TEST_F(TimelineTest, NumbersInNamesAreInOrder) {
  Timeline timeline;
  for (const char* name : {"sb[0]", "sa[10]", "sa[2]", "sa[1, 0]", "sa[1]", "s"}) {
    timeline.tracks.push_back({Tracks::tile, {0, 0, 0}, name});
  }
  for (const char* name : {"TMA", "wgmma of warp 4"}) timeline.tracks.push_back({Tracks::engine, {0, 0, 0}, name});
  for (const char* name : {"warp 10", "warp 9", "warp 0"}) timeline.tracks.push_back({Tracks::warp, {0, 0, 0}, name});
  std::vector<std::string> names;
  int top = 0;
  const std::vector<Row> rows = rows_of(timeline, pack(timeline));
  for (const Row& row : rows) {
    names.push_back(timeline.tracks[row.track].name);
    EXPECT_EQ(row.top, top + (row.heading.empty() ? 0 : heading_height));
    top = row.top + row.height;
  }
  EXPECT_THAT(names, ElementsAre("warp 0", "warp 9", "warp 10", "TMA", "wgmma of warp 4", "s", "sa[1, 0]", "sa[1]",
                                 "sa[2]", "sa[10]", "sb[0]"));
  EXPECT_EQ(height_of(rows), top);
  EXPECT_EQ(height_of({}), 0);
}

struct PictureTest : TimelineTest {
  static std::string picture(const Timeline& timeline) {
    const std::vector<TrackEvents> tracks = pack(timeline);
    return picture_svg(timeline, tracks, rows_of(timeline, tracks));
  }
  struct Rectangle {
    double x, y, width, height;
  };
  // Those of a kind, in the picture's columns.
  static std::vector<Rectangle> rectangles(const std::string& svg, const std::string& kind) {
    const std::string open = "<path class=\"" + kind + "\" d=\"";
    if (svg.find(open) == svg.npos) return {};
    const std::string path = between(svg, open, "\"");
    const std::regex one("M([-0-9.]+) ([-0-9.]+)h([-0-9.]+)v([-0-9.]+)h-[0-9.]+z");
    std::vector<Rectangle> list;
    for (std::sregex_iterator it(path.begin(), path.end(), one), none; it != none; ++it) {
      list.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
    }
    return list;
  }
  static double column(double time, double end) { return 1024 * (time + 0.01 * end) / (1.02 * end); }
};

TEST_F(PictureTest, EveryBarHasItsPlace) {
  const std::string svg = picture(example_timeline());
  const auto runs = rectangles(svg, "run");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_NEAR(runs[0].x, column(0, 100), 0.1);
  EXPECT_NEAR(runs[0].x + runs[0].width, column(40, 100), 1);
  EXPECT_EQ(runs[0].y, heading_height + 2);
  const auto waits = rectangles(svg, "wait");
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_NEAR(waits[0].x, column(40, 100), 0.1);
  EXPECT_LT(waits[0].height, runs[0].height / 2);  // a line at the foot
  EXPECT_EQ(waits[0].y + waits[0].height, runs[0].y + runs[0].height);
  const auto copies = rectangles(svg, "copy");
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_LT(copies[0].y + copies[0].height, copies[1].y + 0.1);  // lanes of their own
  EXPECT_EQ(rectangles(svg, "arrival").size(), 1U);
  for (const char* kind : {"store", "wgmma", "held", "phase"}) EXPECT_EQ(rectangles(svg, kind).size(), 1U) << kind;
}

TEST_F(PictureTest, FindingsSayWhatTheyAre) {
  Timeline timeline = example_timeline();
  timeline.events.back().label = "race: a < b";
  const std::string svg = picture(timeline);
  EXPECT_THAT(svg,
              HasSubstr("<svg x=\"54.90%\" overflow=\"visible\" class=\"mark\"><title>warp 3: race: a &lt; b</title>"));
  timeline.events.pop_back();
  EXPECT_THAT(picture(timeline), Not(HasSubstr("<title>")));
}

TEST_F(PictureTest, WhatIsTooNarrowIsJoined) {
  Timeline timeline;
  timeline.tracks = {{Tracks::warp, {0, 0, 0}, "warp 0"}};
  for (std::uint64_t i = 0; i < 100000; ++i) {  // first it runs most of the time, then it waits
    const std::uint64_t change = i < 50000 ? 8 : 2;
    timeline.events.push_back({Kind::run, 0, 10 * i, 10 * i + change, 1, "runs"});
    timeline.events.push_back({Kind::wait, 0, 10 * i + change, 10 * i + 10, 1, "waits"});
  }
  timeline.end = 1000000;
  const std::string svg = picture(timeline);
  const auto runs = rectangles(svg, "run"), waits = rectangles(svg, "wait");
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_NEAR(runs[0].x + runs[0].width, column(500000, 1e6), 1.1);
  EXPECT_EQ(waits[0].x, runs[0].x + runs[0].width);
}

TEST_F(PictureTest, ArrivalsAreJoinedToo) {
  Timeline timeline;
  timeline.tracks = {{Tracks::barrier, {0, 0, 0}, "full"}};
  for (std::uint64_t i = 0; i < 5000; ++i) timeline.events.push_back({Kind::arrival, 0, i, i, 1, ""});
  timeline.events.push_back({Kind::arrival, 0, 9000, 9000, 1, ""});
  timeline.end = 10000;
  EXPECT_EQ(rectangles(picture(timeline), "arrival").size(), 2U);
}

TEST_F(PictureTest, RectanglesAreBounded) {
  Timeline timeline;
  for (std::uint32_t track = 0; track < 30; ++track) {
    timeline.tracks.push_back({Tracks::warp, {0, 0, 0}, "warp " + std::to_string(track)});
    for (std::uint64_t i = 0; i < 3000; ++i) {
      timeline.events.push_back({i % 2 == 0 ? Kind::run : Kind::wait, track, 2 * i, 2 * i + 2, 1, ""});
    }
  }
  timeline.end = 6000;
  const auto count = [](const Timeline& t) {
    const std::string svg = picture(t);
    return static_cast<std::size_t>(std::count(svg.begin(), svg.end(), 'z'));
  };
  EXPECT_LE(count(timeline), most_rectangles + 1);
  EXPECT_GT(count(timeline), most_rectangles / 4);
  Timeline tall;  // a rectangle for each row is the least there can be
  for (std::uint32_t track = 0; track < 5000; ++track) {
    tall.tracks.push_back({Tracks::tile, {0, 0, 0}, "s[" + std::to_string(track) + "]"});
    tall.events.push_back({Kind::held, track, 0, 9, 1, ""});
  }
  EXPECT_EQ(count(tall), 5000U);
}

TEST_F(PictureTest, TheAxisHasAboutEightTicks) {
  for (const std::uint64_t end : {0U, 1U, 7U, 100U, 7326U, 1000000U, 4000000000U}) {
    Timeline timeline;
    timeline.end = end;
    const std::string svg = axis_svg(timeline);
    const std::regex tick("<text ");
    const auto ticks = std::distance(std::sregex_iterator(svg.begin(), svg.end(), tick), std::sregex_iterator());
    EXPECT_GE(ticks, end < 4 ? 1 : 4) << end;
    EXPECT_LE(ticks, 9) << end;
    EXPECT_THAT(svg, HasSubstr(">0</text>"));
  }
  Timeline timeline;
  timeline.end = 1234567;
  EXPECT_THAT(axis_svg(timeline), HasSubstr("y=\"15\">1,200,000</text>"));
}

TEST_F(PictureTest, ThePageHoldsIt) {
  const Timeline timeline = example_timeline();
  const std::string page = timeline_html(timeline, {});
  EXPECT_THAT(page, HasSubstr(picture(timeline)));
  EXPECT_THAT(page, HasSubstr(axis_svg(timeline)));
  EXPECT_THAT(page, Not(HasSubstr("canvas")));
  EXPECT_LT(page.find("</svg>"), page.find("<script"));
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
  const std::regex tag("<(/?)([a-z0-9]+)((\\s+[a-zA-Z-]+(=\"[^\"<>]*\")?)*)\\s*>");
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
