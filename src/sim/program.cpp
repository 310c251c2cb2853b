// Binds the arguments and lays out the frame.
#include "sim/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/compiler.hpp"

namespace tessera::sim {
using namespace ir;

Compiler::Compiler(const thread::Kernel& kernel, std::span<const std::int64_t> params, Program& program)
    : kernel_(kernel),
      params_(params),
      program_(program),
      uniformity_(kernel),
      lanes_(lane_ops()),
      scalars_(scalar_ops()),
      values_(kernel.context->value_count()),
      vars_(kernel.context->var_count()),
      held_(kernel.context->expr.size()),
      memo_(kernel.context->expr.size()),
      lane_memo_(kernel.context->expr.size(), no_slot),
      hoist_seen_(kernel.context->expr.size(), 0) {}

void Compiler::run() {
  program_.regs.resize(kernel_.context->regs_count());
  for (auto& slot : program_.block_idx_slots) slot = fresh(8);
  program_.cluster_rank_slot = fresh(8);
  program_.warp_idx_slot = fresh(8);
  program_.thread_idx_slot = fresh(128);
  program_.lane_idx_slot = fresh(128);
  Jumps to_end;
  block(kernel_.body, to_end);
  patch(to_end);
  emit(Op::end, nullptr);
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    write_image(program_.lane_idx_slot + 4 * lane, DType::i32, lane);
  }
  program_.frame_bytes = (frame_size_ + 63) / 64 * 64;
  program_.image.resize(program_.frame_bytes);
}

namespace {

void bind_grid(const thread::Kernel& kernel, std::span<const std::int64_t> params, int sms, Program& program) {
  constexpr std::int64_t limits[3] = {0x7fffffff, 65535, 65535};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Expr* e = kernel.grid[axis];
    const std::int64_t n = e == nullptr ? 1 : evaluate_on_host(e, params, sms);
    if (n < 0 || n > limits[axis]) {
      throw Error(ErrorKind::user, kernel.loc,
                  fmt::format("the grid of {} has {} blocks along {}; 0 to {} are possible", kernel.name, n,
                              "xyz"[axis], limits[axis]),
                  "check the sizes passed, or cover more of the result with one block");
    }
    program.grid[axis] = n;
  }
}

void bind_cluster(const thread::Kernel& kernel, Program& program) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    program.cluster[axis] = std::max(1, kernel.cluster[axis]);
    if (program.grid[axis] % program.cluster[axis] == 0) continue;
    throw Error(ErrorKind::user, kernel.loc,
                fmt::format("the grid of {} has {} blocks along {}, which are not whole clusters of {}", kernel.name,
                            program.grid[axis], "xyz"[axis], program.cluster[axis]),
                "round the number of blocks up to a multiple of the cluster's");
  }
  if (program.cluster_size() > 16) {
    throw Error(ErrorKind::user, kernel.loc,
                fmt::format("a cluster of {} has {} blocks; 1 to 16 are possible, and 8 everywhere", kernel.name,
                            program.cluster_size()));
  }
}

MapInfo bind_map(const thread::TensorMap& map, std::span<const std::int64_t> params, int sms, const Program& program) {
  MapInfo info;
  info.map = &map;
  info.rank = static_cast<int>(map.dims.size());
  if (info.rank < 1 || info.rank > 5 || map.box.size() != map.dims.size() ||
      map.strides_bytes.size() + 1 != map.dims.size() || map.param >= program.buffers.size()) {
    throw Error(ErrorKind::internal, map.loc, fmt::format("the tensor map {} is malformed", map.name));
  }
  info.element_bytes = static_cast<std::uint32_t>(size_of(map.type));
  const std::int64_t offset = map.base_offset == nullptr ? 0 : evaluate_on_host(map.base_offset, params, sms);
  std::byte* data = program.buffers[map.param].data;
  info.base = data == nullptr ? nullptr : data + offset * info.element_bytes;
  info.rows = 1;
  for (int i = 0; i < info.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    info.dims[i] = evaluate_on_host(map.dims[at], params, sms);
    info.strides[i] = i == 0 ? info.element_bytes : evaluate_on_host(map.strides_bytes[at - 1], params, sms);
    info.box[i] = map.box[at];
    if (i > 0) info.rows *= info.box[i];
  }
  info.row_bytes = info.box[0] * info.element_bytes;
  return info;
}

}  // namespace

Program compile(const thread::Kernel& kernel, std::span<const Argument> arguments, int sms) {
  Program program;
  program.kernel = &kernel;
  if (arguments.size() != kernel.params.size()) {
    throw Error(ErrorKind::user, kernel.loc,
                fmt::format("{} takes {} run-time arguments, {} were given", kernel.name, kernel.params.size(),
                            arguments.size()));
  }
  if (kernel.warps < 1 || kernel.warps > 32) {
    throw Error(ErrorKind::internal, kernel.loc,
                fmt::format("{} has {} warps; 1 to 32 are possible", kernel.name, kernel.warps));
  }
  if (kernel.shared_bytes > max_shared_bytes) {
    throw Error(ErrorKind::user, kernel.loc,
                fmt::format("{} needs {} bytes of shared memory; a block has {}", kernel.name, kernel.shared_bytes,
                            max_shared_bytes),
                "use smaller tiles or fewer stages");
  }
  std::vector<std::int64_t> params;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    params.push_back(arguments[i].integer);
    program.buffers.push_back({arguments[i].data, arguments[i].data == nullptr ? 0 : arguments[i].bytes});
  }
  bind_grid(kernel, params, sms, program);
  bind_cluster(kernel, program);
  for (const auto& map : kernel.tensor_maps) program.maps.push_back(bind_map(map, params, sms, program));
  Compiler(kernel, params, program).run();
  return program;
}

}  // namespace tessera::sim
