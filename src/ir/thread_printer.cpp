#include <fmt/format.h>

#include <cstring>

#include "ir/match.hpp"
#include "ir/thread_text.hpp"

namespace tessera::ir::thread {
namespace {

class Printer {
 public:
  Printer(const Kernel& kernel, bool with_locations) : kernel_(kernel), with_locations_(with_locations) {}

  std::string text() {
    head();
    block(kernel_.body);
    return std::move(out_);
  }

 private:
  void head() {
    std::vector<std::string> params;
    for (const Param& p : kernel_.params)
      params.push_back(fmt::format("{}: {}{}", p.name, p.is_pointer ? "*" : "", name_of(p.type)));
    out_ += fmt::format("thread kernel {}({})\n", kernel_.name, fmt::join(params, ", "));
    out_ += fmt::format("  warps {}, CTAs an SM {}, grid [{}, {}, {}], shared {} bytes\n", kernel_.warps,
                        kernel_.ctas_per_sm, expr(kernel_.grid[0]), expr(kernel_.grid[1]), expr(kernel_.grid[2]),
                        kernel_.shared_bytes);
    const auto [x, y, z] = kernel_.cluster;
    if (x * y * z != 1) out_ += fmt::format("  cluster [{}, {}, {}]\n", x, y, z);
    if (kernel_.dependent_launch) out_ += "  dependent launch\n";
    for (const SharedRegion& r : kernel_.regions)
      out_ += fmt::format("  region {} [{}, {}){}\n", r.name, r.offset, r.offset + r.bytes,
                          r.is_barrier ? " barriers" : "");
    for (std::size_t i = 0; i < kernel_.tensor_maps.size(); ++i) {
      const TensorMap& m = kernel_.tensor_maps[i];
      out_ += fmt::format("  map{} {}: {} + {}, {} dims [{}], strides [{}] bytes, box [{}], swizzle {}\n", i, m.name,
                          param(m.param), expr(m.base_offset), name_of(m.type), list(m.dims), list(m.strides_bytes),
                          fmt::join(m.box, ", "), swizzle_text(m.swizzle));
    }
    for (const ViewExtent& v : kernel_.views)
      out_ += fmt::format("  view {}: {} [{}], {} elements\n", v.name, param(v.param), list(v.shape), expr(v.elements));
  }

  static const char* swizzle_text(Swizzle s) {
    static constexpr const char* names[] = {"none", "32B", "64B", "128B"};
    return names[static_cast<int>(s)];
  }

  static std::string expr(const Expr* e) { return e == nullptr ? "?" : ir::to_string(e); }
  static std::string list(const std::vector<const Expr*>& es) {
    std::string out;
    for (const Expr* e : es) out += (out.empty() ? "" : ", ") + expr(e);
    return out;
  }
  std::string param(std::uint32_t i) const {
    return i < kernel_.params.size() ? kernel_.params[i].name : fmt::format("param{}", i);
  }
  static std::string value_name(const Value* v) { return v->name.empty() ? fmt::format("v{}", v->id) : v->name; }
  static std::string var_name(const Var* v) { return v->name.empty() ? fmt::format("var{}", v->id) : v->name; }
  static std::string array_name(const RegArray* a) { return a->name.empty() ? fmt::format("r{}", a->id) : a->name; }
  static std::string ref(const RegRef& r, std::size_t count) {
    if (count == 1) return fmt::format("{}[{}]", array_name(r.array), expr(r.index));
    return fmt::format("{}[{} : +{}]", array_name(r.array), expr(r.index), count);
  }
  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '\n')
        out += "\\n";
      else if (c == '"' || c == '\\')
        out += std::string("\\") + c;
      else
        out += c;
    }
    return out + "\"";
  }
  static std::string masked(const Expr* mask) { return mask == nullptr ? "" : " if " + expr(mask); }
  static std::string of_cta(const Expr* cta) { return cta == nullptr ? "" : " of CTA " + expr(cta); }

  void line(const Stmt* s, const std::string& text) {
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
    out_ += text;
    const bool moved = s != nullptr && s->loc.known() &&
                       (s->loc.line != line_ || file_ == nullptr || std::strcmp(s->loc.file, file_) != 0);
    if (with_locations_ && moved) {
      file_ = s->loc.file;
      line_ = s->loc.line;
      const char* slash = std::strrchr(file_, '/');
      out_ += fmt::format("  @{}:{}", slash == nullptr ? file_ : slash + 1, line_);
    }
    out_ += '\n';
  }

  void block(const Block& body) {
    ++depth_;
    for (const Stmt* s : body) statement(s);
    --depth_;
  }

  void statement(const Stmt* s) {
    match(s,
          overloaded{
              [&](const control::Let& n) {
                line(s, fmt::format("let {}: {} = {}", value_name(n.value), name_of(n.value->type), expr(n.init)));
              },
              [&](const control::DeclareVar& n) {
                line(s, fmt::format("var {}: {} = {}", var_name(n.var), name_of(n.var->type), expr(n.init)));
              },
              [&](const control::AssignVar& n) { line(s, fmt::format("{} = {}", var_name(n.var), expr(n.value))); },
              [&](const control::For& n) {
                const std::string unroll = n.unroll == 1   ? ""
                                           : n.unroll == 0 ? " unrolled"
                                                           : fmt::format(" unrolled by {}", n.unroll);
                line(s, fmt::format("for {}: {} in {} .. {} step {}{}", value_name(n.induction),
                                    name_of(n.induction->type), expr(n.begin), expr(n.end), expr(n.step), unroll));
                block(n.body);
              },
              [&](const control::Loop& n) {
                line(s, "loop");
                block(n.body);
              },
              [&](const control::If& n) {
                line(s, fmt::format("if {}", expr(n.condition)));
                block(n.then_body);
                if (n.else_body.empty()) return;
                line(nullptr, "else");
                block(n.else_body);
              },
              [&](const control::Break&) { line(s, "break"); }, [&](const control::Continue&) { line(s, "continue"); },
              [&](const DeclareRegs& n) {
                line(s, fmt::format("regs {}: {} x {}", array_name(n.array), name_of(n.array->type), n.array->size));
              },
              [&](const auto& other) { line(s, instruction(other)); }});
  }

  std::string instruction(const WriteRegs& n) {
    return fmt::format("{} = {}", ref(n.dst, n.values.size()), list(n.values));
  }
  std::string instruction(const LoadGlobalVector& n) {
    return fmt::format("{} = load.global {}[{}]{}", ref(n.dst, static_cast<std::size_t>(n.count)), param(n.param),
                       expr(n.offset), masked(n.mask));
  }
  std::string instruction(const StoreGlobalVector& n) {
    return fmt::format("store.global {}[{}] = {}{}", param(n.param), expr(n.offset),
                       ref(n.src, static_cast<std::size_t>(n.count)), masked(n.mask));
  }
  std::string instruction(const LoadSharedVector& n) {
    return fmt::format("{} = load.shared [{}]{}", ref(n.dst, static_cast<std::size_t>(n.count)), expr(n.address),
                       of_cta(n.cta));
  }
  std::string instruction(const StoreSharedVector& n) {
    return fmt::format("store.shared [{}]{} = {}{}", expr(n.address), of_cta(n.cta),
                       ref(n.src, static_cast<std::size_t>(n.count)), masked(n.mask));
  }
  std::string instruction(const LdMatrix& n) {
    return fmt::format("{} = ldmatrix.x{}{} [{}]", ref(n.dst, static_cast<std::size_t>(2 * n.matrices)), n.matrices,
                       n.transposed ? ".trans" : "", expr(n.address));
  }
  std::string instruction(const StMatrix& n) {
    return fmt::format("stmatrix.x{}{} [{}] = {}", n.matrices, n.transposed ? ".trans" : "", expr(n.address),
                       ref(n.src, static_cast<std::size_t>(2 * n.matrices)));
  }
  std::string instruction(const MmaSync& n) {
    return fmt::format("mma.m16n8k16 {} {}, {}, {} -> {}", name_of(n.operand_type), ref(n.d, 4), ref(n.a, 8),
                       ref(n.b, 4), name_of(n.accumulator_type));
  }
  std::string instruction(const WgmmaFence&) { return "wgmma.fence"; }
  std::string instruction(const Wgmma& n) {
    const std::size_t in_registers = 16 / static_cast<std::size_t>(size_of(n.a_type));
    const std::string a = n.a_registers.array != nullptr ? ref(n.a_registers, in_registers) : descriptor(n.a);
    const auto flags = [](bool negated, bool mn_major) {
      return std::string(negated ? "-" : "") + (mn_major ? "mn-major " : "");
    };
    return fmt::format("wgmma.m64n{}k{} {} = {}{} {} * {}{} {}{}", n.n, 32 / size_of(n.a_type),
                       ref(n.d, static_cast<std::size_t>(n.n / 2)), flags(n.negate_a, n.a_mn_major), name_of(n.a_type),
                       a, flags(n.negate_b, n.b_mn_major), name_of(n.b_type), descriptor(n.b),
                       n.accumulate == nullptr        ? " + d"
                       : n.accumulate->is_constant(0) ? ""
                                                      : fmt::format(" + d if {}", expr(n.accumulate)));
  }
  static std::string descriptor(const MatrixDescriptor& d) {
    return fmt::format("desc({}, {:#010x})", expr(d.low), d.high);
  }
  std::string instruction(const WgmmaCommit&) { return "wgmma.commit_group"; }
  std::string instruction(const WgmmaWait& n) {
    std::string arrays;
    for (const RegArray* a : n.results) arrays += (arrays.empty() ? " -> " : ", ") + array_name(a);
    return fmt::format("wgmma.wait_group {}{}", n.pending, arrays);
  }
  std::string instruction(const SetMaxRegisters& n) {
    return fmt::format("setmaxnreg.{} {}", n.increase ? "inc" : "dec", n.count);
  }
  std::string instruction(const BarrierArrive& n) {
    return fmt::format("barrier.arrive {}, {} threads", n.id, n.threads);
  }
  std::string instruction(const BarrierSync& n) { return fmt::format("barrier.sync {}, {} threads", n.id, n.threads); }
  std::string instruction(const WarpSync& n) { return fmt::format("warp.sync {:#010x}", n.mask); }
  std::string instruction(const CheckIndex& n) {
    return fmt::format("check {} {} {}: 0 .. {}", n.what, expr(n.index), n.where, n.count - 1);
  }
  std::string instruction(const MbarrierInit& n) {
    return fmt::format("mbarrier.init [{}], {}", expr(n.address), n.count);
  }
  std::string instruction(const MbarrierArrive& n) {
    return fmt::format("mbarrier.arrive [{}]{}, {}", expr(n.address), of_cta(n.cta), n.count);
  }
  std::string instruction(const MbarrierArriveExpectTx& n) {
    return fmt::format("mbarrier.arrive.expect_tx [{}], {} bytes", expr(n.address), expr(n.bytes));
  }
  std::string instruction(const MbarrierWait& n) {
    return fmt::format("mbarrier.wait{} [{}], parity {}", n.cluster ? ".cluster" : "", expr(n.address), expr(n.parity));
  }
  std::string instruction(const TmaLoadBox& n) {
    const std::string multicast = n.multicast == nullptr ? "" : ", to CTAs " + expr(n.multicast);
    return fmt::format("tma.load [{}] = map{} at ({}), mbarrier [{}]{}{}", expr(n.destination), n.map, list(n.coords),
                       expr(n.barrier), multicast, hint_text(n.hint));
  }
  std::string instruction(const TmaStoreBox& n) {
    return fmt::format("tma.{} map{} at ({}) {} [{}]{}", n.add ? "reduce" : "store", n.map, list(n.coords),
                       n.add ? "+=" : "=", expr(n.source), hint_text(n.hint));
  }
  std::string instruction(const TmaCommit&) { return "tma.commit_group"; }
  std::string instruction(const TmaWait& n) {
    return fmt::format("tma.wait_group{} {}", n.read ? ".read" : "", n.pending);
  }
  std::string instruction(const TmaPrefetchBox& n) {
    return fmt::format("tma.prefetch map{} at ({})", n.map, list(n.coords));
  }
  std::string instruction(const PrefetchTensorMap& n) { return fmt::format("prefetch.tensormap map{}", n.map); }
  std::string instruction(const ClusterArrive& n) { return n.relaxed ? "cluster.arrive.relaxed" : "cluster.arrive"; }
  std::string instruction(const ClusterWait&) { return "cluster.wait"; }
  std::string instruction(const GridDependency& n) {
    return n.launch ? "griddepcontrol.launch_dependents" : "griddepcontrol.wait";
  }
  std::string instruction(const SignalFlag& n) {
    return fmt::format("flag.{} {}[{}], {}", n.add ? "add.release" : "store.release", param(n.param), expr(n.offset),
                       expr(n.value));
  }
  std::string instruction(const WaitFlag& n) {
    return fmt::format("flag.wait.acquire {}[{}] {} {}", param(n.param), expr(n.offset),
                       n.at_least ? ">=" : "==", expr(n.value));
  }
  static const char* hint_text(CacheHint hint) {
    static constexpr const char* names[] = {"", ", evict_first", ", evict_normal", ", evict_last"};
    return names[static_cast<int>(hint)];
  }
  std::string instruction(const Fence& n) {
    const char* name = n.fence == FenceKind::proxy_async_shared    ? "fence.proxy.async.shared"
                       : n.fence == FenceKind::proxy_async_cluster ? "fence.proxy.async.shared::cluster"
                                                                   : "fence.mbarrier_init";
    return n.reason.empty() ? std::string(name) : fmt::format("{}  // {}", name, n.reason);
  }
  std::string instruction(const PrintThread& n) {
    std::string out = "print";
    for (std::size_t i = 0; i < n.pieces.size(); ++i) {
      out += " " + quoted(n.pieces[i]);
      if (i < n.args.size()) out += " " + expr(n.args[i]);
    }
    return out;
  }
  std::string instruction(const Comment& n) { return "// " + n.text; }
  std::string instruction(const Stmt& n) { return fmt::format("<{}: not a thread statement>", name_of(n.kind)); }

  const Kernel& kernel_;
  bool with_locations_;
  std::string out_;
  int depth_ = 0;
  const char* file_ = nullptr;
  std::uint32_t line_ = 0;
};

}  // namespace

std::string to_string(const Kernel& kernel, bool with_locations) { return Printer(kernel, with_locations).text(); }

}  // namespace tessera::ir::thread
