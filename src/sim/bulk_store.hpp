// The copy engine's tensor stores and reductions from one block: bulk groups by thread, sources that are read at one
// time and results that reach global memory at another (PTX ISA 9.7.9.25.5 and 9.7.9.25.6).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/order.hpp"
#include "sim/tensor_box.hpp"

namespace tessera::sim {

struct BulkStore {
  Site site;
  TensorBox box;
  FlightId flight = 0;
  bool add = false;
  int thread = 0;
  std::uint64_t group = 0;      // of its thread
  std::uint32_t read = 0;       // rows
  bool written = false;         // to global memory
  bool released = false;        // a wait has covered the read
  std::vector<std::byte> data;  // the rows that were read, one after the other

  bool was_read() const { return read == box.rows(); }
};

class BulkStores {
 public:
  BulkStores(const Program& program, MemorySystem& memory, Order* order);
  void begin();

  void issue(const Site& site, std::uint32_t map, std::uint32_t source, std::span<const std::int32_t> coords, bool add);
  void commit(int thread) { ++groups_[static_cast<std::size_t>(thread)]; }
  // True if at most `pending` of the thread's newest groups are still to be read (`read`) or written; then the sources
  // of the others may be written again.
  bool wait(int thread, int pending, bool read);
  // The first store that keeps such a wait waiting; null if none does.
  BulkStore* blocking(int thread, int pending, bool read);

  // What the schedule moves on: the stores that are not written yet.
  std::size_t unfinished() const;
  void advance(std::size_t index, std::uint32_t rows);  // reads the next rows of the index-th of them, or writes it
  void read_all(BulkStore& store);
  void finish(BulkStore& store);  // reads what is left and writes
  void finish_all();
  // A thread of `warp` ends: a user Error if the engine may still read what it stored.
  void check_end(const Site& site) const;

 private:
  AccessId order(const BulkStore& store);
  void read_row(BulkStore& store);
  void write(BulkStore& store);
  void forget();
  bool covered(const BulkStore& store, int thread, int pending) const;

  const Program& program_;
  MemorySystem& memory_;
  Order* const order_;
  std::deque<BulkStore> stores_;       // in order of issue; kept until written and released
  std::vector<std::uint64_t> groups_;  // by thread: number of the open group
};

}  // namespace tessera::sim
