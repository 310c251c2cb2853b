// Thread groups, barriers of a group, and printing.
#include <fmt/format.h>

#include <algorithm>

#include "lower/index_math.hpp"
#include "lower/lowering.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// Which threads of the current group belong to `inner`; null if all do.
const Expr* membership(Lowering& l, const tile::Group& inner) {
  ExprPool& x = l.x;
  const tile::Group& outer = l.group;
  const auto equals = [&](const Expr* e, std::int64_t v) { return x.binary(ExprKind::eq, e, x.i32(v)); };
  const auto between = [&](const Expr* e, std::int64_t first, std::int64_t last, std::int64_t low, std::int64_t high) {
    const Expr* c = x.boolean(true);
    if (first > low) c = x.both(c, x.binary(ExprKind::ge, e, x.i32(first)));
    if (last < high) c = x.both(c, x.binary(ExprKind::le, e, x.i32(last)));
    return c;
  };
  const int outer_last = outer.begin + outer.count - 1;
  const Expr* c = nullptr;
  if (inner.each_warp) {
    c = x.leaf(ExprKind::elect_one, DType::boolean);
  } else if (inner.elect) {
    const Expr* elect = x.leaf(ExprKind::elect_one, DType::boolean);
    c = outer.count == 32 ? elect : x.both(equals(l.warp(), inner.begin / 32), elect);
  } else if (inner.count == 1) {
    c = outer.count == 1 ? x.boolean(true) : equals(l.thread(), inner.begin);
  } else if (inner.begin % 32 == 0 && inner.count == 32) {
    c = outer.count == 32 ? x.boolean(true) : equals(l.warp(), inner.begin / 32);
  } else if (inner.begin % 32 == 0 && inner.count % 32 == 0) {
    c = between(l.warp(), inner.begin / 32, (inner.begin + inner.count) / 32 - 1, outer.begin / 32, outer_last / 32);
  } else {
    c = between(l.thread(), inner.begin, inner.begin + inner.count - 1, outer.begin, outer_last);
  }
  return c;
}

}  // namespace

void lower_group(Lowering& l, const tile::ThreadGroup& s) {
  // What a warp's other lanes did before is done when the elected one goes on.
  if (s.group.each_warp) l.emit<thread::WarpSync>(s.loc, 0xffffffffU);
  l.when(s.loc, membership(l, s.group), [&] {
    const tile::Group outer = l.group;
    l.group = s.group;
    for (Stmt* inner : s.body) l.statement(inner);
    l.group = outer;
  });
}

// The id of the hardware barrier of these threads: 1 to 15, one for each set of threads.
int Lowering::hardware_barrier(int begin, int count, SourceLoc loc) {
  const std::pair<int, int> key{begin, count};
  auto it = std::find(hardware_barriers_.begin(), hardware_barriers_.end(), key);
  if (it == hardware_barriers_.end()) it = hardware_barriers_.insert(hardware_barriers_.end(), key);
  const int id = static_cast<int>(it - hardware_barriers_.begin()) + 1;
  if (id > 15) {
    throw Error(ErrorKind::user, loc,
                "the kernel uses more than 15 named barriers and different thread groups with a sync() together",
                "a CTA has 16 hardware barriers, one of them for all threads; let groups share a range of threads");
  }
  return id;
}

void lower_named_sync(Lowering& l, const tile::NamedBarrierSync& s) {
  const int id = l.hardware_barrier(-1, static_cast<int>(s.barrier->id), s.loc);
  l.emit<thread::BarrierSync>(s.loc, id, s.barrier->threads);
}
void lower_named_arrive(Lowering& l, const tile::NamedBarrierArrive& s) {
  const int id = l.hardware_barrier(-1, static_cast<int>(s.barrier->id), s.loc);
  l.emit<thread::BarrierArrive>(s.loc, id, s.barrier->threads);
}

void lower_set_registers(Lowering& l, const tile::SetRegisters& s) {
  int& now = l.registers_now[static_cast<std::size_t>(l.group.begin / 128)];
  l.emit<thread::SetMaxRegisters>(s.loc, s.count, s.count > now);
  for (int w = l.group.begin / 128; w < (l.group.begin + l.group.count) / 128; ++w) {
    l.registers_now[static_cast<std::size_t>(w)] = s.count;
  }
}

void lower_sync(Lowering& l, const tile::Sync& s) {
  const tile::Group& g = l.group;
  if (g.count == 1) return;
  if (g.begin % 32 == 0 && g.count % 32 == 0) {
    if (g.count == 32) {
      l.emit<thread::WarpSync>(s.loc, 0xffffffffU);
      return;
    }
    if (g == l.kernel.root_group()) {
      l.emit<thread::BarrierSync>(s.loc, 0, g.count);
      return;
    }
    l.emit<thread::BarrierSync>(s.loc, l.hardware_barrier(g.begin, g.count, s.loc), g.count);
    return;
  }
  if (g.begin / 32 != (g.begin + g.count - 1) / 32) {
    throw Error(ErrorKind::user, s.loc, fmt::format("sync: {} are not whole warps", passes::to_string(g)),
                "use a group that begins at a multiple of 32 and has a multiple of 32 threads, or lies in one warp");
  }
  const std::uint32_t lanes = (g.count == 32 ? 0xffffffffU : ((1U << g.count) - 1U)) << (g.begin % 32);
  l.emit<thread::WarpSync>(s.loc, lanes);
}

void lower_print(Lowering& l, const tile::Print& s) {
  l.when(s.loc, l.first_thread(), [&] { l.emit<thread::PrintThread>(s.loc, s.pieces, s.args); });
}

// Nested loops over the tile in the group's first thread, NumPy-like: a line a row, brackets for each dimension.
void lower_print_tensor(Lowering& l, const tile::PrintTensor& s) {
  const tile::Shape shape = s.shared->shape();
  ExprPool& x = l.x;
  l.when(s.loc, l.first_thread(), [&] {
    l.emit<thread::PrintThread>(s.loc, std::vector<std::string>{s.message + "\n"}, std::vector<const Expr*>{});
    const RegArray* element = l.context.new_regs(s.shared->tensor->type, 1, "element", s.loc);
    l.emit<thread::DeclareRegs>(s.loc, element);
    const auto text = [&](std::string piece) {
      l.emit<thread::PrintThread>(s.loc, std::vector<std::string>{std::move(piece)}, std::vector<const Expr*>{});
    };
    std::vector<const Expr*> index;
    const std::function<void()> dimension = [&] {
      if (index.size() == shape.size()) {
        const Expr* address = l.element_address(*s.shared, index);
        l.emit<thread::LoadSharedVector>(s.loc, thread::RegRef{element, x.i32(0)}, 1, address);
        l.emit<thread::PrintThread>(s.loc, std::vector<std::string>{" ", ""},
                                    std::vector<const Expr*>{x.reg(element, x.i32(0))});
        return;
      }
      const std::int64_t extent = shape[index.size()];
      text("[");
      const Value* i = l.context.new_value(DType::i32, "i", s.loc);
      x.set_facts(i, 0, extent - 1, 1);
      auto* loop = l.emit<control::For>(s.loc, i, x.i32(0), x.i32(extent), x.i32(1));
      Block* outer = l.current;
      l.current = &loop->body;
      index.push_back(x.value(i));
      dimension();
      index.pop_back();
      l.current = outer;
      const bool innermost = index.size() + 1 == shape.size();
      text(innermost ? " ]\n" : (index.empty() ? "]\n" : "]"));
    };
    dimension();
    if (shape.empty()) text("\n");
  });
}

}  // namespace tessera::lower
