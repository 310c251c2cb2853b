// The tensor map that a job asks for, as the encoder takes it.
#pragma once

#include "ir/thread.hpp"
#include "trial/job.hpp"

namespace tessera::trial {

inline ir::thread::TensorMap tensor_map_of(const MapJob& job) {
  ir::thread::TensorMap map;
  map.name = job.name;
  map.type = job.type;
  map.box = job.box;
  map.swizzle = static_cast<ir::thread::Swizzle>(job.swizzle);
  return map;
}

}  // namespace tessera::trial
