// Mutation testing of the checker: a kernel with one synchronisation step changed, as a programmer might get it wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/thread.hpp"

namespace tessera::checker {

enum class Change : std::uint8_t {
  erase,          // the statement is missing
  count,          // + amount: arrivals, threads of a named barrier, groups that a wait leaves pending
  bytes,          // + amount: bytes that an mbarrier expects
  half_bytes,     // half of them
  parity,         // the wait is for the other phase
  flag_value,     // + amount: what a flag is set to, or waited for
  read_only,      // the wait is for the engine to have read, not to have written
  own_block,      // the arrive is at the block's own barrier, not at another block's
  no_multicast,   // the copy goes to the block's own shared memory alone
  later,          // the statement stands behind the next one
  earlier,        // the statement stands before the one before it
  shorten_ring,   // the last slot of a ring of tiles is the memory of its first, see shorten_ring.hpp
  shorten_round,  // a variable that counts a ring's slots goes round one slot too early
};

struct Mutation {
  Change change = Change::erase;
  ir::StmtKind statement = ir::StmtKind::thread_Comment;  // kind of what is changed
  std::string kind;                                       // in words, without the place: "mbarrier.wait deleted"
  SourceLoc loc;                                          // the user's line
  std::string text;                                       // "line 61: mbarrier.wait deleted"
  std::size_t place = 0;    // number of the statement, in the order of the text; shorten_ring: of the region
  std::int64_t amount = 0;  // of count and bytes; shorten_ring: slots of the ring
};

// Every mutation of the kernel's synchronisation, in the order of its text:
// - each synchronisation statement deleted,
// - each of its counts changed: expected bytes by 16 up and down and to a half; arrivals of an mbarrier by one, at its
//   initialisation and at an arrive; threads of a named barrier by a warp; groups that a wait leaves by one more,
// - a wait's parity flipped; the value of a flag's signal or wait one more; a wait for stores made a wait for their
//   reads; a signal or copy to other blocks kept at home,
// - each wait, arrive, fence, commit moved behind the next statement that does something, and before the previous one;
//   an If around nothing but such statements is moved with them. Two of a kind do not change places: they commute,
// - each ring of tiles and each counter of slots shortened by one.
std::vector<Mutation> mutations(const ir::thread::Kernel& kernel);

// A deep copy of the kernel's statements with one of its mutations; the statements of `kernel` stay as they are.
// Expressions and declarations are shared with it. New expressions are made in the common Context, which must therefore
// not be in use by another thread.
std::shared_ptr<const ir::thread::Kernel> mutate(const ir::thread::Kernel& kernel, const Mutation& mutation);

// The deep copy without a change.
std::shared_ptr<const ir::thread::Kernel> copy(const ir::thread::Kernel& kernel);

}  // namespace tessera::checker
