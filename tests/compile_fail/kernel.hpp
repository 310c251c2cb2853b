// What the cases share.
#pragma once

#include "tessera/lang/lang.hpp"

using namespace tessera;  // NOLINT: as a kernel author writes it
