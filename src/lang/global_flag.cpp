// Flags in global memory.
#include "tessera/lang/global_flag.hpp"

#include <fmt/format.h>

#include <limits>

#include "lang/tracer.hpp"

namespace tessera::detail {

using lang::Tracer;
namespace tile = ir::tile;

namespace {

struct Flag {
  tile::GlobalView* view = nullptr;  // null: a mistake is recorded
  std::vector<const ir::Expr*> offsets;
  const ir::Expr* value = nullptr;
};

Flag use_flag(Tracer& t, const char* call, const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
              SourceLoc loc) {
  t.group(loc);
  tile::GlobalView* view = t.use(flags.ref(), loc);
  const ir::Expr* e = t.use(value.ref, loc);
  if (view == nullptr || e == nullptr) return {};
  if (view->type != DType::u32) {
    t.error(loc, fmt::format("{} on {}, which holds {}", call, lang::quoted(view->name, "a view"), name_of(view->type)),
            "flags are 32-bit unsigned integers: make the view of a Ptr<std::uint32_t>", {{view->loc, "the view"}});
    return {};
  }
  if (e->low > std::numeric_limits<std::uint32_t>::max() || e->high < 0) {
    t.error(loc, fmt::format("{} with the value {}", call, ir::to_string(e)), "a flag's value is from 0 to 2^32 - 1");
    return {};
  }
  std::vector<const ir::Expr*> off = lang::use_offsets(t, call, *view, offsets, loc);
  if (off.empty()) return {};
  return {view, std::move(off), t.expr().cast(DType::u32, e)};
}

void signal_flag(const char* call, bool add, const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
                 SourceLoc loc) {
  Tracer& t = Tracer::current(call, loc);
  const tile::Group group = t.group(loc);
  if (group.count != 1) {
    t.error(loc, fmt::format("{} is executed by {}", call, lang::group_text(group)),
            "one thread signals for its group, which has met before: `sync();`, then the signal under "
            "`if (auto _ = single_thread())`");
    return;
  }
  Flag f = use_flag(t, call, flags, offsets, value, loc);
  if (f.view != nullptr) t.emit<tile::SignalFlag>(loc, f.view, std::move(f.offsets), f.value, add);
}

void wait_for_flag(const char* call, bool at_least, const GlobalView& flags, const IndexList& offsets,
                   const IndexArg& value, SourceLoc loc) {
  Tracer& t = Tracer::current(call, loc);
  Flag f = use_flag(t, call, flags, offsets, value, loc);
  if (f.view != nullptr) t.emit<tile::WaitFlag>(loc, f.view, std::move(f.offsets), f.value, at_least);
}

}  // namespace

void GlobalFlag::signal(const GlobalView& flags, const IndexList& offsets, const IndexArg& value, SourceLoc loc) const {
  signal_flag("global_flag.signal()", false, flags, offsets, value, loc);
}
void GlobalFlag::add(const GlobalView& flags, const IndexList& offsets, const IndexArg& value, SourceLoc loc) const {
  signal_flag("global_flag.add()", true, flags, offsets, value, loc);
}
void GlobalFlag::wait(const GlobalView& flags, const IndexList& offsets, const IndexArg& value, SourceLoc loc) const {
  wait_for_flag("global_flag.wait()", false, flags, offsets, value, loc);
}
void GlobalFlag::wait_at_least(const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
                               SourceLoc loc) const {
  wait_for_flag("global_flag.wait_at_least()", true, flags, offsets, value, loc);
}

}  // namespace tessera::detail
