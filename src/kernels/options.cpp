#include "kernels/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/programs.hpp"

namespace tessera::kernels {

namespace {

constexpr std::size_t tuned_configs = 20;                         // of PersistentMatmul and PitchMatmul
constexpr std::size_t tuned_split_configs = 6, tuned_splits = 3;  // of SplitMatmul
constexpr std::size_t tuned_shared_configs = 14;                  // the same where CTAs of a cluster may share k

template <class Config>
using Candidates = std::shared_ptr<const std::vector<Estimated<Config>>>;

template <class Config>
std::vector<Config> picked(const std::vector<Estimated<Config>>& candidates, const std::vector<std::size_t>& which) {
  std::vector<Config> result;
  for (const std::size_t i : which) result.push_back(candidates.at(i).config);
  return result;
}

// All but how it is made. `program`: of configurations.
template <class Config, class Program>
Option option_of(std::string name, std::string script, const Candidates<Config>& candidates, double extra_us,
                 std::size_t most, Program program) {
  Option option;
  option.choice = {std::move(name), {}, candidates->front().us + extra_us, 0};
  option.script = std::move(script);
  option.most = most;
  for (const Estimated<Config>& candidate : *candidates) option.us.push_back(candidate.us);
  option.configs = [candidates, program = std::move(program)] {
    std::vector<Config> configs;
    for (const Estimated<Config>& candidate : *candidates) configs.push_back(candidate.config);
    std::vector<std::string> texts;
    for (const detail::Candidate& candidate : program(configs).candidates) texts.push_back(candidate.config);
    return texts;
  };
  return option;
}

template <class Config>
Candidates<Config> shared(std::vector<Estimated<Config>> candidates) {
  return std::make_shared<const std::vector<Estimated<Config>>>(std::move(candidates));
}

// Whether there are so few tiles, or so few rows, that SplitMatmul is worth a look.
bool few_tiles(const Extents& e, const PersistentConfig& c) {
  const std::int64_t tiles = (e.m + c.block_m - 1) / c.block_m * ((e.n + c.block_n - 1) / c.block_n);
  return e.m <= 256 || tiles <= std::int64_t{2} * e.sms;
}

void add_splits(std::vector<Option>& options, const Problem& p, const Extents& e, Consider consider) {
  std::vector<SplitChoice> splits = split_candidates(e);
  if (consider == Consider::what_may_win) splits.resize(std::min(splits.size(), tuned_splits));
  for (SplitChoice& one : splits) {
    const std::string name = one.splits == 1 ? "SplitMatmul" : fmt::format("SplitMatmul, {} splits", one.splits);
    const auto list = shared(std::move(one.candidates));
    Option option =
        option_of(name, "SplitMatmul", list, one.extra_us, one.splits == 1 ? tuned_shared_configs : tuned_split_configs,
                  [in = p.in, out = p.out](const auto& configs) { return split_program(in, out, configs); });
    option.splits = one.splits;
    option.make = [p, list, splits = one.splits, extra_us = one.extra_us](const std::vector<std::size_t>& which) {
      return make_split(p, splits, picked(*list, which), extra_us);
    };
    options.push_back(std::move(option));
  }
}

// For operands that the TMA engine can fetch. Of equals SplitMatmul comes first: where memory is the limit its ring is
// the deeper one.
void add_ring_kernels(std::vector<Option>& options, const Problem& p, const Extents& e, Consider consider) {
  const auto list = shared(persistent_candidates(e));
  if (consider == Consider::everything || few_tiles(e, list->front().config)) add_splits(options, p, e, consider);
  Option option =
      option_of("PersistentMatmul", "PersistentMatmul", list, 0, tuned_configs,
                [in = p.in, out = p.out](const auto& configs) { return persistent_program(in, out, configs); });
  option.make = [p, list](const std::vector<std::size_t>& which) { return make_persistent(p, picked(*list, which)); };
  options.push_back(std::move(option));
}

void add_packing(std::vector<Option>& options, const Problem& p, const Extents& e) {
  const double us = (p.a.loadable ? 0 : packing_us(e, e.m)) + (p.b.loadable ? 0 : packing_us(e, e.n));
  for (Option& option : options) {
    option.choice.kernel = "PackRows, " + option.choice.kernel;
    option.choice.estimate_us += us;
    option.packs = true;
    option.make = [p, us, inner = std::move(option.make)](const std::vector<std::size_t>& which) {
      return make_packed(p, us, inner(which));
    };
  }
}

}  // namespace

std::vector<std::size_t> Option::best(std::size_t count) const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < us.size(); ++i) {
    if (result.size() < count && us[i] <= plausible * us.front()) result.push_back(i);
  }
  return result;
}

std::vector<Option> options_for(const Problem& p, int sms, Consider consider) {
  const Problem packed = packed_problem(p);
  const Extents e = extents_of(packed, sms);
  std::vector<Option> options;
  add_ring_kernels(options, packed, e, consider);
  const bool loadable = p.a.loadable && p.b.loadable;
  if (!loadable) add_packing(options, p, e);
  if (!loadable || consider == Consider::everything) {
    const auto list = shared(pitch_candidates(e));
    Option option =
        option_of("PitchMatmul", "PitchMatmul", list, 0, tuned_configs,
                  [in = p.in, out = p.out](const auto& configs) { return pitch_program(in, out, configs); });
    option.make = [p, list](const std::vector<std::size_t>& which) { return make_pitch(p, picked(*list, which)); };
    options.push_back(std::move(option));
  }
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& x, const Option& y) { return x.choice.estimate_us < y.choice.estimate_us; });
  return options;
}

}  // namespace tessera::kernels
