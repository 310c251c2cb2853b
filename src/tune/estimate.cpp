#include "tune/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/match.hpp"
#include "ir/register_file.hpp"

namespace tessera::tune {
using namespace ir;

namespace {

constexpr double l2_bytes_a_us = 5.5e6;
constexpr double mma_flops_a_us = 660e6;
constexpr double wgmma_flops_a_us = 850e6;
constexpr double latency_us = 0.8;
constexpr int warps_a_multiprocessor = 64;
constexpr int blocks_a_multiprocessor = 32;
constexpr std::uint32_t shared_a_multiprocessor = 233472;
constexpr std::uint32_t shared_overhead = 1024;

bool mentions(const Expr* e, ExprKind kind) {
  if (e->kind == kind) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr* a) { return mentions(a, kind); });
}

// The value of `e` in warp `warp`, with one lane elected; null if it depends on anything else.
std::optional<std::int64_t> in_warp(const Expr* e, std::int64_t warp) {
  if (e->kind == ExprKind::constant && !is_float(e->type)) return e->integer;
  if (e->kind == ExprKind::warp_idx) return warp;
  if (e->kind == ExprKind::elect_one) return 1;
  if (e->args.empty() || e->args.size() > 2 || is_float(e->args[0]->type)) return {};
  const std::optional<std::int64_t> a = in_warp(e->args[0], warp), b = in_warp(e->args.back(), warp);
  if (e->kind == ExprKind::logical_and && (a == 0 || b == 0)) return 0;  // whatever the other one is
  if (!a || !b) return {};
  if (e->kind == ExprKind::cast) return wrap_to(e->type, *a);
  if (e->kind == ExprKind::logical_not) return *a == 0 ? 1 : 0;
  std::int64_t result = 0;
  const bool defined = e->args.size() == 2 && evaluate_integer(e->kind, e->args[0]->type, *a, *b, &result);
  return defined ? std::optional(result) : std::nullopt;
}

class Counter {
 public:
  Counter(const thread::Kernel& kernel, std::span<const std::int64_t> params)
      : kernel_(kernel), params_(params), threads_(kernel.warps * 32.0) {}

  BlockWork run() {
    block(kernel_.body, 1, threads_);
    return work_;
  }

 private:
  void block(const Block& body, double times, double threads) {
    for (const Stmt* s : body) statement(s, times, threads);
  }

  void statement(const Stmt* s, double times, double threads) {
    if (const auto* loop = as<control::For>(s)) return block(loop->body, times * trips(*loop), threads);
    if (const auto* loop = as<control::Loop>(s)) return block(loop->body, times, threads);
    if (const auto* branch = as<control::If>(s)) {
      const double through = share(branch->condition, threads);
      block(branch->then_body, times, mentions(branch->condition, ExprKind::elect_one) ? 1 : through);
      return block(branch->else_body, times, through < threads ? threads - through : threads);
    }
    instruction(s, times, threads);
  }

  // Of `threads` threads those of the warps that the condition lets through, if it is about warps alone.
  double share(const Expr* condition, double threads) const {
    double through = 0;
    for (int warp = 0; warp < kernel_.warps; ++warp) {
      const std::optional<std::int64_t> value = in_warp(condition, warp);
      if (!value) return threads;
      through += *value != 0 ? 32 : 0;
    }
    return std::min(through, threads);
  }

  void instruction(const Stmt* s, double times, double threads) {
    if (const auto* copy = as<thread::TmaLoadBox>(s)) {
      work_.bytes += times * box_bytes(copy->map);  // one thread issues it, whatever the condition looks like
    } else if (const auto* copy_out = as<thread::TmaStoreBox>(s)) {
      work_.bytes += times * box_bytes(copy_out->map);
    } else if (const auto* load = as<thread::LoadGlobalVector>(s)) {
      work_.bytes += times * threads * load->count * size_of(load->dst.array->type);
    } else if (const auto* store = as<thread::StoreGlobalVector>(s)) {
      work_.bytes += times * threads * store->count * size_of(store->src.array->type);
    } else if (s->kind == StmtKind::thread_MbarrierWait) {
      work_.waits += times;
    } else if (s->kind == StmtKind::thread_MmaSync) {
      constexpr double flops_a_warp = 2.0 * 16 * 8 * 16;  // m16n8k16
      work_.flops += times * (threads / 32) * flops_a_warp;
    } else if (const auto* mma = as<thread::Wgmma>(s)) {
      // An instruction multiplies by 32 bytes of k, whatever the type, in the same time.
      constexpr double flops_a_column = 2.0 * 64 * 16;
      work_.wgmma_flops += times * (threads / 128) * flops_a_column * mma->n;
    }
  }

  double box_bytes(std::uint32_t map) const {
    double bytes = size_of(kernel_.tensor_maps[map].type);
    for (const std::uint32_t extent : kernel_.tensor_maps[map].box) bytes *= extent;
    return bytes;
  }

  double trips(const control::For& loop) const {
    if (!is_host_computable(loop.begin) || !is_host_computable(loop.end) || !is_host_computable(loop.step)) return 1;
    const auto begin = static_cast<double>(evaluate_on_host(loop.begin, params_));
    const auto end = static_cast<double>(evaluate_on_host(loop.end, params_));
    const auto step = static_cast<double>(evaluate_on_host(loop.step, params_));
    return step <= 0 ? 1 : std::max(0.0, std::ceil((end - begin) / step));
  }

  const thread::Kernel& kernel_;
  std::span<const std::int64_t> params_;
  double threads_;
  BlockWork work_;
};

}  // namespace

BlockWork block_work(const thread::Kernel& kernel, std::span<const std::int64_t> params) {
  return Counter(kernel, params).run();
}

int resident_blocks(int warps, int registers, std::uint32_t shared_bytes) {
  warps = std::max(warps, 1);
  const int by_registers = blocks_by_registers(warps, registers);
  const int by_warps = warps_a_multiprocessor / warps;
  const int by_shared = static_cast<int>(shared_a_multiprocessor / (shared_bytes + shared_overhead));
  return std::max(1, std::min({by_registers, by_warps, by_shared, blocks_a_multiprocessor}));
}

double estimate_us(const thread::Kernel& kernel, std::span<const std::int64_t> params, std::int64_t blocks,
                   int registers, int multiprocessors) {
  const BlockWork work = block_work(kernel, params);
  const double copy = work.bytes / (l2_bytes_a_us / multiprocessors);
  const double math = (work.flops / mma_flops_a_us + work.wgmma_flops / wgmma_flops_a_us) * multiprocessors;
  const double resident = resident_blocks(kernel.warps, registers, kernel.shared_bytes);
  const double waves = std::ceil(static_cast<double>(blocks) / (resident * multiprocessors));
  const double throughput = resident * std::max(copy, math) + std::min(copy, math);
  const double chain = work.waits * latency_us + copy + math;
  return waves * std::max(throughput, chain);
}

}  // namespace tessera::tune
