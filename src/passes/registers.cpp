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

RegisterNeed estimate_registers(tile::Kernel& kernel) {
  for (const tile::RegisterTensor* t : kernel.registers) {
    if (registers_of(*t) <= max_registers) continue;
    throw Error(
        ErrorKind::user, t->loc,
        fmt::format("{}: {} [{}] over {} needs {} registers a thread, the limit is {}", describe(*t), name_of(t->type),
                    fmt::join(t->shape, ", "), to_string(t->group), registers_of(*t), max_registers),
        "use a smaller tile or more warps");
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
    if (const auto* transpose = as<tile::Transpose>(site.stmt))
      streamed[transpose->out->id] = streamed[transpose->in->id];
  }
  std::int64_t most = 0;
  for (const Site& site : walk.sites) {
    std::int64_t sum = 0;
    for (const tile::RegisterTensor* t : kernel.registers) {
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

int choose_ctas_per_sm(const RegisterNeed& need, int threads, std::int64_t shared_bytes) {
  // sm_90: 65536 registers, 2048 threads, 32 CTAs and 228 KB of shared memory an SM, of which each CTA takes 1 KB more
  // than it asks for (CUDA C++ Programming Guide, table 30). Registers are given out in units of 8 a thread.
  constexpr int tight_registers = 8;
  const std::int64_t by_shared = 233472 / (shared_bytes + 1024);
  const auto most = static_cast<int>(std::min<std::int64_t>({by_shared, 2048 / threads, 32}));
  const auto fitting = [&](int registers) { return std::min(most, 65536 / (threads * ((registers + 7) / 8 * 8))); };
  const int natural = fitting(std::min(need.estimate, max_registers));
  const int tight = fitting(need.tiles + tight_registers);
  return tight > natural ? tight : 1;
}

}  // namespace tessera::passes
