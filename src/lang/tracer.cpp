#include "lang/tracer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>

#include "ir/tile_printer.hpp"
#include "lang/names.hpp"

namespace tessera::lang {
namespace {

thread_local Tracer* current_tracer = nullptr;

// Tells the handles of different traces apart.
std::uint64_t next_trace_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// An expression with more nodes than this is computed once, by a Let; one that the launch can compute stays whole for
// longer, because grids and shapes must not depend on statements.
constexpr std::uint64_t largest_expression = 32;
constexpr std::uint64_t largest_host_expression = 512;
constexpr std::size_t most_diagnostics = 20;

}  // namespace

const char* name_of(ScopeKind kind) {
  switch (kind) {
    case ScopeKind::root: return "kernel";
    case ScopeKind::when: return "when()";
    case ScopeKind::otherwise: return "otherwise()";
    case ScopeKind::group: return "thread group";
    case ScopeKind::range: return "range() loop";
    case ScopeKind::loop_while: return "loop_while() loop";
    case ScopeKind::index_function: return "function of the index";
  }
  return "?";
}

Tracer::Tracer(std::string name, const std::vector<detail::ParamInfo>& params, SourceLoc loc, Mode m, int depth)
    : id(next_trace_id()), mode(m), skip_depth(depth) {
  kernel->name = std::move(name);
  kernel->loc = loc;
  for (const detail::ParamInfo& p : params) {
    if (p.kind == detail::ParamKind::constant) continue;
    ir::Param param;
    param.name = p.name;
    param.type = p.type;
    param.is_pointer = p.kind == detail::ParamKind::pointer;
    kernel->params.push_back(std::move(param));
  }
  scopes.push_back({ScopeKind::root, loc, true, &kernel->body, {0, 1024, false}, nullptr});
  stack.push_back(0);
}

Tracer& Tracer::current(const char* what, SourceLoc loc) {
  if (current_tracer == nullptr) {
    throw Error(
        ErrorKind::user, loc, fmt::format("{} is used outside a kernel", what),
        "operations of the language belong into the operator() of a Script, which is traced by a Kernel object");
  }
  if (!current_tracer->first_statement.known()) current_tracer->first_statement = loc;
  return *current_tracer;
}

Tracer::Activation::Activation(Tracer* tracer) : previous_(current_tracer) { current_tracer = tracer; }
Tracer::Activation::~Activation() { current_tracer = previous_; }

void Tracer::error(SourceLoc loc, std::string message, std::string help, std::vector<Note> notes) {
  if (diagnostics_.size() >= most_diagnostics) return;
  if (!reported_.insert({loc.line, message}).second) return;
  diagnostics_.push_back({loc, std::move(message), std::move(help), std::move(notes)});
}

bool Tracer::usable(const detail::Origin& o, const std::string& what, SourceLoc loc) {
  if (o.trace != id) {
    error(loc, fmt::format("{} belongs to another kernel or to an earlier trace", what),
          "make it inside this operator(); nothing of the language outlives the trace that made it",
          {{o.loc, "made here"}});
    return false;
  }
  if (scopes[o.scope].open) return true;
  const Scope& s = scopes[o.scope];
  error(loc, fmt::format("{} is used after its scope has ended", what),
        "declare a Var or a register_tensor before the scope, assign it inside and use that one here",
        {{o.loc, "made here"}, {s.loc, fmt::format("inside this {}", name_of(s.kind))}});
  return false;
}

const ir::Expr* Tracer::use(const detail::ScalarRef& ref, SourceLoc loc) {
  if (ref.expr == nullptr || !usable(ref.origin, "the value", loc)) return nullptr;
  return ref.expr;
}

tile::RegisterTensor* Tracer::use(const detail::TileRef& ref, SourceLoc loc) {
  if (ref.node == nullptr || !usable(ref.origin, "the tile", loc)) return nullptr;
  const tile::Group& now = group(loc);
  if (!(ref.node->group == now)) {
    error(loc,
          fmt::format("{} lives in the registers of {}, but this is executed by {}", quoted(ref.node->name, "the tile"),
                      group_text(ref.node->group), group_text(now)),
          "use a register tile in the thread group that made it; another group gets it through shared memory",
          {{ref.node->loc, "made here"}});
    return nullptr;
  }
  return ref.node;
}

tile::SharedView* Tracer::use(const detail::SharedRef& ref, SourceLoc loc) {
  if (ref.node == nullptr || !usable(ref.origin, "the shared tile", loc)) return nullptr;
  if (const auto it = freed.find(ref.node->tensor); it != freed.end()) {
    error(loc, fmt::format("{} is used after free_shared", quoted(ref.node->tensor->name, "the shared tile")),
          "free it after its last use, or leave the call out: memory is planned from the real uses",
          {{it->second, "freed here"}});
    return nullptr;
  }
  return ref.node;
}

tile::GlobalView* Tracer::use(const detail::ViewRef& ref, SourceLoc loc) {
  return ref.node != nullptr && usable(ref.origin, "the view", loc) ? ref.node : nullptr;
}
tile::BarrierArray* Tracer::use(const detail::BarrierRef& ref, SourceLoc loc) {
  return ref.node != nullptr && usable(ref.origin, "the mbarrier", loc) ? ref.node : nullptr;
}
tile::BarrierRef Tracer::use(const Barrier& barrier, SourceLoc loc) {
  tile::BarrierArray* array = use(barrier.array(), loc);
  const ir::Expr* index = use(barrier.index(), loc);
  if (array == nullptr || index == nullptr) return {};
  const auto size = static_cast<std::int64_t>(array->counts.size());
  if (index->high < 0 || index->low >= size) {
    error(loc,
          fmt::format("mbarrier {} of {}, which has {}", ir::to_string(index), quoted(array->name, "an array"), size),
          fmt::format("the index goes from 0 to {}", size - 1), {{array->loc, "allocated here"}});
    return {};
  }
  return {array, expr().cast(DType::i32, index)};
}
const ir::Var* Tracer::use(const detail::VarRef& ref, SourceLoc loc) {
  return ref.var != nullptr && usable(ref.origin, "the variable", loc) ? ref.var : nullptr;
}

std::uint64_t Tracer::tree_size(const ir::Expr* e) {
  if (ir::is_leaf(e->kind)) return 1;
  auto& size = tree_sizes_[e->id];
  if (size == 0) {
    std::uint64_t total = 1;
    for (const ir::Expr* a : e->args) total += tree_size(a);
    tree_sizes_[e->id] = total;
    return total;
  }
  return size;
}

detail::ScalarRef Tracer::scalar(const ir::Expr* e, SourceLoc loc) {
  if (e == nullptr) return {};
  const std::uint64_t size = tree_size(e);
  const bool large = size > largest_expression && (size > largest_host_expression || !ir::is_host_computable(e));
  if (large && scope().kind != ScopeKind::index_function) return let(e, declared_name(loc, ""), loc);
  return {e, origin(loc)};
}

detail::ScalarRef Tracer::let(const ir::Expr* init, std::string name, SourceLoc loc) {
  return let(init, std::move(name), loc, init->low, init->high);
}
detail::ScalarRef Tracer::let(const ir::Expr* init, std::string name, SourceLoc loc, std::int64_t low,
                              std::int64_t high) {
  // A function of the index may read variables: they are read before the statement that applies it.
  std::uint32_t at = stack.back();
  if (scope().kind == ScopeKind::index_function) at = stack[stack.size() - 2];
  if (!name.empty())
    name += fmt::format("_{}", kernel->context->value_count());  // a name may be read or bound many times
  ir::Value* value = kernel->context->new_value(init->type, std::move(name), loc);
  if (is_integer(init->type)) expr().set_facts(value, low, high, init->divisor);
  scopes[at].block->push_back(kernel->context->arena.make<ir::control::Let>(loc, value, init));
  return {expr().value(value), origin(loc)};
}

void Tracer::open(ScopeKind kind, ir::Block* block, ir::Stmt* statement, SourceLoc loc) {
  open(kind, block, statement, loc, scope().group);
}
void Tracer::open(ScopeKind kind, ir::Block* block, ir::Stmt* statement, SourceLoc loc, tile::Group group) {
  scopes.push_back({kind, loc, true, block, group, statement});
  stack.push_back(static_cast<std::uint32_t>(scopes.size() - 1));
  deepest = std::max(deepest, depth() - 1);
}
void Tracer::close() {
  scope().open = false;
  stack.pop_back();
}
void Tracer::close_to(std::uint32_t scope_index) {
  while (stack.back() != scope_index && stack.size() > 1) close();
}

void Tracer::first_use(SourceLoc loc) {
  if (!first_tensor.known()) first_tensor = loc;
}
const tile::Group& Tracer::group(SourceLoc loc) {
  first_use(loc);
  return scope().group;
}

std::string Tracer::fresh_name(SourceLoc loc, std::string_view callee) {
  return declared_name(loc, callee, occurrences_[{loc.line, std::string(callee)}]++);
}

bool Tracer::outside_control(const char* call, const char* help, SourceLoc loc) {
  for (const std::uint32_t index : stack) {
    const Scope& s = scopes[index];
    if (s.kind == ScopeKind::root || s.kind == ScopeKind::group) continue;
    error(loc, fmt::format("{} inside a {}", call, name_of(s.kind)), help, {{s.loc, "opened here"}});
    return false;
  }
  return true;
}

int Tracer::use_cluster(SourceLoc loc) {
  if (!first_cluster_use.known()) first_cluster_use = loc;
  return kernel->cluster_size();
}

std::optional<const ir::Expr*> Tracer::use_rank(const char* call, const detail::ScalarRef& rank, SourceLoc loc) {
  const ir::Expr* e = use(rank, loc);
  if (e == nullptr) return std::nullopt;
  const int size = use_cluster(loc);
  if (e->high < 0 || e->low >= size) {
    error(loc, fmt::format("{} in block {} of a cluster of {}", call, ir::to_string(e), size),
          fmt::format("the blocks of a cluster are counted from 0 to {}; attrs.cluster sets how many there are",
                      size - 1));
    return std::nullopt;
  }
  return size == 1 ? nullptr : expr().cast(DType::i32, e);
}

void Tracer::record_bulk(BulkEvent::Kind kind, SourceLoc loc) {
  const tile::Group& now = scope().group;
  int elected = -1;
  // The outermost scope with this very thread is the one that chose it.
  for (auto it = stack.rbegin(); now.elect && it != stack.rend() && scopes[*it].group == now; ++it)
    elected = static_cast<int>(*it);
  bulk_events.push_back({kind, now.begin, elected, loc});
}

// One thread of each warp is too few for everything that works on tiles or needs whole warps, and too many for what one
// thread does for the group.
void Tracer::check_emitted(const ir::Stmt* s) {
  if (!scope().group.each_warp) return;
  using K = ir::StmtKind;
  if (s->kind < K::tile_ThreadGroup || s->kind == K::tile_ArriveBarrier || s->kind == K::tile_Print) return;
  error(s->loc, fmt::format("`{}` inside single_thread_of_each_warp()", tile::statement_text(s)),
        "only scalar code, mbarrier.arrive, mbarrier.arrive_remote and printf stand there: move it out, or name one "
        "thread with single_thread()");
}

std::string quoted(const std::string& name, const char* fallback) {
  return name.empty() ? std::string(fallback) : fmt::format("'{}'", name);
}
std::string shape_text(const tile::Shape& shape) { return fmt::format("{{{}}}", fmt::join(shape, ", ")); }
std::string group_text(const tile::Group& group) {
  if (group.elect) return fmt::format("one elected thread of warp {}", group.begin / 32);
  if (group.each_warp) {
    return fmt::format("one thread of each of the warps {}..{}", group.begin / 32,
                       (group.begin + group.count) / 32 - 1);
  }
  if (group.count == 1) return fmt::format("thread {}", group.begin);
  return fmt::format("threads {}..{}", group.begin, group.begin + group.count - 1);
}

}  // namespace tessera::lang
