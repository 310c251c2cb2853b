#include "tune/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/cache.hpp"

namespace tessera::tune {
using nlohmann::ordered_json;
using Status = CandidateReport::Status;

namespace {

constexpr int format_version = 2;
constexpr const char* archive_kind = "tessera tuning records";

// Thrown and caught in this file.
struct Malformed {
  std::string why;
};

const ordered_json& member(const ordered_json& j, const char* name) {
  if (!j.is_object()) throw Malformed{fmt::format("an object with a field {} was expected", name)};
  const auto found = j.find(name);
  if (found == j.end()) throw Malformed{fmt::format("the field {} is missing", name)};
  return *found;
}
std::string text(const ordered_json& j, const char* name) {
  const ordered_json& value = member(j, name);
  if (!value.is_string()) throw Malformed{fmt::format("{} is not a string", name)};
  return value.get<std::string>();
}
bool truth(const ordered_json& j, const char* name) {
  const ordered_json& value = member(j, name);
  if (!value.is_boolean()) throw Malformed{fmt::format("{} is not true or false", name)};
  return value.get<bool>();
}
template <class T>
T as_integer(const ordered_json& value, const char* name, std::int64_t least) {
  bool fits = false;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    fits = number <= std::uint64_t(std::numeric_limits<T>::max()) && (least < 0 || number >= std::uint64_t(least));
  } else if (value.is_number_integer()) {  // negative
    fits = value.get<std::int64_t>() >= least;
  }
  if (!fits) throw Malformed{fmt::format("{} is not an integer in its range: {}", name, value.dump())};
  return value.get<T>();
}
template <class T>
T integer(const ordered_json& j, const char* name, std::int64_t least = 0) {
  return as_integer<T>(member(j, name), name, least);
}
double duration(const ordered_json& j, const char* name) {
  const ordered_json& value = member(j, name);
  if (!value.is_number()) throw Malformed{fmt::format("{} is not a number", name)};
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < 0) throw Malformed{fmt::format("{} is {}", name, value.dump())};
  return number;
}
const ordered_json& list(const ordered_json& j, const char* name) {
  const ordered_json& value = member(j, name);
  if (!value.is_array()) throw Malformed{fmt::format("{} is not a list", name)};
  return value;
}
template <class T>
std::vector<T> integers(const ordered_json& j, const char* name, std::int64_t least = 0) {
  std::vector<T> result;
  for (const ordered_json& one : list(j, name)) result.push_back(as_integer<T>(one, name, least));
  return result;
}
template <class T>
std::array<T, 3> triple(const ordered_json& j, const char* name) {
  const std::vector<T> values = integers<T>(j, name, 1);
  if (values.size() != 3) throw Malformed{fmt::format("{} has {} numbers instead of 3", name, values.size())};
  return {values[0], values[1], values[2]};
}
DType type_from(const ordered_json& j, const char* name) {
  const std::string wanted = text(j, name);
  for (const DType type : {DType::boolean, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
                           DType::u32, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f8e4m3, DType::f8e5m2}) {
    if (wanted == name_of(type)) return type;
  }
  throw Malformed{fmt::format("{} is no element type", wanted)};
}

ordered_json param_json(const trial::Param& p) {
  if (p.region == trial::no_region) return {{"value", p.value}};
  return {{"buffer", p.region}, {"offset", p.value}};
}
trial::Param param_from(const ordered_json& j, std::size_t buffers) {
  if (j.is_object() && j.contains("value"))
    return {trial::no_region, integer<std::int64_t>(j, "value", std::numeric_limits<std::int64_t>::min())};
  const trial::Param result{integer<std::int32_t>(j, "buffer"), integer<std::int64_t>(j, "offset")};
  if (static_cast<std::size_t>(result.region) >= buffers) throw Malformed{"a parameter's buffer is not in the list"};
  return result;
}

ordered_json map_json(const trial::MapJob& m) {
  return {{"name", m.name}, {"type", name_of(m.type)}, {"swizzle", m.swizzle},       {"box", m.box},
          {"dims", m.dims}, {"strides", m.strides},    {"base", param_json(m.base)}, {"empty", m.empty}};
}
trial::MapJob map_from(const ordered_json& j, std::size_t buffers) {
  trial::MapJob m;
  m.name = text(j, "name");
  m.type = type_from(j, "type");
  m.swizzle = integer<std::uint8_t>(j, "swizzle");
  m.box = integers<std::uint32_t>(j, "box", 1);
  m.dims = integers<std::int64_t>(j, "dims");
  m.strides = integers<std::int64_t>(j, "strides");
  m.base = param_from(member(j, "base"), buffers);
  m.empty = truth(j, "empty");
  const std::size_t rank = m.dims.size();
  const bool whole = rank >= 1 && rank <= 5 && m.box.size() == rank && m.strides.size() + 1 == rank && m.swizzle <= 3;
  if (!whole || m.base.region == trial::no_region) throw Malformed{"a tensor map that the hardware does not have"};
  return m;
}

ordered_json launch_json(const RecordedLaunch& launch) {
  ordered_json params = ordered_json::array(), maps = ordered_json::array();
  for (const trial::Param& p : launch.job.params) params.push_back(param_json(p));
  for (const trial::MapJob& m : launch.job.maps) maps.push_back(map_json(m));
  return {{"entry", launch.entry},
          {"function", launch.job.function},
          {"grid", launch.job.grid},
          {"cluster", launch.job.cluster},
          {"threads", launch.job.threads},
          {"shared_bytes", launch.job.shared_bytes},
          {"dependent", launch.job.dependent},
          {"params", params},
          {"maps", maps}};
}
RecordedLaunch launch_from(const ordered_json& j, std::size_t buffers) {
  RecordedLaunch launch;
  launch.entry = text(j, "entry");
  const auto hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (launch.entry.empty() || !std::all_of(launch.entry.begin(), launch.entry.end(), hexadecimal))
    throw Malformed{"entry is no key of the cache"};  // it becomes a path
  launch.job.function = text(j, "function");
  launch.job.grid = triple<std::uint32_t>(j, "grid");
  launch.job.cluster = triple<int>(j, "cluster");
  launch.job.threads = integer<std::uint32_t>(j, "threads", 1);
  launch.job.shared_bytes = integer<std::uint32_t>(j, "shared_bytes");
  launch.job.dependent = truth(j, "dependent");
  for (const ordered_json& p : list(j, "params")) launch.job.params.push_back(param_from(p, buffers));
  for (const ordered_json& m : list(j, "maps")) launch.job.maps.push_back(map_from(m, buffers));
  return launch;
}

ordered_json buffer_json(const RecordBuffer& b) {
  return {{"name", b.region.name},   {"bytes", b.region.bytes}, {"misalignment", b.region.misalignment},
          {"type", name_of(b.type)}, {"read", b.region.read},   {"written", b.region.written}};
}
RecordBuffer buffer_from(const ordered_json& j) {
  RecordBuffer b;
  b.region.name = text(j, "name");
  b.region.bytes = integer<std::uint64_t>(j, "bytes");
  b.region.misalignment = integer<std::uint32_t>(j, "misalignment");
  b.type = type_from(j, "type");
  b.region.read = truth(j, "read");
  b.region.written = truth(j, "written");
  b.region.poison = is_float(b.type) ? trial::nan_poison : trial::integer_poison;
  if (b.region.misalignment >= trial::copy_alignment) throw Malformed{"misalignment is out of range"};
  return b;
}

ordered_json row_json(const RecordRow& row) {
  const CandidateReport& r = row.report;
  ordered_json j = {{"config", r.config},
                    {"status", to_string(r.status)},
                    {"reason", r.reason},
                    {"warps", r.warps},
                    {"shared_bytes", r.shared_bytes},
                    {"register_estimate", r.register_estimate},
                    {"registers", r.registers},
                    {"spill_bytes", r.spill_bytes},
                    {"remarks", r.remarks},
                    {"time_us", r.time_us},
                    {"spread_us", r.spread_us},
                    {"rounds", r.rounds},
                    {"result_class", r.result_class},
                    {"measured", row.measured},
                    {"text_hash", row.text_hash}};
  if (row.launch) j["launch"] = launch_json(*row.launch);
  return j;
}

Status status_from(const std::string& text) {
  for (const Status status : {Status::unused, Status::failed, Status::pruned, Status::rejected, Status::dropped,
                              Status::ranked, Status::chosen}) {
    if (text == to_string(status)) return status;
  }
  throw Malformed{fmt::format("{} is no status", text)};
}

RecordRow row_from(const ordered_json& j, std::size_t buffers) {
  RecordRow row;
  CandidateReport& r = row.report;
  r.config = text(j, "config");
  r.status = status_from(text(j, "status"));
  r.reason = text(j, "reason");
  r.warps = integer<int>(j, "warps");
  r.shared_bytes = integer<std::uint32_t>(j, "shared_bytes");
  r.register_estimate = integer<int>(j, "register_estimate");
  r.registers = integer<int>(j, "registers");
  r.spill_bytes = integer<int>(j, "spill_bytes");
  for (const ordered_json& remark : list(j, "remarks")) {
    if (!remark.is_string()) throw Malformed{"a remark is not a string"};
    r.remarks.push_back(remark.get<std::string>());
  }
  r.time_us = duration(j, "time_us");
  r.spread_us = duration(j, "spread_us");
  r.rounds = integer<int>(j, "rounds");
  r.result_class = integer<int>(j, "result_class", -1);
  row.measured = integer<std::int64_t>(j, "measured");
  row.text_hash = text(j, "text_hash");
  if (j.contains("launch")) row.launch = launch_from(j["launch"], buffers);
  if (r.rounds > 0 && r.time_us <= 0) throw Malformed{fmt::format("{} was measured and took no time", r.config)};
  return row;
}

void check_winner(const Record& record) {
  std::set<std::string> configs;
  std::size_t chosen = 0;
  for (const RecordRow& row : record.rows) {
    if (!configs.insert(row.report.config).second)
      throw Malformed{fmt::format("there are two rows of {}", row.report.config)};
    if (row.report.status == Status::chosen) ++chosen;
  }
  if (chosen > 1) throw Malformed{"more than one row is chosen"};
  const RecordRow* winner = record.winning_row();
  if (record.chosen && (winner == nullptr || winner->report.status != Status::chosen))
    throw Malformed{fmt::format("the winner {} is not the chosen row", record.winner)};
  if (record.chosen && winner->text_hash != record.text_hash)
    throw Malformed{"the winner's text hash is not that of its row"};
  if (!record.chosen && (chosen != 0 || record.complete)) throw Malformed{"there is no winner"};
}

ordered_json record_json(const Record& record) {
  ordered_json rows = ordered_json::array(), buffers = ordered_json::array();
  for (const RecordRow& row : record.rows) rows.push_back(row_json(row));
  for (const RecordBuffer& buffer : record.buffers) buffers.push_back(buffer_json(buffer));
  ordered_json json = {{"format", format_version}, {"kernel", record.kernel}};
  json["winner"] = record.chosen ? ordered_json(record.winner) : ordered_json();
  json["text_hash"] = record.text_hash;
  json["bucket"] = record.bucket;
  json["device"] = record.device;
  json["driver"] = record.driver;
  json["compiler"] = record.compiler;
  json["complete"] = record.complete;
  json["seconds"] = record.seconds;
  json["updated"] = record.updated;
  json["identity"] = record.identity;
  json["buffers"] = buffers;
  json["candidates"] = rows;
  return json;
}

Record record_from(const ordered_json& json) {
  if (const int format = integer<int>(json, "format"); format != format_version)
    throw Malformed{fmt::format("it has format {}, this version reads format {}", format, format_version)};
  Record record;
  record.kernel = text(json, "kernel");
  record.chosen = !member(json, "winner").is_null();
  if (record.chosen) record.winner = text(json, "winner");
  record.text_hash = text(json, "text_hash");
  record.bucket = text(json, "bucket");
  record.device = text(json, "device");
  record.driver = text(json, "driver");
  record.compiler = text(json, "compiler");
  record.complete = truth(json, "complete");
  record.seconds = duration(json, "seconds");
  record.updated = integer<std::int64_t>(json, "updated");
  record.identity = text(json, "identity");
  if (record.identity.empty()) throw Malformed{"identity is empty"};
  for (const ordered_json& buffer : list(json, "buffers")) record.buffers.push_back(buffer_from(buffer));
  for (const ordered_json& row : list(json, "candidates")) record.rows.push_back(row_from(row, record.buffers.size()));
  check_winner(record);
  return record;
}

template <class Read>
auto guarded(std::string_view text, std::string* why, const Read& read) -> std::optional<decltype(read({}))> {
  try {
    return read(ordered_json::parse(text));
  } catch (const Malformed& malformed) {
    if (why != nullptr) *why = malformed.why;
  } catch (const ordered_json::exception&) {
    if (why != nullptr) *why = "it is not JSON";
  }
  return std::nullopt;
}

}  // namespace

const RecordRow* Record::winning_row() const {
  if (!chosen) return nullptr;
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const RecordRow& r) { return r.report.config == winner; });
  return found == rows.end() ? nullptr : &*found;
}

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string to_json(const Record& record) { return record_json(record).dump(2); }

std::optional<Record> parse_record(std::string_view text, std::string* why) {
  return guarded(text, why, [](const ordered_json& json) { return record_from(json); });
}

std::string to_archive(const std::vector<Record>& records) {
  ordered_json list = ordered_json::array();
  for (const Record& record : records) list.push_back(record_json(record));
  const ordered_json json = {{"kind", archive_kind}, {"format", format_version}, {"records", list}};
  return runtime::seal(json.dump());
}

std::optional<std::vector<Record>> parse_archive(std::string_view sealed, std::string* why) {
  const std::optional<std::string> plain = runtime::unseal(sealed);
  if (!plain) {
    if (why != nullptr) *why = "it is damaged, or not a file that export has written: its checksum is not right";
    return std::nullopt;
  }
  return guarded(*plain, why, [](const ordered_json& json) {
    if (text(json, "kind") != archive_kind) throw Malformed{"it holds something else"};
    std::vector<Record> records;
    for (const ordered_json& one : list(json, "records")) records.push_back(record_from(one));
    return records;
  });
}

}  // namespace tessera::tune
