// The kernels of tessera::matmul as C source (tessera/export.hpp), for dense row-major matrices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/matmul.hpp"

namespace tessera {

struct MatmulExport {
  DType in = DType::f16, out = DType::f16;         // as matmul() takes them
  std::vector<std::array<std::int64_t, 3>> sizes;  // m, n, k; n and k are compiled in, m stands for its bucket
  float alpha = 1, beta = 0;                       // whether they are 1 and 0; the values are the launch's
  bool bias = false;
  Activation activation = Activation::none;
  // Fields that the choice has, "kernel=SplitMatmul,splits=4,block_m=16" (docs/export.md); empty: nothing is pinned.
  std::string config = {};
};

// What is pinned, else what tuning records (ExportOptions::tuning) hold for the fastest, else the model of matmul().
// Where that is several kernels (split sums, copied operands), a launch of the export launches all of them and takes a
// workspace (docs/export.md). Sizes for which the same script is chosen share one export. With several scripts each has
// an export of its own, whose name ends in the script's.
std::vector<ExportReport> export_matmul(const MatmulExport& what, const ExportOptions& options,
                                        SourceLoc loc = SourceLoc::here());

}  // namespace tessera
