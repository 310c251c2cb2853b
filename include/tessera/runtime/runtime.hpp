// Devices, buffers and kernels.
#pragma once

#include "tessera/runtime/buffer.hpp"
#include "tessera/runtime/device.hpp"
#include "tessera/runtime/graph.hpp"
#include "tessera/runtime/kernel.hpp"
#include "tessera/runtime/progress.hpp"
#include "tessera/runtime/report.hpp"
#include "tessera/runtime/space.hpp"
#include "tessera/runtime/stream.hpp"
#include "tessera/runtime/tuning.hpp"
