// tessera-check: runs registered checks and writes their reports.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/check.hpp"
#include "tessera/version.hpp"

namespace tessera {

namespace {

std::map<std::string, RegisteredCheck>& registry() {
  static std::map<std::string, RegisteredCheck> checks;
  return checks;
}

struct Arguments {
  std::vector<std::string> patterns;
  CheckOptions options;
  std::string json, sarif, timeline;
  bool list = false, quiet = false;
};

// '*' stands for any characters.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*')
    return !name.empty() && name.front() == pattern.front() && matches(name.substr(1), pattern.substr(1));
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (matches(name.substr(i), pattern.substr(1))) return true;
  }
  return false;
}

bool wanted(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matches(name, p); });
}

void describe(CLI::App& app, Arguments& a) {
  app.add_option("kernels", a.patterns, "names of kernels, * for any characters; default: all");
  app.add_flag("--list", a.list, "print the names and end");
  app.add_option("--schedules", a.options.schedules, "random schedules, beside eager and lazy")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", a.options.seed, "of the first random schedule")->capture_default_str();
  app.add_option("--orderings", a.options.orderings, "orders of warps around barriers to search")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--sms", a.options.sms, "multiprocessors of the simulated device")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--threads", a.options.threads, "host threads; 0: all cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--json", a.json, "write the reports to this file");
  app.add_option("--sarif", a.sarif, "write the findings to this file, as SARIF 2.1.0");
  app.add_option("--timeline", a.timeline, "write a page with the timeline of the last kernel checked to this file");
  app.add_flag("--quiet", a.quiet, "print kernels with findings only");
}

bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "tessera-check: cannot write {}\n", path);
  return false;
}

// All checks that are wanted, one after another, each printed when it is done.
int run(const Arguments& a) {
  int code = 0;
  std::size_t count = 0;
  CheckReport all;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const auto& [name, check] : registry()) {
    if (!wanted(name, a.patterns)) continue;
    ++count;
    try {
      CheckReport report = check(a.options);
      if (!a.quiet || !report.clean()) fmt::print("{}: {}\n", name, report.text());
      if (!report.clean()) code = std::max(code, 1);
      reports.push_back({{"name", name}, {"report", nlohmann::ordered_json::parse(report.json())}});
      all.findings.insert(all.findings.end(), report.findings.begin(), report.findings.end());
      all.timeline_html = std::move(report.timeline_html);
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}: {}\n", name, e.what());
      code = 3;
    }
    std::fflush(stdout);
  }
  if (count == 0) {
    fmt::print(stderr, "tessera-check: no kernel has such a name; --list prints those that there are\n");
    return 2;
  }
  const bool written = write(a.json, a.json.empty() ? "" : reports.dump(2) + "\n") &&
                       write(a.sarif, a.sarif.empty() ? "" : all.sarif()) && write(a.timeline, all.timeline_html);
  return written ? code : 3;
}

}  // namespace

bool register_check(std::string name, RegisteredCheck check, SourceLoc loc) {
  if (name.empty()) throw Error(ErrorKind::user, loc, "register_check() with an empty name", "give the check a name");
  if (!registry().emplace(name, std::move(check)).second) {
    throw Error(ErrorKind::user, loc, fmt::format("register_check(): there is a check of the name '{}'", name),
                "give each check a name of its own");
  }
  return true;
}

int check_main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Checks kernels for races, missing fences, misuse of barriers and deadlocks under every schedule, on the "
      "simulated Hopper.\nExit code: 0 no finding, 1 findings, 2 wrong use, 3 a check could not run.",
      "tessera-check"};
  describe(app, arguments);
  app.set_version_flag("--version", fmt::format("tessera-check {}", version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  arguments.options.timeline = !arguments.timeline.empty();
  if (!arguments.list) return run(arguments);
  for (const auto& [name, check] : registry()) fmt::print("{}\n", name);
  return 0;
}

}  // namespace tessera
