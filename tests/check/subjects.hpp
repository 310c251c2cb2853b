// The kernels that mutation testing changes: every kernel of the library and of the ladder, in small configurations and
// on small sizes. Rings are two or three slots long and go round more than twice, CTAs of persistent kernels have
// several tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "tessera/core/dtype.hpp"

namespace tessera::testing {

// A run-time argument of a launch: a scalar's bits, or memory.
struct Parameter {
  enum class Kind : std::uint8_t { scalar, input, output };
  Kind kind = Kind::scalar;
  std::int64_t value = 0;   // of a scalar; elements of memory
  DType type = DType::f16;  // of memory: f16 or f32
};
inline Parameter scalar(std::int64_t bits) { return {Parameter::Kind::scalar, bits, DType::i64}; }
inline Parameter input(std::int64_t elements, DType type = DType::f16) {
  return {Parameter::Kind::input, elements, type};
}
inline Parameter output(std::int64_t elements, DType type = DType::f16) {
  return {Parameter::Kind::output, elements, type};
}

struct Launch {
  std::vector<Parameter> parameters;
  int sms = 2;
};

struct Subject {
  std::string kernel;  // "v6", "persistent"
  std::string form;    // the configuration and the size
  std::function<ir::thread::Kernel()> build;
  std::vector<Launch> launches;
};

std::vector<Subject> ladder_subjects();
std::vector<Subject> library_subjects();
std::vector<Subject> all_subjects();

}  // namespace tessera::testing
