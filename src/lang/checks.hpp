// What only the whole trace shows: the grid against the cluster, the registers of all warpgroups, the threads of bulk
// groups.
#pragma once

namespace tessera::lang {

class Tracer;

// Records the mistakes in the tracer.
void check_kernel(Tracer& tracer);

}  // namespace tessera::lang
