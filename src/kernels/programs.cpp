#include "kernels/programs.hpp"

#include "tessera/core/error.hpp"

namespace tessera::kernels {

namespace {

// visit(in, out) with a value of each type.
template <class F>
auto with_types(DType in, DType out, F visit) {
  if (in == DType::f16 && out == DType::f16) return visit(float16{}, float16{});
  if (in == DType::f16 && out == DType::f32) return visit(float16{}, float{});
  if (in == DType::bf16 && out == DType::bf16) return visit(bfloat16{}, bfloat16{});
  if (in == DType::bf16 && out == DType::f32) return visit(bfloat16{}, float{});
  if (in == DType::f8e4m3 && out == DType::f16) return visit(float8_e4m3{}, float16{});
  if (in == DType::f8e4m3 && out == DType::bf16) return visit(float8_e4m3{}, bfloat16{});
  if (in == DType::f8e4m3 && out == DType::f32) return visit(float8_e4m3{}, float{});
  throw Error(ErrorKind::internal, {}, std::string("no matmul of ") + name_of(in) + " with results of " + name_of(out));
}

}  // namespace

detail::Program persistent_program(DType in, DType out, const std::vector<PersistentConfig>& configs) {
  return with_types(in, out, [&]<class In, class Out>(In, Out) { return persistent_program<In, Out>(configs); });
}
detail::Program split_program(DType in, DType out, const std::vector<SplitConfig>& configs) {
  return with_types(in, out, [&]<class In, class Out>(In, Out) { return split_program<In, Out>(configs); });
}
detail::Program pitch_program(DType in, DType out, const std::vector<PitchConfig>& configs) {
  return with_types(in, out, [&]<class In, class Out>(In, Out) { return pitch_program<In, Out>(configs); });
}
detail::Program reduce_program(DType out) {
  if (out == DType::f16) return reduce_program<float16>();
  return out == DType::bf16 ? reduce_program<bfloat16>() : reduce_program<float>();
}

}  // namespace tessera::kernels
