#include "export/c_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "export/c_expr.hpp"
#include "tessera/core/error.hpp"

namespace tessera::exporter {
using detail::ParamInfo;
using detail::ParamKind;
using ir::Expr;
using ir::thread::Swizzle;
using ir::thread::TensorMap;
using ir::thread::ViewExtent;

namespace {

constexpr std::int64_t grid_limits[3] = {2147483647, 65535, 65535};
constexpr std::size_t most_dims = 5;

const char* map_type(DType type) {
  switch (type) {
    case DType::i16:
    case DType::u16: return "CU_TENSOR_MAP_DATA_TYPE_UINT16";
    case DType::u32: return "CU_TENSOR_MAP_DATA_TYPE_UINT32";
    case DType::i32: return "CU_TENSOR_MAP_DATA_TYPE_INT32";
    case DType::u64: return "CU_TENSOR_MAP_DATA_TYPE_UINT64";
    case DType::i64: return "CU_TENSOR_MAP_DATA_TYPE_INT64";
    case DType::f16: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
    case DType::f32: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    case DType::bf16: return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
    default: return "CU_TENSOR_MAP_DATA_TYPE_UINT8";  // what the engine does not know is moved as bytes
  }
}

const char* swizzle_name(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return "CU_TENSOR_MAP_SWIZZLE_NONE";
    case Swizzle::b32: return "CU_TENSOR_MAP_SWIZZLE_32B";
    case Swizzle::b64: return "CU_TENSOR_MAP_SWIZZLE_64B";
    case Swizzle::b128: return "CU_TENSOR_MAP_SWIZZLE_128B";
  }
  return "CU_TENSOR_MAP_SWIZZLE_NONE";
}

class PlanWriter {
 public:
  PlanWriter(const Model& model, std::size_t index, const PlanPlace& place, Statuses* statuses)
      : variant_(model.variants[index]),
        kernel_(*variant_.kernel),
        place_(place),
        prefix_(model.options.name),
        statuses_(*statuses),
        exprs_(params_of(model)) {
    const std::vector<std::string> names = c_names(model);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (model.params[i].kind != ParamKind::constant) names_.push_back(names[i]);
    }
    shown_ = place.shown.empty() ? names_ : place.shown;
  }

  PlanText write() {
    count();
    extents();
    grid();
    if (place_.sizes_first) line("if (plan->sizes_only) return 0;");
    pointers();
    for (std::size_t i = 0; i < kernel_.tensor_maps.size(); ++i) map(i);
    parameters();
    return {head() + body_ + "  return 0;\n}\n", exprs_.helpers()};
  }

 private:
  static std::vector<CExpressions::Param> params_of(const Model& model) {
    const std::vector<std::string> names = c_names(model);
    std::vector<CExpressions::Param> result;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const ParamInfo& param = model.params[i];
      if (param.kind == ParamKind::constant) continue;
      if (param.kind == ParamKind::pointer)
        result.push_back({"0", param.type == DType::f32 ? DType::i64 : param.type});  // pointers count as 0
      else
        result.push_back({names[i], param.type});
    }
    return result;
  }

  template <class... A>
  void line(fmt::format_string<A...> format, A&&... arguments) {
    body_ += "  " + fmt::format(format, std::forward<A>(arguments)...) + "\n";
  }
  void refuse(const std::string& condition, StatusKind kind, const std::string& text) {
    line("if ({}) return {};", condition, statuses_.at(kind, text));
  }
  // A text for the expression, with everything in front of it that it needs.
  std::string value(const Expr* e) {
    bool failing = false;
    std::string text = exprs_.text(e, &failing);
    fails_ = fails_ || failing;
    for (const std::string& definition : exprs_.take_definitions()) line("{}", definition);
    return text;
  }
  void check_arithmetic() {
    if (!std::exchange(fails_, false)) return;
    uses_bad_ = true;
    refuse("bad", StatusKind::arithmetic, fmt::format("{}: a size divides by zero or shifts too far", kernel_.name));
  }

  void count() {
    for (const ViewExtent& view : kernel_.views) {
      for (const Expr* e : view.shape) exprs_.count(e);
      if (may_fail(view)) exprs_.count(view.elements);
    }
    for (const Expr* e : kernel_.grid) exprs_.count(e);
    for (const TensorMap& map : kernel_.tensor_maps) {
      exprs_.count(map.base_offset);
      for (const Expr* e : map.dims) exprs_.count(e);
      for (const Expr* e : map.strides_bytes) exprs_.count(e);
    }
  }

  // The runtime evaluates how far views reach as well, and refuses what it cannot evaluate.
  bool may_fail(const ViewExtent& view) { return view.elements != nullptr && exprs_.can_fail(view.elements); }

  void extents() {
    std::vector<const Expr*> seen;
    for (const ViewExtent& view : kernel_.views) {
      for (std::size_t d = 0; d < view.shape.size(); ++d) {
        const Expr* e = view.shape[d];
        if (e->is_constant() && e->integer >= 0) continue;
        if (std::find(seen.begin(), seen.end(), e) != seen.end()) continue;
        seen.push_back(e);
        const std::string text = value(e);
        if (fails_) {
          const std::string name = fmt::format("extent_{}", seen.size());
          line("const int64_t {} = {};", name, text);
          check_arithmetic();
          refuse(name + " < 0", StatusKind::negative_extent, extent_text(view, d));
        } else {
          refuse(fmt::format("{} < 0", text.find(' ') == std::string::npos ? text : "(" + text + ")"),
                 StatusKind::negative_extent, extent_text(view, d));
        }
      }
    }
  }
  std::string extent_text(const ViewExtent& view, std::size_t d) const {
    return fmt::format("dimension {} of the view {} of {} is negative", d,
                       view.name.empty() ? "" : "\"" + view.name + "\"", shown_.at(view.param));
  }

  void grid() {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Expr* e = kernel_.grid[axis];
      line("plan->grid[{}] = {};", axis, e == nullptr ? "1" : value(e));
      if (e == nullptr || e->is_constant()) continue;
      check_arithmetic();
      refuse(fmt::format("plan->grid[{}] < 0", axis), StatusKind::negative_grid,
             fmt::format("the grid has a negative number of blocks along {}", "xyz"[axis]));
    }
    line("if (plan->grid[0] == 0 || plan->grid[1] == 0 || plan->grid[2] == 0) {{");
    line("  plan->empty = 1;");
    line("  return 0;");
    line("}}");
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (kernel_.grid[axis] == nullptr || kernel_.grid[axis]->is_constant()) continue;
      refuse(fmt::format("plan->grid[{}] > {}", axis, grid_limits[axis]), StatusKind::grid_too_large,
             fmt::format("the grid has more than {} blocks along {}", grid_limits[axis], "xyz"[axis]));
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int cluster = kernel_.cluster[axis];
      if (cluster == 1) continue;
      refuse(fmt::format("plan->grid[{}] % {} != 0", axis, cluster), StatusKind::cluster_misfit,
             fmt::format("the grid's blocks along {} are not a multiple of the cluster's {}", "xyz"[axis], cluster));
    }
  }

  void pointers() {
    for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      if (!param.is_pointer) continue;
      const std::string& name = names_.at(i);
      refuse(fmt::format("in->{} == 0", name), StatusKind::null_pointer,
             fmt::format("{} is a null pointer", shown_.at(i)));
      const int alignment = std::max(param.alignment, size_of(param.type));
      if (alignment == 1) continue;
      refuse(fmt::format("in->{} % {} != 0", name, alignment), StatusKind::misaligned_pointer,
             fmt::format("{} is not a multiple of {} bytes, for which it was compiled", shown_.at(i), alignment));
    }
    for (const ViewExtent& view : kernel_.views) {
      if (!may_fail(view)) continue;
      const std::string text = value(view.elements);
      line("(void)({});", text);
      check_arithmetic();
    }
  }

  void map(std::size_t i) {
    const TensorMap& map = kernel_.tensor_maps[i];
    check_box(map);
    std::vector<std::string> dims, strides;
    for (const Expr* e : map.dims) dims.push_back(value(e));
    for (const Expr* e : map.strides_bytes) strides.push_back(value(e));
    if (strides.empty()) strides.emplace_back("0");
    std::string base = "in->" + names_.at(map.param);
    if (map.base_offset != nullptr && !map.base_offset->is_constant(0))
      base += fmt::format(" + (uint64_t)({}) * {}", value(map.base_offset), size_of(map.type));
    line("{{");
    line("  /* {}: {} of {} */", map.name, name_of(map.type), shown_.at(map.param));
    line("  static const cuuint32_t box[] = {{{}}};", fmt::join(map.box, ", "));
    line("  const int64_t dims[] = {{{}}};", fmt::join(dims, ", "));
    line("  const int64_t strides[] = {{{}}};", fmt::join(strides, ", "));
    line("  const uint64_t base = {};", base);
    if (fails_) {
      fails_ = false;
      uses_bad_ = true;
      line("  if (bad) return {};",
           statuses_.at(StatusKind::arithmetic,
                        fmt::format("{}: a size divides by zero or shifts too far", kernel_.name)));
    }
    line(
        "  status = encode_map(map_storage(plan, {}), {}, {}, {}, base,\n                        dims, strides, box, "
        "{});",
        i, map_type(map.type), swizzle_name(map.swizzle), map.dims.size(),
        statuses_.block(StatusKind::tensor_map_rule, rules(map)));
    line("  if (status != 0) return status;");
    line("}}");
  }
  // Base, extents, strides: as encode_map() numbers them.
  std::vector<std::string> rules(const TensorMap& map) const {
    const std::string view = fmt::format("TMA cannot address the view \"{}\" of {}", map.name, shown_.at(map.param));
    const std::size_t rank = map.dims.size();
    std::vector<std::string> texts = {view + ": it does not begin at a multiple of 16 bytes"};
    for (std::size_t d = 0; d < rank; ++d)
      texts.push_back(fmt::format("{}: dimension {} has more than 2^32 elements", view, rank - 1 - d));
    for (std::size_t d = 1; d < rank; ++d) {
      texts.push_back(fmt::format("{}: the stride of dimension {} is not a multiple of 16 bytes from 0 to 2^40", view,
                                  rank - 1 - d));
    }
    return texts;
  }
  // What does not depend on the arguments.
  static void check_box(const TensorMap& map) {
    const std::size_t rank = map.dims.size();
    const std::int64_t inner = map.box.empty() ? 0 : static_cast<std::int64_t>(map.box[0]) * size_of(map.type);
    const std::int64_t span =
        map.swizzle == Swizzle::none ? INT64_MAX : std::int64_t{16} << static_cast<int>(map.swizzle);
    const bool boxed = std::all_of(map.box.begin(), map.box.end(), [](std::uint32_t b) { return b >= 1 && b <= 256; });
    if (rank >= 1 && rank <= most_dims && map.box.size() == rank && map.strides_bytes.size() + 1 == rank && boxed &&
        inner % 16 == 0 && inner <= span)
      return;
    throw Error(ErrorKind::unsupported, map.loc,
                fmt::format("no launch of this kernel is possible: the TMA unit cannot copy boxes of [{}] elements of "
                            "\"{}\"",
                            fmt::join(map.box, ", "), map.name),
                "choose another configuration");
  }

  void parameters() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < kernel_.params.size(); ++i) line("plan->params[{}] = &in->{};", count++, names_.at(i));
    for (std::size_t i = 0; i < kernel_.tensor_maps.size(); ++i)
      line("plan->params[{}] = map_storage(plan, {});", count++, i);
  }

  std::string head() const {
    std::string text =
        fmt::format("static int plan_{}(const {}_module* module, struct {}_{}* in, struct {}_plan* plan) {{\n",
                    place_.number, prefix_, prefix_, place_.arguments, prefix_);
    if (exprs_.uses_multiprocessors()) text += "  const int64_t multiprocessors = module->multiprocessors;\n";
    for (const std::size_t i : exprs_.params_used()) {
      if (kernel_.params[i].is_pointer) continue;
      const std::string& name = names_[i];
      text += kernel_.params[i].type == DType::f32 ? fmt::format("  const int64_t {0} = bits_of(in->{0});\n", name)
                                                   : fmt::format("  const int64_t {0} = (int64_t)in->{0};\n", name);
    }
    if (uses_bad_) text += "  int bad = 0;\n";
    if (!kernel_.tensor_maps.empty()) text += "  int status;\n";
    if (!exprs_.uses_multiprocessors()) text += "  (void)module;\n";
    if (kernel_.params.empty()) text += "  (void)in;\n";
    return text;
  }

  const Variant& variant_;
  const ir::thread::Kernel& kernel_;
  const PlanPlace& place_;
  std::string prefix_;
  Statuses& statuses_;
  CExpressions exprs_;
  std::vector<std::string> names_, shown_;  // of the run-time parameters
  std::string body_;
  bool fails_ = false, uses_bad_ = false;
};

}  // namespace

PlanText plan_text(const Model& model, std::size_t index, const PlanPlace& place, Statuses* statuses) {
  return PlanWriter(model, index, place, statuses).write();
}

}  // namespace tessera::exporter
