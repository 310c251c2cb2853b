#include "cuda/stmt_printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/match.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cuda {

using namespace ir;  // NOLINT(google-build-using-namespace): this file is about nothing else

namespace {

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// True if the value may change between two evaluations.
bool is_mutable(const Expr* e) {
  if (e->kind == ExprKind::var || e->kind == ExprKind::reg) return true;
  return std::any_of(e->args.begin(), e->args.end(), [](const Expr* a) { return is_mutable(a); });
}

std::string single_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (!text.empty() && text.back() == '\\') text += ' ';  // would continue the comment
  return text;
}

std::string format_piece(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%')
      out += "%%";
    else if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 32 || byte > 126)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out;
}

}  // namespace

void StmtPrinter::raw(const std::string& code) {
  out_.append(static_cast<std::size_t>(2 * depth_), ' ');
  out_ += code + "\n";
}

void StmtPrinter::line(const Stmt* s, const std::string& code, const std::string& note) {
  std::string comment;
  if (readable_ && s->loc.known() && (s->loc.line != last_line_ || std::strcmp(s->loc.file, last_file_) != 0)) {
    last_file_ = s->loc.file;
    last_line_ = s->loc.line;
    comment = fmt::format("  // {}:{}", base_name(s->loc.file), s->loc.line);
  }
  if (readable_ && !note.empty()) comment += (comment.empty() ? "  // " : ", ") + single_line(note);
  raw(code + comment);
}

void StmtPrinter::call(const Stmt* s, const char* helper, const std::vector<std::string>& arguments,
                       const std::string& note) {
  prelude_.use(helper);
  line(s, fmt::format("{}({});", helper, fmt::join(arguments, ", ")), note);
}

void StmtPrinter::instruction(const Stmt* s, const std::string& ptx) {
  line(s, fmt::format("asm volatile(\"{};\" ::: \"memory\");", ptx));
}

void StmtPrinter::block(const Block& body) {
  for (const Stmt* s : body) statement(s);
}

void StmtPrinter::statement(const Stmt* s) {
  const auto text = [&](const Expr* e) { return exprs_.text(e); };
  match(
      s,
      overloaded{
          [&](const control::Let& n) {
            line(s, fmt::format("const {} {} = {};", cuda_type(n.value->type), names_.of(n.value), text(n.init)));
          },
          [&](const control::DeclareVar& n) {
            line(s, fmt::format("{} {} = {};", cuda_type(n.var->type), names_.of(n.var), text(n.init)));
          },
          [&](const control::AssignVar& n) { line(s, exprs_.update_of(n.var, n.value)); },
          [&](const control::For& n) { print(n); },
          [&](const control::Loop& n) { print(n); },
          [&](const control::If& n) { print(n); },
          [&](const control::Break&) { line(s, "break;"); },
          [&](const control::Continue&) { line(s, "continue;"); },
          [&](const thread::DeclareRegs& n) { print(n); },
          [&](const thread::WriteRegs& n) { print(n); },
          [&](const thread::LoadGlobalVector& n) {
            load(s, "global", n.dst, n.count, global_pointer(n.param, n.offset), n.mask);
          },
          [&](const thread::StoreGlobalVector& n) {
            store(s, "global", n.src, n.count, global_pointer(n.param, n.offset), n.mask);
          },
          [&](const thread::LoadSharedVector& n) {
            load(s, n.cta == nullptr ? "shared" : "cluster", n.dst, n.count, shared_address(n.address, n.cta), nullptr);
          },
          [&](const thread::StoreSharedVector& n) {
            store(s, n.cta == nullptr ? "shared" : "cluster", n.src, n.count, shared_address(n.address, n.cta), n.mask);
          },
          [&](const thread::LdMatrix& n) { print(n); },
          [&](const thread::StMatrix& n) { print(n); },
          [&](const thread::MmaSync& n) { print(n); },
          [&](const thread::WgmmaFence&) { instruction(s, "wgmma.fence.sync.aligned"); },
          [&](const thread::Wgmma& n) { print(n); },
          [&](const thread::WgmmaCommit&) { instruction(s, "wgmma.commit_group.sync.aligned"); },
          [&](const thread::WgmmaWait& n) { print(n); },
          [&](const thread::SetMaxRegisters& n) {
            instruction(s, fmt::format("setmaxnreg.{}.sync.aligned.u32 {}", n.increase ? "inc" : "dec", n.count));
          },
          [&](const thread::BarrierSync& n) { instruction(s, fmt::format("bar.sync {}, {}", n.id, n.threads)); },
          [&](const thread::BarrierArrive& n) { instruction(s, fmt::format("bar.arrive {}, {}", n.id, n.threads)); },
          [&](const thread::WarpSync& n) { line(s, fmt::format("__syncwarp({:#010x}u);", n.mask)); },
          [&](const thread::MbarrierInit& n) {
            call(s, "mbarrier_init", {text(n.address), std::to_string(n.count)});
          },
          [&](const thread::MbarrierArrive& n) { print(n); },
          [&](const thread::MbarrierArriveExpectTx& n) {
            call(s, "mbarrier_arrive_expect_tx", {text(n.address), text(n.bytes)});
          },
          [&](const thread::MbarrierWait& n) {
            call(s, "mbarrier_wait", {text(n.address), text(n.parity)});
          },
          [&](const thread::TmaLoadBox& n) { print(n); },
          [&](const thread::TmaStoreBox& n) { print(n); },
          [&](const thread::TmaCommit&) { instruction(s, "cp.async.bulk.commit_group"); },
          [&](const thread::TmaWait& n) {
            instruction(s, fmt::format("cp.async.bulk.wait_group{} {}", n.read ? ".read" : "", n.pending));
          },
          [&](const thread::TmaPrefetchBox& n) { print(n); },
          [&](const thread::PrefetchTensorMap& n) { call(s, "prefetch_tensor_map", {"&" + maps_.at(n.map)}); },
          [&](const thread::ClusterArrive& n) {
            instruction(s, fmt::format("barrier.cluster.arrive.{}.aligned", n.relaxed ? "relaxed" : "release"));
          },
          [&](const thread::ClusterWait&) { instruction(s, "barrier.cluster.wait.acquire.aligned"); },
          [&](const thread::GridDependency& n) {
            instruction(s, n.launch ? "griddepcontrol.launch_dependents" : "griddepcontrol.wait");
          },
          [&](const thread::SignalFlag& n) {
            call(s, n.add ? "flag_add" : "flag_store", {global_pointer(n.param, n.offset), text(n.value)});
          },
          [&](const thread::WaitFlag& n) {
            call(s, n.at_least ? "flag_wait_at_least" : "flag_wait",
                 {global_pointer(n.param, n.offset), text(n.value)});
          },
          [&](const thread::Fence& n) {
            call(s,
                 n.fence == thread::FenceKind::proxy_async_shared    ? "fence_proxy_async_shared"
                 : n.fence == thread::FenceKind::proxy_async_cluster ? "fence_proxy_async_cluster"
                                                                     : "fence_mbarrier_init",
                 {}, n.reason);
          },
          [&](const thread::PrintThread& n) { print(n); },
          [](const thread::CheckIndex&) {},  // for the simulator
          [&](const thread::Comment& n) {
            if (readable_) raw("// " + single_line(n.text));
          },
          [&](const Stmt& other) {
            throw Error(ErrorKind::internal, other.loc,
                        fmt::format("{} has no place in a thread program", name_of(other.kind)));
          }});
}

void StmtPrinter::print(const control::For& s) {
  const std::string& k = names_.of(s.induction);
  std::string once;  // bounds that the body could change are evaluated before the loop
  const auto bound = [&](const Expr* e, const char* what, Precedence least) {
    if (!is_mutable(e)) return exprs_.text(e, least);
    const std::string name = names_.fresh(k + what, "b");
    once += fmt::format(", {} = {}", name, exprs_.text(e));
    return name;
  };
  const std::string end = bound(s.end, "_end", Precedence::shift);
  const std::string step = bound(s.step, "_step", Precedence::any);
  if (s.unroll == 0) raw("#pragma unroll");
  if (s.unroll > 1) raw(fmt::format("#pragma unroll {}", s.unroll));
  const std::string advance = s.step->is_constant(1) ? "++" + k : fmt::format("{} += {}", k, step);
  line(&s, fmt::format("for ({} {} = {}{}; {} < {}; {}) {{", cuda_type(s.induction->type), k, exprs_.text(s.begin),
                       once, k, end, advance));
  ++depth_;
  block(s.body);
  --depth_;
  raw("}");
}

void StmtPrinter::print(const control::Loop& s) {
  line(&s, "while (true) {");
  ++depth_;
  block(s.body);
  --depth_;
  raw("}");
}

void StmtPrinter::print(const control::If& s) { branch(s, "if"); }

void StmtPrinter::branch(const control::If& s, const std::string& head) {
  line(&s, fmt::format("{} ({}) {{", head, exprs_.text(s.condition)));
  ++depth_;
  block(s.then_body);
  --depth_;
  const control::If* chained = s.else_body.size() == 1 ? as<control::If>(s.else_body[0]) : nullptr;
  if (chained != nullptr) return branch(*chained, "} else if");
  if (!s.else_body.empty()) {
    raw("} else {");
    ++depth_;
    block(s.else_body);
    --depth_;
  }
  raw("}");
}

void StmtPrinter::print(const thread::PrintThread& s) {
  // A device printf takes at most 32 arguments.
  constexpr std::size_t most = 32;
  std::string format = format_piece(s.pieces.at(0)), args;
  const auto flush = [&] { line(&s, fmt::format("printf(\"{}\"{});", format, args)); };
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (i > 0 && i % most == 0) {
      flush();
      format.clear();
      args.clear();
    }
    const Expr* e = s.args[i];
    const char* conversion = "%d";
    std::string value;
    if (is_float(e->type)) {
      conversion = "%g";
      value = "(double)" + exprs_.as_float(e, Precedence::unary);
    } else if (size_of(e->type) == 8) {
      conversion = is_signed(e->type) ? "%lld" : "%llu";
      value = exprs_.text(e);
    } else if (e->type == DType::u32) {
      conversion = "%u";
      value = exprs_.text(e);
    } else {
      value = e->type == DType::i32 ? exprs_.text(e) : "(int)" + exprs_.text(e, Precedence::unary);
    }
    format += conversion + format_piece(s.pieces.at(i + 1));
    args += ", " + value;
  }
  flush();
}

}  // namespace tessera::cuda
