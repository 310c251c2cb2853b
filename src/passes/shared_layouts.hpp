// Layouts of shared tensors, from how they are used: see infer_layouts.hpp.
#pragma once

#include <vector>

#include "ir/tile.hpp"

namespace tessera::passes {

void choose_shared_layouts(ir::tile::Kernel& kernel);

// How a load_shared can be done by ldmatrix.
struct LdMatrixPlan {
  layout::RegisterLayout blocks;  // the tile in units of 8x8 matrices: local = matrix of a thread, spatial = warp
  bool transposed = false;        // .trans
  bool swapped = false;  // the shared tile's first dimension is the contiguous one: rows and columns trade roles
};
// Also how a store_shared can be done by stmatrix. `shared`: the layout of the view.
std::optional<LdMatrixPlan> plan_ldmatrix(const ir::tile::RegisterTensor& registers,
                                          const layout::SharedLayout& shared);

inline constexpr std::int64_t max_box_extent = 256;  // of a TMA box, in elements
// The largest box extent that divides `extent`.
std::int64_t box_extent(std::int64_t extent);
// The index of the first element of each of the boxes that make up `shape`, the last dimension fastest.
std::vector<ir::tile::Shape> box_origins(const ir::tile::Shape& shape, const ir::tile::Shape& box);

// TMA boxes that together make a part of a shared tile: the index of each box's first element in it, and its byte
// offset from the part's first.
struct BoxPlan {
  std::vector<std::int64_t> box;  // elements, one a dimension of the tile (outermost first)
  struct Box {
    std::vector<std::int64_t> origin;
    std::int64_t byte_offset;
  };
  std::vector<Box> boxes;
};
// Throws a user Error where no set of boxes makes the view in this layout. `call`: the instruction, for messages.
BoxPlan plan_boxes(const ir::tile::SharedView& view, SourceLoc loc, const std::string& call);

}  // namespace tessera::passes
