// What was last done with each 16 bytes of a memory: the accesses that a later one must be ordered after.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "race/clock.hpp"

namespace tessera::race {

// Number of an access in the table of whoever keeps one.
using AccessId = std::uint32_t;

inline constexpr std::uint8_t several_lanes = 0xff;

// An access to some of the 16 bytes. `lane`: which lane of the warp touched each byte, for ordinary accesses.
struct Entry {
  AccessId access = 0;
  Component component = 0;
  Time time = 0;
  std::uint16_t bytes = 0;
  std::array<std::uint8_t, 16> lane{};
};

struct Cell {
  std::vector<Entry> writes, reads;
};

inline void put(Entry& entry, std::uint16_t bytes, int lane) {
  if (lane >= 0) {
    for (std::size_t i = 0; i < 16; ++i) {
      if ((bytes >> i & 1U) == 0) continue;
      const bool other = (entry.bytes >> i & 1U) != 0 && entry.lane[i] != lane;
      entry.lane[i] = other ? several_lanes : static_cast<std::uint8_t>(lane);
    }
  }
  entry.bytes = static_cast<std::uint16_t>(entry.bytes | bytes);
}

// Adds an access. It stands for earlier ones of its component to the same bytes, if these happened up to `synced`, the
// time up to which each lane of the component knows what the other ones did.
inline void add(std::vector<Entry>& entries, const Entry& access, int lane, Time synced) {
  Entry* own = nullptr;
  Entry* unused = nullptr;
  for (Entry& entry : entries) {
    if (entry.component == access.component) {
      if (entry.access == access.access) {
        own = &entry;
      } else if (entry.time <= synced) {
        entry.bytes = static_cast<std::uint16_t>(entry.bytes & ~access.bytes);
      }
    }
    if (entry.bytes == 0) unused = &entry;
  }
  if (own == nullptr) {
    own = unused != nullptr ? unused : &entries.emplace_back();
    *own = access;
    own->bytes = 0;
  }
  put(*own, access.bytes, lane);
}

// A write makes earlier accesses to its bytes irrelevant: what is ordered after the write is ordered after them.
inline void overwrite(Cell& cell, const Entry& access, int lane, Time synced) {
  for (std::vector<Entry>* entries : {&cell.writes, &cell.reads}) {
    if (access.bytes == 0xffffU) {
      entries->clear();
      continue;
    }
    for (Entry& entry : *entries) {
      if (entry.access != access.access) entry.bytes = static_cast<std::uint16_t>(entry.bytes & ~access.bytes);
    }
  }
  add(cell.writes, access, lane, synced);
}

}  // namespace tessera::race
