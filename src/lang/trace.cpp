// One trace of a script: the passes over it and the checks at their end.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lang/audit.hpp"
#include "lang/checks.hpp"
#include "lang/names.hpp"
#include "lang/tracer.hpp"
#include "lang/uniformity.hpp"
#include "tessera/lang/params.hpp"

namespace tessera::lang {
namespace {

using Body = std::function<void()>;

// The script threw while it was traced. If it left loops on its way, they are the place to show.
void record_exception(Tracer& t, const char* what) {
  std::vector<Note> notes;
  for (const SourceLoc& loc : t.left_by_exception) notes.push_back({loc, "it left this loop"});
  const SourceLoc loc = t.left_by_exception.empty() ? t.kernel->loc : t.left_by_exception.front();
  t.error(loc, fmt::format("a C++ exception left the script while it was traced: {}", what),
          "check arguments before the kernel, or let a Space rule out the configuration", std::move(notes));
  t.left_by_exception.clear();
}

// Runs the script once under `t`. Mistakes are in its diagnostics afterwards.
void run_once(Tracer& t, const Body& body) {
  const Tracer::Activation active(&t);
  try {
    body();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::user) throw;
    for (const Diagnostic& d : e.diagnostics()) t.error(d.loc, d.message, d.help, d.notes);
    t.left_by_exception.clear();
  } catch (const std::exception& e) {
    record_exception(t, e.what());
  } catch (...) {
    record_exception(t, "not a std::exception");
  }
  for (const SourceLoc& loc : t.left_by_exception) {
    t.error(loc, "a C++ exception leaves this loop while it is traced, which would cut its recorded body short",
            "catch it inside the body, or let it leave the script");
  }
}

void check_attributes(Tracer& t, SourceLoc loc) {
  const SourceLoc where = t.first_statement.known() ? t.first_statement : loc;
  if (!t.warps_loc.known()) {
    t.error(t.first_tensor.known() ? t.first_tensor : where, "attrs.warps is not set before this",
            "set the warps of a block at the top of operator(): attrs.warps = 4;");
  }
  if (!t.blocks_loc.known()) {
    t.error(where, "attrs.blocks is not set by this kernel",
            "set the grid at the top of operator(): attrs.blocks = {cdiv(n, block_n)};");
  }
}

bool audit_wanted() {
  const char* value = std::getenv("TESSERA_AUDIT");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

// Traces again with the bodies of one depth skipped, and with every loop body twice: C++ state and C++ control flow
// that depend on a body show as differences. The kernels of these passes are dropped.
std::vector<Diagnostic> audit(const Tracer& normal, const Body& body,
                              const std::function<std::unique_ptr<Tracer>(Mode, int)>& make) {
  std::vector<Diagnostic> found;
  const auto take = [&](const Tracer& t) {
    for (const Diagnostic& d : t.diagnostics()) found.push_back(d);
  };
  const auto repeat = make(Mode::repeat, 0);
  run_once(*repeat, body);
  take(*repeat);
  for (int depth = 1; depth <= normal.deepest && found.empty(); ++depth) {
    const auto skip = make(Mode::skip, depth);
    run_once(*skip, body);
    if (!skip->diagnostics().empty()) {  // legal in the normal pass, so the script depends on the bodies
      take(*skip);
      break;
    }
    const auto difference = compare_kernels(*normal.kernel, *skip->kernel, depth);
    if (!difference) continue;
    std::vector<Note> notes;
    if (difference->skipped.known()) notes.push_back({difference->skipped, "the last body before it"});
    found.push_back(
        {difference->loc,
         fmt::format("this is traced as `{}` where the body before it is entered and as `{}` where it is not: a "
                     "C++ return or continue leaves that body, or it changes a C++ variable",
                     difference->first, difference->second),
         "a traced body is always entered once: use continue_loop(), otherwise(), a Var or select() instead",
         std::move(notes)});
  }
  return found;
}

void name_parameters(Tracer& t, const std::vector<detail::ParamInfo>& params) {
  const auto names = parameter_names(t.first_statement, params.size());
  if (names.empty()) return;
  std::size_t next = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind != detail::ParamKind::constant) t.kernel->params[next++].name = names[i];
  }
}

[[noreturn]] void fail(std::vector<Diagnostic> found) { throw Error(ErrorKind::user, std::move(found)); }

}  // namespace
}  // namespace tessera::lang

namespace tessera::detail {

std::shared_ptr<ir::tile::Kernel> run_trace(const std::string& name, const std::vector<ParamInfo>& params, bool named,
                                            const std::function<void()>& body, SourceLoc loc) {
  using lang::Mode;
  using lang::Tracer;
  const auto make = [&](Mode mode, int depth) { return std::make_unique<Tracer>(name, params, loc, mode, depth); };
  const auto tracer = make(Mode::normal, 0);
  lang::run_once(*tracer, body);
  lang::check_attributes(*tracer, loc);
  lang::check_kernel(*tracer);
  std::vector<Diagnostic> found = tracer->diagnostics();
  if (found.empty()) found = lang::check_uniformity(*tracer->kernel);
  if (found.empty() && lang::audit_wanted()) found = lang::audit(*tracer, body, make);
  if (!found.empty()) lang::fail(std::move(found));
  if (!named) lang::name_parameters(*tracer, params);
  ir::tile::verify(*tracer->kernel);
  return tracer->kernel;
}

}  // namespace tessera::detail
