// A ring of tiles with one slot less than the code believes.
//
// The length of a ring is a C++ constant of the language. In the thread IR it has left its traces in the size of the
// tile's memory, in the number of its barriers, and in code: variables that count slots, or, where the ring is
// unrolled, in as many copies of the loop's body. What can be recognised in every kernel is the memory: wgmma's
// operands, and the kernel's longest array of mbarriers has as many elements as they have slots. So the mutation leaves
// barriers and code alone and lets the last slot be the memory of the first: every address in it, of copies,
// descriptors, loads and stores, is moved there. A correct ring holds two blocks in that memory at once, or nearly so,
// and the checker has to see that nothing orders their accesses.
//
// Where a variable counts slots (`slot + 1 == stages`, at one side of the ring or at both) a second mutation is
// possible: the comparison is with one less.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/thread.hpp"

namespace tessera::checker {

struct Ring {
  std::size_t region = 0;  // number of the tile's region
  int slots = 0;
};

// The tiles that wgmmas read and that have several slots.
std::vector<Ring> rings(const ir::thread::Kernel& kernel);

// Redirects the accesses of `body`, a copy of the kernel's statements.
void shorten(const ir::thread::Kernel& kernel, const Ring& ring, ir::Block& body);

// The comparison `n == slots` of an assignment that goes on to slot 0 there, `slot = n == slots ? 0 : n`. Null if the
// assignment is none.
const ir::Expr* end_of_round(const ir::control::AssignVar& assign);
// Assignments of the block that go round at the same comparison do so one slot earlier.
void shorten_round(ir::Context& context, const ir::Expr* end, ir::Block& block);

}  // namespace tessera::checker
