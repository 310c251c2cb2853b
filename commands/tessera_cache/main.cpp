// tessera-cache: what the cache of compiled kernels holds, whether it is whole, and what may go.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.hpp"
#include "runtime/cache.hpp"
#include "runtime/cache_settings.hpp"
#include "tessera/version.hpp"

namespace {

namespace fs = std::filesystem;
namespace command = tessera::cache_command;
using namespace tessera;

struct Arguments {
  std::string cache, prefix, size, age;
  bool json = false, remove = false, all = false, dry_run = false;
  CLI::App *list = nullptr, *show = nullptr, *verify = nullptr, *prune = nullptr;
};

void describe(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", fmt::format("tessera-cache {}", version()));
  app.add_option("--cache", a.cache,
                 "the cache's folder; default: TESSERA_CACHE_DIR, else the one that programs of this user use");
  a.list = app.add_subcommand("list", "a line for each compiled kernel and each tuning record, last used first");
  a.list->add_flag("--json", a.json, "as JSON, with whole keys and times in seconds since 1970");
  a.show = app.add_subcommand("show", "one entry: where it comes from, registers, spills, files");
  a.show->add_option("key", a.prefix, "the key or its beginning")->required();
  a.show->add_flag("--json", a.json, "as JSON");
  a.verify = app.add_subcommand("verify", "read everything and compare it with its checksums");
  a.verify->add_flag("--remove", a.remove, "delete what is damaged");
  a.prune = app.add_subcommand("prune", "delete what was not used for longest; entries being made stay");
  a.prune->add_option("--size", a.size, fmt::format("until no more than this is left: {}", runtime::size_forms));
  a.prune->add_option("--older-than", a.age, fmt::format("what was not used for this long: {}", runtime::age_forms));
  a.prune->add_flag("--all", a.all, "everything");
  a.prune->add_flag("--dry-run", a.dry_run, "only say what would go");
}

int wrong(const std::string& message) {
  fmt::print(stderr, "tessera-cache: {}\n", message);
  return command::wrong_use;
}

int run_prune(const fs::path& root, const Arguments& a) {
  command::PruneOptions options;
  options.all = a.all;
  options.dry_run = a.dry_run;
  if (!a.size.empty()) {
    options.size = runtime::parse_size(a.size);
    if (!options.size) return wrong(fmt::format("--size is '{}'; it can be {}", a.size, runtime::size_forms));
  }
  if (!a.age.empty()) {
    options.older_than = runtime::parse_age(a.age);
    if (!options.older_than) {
      return wrong(fmt::format("--older-than is '{}'; it can be {}", a.age, runtime::age_forms));
    }
  }
  if (!options.all && !options.size && !options.older_than) {
    return wrong("prune needs to know what may go: --size, --older-than or --all");
  }
  return command::prune(root, options);
}

int run(const Arguments& a) {
  fs::path root = a.cache;
  std::error_code ignored;
  if (root.empty()) {
    root = runtime::Cache::default_root();
    if (root.empty()) return wrong("there is no cache: neither TESSERA_CACHE_DIR nor HOME is set; give --cache");
  } else if (!fs::is_directory(root, ignored)) {
    return wrong(fmt::format("--cache is '{}', which is no folder", a.cache));
  }
  if (a.list->parsed()) return command::list(root, a.json);
  if (a.show->parsed()) return command::show(root, a.prefix, a.json);
  if (a.verify->parsed()) return command::verify(root, a.remove);
  return run_prune(root, a);
}

}  // namespace

int main(int argc, char** argv) try {
  Arguments arguments;
  CLI::App app{
      "The cache of compiled kernels and tuning records.\nExit status: 0 done; 1 verify found damage, show found "
      "nothing, prune could not remove something; 2 wrong use; 3 failed.",
      "tessera-cache"};
  describe(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? command::good : command::wrong_use;
  }
  return run(arguments);
} catch (const std::exception& error) {
  std::fprintf(stderr, "tessera-cache: %s\n", error.what());
  return tessera::cache_command::failed;
}
