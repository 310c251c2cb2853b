// Tensor-core products, synchronisation, mbarriers, printing of tiles.
#include "tessera/lang/instruction.hpp"

#include <fmt/format.h>

#include "lang/tracer.hpp"

namespace tessera {

using lang::Tracer;
namespace tile = ir::tile;

namespace {

// Limits of an mbarrier's arrival and transaction counts (PTX ISA, mbarrier object: 1 to 2^20 - 1 each).
constexpr std::int64_t most_counts = (std::int64_t{1} << 20) - 1;

bool whole_warps(const tile::Group& g) { return g.begin % 32 == 0 && g.count % 32 == 0 && g.count > 0; }

// mma.sync m16n8k16 (PTX ISA 9.7.14.5): the type pairs that it has, and the extents that it covers.
void check_dot_types(Tracer& t, const tile::RegisterTensor& a, const tile::RegisterTensor& b,
                     const tile::RegisterTensor& acc, SourceLoc loc) {
  const bool ok = a.type == b.type && ((a.type == DType::f16 && (acc.type == DType::f32 || acc.type == DType::f16)) ||
                                       (a.type == DType::bf16 && acc.type == DType::f32));
  if (ok) return;
  t.error(loc,
          fmt::format("dot() of a {} and a {} tile into a {} accumulator", name_of(a.type), name_of(b.type),
                      name_of(acc.type)),
          "the tensor cores take float16 and float16 into float32 or float16, and bfloat16 and bfloat16 into float32; "
          "convert with cast<...>(tile)");
}

void check_dot_shapes(Tracer& t, const tile::RegisterTensor& a, const tile::RegisterTensor& b,
                      const tile::RegisterTensor& acc, SourceLoc loc) {
  const bool fits = a.shape.size() == 2 && b.shape.size() == 2 && acc.shape.size() == 2 && a.shape[1] == b.shape[0] &&
                    a.shape[0] == acc.shape[0] && b.shape[1] == acc.shape[1];
  if (!fits) {
    const bool transposed = a.shape.size() == 2 && b.shape.size() == 2 && a.shape[1] == b.shape[1];
    t.error(loc,
            fmt::format("dot() of shapes {} and {} into {}", lang::shape_text(a.shape), lang::shape_text(b.shape),
                        lang::shape_text(acc.shape)),
            transposed ? "a is {m, k}, b is {k, n}, acc is {m, n}: pass b.transpose()"
                       : "a is {m, k}, b is {k, n}, acc is {m, n}",
            {{acc.loc, "the accumulator"}});
    return;
  }
  const std::int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  if (m % 16 == 0 && n % 8 == 0 && k % 16 == 0) return;
  t.error(loc, fmt::format("dot() with m = {}, n = {}, k = {}", m, n, k),
          "m and k must be multiples of 16 and n of 8, the tensor cores' mma.sync m16n8k16");
}

detail::BarrierRef alloc_barriers(const std::vector<std::int64_t>& counts, std::string name, SourceLoc loc) {
  Tracer& t = Tracer::current("mbarrier.alloc()", loc);
  t.first_use(loc);
  if (!t.outside_control("mbarrier.alloc()",
                         "allocate mbarriers outside loops and branches: they are initialised once, when the kernel "
                         "starts",
                         loc))
    return {};
  if (counts.empty()) {
    t.error(loc, "mbarrier.alloc() of no barriers", "give one count a barrier");
    return {};
  }
  for (const std::int64_t c : counts) {
    if (c >= 1 && c <= most_counts) continue;
    t.error(loc, fmt::format("mbarrier.alloc() with the count {}", c),
            fmt::format("a barrier expects 1 to {} arrivals", most_counts));
    return {};
  }
  auto* array = t.kernel->new_barriers(counts, name.empty() ? t.fresh_name(loc, "alloc") : std::move(name), loc);
  t.emit<tile::AllocBarriers>(loc, array);
  return {array, t.origin(loc)};
}

void print(const char* message, tile::RegisterTensor* tensor, tile::SharedView* shared, SourceLoc loc) {
  Tracer& t = Tracer::current("print_tensor()", loc);
  if (tensor != nullptr || shared != nullptr) t.emit<tile::PrintTensor>(loc, message, tensor, shared);
}

}  // namespace

void dot(const RegisterTensor& a, const RegisterTensor& b, const RegisterTensor& acc, SourceLoc loc) {
  Tracer& t = Tracer::current("dot()", loc);
  const tile::Group group = t.group(loc);
  if (!whole_warps(group)) {
    t.error(loc, fmt::format("dot() is executed by {}", lang::group_text(group)),
            "the tensor cores work for whole warps: use dot() in the whole block or in a group of whole warps");
    return;
  }
  tile::RegisterTensor* x = t.use(a.ref(), loc);
  tile::RegisterTensor* y = t.use(b.ref(), loc);
  tile::RegisterTensor* z = t.use(acc.ref(), loc);
  if (x == nullptr || y == nullptr || z == nullptr) return;
  check_dot_types(t, *x, *y, *z, loc);
  check_dot_shapes(t, *x, *y, *z, loc);
  if (!z->named) {
    t.error(loc, "the accumulator of dot() is the result of an instruction",
            "make it with register_tensor: auto acc = register_tensor<float>({m, n}, 0.0f)", {{z->loc, "made here"}});
  }
  if (z == x || z == y) t.error(loc, "the accumulator of dot() is one of its operands", "use a tile of its own");
  t.emit<tile::Dot>(loc, x, y, z);
}

void sync(SourceLoc loc) {
  Tracer& t = Tracer::current("sync()", loc);
  const tile::Group group = t.group(loc);
  const bool within_a_warp = group.begin / 32 == (group.begin + group.count - 1) / 32;
  if (!within_a_warp && !whole_warps(group)) {
    t.error(loc, fmt::format("sync() is executed by {}, which is part of a warp and more", lang::group_text(group)),
            "synchronise whole warps (begin and count multiples of 32), or threads of one warp");
    return;
  }
  t.emit<tile::Sync>(loc);
}

void print_tensor(const char* message, const RegisterTensor& tensor, SourceLoc loc) {
  print(message, Tracer::current("print_tensor()", loc).use(tensor.ref(), loc), nullptr, loc);
}
void print_tensor(const char* message, const SharedTensor& tensor, SourceLoc loc) {
  Tracer& t = Tracer::current("print_tensor()", loc);
  t.group(loc);
  tile::SharedView* view = t.use(tensor.ref(), loc);
  if (view != nullptr && lang::check_dimensions(t, "print_tensor()", *view, loc)) print(message, nullptr, view, loc);
}

namespace detail {

void Fence::proxy_async(SourceLoc loc) const {
  Tracer& t = Tracer::current("fence.proxy_async()", loc);
  t.group(loc);
  t.emit<tile::FenceProxyAsync>(loc, std::string());
}

Barrier Mbarrier::alloc(const HostInt& count, SourceLoc loc) const {
  const BarrierRef array = alloc_barriers({count.value}, {}, loc);
  return {array, make_integer(DType::i32, 0, loc)};
}
BarrierArray Mbarrier::alloc(std::initializer_list<HostInt> counts, SourceLoc loc) const {
  std::vector<std::int64_t> values;
  for (const HostInt& c : counts) values.push_back(c.value);
  return BarrierArray(alloc_barriers(values, {}, loc));
}
BarrierArray Mbarrier::alloc(const std::vector<int>& counts, SourceLoc loc) const {
  return BarrierArray(alloc_barriers({counts.begin(), counts.end()}, {}, loc));
}
BarrierRef make_barriers(const std::vector<std::int64_t>& counts, const char* name, SourceLoc loc) {
  return alloc_barriers(counts, name, loc);
}

void Mbarrier::arrive(const Barrier& barrier, const HostInt& count, SourceLoc loc) const {
  Tracer& t = Tracer::current("mbarrier.arrive()", loc);
  t.group(loc);
  if (count.value < 1 || count.value > most_counts) {
    t.error(loc, fmt::format("mbarrier.arrive() with the count {}", count.value),
            fmt::format("a thread arrives 1 to {} times", most_counts));
  }
  const tile::BarrierRef b = t.use(barrier, loc);
  if (b.array != nullptr) t.emit<tile::ArriveBarrier>(loc, b, count.value);
}

void Mbarrier::arrive_remote(const Barrier& barrier, const IndexArg& cta, const HostInt& count, SourceLoc loc) const {
  Tracer& t = Tracer::current("mbarrier.arrive_remote()", loc);
  t.group(loc);
  if (count.value < 1 || count.value > most_counts) {
    t.error(loc, fmt::format("mbarrier.arrive_remote() with the count {}", count.value),
            fmt::format("a thread arrives 1 to {} times", most_counts));
  }
  const tile::BarrierRef b = t.use(barrier, loc);
  const auto rank = t.use_rank("mbarrier.arrive_remote()", cta.ref, loc);
  if (b.array != nullptr && rank) t.emit<tile::ArriveBarrier>(loc, b, count.value, *rank);
}

void Mbarrier::arrive_and_expect_tx(const Barrier& barrier, const IndexArg& bytes, SourceLoc loc) const {
  Tracer& t = Tracer::current("mbarrier.arrive_and_expect_tx()", loc);
  t.group(loc);
  const tile::BarrierRef b = t.use(barrier, loc);
  const ir::Expr* e = t.use(bytes.ref, loc);
  if (b.array == nullptr || e == nullptr) return;
  if (e->low > most_counts || e->high < 1) {
    t.error(loc, fmt::format("mbarrier.arrive_and_expect_tx() with {} bytes", ir::to_string(e)),
            fmt::format("announce the bytes of the copies of one phase, 1 to {}; use more phases or barriers for more",
                        most_counts));
  }
  t.emit<tile::ArriveExpectTx>(loc, b, t.expr().cast(DType::u32, e));
}

void Mbarrier::wait_on(const Barrier& barrier, const ScalarRef& phase, SourceLoc loc) const {
  Tracer& t = Tracer::current("mbarrier.wait()", loc);
  t.group(loc);
  const tile::BarrierRef b = t.use(barrier, loc);
  const ir::Expr* e = t.use(phase, loc);
  if (b.array == nullptr || e == nullptr) return;
  if (e->low > 1 || e->high < 0) {
    t.error(loc, fmt::format("mbarrier.wait() for the phase {}", ir::to_string(e)),
            "a phase is the parity 0 or 1: 0 for the first, and the other one after each wait (phase ^= 1u)");
  }
  t.emit<tile::WaitBarrier>(loc, b, t.expr().cast(DType::u32, e));
}

}  // namespace detail
}  // namespace tessera
