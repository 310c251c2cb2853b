// The configurations that the kernels may have, and what the model expects of them.
//
// The model. Everything is counted in cycles of an SM. One k-block of a tile takes the longest of
//   math    4096 FLOP a cycle with 16-bit operands, 8192 with 8-bit ones (the tensor cores' rate, H100 and H200);
//   shared  128 bytes a cycle for what the copy engine writes and for what wgmma reads: for each instruction of 64 rows
//           and 32 bytes of k its 2 KiB of a and 32 bytes for each column of b. This rate explains published
//           microbenchmarks (arXiv 2402.13499): below 64 columns the instructions wait for shared memory;
//   l2      46 bytes a cycle and SM (6154 bytes a cycle for the chip, the figure in DeepGEMM's chooser); a cluster
//           fetches its tiles of b once;
//   PersistentMatmul has 140 and 60 bytes instead, with which the model orders its tiles as an H200 does: traced, tiles
//           of 128 x 192, which ask for 139 bytes a cycle of shared memory, keep the tensor cores 97 % busy; and SMs
//           that fetch the same tile of a or b at nearly the same time, as its rounds of tiles do, are served together;
//   latency of the ring: what its stages hold arrives every 1000 cycles at best.
// The rounds of tiles that an SM gets, rounded up, times that, plus filling the ring, the epilogues that nothing hides
// and a launch; never less than the time in which memory delivers the operands (4.8 TB/s, of which 85 % are reached).
// It orders configurations; the best ones are then measured.
#pragma once

#include <vector>

#include "kernels/configs.hpp"
#include "kernels/problem.hpp"

namespace tessera::kernels {

// What the model needs to know of a problem.
struct Extents {
  std::int64_t m = 0, n = 0, k = 0;
  int in_bytes = 2, out_bytes = 2;
  bool a_by_k = true, b_by_k = true;
  OutputForm form = OutputForm::rows_tma;
  EpilogueSteps steps;
  int sms = 132;
};
Extents extents_of(const Problem& problem, int sms);

template <class Config>
struct Estimated {
  Config config;
  double us = 0;
};

// Configurations of the kernel that fit: of each height, kind of consumers and cluster size the five best widths. The
// best ones of each such kind come first, the fastest at the front, then all others. Never empty.
std::vector<Estimated<PersistentConfig>> persistent_candidates(const Extents& e);

// The same for one number of splits, or for all that make sense: those of SplitMatmul and of what follows it.
struct SplitChoice {
  int splits = 1;
  std::vector<Estimated<SplitConfig>> candidates;  // the fastest first, never empty
  double extra_us = 0;                             // of ReduceSplits; not in the candidates' times
  double us() const { return candidates.front().us + extra_us; }
};
// The fastest first. Empty where the kernel's grid would be over the hardware's limits.
std::vector<SplitChoice> split_candidates(const Extents& e);

// All configurations of PitchMatmul, the fastest first. Never empty.
std::vector<Estimated<PitchConfig>> pitch_candidates(const Extents& e);
// Of PackRows for an operand of this many rows.
double packing_us(const Extents& e, std::int64_t rows);

}  // namespace tessera::kernels
