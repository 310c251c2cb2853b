#include "check/timeline_html.hpp"

#include <fmt/format.h>

#include <set>

#include "check/hazard_text.hpp"
#include "check/timeline_data.hpp"
#include "check/timeline_page.hpp"
#include "check/timeline_rows.hpp"
#include "check/timeline_svg.hpp"

namespace tessera::checker {
namespace {
using sim::Timeline;
using Track = Timeline::Track;

std::string block_text(const std::array<std::int64_t, 3>& b) { return fmt::format("({}, {}, {})", b[0], b[1], b[2]); }

struct KindText {
  sim::TimelineEvent::Kind kind;
  const char* meaning;
};
using Kind = sim::TimelineEvent::Kind;
constexpr KindText kind_texts[] = {{Kind::run, "a warp runs"},
                                   {Kind::wait, "a warp waits"},
                                   {Kind::copy, "TMA load, until its bytes have landed"},
                                   {Kind::store, "TMA store, until the engine has read its source"},
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

std::string row_names(const Timeline& timeline, const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    const Track& track = timeline.tracks[row.track];
    if (!row.heading.empty()) out += fmt::format("<div class=\"group\">{}</div>\n", row.heading);
    out +=
        fmt::format("<div class=\"row\" data-track=\"{}\" style=\"height: {}px\" title=\"{} of block {}\">{}</div>\n",
                    row.track, row.height, escaped(track.name), block_text(track.block), escaped(track.name));
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
  out += "<noscript><p class=\"faint\">This is the whole run; to zoom into it needs JavaScript.</p></noscript>\n";
  return out;
}

constexpr const char* toolbar = R"(<div class="bar" id="toolbar" hidden>
<button type="button" id="reset">whole run</button>
<button type="button" id="closer" title="zoom in">+</button>
<button type="button" id="farther" title="zoom out">&minus;</button>
<button type="button" id="previous">previous finding</button>
<button type="button" id="next">next finding</button>
<button type="button" id="save" title="what is shown, with all rows, as a file">save as SVG</button>
<span class="faint">wheel: zoom; drag, Shift + wheel or arrow keys: move; 0: whole run; n, p: findings</span>
</div>
)";

std::string chart(const Timeline& timeline, const std::vector<TrackEvents>& tracks) {
  const std::vector<Row> rows = rows_of(timeline, tracks);
  std::string out = "<div id=\"chart\">\n<div id=\"top\"><div id=\"corner\" class=\"faint\">statements</div>";
  out += "<svg id=\"axis\" width=\"100%\" height=\"24\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\n";
  out += axis_svg(timeline) + "</svg></div>\n<div id=\"scroll\"><div id=\"rows\">\n<div id=\"labels\">\n";
  out += row_names(timeline, rows);
  out += fmt::format(
      "</div>\n<div id=\"pane\">\n<svg id=\"view\" width=\"100%\" height=\"{}\" preserveAspectRatio=\"none\" "
      "role=\"img\" "
      "aria-label=\"What each warp, engine, tile and barrier did over time\">\n",
      height_of(rows));
  out += picture_svg(timeline, tracks, rows);
  return out + "</svg>\n</div>\n</div></div>\n</div>\n<div id=\"tip\" role=\"tooltip\"></div>\n";
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
