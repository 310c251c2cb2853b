// Which statements of the thread IR synchronise, and where a block can be reordered.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ir/thread.hpp"

namespace tessera::checker {

// As the thread IR's text names it, "mbarrier.wait"; null for a statement that does not synchronise.
const char* sync_name(const ir::Stmt* s);

// The statement itself if it synchronises, else the first one of an If that holds nothing else (after a warp.sync the
// next one, which it prepares); null otherwise.
const ir::Stmt* sync_of(const ir::Stmt* s);

// Where the statement at `from` of `block` goes if it changes places with the next (step 1) or the previous one (step
// -1) that does something. Nothing if there is none, or if the two are of one kind.
std::optional<std::size_t> destination(const ir::Block& block, std::size_t from, int step);

}  // namespace tessera::checker
