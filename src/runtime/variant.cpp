#include "runtime/variant.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/printer.hpp"
#include "ir/register_file.hpp"
#include "runtime/hash.hpp"
#include "support/error_text.hpp"
#include "tessera/version.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

namespace {

constexpr std::uint32_t shared_limit = 232448;  // dynamic shared memory of a block on sm_90
constexpr int register_limit = 255;
constexpr const char* architecture = "sm_90a";
// Changes with how `build` turns a kernel into an entry: its files, its facts, the retries of `compile`.
constexpr const char* entry_format = "entry 2";

bool reallocates(const ir::Block& body) {
  return std::any_of(body.begin(), body.end(), [](const ir::Stmt* s) {
    if (const auto* loop = ir::as<ir::control::For>(s)) return reallocates(loop->body);
    if (const auto* loop = ir::as<ir::control::Loop>(s)) return reallocates(loop->body);
    if (const auto* branch = ir::as<ir::control::If>(s))
      return reallocates(branch->then_body) || reallocates(branch->else_body);
    return s->kind == ir::StmtKind::thread_SetMaxRegisters;
  });
}

// What the launch gives each thread. Where warpgroups share registers out anew, lowering has checked each one's part.
int registers_of_a_thread(const ir::thread::Kernel& kernel) {
  if (kernel.warps <= 0 || reallocates(kernel.body)) return register_limit;
  return std::min(register_limit, ir::launch_registers(32 * kernel.warps));
}

// Exceptions that are not Error would lose the candidate's name; they are bugs or the user's own.
template <class Work>
void capture(LoweredVariant* out, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    out->error = error;
  }
}

CacheEntry make_entry(const Variant& variant, const std::string& kernel, const std::string& target,
                      const Toolchain& toolchain) {
  const ir::thread::Kernel& ir = *variant.lowered->kernel;
  const std::lock_guard lock(variant.lowered->pool);
  CacheEntry entry;
  entry.kernel = kernel;
  entry.config = variant.row.config;
  entry.target = target;
  entry.cuda = toolchain.print_cuda(ir, true);
  entry.tile_text = ir.tile_program;
  entry.thread_text = toolchain.print_thread(ir);
  return entry;
}

// Compiles; while the registers for as many CTAs an SM as lowering hoped for make the compiler spill or serialise
// wgmmas, for one CTA less. Sets the text that was compiled in the end.
void compile(const LoweredVariant& hoped_for, const Toolchain& toolchain, CacheEntry* entry) {
  ir::thread::Kernel kernel = *hoped_for.kernel;
  while (true) {
    entry->compiled = toolchain.compile(entry->cuda, cuda::function_name(kernel));
    if (kernel.ctas_per_sm == 1 || !entry->compiled.facts.flawed()) return;
    --kernel.ctas_per_sm;
    const std::lock_guard lock(hoped_for.pool);
    entry->cuda = toolchain.print_cuda(kernel, true);
  }
}

void take_facts(const jit::CubinFacts& facts, CandidateReport* row) {
  row->registers = facts.registers;
  row->spill_bytes = facts.spill_bytes();
  row->remarks = facts.remarks;
}

}  // namespace

std::shared_ptr<ir::tile::Kernel> trace_candidate(const detail::Candidate& candidate,
                                                  std::span<const std::int64_t> constants, std::uint64_t alignment,
                                                  LoweredVariant* out) {
  std::shared_ptr<ir::tile::Kernel> kernel;
  capture(out, [&] { kernel = candidate.trace(constants); });
  if (!kernel) return nullptr;
  out->traced = true;
  unsigned pointer = 0;
  for (ir::Param& param : kernel->params) {
    if (!param.is_pointer) continue;
    const bool aligned = pointer < 64 && ((alignment >> pointer) & 1U) != 0;
    param.alignment = aligned ? 16 : size_of(param.type);
    ++pointer;
  }
  return kernel;
}

void lower_candidate(ir::tile::Kernel& kernel, const Toolchain& toolchain, LoweredVariant* out) {
  capture(out, [&] {
    passes::Lowered lowered = toolchain.lower(kernel);
    out->remarks = std::move(lowered.remarks);
    out->findings = std::move(lowered.findings);
    out->register_estimate = lowered.register_estimate;
    auto shared = std::make_shared<ir::thread::Kernel>(std::move(lowered.kernel));
    out->canonical = toolchain.print_cuda(*shared, false);
    out->hash = Hasher().add(shared->name).add(out->canonical).hex();
    out->kernel = std::move(shared);
  });
}

void judge(Variant* variant) {
  CandidateReport& row = variant->row;
  const LoweredVariant& lowered = *variant->lowered;
  if (lowered.error) {
    const bool refused = lowered.traced && lowered.error->kind() != ErrorKind::internal;
    row.status = refused ? Status::pruned : Status::failed;
    row.reason = first_message(*lowered.error);
    return;
  }
  row.warps = lowered.kernel->warps;
  row.shared_bytes = lowered.kernel->shared_bytes;
  row.register_estimate = lowered.register_estimate;
  row.status = Status::ranked;
  if (row.shared_bytes > shared_limit) {
    row.status = Status::pruned;
    row.reason = fmt::format("needs {} bytes of shared memory, a block has {}", row.shared_bytes, shared_limit);
  } else if (const int limit = registers_of_a_thread(*lowered.kernel); row.register_estimate > limit) {
    row.status = Status::pruned;
    row.reason = fmt::format("needs about {} registers a thread, which has {}", row.register_estimate, limit);
  }
}

std::string target_text(const Toolchain& toolchain, const detail::DeviceState& device) {
  return fmt::format("{}; {}; Tessera {}", device.needs_cubin() ? toolchain.compiler() : "sources only", architecture,
                     version());
}

std::string entry_key(const LoweredVariant& lowered, const std::string& target) {
  return Hasher().add(entry_format).add(lowered.kernel->name).add(lowered.canonical).add(target).hex();
}

std::unique_ptr<Executable> load(const Variant& variant, detail::DeviceState& device, const std::vector<char>& cubin) {
  const std::lock_guard lock(variant.lowered->pool);
  return device.load(variant.lowered->kernel, cubin);
}

jit::Compiled build(Variant* variant, const std::string& kernel, const Toolchain& toolchain, const Cache& cache,
                    const detail::DeviceState& device, BuildCounters* counters) {
  const std::string target = target_text(toolchain, device);
  const std::string key = entry_key(*variant->lowered, target);
  const bool cubin = device.needs_cubin();
  std::optional<CacheEntry> found = cache.load(key, cubin);
  if (!found) {
    std::optional<FileLock> lock(cache.lock(key));
    found = cache.load(key, cubin, true);  // another process may have made it meanwhile
    if (!found) {
      CacheEntry entry = make_entry(*variant, kernel, target, toolchain);
      if (cubin) {
        compile(*variant->lowered, toolchain, &entry);
        ++counters->compiled;
      }
      variant->directory = cache.store(key, entry);
      take_facts(entry.compiled.facts, &variant->row);
      lock.reset();  // nobody is to wait while the cache is looked after
      if (!variant->directory.empty()) cache.upkeep();
      return std::move(entry.compiled);
    }
  }
  if (cubin) ++counters->cache_hits;
  variant->directory = found->directory;
  take_facts(found->compiled.facts, &variant->row);
  return std::move(found->compiled);
}

}  // namespace tessera::runtime
