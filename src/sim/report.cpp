#include "sim/report.hpp"

#include <fmt/format.h>

namespace tessera::sim {

SourceLoc loc_of(const ir::Stmt* stmt) { return stmt == nullptr ? SourceLoc{} : stmt->loc; }

std::string line_of(const ir::Stmt* stmt) {
  if (stmt == nullptr || !stmt->loc.known()) return "an unknown line";
  return fmt::format("line {}", stmt->loc.line);
}

std::string count_of(std::uint64_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string describe(const Site& site) {
  const auto& b = site.block->index;
  std::string text = fmt::format("block ({}, {}, {})", b[0], b[1], b[2]);
  if (site.warp >= 0) text += fmt::format(", warp {}", site.warp);
  if (site.lane >= 0) text += fmt::format(", lane {}", site.lane);
  return text;
}

namespace {
const ir::thread::SharedRegion* find_region(const ir::thread::Kernel& kernel, std::uint32_t offset, bool barrier) {
  const ir::thread::SharedRegion* found = nullptr;
  for (const auto& region : kernel.regions) {
    if (region.is_barrier == barrier && offset >= region.offset && offset - region.offset < region.bytes) {
      if (found == nullptr) found = &region;
    }
  }
  return found;
}
}  // namespace

std::string describe_shared(const ir::thread::Kernel& kernel, std::uint32_t offset) {
  if (const auto* region = find_region(kernel, offset, false)) {
    return fmt::format("byte {} of tile {} (shared offset {})", offset - region->offset, region->name, offset);
  }
  if (const auto* region = find_region(kernel, offset, true)) {
    return fmt::format("byte {} of the barriers {} (shared offset {})", offset - region->offset, region->name, offset);
  }
  return fmt::format("shared offset {}, which belongs to no tile", offset);
}

std::string describe_barrier(const ir::thread::Kernel& kernel, std::uint32_t offset) {
  const auto* region = find_region(kernel, offset, true);
  if (region == nullptr) return fmt::format("mbarrier at shared offset {}", offset);
  if (region->bytes <= 8) return fmt::format("mbarrier {}", region->name);
  return fmt::format("mbarrier {}[{}]", region->name, (offset - region->offset) / 8);
}

HazardError::HazardError(Finding finding)
    : Error(ErrorKind::user, {finding.diagnostic}), finding_(std::move(finding)) {}

void fail(Hazard hazard, const Site& site, const std::string& message, std::string help, std::vector<Note> notes) {
  Finding finding;
  finding.hazard = hazard;
  finding.diagnostic = {loc_of(site.stmt), fmt::format("{} ({})", message, describe(site)), std::move(help),
                        std::move(notes)};
  finding.kernel = site.block->kernel->name;
  finding.block = site.block->index;
  finding.warp = site.warp;
  throw HazardError(std::move(finding));
}

void fail_internal(const Site& site, const std::string& message) {
  throw Error(ErrorKind::internal, loc_of(site.stmt), fmt::format("{} ({})", message, describe(site)));
}

}  // namespace tessera::sim
