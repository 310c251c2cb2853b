// Copies, the cluster, and register reallocation.
#include <fmt/format.h>

#include <bit>

#include "sim/cluster.hpp"

namespace tessera::sim {

namespace {

struct Coordinates {
  std::int32_t at[5] = {};
  std::size_t rank = 0;
  std::span<const std::int32_t> span() const { return {at, rank}; }
};

Coordinates coordinates(const Warp& warp, const Operands& ops, int lane) {
  Coordinates c;
  c.rank = std::min<std::size_t>(5, ops.list.size());
  for (std::size_t i = 0; i < c.rank; ++i) c.at[i] = warp.at<std::int32_t>(ops.list[i])[lane];
  return c;
}

}  // namespace

// The block with this rank of the cluster.
Cta& Cta::peer(const Site& site, std::uint32_t rank, const char* what) {
  if (rank >= static_cast<std::uint32_t>(cluster_.size())) {
    fail(Hazard::cluster, site, fmt::format("{} block {} of a cluster of {}", what, rank, cluster_.size()),
         "ranks count from 0 within the cluster");
  }
  Cta& other = cluster_.cta(place_ - rank_ + static_cast<int>(rank));
  if (&other != this && other.all_done()) {
    fail(Hazard::cluster, site,
         fmt::format("{} {} (rank {} of the cluster), which has ended", what,
                     describe({&other.block_, nullptr, -1, -1}), rank),
         "let no block of the cluster end before its peers are done with its shared memory: synchronise the cluster at "
         "the end of the kernel");
  }
  return other;
}

void Cta::tma_load(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const Site where = site(warp, in, lane);
    const Coordinates c = coordinates(warp, ops, lane);
    const std::uint32_t own = 1U << rank_;
    const std::uint32_t mask = ops.mask == no_slot ? own : warp.at<std::uint32_t>(ops.mask)[lane];
    if (mask == 0 || mask >> cluster_.size() != 0) {
      fail(Hazard::cluster, where,
           fmt::format("a multicast to the blocks of mask {:#x} in a cluster of {}", mask, cluster_.size()),
           "the mask has a bit for each block of the cluster that gets the tile, at least one");
    }
    for (std::uint32_t ranks = mask; ranks != 0; ranks &= ranks - 1) {
      Cta& target = peer(where, static_cast<std::uint32_t>(std::countr_zero(ranks)), "a multicast to");
      target.tma_.issue(where, in.a, warp.at<std::uint32_t>(ops.address)[lane], c.span(),
                        warp.at<std::uint32_t>(ops.value)[lane]);
      if (options_.schedule.kind != Schedule::Kind::eager) continue;
      while (target.land_oldest()) {
      }
    }
  }
}

void Cta::tma_store(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const auto& stmt = *static_cast<const ir::thread::TmaStoreBox*>(in.stmt);
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    stores_.issue(site(warp, in, lane), in.a, warp.at<std::uint32_t>(ops.address)[lane],
                  coordinates(warp, ops, lane).span(), stmt.add);
    if (options_.schedule.kind == Schedule::Kind::eager) stores_.finish_all();
  }
}

bool Cta::bulk_wait(Warp& warp, const Instr& in) {
  const auto& wait = *static_cast<const ir::thread::TmaWait*>(in.stmt);
  bool passed = true;
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int thread = warp.index * warp_lanes + std::countr_zero(lanes);
    passed = stores_.wait(thread, wait.pending, wait.read) && passed;
  }
  return passed;
}

void Cta::cluster_arrive(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "a cluster barrier");
  if (warp.cluster_arrivals != warp.cluster_waits) {
    fail(Hazard::cluster, site(warp, in),
         fmt::format("warp {} arrives at the cluster barrier again, before it has waited there", warp.index),
         "wait at the cluster barrier after each arrival");
  }
  if (order_ != nullptr)
    order_->cluster_arrive(place_, warp.index, static_cast<const ir::thread::ClusterArrive*>(in.stmt)->relaxed);
  ++warp.cluster_arrivals;
  cluster_.update_barrier(place_);
}

bool Cta::cluster_wait(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "a cluster barrier");
  if (warp.cluster_arrivals == warp.cluster_waits) {
    fail(Hazard::cluster, site(warp, in),
         fmt::format("warp {} waits at the cluster barrier without having arrived", warp.index),
         "arrive at the cluster barrier before each wait");
  }
  if (cluster_.barrier_phases(place_) < warp.cluster_arrivals) return false;
  ++warp.cluster_waits;
  if (order_ != nullptr) order_->cluster_wait(place_, warp.index);
  return true;
}

// The registers of a block are what it was launched with; dec returns some of them to its pool, inc takes them from
// there.
bool Cta::set_registers(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "setmaxnreg");
  const auto& stmt = *static_cast<const ir::thread::SetMaxRegisters*>(in.stmt);
  if (stmt.count < 24 || stmt.count > 256 || stmt.count % 8 != 0) {
    fail(Hazard::registers, site(warp, in),
         fmt::format("setmaxnreg to {} registers; multiples of 8 from 24 to 256 are possible", stmt.count));
  }
  if (stmt.increase ? stmt.count < warp.registers : stmt.count > warp.registers) {
    fail(Hazard::registers, site(warp, in),
         fmt::format("setmaxnreg.{} to {} registers in warp {}, which has {} a thread", stmt.increase ? "inc" : "dec",
                     stmt.count, warp.index, warp.registers),
         "inc cannot take registers away and dec cannot give any: compare the count with what the block is launched "
         "with (65536 registers over its threads, rounded down to a multiple of 8)");
  }
  const int needed = (stmt.count - warp.registers) * warp_lanes;
  if (needed > register_pool_) return false;
  register_pool_ -= needed;
  warp.registers = stmt.count;
  return true;
}

}  // namespace tessera::sim
