// The numbers of a tensor map for one set of arguments, and the rules that the TMA unit puts on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/thread.hpp"

namespace tessera::runtime {

struct ResolvedMap {
  std::uint64_t base = 0;             // address of the first element
  std::vector<std::int64_t> dims;     // elements, innermost first
  std::vector<std::int64_t> strides;  // bytes; one for each dimension but the innermost
  bool empty = false;                 // an extent is 0: no box of it is ever copied, so the rules do not apply
};

// `params` and `sms` as for ir::evaluate_on_host; `pointer` is the argument of the map's parameter.
ResolvedMap resolve(const ir::thread::TensorMap& map, std::span<const std::int64_t> params, const void* pointer,
                    int sms = 0);

// Throws a user Error at `call` with a sentence for each broken rule, which names the tensor, the dimension, the value
// and the rule, and a note at the place of the view. Rules: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA 5.5
// (tensors). The same rules hold on the simulated device.
void validate(const ir::thread::TensorMap& map, const ResolvedMap& resolved, SourceLoc call);

}  // namespace tessera::runtime
