// Which mutations a kernel has.
#include <fmt/format.h>

#include "check/mutate.hpp"
#include "check/shorten_ring.hpp"
#include "check/sync_statements.hpp"
#include "ir/match.hpp"

namespace tessera::checker {
using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int most_pending_wgmma = 7;
constexpr std::int64_t tma_unit = 16;  // bytes
constexpr int warp_threads = 32;

class List {
 public:
  explicit List(const thread::Kernel& kernel) : kernel_(kernel) {}

  std::vector<Mutation> all() {
    block(kernel_.body);
    for (const Ring& ring : rings(kernel_)) {
      const thread::SharedRegion& r = kernel_.regions[ring.region];
      const std::string kind = "ring of tiles shortened";
      out_.push_back(
          {Change::shorten_ring, StmtKind::thread_Comment, kind, r.loc,
           fmt::format("line {}: {}, the last of {}'s {} slots is the first", r.loc.line, kind, r.name, ring.slots),
           ring.region, ring.slots});
    }
    return std::move(out_);
  }

 private:
  void block(const Block& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      place_ = number_++;
      stmt_ = body[i];
      statement();
      if (sync_of(stmt_) != nullptr) places(body, i);
      for_each_child_block(body[i], [&](const Block& nested) { block(nested); });
    }
  }

  void add(Change change, const Stmt* about, const std::string& what, std::int64_t amount = 0) {
    std::string kind = fmt::format("{} {}", sync_name(about), what);
    std::string text = fmt::format("line {}: {}", about->loc.line, kind);
    out_.push_back({change, about->kind, std::move(kind), about->loc, std::move(text), place_, amount});
  }

  void statement() {
    if (sync_name(stmt_) != nullptr) add(Change::erase, stmt_, "deleted");
    match(stmt_, overloaded{[&](const thread::MbarrierInit& n) { arrivals(static_cast<int>(n.count)); },
                            [&](const thread::MbarrierArrive& n) {
                              arrivals(static_cast<int>(n.count));
                              if (n.cta != nullptr) add(Change::own_block, &n, "to its own block");
                            },
                            [&](const thread::MbarrierArriveExpectTx&) { bytes(); },
                            [&](const thread::MbarrierWait& n) { add(Change::parity, &n, "with the parity flipped"); },
                            [&](const thread::SignalFlag& n) { add(Change::flag_value, &n, "with one more", 1); },
                            [&](const thread::WaitFlag& n) { add(Change::flag_value, &n, "for one more", 1); },
                            [&](const thread::BarrierSync& n) { threads(n.threads); },
                            [&](const thread::BarrierArrive& n) { threads(n.threads); },
                            [&](const thread::WgmmaWait& n) {
                              if (n.pending < most_pending_wgmma) deeper();
                            },
                            [&](const thread::TmaWait& n) {
                              deeper();
                              if (!n.read) add(Change::read_only, &n, "only for reads");
                            },
                            [&](const thread::TmaLoadBox& n) {
                              if (n.multicast != nullptr) only_here(n);
                            },
                            [&](const control::AssignVar& n) { counter(n); }, [&](const Stmt&) {}});
  }

  void arrivals(int count) {
    add(Change::count, stmt_, "with one arrival more", 1);
    if (count > 1) add(Change::count, stmt_, "with one arrival less", -1);
  }
  void bytes() {
    add(Change::bytes, stmt_, "with 16 bytes more", tma_unit);
    add(Change::bytes, stmt_, "with 16 bytes less", -tma_unit);
    add(Change::half_bytes, stmt_, "with half the bytes");
  }
  void threads(int count) {
    if (count > warp_threads) add(Change::count, stmt_, "with a warp less", -warp_threads);
    add(Change::count, stmt_, "with a warp more", warp_threads);
  }
  void deeper() { add(Change::count, stmt_, "with one more group left pending", 1); }
  void only_here(const thread::TmaLoadBox& n) {
    const std::string kind = "tma.load without its multicast";
    out_.push_back(
        {Change::no_multicast, n.kind, kind, n.loc, fmt::format("line {}: {}", n.loc.line, kind), place_, 0});
  }
  void counter(const control::AssignVar& n) {
    if (end_of_round(n) == nullptr) return;
    const std::string kind = "counter of slots shortened";
    std::string text = fmt::format("line {}: {}, {}", n.loc.line, kind, n.var->name);
    out_.push_back({Change::shorten_round, n.kind, kind, n.loc, std::move(text), place_, 0});
  }

  static bool is_moved(const Stmt* sync) {
    return sync != nullptr && sync->kind != StmtKind::thread_MbarrierInit &&
           sync->kind != StmtKind::thread_SetMaxRegisters;
  }
  void places(const Block& body, std::size_t i) {
    const Stmt* sync = sync_of(stmt_);
    if (!is_moved(sync)) return;
    for (const Change change : {Change::later, Change::earlier}) {
      const bool later = change == Change::later;
      const auto to = destination(body, i, later ? 1 : -1);
      if (!to) continue;
      if (!later && is_moved(sync_of(body[*to])) && destination(body, *to, 1) == i) continue;  // the same exchange
      add(change, sync, later ? "moved behind the next" : "moved before the previous");
      const Stmt* passed = body[*to];
      const Stmt* other = sync_of(passed);
      out_.back().text += fmt::format(" statement ({} of line {})",
                                      other != nullptr ? sync_name(other) : name_of(passed->kind), passed->loc.line);
    }
  }

  const thread::Kernel& kernel_;
  std::vector<Mutation> out_;
  std::size_t number_ = 0, place_ = 0;
  const Stmt* stmt_ = nullptr;
};

}  // namespace

std::vector<Mutation> mutations(const thread::Kernel& kernel) { return List(kernel).all(); }

}  // namespace tessera::checker
