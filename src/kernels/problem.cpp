#include "kernels/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::detail {

namespace {

[[noreturn]] void refuse(SourceLoc loc, std::string message, std::string help, std::vector<Note> notes = {}) {
  throw Error(ErrorKind::user, loc, std::move(message), std::move(help), std::move(notes));
}

std::string extents(std::int64_t rows, std::int64_t columns) { return fmt::format("[{}, {}]", rows, columns); }

// Elements from the first to behind the last one; kept below 2^62, so that their bytes are numbers.
std::int64_t reach(const MatrixValue& x) {
  if (x.rows == 0 || x.columns == 0) return 0;
  __extension__ using Wide = __int128;
  const Wide last = Wide(x.rows - 1) * x.row_stride + Wide(x.columns - 1) * x.column_stride + 1;
  constexpr Wide most = Wide(1) << 59;
  return static_cast<std::int64_t>(std::min(last, most));
}

}  // namespace

MatrixValue matrix_of(DType type, const PtrValue& memory, const Shape& shape, SourceLoc loc) {
  if (shape.size() != 2) {
    refuse(loc,
           fmt::format("a buffer of shape [{}] is not a matrix",
                       [&] {
                         std::string text;
                         for (const std::int64_t extent : shape)
                           text += (text.empty() ? "" : ", ") + std::to_string(extent);
                         return text;
                       }()),
           "use a buffer of two dimensions, or name rows and columns: Matrix<T>(buffer, rows, columns)");
  }
  return matrix_of(type, memory, shape[0], shape[1], shape[1], 1, loc);
}

MatrixValue matrix_of(DType type, const PtrValue& memory, std::int64_t rows, std::int64_t columns,
                      std::int64_t row_stride, std::int64_t column_stride, SourceLoc loc) {
  const MatrixValue result{type, memory, rows, columns, row_stride, column_stride, loc};
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows < 0 || columns < 0 || rows > most || columns > most) {
    refuse(loc, fmt::format("a matrix of extents {}", extents(rows, columns)),
           fmt::format("extents are 0 to {}", most));
  }
  if (row_stride < 0 || column_stride < 0) {
    refuse(loc, fmt::format("a matrix of strides {}", extents(row_stride, column_stride)),
           "strides are 0 or more; let the matrix begin at its lowest address");
  }
  const std::int64_t elements = reach(result);
  if (memory.bytes != PtrValue::unknown_bytes &&
      elements > static_cast<std::int64_t>(memory.bytes / static_cast<std::size_t>(size_of(type)))) {
    refuse(loc,
           fmt::format("a matrix of extents {} and strides {} reaches {} elements far, but its memory has {}",
                       extents(rows, columns), extents(row_stride, column_stride), elements,
                       memory.bytes / static_cast<std::size_t>(size_of(type))),
           "pass more memory, or smaller extents or strides");
  }
  return result;
}

MatrixValue block_of(const MatrixValue& x, std::int64_t row, std::int64_t column, std::int64_t rows,
                     std::int64_t columns, SourceLoc loc) {
  const auto inside = [](std::int64_t first, std::int64_t count, std::int64_t all) {
    return first >= 0 && count >= 0 && first <= all && count <= all - first;
  };
  if (!inside(row, rows, x.rows) || !inside(column, columns, x.columns)) {
    refuse(loc,
           fmt::format("a block of extents {} at {} is not inside a matrix of extents {}", extents(rows, columns),
                       extents(row, column), extents(x.rows, x.columns)),
           "begin and extents of a block are 0 or more, and end inside the matrix",
           {{x.loc, "the matrix is made here"}});
  }
  MatrixValue result = x;
  result.rows = rows;
  result.columns = columns;
  result.loc = loc;
  if (rows == 0 || columns == 0) return result;
  const auto bytes = static_cast<std::size_t>((row * x.row_stride + column * x.column_stride) * size_of(x.type));
  if (x.memory.pointer != nullptr) result.memory.pointer = static_cast<char*>(x.memory.pointer) + bytes;
  if (x.memory.bytes != PtrValue::unknown_bytes) result.memory.bytes -= bytes;
  return result;
}

}  // namespace tessera::detail

namespace tessera::kernels {
using detail::MatrixValue;
using detail::PtrValue;

namespace {

std::string text(const MatrixValue& x) { return fmt::format("{} [{}, {}]", name_of(x.type), x.rows, x.columns); }

[[noreturn]] void refuse(SourceLoc loc, const std::string& message, std::string help, std::vector<Note> notes = {}) {
  throw Error(ErrorKind::user, loc, "matmul: " + message, std::move(help), std::move(notes));
}

Note made_here(const char* name, const MatrixValue& x) { return {x.loc, fmt::format("{} is made here", name)}; }

void check_shapes(const MatrixValue& a, const MatrixValue& b, const MatrixValue& c, SourceLoc loc) {
  if (a.columns == b.columns && a.rows == c.rows && b.rows == c.columns) return;
  const std::string found = fmt::format("a is {}, b {} and c {}", text(a), text(b), text(c));
  std::string help = "a is [m, k], b [n, k] and c [m, n]";
  if (a.columns == b.rows && a.rows == c.rows && b.columns == c.columns)
    help += "; b is [k, n] here: pass b.transpose()";
  else if (a.columns == b.columns && a.rows == c.columns && b.rows == c.rows)
    help += "; c is [n, m] here: pass c.transpose()";
  refuse(loc, found, help);
}

void check_memory(const char* name, const MatrixValue& x, SourceLoc loc) {
  if (x.memory.pointer == nullptr)
    refuse(loc, fmt::format("{}, {}, is a null pointer", name, text(x)), "pass a buffer, or a pointer to device memory",
           {made_here(name, x)});
}

// Elements of c that share memory would be written by two threads. Strides that interleave rows and columns are
// refused too: they are no layout that anybody uses.
void check_apart(const MatrixValue& c, SourceLoc loc) {
  std::array<std::pair<std::int64_t, std::int64_t>, 2> dims = {{{c.row_stride, c.rows}, {c.column_stride, c.columns}}};
  std::sort(dims.begin(), dims.end());
  __extension__ using Wide = __int128;
  const auto& [inner, outer] = dims;
  const bool apart = (inner.second == 1 || inner.first >= 1) &&
                     (outer.second == 1 || outer.first > Wide(inner.first) * (inner.second - 1));
  if (apart) return;
  refuse(
      loc, fmt::format("elements of c, {} with strides [{}, {}], share memory", text(c), c.row_stride, c.column_stride),
      fmt::format("the larger stride must be more than the other one times its extent less one"), {made_here("c", c)});
}

bool aligned(const PtrValue& memory) { return reinterpret_cast<std::uintptr_t>(memory.pointer) % 16 == 0; }
bool whole_lines(std::int64_t pitch, DType type) {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // bytes, of cuTensorMapEncodeTiled
  return pitch > 0 && pitch <= most / size_of(type) - 1 && pitch * size_of(type) % 16 == 0;
}
// The pitch of lines of `extent` elements; of one line alone it is free to choose.
std::int64_t pitch_of(std::int64_t stride, std::int64_t lines, std::int64_t extent, DType type) {
  const std::int64_t unit = 16 / size_of(type);
  return lines > 1 ? stride : (std::max<std::int64_t>(extent, 1) + unit - 1) / unit * unit;
}

OperandForm form_of(const MatrixValue& x) {
  OperandForm form;
  form.row_stride = x.row_stride;
  form.column_stride = x.column_stride;
  form.memory = x.memory;
  form.order = OperandOrder::strided;
  form.by_k = false;
  const bool wide = size_of(x.type) == 2;  // only 16-bit operands of the tensor cores may have contiguous rows
  for (const bool by_k : {true, false}) {
    if (by_k ? x.column_stride != 1 && x.columns > 1 : x.row_stride != 1 && x.rows > 1) continue;
    form.by_k = by_k;
    form.order = by_k ? OperandOrder::by_k : OperandOrder::by_rows;
    form.pitch =
        by_k ? pitch_of(x.row_stride, x.rows, x.columns, x.type) : pitch_of(x.column_stride, x.columns, x.rows, x.type);
    form.loadable = (by_k || wide) && aligned(x.memory) && whole_lines(form.pitch, x.type);
    if (form.loadable) break;
  }
  return form;
}

void describe_c(Problem& p, const MatrixValue& c) {
  const bool rows = c.column_stride == 1 || c.columns == 1, columns = c.row_stride == 1 || c.rows == 1;
  const std::int64_t row_pitch = pitch_of(c.row_stride, c.rows, c.columns, c.type);
  const std::int64_t column_pitch = pitch_of(c.column_stride, c.columns, c.rows, c.type);
  const auto by_engine = [&](std::int64_t pitch) { return aligned(c.memory) && whole_lines(pitch, c.type); };
  if (rows && by_engine(row_pitch))
    p.form = OutputForm::rows_tma;
  else if (columns && by_engine(column_pitch))
    p.form = OutputForm::columns_tma;
  else if (rows || columns)
    p.form = rows ? OutputForm::rows : OutputForm::columns;
  else
    p.form = OutputForm::strided;
  const std::int64_t unit = pitch_unit(p.form, c.type);
  p.c_rows = p.form == OutputForm::strided ? c.row_stride : by_columns(p.form) ? 1 : row_pitch / unit;
  p.c_columns = p.form == OutputForm::strided ? c.column_stride : by_columns(p.form) ? column_pitch / unit : 1;
  p.c = c.memory;
}

void check_bias(const Bias& bias, const MatrixValue& c, SourceLoc loc) {
  if (bias.type() != c.type)
    refuse(loc, fmt::format("the bias is {}, c is {}", name_of(bias.type()), text(c)),
           "pass a bias of c's element type");
  if (bias.memory().pointer == nullptr)
    refuse(loc, "the bias is a null pointer", "pass n values, or leave the bias out");
  const std::size_t bytes = bias.memory().bytes;
  if (bytes != PtrValue::unknown_bytes &&
      bytes / static_cast<std::size_t>(size_of(c.type)) < static_cast<std::size_t>(c.columns))
    refuse(loc,
           fmt::format("the bias has {} elements, c is {}", bytes / static_cast<std::size_t>(size_of(c.type)), text(c)),
           "pass a value for each column of c");
}

}  // namespace

Problem describe(const MatrixValue& a, const MatrixValue& b, const MatrixValue& c, const MatmulOptions& options,
                 SourceLoc loc) {
  check_shapes(a, b, c, loc);
  Problem p;
  p.in = a.type;
  p.out = c.type;
  p.m = c.rows;
  p.n = c.columns;
  if (p.m == 0 || p.n == 0) return p;
  // Nothing of a and b counts without k or with alpha = 0; the kernels then add up nothing.
  p.k = options.alpha == 0.0f ? 0 : a.columns;
  check_memory("c", c, loc);
  check_apart(c, loc);
  describe_c(p, c);
  if (p.k > 0) {
    check_memory("a", a, loc);
    check_memory("b", b, loc);
    p.a = form_of(a);
    p.b = form_of(b);
  } else {
    const OperandForm none{OperandOrder::by_k, true, true, 16, 16, 1, c.memory};
    p.a = p.b = none;
  }
  if (options.bias.given()) check_bias(options.bias, c, loc);
  p.bias = options.bias.given() ? options.bias.memory() : c.memory;
  p.alpha = options.alpha;
  p.beta = options.beta;
  p.steps = {options.alpha != 1.0f && p.k > 0, options.beta != 0.0f, options.bias.given(), options.activation};
  return p;
}

}  // namespace tessera::kernels
