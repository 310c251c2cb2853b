#include "runtime/launch_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::runtime {
using detail::Argument;
using detail::PtrSource;
using detail::PtrValue;
using ir::thread::Kernel;
using ir::thread::ViewExtent;

namespace {

constexpr std::int64_t grid_x_limit = 2147483647;
constexpr std::int64_t grid_yz_limit = 65535;

class Planner {
 public:
  Planner(const Kernel& kernel, RuntimeArguments arguments, const detail::DeviceState& device, SourceLoc call)
      : kernel_(kernel), arguments_(arguments), device_(device), call_(call), values_(scalar_values(arguments)) {}

  void run(LaunchPlan* plan) {
    for (const ViewExtent& view : kernel_.views) check_extents(view);
    plan->grid = evaluate_grid(kernel_, values_, call_, device_.sm_count());
    plan->empty = std::any_of(plan->grid.begin(), plan->grid.end(), [](std::int64_t g) { return g == 0; });
    if (plan->empty) return;
    check_grid(plan->grid);
    check_cluster(plan->grid);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (kernel_.params[i].is_pointer) check_pointer(i);
    }
    for (const ViewExtent& view : kernel_.views) check_view(view);
    fill(plan);
  }

 private:
  [[noreturn]] void fail(std::string message, std::string help, std::vector<Note> notes = {}) const {
    throw Error(ErrorKind::user, call_, fmt::format("{}: {}", kernel_.name, message), std::move(help),
                std::move(notes));
  }
  std::string param_text(std::size_t index) const {
    return fmt::format("the argument for {}", kernel_.params[index].name);
  }
  std::vector<std::int64_t> shape_of(const ViewExtent& view) const {
    std::vector<std::int64_t> shape;
    for (const ir::Expr* e : view.shape) shape.push_back(ir::evaluate_on_host(e, values_, device_.sm_count()));
    return shape;
  }
  static std::string view_text(const ViewExtent& view, const std::vector<std::int64_t>& shape) {
    return fmt::format("the view{} {}[{}]", view.name.empty() ? "" : " \"" + view.name + "\"", name_of(view.type),
                       fmt::join(shape, ", "));
  }
  static std::vector<Note> view_note(const ViewExtent& view) {
    if (!view.loc.known()) return {};
    return {{view.loc, "the view is made here"}};
  }

  void check_extents(const ViewExtent& view) const {
    const std::vector<std::int64_t> shape = shape_of(view);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] >= 0) continue;
      fail(fmt::format("{} has the negative extent {} in dimension {}", view_text(view, shape), shape[d], d),
           "pass sizes of 0 or more", view_note(view));
    }
  }

  void check_grid(const std::array<std::int64_t, 3>& grid) const {
    if (grid[0] > grid_x_limit) {
      fail(fmt::format("attrs.blocks has {} blocks along x, but a grid has at most {} there", grid[0], grid_x_limit),
           "use larger tiles, or fewer blocks that loop");
    }
    for (const int axis : {1, 2}) {
      if (grid[axis] <= grid_yz_limit) continue;
      fail(fmt::format("attrs.blocks has {} blocks along {}, but a grid has at most {} there", grid[axis],
                       axis == 1 ? 'y' : 'z', grid_yz_limit),
           "put the long dimension on x, or use larger tiles");
    }
  }

  void check_cluster(const std::array<std::int64_t, 3>& grid) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t cluster = kernel_.cluster[axis];
      if (grid[axis] % cluster == 0) continue;
      const std::int64_t rounded = (grid[axis] / cluster + 1) * cluster;
      fail(fmt::format("attrs.blocks gives {} blocks along {}, which is not a multiple of the {} of a cluster",
                       grid[axis], "xyz"[axis], cluster),
           fmt::format("round the grid up (here to {}) and let blocks without work take part, or use a smaller cluster",
                       rounded));
    }
  }

  void check_pointer(std::size_t index) const {
    const PtrValue& value = arguments_[index]->pointer;
    if (value.pointer == nullptr) {
      fail(fmt::format("{} is a null pointer", param_text(index)), "pass a buffer, or a pointer to device memory");
    }
    if (!device_.host_memory()) check_device_memory(index, value);
    const auto element = static_cast<std::uintptr_t>(size_of(kernel_.params[index].type));
    if (reinterpret_cast<std::uintptr_t>(value.pointer) % element != 0) {
      fail(fmt::format("{} is the address {}, which is not a multiple of the {} bytes of a {}", param_text(index),
                       value.pointer, element, name_of(kernel_.params[index].type)),
           "pass an aligned pointer");
    }
    const auto& written = kernel_.written_params;
    if (value.read_only && std::find(written.begin(), written.end(), index) != written.end()) {
      fail(fmt::format("{} is read-only memory, but the kernel writes to it", param_text(index)),
           "pass memory that may be written");
    }
  }

  void check_device_memory(std::size_t index, const PtrValue& value) const {
    std::string what = "host memory";
    if (value.source == PtrSource::buffer) return;
    if (value.source == PtrSource::device_pointer) {
      if (device_.known_usable(value.pointer)) return;
      static_cast<void>(device_.usable(value.pointer, &what));  // for the text
    }
    fail(fmt::format("{} is {}, which kernels on {} cannot use", param_text(index), what, device_.name()),
         "pass a Buffer of that device (device.from_host copies host memory), or launch on Device::sim()");
  }

  void check_view(const ViewExtent& view) const {
    const PtrValue& value = arguments_[view.param]->pointer;
    if (value.bytes == PtrValue::unknown_bytes) return;
    const std::int64_t elements =
        view.elements == nullptr ? 0 : ir::evaluate_on_host(view.elements, values_, device_.sm_count());
    const std::int64_t width = size_of(view.type);
    if (elements <= static_cast<std::int64_t>(value.bytes) / width) return;
    fail(fmt::format("{} has {} bytes, but {} of it needs {}", param_text(view.param), value.bytes,
                     view_text(view, shape_of(view)),
                     static_cast<double>(elements) * static_cast<double>(width) > 9e18
                         ? fmt::format("{} elements", elements)
                         : fmt::format("{}", elements * width)),
         fmt::format("pass a buffer of at least {} elements of {}, or smaller sizes", elements, name_of(view.type)),
         view_note(view));
  }

  void fill(LaunchPlan* plan) const {
    plan->values.assign(arguments_.size(), 0);
    plan->bytes.assign(arguments_.size(), 0);
    plan->maps.assign(kernel_.tensor_maps.size(), {});
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      plan->values[i] = values_[i];
      if (!kernel_.params[i].is_pointer) continue;
      const PtrValue& value = arguments_[i]->pointer;
      plan->values[i] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(value.pointer));
      plan->bytes[i] = value.bytes == PtrValue::unknown_bytes
                           ? reached_bytes(kernel_, values_, static_cast<std::uint32_t>(i), device_.sm_count())
                           : value.bytes;
    }
    for (std::size_t i = 0; i < plan->maps.size(); ++i) {
      const ir::thread::TensorMap& map = kernel_.tensor_maps[i];
      const ResolvedMap resolved = resolve(map, values_, arguments_[map.param]->pointer.pointer, device_.sm_count());
      validate(map, resolved, call_);
      if (!resolved.empty) device_.encode(map, resolved, &plan->maps[i]);
    }
    plan->params.clear();
    for (std::int64_t& value : plan->values) plan->params.push_back(&value);
    for (jit::EncodedTensorMap& map : plan->maps) plan->params.push_back(&map);
  }

  const Kernel& kernel_;
  RuntimeArguments arguments_;
  const detail::DeviceState& device_;
  SourceLoc call_;
  std::vector<std::int64_t> values_;
};

}  // namespace

std::vector<std::int64_t> scalar_values(RuntimeArguments arguments) {
  std::vector<std::int64_t> values;
  values.reserve(arguments.size());
  for (const Argument* argument : arguments) values.push_back(argument->integer);
  return values;
}

void make_plan(const Kernel& kernel, RuntimeArguments arguments, const detail::DeviceState& device, SourceLoc call,
               LaunchPlan* plan) {
  Planner(kernel, arguments, device, call).run(plan);
}

std::size_t reached_bytes(const Kernel& kernel, std::span<const std::int64_t> values, std::uint32_t param, int sms) {
  std::size_t bytes = 0;
  for (const ViewExtent& view : kernel.views) {
    if (view.param != param || view.elements == nullptr) continue;
    const std::int64_t elements = std::max<std::int64_t>(0, ir::evaluate_on_host(view.elements, values, sms));
    bytes = std::max(bytes, static_cast<std::size_t>(elements) * static_cast<std::size_t>(size_of(view.type)));
  }
  return bytes;
}

std::array<std::int64_t, 3> evaluate_grid(const Kernel& kernel, std::span<const std::int64_t> values, SourceLoc call,
                                          int sms) {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (kernel.grid[axis] == nullptr) continue;
    grid[axis] = ir::evaluate_on_host(kernel.grid[axis], values, sms);
    if (grid[axis] < 0) {
      throw Error(ErrorKind::user, call,
                  fmt::format("{}: attrs.blocks gives {} blocks along {}", kernel.name, grid[axis], "xyz"[axis]),
                  "pass sizes of 0 or more");
    }
  }
  return grid;
}

}  // namespace tessera::runtime
