// The rules of the instructions that warps or warpgroups execute together, and of the asynchronous ones.
#include <fmt/format.h>

#include "ir/thread_verifier.hpp"
#include "ir/wgmma_shape.hpp"

namespace tessera::ir::thread {
namespace {

constexpr std::int64_t most_bytes = (1 << 20) - 1;  // that an mbarrier can expect

}  // namespace

void Verifier::check(const LdMatrix& n) {
  require(n.matrices == 1 || n.matrices == 2 || n.matrices == 4, "I1",
          [&] { return fmt::format("ldmatrix of {} matrices", n.matrices); });
  fragment(n.dst, 2 * n.matrices, DType::u16, "the target of ldmatrix");
  address(n.address);
}

void Verifier::check(const StMatrix& n) {
  require(n.matrices == 1 || n.matrices == 2 || n.matrices == 4, "I1",
          [&] { return fmt::format("stmatrix of {} matrices", n.matrices); });
  fragment(n.src, 2 * n.matrices, DType::u16, "the source of stmatrix");
  address(n.address);
}

void Verifier::check(const MmaSync& n) {
  const bool known =
      (n.operand_type == DType::f16 && (n.accumulator_type == DType::f32 || n.accumulator_type == DType::f16)) ||
      (n.operand_type == DType::bf16 && n.accumulator_type == DType::f32);
  require(known, "I1",
          [&] { return fmt::format("mma of {} into {}", name_of(n.operand_type), name_of(n.accumulator_type)); });
  fragment(n.d, 4, n.accumulator_type, "the accumulator");
  fragment(n.a, 8, n.operand_type, "operand a");
  fragment(n.b, 4, n.operand_type, "operand b");
}

void Verifier::check(const WgmmaFence&) { has_warpgroup("I6", "wgmma.fence"); }

void Verifier::check(const Wgmma& n) {
  has_warpgroup("I6", "wgmma");
  const std::string wrong = wgmma_shape_error(n.a_type, n.b_type, n.accumulator_type, n.n);
  require(wrong.empty(), "I6", wrong);
  fragment(n.d, n.n / 2, n.accumulator_type, "the accumulator of wgmma");
  const bool from_registers = n.a_registers.array != nullptr;
  if (from_registers) {
    fragment(n.a_registers, 16 / size_of(n.a_type), n.a_type, "operand a of wgmma");
    require(n.a.low == nullptr, "I6", "wgmma has operand a both in registers and in shared memory");
  } else {
    check_descriptor(n.a, "a");
  }
  check_descriptor(n.b, "b");
  require(!(n.a_mn_major && from_registers), "I6", "wgmma has an MN-major operand a in registers");
  require(!(n.a_mn_major || n.b_mn_major) || size_of(n.a_type) == 2, "I6",
          [&] { return fmt::format("wgmma has an MN-major operand of {}", name_of(n.a_type)); });
  require(!(n.negate_a || n.negate_b) || n.accumulator_type != DType::i32, "I6", "wgmma negates integers");
  mask(n.accumulate);
}

void Verifier::check_descriptor(const MatrixDescriptor& d, const char* what) {
  constexpr std::uint32_t stride_and_swizzle = 0xc0003fffU;
  typed(d.low, DType::u32, "T5", "the low word of a descriptor");
  require((d.high & ~stride_and_swizzle) == 0, "I6",
          [&] { return fmt::format("the high word {:#010x} of operand {}'s descriptor", d.high, what); });
}

void Verifier::check(const WgmmaCommit&) { has_warpgroup("I6", "wgmma.commit_group"); }

void Verifier::check(const WgmmaWait& n) {
  has_warpgroup("I6", "wgmma.wait_group");
  require(n.pending >= 0 && n.pending <= 7, "I6", [&] { return fmt::format("wgmma.wait_group {}", n.pending); });
  for (const RegArray* a : n.results)
    require(visible_.count(a) != 0, "S1", [&] { return fmt::format("array '{}' is used outside its scope", a->name); });
}

void Verifier::check(const SetMaxRegisters& n) {
  has_warpgroup("I7", "setmaxnreg");
  require(n.count >= 24 && n.count <= 256 && n.count % 8 == 0, "I7",
          [&] { return fmt::format("setmaxnreg {}", n.count); });
}

bool Verifier::has_warpgroup(const char* rule, const char* what) {
  return require(kernel_.warps >= 4, rule, [&] { return fmt::format("{} in a CTA of {} warps", what, kernel_.warps); });
}

void Verifier::threads(int id, int first_id, int count) {
  require(id >= first_id && id <= 15, "I2", [&] { return fmt::format("barrier {}", id); });
  require(count > 0 && count % 32 == 0 && count <= 32 * kernel_.warps, "I2",
          [&] { return fmt::format("a barrier of {} threads in a CTA of {}", count, 32 * kernel_.warps); });
}

void Verifier::check(const BarrierSync& n) { threads(n.id, 0, n.threads); }

void Verifier::check(const BarrierArrive& n) { threads(n.id, 1, n.threads); }

void Verifier::check(const WarpSync& n) { require(n.mask != 0, "I5", "warp.sync of no lane"); }

void Verifier::check(const CheckIndex& n) {
  expr(n.index, "the index");
  require(n.index->type == DType::i32, "R1", "a checked index that is not i32");
  require(n.count > 0, "R1", "an index into nothing");
}

void Verifier::check(const MbarrierInit& n) {
  address(n.address);
  count(n.count);
}

void Verifier::check(const MbarrierArrive& n) {
  address(n.address);
  count(n.count);
  peer(n.cta, "an arrive at");
}

void Verifier::peer(const Expr* cta, const char* what) {
  if (cta == nullptr) return;
  typed(cta, DType::u32, "T5", "the rank of the CTA");
  require(cluster_size() > 1, "I8", [&] { return fmt::format("{} another CTA without a cluster", what); });
  require(!cta->is_constant() || cta->integer < cluster_size(), "I8",
          [&] { return fmt::format("{} CTA {} of a cluster of {}", what, cta->integer, cluster_size()); });
}

void Verifier::check(const MbarrierArriveExpectTx& n) {
  address(n.address);
  typed(n.bytes, DType::u32, "T5", "the byte count");
  if (n.bytes != nullptr && n.bytes->is_constant()) {
    require(n.bytes->integer >= 1 && n.bytes->integer <= most_bytes, "I3",
            [&] { return fmt::format("{} bytes expected", n.bytes->integer); });
  }
}

void Verifier::check(const MbarrierWait& n) {
  address(n.address);
  typed(n.parity, DType::u32, "T5", "the parity");
  const bool constant = n.parity != nullptr && n.parity->is_constant();
  require(!constant || n.parity->integer == 0 || n.parity->integer == 1, "I3", "the parity is neither 0 nor 1");
}

bool Verifier::box(std::uint32_t map, const std::vector<const Expr*>& coords) {
  for (const Expr* e : coords) typed(e, DType::i32, "T5", "the coordinate");
  if (!require(map < kernel_.tensor_maps.size(), "I4", [&] { return fmt::format("there is no tensor map {}", map); }))
    return false;
  const std::size_t rank = kernel_.tensor_maps[map].box.size();
  return require(coords.size() == rank, "I4",
                 [&] { return fmt::format("{} coordinates for a tensor map of rank {}", coords.size(), rank); });
}

void Verifier::check(const TmaLoadBox& n) {
  address(n.destination);
  address(n.barrier);
  box(n.map, n.coords);
  if (n.multicast == nullptr) return;
  typed(n.multicast, DType::u32, "T5", "the multicast mask");
  require(cluster_size() > 1, "I8", "a multicast without a cluster");
  const bool names_ctas = n.multicast->integer > 0 && n.multicast->integer < std::int64_t{1} << cluster_size();
  require(!n.multicast->is_constant() || names_ctas, "I8", [&] {
    return fmt::format("a multicast to CTAs {:#x} of a cluster of {}", n.multicast->integer, cluster_size());
  });
}

void Verifier::check(const TmaStoreBox& n) {
  address(n.source);
  if (!box(n.map, n.coords)) return;
  const TensorMap& map = kernel_.tensor_maps[n.map];
  stored_.insert(map.param);
  const DType t = map.type;
  const bool summed =
      t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::i32 || t == DType::u32 || t == DType::u64;
  require(!n.add || summed, "I4", [&] { return fmt::format("a reduction of {}", name_of(t)); });
}

void Verifier::check(const TmaCommit&) {}

void Verifier::check(const TmaWait& n) {
  require(n.pending >= 0, "I4", [&] { return fmt::format("a wait for {} pending groups of copies", n.pending); });
}

void Verifier::check(const TmaPrefetchBox& n) { box(n.map, n.coords); }

void Verifier::check(const PrefetchTensorMap& n) {
  require(n.map < kernel_.tensor_maps.size(), "I4", [&] { return fmt::format("there is no tensor map {}", n.map); });
}

void Verifier::check(const ClusterArrive&) {}

void Verifier::check(const ClusterWait&) {}

void Verifier::check(const GridDependency&) {}

void Verifier::flag(std::uint32_t param, const Expr* offset, const Expr* value) {
  if (pointer(param, "T4")) {
    const DType type = kernel_.params[param].type;
    require(type == DType::u32, "T4", fmt::format("a flag in memory of {}", name_of(type)));
  }
  typed(offset, DType::i64, "T5", "the offset");
  typed(value, DType::u32, "T5", "the flag's value");
}

void Verifier::check(const SignalFlag& n) {
  flag(n.param, n.offset, n.value);
  stored_.insert(n.param);
}

void Verifier::check(const WaitFlag& n) { flag(n.param, n.offset, n.value); }

void Verifier::check(const Fence&) {}

void Verifier::check(const PrintThread& n) {
  for (const Expr* e : n.args) expr(e, "the argument");
  require(n.pieces.size() == n.args.size() + 1, "I5",
          [&] { return fmt::format("{} pieces for {} arguments", n.pieces.size(), n.args.size()); });
}

void Verifier::check(const Comment&) {}

}  // namespace tessera::ir::thread
