#include "lower/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/register_file.hpp"
#include "lower/index_math.hpp"
#include "passes/index_bounds.hpp"
#include "passes/shared_views.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

Lowering::Lowering(tile::Kernel& k, std::vector<Diagnostic>& r)
    : kernel(k),
      context(*k.context),
      x(k.context->expr),
      remarks(r),
      group(k.root_group()),
      streamed(k.registers.size(), nullptr),
      registers_now(static_cast<std::size_t>((k.warps + 3) / 4), launch_registers(k.warps * 32)),
      remote_arrivals(k.barriers.size(), false),
      arrays_(k.registers.size(), nullptr) {
  const passes::Walk walk(k);
  for (const passes::Site& site : walk.sites) {
    if (const auto* mma = as<tile::Wgmma>(site.stmt)) {
      wgmmas.push_back(mma);
      wgmma_groups.push_back(site.group);
    }
    if (const auto* store = as<tile::StoreShared>(site.stmt); store != nullptr && store->dst->cta != nullptr) {
      stores_in_peers = true;
    }
    if (const auto* arrive = as<tile::ArriveBarrier>(site.stmt); arrive != nullptr && arrive->cta != nullptr) {
      remote_arrivals[arrive->barrier.array->id] = shares_barriers = true;
    }
    if (const auto* copy = as<tile::TmaLoad>(site.stmt); copy != nullptr && copy->multicast != nullptr) {
      shares_barriers = true;
    }
  }
}

void Lowering::block(const Block& statements, Block& into) {
  Block* outer = current;
  current = &into;
  for (Stmt* s : statements) statement(s);
  current = outer;
}

namespace {

// Control statements keep their form; only what they contain is lowered.
void lower_for(Lowering& l, const control::For& s) {
  auto* loop = l.emit<control::For>(s.loc, s.induction, s.begin, s.end, s.step);
  loop->unroll = s.unroll;
  l.block(s.body, loop->body);
}
void lower_loop(Lowering& l, const control::Loop& s) {
  auto* loop = l.emit<control::Loop>(s.loc);
  l.block(s.body, loop->body);
}
void lower_if(Lowering& l, const control::If& s) {
  auto* branch = l.emit<control::If>(s.loc, s.condition);
  l.block(s.then_body, branch->then_body);
  l.block(s.else_body, branch->else_body);
}

}  // namespace

void Lowering::statement(Stmt* s) {
  Lowering& l = *this;
  for (const passes::IndexUse& use : passes::uncertain_indices(s)) {
    emit<thread::CheckIndex>(s->loc, use.index, use.count, use.what, use.where, use.help, use.made);
  }
  match(s, overloaded{
               [&](const control::Let& n) { emit<control::Let>(n.loc, n.value, n.init); },
               [&](const control::DeclareVar& n) { emit<control::DeclareVar>(n.loc, n.var, n.init); },
               [&](const control::AssignVar& n) { emit<control::AssignVar>(n.loc, n.var, n.value); },
               [&](const control::For& n) { lower_for(l, n); },
               [&](const control::Loop& n) { lower_loop(l, n); },
               [&](const control::If& n) { lower_if(l, n); },
               [&](const control::Break& n) { emit<control::Break>(n.loc); },
               [&](const control::Continue& n) { emit<control::Continue>(n.loc); },
               [&](const tile::ThreadGroup& n) { lower_group(l, n); },
               [&](const tile::AllocRegister& n) { registers(n.out, n.loc); },
               [&](const tile::Compute& n) { lower_compute(l, n); },
               [&](const tile::Transpose& n) { lower_transpose(l, n); },
               [&](const tile::Slice& n) { lower_slice(l, n); },
               [&](const tile::ConvertLayout& n) { lower_convert(l, n); },
               [&](const tile::LoadGlobal& n) { lower_load_global(l, n); },
               [&](const tile::StoreGlobal& n) { lower_store_global(l, n); },
               [&](const tile::AllocShared&) {},
               [&](const tile::FreeShared&) {},
               [&](const tile::LoadShared& n) { lower_load_shared(l, n); },
               [&](const tile::StoreShared& n) { lower_store_shared(l, n); },
               [&](const tile::Dot& n) { lower_dot(l, n); },
               [&](const tile::Sync& n) { lower_sync(l, n); },
               [&](const tile::AllocBarriers&) {},  // initialised in the prologue
               [&](const tile::ArriveBarrier& n) { lower_arrive(l, n); },
               [&](const tile::ArriveExpectTx& n) { lower_arrive_expect_tx(l, n); },
               [&](const tile::WaitBarrier& n) { lower_wait(l, n); },
               [&](const tile::TmaLoad& n) { lower_tma_load(l, n); },
               [&](const tile::TmaStore& n) { lower_tma_store(l, n); },
               [&](const tile::TmaCommit& n) { emit<thread::TmaCommit>(n.loc); },
               [&](const tile::TmaWait& n) { emit<thread::TmaWait>(n.loc, n.pending, n.read); },
               [&](const tile::TmaPrefetch& n) { lower_tma_prefetch(l, n); },
               [&](const tile::WgmmaFence& n) { emit<thread::WgmmaFence>(n.loc); },
               [&](const tile::Wgmma& n) { lower_wgmma(l, n); },
               [&](const tile::WgmmaCommit& n) { emit<thread::WgmmaCommit>(n.loc); },
               [&](const tile::WgmmaWait& n) { lower_wgmma_wait(l, n); },
               [&](const tile::SetRegisters& n) { lower_set_registers(l, n); },
               [&](const tile::NamedBarrierSync& n) { lower_named_sync(l, n); },
               [&](const tile::NamedBarrierArrive& n) { lower_named_arrive(l, n); },
               [&](const tile::ClusterArrive& n) { emit<thread::ClusterArrive>(n.loc); },
               [&](const tile::ClusterWait& n) { emit<thread::ClusterWait>(n.loc); },
               [&](const tile::ClusterSync& n) {
                 emit<thread::ClusterArrive>(n.loc);
                 emit<thread::ClusterWait>(n.loc);
               },
               [&](const tile::GridDependency& n) { emit<thread::GridDependency>(n.loc, n.launch); },
               [&](const tile::SignalFlag& n) { lower_signal_flag(l, n); },
               [&](const tile::WaitFlag& n) { lower_wait_flag(l, n); },
               [&](const tile::FenceProxyAsync& n) {
                 emit<thread::Fence>(
                     n.loc,
                     stores_in_peers ? thread::FenceKind::proxy_async_cluster : thread::FenceKind::proxy_async_shared,
                     n.reason);
               },
               [&](const tile::Print& n) { lower_print(l, n); },
               [&](const tile::PrintTensor& n) { lower_print_tensor(l, n); },
               [](const Stmt& other) {
                 throw Error(ErrorKind::internal, other.loc,
                             fmt::format("{} is a thread instruction in a tile program", name_of(other.kind)));
               },
           });
}

const Expr* Lowering::let(SourceLoc loc, std::string name, const Expr* e) {
  if (is_leaf(e->kind)) return e;
  const Value* v = context.new_value(e->type, std::move(name), loc);
  x.set_facts(v, e->low, e->high, e->divisor);
  emit<control::Let>(loc, v, e);
  return x.value(v);
}

void Lowering::for_each_register(SourceLoc loc, std::int64_t count, std::int64_t step,
                                 const std::function<void(const Expr*)>& body) {
  const std::int64_t rounds = count / step;
  if (rounds <= 1) {
    if (rounds == 1) body(x.i32(0));
    return;
  }
  const Value* i = context.new_value(DType::i32, "i", loc);
  x.set_facts(i, 0, rounds - 1, 1);
  auto* loop = emit<control::For>(loc, i, x.i32(0), x.i32(rounds), x.i32(1));
  loop->unroll = 0;
  Block* outer = current;
  current = &loop->body;
  body(x.mul(x.value(i), step));
  current = outer;
}

void Lowering::when(SourceLoc loc, const Expr* condition, const std::function<void()>& body) {
  if (condition == nullptr || condition->is_constant(1)) return body();
  auto* branch = emit<control::If>(loc, condition);
  Block* outer = current;
  current = &branch->then_body;
  body();
  current = outer;
}

const RegArray* Lowering::registers(const tile::RegisterTensor* t, SourceLoc loc) {
  const RegArray*& array = arrays_[t->id];
  if (array == nullptr) {
    array = context.new_regs(t->type, static_cast<std::uint32_t>(t->layout->local_size()), t->name, t->loc);
    emit<thread::DeclareRegs>(loc, array);
  }
  return array;
}

const Expr* Lowering::lane() { return x.bounded_leaf(ExprKind::lane_idx, DType::i32, 0, 0, 31); }
const Expr* Lowering::warp() { return x.bounded_leaf(ExprKind::warp_idx, DType::i32, 0, 0, kernel.warps - 1); }
const Expr* Lowering::thread() {
  return x.bounded_leaf(ExprKind::thread_idx, DType::i32, 0, 0, std::int64_t{kernel.warps} * 32 - 1);
}

const Expr* Lowering::warp_in_group() {
  if (group.count <= 32) return x.i32(0);
  // The group bounds the warps that get here.
  const std::int64_t first = group.begin / 32;
  const Expr* w = warp();
  if (first == 0 && group.count == kernel.warps * 32) return w;
  const Value* v = context.new_value(DType::i32, "warp_in_group", {});
  x.set_facts(v, 0, group.count / 32 - 1, 1);
  emit<control::Let>({}, v, x.add(w, -first));
  return x.value(v);
}

const Expr* Lowering::thread_in_group() {
  if (group.count == 1) return x.i32(0);
  if (group.begin % 32 == 0 && group.count % 32 == 0) return x.add(x.mul(warp_in_group(), 32), lane());
  const Value* v = context.new_value(DType::i32, "thread_in_group", {});
  x.set_facts(v, 0, group.count - 1, 1);
  emit<control::Let>({}, v, x.add(thread(), -group.begin));
  return x.value(v);
}

// Dynamic shared memory begins the window, on the 1024 bytes that the widest swizzle needs.
const Expr* Lowering::shared(std::int64_t offset) {
  return x.add(x.bounded_leaf(ExprKind::shared_base, DType::u32, 0, 0, 256 * 1024 - 1, 1024), offset);
}

const Expr* Lowering::element_address(const tile::SharedView& view, const std::vector<const Expr*>& index) {
  const Expr* offset = shared_offset(x, *view.tensor->layout, passes::tensor_index(x, view, index));
  return x.add(shared(view.tensor->offset), offset);
}

const Expr* Lowering::barrier_address(const tile::BarrierRef& barrier) {
  return x.add(shared(barrier.array->offset), x.mul(x.cast(DType::u32, barrier.index), 8));
}

const Expr* Lowering::first_thread() {
  if (group.count == 1) return nullptr;
  if (group.begin % 32 == 0 && group.count == 32) return x.binary(ExprKind::eq, lane(), x.i32(0));
  return x.binary(ExprKind::eq, thread(), x.i32(group.begin));
}

// Thread 0 initialises the barriers and fetches the TMA descriptors, whose first use would wait for memory. The maps
// are known once the body is lowered.
void Lowering::prologue() {
  Block statements;
  Block* outer = current;
  current = &statements;
  SourceLoc loc = kernel.loc;
  if (!kernel.barriers.empty()) {
    loc = kernel.barriers.front()->loc;
    auto* branch = emit<control::If>(loc, x.binary(ExprKind::eq, thread(), x.i32(0)));
    current = &branch->then_body;
    for (std::size_t map = 0; map < out.tensor_maps.size(); ++map) {
      emit<thread::PrefetchTensorMap>(out.tensor_maps[map].loc, static_cast<std::uint32_t>(map));
    }
    for (const tile::BarrierArray* array : kernel.barriers) {
      for (std::size_t i = 0; i < array->counts.size(); ++i) {
        emit<thread::MbarrierInit>(array->loc, shared(array->offset + static_cast<std::int64_t>(8 * i)),
                                   static_cast<std::uint32_t>(array->counts[i]));
      }
    }
    emit<thread::Fence>(loc, thread::FenceKind::mbarrier_init, "makes the barriers known to the async proxy");
    current = &statements;
    if (shares_barriers) {
      constexpr bool relaxed = true;  // nothing but barriers was written so far
      emit<thread::ClusterArrive>(loc, relaxed);
      emit<thread::ClusterWait>(loc);
    } else {
      emit<thread::BarrierSync>(loc, 0, kernel.warps * 32);
    }
  }
  current = outer;
  out.body.insert(out.body.begin(), statements.begin(), statements.end());
}

// What the launch checks buffers against.
void Lowering::epilogue_facts() {
  for (const tile::GlobalView* view : kernel.views) {
    thread::ViewExtent extent;
    extent.name = view->name;
    extent.param = view->param;
    extent.type = view->type;
    extent.shape = view->shape;
    extent.loc = view->loc;
    const Expr* last = view->base_offset;
    const Expr* nonempty = x.boolean(true);
    for (std::size_t d = 0; d < view->shape.size(); ++d) {
      last = x.add(last, x.mul(x.add(view->shape[d], -1), view->strides[d]));
      nonempty = x.both(nonempty, x.binary(ExprKind::gt, view->shape[d], x.i64(0)));
    }
    extent.elements = x.select(nonempty, x.add(last, 1), x.i64(0));
    // A view whose place depends on a value of the kernel's can only be checked where it is used.
    if (is_host_computable(extent.elements)) {
      out.views.push_back(std::move(extent));
    } else {
      out.open_params.push_back(view->param);
    }
  }
  std::sort(out.written_params.begin(), out.written_params.end());
  out.written_params.erase(std::unique(out.written_params.begin(), out.written_params.end()), out.written_params.end());
}

thread::Kernel lower_kernel(tile::Kernel& kernel, std::uint32_t shared_bytes, std::vector<thread::SharedRegion> regions,
                            std::vector<Diagnostic>& remarks) {
  Lowering l(kernel, remarks);
  l.out.context = kernel.context;
  l.out.name = kernel.name;
  l.out.loc = kernel.loc;
  l.out.params = kernel.params;
  l.out.warps = kernel.warps;
  l.out.cluster = kernel.cluster;
  l.out.dependent_launch = kernel.dependent_launch;
  l.out.shared_bytes = shared_bytes;
  l.out.regions = std::move(regions);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Expr* size = kernel.grid[axis] != nullptr ? kernel.grid[axis] : l.x.i64(1);
    l.out.grid[axis] = l.x.cast(DType::i64, size);
  }
  l.current = &l.out.body;
  l.block(kernel.body, l.out.body);
  l.prologue();
  l.epilogue_facts();
  return std::move(l.out);
}

}  // namespace tessera::lower
