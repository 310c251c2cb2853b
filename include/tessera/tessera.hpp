// Everything that a program with kernels needs.
#pragma once

#include "tessera/core/error.hpp"
#include "tessera/lang/lang.hpp"
#include "tessera/runtime/buffer.hpp"
#include "tessera/runtime/device.hpp"
#include "tessera/runtime/kernel.hpp"
#include "tessera/runtime/space.hpp"
#include "tessera/version.hpp"
