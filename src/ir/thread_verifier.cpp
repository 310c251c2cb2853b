// The rules of the thread IR.
//
// Kernel
//   K1  1 to 32 warps; 1 to 32 CTAs an SM, of at most 2048 threads together; at most 232448 bytes of shared memory;
//       clusters of 1 to 16 CTAs
//   K2  the grid, the views and the tensor maps use constants and scalar parameters only; grid and extents are i64
//   K3  regions lie within the shared memory; a barrier region overlaps no other region
//   K4  a tensor map: pointer parameter, rank 1 to 5, one box extent of 1 to 256 a dimension, one stride fewer than
//       dimensions, an innermost box of a multiple of 16 bytes that is no wider than the swizzle
//   K5  written_params lists exactly the pointer parameters that are stored to
// Scope
//   S1  a value is defined once, before it is used, in the same block or one around it; so are variables and arrays
//   S2  Break and Continue stand within a For or Loop
//   S3  no statement or leaf of the tile IR occurs, and no sm_count, which the launch alone knows
// Types
//   T1  operands of one operator have one type; a select's condition, an If's condition and every mask is bool
//   T2  Let, DeclareVar, AssignVar and WriteRegs store values of the target's type; loop bounds have the induction's
//   type
//   T3  a loop's step is positive where it is constant
//   T4  scalar parameters are read with their type; memory accesses name pointers of the array's element type
//   T5  global offsets are i64; shared addresses, mbarrier parities, byte counts, flags, masks and ranks of CTAs u32;
//       coordinates i32
//   T6  8-bit floats are moved, chosen between and cast, nothing else
// Registers
//   R1  indices are integers; where their bounds are known the elements lie within the array; one that the simulator
//       checks is i32, into something
//   R2  vector accesses are of 1, 2, 4, 8 or 16 bytes
//   R3  fragments (ldmatrix, stmatrix, mma, wgmma) are of arrays of the type that the instruction says and begin a
//       32-bit register
// Instructions
//   I1  ldmatrix and stmatrix have 1, 2 or 4 matrices; mma multiplies f16 or bf16 into f32, or f16 into f16
//   I2  a block barrier has an id of 0 to 15 (1 to 15 where threads only arrive) and a positive multiple of 32 threads,
//       no more than the CTA has
//   I3  mbarrier counts, and byte counts that are constant, are 1 to 2^20 - 1; a constant parity is 0 or 1
//   I4  a copy names a tensor map and has one coordinate for each of its dimensions; a reduction is of f16, bf16, f32,
//       i32, u32 or u64
//   I5  warp.sync has a non-empty mask; a print has one piece more than arguments
//   I6  wgmma: types, n and accumulators as wgmma_shape says; MN-major operands are of 16-bit types and lie in shared
//       memory; integers are not negated; a descriptor's high word has the stride and the swizzle only; the CTA has a
//       warpgroup; at most 7 groups stay pending
//   I7  setmaxnreg has 24 to 256 registers, a multiple of 8; the CTA has a warpgroup
//   I8  a multicast and a remote arrive stand in a cluster of more than one CTA; what is constant names CTAs of it
#include "ir/thread_verifier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/match.hpp"
#include "ir/thread_text.hpp"

namespace tessera::ir::thread {
namespace {

constexpr std::uint32_t most_shared_bytes = 232448, most_mbarrier_count = (1U << 20) - 1;

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

void Verifier::run() {
  check_kernel();
  block(kernel_.body);
  check_written();
  if (!found_.empty()) throw Error(ErrorKind::internal, std::move(found_));
}

void Verifier::fail(const char* rule, std::string message) {
  found_.push_back({loc_, fmt::format("thread IR rule {}: {}", rule, message), {}, {}});
}

void Verifier::check_kernel() {
  loc_ = kernel_.loc;
  require(kernel_.warps >= 1 && kernel_.warps <= 32, "K1", [&] { return fmt::format("{} warps", kernel_.warps); });
  require(kernel_.ctas_per_sm >= 1 && kernel_.ctas_per_sm <= 32 && kernel_.ctas_per_sm * kernel_.warps <= 64, "K1",
          [&] { return fmt::format("{} CTAs an SM of {} warps each", kernel_.ctas_per_sm, kernel_.warps); });
  const auto& [cluster_x, cluster_y, cluster_z] = kernel_.cluster;
  const bool positive = cluster_x >= 1 && cluster_y >= 1 && cluster_z >= 1;
  require(positive && cluster_x <= 16 && cluster_y <= 16 && cluster_z <= 16 && cluster_size() <= 16, "K1",
          [&] { return fmt::format("a cluster of {} CTAs", fmt::join(kernel_.cluster, " x ")); });
  require(kernel_.shared_bytes <= most_shared_bytes, "K1",
          [&] { return fmt::format("{} bytes of shared memory", kernel_.shared_bytes); });
  for (const Expr* e : kernel_.grid) host(e, "the grid");
  for (const ViewExtent& v : kernel_.views) {
    loc_ = v.loc;
    pointer(v.param, "K2");
    for (const Expr* e : v.shape) host(e, "a view's extent");
    host(v.elements, "a view's size");
  }
  for (const TensorMap& m : kernel_.tensor_maps) check_map(m);
  for (const SharedRegion& r : kernel_.regions) check_region(r);
  for (const std::uint32_t p : kernel_.written_params) pointer(p, "K5");
}

void Verifier::host(const Expr* e, const char* what) {
  if (!require(e != nullptr, "K2", [&] { return fmt::format("{} is missing", what); })) return;
  require(is_host_computable(e), "K2",
          [&] { return fmt::format("{} '{}' is not known at launch", what, to_string(e)); });
  require(e->type == DType::i64, "K2",
          [&] { return fmt::format("{} '{}' is {}, not int64", what, to_string(e), name_of(e->type)); });
}

bool Verifier::pointer(std::uint32_t param, const char* rule) {
  return require(param < kernel_.params.size() && kernel_.params[param].is_pointer, rule,
                 [&] { return fmt::format("parameter {} is not a pointer", param); });
}

void Verifier::check_map(const TensorMap& m) {
  loc_ = m.loc;
  pointer(m.param, "K4");
  host(m.base_offset, "a tensor map's base");
  for (const Expr* e : m.dims) host(e, "a tensor map's extent");
  for (const Expr* e : m.strides_bytes) host(e, "a tensor map's stride");
  const std::size_t rank = m.dims.size();
  require(rank >= 1 && rank <= 5, "K4", [&] { return fmt::format("tensor map '{}' has rank {}", m.name, rank); });
  require(m.strides_bytes.size() + 1 == rank, "K4", [&] {
    return fmt::format("tensor map '{}' has {} strides for rank {}", m.name, m.strides_bytes.size(), rank);
  });
  if (!require(m.box.size() == rank && rank > 0, "K4", [&] {
        return fmt::format("tensor map '{}' has a box of {} extents for rank {}", m.name, m.box.size(), rank);
      }))
    return;
  for (const std::uint32_t extent : m.box)
    require(extent >= 1 && extent <= 256, "K4",
            [&] { return fmt::format("tensor map '{}' has a box extent of {}", m.name, extent); });
  const std::uint32_t inner = m.box[0] * static_cast<std::uint32_t>(size_of(m.type));
  require(inner % 16 == 0, "K4",
          [&] { return fmt::format("tensor map '{}' has an innermost box of {} bytes", m.name, inner); });
  const std::uint32_t span = 16U << static_cast<int>(m.swizzle);
  require(m.swizzle == Swizzle::none || inner <= span, "K4", [&] {
    return fmt::format("tensor map '{}' has an innermost box of {} bytes under a {}-byte swizzle", m.name, inner, span);
  });
}

void Verifier::check_region(const SharedRegion& r) {
  loc_ = r.loc;
  require(r.offset + r.bytes <= kernel_.shared_bytes, "K3", [&] {
    return fmt::format("region '{}' ends at {}, past the {} bytes of shared memory", r.name, r.offset + r.bytes,
                       kernel_.shared_bytes);
  });
  if (!r.is_barrier) return;
  for (const SharedRegion& other : kernel_.regions) {
    const bool apart = &other == &r || r.offset + r.bytes <= other.offset || other.offset + other.bytes <= r.offset;
    require(apart, "K3", [&] { return fmt::format("barrier region '{}' overlaps '{}'", r.name, other.name); });
  }
}

void Verifier::check_written() {
  loc_ = kernel_.loc;
  const std::set<std::uint32_t> declared(kernel_.written_params.begin(), kernel_.written_params.end());
  for (const std::uint32_t p : stored_)
    require(declared.count(p) != 0, "K5",
            [&] { return fmt::format("parameter {} is stored to but not listed as written", p); });
  for (const std::uint32_t p : declared)
    require(stored_.count(p) != 0, "K5",
            [&] { return fmt::format("parameter {} is listed as written but never stored to", p); });
}

void Verifier::define(const void* what, const std::string& name) {
  require(ever_.insert(what).second, "S1", [&] { return fmt::format("'{}' is defined twice", name); });
  if (visible_.insert(what).second) order_.push_back(what);
}

void Verifier::block(const Block& body) {
  const std::size_t outer = order_.size();
  for (const Stmt* s : body) statement(s);
  while (order_.size() > outer) {
    visible_.erase(order_.back());
    order_.pop_back();
  }
}

void Verifier::expr(const Expr* e, const char* what) {
  if (!require(e != nullptr, "T2", [&] { return fmt::format("{} is missing", what); })) return;
  if (!seen_.insert(e).second) return;  // shared by several places of this statement
  for (const Expr* a : e->args) expr(a, what);
  const auto text = [&] { return to_string(e); };
  switch (e->kind) {
    case ExprKind::operand:
    case ExprKind::index: fail("S3", fmt::format("'{}' belongs to the tile IR", text())); break;
    case ExprKind::sm_count: fail("S3", "sm_count is known to the launch only"); break;
    case ExprKind::value:
      require(visible_.count(e->value) != 0, "S1",
              [&] { return fmt::format("value '{}' is used outside its scope", text()); });
      break;
    case ExprKind::var:
      require(visible_.count(e->var) != 0, "S1",
              [&] { return fmt::format("variable '{}' is used outside its scope", text()); });
      break;
    case ExprKind::reg: elements({e->array, e->args[0]}, 1, what); break;
    case ExprKind::param: {
      const auto p = static_cast<std::size_t>(e->integer);
      const bool fits = e->integer >= 0 && p < kernel_.params.size() && !kernel_.params[p].is_pointer &&
                        kernel_.params[p].type == e->type;
      require(fits, "T4",
              [&] { return fmt::format("'{}' is not a scalar parameter of type {}", text(), name_of(e->type)); });
      break;
    }
    case ExprKind::select:
      require(e->args[0]->type == DType::boolean, "T1",
              [&] { return fmt::format("the condition of '{}' is not bool", text()); });
      require(e->args[1]->type == e->args[2]->type && e->args[1]->type == e->type, "T1",
              [&] { return fmt::format("'{}' chooses between two types", text()); });
      break;
    default:
      check_float8(e);
      if (e->args.size() == 2) check_binary(e);
      break;
  }
}

void Verifier::check_float8(const Expr* e) {
  if (is_leaf(e->kind) || e->kind == ExprKind::cast) return;
  require(!is_float8(e->args[0]->type), "T6",
          [&] { return fmt::format("'{}' computes with {}", to_string(e), name_of(e->args[0]->type)); });
}

void Verifier::check_binary(const Expr* e) {
  require(e->args[0]->type == e->args[1]->type, "T1", [&] {
    return fmt::format("'{}' combines {} and {}", to_string(e), name_of(e->args[0]->type), name_of(e->args[1]->type));
  });
  const bool to_bool = is_comparison(e->kind) || e->kind == ExprKind::logical_and || e->kind == ExprKind::logical_or;
  require(e->type == (to_bool ? DType::boolean : e->args[0]->type), "T1",
          [&] { return fmt::format("'{}' has type {}", to_string(e), name_of(e->type)); });
}

void Verifier::typed(const Expr* e, DType type, const char* rule, const char* what) {
  expr(e, what);
  if (e == nullptr) return;
  require(e->type == type, rule,
          [&] { return fmt::format("{} '{}' is {}, not {}", what, to_string(e), name_of(e->type), name_of(type)); });
}

void Verifier::mask(const Expr* e) {
  if (e != nullptr) typed(e, DType::boolean, "T1", "the mask");
}

void Verifier::elements(const RegRef& r, std::int64_t count, const char* what) {
  if (!require(r.array != nullptr && r.index != nullptr, "R1",
               [&] { return fmt::format("{} names no registers", what); }))
    return;
  require(visible_.count(r.array) != 0, "S1",
          [&] { return fmt::format("array '{}' is used outside its scope", r.array->name); });
  require(is_integer(r.index->type), "R1",
          [&] { return fmt::format("index '{}' is not an integer", to_string(r.index)); });
  const std::int64_t low = r.index->low, high = r.index->high;
  const bool known = low > INT32_MIN && high < INT32_MAX;
  require(!known || (low >= 0 && high + count <= static_cast<std::int64_t>(r.array->size)), "R1", [&] {
    return fmt::format("elements {} to {} of '{}', which has {}", low, high + count - 1, r.array->name, r.array->size);
  });
}

void Verifier::registers(const RegRef& r, std::int64_t count, const char* what) {
  if (r.index != nullptr) expr(r.index, what);
  elements(r, count, what);
}

void Verifier::fragment(const RegRef& r, std::int64_t count, DType type, const char* what) {
  registers(r, count, what);
  if (r.array == nullptr || r.index == nullptr) return;
  const bool type_fits = type == r.array->type || (type == DType::u16 && size_of(r.array->type) == 2);
  require(type_fits, "R3", [&] { return fmt::format("{} is of {} elements", what, name_of(r.array->type)); });
  const int per_register = size_of(r.array->type) >= 4 ? 1 : 4 / size_of(r.array->type);
  const bool aligned = r.index->divisor % per_register == 0;
  require(aligned, "R3",
          [&] { return fmt::format("{} begins at element '{}', within a 32-bit register", what, to_string(r.index)); });
}

void Verifier::vector(const RegRef& r, int count, const char* what) {
  registers(r, count, what);
  if (r.array == nullptr) return;
  const int bytes = count * size_of(r.array->type);
  require(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16, "R2",
          [&] { return fmt::format("{} moves {} bytes", what, bytes); });
}

void Verifier::global(const RegRef& r, int count, std::uint32_t param, const Expr* offset, const Expr* m,
                      const char* what) {
  vector(r, count, what);
  if (pointer(param, "T4") && r.array != nullptr) {
    require(kernel_.params[param].type == r.array->type, "T4", [&] {
      return fmt::format("{} moves {} through a pointer to {}", what, name_of(r.array->type),
                         name_of(kernel_.params[param].type));
    });
  }
  typed(offset, DType::i64, "T5", "the offset");
  mask(m);
}

void Verifier::address(const Expr* e) { typed(e, DType::u32, "T5", "the shared address"); }

void Verifier::count(std::uint32_t n) {
  require(n >= 1 && n <= most_mbarrier_count, "I3", [&] { return fmt::format("an mbarrier count of {}", n); });
}

void Verifier::statement(const Stmt* s) {
  loc_ = s->loc;
  seen_.clear();
  match(s, [&](const auto& n) { check(n); });
}

void Verifier::check(const Stmt& s) { fail("S3", fmt::format("{} belongs to the tile IR", name_of(s.kind))); }

void Verifier::check(const control::Let& n) {
  typed(n.init, n.value->type, "T2", "the value");
  define(n.value, n.value->name);
}

void Verifier::check(const control::DeclareVar& n) {
  typed(n.init, n.var->type, "T2", "the value");
  define(n.var, n.var->name);
}

void Verifier::check(const control::AssignVar& n) {
  require(visible_.count(n.var) != 0, "S1",
          [&] { return fmt::format("variable '{}' is assigned outside its scope", n.var->name); });
  typed(n.value, n.var->type, "T2", "the value");
}

void Verifier::check(const control::For& n) {
  for (const Expr* e : {n.begin, n.end, n.step}) typed(e, n.induction->type, "T2", "the bound");
  require(is_integer(n.induction->type), "T2", "a loop counts in integers");
  require(n.step == nullptr || !n.step->is_constant() || n.step->integer > 0, "T3", "the step is not positive");
  ++loops_;
  const std::size_t outer = order_.size();
  define(n.induction, n.induction->name);
  block(n.body);
  while (order_.size() > outer) {
    visible_.erase(order_.back());
    order_.pop_back();
  }
  --loops_;
}

void Verifier::check(const control::Loop& n) {
  ++loops_;
  block(n.body);
  --loops_;
}

void Verifier::check(const control::If& n) {
  typed(n.condition, DType::boolean, "T1", "the condition");
  block(n.then_body);
  block(n.else_body);
}

void Verifier::check(const control::Break&) { require(loops_ > 0, "S2", "a break outside every loop"); }

void Verifier::check(const control::Continue&) { require(loops_ > 0, "S2", "a continue outside every loop"); }

void Verifier::check(const DeclareRegs& n) {
  require(n.array->size > 0, "R1", [&] { return fmt::format("array '{}' is empty", n.array->name); });
  define(n.array, n.array->name);
}

void Verifier::check(const WriteRegs& n) {
  registers(n.dst, static_cast<std::int64_t>(n.values.size()), "the target");
  require(!n.values.empty(), "T2", "nothing is written");
  if (n.dst.array == nullptr) return;
  for (const Expr* e : n.values) typed(e, n.dst.array->type, "T2", "the value");
}

void Verifier::check(const LoadGlobalVector& n) { global(n.dst, n.count, n.param, n.offset, n.mask, "the load"); }

void Verifier::check(const StoreGlobalVector& n) {
  global(n.src, n.count, n.param, n.offset, n.mask, "the store");
  stored_.insert(n.param);
}

void Verifier::check(const LoadSharedVector& n) {
  vector(n.dst, n.count, "the load");
  address(n.address);
  peer(n.cta, "a load from");
}

void Verifier::check(const StoreSharedVector& n) {
  vector(n.src, n.count, "the store");
  address(n.address);
  mask(n.mask);
  peer(n.cta, "a store to");
}

}  // namespace tessera::ir::thread
