#include "counting_new.hpp"

#include <cstdlib>
#include <new>

namespace tessera::test {
std::atomic<std::size_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++tessera::test::allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
