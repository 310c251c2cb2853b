#include "ir/tile_printer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>

#include "ir/match.hpp"

namespace tessera::ir::tile {
namespace {

const char* short_name(DType type) {
  switch (type) {
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f32: return "f32";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::u8: return "u8";
    case DType::u16: return "u16";
    case DType::u32: return "u32";
    case DType::u64: return "u64";
    case DType::boolean: return "bool";
    case DType::f8e4m3: return "f8e4m3";
    case DType::f8e5m2: return "f8e5m2";
  }
  return "?";
}

// The names of a kernel's objects: the user's where they are known, with a number where two share one.
class Printer {
 public:
  Printer() = default;
  explicit Printer(const Kernel& kernel) : kernel_(&kernel) {
    for (const auto* v : kernel.views) claim(v, v->name, "view", v->id);
    for (const auto* s : kernel.shared) claim(s, s->name, "s", s->id);
    for (const auto* b : kernel.barriers) claim(b, b->name, "barrier", b->id);
    for (const auto* b : kernel.named_barriers) claim(b, b->name, "named", b->id);
    for (const auto* r : kernel.registers) claim(r, r->name, "t", r->id);
  }

  std::string text(const Stmt* s) const;
  template <class T>
  std::string name(const T* object, const char* fallback) const {
    const auto it = names_.find(object);
    if (it != names_.end()) return it->second;
    return object->name.empty() ? fmt::format("{}{}", fallback, object->id) : object->name;
  }
  std::string reg(const RegisterTensor* t) const { return name(t, "t"); }
  std::string shared(const SharedTensor* t) const { return name(t, "s"); }
  std::string shared(const SharedView* v) const;
  std::string named(const NamedBarrier* b) const { return name(b, "named"); }
  std::string view(const GlobalView* v) const { return name(v, "view"); }
  std::string barrier(const BarrierRef& b) const {
    const std::string array = name(b.array, "barrier");
    return b.array->counts.size() == 1 && b.index->is_constant(0) ? array : fmt::format("{}[{}]", array, expr(b.index));
  }
  // `ptr` parameters print by their names, which expressions know by number only.
  std::string expr(const Expr* e) const;
  std::string list(const std::vector<const Expr*>& list) const {
    std::vector<std::string> texts;
    for (const Expr* e : list) texts.push_back(expr(e));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  static std::string type(DType t, const Shape& shape) {
    return fmt::format("{}[{}]", short_name(t), fmt::join(shape, ", "));
  }
  std::string define(const RegisterTensor* t) const {
    std::string out = fmt::format("{}: {}", reg(t), type(t->type, t->shape));
    if (t->layout) out += fmt::format(" {{{}{}}}", t->layout->to_string(), t->layout_pinned ? ", pinned" : "");
    return out;
  }

 private:
  void claim(const void* object, const std::string& wanted, const char* fallback, std::uint32_t id) {
    const std::string base = wanted.empty() ? fmt::format("{}{}", fallback, id) : wanted;
    std::string unique = base;
    for (int n = 2; !used_.emplace(unique, object).second; ++n) unique = fmt::format("{}_{}", base, n);
    names_[object] = unique;
  }
  std::string compute(const Compute& s) const;

  const Kernel* kernel_ = nullptr;
  std::map<const void*, std::string> names_;
  std::map<std::string, const void*> used_;
};

// Replaces the words `param<i>` and `in<k>` of an expression's text.
std::string replace_words(const std::string& text, const std::function<std::string(std::string_view)>& lookup) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string_view word = std::string_view(text).substr(i, end - i);
    const std::string other = lookup(word);
    out += other.empty() ? std::string(word) : other;
    i = end;
  }
  return out;
}

// The number after `prefix` if the word is one, else -1.
int number_after(std::string_view word, std::string_view prefix) {
  if (word.size() <= prefix.size() || word.substr(0, prefix.size()) != prefix) return -1;
  int n = 0;
  for (const char c : word.substr(prefix.size())) {
    if (c < '0' || c > '9' || n > 10000) return -1;
    n = n * 10 + (c - '0');
  }
  return n;
}

std::string Printer::expr(const Expr* e) const {
  if (e == nullptr) return "?";
  return replace_words(ir::to_string(e), [&](std::string_view word) -> std::string {
    const int param = number_after(word, "param");
    if (kernel_ == nullptr || param < 0 || static_cast<std::size_t>(param) >= kernel_->params.size()) return {};
    return kernel_->params[static_cast<std::size_t>(param)].name;
  });
}

std::string Printer::compute(const Compute& s) const {
  const std::string value = replace_words(expr(s.value), [&](std::string_view word) -> std::string {
    const int k = number_after(word, "in");
    if (k < 0 || static_cast<std::size_t>(k) >= s.ins.size()) return {};
    return reg(s.ins[static_cast<std::size_t>(k)]);
  });
  return fmt::format("{} = {}", s.out->named ? reg(s.out) : define(s.out), value);
}

// tile, tile[stage, :, :], tile[0:+64, :].transpose(): an index where the part drops the dimension, `:` for all of it
// and begin:+count for some.
std::string Printer::shared(const SharedView* v) const {
  std::vector<std::string> dims;
  bool whole = true;
  for (std::size_t d = 0; d < v->extents.size(); ++d) {
    const bool kept = std::find(v->dims.begin(), v->dims.end(), static_cast<std::int64_t>(d)) != v->dims.end();
    const bool all = kept && v->extents[d] == v->tensor->shape[d] && v->origin[d]->is_constant(0);
    whole = whole && all;
    if (all) {
      dims.emplace_back(":");
    } else {
      dims.push_back(expr(v->origin[d]));
      if (kept) dims.back() += fmt::format(":+{}", v->extents[d]);
    }
  }
  std::string text = name(v->tensor, "s");
  if (!whole) text += fmt::format("[{}]", fmt::join(dims, ", "));
  if (!std::is_sorted(v->dims.begin(), v->dims.end())) text += ".transpose()";
  if (v->cta != nullptr) text += fmt::format(" of cta {}", expr(v->cta));
  return text;
}

const char* hint_text(CacheHint hint) {
  static constexpr const char* texts[] = {"", ", evict_first", ", evict_normal", ", evict_last"};
  return texts[static_cast<int>(hint)];
}

std::string value_name(const Value* v) { return v->name.empty() ? fmt::format("v{}", v->id) : v->name; }
std::string var_name(const Var* v) { return v->name.empty() ? fmt::format("var{}", v->id) : v->name; }

std::string group_text(const Group& g) {
  if (g.elect) return fmt::format("one thread elected in warp {}", g.begin / 32);
  if (g.each_warp) {
    return fmt::format("one thread elected in each of the warps {}..{}", g.begin / 32, (g.begin + g.count) / 32 - 1);
  }
  if (g.count == 1) return fmt::format("thread {}", g.begin);
  return fmt::format("threads {}..{}", g.begin, g.begin + g.count - 1);
}

std::string Printer::text(const Stmt* stmt) const {
  return match(
      stmt,
      overloaded{
          [&](const control::Let& s) {
            return fmt::format("let {}: {} = {}", value_name(s.value), short_name(s.value->type), expr(s.init));
          },
          [&](const control::DeclareVar& s) {
            return fmt::format("var {}: {} = {}", var_name(s.var), short_name(s.var->type), expr(s.init));
          },
          [&](const control::AssignVar& s) { return fmt::format("{} = {}", var_name(s.var), expr(s.value)); },
          [&](const control::For& s) {
            std::string unroll;
            if (s.unroll != 1) unroll = s.unroll == 0 ? ", unroll all" : fmt::format(", unroll {}", s.unroll);
            return fmt::format("for {} in range({}, {}, {}{})", value_name(s.induction), expr(s.begin), expr(s.end),
                               expr(s.step), unroll);
          },
          [&](const control::Loop&) { return std::string("loop"); },
          [&](const control::If& s) { return fmt::format("if {}", expr(s.condition)); },
          [&](const control::Break&) { return std::string("break"); },
          [&](const control::Continue&) { return std::string("continue"); },
          [&](const ThreadGroup& s) { return group_text(s.group); },
          [&](const AllocRegister& s) { return fmt::format("{} = register_tensor()", define(s.out)); },
          [&](const Compute& s) { return compute(s); },
          [&](const Slice& s) {
            return fmt::format("{} = slice({}, dim = {}, begin = {})", define(s.out), reg(s.in), s.dim, s.begin);
          },
          [&](const Transpose& s) { return fmt::format("{} = transpose({})", define(s.out), reg(s.in)); },
          [&](const ConvertLayout& s) {
            return fmt::format("{} = convert_layout({}{})", define(s.out), reg(s.in),
                               s.scratch != nullptr ? ", by way of " + shared(s.scratch) : std::string());
          },
          [&](const LoadGlobal& s) {
            return fmt::format("{} = load_global({}, {})", define(s.out), view(s.view), list(s.offsets));
          },
          [&](const StoreGlobal& s) {
            return fmt::format("store_global({}, {}, {})", view(s.view), reg(s.src), list(s.offsets));
          },
          [&](const AllocShared& s) {
            std::string out = fmt::format("{}: {}", shared(s.out), type(s.out->type, s.out->shape));
            if (s.out->layout)
              out += fmt::format(" {{{}{}}}", s.out->layout->to_string(), s.out->layout_pinned ? ", pinned" : "");
            out += " = shared_tensor()";
            if (s.out->offset >= 0) out += fmt::format(" at {}", s.out->offset);
            return out;
          },
          [&](const FreeShared& s) { return fmt::format("free_shared({})", shared(s.tensor)); },
          [&](const LoadShared& s) {
            return fmt::format("{} = load_shared({}{})", define(s.out), shared(s.src),
                               s.streamed ? ", by fragments" : "");
          },
          [&](const StoreShared& s) { return fmt::format("store_shared({}, {})", shared(s.dst), reg(s.src)); },
          [&](const Dot& s) { return fmt::format("dot({}, {}, {})", reg(s.a), reg(s.b), reg(s.acc)); },
          [&](const Sync&) { return std::string("sync()"); },
          [&](const AllocBarriers& s) {
            std::string out =
                fmt::format("{} = mbarrier.alloc([{}])", name(s.out, "barrier"), fmt::join(s.out->counts, ", "));
            if (s.out->offset >= 0) out += fmt::format(" at {}", s.out->offset);
            return out;
          },
          [&](const ArriveBarrier& s) {
            const std::string count = s.count == 1 ? "" : fmt::format(", {}", s.count);
            if (s.cta == nullptr) return fmt::format("mbarrier.arrive({}{})", barrier(s.barrier), count);
            return fmt::format("mbarrier.arrive_remote({}, cta {}{})", barrier(s.barrier), expr(s.cta), count);
          },
          [&](const ArriveExpectTx& s) {
            return fmt::format("mbarrier.arrive_and_expect_tx({}, {})", barrier(s.barrier), expr(s.bytes));
          },
          [&](const WaitBarrier& s) { return fmt::format("mbarrier.wait({}, {})", barrier(s.barrier), expr(s.phase)); },
          [&](const TmaLoad& s) {
            return fmt::format("tma.global_to_shared({}, {}, {}, {}{}{})", view(s.src), shared(s.dst), list(s.offsets),
                               barrier(s.barrier),
                               s.multicast != nullptr ? ", multicast " + expr(s.multicast) : std::string(),
                               hint_text(s.hint));
          },
          [&](const TmaStore& s) {
            return fmt::format("tma.{}({}, {}, {}{})", s.add ? "reduce_add" : "shared_to_global", shared(s.src),
                               view(s.dst), list(s.offsets), hint_text(s.hint));
          },
          [&](const TmaCommit&) { return std::string("tma.commit_group()"); },
          [&](const TmaWait& s) { return fmt::format("tma.wait_group({}{})", s.pending, s.read ? ", read" : ""); },
          [&](const TmaPrefetch& s) {
            return fmt::format("tma.prefetch({}, [{}], {})", view(s.src), fmt::join(s.extents, ", "), list(s.offsets));
          },
          [&](const WgmmaFence&) { return std::string("wgmma.fence()"); },
          [&](const Wgmma& s) {
            std::string a = "?";
            if (s.a != nullptr) a = shared(s.a);
            if (s.a_registers != nullptr) a = reg(s.a_registers);
            return fmt::format("wgmma.mma({}, {}, {}{}{}{})", a, shared(s.b), reg(s.acc),
                               s.accumulate->is_constant(1) ? "" : ", accumulate " + expr(s.accumulate),
                               s.negate_a ? ", negate a" : "", s.negate_b ? ", negate b" : "");
          },
          [&](const WgmmaCommit&) { return std::string("wgmma.commit_group()"); },
          [&](const WgmmaWait& s) { return fmt::format("wgmma.wait_group({})", s.pending); },
          [&](const SetRegisters& s) { return fmt::format("registers({})", s.count); },
          [&](const NamedBarrierSync& s) { return fmt::format("named_barrier.sync({})", named(s.barrier)); },
          [&](const NamedBarrierArrive& s) { return fmt::format("named_barrier.arrive({})", named(s.barrier)); },
          [&](const ClusterSync&) { return std::string("cluster.sync()"); },
          [&](const ClusterArrive&) { return std::string("cluster.arrive()"); },
          [&](const ClusterWait&) { return std::string("cluster.wait()"); },
          [&](const GridDependency& s) {
            return std::string(s.launch ? "grid_dependency.launch()" : "grid_dependency.wait()");
          },
          [&](const SignalFlag& s) {
            return fmt::format("global_flag.{}({}, {}, {})", s.add ? "add" : "signal", view(s.flags), list(s.offsets),
                               expr(s.value));
          },
          [&](const WaitFlag& s) {
            return fmt::format("global_flag.{}({}, {}, {})", s.at_least ? "wait_at_least" : "wait", view(s.flags),
                               list(s.offsets), expr(s.value));
          },
          [&](const FenceProxyAsync& s) {
            return s.reason.empty() ? std::string("fence.proxy_async()")
                                    : fmt::format("fence.proxy_async()  # {}", s.reason);
          },
          [&](const Print& s) {
            std::string format;
            std::string values;
            for (std::size_t i = 0; i < s.pieces.size(); ++i) {
              format += (i > 0 ? "{}" : "") + s.pieces[i];
              if (i < s.args.size()) values += ", " + expr(s.args[i]);
            }
            return fmt::format("printf({:?}{})", format, values);
          },
          [&](const PrintTensor& s) {
            return fmt::format("print_tensor({:?}, {})", s.message,
                               s.tensor != nullptr ? reg(s.tensor) : shared(s.shared));
          },
          [&](const Stmt& s) { return std::string(ir::name_of(s.kind)); }});
}

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// Writes a whole kernel, one statement a line.
class KernelText {
 public:
  KernelText(const Kernel& kernel, bool with_locations)
      : kernel_(kernel), printer_(kernel), with_locations_(with_locations) {}

  std::string run() {
    std::vector<std::string> params;
    for (const Param& p : kernel_.params) {
      params.push_back(fmt::format("{}: {}{}", p.name, short_name(p.type), p.is_pointer ? "*" : ""));
    }
    line(fmt::format("kernel {}({})", kernel_.name, fmt::join(params, ", ")), kernel_.loc);
    std::vector<std::string> grid;
    for (const Expr* e : kernel_.grid) grid.push_back(printer_.expr(e));
    std::string launch = fmt::format("blocks [{}], warps {}", fmt::join(grid, ", "), kernel_.warps);
    if (kernel_.cluster_size() > 1) launch += fmt::format(", cluster [{}]", fmt::join(kernel_.cluster, ", "));
    if (kernel_.dependent_launch) launch += ", dependent launch";
    line(launch, {});
    for (const NamedBarrier* b : kernel_.named_barriers)
      line(fmt::format("{} = named_barrier.alloc({})", printer_.named(b), b->threads), b->loc);
    for (const GlobalView* v : kernel_.views) view(*v);
    block(kernel_.body);
    return std::move(out_);
  }

 private:
  void line(const std::string& text, SourceLoc loc) {
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
    out_ += text;
    if (with_locations_ && loc.known()) out_ += fmt::format("  // {}:{}", file_name(loc.file), loc.line);
    out_ += '\n';
  }
  void view(const GlobalView& v) {
    std::string pointer = v.param < kernel_.params.size() ? kernel_.params[v.param].name : "?";
    if (!v.base_offset->is_constant(0)) pointer += " + " + printer_.expr(v.base_offset);
    std::vector<std::string> shape;
    for (const Expr* e : v.shape) shape.push_back(printer_.expr(e));
    line(fmt::format("view {}: {}[{}] = {}, strides {}", printer_.view(&v), short_name(v.type), fmt::join(shape, ", "),
                     pointer, printer_.list(v.strides)),
         v.loc);
  }
  void block(const Block& body) {
    for (const Stmt* s : body) {
      const bool scope = is_scope(s);
      line(printer_.text(s) + (scope ? " {" : ""), s->loc);
      if (!scope) continue;
      ++depth_;
      const auto* branch = as<control::If>(s);
      if (branch != nullptr) {
        block(branch->then_body);
        if (!branch->else_body.empty()) {
          --depth_;
          line("} else {", {});
          ++depth_;
          block(branch->else_body);
        }
      } else {
        for_each_child_block(s, [&](const Block& b) { block(b); });
      }
      --depth_;
      line("}", {});
    }
  }
  static bool is_scope(const Stmt* s) {
    return as<control::For>(s) != nullptr || as<control::Loop>(s) != nullptr || as<control::If>(s) != nullptr ||
           as<ThreadGroup>(s) != nullptr;
  }

  const Kernel& kernel_;
  Printer printer_;
  bool with_locations_;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

std::string statement_text(const Stmt* s) { return Printer().text(s); }

std::string to_string(const Kernel& kernel, bool with_locations) { return KernelText(kernel, with_locations).run(); }

}  // namespace tessera::ir::tile
