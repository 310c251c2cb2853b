// Positions of statements in program order, and the groups and loops around them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/match.hpp"
#include "ir/tile.hpp"

namespace tessera::passes {

// One statement where it stands. Positions count statements in program order; a loop covers [first, last].
struct Site {
  ir::Stmt* stmt = nullptr;
  int position = 0;
  ir::tile::Group group;
  std::vector<int> loops;   // indices into Walk::loops, outermost first
  std::vector<int> blocks;  // indices into Walk::blocks, outermost first; the last one holds the statement
};
struct Span {
  int first = 0;
  int last = 0;
  bool contains(int position) const { return first <= position && position <= last; }
};

struct Walk {
  std::vector<Site> sites;  // index = position
  std::vector<Span> loops;
  std::vector<Span> blocks;
  std::vector<const ir::Stmt*>
      owners;  // of the blocks: the statement that each is nested in; null for the kernel's own
  explicit Walk(const ir::tile::Kernel& kernel);
};

// Register tensors that an instruction reads and writes (Dot reads and writes its accumulator).
struct Operands {
  std::vector<ir::tile::RegisterTensor*> reads;
  std::vector<ir::tile::RegisterTensor*> writes;
};
Operands register_operands(const ir::Stmt* stmt);

// How a statement touches shared memory, through the generic proxy and through the async proxy (TMA, wgmma).
struct SharedUse {
  const ir::tile::SharedView* view = nullptr;
  bool write = false;
};
std::vector<SharedUse> generic_shared_uses(const ir::Stmt* stmt);
std::vector<SharedUse> async_shared_uses(const ir::Stmt* stmt);

// Whether every thread of `inner` executes what `outer` executes; whether some thread may belong to both.
bool covers(const ir::tile::Group& outer, const ir::tile::Group& inner);
bool meets(const ir::tile::Group& a, const ir::tile::Group& b);
// All threads that may belong to the group: of an elected one, its warp.
ir::tile::Group candidates(const ir::tile::Group& group);
inline bool is_loop(const ir::Stmt* s) {
  return s->kind == ir::StmtKind::control_For || s->kind == ir::StmtKind::control_Loop;
}

// The group as text: "threads 0..127", "one elected thread of warp 0".
std::string to_string(const ir::tile::Group& group);
// A tensor's name for messages: 'sa', or "the result of line 12" where the user gave none.
template <class T>
std::string describe(const T& tensor) {
  return tensor.name.empty() ? "the tile of line " + std::to_string(tensor.loc.line) : "'" + tensor.name + "'";
}

}  // namespace tessera::passes
