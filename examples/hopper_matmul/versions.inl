// Included by one file for each element type, which makes them compile side by side.
#pragma once

#include "hopper_matmul/matmul_v0.hpp"
#include "hopper_matmul/matmul_v1.hpp"
#include "hopper_matmul/matmul_v2.hpp"
#include "hopper_matmul/matmul_v3.hpp"
#include "hopper_matmul/matmul_v4.hpp"
#include "hopper_matmul/matmul_v5.hpp"
#include "hopper_matmul/matmul_v6.hpp"
#include "hopper_matmul/matmul_v7.hpp"
#include "hopper_matmul/versions.hpp"

namespace hopper_matmul {
namespace {

template <class Element, class Script>
class MatmulOf final : public Matmul<Element> {
 public:
  explicit MatmulOf(const std::string& config)
      : kernel_(config.empty() ? Kernel<Script>{} : Kernel<Script>{Script::space().parse(config)}) {}
  void launch(void* stream, std::int64_t m, std::int64_t n, std::int64_t k, const Buffer<Element>& a,
              const Buffer<Element>& b, Buffer<Element>& c) override {
    kernel_.launch({.stream = stream}, m, n, k, a, b, c);
  }
  CheckReport check(const CheckOptions& options, std::int64_t m, std::int64_t n, std::int64_t k,
                    const Buffer<Element>& a, const Buffer<Element>& b, Buffer<Element>& c) override {
    return check_with(options, kernel_, m, n, k, a, b, c);
  }
  ExportReport export_as_c(const ExportOptions& options, const std::vector<std::vector<std::int64_t>>& sizes) override {
    KernelExport out(kernel_, options);
    for (const auto& size : sizes) {
      out.call(size.at(0), size.at(1), size.at(2), export_memory<Element>(), export_memory<Element>(),
               export_memory<Element>());
    }
    return out.write();
  }
  Report report() const override { return kernel_.report(); }

 private:
  Kernel<Script> kernel_;
};

}  // namespace

template <class Element>
std::unique_ptr<Matmul<Element>> make_matmul(const std::string& version, const std::string& config) {
  if (version == "v1") return std::make_unique<MatmulOf<Element, MatmulWgmma<Element>>>(config);
  if (version == "v2") return std::make_unique<MatmulOf<Element, MatmulMultiStage<Element>>>(config);
  if (version == "v3") return std::make_unique<MatmulOf<Element, MatmulWarpSpecialised<Element>>>(config);
  if (version == "v4") return std::make_unique<MatmulOf<Element, MatmulPipelined<Element>>>(config);
  if (version == "v5") return std::make_unique<MatmulOf<Element, MatmulOverlapped<Element>>>(config);
  if (version == "v6") return std::make_unique<MatmulOf<Element, MatmulPersistent<Element>>>(config);
  if (version == "v7") return std::make_unique<MatmulOf<Element, MatmulPingPong<Element>>>(config);
  return std::make_unique<MatmulOf<Element, MatmulTma<Element>>>(config);
}

}  // namespace hopper_matmul
