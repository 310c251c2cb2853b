// The tuning records of a cache, for the command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cache.hpp"
#include "tune/record.hpp"

namespace tessera::tune_command {

// What the command answers with, beside its output.
enum Exit : int {
  done = 0,
  refused = 1,  // something was not found, is ambiguous, or was refused
  usage = 2,
  failed = 3  // a file cannot be read or written, there is no GPU, or a measurement failed
};

struct Stored {
  std::string key;
  tune::Record record;
};

// All records of this version's format, by kernel, bucket and device. Others are passed over.
std::vector<Stored> all_records(const runtime::Cache& cache);

// The one record whose key begins with `prefix`; otherwise null, and the reason on standard error.
std::optional<Stored> find_record(const runtime::Cache& cache, const std::string& prefix);

int list(const runtime::Cache& cache, const std::vector<std::string>& kernels, bool json);
int show(const runtime::Cache& cache, const std::string& prefix);
int export_records(const runtime::Cache& cache, const std::string& file, const std::vector<std::string>& kernels);
int import_records(const runtime::Cache& cache, const std::vector<std::string>& files);
int rerun(const runtime::Cache& cache, const std::string& prefix, std::optional<double> seconds, int device);

}  // namespace tessera::tune_command
