#include "passes/expand.hpp"

#include <iterator>

#include "ir/match.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// scratch = shared_tensor(); store_shared(scratch, from); sync(); <use of scratch>; sync(): the second barrier keeps
// the next round's store from overtaking a slow reader.
void through_scratch(tile::Kernel& kernel, Block& block, std::size_t& at, tile::SharedTensor* scratch,
                     tile::RegisterTensor* from, Stmt* use) {
  auto& arena = kernel.context->arena;
  const SourceLoc loc = use->loc;
  Stmt* const sequence[] = {arena.make<tile::AllocShared>(loc, scratch),
                            arena.make<tile::StoreShared>(loc, kernel.whole(scratch), from),
                            arena.make<tile::Sync>(loc), use, arena.make<tile::Sync>(loc)};
  block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), std::begin(sequence), std::end(sequence));
  at += std::size(sequence) - 1;
}

void expand_block(tile::Kernel& kernel, Block& block) {
  auto& arena = kernel.context->arena;
  for (std::size_t i = 0; i < block.size(); ++i) {
    Stmt* s = block[i];
    for_each_child_block(s, [&](Block& b) { expand_block(kernel, b); });
    if (auto* convert = as<tile::ConvertLayout>(s); convert != nullptr && convert->scratch != nullptr) {
      through_scratch(kernel, block, i, convert->scratch, convert->in,
                      arena.make<tile::LoadShared>(s->loc, convert->out, kernel.whole(convert->scratch)));
    } else if (auto* print = as<tile::PrintTensor>(s); print != nullptr && print->tensor != nullptr) {
      tile::RegisterTensor* t = print->tensor;
      tile::SharedTensor* scratch = kernel.new_shared(t->type, t->shape, "print_scratch", s->loc);
      scratch->layout = layout::shared_row_major(t->shape, size_of(t->type));
      through_scratch(kernel, block, i, scratch, t,
                      arena.make<tile::PrintTensor>(s->loc, print->message, nullptr, kernel.whole(scratch)));
    }
  }
}

}  // namespace

void expand(tile::Kernel& kernel) { expand_block(kernel, kernel.body); }

}  // namespace tessera::passes
