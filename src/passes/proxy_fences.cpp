#include "passes/proxy_fences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "passes/walk.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// What engines do with tiles, by tensor id.
struct AsyncUses {
  std::set<std::uint32_t> reads, writes;
  void insert(const AsyncUses& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
  void insert(const SharedUse& use) { (use.write ? writes : reads).insert(use.view->tensor->id); }
};

struct Touch {
  tile::Group group;
  SourceLoc loc;
  bool write = false;
};
// Generic accesses since the last fence of the threads that made them, by tensor id, first thread and direction.
using Touched = std::map<std::tuple<std::uint32_t, int, bool>, Touch>;

bool overlaps(const tile::SharedTensor& a, const tile::SharedTensor& b) {
  return &a == &b || (a.offset < b.offset + b.bytes() && b.offset < a.offset + a.bytes());
}

class Fences {
 public:
  explicit Fences(tile::Kernel& kernel) : kernel_(kernel) {}

  void run() {
    const Walk walk(kernel_);
    for (const Site& site : walk.sites) {
      for (const SharedUse& use : async_shared_uses(site.stmt)) by_group_.emplace_back(site.group, use);
    }
    backward(kernel_.body, {});
    Touched touched;
    forward(kernel_.body, touched, kernel_.root_group());
    insert(kernel_.body);
  }

 private:
  // Which tiles the async proxy can touch after each synchronisation, in the order of the program; returns the set
  // before the block.
  AsyncUses backward(const Block& block, AsyncUses after) {
    for (auto it = block.rbegin(); it != block.rend(); ++it) {
      const Stmt* s = *it;
      for (const SharedUse& use : async_shared_uses(s)) after.insert(use);
      if (is_handover(s)) {
        async_after_[s].insert(after);
      } else if (is_loop(s)) {
        const Block* body = nullptr;
        for_each_child_block(s, [&](const Block& b) { body = &b; });
        // Once more with what the loop's start needs: what follows the end of the body is its beginning too.
        AsyncUses before = backward(*body, after);
        before.insert(after);
        before = backward(*body, before);
        after.insert(before);
      } else {
        AsyncUses before = after;
        for_each_child_block(s, [&](const Block& b) { before.insert(backward(b, after)); });
        after = before;
      }
    }
    return after;
  }

  static bool is_handover(const Stmt* s) {
    switch (s->kind) {
      case StmtKind::tile_Sync:
      case StmtKind::tile_ArriveBarrier:
      case StmtKind::tile_ArriveExpectTx:
      case StmtKind::tile_NamedBarrierSync:
      case StmtKind::tile_NamedBarrierArrive:
      case StmtKind::tile_ClusterSync:
      case StmtKind::tile_ClusterArrive: return true;
      default: return false;
    }
  }

  void forward(const Block& block, Touched& touched, const tile::Group& group) {
    for (const Stmt* s : block) {
      for (const SharedUse& use : generic_shared_uses(s)) {
        touched[{use.view->tensor->id, group.begin, use.write}] = {group, s->loc, use.write};
      }
      if (s->kind == StmtKind::tile_FenceProxyAsync) fence(touched, group);
      if (is_handover(s)) {
        hand_over(s, touched, group);
      } else if (is_loop(s)) {
        for_each_child_block(s, [&](const Block& b) {
          for (int round = 0; round < 2; ++round) {  // the second with what the first leaves behind
            Touched inside = touched;
            forward(b, inside, group);
            touched.insert(inside.begin(), inside.end());
          }
        });
      } else {
        const auto* nested = as<tile::ThreadGroup>(s);
        if (nested != nullptr) around_.emplace_back(s, group);
        Touched merged;
        bool branches = false;
        const Touched before = touched;
        for_each_child_block(s, [&](const Block& b) {
          Touched inside = before;
          forward(b, inside, nested != nullptr ? nested->group : group);
          merged.insert(inside.begin(), inside.end());
          branches = true;
        });
        if (branches) touched = std::move(merged);
        if (nested != nullptr) around_.pop_back();
      }
    }
  }

  static void fence(Touched& touched, const tile::Group& group) {
    std::erase_if(touched, [&](const auto& entry) { return covers(group, entry.second.group); });
  }

  // Ordinary reads matter to a later write of an engine, ordinary writes to any later use by one.
  bool used_later(const Touch& touch, const tile::SharedTensor& t, const AsyncUses& ahead) const {
    const auto any = [&](const std::set<std::uint32_t>& ids) {
      return std::any_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return overlaps(t, *kernel_.shared[id]); });
    };
    if (any(ahead.writes) || (touch.write && any(ahead.reads))) return true;
    // Threads of other groups run beside these, wherever their code stands in the program.
    return std::any_of(by_group_.begin(), by_group_.end(), [&](const auto& entry) {
      const auto& [group, use] = entry;
      return !meets(group, touch.group) && (use.write || touch.write) && overlaps(t, *use.view->tensor);
    });
  }

  void hand_over(const Stmt* s, Touched& touched, const tile::Group& group) {
    const AsyncUses& ahead = async_after_[s];
    std::map<const Stmt*, std::vector<std::string>> places;  // where fences go, with what they hand over
    std::vector<std::pair<const Stmt*, tile::Group>> order;
    for (const auto& [key, touch] : touched) {
      if (!meets(group, touch.group)) continue;
      const tile::SharedTensor& t = *kernel_.shared[std::get<0>(key)];
      if (!used_later(touch, t, ahead)) continue;
      const auto [place, executing] = place_for(s, group, touch.group);
      auto& names = places[place];
      if (names.empty()) order.emplace_back(place, executing);
      names.push_back(fmt::format("{} (line {})", describe(t), touch.loc.line));
    }
    for (const auto& [place, executing] : order) {
      reasons_[place] = fmt::format("hands {} to the asynchronous engines", fmt::join(places[place], ", "));
      fence(touched, executing);
    }
  }

  // All threads that made the access execute the fence: where the hand-over is in a part of them, it stands before the
  // scope of that part.
  std::pair<const Stmt*, tile::Group> place_for(const Stmt* s, const tile::Group& group,
                                                const tile::Group& touching) const {
    if (covers(group, touching)) return {s, group};
    for (auto it = around_.rbegin(); it != around_.rend(); ++it) {
      if (covers(it->second, touching)) return {it->first, it->second};
    }
    return {s, group};
  }

  void insert(Block& block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      for_each_child_block(block[i], [&](Block& b) { insert(b); });
      const auto it = reasons_.find(block[i]);
      if (it == reasons_.end()) continue;
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i),
                   kernel_.context->arena.make<tile::FenceProxyAsync>(block[i]->loc, it->second));
      ++i;
    }
  }

  tile::Kernel& kernel_;
  std::vector<std::pair<tile::Group, SharedUse>> by_group_;
  std::vector<std::pair<const Stmt*, tile::Group>> around_;  // open group scopes, with the group outside each
  std::map<const Stmt*, AsyncUses> async_after_;             // looked up only, never iterated
  std::map<const Stmt*, std::string> reasons_;
};

}  // namespace

void insert_proxy_fences(tile::Kernel& kernel) { Fences(kernel).run(); }

}  // namespace tessera::passes
