// The number of allocations of the whole program, in tests that link counting_new.cpp.
#pragma once

#include <atomic>
#include <cstddef>

namespace tessera::test {
extern std::atomic<std::size_t> allocations;
}
