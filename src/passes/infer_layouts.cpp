#include "passes/infer_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "layout/atoms.hpp"
#include "layout/dot_layouts.hpp"
#include "layout/wgmma_layouts.hpp"
#include "passes/access.hpp"
#include "passes/shared_layouts.hpp"
#include "passes/walk.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)
using layout::RegisterLayout;

namespace {

bool same_shape(const tile::RegisterTensor& a, const tile::RegisterTensor& b) { return a.shape == b.shape; }

class Inference {
 public:
  Inference(tile::Kernel& kernel, std::vector<Diagnostic>& remarks) : kernel_(kernel), remarks_(remarks) {}

  void run() {
    const Walk walk(kernel_);
    check_groups(walk);
    index_neighbours(walk);
    for (tile::RegisterTensor* t : kernel_.registers) {
      if (t->layout) spread(t);
    }
    for (const Site& site : walk.sites) seed_wgmma(site);
    for (const Site& site : walk.sites) seed_dot(site);
    for (const Site& site : walk.sites) seed_global(site);
    for (const Site& site : walk.sites) seed_shared(site);
    for (tile::RegisterTensor* t : kernel_.registers) seed_default(t);
    convert_block(kernel_.body, kernel_.root_group());
    choose_shared_layouts(kernel_);
  }

 private:
  void check_groups(const Walk& walk) const {
    for (const Site& site : walk.sites) {
      const Operands o = register_operands(site.stmt);
      for (const auto* list : {&o.reads, &o.writes}) {
        for (const tile::RegisterTensor* t : *list) {
          if (t->group == site.group) continue;
          throw Error(ErrorKind::user, site.stmt->loc,
                      fmt::format("{} is distributed over {} but is used by {}", describe(*t), to_string(t->group),
                                  to_string(site.group)),
                      "use a register tensor in the thread group that created it, or pass it through shared memory",
                      {{t->loc, fmt::format("{} is created here", describe(*t))}});
        }
      }
    }
  }

  void index_neighbours(const Walk& walk) {
    users_.assign(kernel_.registers.size(), {});
    for (const Site& site : walk.sites) {
      if (site.stmt->kind != StmtKind::tile_Compute && site.stmt->kind != StmtKind::tile_Transpose &&
          site.stmt->kind != StmtKind::tile_Slice)
        continue;
      const Operands o = register_operands(site.stmt);
      for (const auto* list : {&o.reads, &o.writes}) {
        for (const tile::RegisterTensor* t : *list) users_[t->id].push_back(site.stmt);
      }
    }
  }

  // Spreads t's layout through elementwise instructions and transposes to tensors without one.
  void spread(tile::RegisterTensor* start) {
    std::deque<tile::RegisterTensor*> queue{start};
    const auto give = [&](tile::RegisterTensor* t, RegisterLayout l) {
      if (t->layout) return;
      t->layout = std::move(l);
      queue.push_back(t);
    };
    while (!queue.empty()) {
      tile::RegisterTensor* t = queue.front();
      queue.pop_front();
      for (Stmt* s : users_[t->id]) {
        if (auto* transpose = as<tile::Transpose>(s)) {
          tile::RegisterTensor* other = transpose->in == t ? transpose->out : transpose->in;
          give(other, layout::permute(*t->layout, {1, 0}));
          continue;
        }
        if (auto* slice = as<tile::Slice>(s)) {  // from the whole to its parts only
          const auto part = slice->in == t ? part_layout(*slice) : std::nullopt;
          if (part) give(slice->out, *part);
          continue;
        }
        auto* compute = as<tile::Compute>(s);
        if (same_shape(*compute->out, *t)) give(compute->out, *t->layout);
        if (!compute->out->layout) continue;
        for (tile::RegisterTensor* in : compute->ins) {
          give(in, same_shape(*in, *compute->out) ? *compute->out->layout
                                                  : layout::reduce_to(*compute->out->layout, in->shape));
        }
      }
    }
  }
  static std::optional<RegisterLayout> part_layout(const tile::Slice& s) {
    const auto dim = static_cast<std::size_t>(s.dim);
    return layout::narrow(*s.in->layout, dim, s.out->shape[dim]);
  }
  void assign(tile::RegisterTensor* t, const RegisterLayout& l) {
    if (t->layout) return;
    t->layout = l;
    spread(t);
  }

  std::optional<layout::DotLayouts> dot_layouts(const tile::Dot& dot, const tile::Group& group) const {
    const std::int64_t m = dot.acc->shape[0];
    const std::int64_t n = dot.acc->shape[1];
    const std::int64_t k = dot.a->shape[1];
    if (dot.acc->layout) {
      if (auto known = layout::dot_layouts_for(*dot.acc->layout, k)) return known;
      if (dot.acc->layout_pinned) {
        throw Error(ErrorKind::user, dot.loc,
                    fmt::format("the annotated layout of {} is not one that mma.m16n8k16 accumulates in: {}",
                                describe(*dot.acc), dot.acc->layout->to_string()),
                    "compose it of the accumulator atom, for instance spatial(2, 2).local(4, 8) * "
                    "local(2, 1).spatial(8, 4).local(1, 2), or leave it to inference",
                    {{dot.acc->loc, "declared here"}});
      }
    }
    // Every warp reads its rows of A and its columns of B from shared memory in each k step: the warp grid with the
    // least traffic, m * warps_n + n * warps_m, wins; of equals the one with fewer warps along m, whose rows of B are
    // read by neighbouring warps.
    std::optional<layout::DotLayouts> best;
    std::int64_t best_cost = 0;
    for (const layout::DotLayouts& candidate : layout::dot_candidates(m, n, k, group.count / 32)) {
      const std::int64_t cost = candidate.d.local_size() * 1024 + m * candidate.warps_n + n * candidate.warps_m;
      if (!best || cost < best_cost) {
        best = candidate;
        best_cost = cost;
      }
    }
    return best;
  }

  // wgmma's fragments are fixed. It is asynchronous, so that no conversion can stand between it and its accumulator.
  void seed_wgmma(const Site& site) {
    auto* mma = as<tile::Wgmma>(site.stmt);
    if (mma == nullptr) return;
    const auto fragments = layout::wgmma_accumulator(mma->acc->shape[0], mma->acc->shape[1]);
    if (mma->acc->layout && !(*mma->acc->layout == fragments)) {
      throw Error(ErrorKind::user, mma->loc,
                  fmt::format("wgmma.mma: {} has the layout {}, but wgmma accumulates in {}", describe(*mma->acc),
                              mma->acc->layout->to_string(), fragments.to_string()),
                  "leave the accumulator's layout to inference", {{mma->acc->loc, "declared here"}});
    }
    assign(mma->acc, fragments);
    if (mma->a_registers != nullptr) assign(mma->a_registers, a_fragments(*mma));
  }
  static RegisterLayout a_fragments(const tile::Wgmma& mma) {
    return layout::wgmma_a_fragments(mma.a_registers->shape[0], mma.a_registers->shape[1],
                                     size_of(mma.a_registers->type));
  }

  void seed_dot(const Site& site) {
    auto* dot = as<tile::Dot>(site.stmt);
    if (dot == nullptr) return;
    const auto layouts = dot_layouts(*dot, site.group);
    if (!layouts) {
      throw Error(ErrorKind::user, dot->loc,
                  fmt::format("dot of [{}, {}] by [{}, {}] on {} has no mma.m16n8k16 tiling", dot->a->shape[0],
                              dot->a->shape[1], dot->b->shape[0], dot->b->shape[1], to_string(site.group)),
                  "m must be a multiple of 16, n of 8 and k of 16, and the group whole warps");
    }
    assign(dot->acc, layouts->d);
    assign(dot->a, layouts->a);
    assign(dot->b, layouts->b);
  }

  // Consecutive elements along the view's contiguous dimension stay in one thread, if that is the tile's last
  // dimension.
  std::int64_t global_vector(const tile::RegisterTensor& t, const tile::GlobalView& view,
                             const std::vector<const Expr*>& offsets) const {
    if (contiguous_dim(view) != static_cast<int>(t.shape.size()) - 1) return 1;
    std::int64_t elements = 1;
    for (const std::int64_t extent : t.shape) elements *= extent;
    std::int64_t v = vector_width(kernel_, view, offsets);
    while (v > 1 && (t.shape.back() % v != 0 || elements / v < t.group.count)) v /= 2;
    return v;
  }

  void seed_global(const Site& site) {
    if (auto* load = as<tile::LoadGlobal>(site.stmt)) {
      assign(load->out, layout::default_layout(load->out->shape, load->out->group.count,
                                               global_vector(*load->out, *load->view, load->offsets)));
    } else if (auto* store = as<tile::StoreGlobal>(site.stmt)) {
      assign(store->src, layout::default_layout(store->src->shape, store->src->group.count,
                                                global_vector(*store->src, *store->view, store->offsets)));
    }
  }

  void seed_shared(const Site& site) {
    tile::RegisterTensor* t = nullptr;
    if (auto* load = as<tile::LoadShared>(site.stmt)) t = load->out;
    if (auto* store = as<tile::StoreShared>(site.stmt)) t = store->src;
    if (t == nullptr || t->layout) return;
    std::int64_t elements = 1;
    for (const std::int64_t extent : t->shape) elements *= extent;
    std::int64_t v = 16 / size_of(t->type);
    while (v > 1 && (t->shape.back() % v != 0 || elements / v < t->group.count)) v /= 2;
    assign(t, layout::default_layout(t->shape, t->group.count, v));
  }

  void seed_default(tile::RegisterTensor* t) {
    if (!t->layout) assign(t, layout::default_layout(t->shape, t->group.count, 1));
  }

  // A copy of `t` in layout `l`, made before position `at` of `block`, which moves on.
  tile::RegisterTensor* converted(Block& block, std::size_t& at, tile::RegisterTensor* t, const RegisterLayout& l,
                                  const Stmt& user) {
    tile::RegisterTensor* copy =
        kernel_.new_register(t->type, t->shape, t->name.empty() ? "" : t->name + "_converted", user.loc, t->group);
    copy->layout = l;
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), conversion(copy, t, user));
    ++at;
    return copy;
  }
  Stmt* conversion(tile::RegisterTensor* to, tile::RegisterTensor* from, const Stmt& user) {
    remarks_.push_back({user.loc,
                        fmt::format("{} changes its layout for {}: {} becomes {}", describe(*from), name_of(user.kind),
                                    from->layout->to_string(), to->layout->to_string()),
                        "annotate_layout can give both consumers one layout",
                        {{from->loc, "created here"}}});
    tile::SharedTensor* scratch = nullptr;
    if (!aligned_registers(*to, *from)) {
      scratch = kernel_.new_shared(from->type, from->shape, "convert_scratch", user.loc);
    }
    return kernel_.context->arena.make<tile::ConvertLayout>(user.loc, to, from, scratch);
  }

  void convert_block(Block& block, const tile::Group& group) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      Stmt* s = block[i];
      const auto* nested = as<tile::ThreadGroup>(s);
      for_each_child_block(s, [&](Block& b) { convert_block(b, nested != nullptr ? nested->group : group); });
      if (auto* slice = as<tile::Slice>(s)) convert_slice(block, i, slice);
      if (auto* dot = as<tile::Dot>(s)) convert_dot(block, i, dot, group);
      if (auto* mma = as<tile::Wgmma>(s); mma != nullptr && mma->a_registers != nullptr) {
        const RegisterLayout wanted = a_fragments(*mma);
        if (!(*mma->a_registers->layout == wanted)) {
          mma->a_registers = converted(block, i, mma->a_registers, wanted, *mma);
        }
      }
      if (auto* compute = as<tile::Compute>(s)) {
        for (tile::RegisterTensor*& in : compute->ins) {
          if (aligned_registers(*compute->out, *in)) continue;
          const RegisterLayout wanted = same_shape(*in, *compute->out)
                                            ? *compute->out->layout
                                            : layout::reduce_to(*compute->out->layout, in->shape);
          in = converted(block, i, in, wanted, *s);
        }
      }
      if (auto* transpose = as<tile::Transpose>(s)) {
        const RegisterLayout wanted = layout::permute(*transpose->out->layout, {1, 0});
        if (!(*transpose->in->layout == wanted)) transpose->in = converted(block, i, transpose->in, wanted, *s);
      }
    }
  }

  void convert_slice(Block& block, std::size_t& i, tile::Slice* slice) {
    const auto dim = static_cast<std::size_t>(slice->dim);
    if (!part_layout(*slice)) {  // parts over different threads: give every thread a piece of each part
      tile::Shape parts(slice->in->shape.size(), 1);
      parts[dim] = slice->in->shape[dim] / slice->out->shape[dim];
      slice->in =
          converted(block, i, slice->in,
                    layout::local(parts) * layout::default_layout(slice->out->shape, slice->out->group.count), *slice);
    }
    const RegisterLayout part = *part_layout(*slice);
    if (*slice->out->layout == part) return;
    tile::RegisterTensor* out = slice->out;
    slice->out = kernel_.new_register(out->type, out->shape, "", slice->loc, out->group);
    slice->out->layout = part;
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, conversion(out, slice->out, *slice));
    ++i;
  }

  void convert_dot(Block& block, std::size_t& i, tile::Dot* dot, const tile::Group& group) {
    const auto layouts = dot_layouts(*dot, group);
    if (!(*dot->a->layout == layouts->a)) dot->a = converted(block, i, dot->a, layouts->a, *dot);
    if (!(*dot->b->layout == layouts->b)) dot->b = converted(block, i, dot->b, layouts->b, *dot);
    if (!(*dot->acc->layout == layouts->d)) {
      tile::RegisterTensor* acc = dot->acc;
      dot->acc = converted(block, i, acc, layouts->d, *dot);
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, conversion(acc, dot->acc, *dot));
      ++i;
    }
  }

  tile::Kernel& kernel_;
  std::vector<Diagnostic>& remarks_;
  std::vector<std::vector<Stmt*>> users_;  // by tensor id: the elementwise instructions and transposes that touch it
};

}  // namespace

std::optional<std::vector<std::int64_t>> aligned_registers(const tile::RegisterTensor& out,
                                                           const tile::RegisterTensor& in) {
  const std::int64_t registers = out.layout->local_size();
  std::vector<std::int64_t> table(static_cast<std::size_t>(registers));
  if (same_shape(in, out) && *in.layout == *out.layout) {
    for (std::int64_t r = 0; r < registers; ++r) table[static_cast<std::size_t>(r)] = r;
    return table;
  }
  const std::size_t missing = out.shape.size() - in.shape.size();
  std::vector<std::int64_t> index(in.shape.size());
  for (std::int64_t r = 0; r < registers; ++r) {
    for (std::int64_t t = 0; t < out.layout->spatial_size(); ++t) {
      const auto full = out.layout->global_index(r, t);
      for (std::size_t d = 0; d < index.size(); ++d) index[d] = in.shape[d] == 1 ? 0 : full[d + missing];
      const auto owners = in.layout->spatial_indices(index);
      if (!std::binary_search(owners.begin(), owners.end(), t)) return std::nullopt;
      const std::int64_t local = in.layout->local_index(index);
      if (t == 0) table[static_cast<std::size_t>(r)] = local;
      if (table[static_cast<std::size_t>(r)] != local) return std::nullopt;
    }
  }
  return table;
}

void infer_layouts(tile::Kernel& kernel, std::vector<Diagnostic>& remarks) { Inference(kernel, remarks).run(); }

}  // namespace tessera::passes
