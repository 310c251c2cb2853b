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

// `static int plan_<index>(...)`. Throws an unsupported Error for a tensor map whose box no size makes legal.
PlanText plan_text(const Model& model, std::size_t index, Statuses* statuses);

}  // namespace tessera::exporter
