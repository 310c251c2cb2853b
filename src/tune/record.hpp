// A tuning record: what was measured for one program on one device, for other processes to start from or to go on from.
// docs/tuning.md describes the form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/dtype.hpp"
#include "tessera/runtime/report.hpp"
#include "trial/job.hpp"

namespace tessera::tune {

// How a candidate is launched without the program that it comes from. The job's cubin stands in the cache.
struct RecordedLaunch {
  std::string entry;  // the key of the cache entry
  trial::Job job;     // cubin empty
};

// What a record holds of a candidate.
struct RecordRow {
  CandidateReport report;
  std::string text_hash;      // of its canonical CUDA text; empty if it was not lowered
  std::int64_t measured = 0;  // when, in seconds since 1970; 0: never run
  std::optional<RecordedLaunch> launch;
};

struct RecordBuffer {
  trial::Region region;
  DType type = DType::f16;  // of the elements, for whoever makes up content
};

struct Record {
  std::string identity;   // everything the choice depends on, readable; the record's key is its hash
  std::string kernel;     // the script's name
  std::string winner;     // config; empty as long as nothing has been chosen
  bool chosen = false;    // there is a winner (whose config may be empty)
  std::string text_hash;  // of the winner's canonical CUDA text: another text means another kernel, so no hit
  std::string device, driver, compiler, bucket;
  bool complete = false;     // every candidate has been tried
  double seconds = 0;        // that the tuning took, over all processes
  std::int64_t updated = 0;  // seconds since 1970
  std::vector<RecordBuffer> buffers;
  std::vector<RecordRow> rows;

  const RecordRow* winning_row() const;
};

// Now, as records note it.
std::int64_t seconds_since_1970();

std::string to_json(const Record& record);
// Null for text that is not such a record: another format, a field that is missing or of another type, a number that is
// negative or not finite, an unknown status, two rows of one configuration, a winner that is not the chosen row.
// `why` says what is wrong. Fields that are not known are ignored.
std::optional<Record> parse_record(std::string_view json, std::string* why = nullptr);

// Many records in one text, with a checksum, and back; null if anything about it is wrong.
std::string to_archive(const std::vector<Record>& records);
std::optional<std::vector<Record>> parse_archive(std::string_view json, std::string* why);

// What two records of one identity know together. Of each candidate the better-founded row is kept: a wrong result
// before times, times before an untimed run, that before a failure, that before nothing; of two times that of more
// launches, else the newer one. The winner is the fastest row of the outcome. `taken` gets the configurations whose
// rows are theirs. Records of different identities are never merged (an internal Error).
Record merge(const Record& ours, const Record& theirs, std::vector<std::string>* taken = nullptr);

}  // namespace tessera::tune
