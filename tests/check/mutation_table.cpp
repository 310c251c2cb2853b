// Prints how many mutations of each kind the checker finds in each kernel, and those that it does not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "expected_survivors.hpp"
#include "study.hpp"

namespace tessera::testing {
namespace {

bool is_listed(const Outcome& o) { return entry_of(o.mutation) < expected_survivors().size(); }

struct Count {
  int found = 0, wrong = 0, failed = 0, survived = 0, harmless = 0;
  int all() const { return found + wrong + failed + survived; }
  void add(const Outcome& o) {
    switch (o.verdict) {
      case Verdict::found: ++found; break;
      case Verdict::wrong_numbers: ++wrong; break;
      case Verdict::failed: ++failed; break;
      case Verdict::survived:
        ++survived;
        harmless += is_listed(o) ? 1 : 0;
        break;
    }
  }
};

std::string cell(const Count& c) { return c.all() == 0 ? "" : fmt::format("{}/{}", c.found, c.all()); }

void print_row(const std::string& head, const std::vector<std::string>& cells) {
  fmt::print("{:<58}", head);
  for (const std::string& c : cells) fmt::print(" {:>10}", c);
  fmt::print("\n");
}

void print_table(const std::vector<Study>& studies) {
  std::vector<std::string> kernels;
  std::map<std::string, std::map<std::string, Count>> table;
  std::map<std::string, Count> of_kernel;
  Count total;
  for (const Study& s : studies) {
    if (of_kernel.emplace(s.kernel, Count{}).second) kernels.push_back(s.kernel);
    for (const Outcome& o : s.outcomes) {
      table[o.mutation.kind][s.kernel].add(o);
      of_kernel[s.kernel].add(o);
      total.add(o);
    }
  }
  std::vector<std::string> cells = kernels;
  cells.push_back("all");
  fmt::print("\n");
  print_row("found by the checker / all", cells);
  for (auto& [kind, row] : table) {
    cells.clear();
    Count all;
    for (const std::string& k : kernels) {
      const Count& c = row[k];
      cells.push_back(cell(c));
      all = {all.found + c.found, all.wrong + c.wrong, all.failed + c.failed, all.survived + c.survived};
    }
    cells.push_back(cell(all));
    print_row(kind, cells);
  }
  cells.clear();
  for (const std::string& k : kernels) cells.push_back(cell(of_kernel[k]));
  cells.push_back(cell(total));
  print_row("all", cells);
  fmt::print("\n{} mutations: {} found, {} wrong numbers only, {} failed, {} survived, {} of them listed as harmless\n",
             total.all(), total.found, total.wrong, total.failed, total.survived, total.harmless);
  fmt::print("found: {:.1f} % of all, {:.1f} % of those that do harm\n", 100.0 * total.found / std::max(1, total.all()),
             100.0 * total.found / std::max(1, total.all() - total.harmless));
}

void print_missed(const std::vector<Study>& studies) {
  for (const Study& s : studies) {
    std::map<std::string, int> lines;  // the same change in code that is traced several times
    for (const Outcome& o : s.outcomes) {
      if (o.verdict == Verdict::found) continue;
      const std::string what =
          fmt::format("  {:<13} {}\n{:>16}{}{}\n", name_of(o.verdict), o.mutation.text, "", source_of(o.mutation.loc),
                      o.verdict == Verdict::failed ? "\n" + o.message : "");
      ++lines[what];
    }
    if (lines.empty()) continue;
    fmt::print("\n{} ({})\n", s.kernel, s.form);
    for (const auto& [text, times] : lines) fmt::print("{}{}", times > 1 ? fmt::format("{} x", times) : "", text);
  }
}

void write_json(const std::string& path, const std::vector<Study>& studies) {
  nlohmann::json all = nlohmann::json::array();
  for (const Study& s : studies) {
    nlohmann::json outcomes = nlohmann::json::array();
    for (const Outcome& o : s.outcomes) {
      outcomes.push_back(
          {{"kind", o.mutation.kind},
           {"text", o.mutation.text},
           {"file", o.mutation.loc.file},
           {"line", o.mutation.loc.line},
           {"source", source_of(o.mutation.loc)},
           {"verdict", name_of(o.verdict)},
           {"harmless_because",
            is_listed(o) && o.verdict == Verdict::survived ? expected_survivors()[entry_of(o.mutation)].reason : ""},
           {"hazard", o.hazard},
           {"message", o.message},
           {"schedule", o.schedule}});
    }
    all.push_back({{"kernel", s.kernel},
                   {"form", s.form},
                   {"runs", s.runs},
                   {"seconds", s.seconds},
                   {"flaw", s.flaw},
                   {"outcomes", outcomes}});
  }
  std::ofstream file(path);
  file << all.dump(1) << "\n";
  if (!file) throw std::runtime_error("cannot write " + path);
}

int run(int argc, char** argv) {
  CLI::App app("Mutation testing of the checker: every synchronisation step of every kernel, changed one at a time.");
  std::vector<std::string> kernels;
  std::string json;
  int seeds = 3;
  StudyOptions options;
  app.add_option("--kernel", kernels, "only these: v0 .. v7, persistent, split, pitch, reduce, pack");
  app.add_option("--seeds", seeds, "random schedules beside eager and lazy");
  app.add_option("--threads", options.threads, "mutations at a time; 0: as many as cores");
  app.add_option("--json", json, "write every outcome to this file");
  CLI11_PARSE(app, argc, argv);
  options.schedules.resize(2);
  for (int i = 1; i <= seeds; ++i)
    options.schedules.push_back({sim::Schedule::Kind::random, static_cast<std::uint64_t>(i)});

  std::vector<Study> studies;
  bool flawed = false;
  for (const Subject& subject : all_subjects()) {
    if (!kernels.empty() && std::find(kernels.begin(), kernels.end(), subject.kernel) == kernels.end()) continue;
    const Study& s = studies.emplace_back(study(subject, options));
    Count count;
    for (const Outcome& o : s.outcomes) count.add(o);
    fmt::print("{} ({}): {} mutations, {} found, {} wrong numbers only, {} failed, {} survived; {} runs, {:.1f} s{}\n",
               s.kernel, s.form, count.all(), count.found, count.wrong, count.failed, count.survived, s.runs, s.seconds,
               s.flaw.empty() ? "" : "\n  the original is flawed: " + s.flaw);
    std::fflush(stdout);
    flawed = flawed || !s.flaw.empty();
  }
  print_table(studies);
  print_missed(studies);
  if (!json.empty()) write_json(json, studies);
  return flawed ? 1 : 0;
}

}  // namespace
}  // namespace tessera::testing

int main(int argc, char** argv) try { return tessera::testing::run(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 3;
}
