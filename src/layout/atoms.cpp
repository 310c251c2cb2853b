#include "layout/atoms.hpp"

#include <fmt/format.h>

#include "layout/detail.hpp"

namespace tessera::layout {

RegisterLayout ldmatrix_atom(int element_bytes) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
    detail::fail("ldmatrix_atom", fmt::format("elements of {} bytes, 1, 2 or 4 allowed", element_bytes));
  }
  return spatial({8, 4}).local({1, 4 / element_bytes});
}

RegisterLayout ldmatrix_trans_atom() { return column_spatial({4, 8}).local({2, 1}); }

MmaAtom mma_m16n8k16() {
  return {.m = 16,
          .n = 8,
          .k = 16,
          .a = column_local({2, 2}).spatial({8, 4}).local({1, 2}),
          .b = local({2, 1}).column_spatial({4, 8}).local({2, 1}),
          .d = local({2, 1}).spatial({8, 4}).local({1, 2})};
}

}  // namespace tessera::layout
