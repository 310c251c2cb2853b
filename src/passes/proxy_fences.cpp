#include "passes/proxy_fences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "passes/walk.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

using TensorSet = std::set<std::uint32_t>;  // by tensor id

struct Touch {
  tile::Group group;
  SourceLoc loc;
};
// Generic accesses since the last fence of the threads that made them, by tensor id and first thread.
using Touched = std::map<std::pair<std::uint32_t, int>, Touch>;

bool overlaps(const tile::SharedTensor& a, const tile::SharedTensor& b) {
  return &a == &b || (a.offset < b.offset + b.bytes() && b.offset < a.offset + a.bytes());
}
bool covers(const tile::Group& outer, const tile::Group& inner) {
  return outer.begin <= inner.begin && inner.begin + inner.count <= outer.begin + outer.count;
}
bool meets(const tile::Group& a, const tile::Group& b) {
  return a.begin < b.begin + b.count && b.begin < a.begin + a.count;
}

class Fences {
 public:
  explicit Fences(tile::Kernel& kernel) : kernel_(kernel) {}

  void run() {
    backward(kernel_.body, {});
    Touched touched;
    forward(kernel_.body, touched, kernel_.root_group());
    insert(kernel_.body);
  }

 private:
  // Which tiles the async proxy can touch after each synchronisation; returns the set before the block.
  TensorSet backward(const Block& block, TensorSet after) {
    for (auto it = block.rbegin(); it != block.rend(); ++it) {
      const Stmt* s = *it;
      if (const tile::SharedTensor* t = async_shared_operand(s)) after.insert(t->id);
      if (is_handover(s)) {
        async_after_[s].insert(after.begin(), after.end());
      } else if (s->kind == StmtKind::control_For || s->kind == StmtKind::control_Loop) {
        const Block* body = nullptr;
        for_each_child_block(s, [&](const Block& b) { body = &b; });
        // Once more with what the loop's start needs: what follows the end of the body is its beginning too.
        TensorSet before = backward(*body, after);
        before.insert(after.begin(), after.end());
        before = backward(*body, before);
        after.insert(before.begin(), before.end());
      } else {
        TensorSet before = after;
        for_each_child_block(s, [&](const Block& b) {
          const TensorSet inner = backward(b, after);
          before.insert(inner.begin(), inner.end());
        });
        after = before;
      }
    }
    return after;
  }

  static bool is_handover(const Stmt* s) {
    return s->kind == StmtKind::tile_Sync || s->kind == StmtKind::tile_ArriveBarrier ||
           s->kind == StmtKind::tile_ArriveExpectTx;
  }

  void forward(const Block& block, Touched& touched, const tile::Group& group) {
    for (const Stmt* s : block) {
      if (const tile::SharedTensor* t = generic_shared_operand(s)) touched[{t->id, group.begin}] = {group, s->loc};
      if (s->kind == StmtKind::tile_FenceProxyAsync) fence(touched, group);
      if (is_handover(s)) {
        hand_over(s, touched, group);
      } else if (s->kind == StmtKind::control_For || s->kind == StmtKind::control_Loop) {
        for_each_child_block(s, [&](const Block& b) {
          for (int round = 0; round < 2; ++round) {  // the second with what the first leaves behind
            Touched inside = touched;
            forward(b, inside, group);
            touched.insert(inside.begin(), inside.end());
          }
        });
      } else {
        const auto* nested = as<tile::ThreadGroup>(s);
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
      }
    }
  }

  static void fence(Touched& touched, const tile::Group& group) {
    std::erase_if(touched, [&](const auto& entry) { return covers(group, entry.second.group); });
  }

  void hand_over(const Stmt* s, Touched& touched, const tile::Group& group) {
    const TensorSet& ahead = async_after_[s];
    std::vector<std::string> names;
    bool needed = false;
    for (const auto& [key, touch] : touched) {
      if (!meets(group, touch.group)) continue;
      const tile::SharedTensor& t = *kernel_.shared[key.first];
      const bool later =
          std::any_of(ahead.begin(), ahead.end(), [&](std::uint32_t id) { return overlaps(t, *kernel_.shared[id]); });
      if (!later) continue;
      needed = true;
      names.push_back(fmt::format("{} (line {})", describe(t), touch.loc.line));
    }
    if (!needed) return;
    reasons_[s] = fmt::format("hands {} to the TMA engine", fmt::join(names, ", "));
    fence(touched, group);
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
  std::map<const Stmt*, TensorSet> async_after_;  // looked up only, never iterated
  std::map<const Stmt*, std::string> reasons_;
};

}  // namespace

void insert_proxy_fences(tile::Kernel& kernel) { Fences(kernel).run(); }

}  // namespace tessera::passes
