// A tuning record: what was measured for one program on one device, for other processes to start from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/runtime/report.hpp"

namespace tessera::tune {

struct Record {
  std::string identity;   // everything the choice depends on, readable; the record's key is its hash
  std::string winner;     // config
  std::string text_hash;  // of the winner's canonical CUDA text: another text means another kernel, so no hit
  std::string device, driver, compiler, bucket;
  std::vector<CandidateReport> rows;
};

std::string to_json(const Record& record);
// Null for text that is not such a record.
std::optional<Record> parse_record(std::string_view json);

}  // namespace tessera::tune
