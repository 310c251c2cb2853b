#include "passes/registers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/walk.hpp"
#include "tessera/core/error.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// Addresses, loop counters and predicates.
constexpr int fixed_registers = 24;

std::int64_t words(const tile::RegisterTensor& t, std::int64_t elements) {
  if (t.type == DType::boolean) return elements;
  return (elements * size_of(t.type) + 3) / 4;
}

// Registers of the fragments of one k step (16) of a dot operand.
std::int64_t fragment_words(const tile::RegisterTensor& t, std::size_t k_dim) {
  return words(t, t.layout->local_size() * 16 / t.shape[k_dim]);
}

}  // namespace

std::int64_t registers_of(const tile::RegisterTensor& tensor) { return words(tensor, tensor.layout->local_size()); }

namespace {

// What registers(n) leaves each warpgroup with: of several the last in the program.
struct Reallocation {
  const Site* site = nullptr;
  int count = 0;
};
std::vector<Reallocation> reallocations(const tile::Kernel& kernel, const Walk& walk) {
  std::vector<Reallocation> result(static_cast<std::size_t>((kernel.warps + 3) / 4));
  for (const Site& site : walk.sites) {
    const auto* set = as<tile::SetRegisters>(site.stmt);
    if (set == nullptr) continue;
    for (int w = site.group.begin / 128; w < (site.group.begin + site.group.count) / 128; ++w) {
      result[static_cast<std::size_t>(w)] = {&site, set->count};
    }
  }
  return result;
}

// The pool that setmaxnreg moves registers in is what the block was launched with (PTX ISA 9.7.19.5): an increase that
// it can never grant waits for ever.
void check_budget(const tile::Kernel& kernel, const std::vector<Reallocation>& groups) {
  const int threads = kernel.warps * 32;
  const int launch = launch_registers(threads);
  std::int64_t sum = 0;
  std::vector<Note> notes;
  const Site* last = nullptr;
  for (std::size_t w = 0; w < groups.size(); ++w) {
    const int members = std::min(128, threads - static_cast<int>(w) * 128);
    sum += static_cast<std::int64_t>(members) * (groups[w].site != nullptr ? groups[w].count : launch);
    if (groups[w].site == nullptr) continue;
    last = groups[w].site;
    notes.push_back({last->stmt->loc, fmt::format("{} registers for warpgroup {}", groups[w].count, w)});
  }
  if (last == nullptr || sum <= static_cast<std::int64_t>(launch) * threads) return;
  throw Error(ErrorKind::user, last->stmt->loc,
              fmt::format("registers(): the block's threads ask for {} registers together, but are launched with {} "
                          "({} threads of {})",
                          sum, static_cast<std::int64_t>(launch) * threads, threads, launch),
              fmt::format("let one group give back what another takes: over the {} warpgroups the counts may add up to "
                          "{}, for instance 40 for a producer and 232 for each of two consumers",
                          groups.size(), launch * static_cast<int>(groups.size())),
              std::move(notes));
}

}  // namespace

int launch_registers(int threads) {
  // An SM has four partitions of 16384 registers, over which the warps are dealt out in turn.
  const int warps_a_partition = (threads + 127) / 128;
  return std::min(256, 16384 / 32 / warps_a_partition / 8 * 8);
}

int register_limit(const tile::Group& group, const std::vector<int>& of_warpgroup) {
  return std::min(max_registers, of_warpgroup[static_cast<std::size_t>(group.begin / 128)]);
}

bool contains(tile::Kernel& kernel, StmtKind kind) {
  const Walk walk(kernel);
  return std::any_of(walk.sites.begin(), walk.sites.end(), [&](const Site& site) { return site.stmt->kind == kind; });
}

std::vector<int> registers_of_warpgroups(tile::Kernel& kernel) {
  const Walk walk(kernel);
  const auto groups = reallocations(kernel, walk);
  check_budget(kernel, groups);
  std::vector<int> result;
  for (const Reallocation& g : groups) {
    result.push_back(g.site != nullptr ? g.count : launch_registers(kernel.warps * 32));
  }
  return result;
}

RegisterNeed estimate_registers(tile::Kernel& kernel) {
  const std::vector<int> limits = registers_of_warpgroups(kernel);
  for (const tile::RegisterTensor* t : kernel.registers) {
    const int limit = register_limit(t->group, limits);
    if (registers_of(*t) <= limit) continue;
    throw Error(ErrorKind::user, t->loc,
                fmt::format("{}: {} [{}] over {} needs {} registers a thread, the limit is {}", describe(*t),
                            name_of(t->type), fmt::join(t->shape, ", "), to_string(t->group), registers_of(*t), limit),
                limit < max_registers ? "use a smaller tile, fewer warps, or registers() for this group"
                                      : "use a smaller tile or more warps");
  }
  const Walk walk(kernel);
  std::vector<Span> live(kernel.registers.size(), {INT32_MAX, -1});
  std::vector<bool> streamed(kernel.registers.size(), false);
  for (const Site& site : walk.sites) {
    const Operands o = register_operands(site.stmt);
    if (const auto* load = as<tile::LoadShared>(site.stmt)) streamed[load->out->id] = load->streamed;
    for (const auto* list : {&o.reads, &o.writes}) {
      for (const tile::RegisterTensor* t : *list) {
        Span& s = live[t->id];
        s.first = std::min(s.first, site.position);
        s.last = std::max(s.last, site.position);
        // A named tensor keeps its value around the loops that it is used in.
        if (t->named) {
          for (const int loop : site.loops) {
            const Span& around = walk.loops[static_cast<std::size_t>(loop)];
            if (s.first < around.first) s.last = std::max(s.last, around.last);
          }
        }
      }
    }
    // A part of a tile is the tile's own registers until one of them is written.
    if (const auto* slice = as<tile::Slice>(site.stmt)) streamed[slice->out->id] = true;
    if (const auto* transpose = as<tile::Transpose>(site.stmt))
      streamed[transpose->out->id] = streamed[transpose->in->id];
  }
  std::int64_t most = 0;
  for (const Site& site : walk.sites) {
    std::int64_t sum = 0;
    for (const tile::RegisterTensor* t : kernel.registers) {
      if (!meets(t->group, site.group)) continue;  // other threads' registers
      if (live[t->id].contains(site.position) && !streamed[t->id]) sum += registers_of(*t);
    }
    // The result of an elementwise instruction takes the registers of an operand that ends there, piece by piece.
    if (const auto* compute = as<tile::Compute>(site.stmt)) {
      std::int64_t reused = 0;
      for (const tile::RegisterTensor* in : compute->ins) {
        if (in != compute->out && live[in->id].last == site.position) reused += registers_of(*in);
      }
      sum -= std::min(reused, registers_of(*compute->out));
    }
    if (const auto* dot = as<tile::Dot>(site.stmt)) {
      if (streamed[dot->a->id]) sum += fragment_words(*dot->a, 1);
      if (streamed[dot->b->id]) sum += fragment_words(*dot->b, 0);
    }
    most = std::max(most, sum);
  }
  return {static_cast<int>(most), static_cast<int>(most + fixed_registers)};
}

int choose_ctas_per_sm(const RegisterNeed& need, int threads, std::int64_t shared_bytes, bool wgmma) {
  // sm_90: 65536 registers, 2048 threads, 32 CTAs and 228 KB of shared memory an SM, of which each CTA takes 1 KB more
  // than it asks for (CUDA C++ Programming Guide, table 30). Registers are given out in units of 8 a thread.
  // Beside the accumulators ptxas wants 26 registers for a wgmma (its error C7602 names the sum).
  const int tight_registers = wgmma ? 26 : 8;
  const std::int64_t by_shared = 233472 / (shared_bytes + 1024);
  const auto most = static_cast<int>(std::min<std::int64_t>({by_shared, 2048 / threads, 32}));
  const auto fitting = [&](int registers) { return std::min(most, 65536 / (threads * ((registers + 7) / 8 * 8))); };
  const int natural = fitting(std::min(need.estimate, max_registers));
  const int tight = fitting(need.tiles + tight_registers);
  return tight > natural ? tight : 1;
}

}  // namespace tessera::passes
