#include "hopper_matmul/versions.inl"

namespace hopper_matmul {

template std::unique_ptr<Matmul<float16>> make_matmul(const std::string&, const std::string&);

}  // namespace hopper_matmul
