#include "kernels/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/tile_traffic.hpp"

namespace tessera::kernels {

namespace {

constexpr double clock_mhz = 1700;
constexpr double l2_rate = 6154.0 / 132;                  // bytes a cycle and SM
constexpr double memory_rate = 0.85 * 4.8e6 / clock_mhz;  // bytes a cycle
constexpr double latency = 1000;                          // cycles from a copy's start to its slot's next one
constexpr double fill_cycles = 1500;                      // a kernel's start until its first product
constexpr double launch_us = 2.5;
constexpr std::int64_t shared_limit = 232448, barriers = 512;

double ceil_div(double a, double b) { return std::ceil(a / b); }

// Bytes a cycle and SM, from shared memory and from L2: with the second pair the model orders configurations of
// PersistentMatmul as they were measured, with the first those of the other kernels.
struct Rates {
  double shared, l2;
};
constexpr Rates single_tile_rates{128, l2_rate}, persistent_rates{140, 60};

// Of one k-block of a tile of wgmma rows x columns.
struct Block {
  double rows, columns, k_bytes, in_bytes;
  double fetched;  // bytes from L2 for this SM
  double stages;
  Rates rates = single_tile_rates;

  double cycles() const {
    const double math = 2 * rows * columns * (k_bytes / in_bytes) / (in_bytes == 1 ? 8192 : 4096);
    const double filled = (rows + columns) * k_bytes;
    const double read = rows / 64 * (k_bytes / 32) * (2048 + 32 * columns);
    return std::max({math, (filled + read) / rates.shared, fetched / rates.l2, latency / stages});
  }
};

// Cycles in which a warpgroup finishes and stores `elements`.
double epilogue_cycles(const Extents& e, double elements, double warpgroups) {
  double an_element = 4.0 / 128;  // instructions over the lanes of a warpgroup
  if (e.steps.add_c) an_element += 4.0 / 128;
  if (e.steps.activation == Activation::gelu || e.steps.activation == Activation::silu) an_element += 45.0 / 128;
  if (!by_tma(e.form)) an_element += 4.0 / 128;
  const double stored = elements * e.out_bytes / 32;
  return 600 + std::max(stored, elements * an_element / std::min(warpgroups, 1.0)) / warpgroups;
}

// The same for a warpgroup that stores a whole tile beside another one that multiplies: 1100 cycles a part, and 800
// more where it waits until the engine has read the part before, which lies in the same memory (traced on an H200).
double ping_pong_epilogue_cycles(const Extents& e, const PersistentConfig& c) {
  const double all = epilogue_cycles(e, static_cast<double>(c.block_m) * c.block_n, 1);
  if (!by_tma(e.form)) return all;
  const int whole = c.block_n / c.store_n, waits = c.buffers == 1 ? whole - 1 : 0;
  return std::max(all, 1100 * ceil_div(c.block_n, c.store_n) + 800.0 * waits);
}

double memory_cycles(const Extents& e) {
  const auto m = static_cast<double>(e.m), n = static_cast<double>(e.n), k = static_cast<double>(e.k);
  return ((m + n) * k * e.in_bytes + m * n * e.out_bytes * (e.steps.add_c ? 2 : 1)) / memory_rate;
}

double estimate(const Extents& e, const PersistentConfig& c) {
  const double m = c.block_m, n = c.block_n;
  const double tiles_m = ceil_div(static_cast<double>(e.m), m * c.cluster),
               tiles_n = ceil_div(static_cast<double>(e.n), n);
  const double rounds = ceil_div(tiles_m * tiles_n, std::max(1, e.sms / c.cluster));
  const double k_bytes = c.block_k * e.in_bytes;
  const Block block{m,
                    n,
                    k_bytes,
                    static_cast<double>(e.in_bytes),
                    (m + n / c.cluster) * k_bytes,
                    static_cast<double>(c.stages),
                    persistent_rates};
  const double loop = ceil_div(static_cast<double>(e.k), c.block_k) * block.cycles();
  double cycles = fill_cycles;
  if (c.consumers == Consumers::cooperative) {
    cycles += rounds * (loop / 0.97 + epilogue_cycles(e, m * n, c.consumer_count()));
  } else {  // the loops follow each other, unless the epilogues take longer
    const double epilogue = ping_pong_epilogue_cycles(e, c);
    cycles += rounds * std::max(loop / 0.97 + 150, (loop + epilogue) / 2) + epilogue;
  }
  return std::max(cycles, memory_cycles(e) + fill_cycles) / clock_mhz + launch_us;
}

// Columns that leave through shared memory together: at most `widest`, that divide the tile or, where only narrow ones
// do, leave a rest of it.
int store_columns(int block_n, int widest) {
  int best = 8;
  for (int s = 8; s <= widest; s += 8) {
    if (block_n % s == 0) best = s;
  }
  return best >= widest / 2 ? best : widest;
}

// Buffers of each consumer's rows, and one for the rest of a tile.
std::int64_t staging_bytes(const Extents& e, const PersistentConfig& c) {
  if (!by_tma(e.form)) return 0;
  const std::int64_t rows = std::int64_t{c.consumer_count()} * c.consumer_rows();
  return rows * (c.buffers * c.store_n + c.block_n % c.store_n) * e.out_bytes;
}

int stages_beside(const Extents& e, const PersistentConfig& c) {
  const std::int64_t stage = std::int64_t{c.block_m + c.block_n} * c.block_k * e.in_bytes;
  return static_cast<int>(std::min<std::int64_t>(8, (shared_limit - barriers - staging_bytes(e, c)) / stage));
}

// The height of a group of tiles for which memory delivers the least; in rows of tiles, as GroupedTiles counts them,
// where with clusters the model counts rows of a cluster's tiles.
int group_of(const Extents& e, const PersistentConfig& c) {
  const double k_bytes = static_cast<double>(e.k) * e.in_bytes;
  TileRounds rounds;
  rounds.rows = (e.m + c.block_m * c.cluster - 1) / (c.block_m * c.cluster);
  rounds.columns = (e.n + c.block_n - 1) / c.block_n;
  rounds.at_once = std::max(1, e.sms / c.cluster);
  rounds.row_bytes = c.block_m * c.cluster * k_bytes;
  rounds.column_bytes = c.block_n * k_bytes;
  rounds.result_bytes = static_cast<double>(c.block_m) * c.cluster * c.block_n * e.out_bytes;
  return static_cast<int>(best_group(rounds)) * c.cluster;
}

// Tiles of these heights, as wide as the sums leave room for in the consumers' registers, in every width that wgmma has
// between: which width leaves the last round of tiles nearly full depends on the problem.
struct TileFamily {
  Consumers consumers;
  int m, least_n, most_n;
};
constexpr TileFamily persistent_families[] = {
    {Consumers::cooperative, 128, 64, 256}, {Consumers::cooperative, 192, 64, 192},
    {Consumers::cooperative, 256, 64, 128}, {Consumers::cooperative, 256, 136, 200},
    {Consumers::ping_pong, 128, 64, 200},   {Consumers::ping_pong, 64, 64, 256}};
constexpr std::size_t widths_a_family = 5;  // of each cluster size, the fastest by the model

// Shared memory beside the ring: sums that the CTAs of a cluster add up, or results on their way to memory.
std::int64_t tile_bytes(const Extents& e, const SplitConfig& c, int splits) {
  const std::int64_t elements = std::int64_t{c.block_m} * c.block_n;
  if (c.cluster_k > 1) return elements * 4;
  return splits == 1 && by_tma(e.form) && c.stages_results() ? elements * e.out_bytes : 0;
}

// Rows of b are the tensor cores' rows, rows of a their columns.
double estimate(const Extents& e, const SplitConfig& c, int splits) {
  const double tiles = ceil_div(static_cast<double>(e.n), c.block_n * c.cluster) * c.cluster *
                       ceil_div(static_cast<double>(e.m), c.block_m);
  const double parts = splits * c.cluster_k, ctas = tiles * parts;
  // A cluster has its SMs in one GPC, which has 16 or 18 of them on an H200: larger ones leave some idle.
  const int together_in_gpc = std::max(c.cluster, c.cluster_k);
  const double sms = together_in_gpc > 2 ? std::max(1.0, std::floor(e.sms * 32 / 33.0)) : e.sms;
  const double k_bytes = c.block_k * e.in_bytes;
  const double stage = (c.block_m + c.block_n) * k_bytes;
  const double fetched = (static_cast<double>(c.block_m) / c.cluster + c.block_n) * k_bytes;
  const double resident = std::max(
      1.0, std::floor(shared_limit / (c.stages * stage + static_cast<double>(tile_bytes(e, c, splits)) + 2048)));
  const double rounds = ceil_div(ctas, sms * resident);
  // CTAs that share an SM; with clusters along k, whose last ones find room here and there, on average.
  const double together = std::min(resident, c.cluster_k == 1 ? ceil_div(ctas, sms) : std::max(1.0, ctas / sms));
  Block block{
      static_cast<double>(c.block_n), static_cast<double>(c.block_m), k_bytes, static_cast<double>(e.in_bytes), fetched,
      static_cast<double>(c.stages)};
  const double alone = block.cycles();
  block.stages = c.stages * together;
  const double loop =
      ceil_div(ceil_div(static_cast<double>(e.k), c.block_k), parts) * std::max(alone, together * block.cycles());
  const double elements = static_cast<double>(c.block_m) * c.block_n / c.cluster_k;
  double stored = splits == 1 ? epilogue_cycles(e, elements, c.warpgroups) : 600 + elements * 4 / 32;
  // Written to shared memory, and read from that of the peers at this rate.
  if (c.cluster_k > 1) stored += 1000 + static_cast<double>(tile_bytes(e, c, splits)) / 32;
  const double partials = splits == 1 ? 0 : static_cast<double>(e.m * e.n) * splits * 4 / (l2_rate * e.sms / 2);
  const double joined = together_in_gpc > 1 ? 300 : 0;  // the blocks of a cluster begin and end together
  const double cycles = rounds * (fill_cycles + joined + loop + stored * together);
  return std::max(cycles, memory_cycles(e) + joined + partials + fill_cycles) / clock_mhz + launch_us;
}

// ReduceSplits: its launch overlaps, what it reads lies in L2.
double reduction_us(const Extents& e, int splits) {
  if (splits == 1) return 0;
  const double bytes = static_cast<double>(e.m * e.n) * (4.0 * splits + e.out_bytes * (e.steps.add_c ? 2 : 1));
  return 1.5 + bytes / (l2_rate * e.sms / 2) / clock_mhz;
}

template <class Config>
void sort(std::vector<Estimated<Config>>& list) {
  std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.us < y.us; });
}

// The fastest of each kind come first, since the model compares what is of one kind better than kinds; then the rest.
// Each kind is sorted.
template <class Config>
std::vector<Estimated<Config>> best_of_each_then_rest(const std::vector<std::vector<Estimated<Config>>>& kinds) {
  std::vector<Estimated<Config>> result, rest;
  for (const auto& kind : kinds) {
    if (kind.empty()) continue;
    result.push_back(kind.front());
    rest.insert(rest.end(), kind.begin() + 1, kind.end());
  }
  sort(result);
  sort(rest);
  result.insert(result.end(), rest.begin(), rest.end());
  return result;
}

// The same, but that the fastest ones are followed by all second ones, and so on.
template <class Config>
std::vector<Estimated<Config>> best_of_each_first(const std::vector<std::vector<Estimated<Config>>>& kinds) {
  std::vector<Estimated<Config>> result;
  std::size_t before;
  std::size_t place = 0;
  do {
    before = result.size();
    for (const auto& kind : kinds) {
      if (place < kind.size()) result.push_back(kind[place]);
    }
    std::stable_sort(result.begin() + static_cast<std::ptrdiff_t>(before), result.end(),
                     [](const auto& x, const auto& y) { return x.us < y.us; });
    ++place;
  } while (result.size() != before);
  return result;
}

}  // namespace

Extents extents_of(const Problem& p, int sms) {
  return {p.m, p.n, p.k, size_of(p.in), size_of(p.out), p.a.by_k, p.b.by_k, p.form, p.steps, sms};
}

namespace {

// The configuration of that tile, but for its group; none if it does not fit the problem or the machine.
std::optional<PersistentConfig> persistent_config(const Extents& e, Consumers consumers, int m, int n, int cluster) {
  if (!e.b_by_k && n % 64 != 0) return {};  // whole panels
  PersistentConfig c{consumers, m, n, 128 / e.in_bytes, 0, cluster, cluster, 0, 1};
  // An epilogue that reads, or works on many values at once, leaves no room for the widest sums.
  if (c.wide() && e.steps.code() > 1) return {};
  if (c.consumer_count() == 3 && n > 152 && e.steps.code() > 1) return {};
  // The 40 registers that these sums leave to the producer are too few for ptxas here: it spills some bytes.
  if (c.wide() && (cluster == 1 || (e.in_bytes == 1 && n > 192))) return {};
  const int row = 128 / e.out_bytes;  // covered by one swizzle
  c.store_n = store_columns(n, row);
  c.stages = stages_beside(e, c);
  if (consumers == Consumers::ping_pong && c.stages < 4) {  // each of these stages all of a tile's rows
    c.store_n = store_columns(n, row / 2);
    c.stages = stages_beside(e, c);
  }
  c.buffers = 2;  // unless the second one costs a stage
  if (stages_beside(e, c) < c.stages) c.buffers = 1;
  if (c.stages < 2 || (cluster == 2 && e.m <= c.block_m)) return {};
  return c;
}

}  // namespace

std::vector<Estimated<PersistentConfig>> persistent_candidates(const Extents& e) {
  std::vector<std::vector<Estimated<PersistentConfig>>> kinds;
  for (const TileFamily& family : persistent_families) {
    for (const int cluster : {1, 2}) {
      std::vector<Estimated<PersistentConfig>>& widths = kinds.emplace_back();
      for (int n = family.most_n; n >= family.least_n; n -= 8) {
        const auto c = persistent_config(e, family.consumers, family.m, n, cluster);
        if (c) widths.push_back({*c, estimate(e, *c)});
      }
      sort(widths);
      widths.resize(std::min(widths.size(), widths_a_family));
      for (auto& width : widths) width.config.group = group_of(e, width.config);
    }
  }
  return best_of_each_then_rest(kinds);
}

namespace {

// CTAs that are worth sharing a: its tile has to be a good part of what is fetched.
int most_cluster(const Extents& e, int block_m, int block_n) {
  if (block_m < 32) return 1;
  const std::int64_t tiles = (e.n + block_n - 1) / block_n;
  return tiles < 2 ? 1 : tiles < 4 ? 2 : 4;
}
// CTAs that are worth sharing a tile's k: each has some blocks of it.
int most_sharing_k(const Extents& e) {
  const std::int64_t blocks = e.k * e.in_bytes / 128;
  return static_cast<int>(std::min<std::int64_t>(8, std::max<std::int64_t>(1, blocks / 4)));
}

// How the CTAs of a cluster share what they do.
struct Sharing {
  int cluster, cluster_k;
};
constexpr Sharing split_sharings[] = {{1, 1}, {2, 1}, {4, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 8}};

std::vector<Estimated<SplitConfig>> split_configs(const Extents& e, int splits, const Sharing& sharing) {
  std::vector<Estimated<SplitConfig>> result;
  const int needed = static_cast<int>(std::min<std::int64_t>(256, (e.m + 7) / 8 * 8));
  for (int block_m : {8, 16, 24, 32, 48, 64, 96, 128, 192, 256}) {
    if (block_m > needed && block_m - needed >= 32) break;
    if (!e.a_by_k && block_m % 64 != 0) continue;  // whole panels
    if (e.steps.code() > 1 && block_m > 192) continue;
    for (const int warpgroups : {1, 2}) {
      if (sharing.cluster > most_cluster(e, block_m, 64 * warpgroups)) continue;
      for (const int deep : {1, 2}) {  // all of the shared memory, or half of it so that two CTAs fit an SM
        SplitConfig c{block_m, 64 * warpgroups, 128 / e.in_bytes, 0, warpgroups, sharing.cluster, sharing.cluster_k};
        const std::int64_t stage = std::int64_t{c.block_m + c.block_n} * c.block_k * e.in_bytes;
        const std::int64_t room = shared_limit / deep - 2048 - tile_bytes(e, c, splits);
        c.stages = static_cast<int>(std::min<std::int64_t>(deep == 1 ? 16 : 8, room / stage));
        if (c.stages >= 2) result.push_back({c, estimate(e, c, splits)});
      }
    }
  }
  sort(result);
  result.erase(
      std::unique(result.begin(), result.end(), [](const auto& x, const auto& y) { return x.config == y.config; }),
      result.end());
  return result;
}

std::vector<Estimated<SplitConfig>> split_configs(const Extents& e, int splits) {
  std::vector<std::vector<Estimated<SplitConfig>>> kinds;
  for (const Sharing& sharing : split_sharings) {
    if (sharing.cluster_k > (splits == 1 ? most_sharing_k(e) : 1)) continue;
    kinds.push_back(split_configs(e, splits, sharing));
  }
  return best_of_each_first(kinds);
}

}  // namespace

std::vector<SplitChoice> split_candidates(const Extents& e) {
  std::vector<SplitChoice> result;
  constexpr std::int64_t grid_limit = 65535;
  if (e.m > grid_limit) return result;
  const std::int64_t blocks_k = std::max<std::int64_t>(1, e.k * e.in_bytes / 128);
  for (const int splits : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32}) {
    if (splits > 1 && blocks_k < 2 * splits) break;
    auto candidates = split_configs(e, splits);
    if (!candidates.empty()) result.push_back({splits, std::move(candidates), reduction_us(e, splits)});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const SplitChoice& x, const SplitChoice& y) { return x.us() < y.us(); });
  return result;
}

std::vector<Estimated<PitchConfig>> pitch_candidates(const Extents& e) {
  std::vector<Estimated<PitchConfig>> result;
  constexpr int block_m = 128, block_k = 64;
  for (const int block_n : {16, 32, 64, 128}) {
    const int stage = (block_m + block_n) * block_k * e.in_bytes;
    PitchConfig c{block_m, block_n, block_k, static_cast<int>(std::min<std::int64_t>(6, shared_limit / 2 / stage)), 8};
    const double tiles = ceil_div(static_cast<double>(e.m), block_m) * ceil_div(static_cast<double>(e.n), block_n);
    const Block block{block_m,
                      static_cast<double>(block_n),
                      static_cast<double>(block_k) * e.in_bytes,
                      static_cast<double>(e.in_bytes),
                      static_cast<double>(stage),
                      static_cast<double>(c.stages)};
    // Every element takes a load and its address, a store and a share of the rest, about six instructions; two
    // warpgroups hide one another's latency.
    const double copied = (block_m + block_n) * block_k * 6.0 / 128;
    const double loop =
        ceil_div(static_cast<double>(e.k), block_k) * std::max({block.cycles(), copied, (copied + latency) / 2});
    const double cycles = fill_cycles + ceil_div(tiles, e.sms) * (loop + epilogue_cycles(e, block_m * block_n, 2));
    result.push_back({c, std::max(cycles, memory_cycles(e) + fill_cycles) / clock_mhz + launch_us});
  }
  sort(result);
  return result;
}

double packing_us(const Extents& e, std::int64_t rows) {
  const double bytes = 2.0 * static_cast<double>(rows) * static_cast<double>(e.k) * e.in_bytes;
  return launch_us + bytes / (0.6 * memory_rate * clock_mhz);
}

}  // namespace tessera::kernels
