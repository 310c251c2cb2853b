// Tuning records of other machines.
#pragma once

#include <string>
#include <vector>

#include "tessera/runtime/argument.hpp"
#include "tessera/runtime/program.hpp"

namespace tessera::exporter {

struct Record {
  std::string config;  // the winner
  std::string device;  // with its driver
  double us = 0;       // of the winner; 0 if it was not timed
};

// What the records in `path` (a record, or a folder with records or with a cache's folder "tuning") say of such a call.
// Device, driver and compiler may be any; the script, its constants, the alignment and the bucket have to be the same,
// and the winner has to be one of the program's candidates. In the same order on every machine. Throws a user Error for
// a path that holds no record at all.
std::vector<Record> find_records(const std::string& path, const detail::Program& program,
                                 const std::vector<detail::Argument>& call);

}  // namespace tessera::exporter
