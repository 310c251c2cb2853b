// One broken kernel for each rule of the verifier, made by changing a correct one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"

namespace tessera::ir::tile {
namespace {

using testing::HasSubstr;

const SourceLoc loc{"user.cpp", "operator()", 7};

// A small correct kernel with its parts at hand: every instruction once.
struct Example {
  Kernel kernel;
  GlobalView* view = nullptr;
  SharedTensor* shared = nullptr;
  SharedView* whole = nullptr;
  BarrierArray* barriers = nullptr;
  RegisterTensor* loaded = nullptr;  // f16 {16, 16}
  RegisterTensor* acc = nullptr;     // f32 {16, 16}
  Value* k = nullptr;
  Var* var = nullptr;
  control::For* loop = nullptr;
  ThreadGroup* group = nullptr;
  LoadShared* load = nullptr;
  Dot* dot = nullptr;
  TmaLoad* tma = nullptr;
  ArriveExpectTx* expect = nullptr;
  Compute* fill = nullptr;

  ExprPool& e() { return kernel.context->expr; }
  template <class S, class... A>
  S* add(Block& block, A&&... args) {
    S* s = kernel.context->arena.make<S>(loc, std::forward<A>(args)...);
    block.push_back(s);
    return s;
  }
  RegisterTensor* reg(DType type, Shape shape) {
    return kernel.new_register(type, std::move(shape), {}, loc, kernel.root_group());
  }

  Example() {
    kernel.name = "example";
    kernel.loc = loc;
    kernel.warps = 2;
    kernel.params = {{"n", DType::i32, false, 16}, {"a", DType::f16, true, 16}};
    const Expr* n = e().cast(DType::i64, e().leaf(ExprKind::param, DType::i32, 0));
    kernel.grid = {n, e().i64(1), e().i64(1)};
    GlobalView v{};
    v.type = DType::f16;
    v.param = 1;
    v.base_offset = e().i64(0);
    v.shape = {n, e().i64(16)};
    v.strides = {e().i64(16), e().i64(1)};
    v.name = "a";
    v.loc = loc;
    view = kernel.new_view(v);
    shared = kernel.new_shared(DType::f16, {16, 16}, "s", loc);
    whole = kernel.whole(shared);
    barriers = kernel.new_barriers({1}, "barrier", loc);
    add<AllocShared>(kernel.body, shared);
    add<AllocBarriers>(kernel.body, barriers);
    acc = reg(DType::f32, {16, 16});
    acc->named = true;
    add<AllocRegister>(kernel.body, acc);
    fill = add<Compute>(kernel.body, acc, std::vector<RegisterTensor*>{}, e().real(DType::f32, 0));
    var = kernel.context->new_var(DType::u32, "phase", loc);
    add<control::DeclareVar>(kernel.body, var, e().u32(0));
    k = kernel.context->new_value(DType::i32, "k", loc);
    loop = add<control::For>(kernel.body, k, e().i32(0), e().i32(64), e().i32(16));
    group = add<ThreadGroup>(loop->body, Group{0, 1, true});
    expect = add<ArriveExpectTx>(group->body, BarrierRef{barriers, e().i32(0)}, e().u32(512));
    tma = add<TmaLoad>(group->body, view, whole, std::vector<const Expr*>{e().value(k), e().i32(0)},
                       BarrierRef{barriers, e().i32(0)});
    add<WaitBarrier>(group->body, BarrierRef{barriers, e().i32(0)}, e().var(var));
    add<Sync>(loop->body);
    loaded = reg(DType::f16, {16, 16});
    load = add<LoadShared>(loop->body, loaded, whole);
    RegisterTensor* turned = reg(DType::f16, {16, 16});
    add<Transpose>(loop->body, turned, loaded);
    dot = add<Dot>(loop->body, loaded, turned, acc);
    add<control::AssignVar>(loop->body, var, e().binary(ExprKind::bit_xor, e().var(var), e().u32(1)));
    RegisterTensor* half = reg(DType::f16, {16, 16});
    add<Compute>(kernel.body, half, std::vector<RegisterTensor*>{acc},
                 e().cast(DType::f16, e().leaf(ExprKind::operand, DType::f32, 0)));
    add<StoreGlobal>(kernel.body, view, half, std::vector<const Expr*>{e().i32(0), e().i64(0)});
    add<StoreShared>(kernel.body, whole, half);
    add<Print>(kernel.body, std::vector<std::string>{"n=", "\n"}, std::vector<const Expr*>{n});
    add<PrintTensor>(kernel.body, "s", nullptr, whole);
    add<FreeShared>(kernel.body, shared);
  }
};

void expect_broken(const std::function<void(Example&)>& change, const std::string& sentence) {
  Example x;
  change(x);
  try {
    verify(x.kernel);
    ADD_FAILURE() << "accepted, but: " << sentence;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    EXPECT_THAT(std::string(e.what()), HasSubstr(sentence));
  }
}

TEST(TileVerifier, AcceptsTheExample) {
  const Example x;
  EXPECT_NO_THROW(verify(x.kernel));
}

TEST(TileVerifier, LaunchShape) {
  expect_broken([](Example& x) { x.kernel.warps = 33; }, "33 warps");
  expect_broken([](Example& x) { x.kernel.grid[1] = nullptr; }, "grid extent");
  expect_broken([](Example& x) { x.kernel.grid[1] = x.e().i32(1); }, "grid extent");
  expect_broken(
      [](Example& x) { x.kernel.grid[0] = x.e().cast(DType::i64, x.e().leaf(ExprKind::block_idx, DType::i32, 0)); },
      "grid extent");
}

TEST(TileVerifier, Views) {
  expect_broken([](Example& x) { x.view->param = 0; }, "no pointer parameter");
  expect_broken([](Example& x) { x.view->strides.pop_back(); }, "other strides");
  expect_broken([](Example& x) { x.view->shape[1] = x.e().i32(16); }, "not host-computable i64");
}

TEST(TileVerifier, Definitions) {
  expect_broken([](Example& x) { x.kernel.body.erase(x.kernel.body.begin()); },
                "a shared tile is used outside its scope");
  expect_broken([](Example& x) { x.kernel.body.erase(x.kernel.body.begin() + 1); },
                "an mbarrier is used outside its scope");
  expect_broken([](Example& x) { x.add<AllocShared>(x.kernel.body, x.shared); }, "a shared tile is defined twice");
  expect_broken([](Example& x) { x.add<AllocRegister>(x.loop->body, x.loaded); }, "a register tensor is defined twice");
  expect_broken(
      [](Example& x) {
        x.add<StoreGlobal>(x.kernel.body, x.view, x.loaded, std::vector<const Expr*>{x.e().i32(0), x.e().i32(0)});
      },
      "a register tensor is used outside its scope");
  expect_broken(
      [](Example& x) {
        x.add<Print>(x.kernel.body, std::vector<std::string>{"", ""}, std::vector<const Expr*>{x.e().value(x.k)});
      },
      "the value 'k' is used outside its scope");
  expect_broken(
      [](Example& x) {
        Var* other = x.kernel.context->new_var(DType::u32, "other", loc);
        x.add<control::AssignVar>(x.kernel.body, other, x.e().u32(1));
      },
      "a variable is assigned outside its scope");
}

TEST(TileVerifier, Leaves) {
  expect_broken([](Example& x) { x.fill->value = x.e().leaf(ExprKind::operand, DType::f32, 0); }, "an operand leaf");
  expect_broken([](Example& x) { x.fill->value = x.e().cast(DType::f32, x.e().leaf(ExprKind::index, DType::i32, 2)); },
                "an index leaf");
  expect_broken([](Example& x) { x.tma->offsets[0] = x.e().leaf(ExprKind::thread_idx, DType::i32); },
                "the leaf thread_idx");
  expect_broken([](Example& x) { x.tma->offsets[0] = x.e().leaf(ExprKind::param, DType::i32, 1); },
                "no such scalar parameter");
}

TEST(TileVerifier, Types) {
  expect_broken([](Example& x) { x.loop->end = x.e().i64(64); }, "a loop bound is int64 instead of int32");
  expect_broken([](Example& x) { x.loop->step = x.e().i32(0); }, "a step that is not positive");
  expect_broken([](Example& x) { x.tma->offsets[0] = x.e().i64(0); }, "an offset of another type");
  expect_broken([](Example& x) { x.expect->bytes = x.e().i32(16); }, "a byte count is int32 instead of uint32");
  expect_broken([](Example& x) { x.add<control::If>(x.kernel.body, x.e().i32(1)); },
                "a condition is int32 instead of bool");
  expect_broken([](Example& x) { x.fill->value = x.e().i32(0); }, "a value of another type than the output");
}

TEST(TileVerifier, LoopsAndGroups) {
  expect_broken([](Example& x) { x.add<control::Break>(x.kernel.body); }, "outside a loop in `break`");
  expect_broken([](Example& x) { x.add<control::Continue>(x.group->body); }, "in another thread group than the loop");
  expect_broken([](Example& x) { x.group->group = {64, 1, false}; }, "a thread group outside the group around it");
  expect_broken([](Example& x) { x.group->group = {0, 32, true}; }, "an elected group of several threads");
  expect_broken([](Example& x) { x.loaded->group = {0, 32, false}; }, "by another group than its own");
}

TEST(TileVerifier, Instructions) {
  expect_broken([](Example& x) { x.loaded->type = DType::bf16; }, "element types");
  expect_broken([](Example& x) { x.loaded->shape = {16, 8}; }, "two different shapes");
  expect_broken([](Example& x) { x.acc->type = DType::f16; }, "a value of another type than the output");
  expect_broken([](Example& x) { x.dot->b = x.dot->acc; }, "element types that the tensor cores do not take");
  expect_broken([](Example& x) { x.acc->shape = {16, 32}; }, "shapes that do not fit");
  expect_broken([](Example& x) { x.tma->offsets.pop_back(); }, "1 offsets for 2 dimensions");
  expect_broken([](Example& x) { x.group->group = {0, 16, false}; }, "a group other than a thread or a warp");
  expect_broken([](Example& x) { x.view->type = DType::f32; }, "a view and a shared tile of different types");
  expect_broken([](Example& x) { x.expect->bytes = x.e().u32(0); }, "a byte count out of range");
  expect_broken([](Example& x) { x.barriers->counts[0] = 1 << 20; }, "an arrival count out of range");
  expect_broken([](Example& x) { x.expect->barrier.index = x.e().i32(1); }, "a barrier index out of range");
  expect_broken(
      [](Example& x) {
        RegisterTensor* t = x.reg(DType::f32, {16, 16});
        x.add<Compute>(x.kernel.body, t, std::vector<RegisterTensor*>{}, x.e().real(DType::f32, 1));
        x.add<Compute>(x.kernel.body, t, std::vector<RegisterTensor*>{}, x.e().real(DType::f32, 2));
      },
      "the result of an instruction is written again");
}

TEST(TileVerifier, Layouts) {
  expect_broken(
      [](Example& x) {
        x.acc->layout = layout::local({16, 16});
      },
      "a register layout over 1 threads for a group of 64");
  expect_broken([](Example& x) { x.acc->layout = layout::spatial({8, 8}); }, "a register layout of another shape");
  expect_broken(
      [](Example& x) {
        x.shared->layout = layout::shared_row_major({8, 8}, 2);
      },
      "a shared layout of another shape");
}

TEST(TileVerifier, ReportsEveryBrokenRule) {
  Example x;
  x.kernel.warps = 0;
  x.loop->step = x.e().i32(0);
  x.tma->offsets.pop_back();
  try {
    verify(x.kernel);
    FAIL();
  } catch (const Error& e) {
    EXPECT_GE(e.diagnostics().size(), 3U) << e.what();
  }
}

TEST(TilePrinter, ShowsLayoutsAndPlaces) {
  Example x;
  x.acc->layout = layout::spatial({8, 8}).local({2, 2});
  x.acc->layout_pinned = true;
  x.shared->layout = layout::shared_row_major({16, 16}, 2);
  x.shared->offset = 1024;
  x.barriers->offset = 0;
  const std::string text = to_string(x.kernel);
  EXPECT_THAT(text, HasSubstr("kernel example(n: i32, a: f16*)  // user.cpp:7"));
  EXPECT_THAT(text, HasSubstr("t0: f32[16, 16] {" + x.acc->layout->to_string() + ", pinned} = register_tensor()"));
  EXPECT_THAT(text, HasSubstr("s: f16[16, 16] {" + x.shared->layout->to_string() + "} = shared_tensor() at 1024"));
  EXPECT_THAT(text, HasSubstr("barrier = mbarrier.alloc([1]) at 0"));
  EXPECT_THAT(text, HasSubstr("printf(\"n={}\\n\", int64(n))"));
}

TEST(TilePrinter, NumbersObjectsThatShareAName) {
  Example x;
  auto* other = x.kernel.new_shared(DType::f16, {16, 16}, "s", loc);
  x.add<AllocShared>(x.kernel.body, other);
  EXPECT_THAT(to_string(x.kernel, false), HasSubstr("s_2: f16[16, 16] = shared_tensor()"));
}

}  // namespace
}  // namespace tessera::ir::tile
