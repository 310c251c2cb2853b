#include "passes/barrier_uses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

std::optional<BarrierUse> use_at(const Site& site) {
  using Kind = BarrierUse::Kind;
  const std::int64_t threads = site.group.threads();
  if (const auto* s = as<tile::ArriveBarrier>(site.stmt)) {
    return BarrierUse{Kind::arrive, &site, &s->barrier, threads * s->count, s->cta != nullptr};
  }
  if (const auto* s = as<tile::ArriveExpectTx>(site.stmt)) return BarrierUse{Kind::expect, &site, &s->barrier, threads};
  if (const auto* s = as<tile::TmaLoad>(site.stmt)) return BarrierUse{Kind::copy, &site, &s->barrier};
  if (const auto* s = as<tile::WaitBarrier>(site.stmt)) return BarrierUse{Kind::wait, &site, &s->barrier};
  return std::nullopt;
}

}  // namespace

BarrierUses barrier_uses(const ProgramFacts& facts, const tile::BarrierArray* array) {
  BarrierUses result;
  for (const Site& site : facts.walk().sites) {
    if (const auto use = use_at(site); use && use->barrier->array == array) result.push_back(*use);
  }
  return result;
}

Interval index_of(const tile::BarrierRef& barrier) {
  const auto last = static_cast<std::int64_t>(barrier.array->counts.size()) - 1;
  return {std::clamp<std::int64_t>(barrier.index->low, 0, last),
          std::clamp<std::int64_t>(barrier.index->high, 0, last)};
}

bool may_be_same(const tile::BarrierRef& a, const tile::BarrierRef& b) {
  const Interval x = index_of(a), y = index_of(b);
  return a.array == b.array && x.low <= y.high && y.low <= x.high;
}

std::string name_of(const tile::BarrierRef& barrier) {
  const std::string& name = barrier.array->name;
  const std::string array = name.empty() ? fmt::format("mbarrier {}", barrier.array->id) : name;
  return barrier.array->counts.size() == 1 ? array : fmt::format("{}[{}]", array, to_string(barrier.index));
}

std::string arrivals_text(std::int64_t n) { return n == 1 ? "1 arrival" : fmt::format("{} arrivals", n); }

}  // namespace tessera::passes
