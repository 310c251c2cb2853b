#include "cuda/tma_helpers.hpp"

#include <fmt/format.h>

#include "tessera/core/error.hpp"

namespace tessera::cuda {
namespace {

constexpr const char* kind_names[] = {"load", "store", "reduce_add", "prefetch"};

struct Copy {
  TmaKind kind = TmaKind::load;
  std::size_t rank = 0;
  bool multicast = false, hint = false;
};

// Every function there is, by name. Plain loads stand in the prelude's table.
bool parse(std::string_view name, Copy* copy) {
  if (name.substr(0, 4) != "tma_") return false;
  for (const TmaKind kind : {TmaKind::load, TmaKind::store, TmaKind::reduce_add, TmaKind::prefetch})
    for (std::size_t rank = 1; rank <= 5; ++rank)
      for (const bool multicast : {false, true})
        for (const bool hint : {false, true}) {
          const bool plain_load = kind == TmaKind::load && !multicast && !hint;
          const bool exists =
              !plain_load && (kind == TmaKind::load || !multicast) && (kind != TmaKind::prefetch || !hint);
          if (!exists || name != tma_function(kind, rank, multicast, hint)) continue;
          *copy = {kind, rank, multicast, hint};
          return true;
        }
  return false;
}

// Collects the operands of an asm statement, numbered in order.
struct Operands {
  std::string list;
  int count = 0;
  std::string add(const char* constraint, const std::string& value) {
    list += fmt::format("{}\"{}\"({})", list.empty() ? "" : ", ", constraint, value);
    return fmt::format("%{}", count++);
  }
};

const char* opcode(TmaKind kind) {
  switch (kind) {
    case TmaKind::load: return "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    case TmaKind::store: return "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group";
    case TmaKind::reduce_add: return "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.add.tile.bulk_group";
    case TmaKind::prefetch: return "cp.async.bulk.prefetch.tensor.{}d.L2.global.tile";
  }
  return "";
}

}  // namespace

std::string tma_function(TmaKind kind, std::size_t rank, bool multicast, bool hint) {
  return fmt::format("tma_{}_{}d{}{}", kind_names[static_cast<int>(kind)], rank, multicast ? "_multicast" : "",
                     hint ? "_hint" : "");
}

bool is_tma_helper_name(std::string_view identifier) {
  Copy copy;
  return parse(identifier, &copy);
}

std::string tma_helper(std::string_view key) {
  Copy copy;
  if (key.substr(0, 4) != "tma:" || !parse(key.substr(4), &copy))
    throw Error(ErrorKind::internal, {}, fmt::format("the CUDA prelude has no helper '{}'", key));
  static constexpr const char* axes[] = {"x", "y", "z", "w", "v"};
  const bool load = copy.kind == TmaKind::load, prefetch = copy.kind == TmaKind::prefetch;
  Operands in;
  std::string signature, coords;
  const std::string shared = prefetch ? "" : in.add("r", load ? "dst" : "src");
  const std::string map = in.add("l", "map");
  for (std::size_t i = 0; i < copy.rank; ++i) {
    coords += (i > 0 ? ", " : "") + in.add("r", axes[i]);
    signature += fmt::format(", int {}", axes[i]);
  }
  const std::string box = fmt::format("[{}, {{{}}}]", map, coords);
  std::string code = fmt::format(fmt::runtime(opcode(copy.kind)), copy.rank), operands = box;
  if (load) {
    operands = fmt::format("[{}], {}, [{}]", shared, box, in.add("r", "barrier"));
    signature += ", unsigned barrier";
  } else if (!prefetch) {
    operands = fmt::format("{}, [{}]", box, shared);
  }
  if (copy.multicast) {
    code += ".multicast::cluster";
    operands += ", " + in.add("h", "(unsigned short)ctas");
    signature += ", unsigned ctas";
  }
  if (copy.hint) {
    code += ".L2::cache_hint";
    operands += ", " + in.add("l", "policy");
    signature += ", unsigned long long policy";
  }
  const char* first = prefetch ? "" : load ? "unsigned dst, " : "unsigned src, ";
  return fmt::format(
      "DEVICE void {}({}const TensorMap* map{}) {{\n"
      "  asm volatile(\"{} \"\n               \"{};\"\n               :: {} : \"memory\");\n}}\n",
      key.substr(4), first, signature, code, operands, in.list);
}

std::string policy_text(ir::CacheHint hint) {
  switch (hint) {
    case ir::CacheHint::none: break;
    case ir::CacheHint::evict_first: return "0x12f0000000000000ull";
    case ir::CacheHint::evict_normal: return "0x1000000000000000ull";
    case ir::CacheHint::evict_last: return "0x14f0000000000000ull";
  }
  return "";
}

}  // namespace tessera::cuda
