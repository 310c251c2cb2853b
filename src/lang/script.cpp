// The attributes of a kernel, and printf.
#include "tessera/lang/script.hpp"

#include <fmt/format.h>

#include "lang/tracer.hpp"

namespace tessera::detail {

using lang::Tracer;

namespace {
constexpr std::int64_t most_warps = 32;  // 1024 threads a block
}

void set_blocks(const std::vector<ScalarRef>& blocks, SourceLoc loc) {
  Tracer& t = Tracer::current("attrs.blocks", loc);
  if (t.depth() != 1) {
    t.error(loc, "attrs.blocks is set inside a scope", "set it at the top of operator()");
    return;
  }
  if (t.blocks_loc.known()) {
    t.error(loc, "attrs.blocks is set twice", "set it once", {{t.blocks_loc, "set here before"}});
    return;
  }
  t.blocks_loc = loc;
  if (blocks.empty() || blocks.size() > 3) {
    t.error(loc, fmt::format("attrs.blocks with {} extents", blocks.size()), "a grid has one to three extents");
    return;
  }
  t.kernel->grid.fill(t.expr().i64(1));
  for (std::size_t d = 0; d < blocks.size(); ++d) {
    const ir::Expr* e = t.use(blocks[d], loc);
    if (e == nullptr) continue;
    if (!ir::is_host_computable(e)) {
      t.error(loc, fmt::format("extent {} of attrs.blocks depends on a value of the device: {}", d, ir::to_string(e)),
              "the grid is fixed at launch: compute it from kernel parameters and constants");
    } else if (e->high < 0) {
      t.error(loc, fmt::format("extent {} of attrs.blocks is negative: {}", d, ir::to_string(e)),
              "a grid's extents are 0 (no launch) or more");
    } else {
      t.kernel->grid[d] = t.expr().cast(DType::i64, e);
    }
  }
}

void set_warps(const HostInt& warps) {
  Tracer& t = Tracer::current("attrs.warps", warps.loc);
  if (t.depth() != 1) {
    t.error(warps.loc, "attrs.warps is set inside a scope", "set it at the top of operator()");
    return;
  }
  if (t.warps_loc.known()) {
    t.error(warps.loc, "attrs.warps is set twice", "set it once", {{t.warps_loc, "set here before"}});
    return;
  }
  t.warps_loc = warps.loc;
  if (t.first_tensor.known()) {
    t.error(warps.loc, "attrs.warps is set after the first tensor or scope of the kernel",
            "set it at the top of operator(): tiles are spread over the block's threads as they are made",
            {{t.first_tensor, "the first one"}});
    return;
  }
  if (warps.value < 1 || warps.value > most_warps) {
    t.error(warps.loc, fmt::format("attrs.warps = {}", warps.value),
            fmt::format("a block has 1 to {} warps", most_warps));
    return;
  }
  t.kernel->warps = static_cast<int>(warps.value);
  t.scopes[0].group = t.kernel->root_group();
}

void set_persistent_grid(SourceLoc loc) {
  Tracer& t = Tracer::current("attrs.blocks", loc);
  const auto& cluster = t.kernel->cluster;
  if (cluster[1] != 1 || cluster[2] != 1) {
    t.error(loc, fmt::format("persistent_grid() with a cluster of {} x {} x {}", cluster[0], cluster[1], cluster[2]),
            "a persistent grid is a row of blocks: bind them together along x, attrs.cluster = {2}",
            {{t.cluster_loc, "the cluster"}});
    return;
  }
  constexpr std::int64_t most_sms = 1024;  // several times what a device has
  const ir::Expr* sms = t.expr().bounded_leaf(ir::ExprKind::sm_count, DType::i32, 0, 1, most_sms);
  const ir::Expr* blocks = t.expr().mul(t.expr().div(sms, t.use_cluster(loc)), t.use_cluster(loc));
  set_blocks({{blocks, t.origin(loc)}}, loc);
}

void set_cluster(const std::vector<HostInt>& extents, SourceLoc loc) {
  Tracer& t = Tracer::current("attrs.cluster", loc);
  if (t.depth() != 1) {
    t.error(loc, "attrs.cluster is set inside a scope", "set it at the top of operator()");
    return;
  }
  if (t.cluster_loc.known()) {
    t.error(loc, "attrs.cluster is set twice", "set it once", {{t.cluster_loc, "set here before"}});
    return;
  }
  t.cluster_loc = loc;
  const SourceLoc used = t.first_cluster_use.known() ? t.first_cluster_use : t.first_tensor;
  if (used.known()) {
    t.error(loc, "attrs.cluster is set after something that depends on it",
            "set it at the top of operator(), before persistent_grid() and the first tensor", {{used, "used here"}});
    return;
  }
  if (extents.empty() || extents.size() > 3) {
    t.error(loc, fmt::format("attrs.cluster with {} extents", extents.size()), "a cluster has one to three extents");
    return;
  }
  constexpr std::int64_t most_blocks = 8;  // what every device of the architecture can place
  std::int64_t size = 1;
  for (const HostInt& e : extents) {
    if (e.value < 1 || e.value > most_blocks) {
      t.error(loc, fmt::format("attrs.cluster with the extent {}", e.value),
              fmt::format("the extents of a cluster are 1 to {}", most_blocks));
      return;
    }
    size *= e.value;
  }
  if (size > most_blocks) {
    t.error(loc, fmt::format("attrs.cluster of {} blocks", size),
            fmt::format("a cluster has at most {} blocks", most_blocks));
    return;
  }
  for (std::size_t d = 0; d < extents.size(); ++d) t.kernel->cluster[d] = static_cast<int>(extents[d].value);
}

void set_dependent_launch(bool value, SourceLoc loc) {
  Tracer& t = Tracer::current("attrs.dependent_launch", loc);
  if (t.depth() != 1) {
    t.error(loc, "attrs.dependent_launch is set inside a scope", "set it at the top of operator()");
    return;
  }
  if (t.dependent_loc.known()) {
    t.error(loc, "attrs.dependent_launch is set twice", "set it once", {{t.dependent_loc, "set here before"}});
    return;
  }
  t.dependent_loc = loc;
  t.kernel->dependent_launch = value;
}

void print_scalars(const Format& format, const std::vector<ScalarRef>& values) {
  Tracer& t = Tracer::current("printf()", format.loc);
  t.group(format.loc);
  std::vector<std::string> pieces(1);
  for (const char* c = format.text; *c != '\0'; ++c) {
    if ((*c == '{' || *c == '}') && c[1] == *c) {  // {{ and }} are braces
      pieces.back() += *c++;
    } else if (*c == '{' && c[1] == '}') {
      pieces.emplace_back();
      ++c;
    } else {
      pieces.back() += *c;
    }
  }
  if (pieces.size() != values.size() + 1) {
    t.error(format.loc, fmt::format("printf() with {} places {{}} and {} values", pieces.size() - 1, values.size()),
            "write one {} for each value, and {{ for a brace");
    return;
  }
  std::vector<const ir::Expr*> args;
  for (const ScalarRef& v : values) {
    const ir::Expr* e = t.use(v, format.loc);
    if (e == nullptr) return;
    args.push_back(e);
  }
  t.emit<ir::tile::Print>(format.loc, std::move(pieces), std::move(args));
}

}  // namespace tessera::detail
