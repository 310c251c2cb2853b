// The blocks of one cluster, which run together, and the schedule that interleaves their warps and engines. A kernel
// without clusters has clusters of one block. Where blocks wait for flags of each other, all clusters of the grid run
// together, as many at a time as the multiprocessors hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cta.hpp"
#include "sim/random.hpp"

namespace tessera::sim {

class Cluster {
 public:
  // Of `clusters` clusters that run together.
  Cluster(const Program& program, const Options& options, int clusters = 1);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Runs cluster number `index` of the grid to its end. Throws a user Error as run() documents.
  void run(std::uint64_t index);

  std::vector<std::unique_ptr<Cta>>& ctas() { return ctas_; }
  int size() const { return size_; }  // blocks of one cluster
  int blocks() const { return static_cast<int>(ctas_.size()); }
  Cta& cta(int place) { return *ctas_[static_cast<std::size_t>(place)]; }

  // barrier.cluster: a phase completes when every warp that has not ended has arrived in it. Of the cluster with the
  // block at `place`.
  void update_barrier(int place);
  std::uint64_t barrier_phases(int place) const { return barrier_phases_[static_cast<std::size_t>(place / size_)]; }
  std::string missing_at_barrier(int place) const;  // deadlock.cpp
  // Where it was the last one of its cluster, the next cluster begins.
  void warp_ended(int place);

 private:
  void draw_elected();
  void run_to_end();
  void run_in_order(bool lazy);
  void run_randomly();
  void run_by_choices();
  void advance_operation(std::size_t which);  // of all blocks' ones
  bool held_back(std::size_t warp) const;
  void draw_held_back();
  bool all_done() const;
  template <class F>
  void for_each_cta(int cluster, F f) const {
    for (int i = 0; i < size_; ++i) f(*ctas_[static_cast<std::size_t>(cluster * size_ + i)]);
  }
  void begin_block(std::uint64_t cluster, int rank, Cta& cta);
  void execute(Cta& cta, Warp& warp, std::uint64_t budget, bool to_sync = false);
  [[noreturn]] void deadlock();  // deadlock.cpp

  const Program& program_;
  const Options& options_;
  std::unique_ptr<Order> order_;        // null: the run checks no order
  std::unique_ptr<Recorder> recorder_;  // null: nobody wants a timeline of this cluster
  std::vector<std::unique_ptr<Cta>> ctas_;
  const int size_, clusters_;
  int begun_ = 0;  // clusters that have a place
  std::vector<std::uint64_t> barrier_phases_;
  Random random_;
  std::uint64_t index_ = 0;
  // Warps first .. last - 1 of the cluster (others_: all but them) get no turn for a while.
  std::size_t held_first_ = 0, held_last_ = 0;
  bool held_others_ = false;
};

}  // namespace tessera::sim
