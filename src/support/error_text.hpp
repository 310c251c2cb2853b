// What an error says in one sentence, for tables and reports.
#pragma once

#include <string>

#include "tessera/core/error.hpp"

namespace tessera {

inline std::string first_message(const Error& error) {
  return error.diagnostics().empty() ? error.what() : error.diagnostics().front().message;
}

}  // namespace tessera
