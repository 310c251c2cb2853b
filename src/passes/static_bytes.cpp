// Bytes that are announced on mbarriers and bytes that copies deliver.
//
// Over a whole run the two are equal, or a phase is left that never completes or completes too early. The difference
// is bounded from the text, as a sum over statements times the number of their executions. Where it has one sign for
// the whole kernel, nothing makes up for a loop body or branch whose own difference is certainly not 0: whenever that
// part is executed, the kernel goes wrong. A part that only announces or only copies may have its counterpart outside,
// and is not what is wrong. In a cluster the sums are over all its blocks, so that it does not matter
// which of them executes what.
#include <fmt/format.h>

#include <bit>

#include "passes/barrier_uses.hpp"
#include "passes/static_hazards.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t most_notes = 8;

// How many blocks of the cluster a copy goes to.
Interval receivers(const tile::Kernel& kernel, const tile::TmaLoad& copy) {
  if (copy.multicast == nullptr) return {1, 1};
  if (!copy.multicast->is_constant()) return {1, kernel.cluster_size()};
  const int n = std::popcount(static_cast<std::uint64_t>(copy.multicast->integer));
  return {n, n};
}

class BytesOfBarrier {
 public:
  // Of one barrier of the array, or (-1) of all of them together.
  BytesOfBarrier(const ProgramFacts& facts, const tile::BarrierArray* array, std::int64_t index, HazardList& out)
      : facts_(facts), array_(array), index_(index), size_(facts.kernel().cluster_size()), out_(out) {}

  // Whether it found something.
  bool check() {
    Totals net(
        facts_, [&](const Stmt& s, const tile::Group& g) { return of_cluster(weigh(s, g, true, true)); }, size_);
    const Interval total = net.of_kernel();
    const bool more = total.low >= 0, fewer = total.high <= 0;  // than delivered, announced
    if (more == fewer) return false;
    bool found = false;
    std::vector<bool> covered(net.parts().size(), false);  // a part of it is reported
    const Uses all = uses_in(facts_.kernel().body);
    for (std::size_t i = 0; i < net.parts().size(); ++i) {
      const Totals::Part& part = net.parts()[i];
      for (std::size_t j = part.first_inner; j < i; ++j) covered[i] = covered[i] || covered[j];
      if (covered[i] || !(more ? part.once.low > 0 : part.once.high < 0)) continue;
      const Uses uses = uses_in(*part.block);
      if (uses.announcing.empty() != all.announcing.empty() || uses.copies.empty() != all.copies.empty()) continue;
      covered[i] = found = true;
      report(*part.block, uses, more);
    }
    return found;
  }

 private:
  struct Uses {
    std::vector<const tile::ArriveExpectTx*> announcing;
    std::vector<const tile::TmaLoad*> copies;
  };

  bool is_meant(const tile::BarrierRef& b) const {
    return b.array == array_ && (index_ < 0 || b.index->is_constant(index_));
  }

  Interval of_cluster(Interval block) const { return repeat(block, {size_, size_}); }

  Interval weigh(const Stmt& s, const tile::Group& group, bool announced, bool delivered) const {
    if (const auto* e = as<tile::ArriveExpectTx>(&s); e != nullptr && announced && is_meant(e->barrier)) {
      return repeat({std::max<std::int64_t>(e->bytes->low, 0), e->bytes->high}, {group.threads(), group.threads()});
    }
    if (const auto* c = as<tile::TmaLoad>(&s); c != nullptr && delivered && is_meant(c->barrier)) {
      const Interval blocks = receivers(facts_.kernel(), *c);
      if (announced) return repeat({-c->dst->bytes(), -c->dst->bytes()}, blocks);
      return repeat({c->dst->bytes(), c->dst->bytes()}, blocks);
    }
    return {};
  }

  static std::string text(Interval bytes) {
    if (bytes.low == bytes.high) return fmt::format("{}", bytes.low);
    if (bytes.high >= unbounded) return fmt::format("{} or more", bytes.low);
    return fmt::format("{} to {}", bytes.low, bytes.high);
  }

  void report(const Block& block, const Uses& uses, bool more) {
    const auto& [announcing, copies] = uses;
    const auto sum = [&](bool announced) {
      Totals t(
          facts_, [&](const Stmt& s, const tile::Group& g) { return of_cluster(weigh(s, g, announced, !announced)); },
          size_);
      const Interval all = t.of(block, group_of(block));
      return Interval{all.low / size_, all.high >= unbounded ? unbounded : all.high / size_};
    };
    const auto& barrier = announcing.empty() ? copies.front()->barrier : announcing.front()->barrier;
    const std::string name = name_of(barrier);
    Diagnostic d;
    if (announcing.size() > 1) {
      for (const auto* e : announcing) d.notes.push_back({e->loc, fmt::format("announces {}", text(e))});
    }
    for (const auto* c : copies) d.notes.push_back({c->loc, fmt::format("copies {}", text(c))});
    if (announcing.empty()) {
      d.loc = copies.front()->loc;
      d.message =
          fmt::format("copies of {} bytes complete on '{}', on which nobody announces any", text(sum(false)), name);
      d.help = "one thread calls mbarrier.arrive_and_expect_tx() with the bytes of all copies of a phase";
    } else {
      d.loc = announcing.front()->loc;
      d.message = copies.empty() ? fmt::format("{} bytes are announced on '{}', but no copy completes on it",
                                               text(sum(true)), name)
                                 : fmt::format("{} bytes are announced on '{}', but its copies deliver {}",
                                               text(sum(true)), name, text(sum(false)));
      d.help = more
                   ? "announce the bytes of the copies that complete on the barrier, no more: the phase never ends"
                   : "announce the bytes of all copies that complete on the barrier: the phase ends before they are in";
    }
    if (d.notes.size() > most_notes) d.notes.resize(most_notes);
    out_.add(Hazard::barrier_bytes, true, name, std::move(d));
  }

  std::string text(const tile::ArriveExpectTx* e) const { return text(weigh(*e, facts_.site(e).group, true, false)); }
  std::string text(const tile::TmaLoad* c) const {
    const Interval blocks = receivers(facts_.kernel(), *c);
    const std::int64_t bytes = c->dst->bytes();
    return blocks == Interval{1, 1} ? text({bytes, bytes}) : fmt::format("{} times {}", text(blocks), bytes);
  }

  Uses uses_in(const Block& block) const {
    Uses uses;
    const std::function<void(const Block&)> collect = [&](const Block& statements) {
      for (const Stmt* s : statements) {
        if (const auto* e = as<tile::ArriveExpectTx>(s); e && is_meant(e->barrier)) uses.announcing.push_back(e);
        if (const auto* c = as<tile::TmaLoad>(s); c && is_meant(c->barrier)) uses.copies.push_back(c);
        for_each_child_block(s, collect);
      }
    };
    collect(block);
    return uses;
  }
  tile::Group group_of(const Block& block) const {
    return block.empty() ? facts_.kernel().root_group() : facts_.site(block.front()).group;
  }

  const ProgramFacts& facts_;
  const tile::BarrierArray* array_;
  std::int64_t index_;
  int size_;  // of the cluster
  HazardList& out_;
};

}  // namespace

void check_barrier_bytes(const ProgramFacts& facts, HazardList& out) {
  for (const tile::BarrierArray* array : facts.kernel().barriers) {
    bool constant = true, arrives = false, waits = false;
    for (const BarrierUse& use : barrier_uses(facts, array)) {
      constant = constant && use.barrier->index->is_constant();
      arrives = arrives || use.arrives();
      waits = waits || use.kind == BarrierUse::Kind::wait;
    }
    if (!arrives && waits) continue;  // nothing ends the waits, which is the mistake to show
    if (!constant) {
      BytesOfBarrier(facts, array, -1, out).check();
      continue;
    }
    for (std::size_t i = 0; i < array->counts.size(); ++i) {
      if (BytesOfBarrier(facts, array, static_cast<std::int64_t>(i), out).check()) break;  // the others are alike
    }
  }
}

}  // namespace tessera::passes
