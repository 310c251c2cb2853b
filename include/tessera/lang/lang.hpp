// The language for kernel authors, without the runtime.
#pragma once

#include "tessera/lang/arguments.hpp"
#include "tessera/lang/cluster.hpp"
#include "tessera/lang/fast_divmod.hpp"
#include "tessera/lang/instruction.hpp"
#include "tessera/lang/layout.hpp"
#include "tessera/lang/params.hpp"
#include "tessera/lang/pipeline.hpp"
#include "tessera/lang/scalar_functions.hpp"
#include "tessera/lang/scope.hpp"
#include "tessera/lang/script.hpp"
#include "tessera/lang/tensor.hpp"
#include "tessera/lang/tile.hpp"
#include "tessera/lang/tiles.hpp"
#include "tessera/lang/tma.hpp"
#include "tessera/lang/unrolled_pipeline.hpp"
#include "tessera/lang/wgmma.hpp"
