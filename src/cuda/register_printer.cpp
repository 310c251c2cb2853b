// Register arrays: declarations, writes and vector accesses. Elements narrower than 32 bits are packed.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/stmt_printer.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cuda {

using namespace ir;  // NOLINT(google-build-using-namespace): this file is about nothing else
using thread::RegRef;

namespace {

int elements_per_word(DType type) { return type == DType::boolean ? 1 : std::max(1, 4 / size_of(type)); }
bool is_packed(const RegArray* a) { return elements_per_word(a->type) > 1; }

bool reads(const Expr* e, const RegArray* array) {
  if (e->kind == ExprKind::reg && e->array == array) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr* a) { return reads(a, array); });
}

// The float32 that `e` rounds to `type`, or null.
const Expr* rounded_float(DType type, const Expr* e) {
  const bool is_cast = e->kind == ExprKind::cast && e->type == type && e->args[0]->type == DType::f32;
  return is_cast ? e->args[0] : nullptr;
}

}  // namespace

void StmtPrinter::print(const thread::DeclareRegs& s) {
  const RegArray* a = s.array;
  const int per_word = elements_per_word(a->type);
  const auto size = static_cast<int>(a->size);
  const char* type = is_packed(a) ? "unsigned" : cuda_type(a->type);
  const std::string note = is_packed(a) ? fmt::format("{} {}", size, name_of(a->type)) : std::string();
  line(&s, fmt::format("{} {}[{}];", type, names_.of(a), (size + per_word - 1) / per_word), note);
}

const Expr* StmtPrinter::at(const RegRef& ref, int i) { return exprs_.pool().add(ref.index, i); }

bool StmtPrinter::begins_word(const RegRef& ref) const {
  return ExprPrinter::position_in_word(ref.array, ref.index) == 0;
}

std::string StmtPrinter::register_pointer(const Stmt* s, const RegRef& ref) {
  if (!begins_word(ref)) {
    throw Error(ErrorKind::internal, s->loc,
                fmt::format("{}: element {} of '{}' does not begin a 32-bit register", name_of(s->kind),
                            to_string(ref.index), ref.array->name));
  }
  const std::string index = exprs_.register_index(ref.array, ref.index);
  return index == "0" ? names_.of(ref.array) : fmt::format("&{}[{}]", names_.of(ref.array), index);
}

std::string StmtPrinter::set_element(const RegRef& ref, int i, const std::string& value) {
  const std::string& name = names_.of(ref.array);
  const Expr* index = at(ref, i);
  if (!is_packed(ref.array)) return fmt::format("{}[{}] = {};", name, exprs_.text(index), value);
  const bool alone = index->is_constant() && index->integer + 1 == ref.array->size &&
                     ExprPrinter::position_in_word(ref.array, index) == 0;
  if (alone) {  // nothing else lives in this register
    const char* bits = size_of(ref.array->type) == 2 ? "unsigned short" : "unsigned char";
    return fmt::format("{}[{}] = ({})({});", name, exprs_.register_index(ref.array, index), bits, value);
  }
  const char* helper = size_of(ref.array->type) == 2 ? "set16" : "set8";
  prelude_.use(helper);
  return fmt::format("{}({}, {}, {});", helper, name, exprs_.text(index), value);
}

std::string StmtPrinter::element_bits(const RegRef& ref, int i) {
  return exprs_.text(exprs_.pool().reg(ref.array, at(ref, i)), Precedence::unary);
}

std::string StmtPrinter::packed(DType type, const Expr* const* values) {
  if (is_float8(type) && std::all_of(values, values + 4, [&](const Expr* e) { return rounded_float(type, e); })) {
    const std::string helper = type == DType::f8e4m3 ? "pack_e4m3" : "pack_e5m2";
    prelude_.use(helper);
    return fmt::format("{}({}, {}, {}, {})", helper, exprs_.text(rounded_float(type, values[0])),
                       exprs_.text(rounded_float(type, values[1])), exprs_.text(rounded_float(type, values[2])),
                       exprs_.text(rounded_float(type, values[3])));
  }
  if (size_of(type) == 1) {
    prelude_.use("pack8");
    return fmt::format("pack8({}, {}, {}, {})", exprs_.text(values[0]), exprs_.text(values[1]), exprs_.text(values[2]),
                       exprs_.text(values[3]));
  }
  const Expr* lo = values[0];
  const Expr* hi = values[1];
  // A register moved as a whole.
  if (lo->kind == ExprKind::reg && hi->kind == ExprKind::reg && lo->array == hi->array && size_of(lo->type) == 2 &&
      ExprPrinter::position_in_word(lo->array, lo->args[0]) == 0 && exprs_.pool().add(lo->args[0], 1) == hi->args[0]) {
    return fmt::format("{}[{}]", names_.of(lo->array), exprs_.register_index(lo->array, lo->args[0]));
  }
  const Expr* lo_float = is_float(type) ? rounded_float(type, lo) : nullptr;
  const Expr* hi_float = is_float(type) ? rounded_float(type, hi) : nullptr;
  const bool both_round = lo_float != nullptr && hi_float != nullptr;
  const char* helper = !both_round ? "pack16" : type == DType::f16 ? "pack_f16" : "pack_bf16";
  prelude_.use(helper);
  return fmt::format("{}({}, {})", helper, exprs_.text(both_round ? lo_float : lo),
                     exprs_.text(both_round ? hi_float : hi));
}

void StmtPrinter::print(const thread::WriteRegs& s) {
  const RegArray* array = s.dst.array;
  const int per_word = elements_per_word(array->type);
  const auto count = static_cast<int>(s.values.size());
  const bool whole = per_word > 1 && begins_word(s.dst);
  struct Write {
    int first;
    bool word;
    std::string value;
  };
  std::vector<Write> writes;
  for (int i = 0; i < count;) {
    const bool word = whole && i + per_word <= count;
    const Expr* const* values = s.values.data() + i;
    writes.push_back({i, word, word ? packed(array->type, values) : exprs_.text(*values)});
    i += word ? per_word : 1;
  }
  // All values are computed before the first is written.
  const bool overlaps = writes.size() > 1 &&
                        std::any_of(s.values.begin(), s.values.end(), [&](const Expr* e) { return reads(e, array); });
  std::string temporaries, code;
  for (std::size_t w = 0; w < writes.size(); ++w) {
    Write& write = writes[w];
    if (overlaps) {
      const std::string name = fmt::format("t{}", w);
      temporaries +=
          fmt::format("const {} {} = {}; ", write.word ? "unsigned" : cuda_type(array->type), name, write.value);
      write.value = name;
    }
    if (!code.empty()) code += ' ';
    code += write.word ? fmt::format("{}[{}] = {};", names_.of(array),
                                     exprs_.register_index(array, at(s.dst, write.first)), write.value)
                       : set_element(s.dst, write.first, write.value);
  }
  line(&s, overlaps ? "{ " + temporaries + code + " }" : code);
}

std::string StmtPrinter::global_pointer(std::uint32_t param, const Expr* offset) {
  const std::string& name = exprs_.param(param);
  return offset->is_constant(0) ? name : fmt::format("{} + {}", name, exprs_.text(offset, Precedence::sum));
}

std::string StmtPrinter::shared_address(const Expr* address, const Expr* cta) {
  if (cta == nullptr) return exprs_.text(address);
  prelude_.use("address_in_cta");
  return fmt::format("address_in_cta({}, {})", exprs_.text(address), exprs_.text(cta));
}

void StmtPrinter::load(const Stmt* s, const char* space, const RegRef& dst, int count, const std::string& pointer,
                       const Expr* mask) {
  const RegArray* array = dst.array;
  const int bytes = count * size_of(array->type);
  const std::string name = fmt::format("load_{}_{}{}", space, bytes, mask == nullptr ? "" : "_if");
  const std::string condition = mask == nullptr ? std::string() : exprs_.text(mask) + ", ";
  const bool direct = bytes >= 4 && array->type != DType::boolean && (!is_packed(array) || begins_word(dst));
  if (direct) {
    prelude_.use(fmt::format("{}:{}", name, is_packed(array) ? "unsigned" : cuda_type(array->type)));
    return line(s, fmt::format("{}({}{}, {});", name, condition, register_pointer(s, dst), pointer));
  }
  std::string code, source;
  if (bytes <= 2) {
    prelude_.use(name + ":");
    source = fmt::format("{}({}{})", name, condition, pointer);
    if (count > 1) code = fmt::format("const unsigned t = {}; ", source);
  } else {
    prelude_.use(name + ":unsigned");
    code = fmt::format("unsigned t[{}]; {}({}t, {}); ", bytes / 4, name, condition, pointer);
  }
  for (int i = 0; i < count; ++i) {
    std::string value = source;
    if (count > 1) value = temporary_element(array->type, bytes <= 2, i);
    if (array->type == DType::boolean) value += " != 0";
    code += set_element(dst, i, value) + (i + 1 < count ? " " : "");
  }
  line(s, count > 1 ? "{ " + code + " }" : code);
}

// Element i of the temporary `t` (one word, or an array of words) of a vector access.
std::string StmtPrinter::temporary_element(DType type, bool one_word, int i) {
  const int per_word = 4 / size_of(type);
  const std::string word = one_word ? "t" : fmt::format("t[{}]", i / per_word);
  if (size_of(type) == 2) {
    const char* helper = i % per_word == 0 ? "lo16" : "hi16";
    prelude_.use(helper);
    return fmt::format("{}({})", helper, word);
  }
  prelude_.use("get8");
  return one_word ? fmt::format("get8(&t, {})", i) : fmt::format("get8(t, {})", i);
}

void StmtPrinter::store(const Stmt* s, const char* space, const RegRef& src, int count, const std::string& pointer,
                        const Expr* mask) {
  const RegArray* array = src.array;
  const int bytes = count * size_of(array->type);
  const std::string name = fmt::format("store_{}_{}{}", space, bytes, mask == nullptr ? "" : "_if");
  const std::string condition = mask == nullptr ? std::string() : exprs_.text(mask) + ", ";
  const bool direct = bytes >= 4 && array->type != DType::boolean && (!is_packed(array) || begins_word(src));
  if (direct) {
    prelude_.use(fmt::format("{}:{}", name, is_packed(array) ? "unsigned" : cuda_type(array->type)));
    return line(s, fmt::format("{}({}{}, {});", name, condition, register_pointer(s, src), pointer));
  }
  if (count == 1) {
    prelude_.use(name + ":");
    return line(s, fmt::format("{}({}{}, {});", name, condition, element_bits(src, 0), pointer));
  }
  // Elements that do not fill registers from a boundary on are gathered first.
  std::string words;
  const int per_word = 4 / size_of(array->type);
  const char* helper = per_word == 2 ? "pack16" : "pack8";
  prelude_.use(helper);
  for (int i = 0; i < count; i += per_word) {
    std::string elements;
    for (int k = 0; k < per_word; ++k)
      elements += (k > 0 ? ", " : "") + (i + k < count ? element_bits(src, i + k) : std::string("0"));
    words += fmt::format("{}{}({})", i > 0 ? ", " : "", helper, elements);
  }
  if (bytes <= 2) {
    prelude_.use(name + ":");
    return line(s, fmt::format("{}({}{}, {});", name, condition, words, pointer));
  }
  prelude_.use(name + ":unsigned");
  line(s, fmt::format("{{ const unsigned t[{}] = {{{}}}; {}({}t, {}); }}", bytes / 4, words, name, condition, pointer));
}

}  // namespace tessera::cuda
