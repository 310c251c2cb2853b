#include "runtime/hash.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera::runtime {
namespace {
XXH3_state_t* state_of(void* p) { return static_cast<XXH3_state_t*>(p); }
}  // namespace

Hasher::Hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_of(state_));
}

Hasher::~Hasher() { XXH3_freeState(state_of(state_)); }

Hasher& Hasher::add(std::string_view text) {
  const std::uint64_t length = text.size();
  XXH3_128bits_update(state_of(state_), &length, sizeof length);
  XXH3_128bits_update(state_of(state_), text.data(), text.size());
  return *this;
}

std::string Hasher::hex() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_of(state_));
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

std::string hash_hex(std::string_view text) {
  const XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

}  // namespace tessera::runtime
