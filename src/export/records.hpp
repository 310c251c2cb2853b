// Tuning records of other machines.
#pragma once

#include <span>
#include <string>

#include "tessera/runtime/program.hpp"

namespace tessera::exporter {

struct Record {
  std::string config;  // empty: there is none
  std::string device;
};

struct RecordKey {
  std::span<const std::int64_t> constants, bounds;
  std::uint64_t alignment;
};

// What a record in `path` (a record, or a folder with records or with a cache's folder "tuning") says of the program.
// Device, driver and compiler may be any; the script, its constants, the alignment and the bucket have to be the same,
// and the winner has to be one of the program's candidates. Throws a user Error for a path that holds no record at all.
Record find_record(const std::string& path, const detail::Program& program, const RecordKey& key);

}  // namespace tessera::exporter
