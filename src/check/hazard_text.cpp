#include "check/hazard_text.hpp"

#include <array>

namespace tessera::checker {
namespace {

constexpr std::array<HazardText, hazard_count> table{{
    {Hazard::race, "Data race",
     "Two accesses touch the same byte, at least one of them writes, and nothing orders them.",
     "Put a barrier, an mbarrier's phase or a wait between the two."},
    {Hazard::proxy_fence, "Missing proxy fence",
     "Memory that ordinary instructions accessed is handed to an asynchronous engine, in the right order but without "
     "fence.proxy.async.",
     "Execute fence.proxy_async in the threads that accessed it, before the synchronisation that hands it over."},
    {Hazard::barrier_init, "mbarrier used before it is initialised",
     "An mbarrier may be used before its initialisation has happened or is visible to its user.",
     "Initialise it in one thread, fence the initialisation where an engine or another block uses it, and synchronise "
     "before the first use."},
    {Hazard::barrier_bytes, "Wrong number of bytes on an mbarrier",
     "The bytes that are declared on an mbarrier for a phase differ from those that copies deliver to it.",
     "Declare the bytes of exactly those copies that complete on the barrier in that phase."},
    {Hazard::barrier_arrivals, "Wrong arrivals on an mbarrier",
     "An mbarrier gets more arrivals than its count, or an arrival may count for another phase than the one it is "
     "meant for.",
     "Let the count be the number of arrivals in a phase, and let nobody arrive again before the phase is complete."},
    {Hazard::barrier_phase, "Wait that may miss its phase",
     "A wait may find its mbarrier two phases on, where the parity that it waits for looks like the one before.",
     "Let the phase after the next one depend on an arrival of whoever waits."},
    {Hazard::barrier_storage, "Ordinary access to an mbarrier",
     "Ordinary instructions or copies access bytes in which an mbarrier lives.",
     "Keep tiles and barriers apart, and use an mbarrier through its own operations only."},
    {Hazard::wgmma, "Misused wgmma",
     "The registers or operands of a wgmma are touched while it is in flight, a fence, commit or wait is missing, or "
     "the warps of a warpgroup execute different ones.",
     "Fence before the first wgmma, commit the group, and wait for it before its registers or operands are touched."},
    {Hazard::bulk_group, "TMA store that is not waited for",
     "The source of a TMA store is written again, given up or left behind at the end before the store has read it.",
     "Commit the store and wait for its bulk group in the thread that issued it, then synchronise."},
    {Hazard::cluster, "Cluster out of step",
     "A block signals or accesses a block of its cluster that may have ended or not have started, or blocks execute "
     "different cluster barriers.",
     "Let every block of the cluster reach a common cluster barrier after the last access to another block."},
    {Hazard::out_of_bounds, "Access out of bounds", "An access lies outside the memory that it is meant for.",
     "Bound the access, or give the tensor the extents that it has."},
    {Hazard::uninitialised, "Read of uninitialised memory",
     "Shared memory or a register is read although nothing has been written to it.",
     "Write it first; where a copy fills it, wait for the copy."},
    {Hazard::misaligned, "Misaligned access",
     "An address is not a multiple of what the instruction or the engine demands.",
     "Align the tile, the pitch or the offset."},
    {Hazard::swizzle, "Mismatched swizzle", "Data is written with one swizzle of shared memory and read with another.",
     "Use the same layout for whoever writes the tile and whoever reads it."},
    {Hazard::deadlock, "Deadlock", "A warp waits, and nobody is left who could let it go on.",
     "Check the phase that is waited for, and that somebody arrives in it."},
    {Hazard::registers, "Misused setmaxnreg",
     "The registers that warpgroups ask for with setmaxnreg break its rules or exceed those of the block.",
     "Let every warp of the warpgroup ask for the same number, and let the sum fit into the block's registers."},
    {Hazard::misuse, "Forbidden use of an instruction",
     "An instruction is used in a way that the PTX ISA leaves undefined or forbids.",
     "Change the call as the message says."},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].hazard) != i || table[i].help == nullptr) return false;
  }
  return true;
}
static_assert(in_order(), "one entry a hazard, in the order of the enumeration");

}  // namespace

std::span<const HazardText> hazard_texts() { return table; }
const HazardText& text_of(Hazard hazard) { return table.at(static_cast<std::size_t>(hazard)); }

}  // namespace tessera::checker
