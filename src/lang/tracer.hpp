// The state of one trace: the kernel being built, the open scopes, the mistakes found. One is current in a thread while
// a script runs; every operation of the language ends here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"
#include "tessera/lang/tensor.hpp"
#include "tessera/runtime/program.hpp"

namespace tessera::lang {

namespace tile = ir::tile;

// normal builds the kernel. The others are the audit's passes over the same script, whose kernels are thrown away:
// skip does not enter the bodies at one nesting depth, repeat traces every loop body twice.
enum class Mode { normal, skip, repeat };

enum class ScopeKind { root, when, otherwise, group, range, loop_while, index_function };
const char* name_of(ScopeKind kind);

// What one thread does with bulk groups, for the check at the end. `elected` is the scope that elected the thread, or
// -1 where `thread` names it.
struct BulkEvent {
  enum class Kind { store, commit, wait } kind;
  int thread;
  int elected;
  SourceLoc loc;
};
struct RegisterRequest {
  tile::Group group;
  int count;
  SourceLoc loc;
};

struct Scope {
  ScopeKind kind = ScopeKind::root;
  SourceLoc loc;
  bool open = true;
  ir::Block* block = nullptr;
  tile::Group group;
  ir::Stmt* statement = nullptr;
};

class Tracer {
 public:
  Tracer(std::string name, const std::vector<detail::ParamInfo>& params, SourceLoc loc, Mode mode, int skip_depth);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // The tracer of this thread. Throws a user Error, naming `what`, where no script is being traced.
  static Tracer& current(const char* what, SourceLoc loc);
  class Activation {  // makes a tracer current for its lifetime
   public:
    explicit Activation(Tracer* tracer);
    Activation(const Activation&) = delete;
    Activation& operator=(const Activation&) = delete;
    ~Activation();

   private:
    Tracer* previous_;
  };

  void error(SourceLoc loc, std::string message, std::string help = {}, std::vector<Note> notes = {});
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

  // True if an object of this origin may be used now; else records why not. `what` names it: "the tile 'acc'".
  bool usable(const detail::Origin& origin, const std::string& what, SourceLoc loc);
  // The expression of a handle, null after a mistake (recorded now or before).
  const ir::Expr* use(const detail::ScalarRef& ref, SourceLoc loc);
  tile::RegisterTensor* use(const detail::TileRef& ref, SourceLoc loc);  // and of the current group
  tile::SharedView* use(const detail::SharedRef& ref, SourceLoc loc);    // and not freed
  tile::GlobalView* use(const detail::ViewRef& ref, SourceLoc loc);
  tile::BarrierArray* use(const detail::BarrierRef& ref, SourceLoc loc);
  tile::BarrierRef use(const Barrier& barrier, SourceLoc loc);  // with the index checked
  const ir::Var* use(const detail::VarRef& ref, SourceLoc loc);

  detail::Origin origin(SourceLoc loc) const { return {id, stack.back(), loc}; }
  detail::ScalarRef scalar(const ir::Expr* e, SourceLoc loc);  // binds an expression that grew large to a Let
  detail::ScalarRef let(const ir::Expr* init, std::string name, SourceLoc loc);
  detail::ScalarRef let(const ir::Expr* init, std::string name, SourceLoc loc, std::int64_t low, std::int64_t high);

  template <class S, class... A>
  S* emit(A&&... args) {
    S* s = kernel->context->arena.make<S>(std::forward<A>(args)...);
    scope().block->push_back(s);
    check_emitted(s);
    return s;
  }

  Scope& scope() { return scopes[stack.back()]; }
  int depth() const { return static_cast<int>(stack.size()); }
  void open(ScopeKind kind, ir::Block* block, ir::Stmt* statement, SourceLoc loc);
  void open(ScopeKind kind, ir::Block* block, ir::Stmt* statement, SourceLoc loc, tile::Group group);
  void close();
  void close_to(std::uint32_t scope_index);                                    // closes every scope above this one
  bool enters() const { return mode != Mode::skip || depth() != skip_depth; }  // the body of a scope opened here

  // The current thread group. The first call decides that attrs.warps must have been set.
  const tile::Group& group(SourceLoc loc);
  void first_use(SourceLoc loc);
  std::string fresh_name(SourceLoc loc, std::string_view callee);
  // Whether no loop or branch is open; else records that `call` stands in one.
  bool outside_control(const char* call, const char* help, SourceLoc loc);
  int use_cluster(SourceLoc loc);  // its size, from here on fixed
  // The number of a block of the cluster as an i32, null where the cluster is this block alone; nothing with the
  // mistake recorded.
  std::optional<const ir::Expr*> use_rank(const char* call, const detail::ScalarRef& rank, SourceLoc loc);
  void record_bulk(BulkEvent::Kind kind, SourceLoc loc);

  ir::ExprPool& expr() { return kernel->context->expr; }

  const std::uint64_t id;
  const Mode mode;
  const int skip_depth;
  std::shared_ptr<tile::Kernel> kernel = std::make_shared<tile::Kernel>();
  std::vector<Scope> scopes;         // every scope of this trace; a handle names its scope by index
  std::vector<std::uint32_t> stack;  // the open ones
  int deepest = 0;                   // nesting of scopes
  SourceLoc first_tensor;            // the first thing that needed attrs.warps
  SourceLoc first_cluster_use;       // the first thing that needed attrs.cluster
  SourceLoc warps_loc, blocks_loc, cluster_loc, dependent_loc, first_statement;
  std::vector<SourceLoc> left_by_exception;  // loops that an exception left, innermost first
  std::set<ir::Stmt*> open_whens;            // whens whose otherwise() may still follow
  std::map<const tile::SharedTensor*, SourceLoc> freed;
  std::map<const tile::RegisterTensor*, SourceLoc> pinned_registers;
  std::map<const tile::SharedTensor*, SourceLoc> pinned_shared;
  std::vector<BulkEvent> bulk_events;
  std::vector<RegisterRequest> register_requests;
  std::map<const ir::Var*, std::pair<std::int64_t, std::int64_t>> bounded_vars;

 private:
  std::uint64_t tree_size(const ir::Expr* e);
  void check_emitted(const ir::Stmt* s);

  std::vector<Diagnostic> diagnostics_;
  std::set<std::pair<std::uint32_t, std::string>> reported_;
  std::map<std::uint32_t, std::uint64_t> tree_sizes_;  // by expression id
  std::map<std::pair<std::uint32_t, std::string>, int> occurrences_;
};

std::string quoted(const std::string& name, const char* fallback);  // 'name', or the fallback
std::string shape_text(const tile::Shape& shape);                   // {64, 128}
std::string group_text(const tile::Group& group);                   // threads 0..127
// Each records what is wrong and returns false: the shape of a tile, a part without dimensions, a part of a shared tile
// where all of it is meant, a conversion that the hardware lacks.
bool check_shape(Tracer& t, const char* call, const tile::Shape& shape, SourceLoc loc);
bool check_dimensions(Tracer& t, const char* call, const tile::SharedView& view, SourceLoc loc);
bool check_cast(Tracer& t, DType from, DType to, SourceLoc loc);
bool check_whole(Tracer& t, const char* call, const tile::SharedView& view, SourceLoc loc);
// The offsets as expressions, one a dimension of the view; empty with the mistake recorded.
std::vector<const ir::Expr*> use_offsets(Tracer& t, const char* call, const tile::GlobalView& view,
                                         const detail::IndexList& offsets, SourceLoc loc);

}  // namespace tessera::lang
