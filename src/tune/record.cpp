#include "tune/record.hpp"

#include <nlohmann/json.hpp>

namespace tessera::tune {
using nlohmann::ordered_json;
using Status = CandidateReport::Status;

namespace {

ordered_json row_json(const CandidateReport& row) {
  return {
      {"config", row.config},       {"status", to_string(row.status)},  {"reason", row.reason},
      {"warps", row.warps},         {"shared_bytes", row.shared_bytes}, {"register_estimate", row.register_estimate},
      {"registers", row.registers}, {"spill_bytes", row.spill_bytes},   {"remarks", row.remarks},
      {"time_us", row.time_us}};
}

Status status_from(const std::string& text) {
  for (const Status status : {Status::unused, Status::failed, Status::pruned, Status::rejected, Status::dropped,
                              Status::ranked, Status::chosen}) {
    if (text == to_string(status)) return status;
  }
  return Status::unused;
}

CandidateReport row_from(const ordered_json& j) {
  CandidateReport row;
  row.config = j.at("config").get<std::string>();
  row.status = status_from(j.at("status").get<std::string>());
  row.reason = j.at("reason").get<std::string>();
  row.warps = j.at("warps").get<int>();
  row.shared_bytes = j.at("shared_bytes").get<std::uint32_t>();
  row.register_estimate = j.at("register_estimate").get<int>();
  row.registers = j.at("registers").get<int>();
  row.spill_bytes = j.at("spill_bytes").get<int>();
  row.remarks = j.at("remarks").get<std::vector<std::string>>();
  row.time_us = j.at("time_us").get<double>();
  return row;
}

}  // namespace

std::string to_json(const Record& record) {
  ordered_json rows = ordered_json::array();
  for (const CandidateReport& row : record.rows) rows.push_back(row_json(row));
  const ordered_json json = {{"format", 1},
                             {"winner", record.winner},
                             {"bucket", record.bucket},
                             {"device", record.device},
                             {"driver", record.driver},
                             {"compiler", record.compiler},
                             {"text_hash", record.text_hash},
                             {"identity", record.identity},
                             {"candidates", rows}};
  return json.dump(2);
}

std::optional<Record> parse_record(std::string_view text) {
  try {
    const ordered_json json = ordered_json::parse(text);
    if (json.at("format") != 1) return std::nullopt;
    Record record;
    record.winner = json.at("winner").get<std::string>();
    record.bucket = json.at("bucket").get<std::string>();
    record.device = json.at("device").get<std::string>();
    record.driver = json.at("driver").get<std::string>();
    record.compiler = json.at("compiler").get<std::string>();
    record.text_hash = json.at("text_hash").get<std::string>();
    record.identity = json.at("identity").get<std::string>();
    for (const ordered_json& row : json.at("candidates")) record.rows.push_back(row_from(row));
    return record;
  } catch (const ordered_json::exception&) {  // not a record of this form
    return std::nullopt;
  }
}

}  // namespace tessera::tune
