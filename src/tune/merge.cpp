// Two records of one identity become one.
#include <algorithm>
#include <tuple>

#include "tessera/core/error.hpp"
#include "tune/record.hpp"
#include "tune/tuner.hpp"

namespace tessera::tune {
using Status = CandidateReport::Status;

namespace {

// How much a row says about its candidate.
int evidence(const RecordRow& row) {
  const CandidateReport& r = row.report;
  if (r.status == Status::rejected) return 5;
  const bool failed = r.status == Status::failed || r.status == Status::pruned;
  if (!failed && r.rounds > 0) return 4;
  if (!failed && r.result_class >= 0) return 3;
  return failed ? 2 : r.status == Status::chosen ? 1 : 0;
}

// Whether `b` is to be kept rather than `a`. Decides in the same way whichever of the two is asked first.
bool better(const RecordRow& b, const RecordRow& a) {
  if (a.text_hash != b.text_hash && !a.text_hash.empty() && !b.text_hash.empty())
    return std::tie(b.measured, b.text_hash) > std::tie(a.measured, a.text_hash);  // the script has been edited between
  const auto key = [](const RecordRow& row) {
    const CandidateReport& r = row.report;
    const int level = evidence(row);
    return std::make_tuple(level, level == 4 ? r.rounds : 0, row.measured, -r.time_us, r.status, r.reason,
                           row.text_hash);
  };
  return key(b) > key(a);
}

bool same_buffers(const std::vector<RecordBuffer>& a, const std::vector<RecordBuffer>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const RecordBuffer& x, const RecordBuffer& y) {
    return x.region.bytes == y.region.bytes && x.region.misalignment == y.region.misalignment && x.type == y.type &&
           x.region.read == y.region.read && x.region.written == y.region.written;
  });
}

double score(const CandidateReport& row) { return row.time_us * (row.flawed() ? 1 + Options{}.flaw_penalty : 1.0); }

// The fastest of those that were timed and never found wrong; if none was timed, whoever is chosen already.
void choose(Record* record) {
  RecordRow* best = nullptr;
  for (RecordRow& row : record->rows) {
    const CandidateReport& r = row.report;
    const bool timed = (r.status == Status::ranked || r.status == Status::chosen) && r.rounds > 0;
    if (timed && (best == nullptr || score(r) < score(best->report))) best = &row;
  }
  if (best == nullptr) {
    const auto chosen = std::find_if(record->rows.begin(), record->rows.end(),
                                     [](const RecordRow& row) { return row.report.status == Status::chosen; });
    if (chosen != record->rows.end()) best = &*chosen;
  }
  for (RecordRow& row : record->rows) {
    if (&row != best && row.report.status == Status::chosen) row.report.status = Status::ranked;
  }
  record->chosen = best != nullptr;
  record->winner = best != nullptr ? best->report.config : "";
  record->text_hash = best != nullptr ? best->text_hash : "";
  if (best != nullptr) best->report.status = Status::chosen;
}

}  // namespace

Record merge(const Record& ours, const Record& theirs, std::vector<std::string>* taken) {
  if (ours.identity != theirs.identity)
    throw Error(ErrorKind::internal, {}, "tuning records of different identities are not merged");
  Record result = ours;
  const bool same_memory = same_buffers(ours.buffers, theirs.buffers);
  // Classes of results are numbered anew by each tuning, until it has decided which one is right.
  const bool same_classes = ours.chosen && theirs.chosen;
  for (const RecordRow& row : theirs.rows) {
    const auto mine = std::find_if(result.rows.begin(), result.rows.end(),
                                   [&](const RecordRow& r) { return r.report.config == row.report.config; });
    if (mine != result.rows.end() && !better(row, *mine)) continue;
    RecordRow copy = row;
    if (!same_memory) copy.launch.reset();
    if (!same_classes && copy.report.status != Status::rejected) copy.report.result_class = -1;
    if (taken != nullptr) taken->push_back(row.report.config);
    if (mine == result.rows.end()) {
      result.rows.push_back(std::move(copy));
    } else {
      *mine = std::move(copy);
    }
  }
  choose(&result);
  std::vector<CandidateReport> reports;
  for (const RecordRow& row : result.rows) reports.push_back(row.report);
  result.complete = result.chosen && (ours.complete || theirs.complete || complete(reports));
  result.seconds = std::max(ours.seconds, theirs.seconds);
  result.updated = std::max(ours.updated, theirs.updated);
  return result;
}

}  // namespace tessera::tune
