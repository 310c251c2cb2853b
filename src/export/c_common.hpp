// Pieces of NAME.c that exports of one kernel and of several have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "export/model.hpp"
#include "export/status.hpp"

namespace tessera::exporter {

int cluster_size(const ir::thread::Kernel& kernel);

// What distance() compares with the arguments `in` of a launch.
struct DispatchRow {
  std::vector<std::string> others;                           // C conditions for which it does not apply
  std::vector<std::pair<std::string, std::int64_t>> bounds;  // sizes and their buckets
};

class CommonSource {
 public:
  // Of the model its variants, cubins and options.
  explicit CommonSource(const Model& model);

  std::string top() const;  // includes, cubins
  // struct NAME_`name` of the script's parameters that are in its signature, and of `more` members.
  std::string arguments_struct(const Model& script, const std::string& name,
                               const std::vector<std::string>& more = {}) const;
  // struct NAME_plan; `more`: members.
  std::string plan_struct(const std::string& more = {}) const;
  std::string map_functions() const;  // empty if there are no tensor maps
  // The array `variants`; `planned`: with a function plan_<i> for each.
  std::string variant_table(bool planned) const;
  std::string run() const;
  // distance(entry, in), with `table` in front of it.
  std::string distance_function(const std::vector<DispatchRow>& rows, const std::string& table) const;
  // The condition that a constant is another one.
  static std::string unequal(const detail::ParamInfo& param, const std::string& name, std::int64_t value);
  // Statements of a function with `module`: that it is loaded, and into the `context`.
  std::string check_loaded() const;
  std::string check_context() const;
  // Statements that fill `in` from the parameters.
  std::string fill_arguments() const;
  std::string load() const;
  std::string status_functions(const Statuses& statuses) const;

 private:
  std::string images() const;
  std::string launch_with_attributes() const;
  std::string unload_function() const;
  std::string images_table() const;
  std::string file_function() const;

  const Model& m_;
  const std::string& name_;
  std::size_t most_params_ = 0, most_maps_ = 0;
  bool clusters_ = false, dependent_ = false;
};

}  // namespace tessera::exporter
