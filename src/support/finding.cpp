#include "tessera/core/finding.hpp"

namespace tessera {

const char* name_of(Hazard hazard) {
  switch (hazard) {
    case Hazard::race: return "race";
    case Hazard::proxy_fence: return "missing-proxy-fence";
    case Hazard::barrier_init: return "barrier-init";
    case Hazard::barrier_bytes: return "barrier-bytes";
    case Hazard::barrier_arrivals: return "barrier-arrivals";
    case Hazard::barrier_phase: return "barrier-phase";
    case Hazard::barrier_storage: return "barrier-storage";
    case Hazard::wgmma: return "wgmma";
    case Hazard::bulk_group: return "bulk-group";
    case Hazard::cluster: return "cluster";
    case Hazard::out_of_bounds: return "out-of-bounds";
    case Hazard::uninitialised: return "uninitialised";
    case Hazard::misaligned: return "misaligned";
    case Hazard::swizzle: return "swizzle";
    case Hazard::deadlock: return "deadlock";
    case Hazard::registers: return "registers";
    case Hazard::misuse: return "misuse";
  }
  return "?";
}

}  // namespace tessera
