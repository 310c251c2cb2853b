// A Pipeline for loops whose length is a C++ constant: its slots are constants too.
#pragma once

#include "tessera/lang/pipeline.hpp"

namespace tessera {

// One slot in its turn. It stands for its number as an index: tile[slot].
struct UnrolledSlot {
  int index;
  Int32 block;  // number of the block in this pass
  Barrier full;
};

// `stages` slots through which every pass (a tile of a persistent kernel) sends `blocks` blocks, beginning at slot 0.
// The loops over blocks are unrolled by the number of slots, so that no address or barrier depends on a variable: about
// a third fewer instructions a block than with Pipeline, for code that is up to twice `stages` blocks long. The bodies
// are C++ functions of a slot, traced once for every slot. In each pass
//   the producer: ring.produce([&](const UnrolledSlot& slot) {...}), which waits until the slot is empty before each
//     call; after all passes drain_producer();
//   a consumer: ring.consume([&](const UnrolledSlot& slot) {...}), which waits until the slot is full; release(slot)
//     when its reads are complete, or release_before(slot) for the block before it and release_last() after the pass.
// Where consumers take turns at whole passes, each calls skip_consumer() for a pass of another.
class UnrolledPipeline {
 public:
  UnrolledPipeline(const detail::HostInt& stages, const detail::HostInt& blocks, const PipelineOptions& options = {},
                   SourceLoc loc = SourceLoc::here())
      : ring_(detail::check_ring(stages, options, loc)),
        blocks_(static_cast<int>(blocks.value)),
        cluster_(options.cluster),
        full_(detail::make_barriers(ring_.counts(1), "full", loc)),
        empty_(detail::make_barriers(ring_.counts(ring_.releases), "empty", loc)),
        producer_("producer", loc),
        consumer_("consumer", loc) {
    if (blocks.value < 0) {
      detail::report(loc, "UnrolledPipeline with " + std::to_string(blocks.value) + " blocks a pass",
                     "a pass has 0 or more blocks");
    }
  }

  template <class Body>
  void produce(const Body& body, SourceLoc loc = SourceLoc::here()) const {
    pass(producer_, loc, [&](const UnrolledSlot& slot, const UInt32& parity) {
      mbarrier.wait(at(empty_, slot.index, loc), parity ^ 1u, loc);  // parity 1 of a new barrier counts as complete
      body(slot);
    });
  }
  // Waits until every slot is empty again: after this no other block of the cluster signals this one's ring.
  void drain_producer(SourceLoc loc = SourceLoc::here()) const {
    for (int s = 0; s < ring_.stages; ++s) {
      mbarrier.wait(at(empty_, s, loc), producer_.parity(is_early(s), loc) ^ 1u, loc);
    }
  }

  template <class Body>
  void consume(const Body& body, SourceLoc loc = SourceLoc::here()) const {
    pass(consumer_, loc, [&](const UnrolledSlot& slot, const UInt32& parity) {
      mbarrier.wait(slot.full, parity, loc);
      body(slot);
    });
  }
  void skip_consumer(SourceLoc loc = SourceLoc::here()) const { end_of_pass(consumer_, loc); }

  // Says for each warp of the group (whole warps) that it is done with the slot.
  void release(const UnrolledSlot& slot, SourceLoc loc = SourceLoc::here()) const { release_slot(slot.index, loc); }
  // With the slot of the block before this one; nothing before the first block of a pass.
  void release_before(const UnrolledSlot& slot, SourceLoc loc = SourceLoc::here()) const {
    const int before = (slot.index + ring_.stages - 1) % ring_.stages;
    if (slot.index > 0) {
      release_slot(before, loc);
    } else if (blocks_ > ring_.stages) {
      if (auto _ = when(slot.block > 0, loc)) release_slot(before, loc);
    }
  }
  // With the slot of the last block of a pass.
  void release_last(SourceLoc loc = SourceLoc::here()) const {
    if (blocks_ > 0) release_slot((blocks_ - 1) % ring_.stages, loc);
  }

 private:
  // The parity of the next round of the slots that take part in the last, incomplete round of a pass, and of the
  // others.
  class Parities {
   public:
    Parities(const std::string& role, SourceLoc loc)
        : early_(detail::declare_bounded_var(DType::u32, detail::literal_ref<std::uint32_t>(0, loc),
                                             (role + "_early").c_str(), 0, 1, loc)),
          late_(detail::declare_bounded_var(DType::u32, detail::literal_ref<std::uint32_t>(0, loc),
                                            (role + "_late").c_str(), 0, 1, loc)) {}
    UInt32 parity(bool early, SourceLoc loc) const { return UInt32(detail::read_var(early ? early_ : late_, loc)); }
    void flip(bool early, SourceLoc loc) const {
      detail::assign_var(early ? early_ : late_, (parity(early, loc) ^ 1u).ref(), loc);
    }

   private:
    detail::VarRef early_, late_;
  };

  int rounds() const { return blocks_ / ring_.stages; }
  int rest() const { return blocks_ % ring_.stages; }
  bool is_early(int slot) const { return slot < rest(); }
  static Barrier at(const BarrierArray& barriers, int slot, SourceLoc loc) {
    return barriers[detail::IndexArg(slot, loc)];
  }
  UnrolledSlot slot(int index, const Int32& block, SourceLoc loc) const {
    return {index, block, at(full_, index, loc)};
  }

  template <class Visit>
  void pass(const Parities& parities, SourceLoc loc, const Visit& visit) const {
    const UInt32 early = parities.parity(true, loc), late = parities.parity(false, loc);
    if (rounds() > 0 || blocks_ == 0) {  // a pass of no blocks is traced too: what it would do decides layouts
      Var<UInt32> round(0u, loc);
      for (auto first : range(0, rounds() * ring_.stages, ring_.stages, {}, loc)) {
        const UInt32 odd(round);
        for (int s = 0; s < ring_.stages; ++s) {
          visit(slot(s, first + s, loc), (is_early(s) ? early : late) ^ odd);
        }
        round ^= 1u;
      }
    }
    for (int s = 0; s < rest(); ++s) {
      visit(slot(s, Int32(rounds() * ring_.stages + s), loc), early ^ static_cast<unsigned>(rounds() % 2));
    }
    end_of_pass(parities, loc);
  }
  void end_of_pass(const Parities& parities, SourceLoc loc) const {
    if ((rounds() + 1) % 2 != 0) parities.flip(true, loc);
    if (rounds() % 2 != 0) parities.flip(false, loc);
  }
  void release_slot(int index, SourceLoc loc) const {
    if (auto _ = single_thread_of_each_warp(loc)) detail::release_to(at(empty_, index, loc), cluster_, loc);
  }

  detail::RingShape ring_;
  int blocks_;
  bool cluster_;
  BarrierArray full_, empty_;
  Parities producer_, consumer_;
};

}  // namespace tessera
