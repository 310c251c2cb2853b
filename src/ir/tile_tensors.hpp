// What tile instructions name: thread groups, tiles in registers and shared memory, views of global memory, barriers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/context.hpp"
#include "layout/register_layout.hpp"
#include "layout/shared_layout.hpp"

namespace tessera::ir::tile {

using Shape = std::vector<std::int64_t>;

// The threads that execute an instruction: `count` threads from `begin` (absolute in the CTA). `elect`: one thread,
// any of the enclosing group's first warp, chosen by the hardware. `each_warp`: of each warp of these (whole warps) one
// thread, chosen by the hardware.
struct Group {
  int begin = 0;
  int count = 0;
  bool elect = false;
  bool each_warp = false;
  int threads() const { return each_warp ? count / 32 : count; }  // that execute
  bool operator==(const Group&) const = default;
};

// A tile distributed over the registers of the group that created it. It has identity and can be written again.
struct RegisterTensor {
  std::uint32_t id;
  DType type;
  Shape shape;
  std::string name;
  SourceLoc loc;
  Group group;
  std::optional<layout::RegisterLayout> layout;
  bool layout_pinned = false;  // by annotate_layout
  bool named = false;          // created by register_tensor, so a target of assignments
};

struct SharedTensor {
  std::uint32_t id;
  DType type;
  Shape shape;
  std::string name;
  SourceLoc loc;
  std::optional<layout::SharedLayout> layout;
  bool layout_pinned = false;
  std::int64_t offset = -1;  // bytes; set by the shared-memory plan
  std::int64_t bytes() const;
};

// A box of a shared tile, as an instruction uses it: `extents` elements from `origin` on in each dimension of the
// tensor. The view keeps the dimensions `dims` of the tensor, in this order: a stage of a ring drops the first, a
// transposed view exchanges two.
struct SharedView {
  SharedTensor* tensor = nullptr;
  std::vector<const Expr*> origin;  // i32, one a dimension of the tensor
  Shape extents;                    // one a dimension of the tensor, 1 where the view drops it
  std::vector<std::int64_t> dims;
  const Expr* cta = nullptr;  // i32 rank in the cluster: the tile in that block's shared memory; null: in this block's
  Shape shape() const;
  std::int64_t bytes() const;  // of the elements in the box
};

struct GlobalView {
  std::uint32_t id;
  DType type;
  std::uint32_t param;               // pointer parameter
  const Expr* base_offset;           // i64 elements
  std::vector<const Expr*> shape;    // i64
  std::vector<const Expr*> strides;  // i64 elements; row-major unless the user gave them
  std::string name;
  SourceLoc loc;
};

// mbarriers in consecutive 8-byte words.
struct BarrierArray {
  std::uint32_t id;
  std::vector<std::int64_t> counts;
  std::string name;
  SourceLoc loc;
  std::int64_t offset = -1;
};
struct BarrierRef {
  BarrierArray* array = nullptr;
  const Expr* index = nullptr;  // i32
};

// A hardware barrier (PTX barrier.cta, ids 1..15) that groups of different code share: `threads` threads complete it.
struct NamedBarrier {
  std::uint32_t id;
  int threads;
  std::string name;
  SourceLoc loc;
};

}  // namespace tessera::ir::tile
