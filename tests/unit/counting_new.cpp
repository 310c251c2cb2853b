#include "counting_new.hpp"

#include <cstdlib>
#include <new>

namespace tessera::test {
std::atomic<std::size_t> allocations{0};
}

// The thread sanitizer brings these functions itself, and takes no others: under it nothing is counted.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TESSERA_COUNTS_NOTHING
#endif
#endif
#ifndef TESSERA_COUNTS_NOTHING
void* operator new(std::size_t size) {
  ++tessera::test::allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
// With the address sanitizer this form would come from its library, and what it allocates may not go to std::free.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++tessera::test::allocations;
  return std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif
