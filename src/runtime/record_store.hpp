// Tuning records in the cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cache.hpp"
#include "tune/record.hpp"

namespace tessera::runtime {

// The record of one identity. Processes that tune the same bucket at once each add what they know.
class RecordStore {
 public:
  RecordStore(const Cache& cache, const std::string& identity);

  // Null for anything that is not a record of this identity.
  std::optional<tune::Record> load() const;
  // Merges with what is there, but for rows of other texts than `record` has: the script was edited since then.
  void save(const tune::Record& record) const;
  // In place of what is there.
  void replace(const tune::Record& record) const;
  std::string path() const;  // empty without a cache

 private:
  const Cache& cache_;
  std::string identity_, key_;
};

// What an earlier process's record says about candidates whose text is still the same: rows that failed or were
// wrong keep their status, and so do hopeless ones as long as the text of the fastest is the same; others that ran keep
// the number of their result's class. `rows` are those that could be built, `texts` their hashes, `measured` gets the
// times of day. Nothing is taken over if no row would be left.
void take_over(const tune::Record& earlier, const std::vector<std::string>& texts, std::vector<CandidateReport>* rows,
               std::vector<std::int64_t>* measured);

}  // namespace tessera::runtime
