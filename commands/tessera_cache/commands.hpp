// What tessera-cache does. Each command prints its answer and returns the exit status.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tessera::cache_command {

enum Status {
  good = 0,
  found = 1,      // verify: something is damaged; show: no such entry; prune: something could not be removed
  wrong_use = 2,  // an argument that is none
  failed = 3,
};

int list(const std::filesystem::path& root, bool json);
int show(const std::filesystem::path& root, const std::string& prefix, bool json);
int verify(const std::filesystem::path& root, bool remove);

struct PruneOptions {
  std::optional<std::uint64_t> size;
  std::optional<std::chrono::seconds> older_than;
  bool all = false, dry_run = false;
};
int prune(const std::filesystem::path& root, const PruneOptions& options);

}  // namespace tessera::cache_command
