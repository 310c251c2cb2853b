// Text of the warpgroup matrix instructions: one function for each form that a kernel uses.
#pragma once

#include <string>
#include <string_view>

#include "ir/thread.hpp"

namespace tessera::cuda {

// The function that executes `s`, e.g. "wgmma_m64n128k16_f32_bf16_bf16": accumulator, operand a and operand b. Behind
// it stand _ra (a in registers), _mna and _mnb (MN-major), _nega and _negb (negated), in this order.
//   void name(d, [a_low, a_high | a registers], b_low, b_high, accumulate)
// The descriptors come as their low and high words.
std::string wgmma_function(const ir::thread::Wgmma& s);
// The function that makes every use of an array of `words` registers wait for what stands before it.
std::string keep_function(std::string_view register_type, int words);

// `key` is "wgmma:" or "keep:" and such a name. An internal Error if it is malformed.
std::string wgmma_helper(std::string_view key);
bool is_wgmma_helper_name(std::string_view identifier);

}  // namespace tessera::cuda
