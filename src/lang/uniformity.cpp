#include "lang/uniformity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/match.hpp"
#include "lang/tracer.hpp"

namespace tessera::lang {
namespace {

// The assignments that a value depends on; null where it depends on the block within its cluster.
using Sources = std::set<const ir::control::AssignVar*>;

// A condition or loop that is open around a statement.
struct Control {
  SourceLoc loc;
  Sources sources;
};

class Analysis {
 public:
  std::vector<Diagnostic> run(const tile::Kernel& kernel) {
    kernel_ = &kernel;
    do {  // a Var may be assigned after the statements that read it in a loop
      changed_ = false;
      walk(kernel.body, kernel.root_group());
    } while (changed_);
    reporting_ = true;
    walk(kernel.body, kernel.root_group());
    return std::move(found_);
  }

 private:
  void add(Sources& to, const Sources& from) {
    const std::size_t before = to.size();
    to.insert(from.begin(), from.end());
    changed_ |= to.size() != before;
  }
  Sources of(const ir::Expr* e) {
    Sources result;
    collect(e, result);
    return result;
  }
  void collect(const ir::Expr* e, Sources& out) {
    if (same_in_a_cluster(e)) return;
    if (e->kind == ir::ExprKind::block_idx || e->kind == ir::ExprKind::cluster_rank) out.insert(nullptr);
    const void* leaf = e->kind == ir::ExprKind::value ? static_cast<const void*>(e->value)
                       : e->kind == ir::ExprKind::var ? static_cast<const void*>(e->var)
                                                      : nullptr;
    if (leaf != nullptr) out.insert(depends_[leaf].begin(), depends_[leaf].end());
    for (const ir::Expr* a : e->args) collect(a, out);
  }
  // The number of the cluster: a block's number divided by (a multiple of) the cluster's extent.
  bool same_in_a_cluster(const ir::Expr* e) const {
    if (e->kind == ir::ExprKind::block_idx) return kernel_->cluster[static_cast<std::size_t>(e->integer)] == 1;
    return e->kind == ir::ExprKind::div && e->args[0]->kind == ir::ExprKind::block_idx && e->args[1]->is_constant() &&
           e->args[1]->integer > 0 &&
           e->args[1]->integer % kernel_->cluster[static_cast<std::size_t>(e->args[0]->integer)] == 0;
  }
  Sources control_sources() const {
    Sources all;
    for (const Control& c : control_) all.insert(c.sources.begin(), c.sources.end());
    return all;
  }

  void body(const ir::Block& block, const tile::Group& group, SourceLoc loc, Sources sources) {
    control_.push_back({loc, std::move(sources)});
    walk(block, group);
    control_.pop_back();
  }
  void loop(const ir::Stmt& s, const ir::Block& block, const tile::Group& group, Sources sources) {
    // Threads may also leave an iteration early, by a break or continue that only some of them reach.
    sources.insert(depends_[&s].begin(), depends_[&s].end());
    loops_.push_back(&s);
    body(block, group, s.loc, std::move(sources));
    loops_.pop_back();
  }

  void walk(const ir::Block& block, const tile::Group& group) {
    for (const ir::Stmt* stmt : block) {
      ir::match(stmt,
                ir::overloaded{
                    [&](const ir::control::Let& s) { add(depends_[s.value], of(s.init)); },
                    [&](const ir::control::DeclareVar& s) { add(depends_[s.var], of(s.init)); },
                    [&](const ir::control::AssignVar& s) { assign(s, group); },
                    [&](const ir::control::For& s) {
                      Sources bounds = of(s.begin);
                      for (const ir::Expr* e : {s.end, s.step}) collect(e, bounds);
                      add(depends_[s.induction], bounds);
                      loop(s, s.body, group, std::move(bounds));
                    },
                    [&](const ir::control::Loop& s) { loop(s, s.body, group, {}); },
                    [&](const ir::control::If& s) {
                      body(s.then_body, group, s.loc, of(s.condition));
                      body(s.else_body, group, s.loc, of(s.condition));
                    },
                    [&](const ir::control::Break&) { leave(); },
                    [&](const ir::control::Continue&) { leave(); },
                    [&](const tile::ThreadGroup& s) {
                      if (s.group.elect && !group.elect) {
                        collective(s, {group.begin, 32, false}, "single_thread(), which elects one of a warp,", true);
                      }
                      if (s.group.each_warp && !group.each_warp)
                        collective(s, group, "single_thread_of_each_warp()", true);
                      walk(s.body, s.group);
                    },
                    [&](const tile::Sync& s) { collective(s, group, "sync()", false); },
                    [&](const tile::PrintTensor& s) { collective(s, group, "print_tensor()", false); },
                    [&](const tile::Dot& s) { collective(s, group, "dot()", true); },
                    [&](const tile::LoadShared& s) { collective(s, group, "load_shared()", true); },
                    [&](const tile::StoreShared& s) { collective(s, group, "store_shared()", true); },
                    [&](const tile::WgmmaFence& s) { collective(s, group, "wgmma.fence()", false); },
                    [&](const tile::Wgmma& s) { collective(s, group, "wgmma.mma()", false); },
                    [&](const tile::WgmmaCommit& s) { collective(s, group, "wgmma.commit_group()", false); },
                    [&](const tile::WgmmaWait& s) { collective(s, group, "wgmma.wait_group()", false); },
                    [&](const tile::SetRegisters& s) { collective(s, group, "registers()", false); },
                    [&](const tile::NamedBarrierSync& s) { collective(s, group, "named_barrier.sync()", false); },
                    [&](const tile::NamedBarrierArrive& s) { collective(s, group, "named_barrier.arrive()", false); },
                    [&](const tile::ClusterSync& s) { whole_cluster(s, group, "cluster.sync()"); },
                    [&](const tile::ClusterArrive& s) { whole_cluster(s, group, "cluster.arrive()"); },
                    [&](const tile::ClusterWait& s) { whole_cluster(s, group, "cluster.wait()"); },
                    [&](const ir::Stmt&) {},
                });
    }
  }
  void assign(const ir::control::AssignVar& s, const tile::Group& group) {
    groups_[&s] = group;
    Sources sources = of(s.value);
    sources.insert(&s);
    add(depends_[s.var], sources);
    add(depends_[s.var], control_sources());
  }
  void leave() {
    if (!loops_.empty()) add(depends_[loops_.back()], control_sources());
  }

  // Whether the threads of [begin, begin + count) may see different values after `source`: some but not all assigned
  // it.
  bool diverges(const ir::control::AssignVar* source, int begin, int count) const {
    const tile::Group& by = groups_.at(source);
    const int by_end = by.begin + (by.elect ? 32 : by.count);
    const bool all = !by.elect && !by.each_warp && by.begin <= begin && by_end >= begin + count;
    const bool some = by.begin < begin + count && by_end > begin;
    return count > 1 && some && !all;
  }
  bool diverges_in_a_warp(const ir::control::AssignVar* source, const tile::Group& group) const {
    const int end = group.begin + group.count;
    for (int begin = group.begin; begin < end;) {
      const int next = std::min(end, (begin / 32 + 1) * 32);
      if (diverges(source, begin, next - begin)) return true;
      begin = next;
    }
    return false;
  }

  void collective(const ir::Stmt& s, const tile::Group& group, const char* what, bool per_warp) {
    if (!reporting_) return;
    for (const Control& c : control_) {
      for (const ir::control::AssignVar* source : c.sources) {
        if (source == nullptr) continue;
        if (per_warp ? !diverges_in_a_warp(source, group) : !diverges(source, group.begin, group.count)) continue;
        found_.push_back(
            {s.loc,
             fmt::format("{} stands under a condition that may differ between the threads of its {}", what,
                         per_warp ? "warp" : "group"),
             "move it out of the branch or loop, or let the whole group assign the variable",
             {{c.loc, "the condition"},
              {source->loc, fmt::format("{} is assigned by {} only", quoted(source->var->name, "the variable"),
                                        group_text(groups_.at(source)))}}});
        return;
      }
    }
  }

  // All blocks of a cluster must get to the statement.
  void whole_cluster(const ir::Stmt& s, const tile::Group& group, const char* call) {
    collective(s, group, call, false);
    if (!reporting_ || kernel_->cluster_size() == 1) return;
    for (const Control& c : control_) {
      if (c.sources.count(nullptr) == 0) continue;
      found_.push_back(
          {s.loc,
           fmt::format("{} stands under a condition that may differ between the blocks of a cluster", call),
           "move it out of the branch or loop; what is computed from blockIdx.x / cluster.size() is the same "
           "in all blocks of a cluster",
           {{c.loc, "the condition"}}});
      return;
    }
  }

  const tile::Kernel* kernel_ = nullptr;
  std::map<const void*, Sources> depends_;  // of values, variables and loops
  std::map<const ir::control::AssignVar*, tile::Group> groups_;
  std::vector<Control> control_;
  std::vector<const ir::Stmt*> loops_;
  std::vector<Diagnostic> found_;
  bool changed_ = false;
  bool reporting_ = false;
};

}  // namespace

std::vector<Diagnostic> check_uniformity(const tile::Kernel& kernel) { return Analysis().run(kernel); }

}  // namespace tessera::lang
