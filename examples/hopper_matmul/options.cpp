#include "hopper_matmul/options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "hopper_matmul/versions.hpp"

namespace hopper_matmul {

std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app{
      "c = a·bᵀ on Hopper's tensor cores, checked against an independent reference.\n"
      "Exit code: 0 right, 1 wrong result (with --check: findings), 2 wrong use, 3 the device or the compiler failed.",
      "hopper_matmul"};
  app.add_option("--version", options.versions, "which steps of the ladder, all in one run")
      ->expected(1, static_cast<int>(version_names().size()))
      ->check(CLI::IsMember(version_names()))
      ->capture_default_str();
  app.add_option("--size", options.size, "M N K")
      ->expected(3)
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))
      ->capture_default_str();
  app.add_option("--dtype", options.dtype, "element type of a, b and c")
      ->check(CLI::IsMember({"f16", "bf16"}))
      ->capture_default_str();
  app.add_option("--device", options.device, "auto: the first Hopper GPU, else the simulated Hopper")
      ->check(CLI::IsMember({"auto", "sim", "cuda"}))
      ->capture_default_str();
  app.add_option("--schedule", options.schedule,
                 "of the simulated Hopper: eager, lazy, random:SEED, or an order that a report named")
      ->capture_default_str();
  app.add_option("--config", options.config, "e.g. block_m=64,block_n=128,block_k=64; without it the kernel is tuned");
  app.add_option("--launches", options.launches, "launches, each checked")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_flag("--check", options.check, "check the kernels for hazards of all schedules, on the simulated Hopper");
  app.add_flag("--bench", options.bench, "measure against cuBLAS in the same run");
  app.add_option("--json", options.json, "write the results to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!options.config.empty() && options.versions.size() > 1) {
    std::cerr << "--config pins a candidate of one version, but --version names " << options.versions.size() << "\n";
    return 2;
  }
  return std::nullopt;
}

}  // namespace hopper_matmul
