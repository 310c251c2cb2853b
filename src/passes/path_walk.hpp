// What instructions have started and what is left of it, on all paths through a program.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "passes/program_facts.hpp"

namespace tessera::passes {

// Something that an instruction started and that another one ends: an asynchronous operation until a wait, an access
// until a fence. It counts as over as soon as one path from the instruction to here ends it, so that what is not over
// goes on whichever way the program went.
struct Pending {
  const ir::Stmt* by = nullptr;  // null: the start of the kernel
  int agent = 0;                 // the thread or warpgroup that it belongs to
  int groups = -1;               // -1 until it is committed, then the number of groups committed after its own
  bool over = false;
  bool around = false;     // a loop has begun again since
  bool uncertain = false;  // the loop may have a single iteration
  bool operator==(const Pending&) const = default;
};

// Follows all paths. A loop body is visited with what its first iteration finds, then with what any iteration finds.
class PathWalk {
 public:
  explicit PathWalk(const ProgramFacts& facts) : facts_(facts) {}
  PathWalk(const PathWalk&) = delete;
  PathWalk& operator=(const PathWalk&) = delete;
  virtual ~PathWalk() = default;
  void run();

 protected:
  using State = std::map<int, Pending>;  // by the position of the instruction
  struct Place {
    ir::tile::Group group;
    int agent = 0;  // tells single threads apart: the number of a named one, or what identifies the election (negative)
  };
  virtual void start(State&) {}
  virtual void visit(const ir::Stmt& s, const Place& place, State& state) = 0;
  virtual void end(const State&) {}

  Pending& begin(State& state, const ir::Stmt& s, int agent) const;
  static void commit(State& state, int agent);
  static void wait(State& state, int agent, int pending);
  // Whether `p`, as an instruction at `site` finds it, is bound to be there.
  bool is_certain(const Pending& p, const ir::Stmt& s) const;
  bool may_meet(const Pending& p, const ir::Stmt& s) const;

  const ProgramFacts& facts_;

 private:
  using Path = std::optional<State>;  // none: the program does not get here
  struct LoopExits {
    Path breaks, continues;
  };
  Path block(const ir::Block& block, const Place& place, Path path);
  Path statement(const ir::Stmt& s, const Place& place, Path path);
  Path loop(const ir::Stmt& s, const ir::Block& body, const Place& place, const State& entry);
  Path iteration(const ir::Block& body, const Place& place, const State& head, Path& breaks);
  void go_round(State& state, const Span& loop, bool uncertain) const;
  static void join(Path& into, const Path& other);
  Place inner(const ir::Stmt& s, const Place& outer) const;

  std::vector<LoopExits> exits_;
};

}  // namespace tessera::passes
