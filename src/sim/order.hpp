// Which of the things that happen in a cluster are ordered, and which only happened to come one after the other: vector
// clocks over warps (lanes, where they act alone), TMA copies and stores, groups of wgmma, mbarriers, named barriers
// and cluster barriers. Every access to memory is compared with the earlier ones to the same bytes, so that a race is
// found in any run that executes both of its sides, however the schedule ordered them.
//
// Order comes from
//   the program            of one thread; lanes of a warp are threads of their own until a barrier of the warp
//   bar.warp.sync, barrier.cta, barrier.cluster
//                          (the last alone between ordinary accesses of different blocks to shared memory)
//   mbarrier               an arrival releases, a wait acquires what arrived in the phase that it waited for
//   TMA copies             written when the phase that counts their bytes is complete
//   wgmma                  read when wgmma.wait_group of the same warp covers the group
//   TMA stores             read when cp.async.bulk.wait_group.read of the same thread covers the group
//   flags                  a signal releases, a wait acquires what the signals of the value that it sees released
// An access through the generic proxy is ordered before one of an engine only if a thread that knows of it executes
// fence.proxy.async in between (PTX ISA 8.9 and 9.7.13.4). docs/checker.md gives the policy and its sources.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "race/shadow.hpp"
#include "sim/recorder.hpp"
#include "sim/report.hpp"
#include "sim/warp.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::sim {

using race::AccessId;
using race::Clock;
using race::Component;
using race::Time;

enum class Role : std::uint8_t { load, store, signal, flag_wait, copy, bulk_store, wgmma };
constexpr bool is_async(Role role) { return role >= Role::copy; }
constexpr bool is_flag(Role role) { return role == Role::signal || role == Role::flag_wait; }

// An access, for later comparison and for reports.
struct AccessInfo {
  Role role = Role::load;
  bool write = false;
  bool addition = false;  // a TMA reduction, or an addition to a flag: additions commute
  bool monotone = false;  // a signal that makes its flag no smaller, a wait for at least some value
  Component component = 0;
  Time time = 0;  // of a copy: never, until it has landed
  const ir::Stmt* stmt = nullptr;
  const BlockInfo* block = nullptr;
  std::array<std::int64_t, 3> block_index{};
  int warp = 0, lane = -1;
  std::uint64_t cluster = 0;
  const ir::Stmt* loop = nullptr;  // the innermost loop around it
  std::uint32_t iteration = 0;     // of that loop, from 0
  int swizzle = -1;                // of an engine's access
  std::uint32_t barrier = 0;       // of a copy: index of the mbarrier
  bool recorded = false;           // in the timeline
  std::uint32_t global_side = 0;   // of a copy: one more than the number of what it does to global memory
};

// When an engine's operation will be complete: when `component` is known to have come to `time`.
struct Epoch {
  Component component = 0;
  Time time = race::never;
};

class Order {
 public:
  // `blocks`: that run together.
  Order(const Program& program, std::vector<Finding>& findings, std::string schedule, int blocks);
  // `warps` of block `cta`, which are looked at for loops in reports.
  void attach(int cta, const BlockInfo* block, const std::vector<Warp>* warps);
  // A new cluster begins; what it did to global memory stays.
  void begin(std::uint64_t cluster);
  // Takes down what happens from now on; null: does not.
  void record(Recorder* recorder) { recorder_ = recorder; }
  // The cluster has ended: nothing may still be on its way into the memory of a block.
  void end();

  // Barriers of warps, blocks and clusters. `lanes` of `warp` of block `cta`.
  void warp_sync(int cta, int warp, std::uint32_t lanes);
  void named_arrive(int cta, int id, int warp);
  void named_leave(int cta, int id, const std::vector<int>& warps);  // the barrier is complete
  void cluster_arrive(int cta, int warp, bool relaxed);
  void cluster_complete(int cluster);
  void cluster_wait(int cta, int warp);
  void fence_proxy(int cta, int warp, std::uint32_t lanes);
  void fence_init(int cta, int warp, std::uint32_t lanes);  // fence.mbarrier_init

  // mbarriers. `barrier` is what init returned.
  std::uint32_t init(const Site& site, std::uint32_t offset);
  void arrive(std::uint32_t barrier, const Site& site);
  void complete(std::uint32_t barrier, const ir::Stmt* by, std::uint64_t phase, std::uint64_t declared);
  // These lanes go on; `phases` of the barrier are complete.
  void wait(std::uint32_t barrier, const Site& site, std::uint32_t lanes, std::uint64_t phases);

  // Ordinary accesses to `bytes` bytes (a power of two up to 16, aligned) of the shared memory of block `cta`, which
  // may be another than the one that accesses it.
  void shared(int cta, const Access& access, int lane, std::uint32_t offset, std::uint32_t bytes, bool write);
  // The byte at `offset`, which `site` reads, was never written.
  void unwritten(const Site& site, int cta, std::uint32_t offset);
  void global(const Site& site, std::uint32_t param, std::uint64_t offset, std::uint32_t bytes, bool write);

  // Flags, at this distance from the start of what the parameter points to. A signal releases, a wait of these lanes,
  // which have seen the value that they wait for, acquires what the signals of that value released.
  void signal(const Site& site, std::uint32_t param, std::uint64_t offset, bool add, bool no_smaller);
  void see_flag(const Site& site, std::uint32_t lanes, std::uint32_t param, std::uint64_t offset, bool at_least,
                bool relaxed);

  // Engines. issue: by the lane, or (lane -1) by the warp as a whole; then each 16 bytes of the shared memory of block
  // `cta`, and each range of global memory.
  AccessId issue(const Site& site, Role role, bool write, Epoch epoch, int swizzle);
  void touch(AccessId access, int cta, std::uint32_t offset);
  // The same operation's side in global memory: complete at `epoch`.
  AccessId issue_global(AccessId access, bool write, bool addition, Epoch epoch);
  void touch_global(AccessId global, std::uint32_t param, std::uint64_t offset, std::uint64_t bytes);
  // A copy into block `cta` counts on `barrier`. landed: its bytes are counted in a phase of this number.
  AccessId issue_copy(const Site& site, std::uint32_t barrier, std::uint32_t bytes, int swizzle);
  void landed(AccessId copy, std::uint64_t phase);
  // The engine is done with a wgmma, or has read the source of a store.
  void performed(AccessId operation) const;
  Epoch epoch_of(AccessId access) const { return {accesses_[access].component, accesses_[access].time}; }
  // Whether accesses to this parameter matter: the kernel writes it.
  bool follows(std::uint32_t param) const { return memory_[param].written; }
  Epoch wgmma_epoch(int cta, int warp, std::uint64_t group) const;
  void wgmma_waited(int cta, int warp, std::uint64_t groups);  // that are complete
  Epoch store_epoch(int cta, int thread, std::uint64_t group, bool read);
  // The thread's first `groups` bulk groups have been read (and, without `read`, written).
  void store_waited(int cta, int thread, std::uint64_t groups, bool read);

 private:
  struct WarpOrder {
    Clock shared;                                // what all lanes know
    std::array<Clock, race::lanes_of_warp> own;  // what single lanes know beyond it
    std::uint32_t with_own = 0;                  // lanes
    race::Knowledge crossed;                     // by the last barrier of the cluster
    Time now = 1;
    std::array<Time, race::lanes_of_warp> fenced{};  // up to when each lane's own accesses are fenced
    AccessId last[2] = {0, 0};                       // of the current statement: reads, writes
    const ir::Stmt* last_stmt[2] = {nullptr, nullptr};
    Time last_time[2] = {0, 0};
    std::uint32_t last_iteration[2] = {0, 0};
  };
  struct Wait {
    Component warp = 0;
    std::uint32_t lanes = 0;
    Time time = 0;
    Site site;
  };
  // Who completed a phase.
  struct Phase {
    struct Arrival {
      Component warp = 0;
      int lane = 0;
      Time time = 0;
    };
    std::vector<Arrival> arrivals;
    bool counted_bytes = false;
  };
  struct BarrierOrder {
    Component component = 0;
    Component published = 0;  // its initialisation, as fence.mbarrier_init and a relaxed arrival release it: at time 1
    std::uint32_t offset = 0;
    Clock pending, completed;  // what arrivals release, and released in the phase before
    Clock issuers;             // what the threads that issued copies in the current phase knew then
    std::vector<Wait> waits;   // for the phase that completed last
    Phase current, completed_last, completed_before;
    Site init;
    Time init_time = 0;
    bool visible = false;      // to other blocks and to the async proxy
    std::uint64_t issued = 0;  // bytes, in the current phase
    AccessId last_copy = 0;
    bool has_copy = false;
  };
  // What a lane of a warp did last to a barrier, or to the memory, of another block.
  struct Remote {
    Time time = 0;
    Site site;
    const char* what = "";  // "arrives at a barrier of"
  };
  struct RemoteKey {
    Component warp = 0;
    int lane = 0;
    int target = 0;
    bool operator<(const RemoteKey& other) const {
      return std::tie(warp, lane, target) < std::tie(other.warp, other.lane, other.target);
    }
  };
  // What a pointer parameter points into. Parameters whose buffers overlap have the same memory.
  struct GlobalMemory {
    std::uint32_t memory = 0;  // the first such parameter
    std::uint64_t begin = 0;   // of the buffer in it
    bool written = false;      // by the kernel, through any of them
  };
  struct View {
    const WarpOrder* warp = nullptr;
    Component component = 0;
    int lane = -1;
  };
  static constexpr std::uint32_t no_param = ~0U;  // shared memory
  // Where an access happens: bytes of a granule of shared memory, or of what a parameter points to.
  struct Place {
    race::Cell& cell;
    std::uint16_t bytes = 0;
    std::uint32_t param = 0;   // or no_param
    std::uint64_t offset = 0;  // of the granule
    int cta = 0;
  };
  enum class Verdict : std::uint8_t { ordered, unfenced, unordered };

  Component warp_component(int cta, int warp) const { return static_cast<Component>(cta * warps_ + warp); }
  Component warp_components() const { return static_cast<Component>(ctas_ * warps_); }
  WarpOrder& of(int cta, int warp) { return order_[static_cast<std::size_t>(warp_component(cta, warp))]; }
  const WarpOrder& of(int cta, int warp) const { return order_[static_cast<std::size_t>(warp_component(cta, warp))]; }
  std::size_t cluster_of(int cta) const {
    return static_cast<std::size_t>(cta) / static_cast<std::size_t>(program_.cluster_size());
  }
  bool together(const AccessInfo& a, const AccessInfo& b) const;  // whether their blocks are of one cluster
  View view(const Site& site) const;
  void release(Clock& to, int cta, int warp, std::uint32_t lanes);
  void acquire(int cta, int warp, std::uint32_t lanes, const Clock& from);
  void meet(int cta, int warp, const Clock& all);  // acquire by all lanes; the clock holds what they knew
  void remote(const Site& site, int target, const char* what);

  // order_access.cpp
  AccessInfo info_of(const Site& site, Role role, bool write) const;
  AccessId ordinary(const Access& access, bool write);
  bool knows(const View& view, bool fenced, Component c, int lane, Time t) const;
  Verdict judge(const View& view, bool async, const race::Entry& entry, const AccessInfo& earlier,
                std::uint16_t bytes) const;
  bool crossed(const View& view, const race::Entry& entry, const AccessInfo& earlier, const AccessInfo& later,
               const Place& place) const;
  void compare(const std::vector<race::Entry>& entries, const std::vector<AccessInfo>& table, const AccessInfo& later,
               const View& view, const Place& place);
  // Compares the access with those before it at the place, and is compared with from now on. `lane`, `synced`: as
  // race::add takes them.
  void enter(AccessId id, const AccessInfo& info, const std::vector<AccessInfo>& table, const View& view,
             const Place& place, int lane, Time synced);
  void enter_global(AccessId id, const AccessInfo& info, std::uint32_t param, std::uint64_t offset, std::uint64_t bytes,
                    const View& view, int lane, Time synced);
  void record_issue(AccessId access, int cta, std::uint32_t offset);
  race::Cell& shared_cell(int cta, std::uint32_t offset);
  race::Cell& global_cell(std::uint32_t memory, std::uint64_t granule);
  void find_memories();
  void find_tile_loops(const ir::Block& block);
  const ControlFrame* users_loop(const Warp& warp) const;
  bool knows_completion(const View& view, const BarrierOrder& b, std::uint64_t phases) const;
  void use_barrier(BarrierOrder& barrier, const Site& site, const char* what);

  // order_report.cpp
  std::string tile_at(int cta, std::uint32_t offset, std::string* object) const;
  void report_race(const AccessInfo& earlier, const AccessInfo& later, Verdict verdict, std::uint32_t param,
                   std::uint64_t offset, int cta);
  std::string missing_step(const AccessInfo& earlier, const AccessInfo& later, Verdict verdict, bool global) const;
  std::string missing_flag(const AccessInfo& earlier, const AccessInfo& later) const;
  void report_swizzle(const AccessInfo& earlier, const AccessInfo& later, std::uint32_t offset, int cta);
  std::string where(const AccessInfo& access) const;
  void report(Hazard hazard, const Site& site, const ir::Stmt* other, std::string message, std::string help,
              std::vector<Note> notes, std::string object);
  void report_bytes(const BarrierOrder& b, const ir::Stmt* by, std::uint64_t phase, std::uint64_t declared);
  void report_late_wait(const BarrierOrder& b, const Wait& wait, const ir::Stmt* by, std::uint64_t phase);
  void report_not_started(const Site& site, int target);
  void report_early_wait(const BarrierOrder& b, const Site& site, std::uint64_t phase);
  std::string barrier_name(const BarrierOrder& barrier) const;

  const Program& program_;
  std::vector<Finding>& findings_;
  const std::string schedule_;
  Recorder* recorder_ = nullptr;
  const int ctas_, warps_;
  std::unordered_set<const ir::Stmt*> tile_loops_;  // that lowering made of one tile operation
  std::uint64_t cluster_ = 0;
  std::vector<const BlockInfo*> blocks_;
  std::vector<const std::vector<Warp>*> warp_states_;
  std::vector<WarpOrder> order_;
  std::deque<BarrierOrder> barriers_;
  std::vector<std::array<Clock, 16>> named_;
  std::vector<Clock> cluster_pending_, cluster_completed_;  // by cluster of those that run together
  std::unordered_map<std::uint64_t, Clock> flags_;          // by address; what is released there
  Component next_component_ = 0;
  std::unordered_map<std::uint64_t, Component> bulk_components_;  // by block and thread: reading; the next one: writing
  std::map<RemoteKey, Remote> remote_;
  std::vector<AccessInfo> accesses_, grid_accesses_;
  std::vector<std::vector<race::Cell>> shared_;  // by block
  using Page = std::array<race::Cell, 256>;
  std::vector<std::unordered_map<std::uint64_t, std::unique_ptr<Page>>> global_;  // by memory
  std::vector<GlobalMemory> memory_;                                              // by parameter
  std::unordered_map<std::string, std::size_t> seen_;                             // findings by kind and place
};

}  // namespace tessera::sim
