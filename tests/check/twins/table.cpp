// Prints what the checker finds of the twins, family by family, as the table of docs/checker.md. With names (or
// beginnings of names) of twins: what is wrong with these, in full.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "verdict.hpp"

namespace tessera::twins {
namespace {

struct Row {
  int pairs = 0, while_tracing = 0, by_text = 0, found = 0, silent = 0;
};

// The first complaint over so many schedules.
std::string complaint(const Twin& twin, bool broken, int count) {
  const Variant variant(twin, broken);
  if (!broken && !variant.blamed_by_text().empty()) return variant.blamed_by_text();
  for (const sim::Schedule& schedule : schedules(count)) {
    const std::string text = variant.check(schedule);
    if (!text.empty()) return text;
  }
  return {};
}

void print_table(const std::map<std::string, Row>& rows, const std::vector<std::string>& order) {
  fmt::print("| family | pairs | found | silent | of them shown by the text |\n| --- | --- | --- | --- | --- |\n");
  Row all;
  for (const std::string& family : order) {
    const Row& row = rows.at(family);
    fmt::print("| {} | {} | {} | {} | {} |\n", family, row.pairs, row.found, row.silent, row.by_text);
    all.by_text += row.by_text;
    all.pairs += row.pairs;
    all.found += row.found;
    all.silent += row.silent;
    all.while_tracing += row.while_tracing;
  }
  fmt::print("| all | {} | {} | {} | {} |\n\n{} are refused while tracing, the others are found by execution.\n",
             all.pairs, all.found, all.silent, all.by_text, all.while_tracing);
}

int run(const std::vector<std::string>& names, int broken_schedules, int fixed_schedules) {
  std::map<std::string, Row> rows;
  std::vector<std::string> order;
  for (const Twin& twin : all_twins()) {
    bool wanted = names.empty();
    for (const std::string& name : names) wanted = wanted || twin.about.name.compare(0, name.size(), name) == 0;
    if (!wanted) continue;
    if (rows.count(twin.family) == 0) order.push_back(twin.family);
    Row& row = rows[twin.family];
    ++row.pairs;
    if (twin.about.while_tracing) ++row.while_tracing;
    if (Variant(twin, true).shown_by_text() || twin.about.while_tracing) ++row.by_text;
    const std::string missed = complaint(twin, true, broken_schedules);
    const std::string alarm = complaint(twin, false, fixed_schedules);
    if (missed.empty()) ++row.found;
    if (alarm.empty()) ++row.silent;
    if (!missed.empty()) fmt::print("BROKEN {}: {}\n", twin.about.name, missed);
    if (!alarm.empty()) fmt::print("FIXED {}: {}\n", twin.about.name, alarm);
  }
  print_table(rows, order);
  return 0;
}

}  // namespace
}  // namespace tessera::twins

int main(int argc, char** argv) {
  std::vector<std::string> names;
  int fixed = 200;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--fixed=", 8) == 0) {
      fixed = std::atoi(argv[i] + 8);
    } else {
      names.emplace_back(argv[i]);
    }
  }
  return tessera::twins::run(names, 8, fixed);
}
