#include "passes/static_check.hpp"

#include <algorithm>
#include <string_view>

#include "passes/static_hazards.hpp"

namespace tessera::passes {
namespace {

std::vector<HazardList::Entry> find_hazards(const ir::tile::Kernel& kernel, const StaticOptions& options) {
  const ProgramFacts facts(kernel);
  HazardList list(kernel.name);
  check_barrier_bytes(facts, list);
  check_barrier_arrivals(facts, list);
  check_barrier_phases(facts, list);
  check_wgmma_order(facts, list);
  check_bulk_order(facts, list);
  if (!options.fences_inserted) check_proxy_fences(facts, list);
  return list.take();
}

}  // namespace

void HazardList::add(Hazard hazard, bool certain, std::string object, Diagnostic diagnostic) {
  if (!reported_.insert({diagnostic.loc.line, diagnostic.message}).second) return;
  Entry entry;
  entry.certain = certain;
  entry.finding.hazard = hazard;
  entry.finding.diagnostic = std::move(diagnostic);
  entry.finding.object = std::move(object);
  entry.finding.kernel = kernel_;
  entries_.push_back(std::move(entry));
}

std::vector<HazardList::Entry> HazardList::take() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    const SourceLoc &x = a.finding.diagnostic.loc, &y = b.finding.diagnostic.loc;
    const std::string_view first = x.file, second = y.file;
    return first != second ? first < second : x.line < y.line;
  });
  return std::move(entries_);
}

std::vector<Finding> static_findings(const ir::tile::Kernel& kernel, const StaticOptions& options) {
  std::vector<Finding> findings;
  for (HazardList::Entry& entry : find_hazards(kernel, options)) findings.push_back(std::move(entry.finding));
  return findings;
}

std::vector<Finding> refuse_certain_hazards(const ir::tile::Kernel& kernel, const StaticOptions& options) {
  std::vector<Diagnostic> certain;
  std::vector<Finding> others;
  for (HazardList::Entry& entry : find_hazards(kernel, options)) {
    if (entry.certain) {
      certain.push_back(std::move(entry.finding.diagnostic));
    } else {
      others.push_back(std::move(entry.finding));
    }
  }
  if (!certain.empty()) throw Error(ErrorKind::user, std::move(certain));
  return others;
}

}  // namespace tessera::passes
