#include "export/status.hpp"

namespace tessera::exporter {

const std::vector<StatusInfo>& status_infos(bool several) {
  using K = StatusKind;
  static const std::vector<StatusInfo> of_one = {
      {K::not_exported, "NOT_EXPORTED", "no kernel was exported for these sizes and constants"},
      {K::negative_extent, "NEGATIVE_EXTENT", "a view has a negative extent"},
      {K::negative_grid, "NEGATIVE_GRID", "the grid has a negative extent"},
      {K::arithmetic, "ARITHMETIC", "a size divides by zero or shifts too far"},
      {K::grid_too_large, "GRID_TOO_LARGE", "the grid has more blocks than a grid may have"},
      {K::cluster_misfit, "CLUSTER_MISFIT", "the grid is not a multiple of the cluster"},
      {K::null_pointer, "NULL_POINTER", "a pointer is null"},
      {K::misaligned_pointer, "MISALIGNED_POINTER", "a pointer is not aligned as the kernel needs it"},
      {K::tensor_map_rule, "TENSOR_MAP_RULE", "the TMA unit cannot address a view"},
      {K::wrong_device, "WRONG_DEVICE", "the device of the context is not of compute capability 9.0"},
      {K::not_loaded, "NOT_LOADED", "the module is not loaded"},
      {K::wrong_context, "WRONG_CONTEXT", "the current context is not the one that the module was loaded in"},
      {K::file_error, "FILE_ERROR", "a cubin file cannot be read"},
      {K::driver_error, "DRIVER_ERROR", "the CUDA driver refused a call"}};
  static const std::vector<StatusInfo> of_several = [] {
    std::vector<StatusInfo> infos = of_one;
    infos.push_back({K::null_workspace, "NULL_WORKSPACE", "these sizes need a workspace, and it is null"});
    infos.push_back({K::misaligned_workspace, "MISALIGNED_WORKSPACE", "the workspace is not a multiple of 256 bytes"});
    infos.push_back({K::workspace_too_small, "WORKSPACE_TOO_SMALL", "the workspace is too small for these sizes"});
    return infos;
  }();
  return several ? of_several : of_one;
}

int Statuses::at(StatusKind kind, const std::string& text) { return block(kind, {text}); }

int Statuses::block(StatusKind kind, const std::vector<std::string>& texts) {
  std::string key = std::to_string(static_cast<int>(kind));
  for (const std::string& text : texts) key += "\n" + text;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  int& next = next_.try_emplace(kind, 1).first->second;  // 0 stands for the kind itself
  const int first = static_cast<int>(kind) * status_unit + next;
  for (const std::string& text : texts) texts_[static_cast<int>(kind) * status_unit + next++] = text;
  return known_[key] = first;
}

}  // namespace tessera::exporter
