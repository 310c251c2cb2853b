// Blocks of a cluster that read and write each other's shared memory.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip { unsynchronised, by_mbarrier, overwritten, after_end };

// Two blocks; each hands on what the other one has loaded.
struct Reads : TwinScript {
  Slip slip = Slip::unsynchronised;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.cluster = {2};
    attrs.blocks = 2;
    attrs.warps = 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto told = mbarrier.alloc(64);
    Int32 peer = 1 - cluster.rank();
    cluster.sync();
    auto values = load_global(gx, {16 * blockIdx.x, 0}, {16, 32});
    store_shared(tile, values);  // <- first: peer_read_unsynchronised, peer_read_by_mbarrier
    if (is(Slip::by_mbarrier)) {
      mbarrier.arrive_remote(told, peer);
      mbarrier.wait(told, 0);
    } else if (is(Slip::unsynchronised)) {
      sync();
    } else {
      cluster.sync();
    }
    auto theirs = cluster.map_shared_rank(tile, peer);
    auto got = load_shared(theirs);  // <- second: peer_read_u*, peer_read_b* <- first: peer_read_o*, peer_read_a*
    store_global(gy, got, {16 * blockIdx.x, 0});
    if (slip == Slip::overwritten) {
      is(Slip::overwritten) ? sync() : cluster.sync();
      store_shared(tile, got);  // <- second: peer_read_overwritten
    }
    if (!is(Slip::after_end)) cluster.sync();
  }
};

enum class Store { not_started, unsynchronised, unfenced, after_end };

// The same the other way round: each writes into the other's memory.
struct Stores : TwinScript {
  Store slip = Store::not_started;
  bool is(Store s) const { return broken && slip == s; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.cluster = {2};
    attrs.blocks = 2;
    attrs.warps = 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    if (!is(Store::not_started)) cluster.sync();
    auto theirs = cluster.map_shared_rank(tile, 1 - cluster.rank());
    auto values = load_global(gx, {16 * blockIdx.x, 0}, {16, 32});
    store_shared(theirs, values);  // <- first: peer_store_*
    if (!is(Store::unfenced)) fence.proxy_async();
    is(Store::unsynchronised) ? sync() : cluster.sync();
    if (slip == Store::unfenced) {
      if (auto _ = single_thread()) {
        send(tile, gy, 16 * blockIdx.x);  // <- second: peer_store_unfenced
        tma.wait_group(0);
      }
    } else {
      auto received = load_shared(tile);  // <- second: peer_store_unsynchronised
      store_global(gy, received, {16 * blockIdx.x, 0});
    }
    if (slip == Store::after_end) {
      cluster.sync();
      store_shared(theirs, values);  // <- first: peer_store_after_end
    }
    if (!is(Store::after_end)) cluster.sync();
  }
};

std::vector<float> halves_exchanged(const std::vector<float>& values) {
  auto result = values;
  std::rotate(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(result.size() / 2), result.end());
  return result;
}

}  // namespace

void add_peers(std::vector<Twin>& twins) {
  const Family family(twins, "memory of peers");
  const auto x = counted(1024), y = halves_exchanged(x);
  const auto reads = [&](const char* name, Slip slip, std::set<Hazard> expected, const char* object) {
    const About about{.name = name, .source = "A3", .expected = std::move(expected), .object = object};
    add<Reads>(family, about, x, y, [=](Reads& s) { s.slip = slip; });
  };
  const auto stores = [&](const char* name, Store slip, std::set<Hazard> expected, const char* object) {
    const About about{.name = name, .source = "A3", .expected = std::move(expected), .object = object};
    add<Stores>(family, about, x, y, [=](Stores& s) {
      s.slip = slip;
      s.own_fences = true;
    });
  };
  // What reads before anybody has written finds memory that was never initialised.
  const std::set<Hazard> unordered{Hazard::race, Hazard::uninitialised};
  reads("peer_read_unsynchronised", Slip::unsynchronised, unordered, "tile");
  reads("peer_read_by_mbarrier", Slip::by_mbarrier, {Hazard::race}, "tile");
  reads("peer_read_overwritten", Slip::overwritten, {Hazard::race}, "tile");
  reads("peer_read_after_end", Slip::after_end, {Hazard::cluster}, "block");
  stores("peer_store_not_started", Store::not_started, {Hazard::cluster}, "may not have started");
  stores("peer_store_unsynchronised", Store::unsynchronised, unordered, "tile");
  stores("peer_store_unfenced", Store::unfenced, {Hazard::proxy_fence}, "tile");
  stores("peer_store_after_end", Store::after_end, {Hazard::cluster}, "block");
}

}  // namespace tessera::twins
