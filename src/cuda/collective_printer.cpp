// Tensor cores, mbarriers and tensor copies.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/stmt_printer.hpp"
#include "cuda/tma_helpers.hpp"
#include "cuda/wgmma_helpers.hpp"

namespace tessera::cuda {

using namespace ir;  // NOLINT(google-build-using-namespace): this file is about nothing else

void StmtPrinter::print(const thread::LdMatrix& s) {
  const std::string name = fmt::format("ldmatrix_x{}{}", s.matrices, s.transposed ? "_trans" : "");
  call(&s, name.c_str(), {register_pointer(&s, s.dst), exprs_.text(s.address)});
}

void StmtPrinter::print(const thread::StMatrix& s) {
  const std::string name = fmt::format("stmatrix_x{}{}", s.matrices, s.transposed ? "_trans" : "");
  call(&s, name.c_str(), {register_pointer(&s, s.src), exprs_.text(s.address)});
}

void StmtPrinter::print(const thread::MmaSync& s) {
  const std::string name = fmt::format("mma_m16n8k16_{}_{}", s.operand_type == DType::f16 ? "f16" : "bf16",
                                       s.accumulator_type == DType::f32 ? "f32" : "f16");
  prelude_.use(name);
  line(&s, fmt::format("{}({}, {}, {});", name, register_pointer(&s, s.d), register_pointer(&s, s.a),
                       register_pointer(&s, s.b)));
}

void StmtPrinter::print(const thread::Wgmma& s) {
  const std::string name = wgmma_function(s);
  prelude_.use("wgmma:" + name);
  const auto descriptor = [&](const thread::MatrixDescriptor& d) {
    return fmt::format("{}, {:#010x}u", exprs_.text(d.low), d.high);
  };
  const std::string a = s.a_registers.array != nullptr ? register_pointer(&s, s.a_registers) : descriptor(s.a);
  line(&s, fmt::format("{}({}, {}, {}, {});", name, register_pointer(&s, s.d), a, descriptor(s.b),
                       s.accumulate == nullptr ? "1" : exprs_.text(s.accumulate)));
}

void StmtPrinter::print(const thread::WgmmaWait& s) {
  std::string code = fmt::format("asm volatile(\"wgmma.wait_group.sync.aligned {};\" ::: \"memory\");", s.pending);
  for (const RegArray* a : s.results) {
    const int per_word = std::max(1, 4 / size_of(a->type));
    const char* type = per_word > 1 ? "unsigned" : cuda_type(a->type);
    const std::string name = keep_function(type, (static_cast<int>(a->size) + per_word - 1) / per_word);
    prelude_.use("keep:" + name);
    code += fmt::format(" {}({});", name, names_.of(a));
  }
  line(&s, code);
}

void StmtPrinter::print(const thread::MbarrierArrive& s) {
  const std::string address = exprs_.text(s.address), count = std::to_string(s.count);
  if (s.cta == nullptr) return call(&s, "mbarrier_arrive", {address, count});
  call(&s, "mbarrier_arrive_cta", {address, exprs_.text(s.cta), count});
}

std::string StmtPrinter::coordinates(const std::vector<const Expr*>& coords) {
  std::string out;
  for (const Expr* c : coords) out += (out.empty() ? "" : ", ") + exprs_.text(c);
  return out;
}

void StmtPrinter::print(const thread::TmaLoadBox& s) {
  const bool multicast = s.multicast != nullptr, hint = s.hint != CacheHint::none;
  const std::string name = tma_function(TmaKind::load, s.coords.size(), multicast, hint);
  prelude_.use(multicast || hint ? "tma:" + name : name);
  std::string options;
  if (multicast) options += ", " + exprs_.text(s.multicast);
  if (hint) options += ", " + policy_text(s.hint);
  line(&s, fmt::format("{}({}, &{}, {}, {}{});", name, exprs_.text(s.destination), maps_.at(s.map),
                       coordinates(s.coords), exprs_.text(s.barrier), options));
}

void StmtPrinter::print(const thread::TmaStoreBox& s) {
  const bool hint = s.hint != CacheHint::none;
  const std::string name = tma_function(s.add ? TmaKind::reduce_add : TmaKind::store, s.coords.size(), false, hint);
  prelude_.use("tma:" + name);
  line(&s, fmt::format("{}({}, &{}, {}{});", name, exprs_.text(s.source), maps_.at(s.map), coordinates(s.coords),
                       hint ? ", " + policy_text(s.hint) : ""));
}

void StmtPrinter::print(const thread::TmaPrefetchBox& s) {
  const std::string name = tma_function(TmaKind::prefetch, s.coords.size(), false, false);
  prelude_.use("tma:" + name);
  line(&s, fmt::format("{}(&{}, {});", name, maps_.at(s.map), coordinates(s.coords)));
}

}  // namespace tessera::cuda
