#include "runtime/rerun.hpp"

#include <fmt/format.h>

#include "tessera/core/error.hpp"
#include "tessera_tune/records.hpp"

namespace tessera::tune_command {

int rerun(const runtime::Cache& cache, const std::string& prefix, std::optional<double> seconds, int device) {
  const std::optional<Stored> found = find_record(cache, prefix);
  if (!found) return refused;
  const Device gpu = Device::cuda(device, {});
  runtime::Rerun outcome;
  {
    runtime::ProgressTask progress(found->record.kernel);
    outcome = runtime::rerun(found->record, gpu.state(), cache, seconds, &progress);
  }
  const tune::Record& record = outcome.record;
  {
    const runtime::FileLock lock = cache.lock(found->key);
    cache.store_record(found->key, tune::to_json(record));
  }
  if (record.winner != found->record.winner)
    fmt::print("the choice was {}, it is now {}\n", found->record.winner, record.winner);
  if (!outcome.remark.empty()) fmt::print("{}\n", outcome.remark);
  return show(cache, found->key);
}

}  // namespace tessera::tune_command
