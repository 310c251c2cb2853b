#include "passes/stream_operands.hpp"

#include "passes/shared_layouts.hpp"
#include "passes/shared_views.hpp"
#include "passes/walk.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// Instructions that neither write shared memory nor let another thread do so.
bool keeps_shared_memory(const Stmt* s) {
  switch (s->kind) {
    case StmtKind::control_Let:
    case StmtKind::control_DeclareVar:
    case StmtKind::tile_AllocRegister:
    case StmtKind::tile_Compute:
    case StmtKind::tile_Transpose:
    case StmtKind::tile_LoadShared:
    case StmtKind::tile_LoadGlobal:
    case StmtKind::tile_Dot: return true;
    default: return false;
  }
}

struct OperandUses {
  int reads = 0;
  int writes = 0;
  const Stmt* reader = nullptr;
};

void stream_block(Block& block, const std::vector<OperandUses>& uses) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    for_each_child_block(block[i], [&](Block& b) { stream_block(b, uses); });
    auto* load = as<tile::LoadShared>(block[i]);
    if (load == nullptr || load->src->cta != nullptr ||
        !plan_ldmatrix(*load->out, layout_of(*load->src, load->loc, "load_shared()")))
      continue;
    const tile::RegisterTensor* tile = load->out;
    for (std::size_t j = i + 1; j < block.size() && keeps_shared_memory(block[j]); ++j) {
      if (uses[tile->id].reads != 1 || uses[tile->id].writes != 1) break;
      if (uses[tile->id].reader != block[j]) continue;
      if (const auto* transpose = as<tile::Transpose>(block[j])) {
        tile = transpose->out;
        continue;
      }
      const auto* dot = as<tile::Dot>(block[j]);
      load->streamed = dot != nullptr && dot->acc != tile;
      break;
    }
  }
}

}  // namespace

void stream_operands(tile::Kernel& kernel) {
  std::vector<OperandUses> uses(kernel.registers.size());
  const Walk walk(kernel);
  for (const Site& site : walk.sites) {
    const Operands o = register_operands(site.stmt);
    for (const tile::RegisterTensor* t : o.reads) {
      ++uses[t->id].reads;
      uses[t->id].reader = site.stmt;
    }
    for (const tile::RegisterTensor* t : o.writes) ++uses[t->id].writes;
  }
  stream_block(kernel.body, uses);
}

}  // namespace tessera::passes
