// A ring of slots in shared memory between a producer, usually one warp that starts TMA copies, and consumers.
#pragma once

#include "tessera/lang/cluster.hpp"
#include "tessera/lang/instruction.hpp"
#include "tessera/lang/scope.hpp"

namespace tessera {

struct PipelineOptions {
  int consumer_warps = 4;  // of this block, each of which releases every slot once
  bool cluster =
      false;  // producers multicast into all blocks of the cluster, so consumers release slots in all of them
};

// One slot in its turn. It stands for its number as an index: tile[slot].
struct PipelineSlot {
  Int32 index;
  Barrier full;  // the producer announces its bytes here, once, and copies complete on it
};

namespace detail {

// How many slots a ring has, and how many arrivals release one: every consumer warp of every block that reads it.
struct RingShape {
  int stages;
  int releases;
  std::vector<std::int64_t> counts(std::int64_t count) const {
    return std::vector<std::int64_t>(static_cast<std::size_t>(stages), count);
  }
};
inline RingShape check_ring(const HostInt& stages, const PipelineOptions& options, SourceLoc loc) {
  if (options.consumer_warps < 1 || options.consumer_warps > 32) {
    report(loc, "a pipeline with .consumer_warps = " + std::to_string(options.consumer_warps),
           "1 to 32 warps of a block release a slot");
  }
  if (stages.value < 1 || stages.value > 64) {
    report(loc, "a pipeline with " + std::to_string(stages.value) + " stages", "a ring has 1 to 64 slots");
  }
  const int warps = options.consumer_warps < 1 ? 1 : options.consumer_warps;
  return {stages.value < 1 || stages.value > 64 ? 1 : static_cast<int>(stages.value),
          options.cluster ? warps * cluster.size(loc) : warps};
}
// One arrival of the calling thread at the barrier, of this block or of every block of the cluster.
inline void release_to(const Barrier& empty, bool to_cluster, SourceLoc loc) {
  if (!to_cluster) mbarrier.arrive(empty, 1, loc);
  for (int block = 0; to_cluster && block < cluster.size(loc); ++block) {
    mbarrier.arrive_remote(empty, {block, loc}, 1, loc);
  }
}

// A place that goes round the ring, and the parity of the rounds, for the threads that move it.
class RingCursor {
 public:
  RingCursor(const char* stage, const char* parity, int stages, SourceLoc loc)
      : stages_(stages),
        stage_(declare_bounded_var(DType::i32, literal_ref<std::int32_t>(0, loc), stage, 0, stages - 1, loc)),
        parity_(declare_bounded_var(DType::u32, literal_ref<std::uint32_t>(0, loc), parity, 0, 1, loc)) {}
  Int32 stage(SourceLoc loc) const { return Int32(read_var(stage_, loc)); }
  UInt32 parity(SourceLoc loc) const { return UInt32(read_var(parity_, loc)); }
  // Past `slots` slots, 0 or more.
  void skip(const Int32& slots, SourceLoc loc) const {
    const Int32 next = stage(loc) + slots;
    const UInt32 rounds = cast<UInt32>(next / stages_, loc);
    assign_var(parity_, (parity(loc) ^ (rounds & 1u)).ref(), loc);
    assign_var(stage_, (next % stages_).ref(), loc);
  }
  void advance(SourceLoc loc) const {
    const Int32 next = Int32(in_place(stage_, loc)) + 1;
    const UInt32 parity(in_place(parity_, loc));
    const Bool round = next == stages_;
    assign_var(parity_, select(round, parity ^ 1u, parity, loc).ref(), loc);  // before the stage that it depends on
    assign_var(stage_, select(round, 0, next, loc).ref(), loc);
  }

 private:
  int stages_;
  VarRef stage_, parity_;
};

}  // namespace detail

// `stages` slots, each full or empty. Producer and consumers go round on their own; nothing of their state depends on
// how often the loops around them run, so a ring serves all tiles of a persistent kernel. Made outside loops and thread
// groups. In the loop of
//   the producer: slot = acquire_for_producer(); one thread: mbarrier.arrive_and_expect_tx(slot.full, bytes) and copies
//     that complete on slot.full; advance_producer(); and drain_producer() after all loops;
//   a consumer: slot = acquire_for_consumer(); reads of tile[slot]; release_consumer() when they are complete;
//     advance_consumer().
class Pipeline {
 public:
  explicit Pipeline(const detail::HostInt& stages, const PipelineOptions& options = {},
                    SourceLoc loc = SourceLoc::here())
      : ring_(detail::check_ring(stages, options, loc)),
        cluster_(options.cluster),
        full_(detail::make_barriers(ring_.counts(1), "full", loc)),
        empty_(detail::make_barriers(ring_.counts(ring_.releases), "empty", loc)),
        producer_("producer_stage", "producer_parity", ring_.stages, loc),
        consumer_("consumer_stage", "consumer_parity", ring_.stages, loc),
        released_("released_stage", "released_parity", ring_.stages, loc) {}

  int stages() const { return ring_.stages; }

  // Waits until the next slot is empty. Where the group has several warps its first one waits, and one of that warp's
  // threads is to start the copies: single_thread() or single_thread(0).
  PipelineSlot acquire_for_producer(SourceLoc loc = SourceLoc::here()) const {
    const Int32 stage = producer_.stage(loc);
    wait_until_empty(stage, loc);
    return {stage, full_[detail::IndexArg(stage, loc)]};
  }
  void advance_producer(SourceLoc loc = SourceLoc::here()) const { producer_.advance(loc); }
  // Waits until every slot is empty again: after this no other block of the cluster signals this one's ring.
  void drain_producer(SourceLoc loc = SourceLoc::here()) const {
    for (auto slot : range(0, ring_.stages, 1, {}, loc)) {
      (void)slot;
      wait_until_empty(producer_.stage(loc), loc);
      producer_.advance(loc);
    }
  }

  // Waits until the next slot is full. Every thread of the group waits.
  PipelineSlot acquire_for_consumer(SourceLoc loc = SourceLoc::here()) const {
    const Int32 stage = consumer_.stage(loc);
    const Barrier full = full_[detail::IndexArg(stage, loc)];
    mbarrier.wait(full, consumer_.parity(loc), loc);
    return {stage, full};
  }
  void advance_consumer(SourceLoc loc = SourceLoc::here()) const { consumer_.advance(loc); }
  // Leaves the next `slots` slots to another consumer, where consumers take turns; with nothing left to release.
  void skip_consumer(const Int32& slots, SourceLoc loc = SourceLoc::here()) const {
    consumer_.skip(slots, loc);
    released_.skip(slots, loc);
  }
  // Says for each warp of the group (whole warps) that it is done with the oldest slot that it has not released yet.
  void release_consumer(SourceLoc loc = SourceLoc::here()) const {
    const Int32 stage = released_.stage(loc);
    if (auto _ = single_thread_of_each_warp(loc)) {
      const Barrier empty = empty_[detail::IndexArg(stage, loc)];
      detail::release_to(empty, cluster_, loc);
    }
    released_.advance(loc);
  }

 private:
  // Parity 1 of a new barrier counts as complete, so the first round does not wait.
  void wait_until_empty(const Int32& stage, SourceLoc loc) const {
    const UInt32 before = producer_.parity(loc) ^ 1u;
    const Barrier empty = empty_[detail::IndexArg(stage, loc)];
    if (detail::group_threads(loc) <= 32) {
      mbarrier.wait(empty, before, loc);
    } else if (auto _ = single_warp(0, loc)) {  // another warp could fall two rounds behind and miss its parity
      mbarrier.wait(empty, before, loc);
    }
  }

  detail::RingShape ring_;
  bool cluster_;
  BarrierArray full_, empty_;
  detail::RingCursor producer_, consumer_, released_;
};

}  // namespace tessera
