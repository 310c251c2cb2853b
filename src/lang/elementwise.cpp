// Elementwise operations on register tiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lang/tracer.hpp"

namespace tessera::lang {

bool check_cast(Tracer& t, DType from, DType to, SourceLoc loc) {
  if (from == to || (!is_float8(from) && !is_float8(to))) return true;
  const DType other = is_float8(from) ? to : from;
  if (is_float(other) && !is_float8(other)) return true;
  t.error(loc, fmt::format("cast of {} to {}", name_of(from), name_of(to)),
          "float8_e4m3 and float8_e5m2 convert from and to float32, float16 and bfloat16: go by way of cast<float>(x)");
  return false;
}

}  // namespace tessera::lang

namespace tessera::detail {

using lang::Tracer;
namespace tile = ir::tile;
using Kind = TileOperand::Kind;

namespace {

ir::ExprKind kind_of(Op op, DType type) {
  using K = ir::ExprKind;
  const bool boolean = type == DType::boolean;
  switch (op) {
    case Op::neg: return K::neg;
    case Op::bit_not: return boolean ? K::logical_not : K::bit_not;
    case Op::logical_not: return K::logical_not;
    case Op::add: return K::add;
    case Op::sub: return K::sub;
    case Op::mul: return K::mul;
    case Op::div: return K::div;
    case Op::mod: return K::mod;
    case Op::min: return K::min;
    case Op::max: return K::max;
    case Op::bit_and: return boolean ? K::logical_and : K::bit_and;
    case Op::bit_or: return boolean ? K::logical_or : K::bit_or;
    case Op::bit_xor: return boolean ? K::ne : K::bit_xor;
    case Op::shl: return K::shl;
    case Op::shr: return K::shr;
    case Op::lt: return K::lt;
    case Op::le: return K::le;
    case Op::gt: return K::gt;
    case Op::ge: return K::ge;
    case Op::eq: return K::eq;
    case Op::ne: return K::ne;
    case Op::logical_and: return K::logical_and;
    case Op::logical_or: return K::logical_or;
  }
  return K::add;
}

const char* text_of(Op op) {
  static constexpr const char* texts[] = {"-", "~",  "!",  "+", "-",  "*", "/",  "%",  "min", "max", "&", "|",
                                          "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=",  "&&",  "||"};
  return texts[static_cast<int>(op)];
}

bool allowed(Op op, DType type) {
  if (is_float8(type)) return false;
  switch (op) {
    case Op::mod:
    case Op::shl:
    case Op::shr: return is_integer(type);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not: return !is_float(type);
    case Op::eq:
    case Op::ne: return true;
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not: return type == DType::boolean;
    default: return type != DType::boolean;
  }
}

bool is_comparison(Op op) { return op >= Op::lt && op <= Op::ne; }

// Whether every value of integer type `from` is one of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (!is_integer(from) || !is_integer(to)) return false;
  if (is_signed(from) == is_signed(to)) return size_of(from) <= size_of(to);
  return !is_signed(from) && size_of(from) < size_of(to);
}

bool fits(DType type, std::int64_t v) {
  if (type == DType::u64) return v >= 0;
  return ir::wrap_to(type, v) == v;
}

// Collects the inputs of one Compute and gives each operand its expression.
class Inputs {
 public:
  Inputs(Tracer& t, SourceLoc loc) : t_(t), loc_(loc) {}

  // Resolves the operand's tile or scalar; false with the mistake recorded.
  bool add(const TileOperand& o) {
    if (o.kind == Kind::tile) {
      tile::RegisterTensor* node = t_.use(o.tile, loc_);
      if (node == nullptr) return false;
      return broadcast(node->shape);
    }
    return o.kind != Kind::scalar || t_.use(o.scalar, loc_) != nullptr;
  }

  // The operand as an expression of the type; null with the mistake recorded.
  const ir::Expr* expression(const TileOperand& o, DType type) {
    ir::ExprPool& p = t_.expr();
    if (o.kind == Kind::tile) {
      auto it = std::find(tensors.begin(), tensors.end(), o.tile.node);
      if (it == tensors.end()) it = tensors.insert(it, o.tile.node);
      return p.leaf(ir::ExprKind::operand, type, it - tensors.begin());
    }
    if (o.kind == Kind::scalar) return scalar(o, type);
    if ((o.kind == Kind::boolean) != (type == DType::boolean))
      return reject(o.kind == Kind::boolean ? "a bool" : "a number", type);
    if (o.kind == Kind::boolean) return p.boolean(o.integer != 0);
    if (is_float(type)) return real(o.real, type);
    if (o.kind == Kind::integer && fits(type, o.integer)) return p.constant(type, o.integer);
    if (o.kind == Kind::real && std::trunc(o.real) == o.real && std::fabs(o.real) < 9e15 &&
        fits(type, static_cast<std::int64_t>(o.real))) {
      return p.constant(type, static_cast<std::int64_t>(o.real));
    }
    return reject(o.kind == Kind::integer ? fmt::format("{}", o.integer) : fmt::format("{}", o.real), type);
  }

  std::vector<tile::RegisterTensor*> tensors;
  tile::Shape shape;

 private:
  const ir::Expr* reject(const std::string& what, DType type) {
    t_.error(loc_, fmt::format("{} is no value of {}, the element type of the tile it meets", what, name_of(type)),
             "convert the tile first: cast<float>(tile) or the like");
    return nullptr;
  }
  const ir::Expr* real(double value, DType type) {
    const ir::Expr* e = t_.expr().real(type, value);
    if (std::isfinite(value) && !std::isfinite(e->real)) return reject(fmt::format("{}", value), type);
    return e;
  }
  const ir::Expr* scalar(const TileOperand& o, DType type) {
    const DType from = o.scalar.expr->type;
    const bool ok = from == type || widens(from, type) || (is_float(type) && from != DType::boolean);
    if (ok) return t_.expr().cast(type, o.scalar.expr);
    t_.error(loc_, fmt::format("a traced {} meets a tile of {}", name_of(from), name_of(type)),
             fmt::format("convert one of them with cast<{}>(...)", name_of(type)));
    return nullptr;
  }
  bool broadcast(const tile::Shape& other) {
    if (!seen_) {
      seen_ = true;
      shape = other;
      return true;
    }
    tile::Shape result(std::max(shape.size(), other.size()), 1);
    for (std::size_t i = 1; i <= result.size(); ++i) {
      const std::int64_t a = i <= shape.size() ? shape[shape.size() - i] : 1;
      const std::int64_t b = i <= other.size() ? other[other.size() - i] : 1;
      if (a != b && a != 1 && b != 1) {
        t_.error(loc_,
                 fmt::format("tiles of shapes {} and {} do not fit together", lang::shape_text(shape),
                             lang::shape_text(other)),
                 "extents must be equal or 1, counted from the last dimension");
        return false;
      }
      result[result.size() - i] = a == 1 ? b : a;
    }
    shape = std::move(result);
    return true;
  }

  Tracer& t_;
  SourceLoc loc_;
  bool seen_ = false;
};

// The element type in which the operands meet: that of the tiles among them. None, with the mistake recorded, if they
// differ.
std::optional<DType> meeting_type(Tracer& t, std::initializer_list<const TileOperand*> operands, SourceLoc loc) {
  std::optional<DType> type;
  for (const TileOperand* o : operands) {
    if (o->kind != Kind::tile) continue;
    if (!type) type = o->tile.node->type;
    if (*type == o->tile.node->type) continue;
    t.error(loc, fmt::format("a tile of {} meets a tile of {}", name_of(*type), name_of(o->tile.node->type)),
            fmt::format("convert one of them: cast<{}>(tile)", name_of(*type)));
    return std::nullopt;
  }
  for (const TileOperand* o : operands) {  // select(tile, 1.0f, x): no tile among the choices
    if (type) break;
    if (o->kind == Kind::scalar) type = o->scalar.expr->type;
  }
  for (const TileOperand* o : operands) {
    if (type) break;
    type = o->kind == Kind::boolean ? DType::boolean : o->kind == Kind::integer ? DType::i32 : DType::f32;
    if (o->kind == Kind::real) break;
  }
  return type;
}

TileRef result(Tracer& t, DType type, Inputs inputs, const ir::Expr* value, SourceLoc loc) {
  auto* out = t.kernel->new_register(type, inputs.shape, t.fresh_name(loc, ""), loc, t.group(loc));
  t.emit<tile::Compute>(loc, out, std::move(inputs.tensors), value);
  return {out, t.origin(loc)};
}

// The value of `a op b`, with its inputs collected; null with the mistake recorded.
const ir::Expr* combine(Tracer& t, Inputs& in, Op op, const TileOperand& a, const TileOperand& b, SourceLoc loc) {
  if (!in.add(a) || !in.add(b)) return nullptr;
  const auto type = meeting_type(t, {&a, &b}, loc);
  if (!type) return nullptr;
  if (!allowed(op, *type)) {
    t.error(loc, fmt::format("the operator {} on tiles of {}", text_of(op), name_of(*type)),
            is_float8(*type)
                ? "float8_e4m3 and float8_e5m2 are storage types without arithmetic: cast<float>(tile) first"
            : is_float(*type) ? "this operator needs integers"
                              : "this operator needs numbers; use cast or select");
    return nullptr;
  }
  const ir::Expr* x = in.expression(a, *type);
  const ir::Expr* y = in.expression(b, *type);
  if (x == nullptr || y == nullptr) return nullptr;
  if ((op == Op::div || op == Op::mod) && y->is_constant(0) && is_integer(*type)) {
    t.error(loc, "integers are divided by the constant 0", "the divisor must not be 0");
    return nullptr;
  }
  return t.expr().binary(kind_of(op, *type), x, y);
}

// The named tensor that an assignment writes; null with the mistake recorded.
tile::RegisterTensor* target(Tracer& t, const TileRef& out, SourceLoc loc) {
  tile::RegisterTensor* node = t.use(out, loc);
  if (node == nullptr || node->named) return node;
  t.error(
      loc,
      fmt::format("{} is the result of an instruction and cannot be assigned", lang::quoted(node->name, "this tile")),
      "make a tile with register_tensor and assign that one, or give the new value a name of its own",
      {{node->loc, "made here"}});
  return nullptr;
}

void write(Tracer& t, tile::RegisterTensor* out, Inputs in, const ir::Expr* value, SourceLoc loc) {
  // The value may be narrower than the target, which then broadcasts it, but not wider.
  tile::Shape padded(out->shape.size() > in.shape.size() ? out->shape.size() - in.shape.size() : 0, 1);
  padded.insert(padded.end(), in.shape.begin(), in.shape.end());
  bool ok = padded.size() == out->shape.size();
  for (std::size_t d = 0; ok && d < padded.size(); ++d) ok = padded[d] == 1 || padded[d] == out->shape[d];
  if (!ok) {
    t.error(loc,
            fmt::format("a value of shape {} is assigned to {} of shape {}", lang::shape_text(in.shape),
                        lang::quoted(out->name, "a tile"), lang::shape_text(out->shape)),
            "the value must have the target's shape, or broadcast to it", {{out->loc, "made here"}});
    return;
  }
  t.emit<tile::Compute>(loc, out, std::move(in.tensors), value);
}

}  // namespace

TileRef tile_unary(Op op, const TileOperand& a) {
  Tracer& t = Tracer::current("an operator on a tile", a.loc);
  Inputs in(t, a.loc);
  if (!in.add(a)) return {};
  const DType type = a.tile.node->type;
  if (!allowed(op, type)) {
    t.error(a.loc, fmt::format("the operator {} on a tile of {}", text_of(op), name_of(type)),
            "convert it with cast first");
    return {};
  }
  const ir::Expr* value = t.expr().unary(kind_of(op, type), in.expression(a, type));
  return result(t, type, std::move(in), value, a.loc);
}

TileRef tile_binary(Op op, const TileOperand& a, const TileOperand& b, SourceLoc loc) {
  Tracer& t = Tracer::current("an operator on a tile", loc);
  Inputs in(t, loc);
  const ir::Expr* value = combine(t, in, op, a, b, loc);
  if (value == nullptr) return {};
  return result(t, is_comparison(op) ? DType::boolean : value->type, std::move(in), value, loc);
}

TileRef tile_select(const TileOperand& c, const TileOperand& a, const TileOperand& b, SourceLoc loc) {
  Tracer& t = Tracer::current("select()", loc);
  Inputs in(t, loc);
  if (!in.add(c) || !in.add(a) || !in.add(b)) return {};
  const DType condition = c.kind == Kind::tile      ? c.tile.node->type
                          : c.kind == Kind::scalar  ? c.scalar.expr->type
                          : c.kind == Kind::boolean ? DType::boolean
                                                    : DType::i32;
  if (condition != DType::boolean) {
    t.error(loc, fmt::format("the condition of select() has the type {}", name_of(condition)),
            "compare first: select(tile > 0, a, b)");
    return {};
  }
  const auto type = meeting_type(t, {&a, &b}, loc);
  if (!type) return {};
  const ir::Expr* p = in.expression(c, DType::boolean);
  const ir::Expr* x = in.expression(a, *type);
  const ir::Expr* y = in.expression(b, *type);
  if (p == nullptr || x == nullptr || y == nullptr) return {};
  return result(t, *type, std::move(in), t.expr().select(p, x, y), loc);
}

TileRef tile_cast(DType type, const TileRef& a, SourceLoc loc) {
  Tracer& t = Tracer::current("cast()", loc);
  tile::RegisterTensor* node = t.use(a, loc);
  if (node == nullptr) return {};
  if (!lang::check_cast(t, node->type, type, loc)) return {};
  if (node->type == type && !node->named) return a;  // nothing can change it later, so it is its own copy
  Inputs in(t, loc);
  in.tensors = {node};
  in.shape = node->shape;
  const ir::Expr* value = t.expr().cast(type, t.expr().leaf(ir::ExprKind::operand, node->type, 0));
  return result(t, type, std::move(in), value, loc);
}

TileRef tile_transpose(const TileRef& a, SourceLoc loc) {
  Tracer& t = Tracer::current("transpose()", loc);
  tile::RegisterTensor* node = t.use(a, loc);
  if (node == nullptr) return {};
  if (node->shape.size() != 2) {
    t.error(loc, fmt::format("transpose() of a tile of shape {}", lang::shape_text(node->shape)),
            "a tile has two dimensions to be transposed", {{node->loc, "made here"}});
    return {};
  }
  if (node->named) {  // the transposed tile shares registers, and this one may be assigned later: take a copy
    Inputs in(t, loc);
    in.tensors = {node};
    in.shape = node->shape;
    node = result(t, node->type, std::move(in), t.expr().leaf(ir::ExprKind::operand, node->type, 0), loc).node;
  }
  auto* out = t.kernel->new_register(node->type, {node->shape[1], node->shape[0]}, {}, loc, node->group);
  t.emit<tile::Transpose>(loc, out, node);
  return {out, t.origin(loc)};
}

TileRef tile_part(const TileRef& a, std::int64_t dim, std::int64_t parts, const HostInt& index, SourceLoc loc) {
  Tracer& t = Tracer::current("split()", loc);
  tile::RegisterTensor* in = t.use(a, loc);
  if (in == nullptr) return {};
  const std::vector<Note> notes{{in->loc, "the tile"}};
  const auto rank = static_cast<std::int64_t>(in->shape.size());
  if (dim < 0 || dim >= rank) {
    t.error(loc, fmt::format("split() of dimension {} of a tile of shape {}", dim, lang::shape_text(in->shape)),
            fmt::format("the dimensions are 0 to {}", rank - 1), notes);
    return {};
  }
  tile::Shape shape = in->shape;
  std::int64_t& extent = shape[static_cast<std::size_t>(dim)];
  if (parts < 1 || extent % parts != 0) {
    t.error(loc, fmt::format("split() of {} elements into {} equal parts", extent, parts),
            "the number of parts divides the extent", notes);
    return {};
  }
  if (index.value < 0 || index.value >= parts) {
    t.error(loc, fmt::format("part {} of {}", index.value, parts), fmt::format("the parts are 0 to {}", parts - 1),
            notes);
    return {};
  }
  extent /= parts;
  auto* out = t.kernel->new_register(in->type, shape, {}, loc, in->group);
  t.emit<tile::Slice>(loc, out, in, static_cast<int>(dim), index.value * extent);
  return {out, t.origin(loc)};
}

void tile_assign(const TileRef& out, const TileOperand& value) {
  Tracer& t = Tracer::current("an assignment to a tile", value.loc);
  tile::RegisterTensor* node = target(t, out, value.loc);
  Inputs in(t, value.loc);
  if (node == nullptr || !in.add(value)) return;
  if (value.kind == Kind::tile && value.tile.node->type != node->type) {
    t.error(value.loc,
            fmt::format("a tile of {} is assigned to {} of {}", name_of(value.tile.node->type),
                        lang::quoted(node->name, "a tile"), name_of(node->type)),
            fmt::format("convert it: cast<{}>(tile)", name_of(node->type)), {{node->loc, "made here"}});
    return;
  }
  const ir::Expr* e = in.expression(value, node->type);
  if (e != nullptr) write(t, node, std::move(in), e, value.loc);
}

void tile_update(const TileRef& out, Op op, const TileOperand& value) {
  Tracer& t = Tracer::current("an assignment to a tile", value.loc);
  tile::RegisterTensor* node = target(t, out, value.loc);
  if (node == nullptr) return;
  TileOperand self = value;
  self.kind = Kind::tile;
  self.tile = out;
  Inputs in(t, value.loc);
  const ir::Expr* e = combine(t, in, op, self, value, value.loc);
  if (e != nullptr) write(t, node, std::move(in), e, value.loc);
}

}  // namespace tessera::detail
