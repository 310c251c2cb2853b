#include "runtime/record_store.hpp"

#include <algorithm>

#include "runtime/hash.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

RecordStore::RecordStore(const Cache& cache, const std::string& identity)
    : cache_(cache), identity_(identity), key_(hash_hex(identity)) {}

std::optional<tune::Record> RecordStore::load() const {
  const std::optional<std::string> text = cache_.load_record(key_);
  if (!text) return std::nullopt;
  std::optional<tune::Record> record = tune::parse_record(*text);
  if (record && record->identity != identity_) return std::nullopt;
  return record;
}

void RecordStore::save(const tune::Record& record) const {
  if (cache_.root().empty()) return;
  const FileLock lock = cache_.lock(key_);
  std::optional<tune::Record> there = load();
  if (!there) return replace(record);
  std::erase_if(there->rows, [&](const tune::RecordRow& old) {
    const auto mine = std::find_if(record.rows.begin(), record.rows.end(),
                                   [&](const tune::RecordRow& row) { return row.report.config == old.report.config; });
    return mine == record.rows.end() || mine->text_hash != old.text_hash;
  });
  if (there->winning_row() == nullptr) there->chosen = there->complete = false;
  replace(tune::merge(record, *there));
}

void RecordStore::replace(const tune::Record& record) const { cache_.store_record(key_, tune::to_json(record)); }

std::string RecordStore::path() const {
  return cache_.root().empty() ? std::string() : cache_.record_path(key_).string();
}

namespace {

// Those that were hopeless were so against this one.
const tune::RecordRow* fastest(const tune::Record& record) {
  const tune::RecordRow* best = nullptr;
  for (const tune::RecordRow& row : record.rows) {
    const CandidateReport& r = row.report;
    const bool timed = r.rounds > 0 && (r.status == Status::ranked || r.status == Status::chosen);
    if (timed && (best == nullptr || r.time_us < best->report.time_us)) best = &row;
  }
  return best;
}

}  // namespace

void take_over(const tune::Record& earlier, const std::vector<std::string>& texts, std::vector<CandidateReport>* rows,
               std::vector<std::int64_t>* measured) {
  std::vector<CandidateReport> result = *rows;
  std::vector<std::int64_t> times = *measured;
  const auto unchanged = [&](const tune::RecordRow& old) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i].config == old.report.config) return texts[i] == old.text_hash;
    }
    return false;
  };
  const tune::RecordRow* best = fastest(earlier);
  const bool same_best = best != nullptr && unchanged(*best);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].status != Status::ranked) continue;
    const auto old = std::find_if(earlier.rows.begin(), earlier.rows.end(), [&](const tune::RecordRow& row) {
      return row.report.config == result[i].config && row.text_hash == texts[i];
    });
    if (old == earlier.rows.end()) continue;
    times[i] = old->measured;
    switch (old->report.status) {
      case Status::failed:
      case Status::pruned:
      case Status::rejected: result[i] = old->report; break;
      case Status::dropped:
        if (same_best) {
          result[i] = old->report;
          break;
        }
        [[fallthrough]];
      default: result[i].result_class = old->report.result_class;
    }
  }
  const bool some =
      std::any_of(result.begin(), result.end(), [](const CandidateReport& r) { return r.status == Status::ranked; });
  if (!some) return;
  *rows = std::move(result);
  *measured = std::move(times);
}

}  // namespace tessera::runtime
