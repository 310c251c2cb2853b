// The C function that checks arguments against one variant and works out its launch.
#pragma once

#include <set>
#include <string>

#include "export/model.hpp"
#include "export/status.hpp"

namespace tessera::exporter {

struct PlanText {
  std::string text;
  std::set<std::string> helpers;  // of c_expr.hpp
};

// How a plan stands in the source.
struct PlanPlace {
  std::size_t number = 0;               // of the function
  std::string arguments = "arguments";  // the structure that it takes is NAME_`arguments`
  std::vector<std::string> shown = {};  // what texts call the run-time parameters; empty: by their names
  bool sizes_first = false;             // asks the plan whether to stop behind the checks of sizes
};

// `static int plan_<number>(...)`. Throws an unsupported Error for a tensor map whose box no size makes legal.
PlanText plan_text(const Model& model, std::size_t index, const PlanPlace& place, Statuses* statuses);

}  // namespace tessera::exporter
