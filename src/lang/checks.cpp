#include "lang/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "ir/register_file.hpp"
#include "lang/tracer.hpp"

namespace tessera::lang {
namespace {

// A grid whose extents are constants is a whole number of clusters; the others are checked by the launch.
void check_grid(Tracer& t) {
  for (std::size_t d = 0; d < 3; ++d) {
    const ir::Expr* blocks = t.kernel->grid[d];
    const int extent = t.kernel->cluster[d];
    if (blocks == nullptr || !blocks->is_constant() || blocks->integer % extent == 0) continue;
    t.error(t.blocks_loc,
            fmt::format("attrs.blocks has the extent {} along {}, which is no multiple of the cluster's {}",
                        blocks->integer, "xyz"[d], extent),
            "a grid consists of whole clusters: round its extent up, and let the blocks too many do nothing",
            {{t.cluster_loc, "the cluster"}});
  }
}

// The register file is divided at launch. A warpgroup that asks for more waits until others have given theirs back, so
// that all together never have more than at the start.
void check_registers(Tracer& t) {
  if (t.register_requests.empty() || t.kernel->warps % 4 != 0) return;
  const int threads = t.kernel->warps * 32, groups = threads / 128;
  const int at_launch = ir::launch_registers(threads);
  std::array<const RegisterRequest*, 8> largest{};
  for (const RegisterRequest& r : t.register_requests) {
    for (int g = r.group.begin / 128; g < (r.group.begin + r.group.count) / 128; ++g) {
      const RegisterRequest*& have = largest[static_cast<std::size_t>(g)];
      if (have == nullptr || have->count < r.count) have = &r;
    }
  }
  int total = 0;
  const RegisterRequest* most = &t.register_requests.front();
  std::vector<Note> notes;
  for (int g = 0; g < groups; ++g) {
    const RegisterRequest* r = largest[static_cast<std::size_t>(g)];
    total += r != nullptr ? r->count : at_launch;
    if (r != nullptr && r->count > most->count) most = r;
    notes.push_back({r != nullptr ? r->loc : t.warps_loc,
                     fmt::format("warps {}..{}: {} registers", 4 * g, 4 * g + 3, r != nullptr ? r->count : at_launch)});
  }
  if (total <= groups * at_launch) return;
  t.error(
      most->loc,
      fmt::format("the warpgroups ask for {} registers a thread together, but a block of {} threads has {} times {}",
                  total, threads, groups, at_launch),
      fmt::format("registers() waits until others have given theirs back: let the sum over the warpgroups be at "
                  "most {}",
                  groups * at_launch),
      std::move(notes));
}

// One thread as far as bulk groups go: named, or as one scope elected it.
struct Agent {
  const BulkEvent* store = nullptr;
  const BulkEvent* commit = nullptr;
  const BulkEvent* wait = nullptr;
};

std::string who(const BulkEvent& e) {
  return e.elected >= 0 ? fmt::format("the thread that is elected here, of warp {}", e.thread / 32)
                        : fmt::format("thread {}", e.thread);
}

// `event` needs an earlier `what` by its own thread, which has none; `others` are those of other threads.
void misplaced(Tracer& t, const BulkEvent& event, const char* call, const char* meaning, const BulkEvent* other) {
  std::vector<Note> notes;
  if (other != nullptr) notes.push_back({other->loc, fmt::format("issued by {}", who(*other))});
  const bool elected = event.elected >= 0 || (other != nullptr && other->elected >= 0);
  t.error(event.loc, fmt::format("{} {}, but {} has none", call, meaning, who(event)),
          elected
              ? "each single_thread() may elect another thread, and bulk groups belong to the one that issues them: "
                "name the thread, single_thread(0), for the stores, the commit and the wait"
              : "bulk groups belong to the thread that issues them: let one thread, single_thread(0), do the stores, "
                "the commit and the wait",
          std::move(notes));
}

// A commit or a wait in a kernel without any store does nothing, as where a configuration leaves the stores out.
void check_bulk_groups(Tracer& t) {
  std::map<std::pair<int, int>, Agent> agents;
  const BulkEvent *a_store = nullptr, *a_commit = nullptr;
  for (const BulkEvent& e : t.bulk_events) {
    Agent& agent = agents[{e.elected, e.elected >= 0 ? 0 : e.thread}];
    const BulkEvent*& first = e.kind == BulkEvent::Kind::store    ? agent.store
                              : e.kind == BulkEvent::Kind::commit ? agent.commit
                                                                  : agent.wait;
    if (first == nullptr) first = &e;
    if (e.kind == BulkEvent::Kind::store && a_store == nullptr) a_store = &e;
    if (e.kind == BulkEvent::Kind::commit && a_commit == nullptr) a_commit = &e;
  }
  if (a_store == nullptr) return;
  for (const auto& [key, agent] : agents) {
    if (agent.wait != nullptr && agent.commit == nullptr) {
      misplaced(t, *agent.wait, "tma.wait_group()", "waits for the bulk groups of its own thread", a_commit);
    } else if (agent.commit != nullptr && agent.store == nullptr) {
      misplaced(t, *agent.commit, "tma.commit_group()", "makes a group of the stores of its own thread", a_store);
    } else if (agent.store != nullptr && agent.commit == nullptr) {
      misplaced(t, *agent.store, "a store by the TMA engine", "needs a tma.commit_group() by its own thread", a_commit);
    }
  }
}

}  // namespace

void check_kernel(Tracer& t) {
  check_grid(t);
  check_registers(t);
  check_bulk_groups(t);
}

}  // namespace tessera::lang
