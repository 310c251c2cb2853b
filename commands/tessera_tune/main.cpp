// tessera-tune: looks at tuning records, moves them between machines, and measures them again.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "tessera/version.hpp"
#include "tessera_tune/records.hpp"

namespace {

using namespace tessera::tune_command;

struct Arguments {
  std::vector<std::string> kernels, files;
  std::string file, prefix;
  bool json = false;
  std::optional<double> seconds;
  int device = 0;
};

void describe(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  app.footer(
      "The records are those of the cache: TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera.\n"
      "Exit status: 0 done; 1 not found, ambiguous or refused; 2 wrong usage; 3 a file, the GPU or a measurement "
      "failed.");
  CLI::App* list = app.add_subcommand("list", "what was tuned, for which sizes, where, and what won");
  list->add_option("--kernel", a.kernels, "only these kernels");
  list->add_flag("--json", a.json, "as JSON");
  CLI::App* show = app.add_subcommand("show", "the candidates of one record, with times and reasons");
  show->add_option("KEY", a.prefix, "the first digits of its key")->required();
  CLI::App* out = app.add_subcommand("export", "writes records to a file");
  out->add_option("FILE", a.file, "is replaced if it exists")->required();
  out->add_option("--kernel", a.kernels, "only these kernels");
  CLI::App* in = app.add_subcommand("import", "merges the records of such files into the cache");
  in->add_option("FILE", a.files, "files that export has written")->required();
  CLI::App* rerun = app.add_subcommand("rerun", "measures the candidates of one record anew on a GPU of this machine");
  rerun->add_option("KEY", a.prefix, "the first digits of its key")->required();
  rerun->add_option("--seconds", a.seconds, "for so long at most")->check(CLI::NonNegativeNumber);
  rerun->add_option("--device", a.device, "number of the GPU")->check(CLI::NonNegativeNumber);
}

}  // namespace

int main(int argc, char** argv) try {
  Arguments a;
  CLI::App app{"Tuning records of Tessera kernels", "tessera-tune"};
  app.set_version_flag("--version", "tessera-tune " + std::string(tessera::version()));
  describe(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : usage;
  }
  const tessera::runtime::Cache cache(tessera::runtime::Cache::default_root());
  if (app.got_subcommand("list")) return list(cache, a.kernels, a.json);
  if (app.got_subcommand("show")) return show(cache, a.prefix);
  if (app.got_subcommand("export")) return export_records(cache, a.file, a.kernels);
  if (app.got_subcommand("import")) return import_records(cache, a.files);
  return rerun(cache, a.prefix, a.seconds, a.device);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return failed;
}
