// What was chosen for a kernel, why, and where its files lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct CandidateReport {
  enum class Status : std::uint8_t {
    unused,    // not tried: `reason` says what made it unnecessary or left no time for it
    failed,    // tracing, lowering, compiling or running it failed; `reason` is the error
    pruned,    // arithmetic showed that it cannot run
    rejected,  // its result differs from that of the other candidates
    dropped,   // much slower than the best one in the first rounds
    ranked,    // measured (or estimated, on the simulated device)
    chosen
  };
  std::string config;  // "block_m=64,block_n=128,block_k=64"
  Status status = Status::unused;
  std::string reason;
  int warps = 0;
  std::uint32_t shared_bytes = 0;
  int register_estimate = 0;         // of the compiler before NVRTC
  int registers = 0;                 // of the cubin; 0 if it was not compiled
  int spill_bytes = 0;               // stored and loaded, as ptxas reports it
  std::vector<std::string> remarks;  // of ptxas: serialised wgmmas, an ignored setmaxnreg and the like
  double time_us = 0;                // median; where nothing was measured the static estimate
  double spread_us = 0;              // deviation of one launch from the median, without outliers
  int rounds = 0;                    // launches that the median is of; 0: the time is not measured
  int result_class = -1;             // candidates with the same number computed the same; -1: not run

  // Spills or has remarks: not kept while another candidate does neither.
  bool flawed() const { return spill_bytes > 0 || !remarks.empty(); }
};
const char* to_string(CandidateReport::Status status);

struct Report {
  enum class Ranking : std::uint8_t {
    single,    // there was one candidate
    measured,  // timed on the device, in this process
    recorded,  // a tuning record of an earlier process named it
    estimated  // by a static estimate; `note` says why
  };
  std::string kernel;  // the script's type name
  std::string config;  // the chosen candidate
  Ranking ranking = Ranking::single;
  std::string note;      // e.g. "tuning in the background": what else is to be said of the ranking
  bool partial = false;  // not every candidate has been tried: a budget was spent, or the tuning is still going on
  std::string device, driver, compiler;
  std::string bucket;                // the run-time sizes that the choice holds for, e.g. "m_size in (2048, 4096]"
  std::string directory;             // cache entry of the chosen candidate; empty without a cache
  std::string cuda_path;             // the emitted CUDA C++ in it
  std::string record_path;           // the tuning record
  std::vector<std::string> remarks;  // of lowering and of ptxas, for the chosen candidate
  std::vector<CandidateReport> candidates;

  // What this Kernel object has done so far.
  struct Counters {
    std::uint64_t traced = 0;      // candidates traced and lowered
    std::uint64_t compiled = 0;    // NVRTC runs
    std::uint64_t cache_hits = 0;  // cubins taken from the cache
    std::uint64_t timed = 0;       // timed launches while tuning
    std::uint64_t planned = 0;     // argument sets that were checked and prepared
    std::uint64_t launched = 0;
  } counters;

  std::string to_string() const;  // a table, for people
};

}  // namespace tessera
