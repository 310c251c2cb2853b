// From a traced tile program to the thread IR: the list of passes and the one function that runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "ir/tile.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::passes {

struct Options {
  bool insert_proxy_fences = true;  // off only in tests that show the hazard
  bool barriers_in_tiles = false;   // on only in tests that show the hazard
  bool refuse_hazards = false;      // that the text shows and no arguments avoid (static_check.hpp): for every launch
  std::string dump;  // comma-separated stages: tile, layout, plan, thread, cuda; default from TESSERA_DUMP
  std::function<void(const std::string& stage, const std::string& text)> dump_sink;  // default: standard error
};

struct Lowered {
  ir::thread::Kernel kernel;
  std::vector<Diagnostic> remarks;  // conversions inserted, shared-memory bank conflicts, ...
  std::vector<Finding> findings;    // with Options::refuse_hazards: hazards that some arguments may avoid
  int register_estimate = 0;        // 32-bit registers a thread, for pruning before the compiler is asked
};

// Runs every pass. Consumes the tile kernel (layouts and offsets are written into it). Throws tessera::Error.
Lowered lower(ir::tile::Kernel& kernel, const Options& options = {});

}  // namespace tessera::passes
