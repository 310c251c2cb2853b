#include <nlohmann/json.hpp>

#include "check/hazard_text.hpp"
#include "tessera/check.hpp"
#include "tessera/version.hpp"

namespace tessera {
namespace {
using nlohmann::ordered_json;

constexpr int format = 1;  // counts up when a field changes its meaning or goes; new fields may come without

ordered_json location_json(const SourceLoc& loc) {
  if (!loc.known()) return nullptr;
  return {{"file", loc.file}, {"line", loc.line}, {"function", loc.function}, {"source", source_line(loc)}};
}

ordered_json finding_json(const Finding& finding) {
  ordered_json notes = ordered_json::array();
  for (const Note& note : finding.diagnostic.notes) {
    notes.push_back({{"message", note.message}, {"location", location_json(note.loc)}});
  }
  ordered_json json = {{"hazard", name_of(finding.hazard)},
                       {"description", checker::text_of(finding.hazard).description},
                       {"message", finding.diagnostic.message},
                       {"help", finding.diagnostic.help},
                       {"location", location_json(finding.diagnostic.loc)},
                       {"notes", notes},
                       {"object", finding.object},
                       {"kernel", finding.kernel},
                       {"schedule", nullptr},
                       {"block", finding.block},
                       {"warp", nullptr},
                       {"count", finding.count}};
  if (!finding.schedule.empty()) json["schedule"] = finding.schedule;
  if (finding.warp >= 0) json["warp"] = finding.warp;
  return json;
}

}  // namespace

std::string CheckReport::json() const {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) list.push_back(finding_json(finding));
  const ordered_json json = {{"tessera_check", format}, {"version", version()},     {"kernel", kernel},
                             {"config", config},        {"clean", clean()},         {"schedules", schedules},
                             {"blocks", blocks},        {"statements", statements}, {"waived", waived},
                             {"findings", list}};
  // Names and source lines are the user's, in whatever encoding: what is not UTF-8 must not throw.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tessera
