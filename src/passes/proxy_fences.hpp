// Hands tiles that ordinary instructions have touched to the async proxy.
//
// A block barrier orders generic accesses with generic accesses only; a TMA copy that follows it may overwrite bytes
// that an ldmatrix issued before it is still reading (the compiler may sink the consumers of the loads below the
// barrier). PTX asks for fence.proxy.async in the threads that made the generic accesses, before the barrier that hands
// the bytes over (PTX ISA, "Async proxy" and "membar/fence"). This pass puts one before a `sync` or a barrier arrive
// exactly where the group has touched a tile since its last such fence and the async proxy can touch the same bytes
// afterwards. A fence.proxy_async() of the user's serves instead.
#pragma once

#include "ir/tile.hpp"

namespace tessera::passes {

// Needs the shared-memory plan: tiles that share bytes are handed over together.
void insert_proxy_fences(ir::tile::Kernel& kernel);

}  // namespace tessera::passes
