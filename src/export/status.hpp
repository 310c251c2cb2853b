// The statuses that an exported launch function returns beside the driver's own, and their texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "export/model.hpp"

namespace tessera::exporter {

// Values are those of the C enumeration; a status is a kind plus a number below 65536 that says where.
enum class StatusKind : std::uint8_t {
  not_exported = 1,
  negative_extent,
  negative_grid,
  arithmetic,
  grid_too_large,
  cluster_misfit,
  null_pointer,
  misaligned_pointer,
  tensor_map_rule,
  wrong_device,
  not_loaded,
  wrong_context,
  file_error,
  driver_error,
  null_workspace,  // the last ones: of launches of several kernels alone
  misaligned_workspace,
  workspace_too_small
};

struct StatusInfo {
  StatusKind kind;
  const char* name;  // "NOT_EXPORTED"
  const char* text;
};
// Those that an export of one kernel has, or one of several.
const std::vector<StatusInfo>& status_infos(bool several);

constexpr int status_unit = 65536;

// Numbers for the places of a kernel where a status may come from.
class Statuses {
 public:
  // The status of this kind and text; the same text gives the same status.
  int at(StatusKind kind, const std::string& text);
  // `count` successive statuses that begin at the result, for the rules of a tensor map.
  int block(StatusKind kind, const std::vector<std::string>& texts);
  const std::map<int, std::string>& texts() const { return texts_; }

 private:
  std::map<int, std::string> texts_;
  std::map<std::string, int> known_;
  std::map<StatusKind, int> next_;
};

}  // namespace tessera::exporter
