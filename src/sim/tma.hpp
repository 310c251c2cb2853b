// The copy engine's tensor loads into one block: each issued at one time, by this block or by a peer's multicast, and
// landing at another.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "sim/mbarrier.hpp"
#include "sim/order.hpp"
#include "sim/tensor_box.hpp"

namespace tessera::sim {

struct TmaCopy {
  Site site;  // of the thread that issued it
  TensorBox box;
  FlightId flight = 0;
  AccessId access = 0;
  std::uint32_t barrier = 0;  // shared address
  std::uint32_t landed = 0;   // rows of the box

  std::uint32_t rows() const { return box.rows(); }
};

class TmaEngine {
 public:
  TmaEngine(const Program& program, MemorySystem& memory, BarrierSet& barriers, Order* order)
      : program_(program), memory_(memory), barriers_(barriers), order_(order) {}
  void begin() { queue_.clear(); }

  // Checks the copy (alignment, bounds, the tensor map's own rules, hand-over) and puts it in the queue.
  void issue(const Site& site, std::uint32_t map, std::uint32_t destination, std::span<const std::int32_t> coords,
             std::uint32_t barrier);
  // Lands the next `rows` rows of copy number `index` of the queue; the last one completes the box's bytes on its
  // barrier and takes the copy out of the queue.
  void land(std::size_t index, std::uint32_t rows);
  const std::deque<TmaCopy>& queue() const { return queue_; }
  std::uint64_t bytes_landed() const { return bytes_landed_; }

 private:
  void order(TmaCopy& copy, const Mbarrier& barrier);
  void copy_row(const TmaCopy& copy, std::uint32_t row);

  const Program& program_;
  MemorySystem& memory_;
  BarrierSet& barriers_;
  Order* const order_;
  std::deque<TmaCopy> queue_;
  std::uint64_t bytes_landed_ = 0;
};

}  // namespace tessera::sim
