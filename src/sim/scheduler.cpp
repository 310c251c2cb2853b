// Which warp runs next, and when asynchronous work is done.
#include <algorithm>
#include <cstring>

#include "sim/cluster.hpp"

namespace tessera::sim {

namespace {
constexpr std::uint64_t unlimited = ~0ULL;
}  // namespace

Cluster::Cluster(const Program& program, const Options& options, int clusters)
    : program_(program), options_(options), size_(static_cast<int>(program.cluster_size())), clusters_(clusters) {
  const int blocks = size_ * clusters;
  if (options.findings != nullptr) {
    order_ = std::make_unique<Order>(program, *options.findings, to_string(options.schedule), blocks);
  }
  for (int place = 0; place < blocks; ++place) {
    ctas_.push_back(std::make_unique<Cta>(program, options, *this, order_.get(), place));
  }
}

void Cluster::begin_block(std::uint64_t cluster, int rank, Cta& cta) {
  const auto& shape = program_.cluster;
  const auto nx = static_cast<std::uint64_t>(program_.grid[0] / shape[0]);
  const auto ny = static_cast<std::uint64_t>(program_.grid[1] / shape[1]);
  const std::int64_t first[3] = {static_cast<std::int64_t>(cluster % nx), static_cast<std::int64_t>(cluster / nx % ny),
                                 static_cast<std::int64_t>(cluster / nx / ny)};
  const std::int64_t at[3] = {rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]};
  cta.begin({first[0] * shape[0] + at[0], first[1] * shape[1] + at[1], first[2] * shape[2] + at[2]});
}

void Cluster::run(std::uint64_t index) {
  random_ = Random(options_.schedule.seed, index);
  barrier_phases_.assign(static_cast<std::size_t>(clusters_), 0);
  index_ = index;
  if (order_) order_->begin(index);
  recorder_.reset();
  if (order_ && options_.timeline != nullptr && index == 0) {
    *options_.timeline = Timeline{};
    options_.timeline->kernel = program_.kernel->name;
    options_.timeline->file = program_.kernel->loc.file;
    options_.timeline->schedule = to_string(options_.schedule);
    recorder_ = std::make_unique<Recorder>(*options_.timeline);
  }
  if (order_) order_->record(recorder_.get());
  const int resident = std::max(1, options_.sms / size_) * std::max(1, program_.kernel->ctas_per_sm);
  begun_ = std::min(clusters_, resident);
  for (int place = 0; place < blocks(); ++place) {
    begin_block(index + static_cast<std::uint64_t>(place / size_), place % size_, cta(place));
    if (place / size_ >= begun_) cta(place).hold_back();
  }
  draw_elected();
  try {
    run_to_end();
  } catch (const HazardError& e) {
    if (recorder_) recorder_->failed(e.finding());
    if (recorder_) recorder_->finish();
    throw;
  }
  if (recorder_) recorder_->finish();
}

void Cluster::draw_elected() {
  const Schedule::Kind kind = options_.schedule.kind;
  for (auto& cta : ctas_) {
    for (Warp& warp : cta->warps()) {
      warp.elected = kind == Schedule::Kind::lazy     ? warp_lanes - 1
                     : kind == Schedule::Kind::random ? static_cast<int>(random_.below(warp_lanes))
                                                      : 0;
    }
  }
}

void Cluster::run_to_end() {
  const Schedule::Kind kind = options_.schedule.kind;
  if (kind == Schedule::Kind::random) {
    run_randomly();
  } else if (kind == Schedule::Kind::order) {
    run_by_choices();
  } else {
    run_in_order(kind == Schedule::Kind::lazy);
  }
  for (auto& cta : ctas_) cta->finish_all();
  if (order_) order_->end();
}

void Cluster::execute(Cta& cta, Warp& warp, std::uint64_t budget, bool to_sync) {
  if (!recorder_) return cta.execute(warp, budget, to_sync);
  recorder_->runs({&cta.block(), program_.code[warp.pc].stmt, warp.index, -1}, warp.statements);
  cta.execute(warp, budget, to_sync);
  recorder_->ran();
  if (warp.state == WarpState::ready || warp.state == WarpState::done) return;
  recorder_->blocked({&cta.block(), program_.code[warp.pc].stmt, warp.index, -1}, cta.waits_for(warp));
}

bool Cluster::all_done() const {
  return std::all_of(ctas_.begin(), ctas_.end(), [](const auto& cta) { return cta->all_done(); });
}

void Cluster::update_barrier(int place) {
  const int cluster = place / size_;
  std::uint64_t& phases = barrier_phases_[static_cast<std::size_t>(cluster)];
  while (true) {
    bool anybody = false, arrived = true;
    for_each_cta(cluster, [&](const Cta& cta) {
      for (const Warp& warp : cta.warps()) {
        if (warp.state == WarpState::done) continue;
        anybody = true;
        arrived = arrived && warp.cluster_arrivals > phases;
      }
    });
    if (!anybody || !arrived) return;
    ++phases;
    if (order_) order_->cluster_complete(cluster);
  }
}

void Cluster::warp_ended(int place) {
  update_barrier(place);
  if (begun_ == clusters_) return;
  bool done = true;
  for_each_cta(place / size_, [&](const Cta& cta) { done = done && cta.all_done(); });
  if (!done) return;
  for_each_cta(begun_++, [](Cta& cta) { cta.place_block(); });
}

// Each warp in turn runs until it blocks. Eager effects have landed when they were issued; lazy ones land only when a
// warp waits for them, one by one until it can go on, before any other warp gets a turn: it runs as far ahead of them
// as it can.
void Cluster::run_in_order(bool lazy) {
  while (!all_done()) {
    bool progress = false;
    for (auto& cta : ctas_) {
      for (Warp& warp : cta->warps()) {
        while (cta->ready(warp)) {
          progress = true;
          execute(*cta, warp, unlimited);
          while (lazy && !cta->ready(warp) && cta->advance_for(warp)) {
          }
        }
      }
    }
    if (progress || all_done()) continue;
    if (std::none_of(ctas_.begin(), ctas_.end(), [](auto& cta) { return cta->land_oldest(); })) deadlock();
  }
}

// The warp that ran last goes on as long as it can, then the next one; engines move on when no warp can. At the steps
// that the schedule names, another one of those that could go on does.
void Cluster::run_by_choices() {
  std::vector<std::pair<Cta*, Warp*>> warps, ready;
  for (auto& cta : ctas_) {
    for (Warp& warp : cta->warps()) warps.emplace_back(cta.get(), &warp);
  }
  std::size_t last = 0;
  auto next = options_.schedule.choices.begin();
  for (std::uint32_t step = 0;; ++step) {
    ready.clear();
    std::size_t operations = 0;
    for (std::size_t i = 0; i < warps.size(); ++i) {
      const auto& [cta, warp] = warps[(last + i) % warps.size()];
      if (cta->ready(*warp)) ready.emplace_back(cta, warp);
    }
    for (auto& cta : ctas_) operations += cta->operations();
    const std::size_t count = ready.size() + operations;
    if (count == 0) {
      if (all_done()) return;
      deadlock();
    }
    if (options_.alternatives != nullptr && index_ == 0) {
      options_.alternatives->push_back(static_cast<std::uint32_t>(count));
    }
    std::size_t choice = 0;
    while (next != options_.schedule.choices.end() && next->step < step) ++next;
    if (next != options_.schedule.choices.end() && next->step == step) choice = next->choice % count;
    if (choice < ready.size()) {
      const auto [cta, warp] = ready[choice];
      last = static_cast<std::size_t>(std::find(warps.begin(), warps.end(), ready[choice]) - warps.begin());
      execute(*cta, *warp, unlimited, true);
      continue;
    }
    advance_operation(choice - ready.size());
  }
}

void Cluster::advance_operation(std::size_t which) {
  for (auto& cta : ctas_) {
    const std::size_t own = cta->operations();
    if (which < own) return cta->advance(which, random_);
    which -= own;
  }
}

// The warps that are held back for a while: none, one, all but one, or the same with the warps of a whole block. A race
// needs a warp that lags or one that runs ahead by a whole phase, which independent draws would hardly ever give.
void Cluster::draw_held_back() {
  const std::size_t warps = ctas_.front()->warps().size();
  const std::uint32_t kind = random_.below(4);
  const bool whole_block = blocks() > 1 && random_.below(2) == 0;
  if (whole_block) {
    held_first_ = random_.below(static_cast<std::uint32_t>(blocks())) * warps;
    held_last_ = held_first_ + warps;
  } else {
    held_first_ = random_.below(static_cast<std::uint32_t>(warps * ctas_.size()));
    held_last_ = held_first_ + 1;
  }
  held_others_ = kind == 1;
  if (kind == 0) held_last_ = held_first_;
}

bool Cluster::held_back(std::size_t warp) const { return (warp >= held_first_ && warp < held_last_) != held_others_; }

void Cluster::run_randomly() {
  constexpr std::uint32_t slices[3] = {4, 32, 256};
  struct Choice {
    Cta* cta;
    Warp* warp;
  };
  std::vector<Choice> preferred, runnable;
  for (std::uint64_t decision = 0;; ++decision) {
    if (decision % 16 == 0) draw_held_back();
    preferred.clear();
    runnable.clear();
    std::size_t number = 0;
    std::size_t operations = 0;
    for (auto& cta : ctas_) {
      for (Warp& warp : cta->warps()) {
        const bool held = held_back(number++);
        if (!cta->ready(warp)) continue;
        runnable.push_back({cta.get(), &warp});
        if (!held) preferred.push_back({cta.get(), &warp});
      }
      operations += cta->operations();
    }
    if (runnable.empty() && operations == 0) {
      if (all_done()) return;
      deadlock();
    }
    if (operations != 0 && (preferred.empty() || random_.below(4) == 0)) {
      advance_operation(random_.below(static_cast<std::uint32_t>(operations)));
      continue;
    }
    const auto& choice = preferred.empty() ? runnable : preferred;
    const Choice next = choice[random_.below(static_cast<std::uint32_t>(choice.size()))];
    const std::uint32_t kind = random_.below(4);
    execute(*next.cta, *next.warp, kind == 3 ? unlimited : 1 + random_.below(slices[kind]));
  }
}

}  // namespace tessera::sim
