// The steps of the ladder behind one interface, so that the program can run any of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/check.hpp"
#include "tessera/export.hpp"
#include "tessera/tessera.hpp"

namespace hopper_matmul {

inline const std::vector<std::string>& version_names() {
  static const std::vector<std::string> names = {"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7"};
  return names;
}

// c = a·bᵀ by one of the kernels.
template <class Element>
class Matmul {
 public:
  Matmul() = default;
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  virtual ~Matmul() = default;
  virtual void launch(void* stream, std::int64_t m, std::int64_t n, std::int64_t k, const tessera::Buffer<Element>& a,
                      const tessera::Buffer<Element>& b, tessera::Buffer<Element>& c) = 0;
  virtual tessera::CheckReport check(const tessera::CheckOptions& options, std::int64_t m, std::int64_t n,
                                     std::int64_t k, const tessera::Buffer<Element>& a,
                                     const tessera::Buffer<Element>& b, tessera::Buffer<Element>& c) = 0;
  // As C source, for these sizes {m, n, k}.
  virtual tessera::ExportReport export_as_c(const tessera::ExportOptions& options,
                                            const std::vector<std::vector<std::int64_t>>& sizes) = 0;
  virtual tessera::Report report() const = 0;
};

// `config` pins a candidate ("block_m=64,..."); empty: tuned. Throws tessera::Error for one that does not exist.
template <class Element>
std::unique_ptr<Matmul<Element>> make_matmul(const std::string& version, const std::string& config);
extern template std::unique_ptr<Matmul<tessera::float16>> make_matmul(const std::string&, const std::string&);
extern template std::unique_ptr<Matmul<tessera::bfloat16>> make_matmul(const std::string&, const std::string&);

}  // namespace hopper_matmul
