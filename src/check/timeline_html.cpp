#include "check/timeline_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "check/hazard_text.hpp"
#include "check/timeline_data.hpp"
#include "check/timeline_page.hpp"

namespace tessera::checker {
namespace {
using sim::Timeline;
using Track = Timeline::Track;

// Text for between tags and for quoted attributes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: {
        const bool forbidden = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
        out += forbidden ? "&#xFFFD;" : std::string(1, c);
      }
    }
  }
  return out;
}

std::string block_text(const std::array<std::int64_t, 3>& b) { return fmt::format("({}, {}, {})", b[0], b[1], b[2]); }

struct KindText {
  sim::TimelineEvent::Kind kind;
  const char* meaning;
};
using Kind = sim::TimelineEvent::Kind;
constexpr KindText kind_texts[] = {{Kind::run, "a warp runs"},
                                   {Kind::wait, "a warp waits"},
                                   {Kind::copy, "TMA load, until its bytes have landed"},
                                   {Kind::store, "TMA store, until its source has been read"},
                                   {Kind::wgmma, "wgmma, until it has been executed"},
                                   {Kind::held, "a tile is in use, until a wait covers it"},
                                   {Kind::phase, "a phase of an mbarrier"},
                                   {Kind::arrival, "an arrival"},
                                   {Kind::finding, "a finding"}};
static_assert(std::size(kind_texts) == kind_count);

std::string legend() {
  std::string out = "<ul class=\"bar\" id=\"legend\">\n";
  for (const KindText& text : kind_texts) {
    out += fmt::format("<li><span class=\"swatch {}\"></span>{}</li>\n", name_of(text.kind), text.meaning);
  }
  return out + "</ul>\n";
}

// Rows are in groups: what executes, then tiles, then barriers, each by the blocks of the cluster.
int section_of(Track::Kind kind) {
  switch (kind) {
    case Track::Kind::warp:
    case Track::Kind::engine: return 0;
    case Track::Kind::tile: return 1;
    case Track::Kind::barrier: return 2;
  }
  return 2;
}
constexpr const char* section_names[] = {"Warps and engines", "Tiles", "mbarriers"};

std::vector<std::size_t> row_order(const Timeline& timeline) {
  std::vector<std::size_t> order(timeline.tracks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Track &x = timeline.tracks[a], &y = timeline.tracks[b];
    const int s = section_of(x.kind), t = section_of(y.kind);
    return s != t ? s < t : x.block < y.block;
  });
  return order;
}

int row_height(std::size_t lanes) { return lanes <= 1 ? 21 : 5 + 8 * static_cast<int>(lanes); }

std::string rows(const Timeline& timeline, const std::vector<TrackEvents>& tracks) {
  std::set<std::array<std::int64_t, 3>> blocks;
  for (const Track& track : timeline.tracks) blocks.insert(track.block);
  std::string out, group;
  for (const std::size_t index : row_order(timeline)) {
    const Track& track = timeline.tracks[index];
    std::string heading = section_names[section_of(track.kind)];
    if (blocks.size() > 1) heading += " " + block_text(track.block);
    if (heading != group) out += fmt::format("<div class=\"group\">{}</div>\n", heading);
    group = heading;
    out += fmt::format(
        "<div class=\"row\" data-track=\"{}\" style=\"height: {}px\" title=\"{} of block {}\">{}</div>\n", index,
        row_height(tracks[index].lanes.size()), escaped(track.name), block_text(track.block), escaped(track.name));
  }
  return out;
}

std::string head(const Timeline& timeline) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  // Nothing is loaded, whatever a name in the data says.
  out +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += fmt::format("<title>{}: timeline</title>\n", escaped(timeline.kernel));
  return out + "<style>\n" + timeline_style + "</style>\n</head>\n<body>\n";
}

std::string intro(const Timeline& timeline, std::size_t findings) {
  std::string out = fmt::format("<h1>{}</h1>\n", escaped(timeline.kernel));
  out +=
      fmt::format("<p class=\"faint\">{}, schedule {}: {} statements of the cluster's warps, {} finding{}</p>\n",
                  escaped(timeline.file), escaped(timeline.schedule), timeline.end, findings, findings == 1 ? "" : "s");
  if (timeline.truncated) {
    out += "<p class=\"warning\">More happened than is kept: the picture ends before the cluster did.</p>\n";
  }
  out += "<noscript><p class=\"warning\">The picture needs JavaScript; the findings below do not.</p></noscript>\n";
  return out;
}

constexpr const char* toolbar = R"(<div class="bar">
<button type="button" id="reset">whole run</button>
<button type="button" id="closer" title="zoom in">+</button>
<button type="button" id="farther" title="zoom out">&minus;</button>
<button type="button" id="previous">previous finding</button>
<button type="button" id="next">next finding</button>
<span class="faint">wheel: zoom; drag, Shift + wheel or arrow keys: move; 0: whole run; n, p: findings</span>
</div>
)";

std::string chart(const Timeline& timeline, const std::vector<TrackEvents>& tracks) {
  return R"(<div id="chart">
<div id="top"><div id="corner" class="faint">statements</div><canvas id="axis"></canvas></div>
<div id="scroll"><div id="rows">
<div id="labels">
)" + rows(timeline, tracks) +
         R"(</div>
<div id="pane">
<canvas id="view" role="img" aria-label="What each warp, engine, tile and barrier did over time"></canvas>
</div>
</div></div>
</div>
<div id="tip" role="tooltip"></div>
)";
}

std::string finding_item(const Finding& finding, std::size_t index, bool placed) {
  std::string out = "<li>";
  const std::string title =
      escaped(finding.object.empty() ? name_of(finding.hazard)
                                     : fmt::format("{}: {}", name_of(finding.hazard), finding.object));
  if (placed) {
    out += fmt::format("<button type=\"button\" data-finding=\"{}\">{}</button>", index, title);
  } else {
    out += fmt::format("<b>{}</b>", title);
  }
  std::string where = finding.schedule.empty() ? "found before it ran" : "schedule " + escaped(finding.schedule);
  where += ", block " + block_text(finding.block);
  if (finding.warp >= 0) where += fmt::format(", warp {}", finding.warp);
  if (!placed) where += "; not in this picture";
  out += fmt::format(" <span class=\"faint\">{}</span>\n", where);
  return out +
         fmt::format("<pre>{}</pre></li>\n", escaped(format_diagnostic(finding.diagnostic, name_of(finding.hazard))));
}

std::string finding_list(const Timeline& timeline, std::span<const Finding> findings) {
  std::string out = "<h2>Findings</h2>\n";
  if (findings.empty()) return out + "<p>No hazard was found.</p>\n";
  out += "<ol id=\"findings\">\n";
  const auto found = places(timeline, findings);
  std::set<Hazard> kinds;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    out += finding_item(findings[i], i, found[i].has_value());
    kinds.insert(findings[i].hazard);
  }
  out += "</ol>\n<h2>Kinds of hazards</h2>\n<dl>\n";
  for (const Hazard kind : kinds) {
    const HazardText& text = text_of(kind);
    out += fmt::format("<dt>{}: {}</dt>\n<dd>{} {}</dd>\n", name_of(kind), escaped(text.title),
                       escaped(text.description), escaped(text.help));
  }
  return out + "</dl>\n";
}

}  // namespace

std::string timeline_html(const Timeline& timeline, std::span<const Finding> findings) {
  const std::vector<TrackEvents> tracks = pack(timeline);
  std::string out = head(timeline) + intro(timeline, findings.size()) + legend() + toolbar + chart(timeline, tracks);
  out += finding_list(timeline, findings);
  out += "<script type=\"application/json\" id=\"data\">" + timeline_json(timeline, tracks, findings) + "</script>\n";
  out += std::string("<script>\n") + timeline_script + "</script>\n";
  return out + "</body>\n</html>\n";
}

}  // namespace tessera::checker
