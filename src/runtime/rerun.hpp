// Measures the candidates of a tuning record again, without the program that they come from.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cache.hpp"
#include "runtime/device_state.hpp"
#include "runtime/progress.hpp"
#include "tune/record.hpp"

namespace tessera::runtime {

struct Rerun {
  tune::Record record;
  std::string remark;  // on how it was measured; empty if in the trial process
};

// The record with its candidates measured anew on `device`: cubins from the cache, launches as recorded, inputs
// normally distributed (integers are 0). The candidates run in the trial process as they do while a program tunes, so
// that one which traps, hangs or writes where it must not is `failed` and no more. Rows without a launch, and those
// whose cubin the cache no longer has, keep what they say; a winner that is among these stays only if nothing could be
// measured, which is a user Error. Also a user Error for a record of another device or driver. `progress` may be null.
Rerun rerun(const tune::Record& record, const std::shared_ptr<detail::DeviceState>& device, const Cache& cache,
            std::optional<double> seconds, ProgressTask* progress);

}  // namespace tessera::runtime
