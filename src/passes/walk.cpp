#include "passes/walk.hpp"

#include <fmt/format.h>

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace): the nodes of both IRs are what this folder is about

namespace {

class Walker {
 public:
  Walker(Walk& walk, tile::Group group) : walk_(walk), group_(group) {}

  void block(const Block& statements, const Stmt* owner) {
    const int index = static_cast<int>(walk_.blocks.size());
    walk_.owners.push_back(owner);
    walk_.blocks.push_back({static_cast<int>(walk_.sites.size()), 0});
    blocks_.push_back(index);
    for (Stmt* s : statements) statement(s);
    blocks_.pop_back();
    walk_.blocks[static_cast<std::size_t>(index)].last = static_cast<int>(walk_.sites.size()) - 1;
  }

 private:
  void statement(Stmt* s) {
    const int position = static_cast<int>(walk_.sites.size());
    walk_.sites.push_back({s, position, group_, loops_, blocks_});
    const int loop = static_cast<int>(walk_.loops.size());
    if (is_loop(s)) {
      walk_.loops.push_back({position, position});
      loops_.push_back(loop);
    }
    const tile::Group outer = group_;
    if (const auto* g = as<tile::ThreadGroup>(s)) group_ = g->group;
    for_each_child_block(s, [&](Block& b) { block(b, s); });
    group_ = outer;
    if (is_loop(s)) {
      loops_.pop_back();
      walk_.loops[static_cast<std::size_t>(loop)].last = static_cast<int>(walk_.sites.size()) - 1;
    }
  }

  Walk& walk_;
  tile::Group group_;
  std::vector<int> loops_;
  std::vector<int> blocks_;
};

}  // namespace

Walk::Walk(const tile::Kernel& kernel) { Walker(*this, kernel.root_group()).block(kernel.body, nullptr); }

Operands register_operands(const Stmt* stmt) {
  Operands o;
  match(stmt, overloaded{
                  [&](const tile::AllocRegister& s) { o.writes = {s.out}; },
                  [&](const tile::Compute& s) {
                    o.reads = s.ins;
                    o.writes = {s.out};
                  },
                  [&](const tile::Transpose& s) {
                    o.reads = {s.in};
                    o.writes = {s.out};
                  },
                  [&](const tile::Slice& s) {
                    o.reads = {s.in};
                    o.writes = {s.out};
                  },
                  [&](const tile::ConvertLayout& s) {
                    o.reads = {s.in};
                    o.writes = {s.out};
                  },
                  [&](const tile::LoadGlobal& s) { o.writes = {s.out}; },
                  [&](const tile::StoreGlobal& s) { o.reads = {s.src}; },
                  [&](const tile::LoadShared& s) { o.writes = {s.out}; },
                  [&](const tile::StoreShared& s) { o.reads = {s.src}; },
                  [&](const tile::Dot& s) {
                    o.reads = {s.a, s.b, s.acc};
                    o.writes = {s.acc};
                  },
                  [&](const tile::Wgmma& s) {
                    o.reads = {s.acc};
                    if (s.a_registers != nullptr) o.reads.push_back(s.a_registers);
                    o.writes = {s.acc};
                  },
                  [&](const tile::PrintTensor& s) {
                    if (s.tensor != nullptr) o.reads = {s.tensor};
                  },
                  [](const Stmt&) {},
              });
  return o;
}

std::vector<SharedUse> generic_shared_uses(const Stmt* stmt) {
  if (const auto* s = as<tile::LoadShared>(stmt)) return {{s->src, false}};
  if (const auto* s = as<tile::StoreShared>(stmt)) return {{s->dst, true}};
  if (const auto* s = as<tile::PrintTensor>(stmt); s != nullptr && s->shared != nullptr) return {{s->shared, false}};
  return {};
}

std::vector<SharedUse> async_shared_uses(const Stmt* stmt) {
  if (const auto* s = as<tile::TmaLoad>(stmt)) return {{s->dst, true}};
  if (const auto* s = as<tile::TmaStore>(stmt)) return {{s->src, false}};
  if (const auto* s = as<tile::Wgmma>(stmt)) {
    if (s->a == nullptr) return {{s->b, false}};
    return {{s->a, false}, {s->b, false}};
  }
  return {};
}

bool covers(const tile::Group& outer, const tile::Group& inner) {
  if (outer == inner) return true;
  return !outer.elect && !outer.each_warp && outer.begin <= inner.begin &&
         inner.begin + inner.count <= outer.begin + outer.count;
}

bool meets(const tile::Group& a, const tile::Group& b) {
  return a.begin < b.begin + b.count && b.begin < a.begin + a.count;
}

tile::Group candidates(const tile::Group& group) {
  return group.elect ? tile::Group{group.begin, 32} : tile::Group{group.begin, group.count};
}

std::string to_string(const tile::Group& group) {
  if (group.each_warp) {
    return fmt::format("one thread of each warp of threads {}..{}", group.begin, group.begin + group.count - 1);
  }
  if (group.elect) return fmt::format("one elected thread of warp {}", group.begin / 32);
  if (group.count == 1) return fmt::format("thread {}", group.begin);
  return fmt::format("threads {}..{}", group.begin, group.begin + group.count - 1);
}

}  // namespace tessera::passes
