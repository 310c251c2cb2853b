// The thread IR's verifier as a class, so that the rules of different instruction families can stand in files of their
// own. The rules stand at the top of thread_verifier.cpp.
#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/lazy_text.hpp"
#include "ir/thread.hpp"
#include "tessera/core/error.hpp"

namespace tessera::ir::thread {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run();

 private:
  void fail(const char* rule, std::string message);
  template <class Message>
  bool require(bool holds, const char* rule, const Message& message) {
    if (!holds) fail(rule, text_of(message));
    return holds;
  }
  void check_kernel();
  void host(const Expr* e, const char* what);
  bool pointer(std::uint32_t param, const char* rule);
  void check_map(const TensorMap& m);
  void check_region(const SharedRegion& r);
  void check_written();

  // ---- scope ----
  void define(const void* what, const std::string& name);
  void block(const Block& body);

  // ---- expressions ----
  void expr(const Expr* e, const char* what);
  void check_binary(const Expr* e);
  void check_float8(const Expr* e);
  void typed(const Expr* e, DType type, const char* rule, const char* what);
  void mask(const Expr* e);

  // `count` elements from r.index on are an existing part of a visible array.
  void elements(const RegRef& r, std::int64_t count, const char* what);
  void registers(const RegRef& r, std::int64_t count, const char* what);
  void fragment(const RegRef& r, std::int64_t count, DType type, const char* what);
  void vector(const RegRef& r, int count, const char* what);
  void global(const RegRef& r, int count, std::uint32_t param, const Expr* offset, const Expr* m, const char* what);
  void address(const Expr* e);
  void count(std::uint32_t n);
  // A tensor map that exists, with a coordinate for each of its dimensions.
  bool box(std::uint32_t map, const std::vector<const Expr*>& coords);
  bool has_warpgroup(const char* rule, const char* what);
  void threads(int id, int first_id, int count);
  int cluster_size() const { return kernel_.cluster[0] * kernel_.cluster[1] * kernel_.cluster[2]; }

  // ---- statements ----
  void statement(const Stmt* s);
  void check(const Stmt& s);
  void check(const control::Let& n);
  void check(const control::DeclareVar& n);
  void check(const control::AssignVar& n);
  void check(const control::For& n);
  void check(const control::Loop& n);
  void check(const control::If& n);
  void check(const control::Break&);
  void check(const control::Continue&);
  void check(const DeclareRegs& n);
  void check(const WriteRegs& n);
  void check(const LoadGlobalVector& n);
  void check(const StoreGlobalVector& n);
  void check(const LoadSharedVector& n);
  void check(const StoreSharedVector& n);
  // thread_verifier_collective.cpp
  void check(const LdMatrix& n);
  void check(const StMatrix& n);
  void check(const MmaSync& n);
  void check(const WgmmaFence&);
  void check(const Wgmma& n);
  void check_descriptor(const MatrixDescriptor& d, const char* what);
  void check(const WgmmaCommit&);
  void check(const WgmmaWait& n);
  void check(const SetMaxRegisters& n);
  void check(const BarrierSync& n);
  void check(const BarrierArrive& n);
  void check(const WarpSync& n);
  void check(const CheckIndex& n);
  void check(const MbarrierInit& n);
  void check(const MbarrierArrive& n);
  void check(const MbarrierArriveExpectTx& n);
  void check(const MbarrierWait& n);
  void check(const TmaLoadBox& n);
  void check(const TmaStoreBox& n);
  void check(const TmaCommit&);
  void check(const TmaWait& n);
  void check(const TmaPrefetchBox& n);
  void check(const PrefetchTensorMap& n);
  void check(const ClusterArrive&);
  void check(const ClusterWait&);
  void check(const GridDependency&);
  void check(const SignalFlag& n);
  void check(const WaitFlag& n);
  void flag(std::uint32_t param, const Expr* offset, const Expr* value);
  void peer(const Expr* cta, const char* what);  // null: this CTA
  void check(const Fence&);
  void check(const PrintThread& n);
  void check(const Comment&);

  const Kernel& kernel_;
  SourceLoc loc_;
  std::vector<Diagnostic> found_;
  std::unordered_set<const void*> visible_, ever_;
  std::unordered_set<const Expr*> seen_;
  std::vector<const void*> order_;  // what is visible, innermost last
  std::set<std::uint32_t> stored_;
  int loops_ = 0;
};

}  // namespace tessera::ir::thread
