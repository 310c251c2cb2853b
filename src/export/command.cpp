// tessera-export: writes registered kernels as C.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "tessera/core/error.hpp"
#include "tessera/export.hpp"
#include "tessera/version.hpp"

namespace tessera {

namespace {

struct Registered {
  std::string sizes;
  RegisteredExport make;
};
std::map<std::string, Registered>& registry() {
  static std::map<std::string, Registered> exports;
  return exports;
}

struct Arguments {
  std::string kernel;
  std::string dispatch = "nearest";
  bool separate = false;
  ExportRequest request;
};

void describe(CLI::App& app, Arguments& a) {
  ExportOptions& options = a.request.options;
  app.add_option("kernel", a.kernel, "name of the kernel, or 'list' for all names")->required();
  app.add_option("--size", a.request.sizes,
                 "sizes of a launch, in the kernel's order ('list' shows it); each --size is compiled and chosen for")
      ->expected(1, 64)
      ->allow_extra_args();
  app.add_option("--type", a.request.type, "element type, for kernels that have several: f16, bf16, f8");
  app.add_option("--name", options.name,
                 "prefix of the C names and of the files; default: made from the kernel's name");
  app.add_option("--out", options.directory, "folder for the files; default: one of that name");
  app.add_option("--config", a.request.config, "the one configuration to take, \"block_m=64,...\"");
  app.add_option("--tuning", options.tuning,
                 "a tuning record, or a folder of them: the cache of a machine with a GPU chooses");
  app.add_option("--dispatch", a.dispatch, "what becomes of sizes of other buckets: the nearest kernel, or a refusal")
      ->check(CLI::IsMember({"nearest", "exact"}))
      ->capture_default_str();
  app.add_flag("--separate-cubins", a.separate, "read the cubins from their files when loading");
  app.add_flag("--keep-constants", options.keep_constants, "compile-time constants stay parameters of the launch");
}

int list() {
  for (const auto& [name, one] : registry()) fmt::print("{:28} --size {}\n", name, one.sizes);
  return 0;
}

int run(Arguments& a) {
  const auto found = registry().find(a.kernel);
  if (found == registry().end()) {
    fmt::print(stderr, "tessera-export: there is no kernel '{}'; 'list' prints those that there are\n", a.kernel);
    return 2;
  }
  a.request.options.embed = !a.separate;
  a.request.options.dispatch =
      a.dispatch == "exact" ? ExportOptions::Dispatch::exact : ExportOptions::Dispatch::nearest;
  try {
    for (const ExportReport& report : found->second.make(a.request)) fmt::print("{}", report.text());
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == ErrorKind::user ? 2 : 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}

}  // namespace

bool register_export(std::string name, std::string sizes, RegisteredExport make, SourceLoc loc) {
  if (name.empty() || name == "list")
    throw Error(ErrorKind::user, loc, fmt::format("register_export() with the name '{}'", name),
                "give the kernel a name");
  if (!registry().emplace(name, Registered{std::move(sizes), std::move(make)}).second) {
    throw Error(ErrorKind::user, loc, fmt::format("register_export(): there is a kernel of the name '{}'", name),
                "give each kernel a name of its own");
  }
  return true;
}

int export_main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Writes tuned kernels as cubins with C source that launches them and needs the CUDA driver only.\n"
      "Exit code: 0 written, 2 wrong use, 3 it could not be exported.",
      "tessera-export"};
  app.set_version_flag("--version", fmt::format("tessera-export {}", version()));
  describe(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return arguments.kernel == "list" ? list() : run(arguments);
}

}  // namespace tessera
