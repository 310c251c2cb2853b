// The configurations of the matmul kernels.
#pragma once

#include <cstdint>

namespace tessera::kernels {

enum class Consumers : std::uint8_t {
  cooperative,  // parts of one tile
  ping_pong     // whole tiles in turns: one stores its result while the other multiplies
};

struct PersistentConfig {
  Consumers consumers = Consumers::cooperative;
  int block_m = 128, block_n = 256, block_k = 64, stages = 4;
  int cluster = 2;   // CTAs that share the tiles of b
  int group = 8;     // rows of tiles that are worked on together, of whole clusters
  int store_n = 64;  // columns that leave together; the last ones of a tile may be fewer
  int buffers = 2;   // for them, of each consumer: 1 or 2

  // Warpgroups that multiply: each takes the same number of a tile's rows, a multiple of wgmma's 64, or whole tiles in
  // turns.
  int consumer_count() const { return consumers == Consumers::cooperative && block_m == 192 ? 3 : 2; }
  int consumer_rows() const { return consumers == Consumers::ping_pong ? block_m : block_m / consumer_count(); }
  // Sums that need every register there is.
  bool wide() const { return consumer_rows() * block_n > 128 * 160; }
  // Of what an SM has for each thread's place in all warpgroups, 504 or, with three consumers, 512.
  int producer_registers() const {
    return wide() ? 40 : consumer_count() == 2 && consumer_rows() * block_n <= 128 * 128 ? 88 : 56;
  }
  int consumer_registers() const { return consumer_count() == 3 ? 152 : (504 - producer_registers()) / 2; }
  bool operator==(const PersistentConfig&) const = default;
};

// Rows of the result are columns of wgmma here: block_m is a multiple of 8, block_n one of 64.
struct SplitConfig {
  int block_m = 16, block_n = 128, block_k = 64, stages = 8;
  int warpgroups = 2;  // that share the rows of b's tile
  int cluster = 1;     // CTAs that share the tiles of a; or
  int cluster_k = 1;   // CTAs that share the k of a tile and add up their sums through each other's shared memory

  // Whether results leave through shared memory, by the TMA engine where it can store them: of so few rows it costs
  // more than it saves.
  bool stages_results() const { return cluster_k == 1 && block_m >= 32; }
  bool operator==(const SplitConfig&) const = default;
};

struct PitchConfig {
  int block_m = 128, block_n = 128, block_k = 64, stages = 4, group = 8;
  bool operator==(const PitchConfig&) const = default;
};

}  // namespace tessera::kernels
