#include "twin.hpp"

namespace tessera::twins {

const std::vector<Twin>& all_twins() {
  static const std::vector<Twin> twins = [] {
    std::vector<Twin> all;
    add_tma_loads(all);
    add_wgmma_operands(all);
    add_tma_stores(all);
    add_partitions(all);
    add_fences(all);
    add_bytes(all);
    add_barriers(all);
    add_deadlocks(all);
    add_phases(all);
    add_clusters(all);
    add_peers(all);
    add_memory(all);
    add_registers(all);
    return all;
  }();
  return twins;
}

}  // namespace tessera::twins
