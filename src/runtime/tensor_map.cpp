#include "runtime/tensor_map.hpp"

#include <fmt/format.h>

#include "tessera/core/error.hpp"

namespace tessera::runtime {
using ir::thread::Swizzle;
using ir::thread::TensorMap;

namespace {

constexpr std::int64_t max_rank = 5;
constexpr std::int64_t alignment = 16;
constexpr std::int64_t stride_limit = std::int64_t{1} << 40;
constexpr std::int64_t extent_limit = std::int64_t{1} << 32;
constexpr std::int64_t box_limit = 256;

int swizzle_span(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::b32: return 32;
    case Swizzle::b64: return 64;
    case Swizzle::b128: return 128;
  }
  return 0;
}

// Collects the broken rules of one map.
class Rules {
 public:
  Rules(const TensorMap& map, const ResolvedMap& resolved, SourceLoc call)
      : map_(map), resolved_(resolved), call_(call), rank_(resolved.dims.size()) {}

  std::vector<Diagnostic> check() {
    if (rank_ < 1 || rank_ > max_rank) {
      broken(fmt::format("it has {} dimensions", rank_), "a TMA tensor has 1 to 5 dimensions",
             "merge dimensions of the view");
      return std::move(found_);
    }
    check_base();
    for (std::size_t d = 0; d < rank_; ++d) check_extent(d);
    for (std::size_t d = 0; d < resolved_.strides.size(); ++d) check_stride(d);
    check_box();
    return std::move(found_);
  }

 private:
  // The user's numbering: outermost first.
  std::size_t user_dimension(std::size_t d) const { return rank_ - 1 - d; }

  void broken(const std::string& value, const std::string& rule, const std::string& help) {
    Diagnostic diagnostic;
    diagnostic.loc = call_;
    diagnostic.message =
        fmt::format("TMA cannot address the {} view \"{}\": {}, but {}", name_of(map_.type), map_.name, value, rule);
    diagnostic.help = help;
    if (map_.loc.known())
      diagnostic.notes.push_back({map_.loc, fmt::format("the TMA copy of \"{}\" is here", map_.name)});
    found_.push_back(std::move(diagnostic));
  }

  void check_base() {
    if (resolved_.base % alignment == 0) return;
    broken(fmt::format("it begins at address {:#x}", resolved_.base), "a TMA tensor begins at a multiple of 16 bytes",
           "pass a pointer that is aligned to 16 bytes, or use load_global for this tile");
  }
  void check_extent(std::size_t d) {
    const std::int64_t extent = resolved_.dims[d];
    if (extent >= 1 && extent <= extent_limit) return;
    broken(fmt::format("dimension {} has {} elements", user_dimension(d), extent), "an extent is at most 2^32",
           "split the dimension");
  }
  void check_stride(std::size_t d) {
    const std::int64_t stride = resolved_.strides[d];
    const auto value = fmt::format("the stride of dimension {} is {} bytes", user_dimension(d + 1), stride);
    if (stride < 0 || stride >= stride_limit) {
      broken(value, "a stride is at least 0 and less than 2^40 bytes", "use a contiguous view");
    } else if (stride % alignment != 0) {
      const std::int64_t elements = alignment / size_of(map_.type);
      broken(value, "a stride is a multiple of 16 bytes",
             fmt::format("pad the rows to a multiple of {} elements, or use load_global for this tile", elements));
    }
  }
  void check_box() {
    for (std::size_t d = 0; d < map_.box.size(); ++d) {
      if (map_.box[d] >= 1 && map_.box[d] <= box_limit) continue;
      broken(fmt::format("the box has {} elements along dimension {}", map_.box[d], user_dimension(d)),
             "a box has 1 to 256 elements a dimension", "use a smaller tile");
    }
    if (map_.box.empty()) return;
    const std::int64_t inner = static_cast<std::int64_t>(map_.box[0]) * size_of(map_.type);
    const int span = swizzle_span(map_.swizzle);
    const auto value = fmt::format("the box's rows have {} bytes", inner);
    if (inner % alignment != 0) broken(value, "they are multiples of 16 bytes", "use a wider tile");
    if (span != 0 && inner > span) {
      broken(value, fmt::format("a {}-byte swizzle takes rows of at most {} bytes", span, span),
             "use a narrower tile or another swizzle");
    }
  }

  const TensorMap& map_;
  const ResolvedMap& resolved_;
  SourceLoc call_;
  std::size_t rank_;
  std::vector<Diagnostic> found_;
};

}  // namespace

ResolvedMap resolve(const TensorMap& map, std::span<const std::int64_t> params, const void* pointer, int sms) {
  ResolvedMap result;
  const std::int64_t offset = map.base_offset == nullptr ? 0 : ir::evaluate_on_host(map.base_offset, params, sms);
  result.base = reinterpret_cast<std::uintptr_t>(pointer) + static_cast<std::uint64_t>(offset * size_of(map.type));
  for (const ir::Expr* e : map.dims) {
    result.dims.push_back(ir::evaluate_on_host(e, params, sms));
    result.empty = result.empty || result.dims.back() == 0;
  }
  for (const ir::Expr* e : map.strides_bytes) result.strides.push_back(ir::evaluate_on_host(e, params, sms));
  return result;
}

void validate(const TensorMap& map, const ResolvedMap& resolved, SourceLoc call) {
  if (resolved.empty) return;
  std::vector<Diagnostic> broken = Rules(map, resolved, call).check();
  if (!broken.empty()) throw Error(ErrorKind::user, std::move(broken));
}

}  // namespace tessera::runtime
