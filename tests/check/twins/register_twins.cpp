// Registers that wgmma reads and writes, and the warps that execute it together.
#include "ir_twin.hpp"
#include "wgmma_kernel.hpp"

namespace tessera::twins {
namespace {

enum class Slip {
  read_early,
  scaled_early,
  no_fence,
  no_fence_after_scaling,
  no_commit,
  pending_one,
  three_warps,
  one_warp_waits
};

// Two products into one accumulator, scaled in between.
struct Accumulates : TwinScript {
  Slip slip = Slip::read_early;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {72, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto full = mbarrier.alloc({1, 1});
    if (auto _ = single_thread()) {
      fetch(sa, gx, 0, full[0]);
      fetch(sb, gx, 64, full[1]);
    }
    for (int i : {0, 1}) mbarrier.wait(full[i], 0);
    auto acc = register_tensor<float>({64, 8}, 0.0f);
    if (is(Slip::three_warps)) {
      if (auto _ = warp_group(0, 3)) wgmma.fence();  // <- first: acc_three_warps
    }
    if (!is(Slip::no_fence)) wgmma.fence();
    wgmma.mma(sa, sb.transpose(), acc);  // <- first: acc_*
    if (!is(Slip::no_commit)) wgmma.commit_group();
    if (is(Slip::scaled_early)) acc *= 0.5f;  // <- second: acc_scaled_early
    if (is(Slip::one_warp_waits)) {
      if (auto _ = single_warp(0)) wgmma.wait_group(0);  // <- first: acc_one_warp_waits
    } else {
      wgmma.wait_group(0);
    }
    if (!is(Slip::scaled_early)) acc *= 0.5f;  // <- second: acc_no_commit <- second: acc_no_fence_after_scaling
    if (!is(Slip::no_fence_after_scaling)) wgmma.fence();
    wgmma.mma(sa, sb.transpose(), acc);  // <- first: acc_*
    wgmma.commit_group();
    if (!is(Slip::read_early)) wgmma.wait_group(is(Slip::pending_one) ? 1 : 0);
    store_global(gy, acc, {0, 0});  // <- second: acc_read_early, acc_pending_one
    if (is(Slip::read_early) || is(Slip::pending_one)) wgmma.wait_group(0);
  }
};

// Two groups with an accumulator each: a wait for all but the newest is for the first.
struct TwoAccumulators : TwinScript {
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {72, 16});
    auto gy = global_view(y, {128, 8});
    auto sa = shared_tensor<float16>({64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto full = mbarrier.alloc({1, 1});
    if (auto _ = single_thread()) {
      fetch(sa, gx, 0, full[0]);
      fetch(sb, gx, 64, full[1]);
    }
    for (int i : {0, 1}) mbarrier.wait(full[i], 0);
    auto one = register_tensor<float>({64, 8}, 0.0f);
    auto two = register_tensor<float>({64, 8}, 0.0f);
    multiply(sa, sb, one);
    multiply(sa, sb, two);  // <- first: newest_group_read
    wgmma.wait_group(1);
    store_global(gy, one, {0, 0});
    if (!broken) wgmma.wait_group(0);
    store_global(gy, two, {64, 0});  // <- second: newest_group_read
    if (broken) wgmma.wait_group(0);
  }
};

// A register operand that is loaded anew while the product may still read it.
struct Fragment : TwinScript {
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {136, 16});
    auto gy = global_view(y, {64, 8});
    auto sb = shared_tensor<float16>({8, 16});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) fetch(sb, gx, 128, full);
    mbarrier.wait(full, 0);
    auto acc = register_tensor<float>({64, 8}, 0.0f);
    auto a = register_tensor<float16>({64, 16});
    a = load_global(gx, {0, 0}, {64, 16});
    auto next = load_global(gx, {64, 0}, {64, 16});
    wgmma.fence();
    wgmma.mma(a, sb.transpose(), acc);  // <- first: operand_registers
    wgmma.commit_group();
    if (!broken) wgmma.wait_group(0);
    a = next;  // <- second: operand_registers
    if (broken) wgmma.wait_group(0);
    wgmma.fence();
    wgmma.mma(a, sb.transpose(), acc);
    wgmma.commit_group();
    wgmma.wait_group(0);
    store_global(gy, acc, {0, 0});
  }
};

// Thread IR: 64 x 8 from tiles that TMA fills, with 32-byte swizzle.
struct WgmmaTwin : KernelBuilder {
  static constexpr std::uint32_t bar = 3072;
  std::uint32_t x, y;
  const ir::RegArray* acc = nullptr;
  testing::OperandPlace a, b;

  WgmmaTwin() : KernelBuilder(4, 3200) {
    kernel.name = "hand_written";
    x = pointer(DType::f16, "x");
    y = pointer(DType::f32, "y");
    kernel.written_params = {y};
    region("sa", 0, 2048);
    region("sb", 2048, 256);
    region("bar", bar, 8, true);
    map("ga", 64);
    map("gb", 8);
    for (testing::OperandPlace* place : {&a, &b}) {
      place->swizzle = 1;
      place->depth = 16;
    }
    b.rows = 8;
    b.offset = 2048;
    when(thread_idx() == 0, [&] {
      add<thread::MbarrierInit>(SourceLoc::here(), shared(bar), 1U);
      add<thread::Fence>(SourceLoc::here(), thread::FenceKind::mbarrier_init, std::string());
    });
    sync();
  }
  void map(const char* name, std::uint32_t rows) {
    thread::TensorMap m;
    m.name = name;
    m.param = x;
    m.type = DType::f16;
    m.dims = {i64(16), i64(72)};
    m.strides_bytes = {i64(32)};
    m.box = {16, rows};
    m.swizzle = thread::Swizzle::b32;
    kernel.tensor_maps.push_back(m);
  }
  void load(std::uint32_t map_index, std::uint32_t offset, int row, SourceLoc loc = SourceLoc::here()) {
    const std::vector<const Expr*> at{i32(0), i32(row)};
    add<thread::TmaLoadBox>(loc, map_index, shared(offset), at, shared(bar));
  }
  void begin_accumulator() {
    acc = regs(DType::f32, 4, "acc");
    write(acc, 0, {real(DType::f32, 0), real(DType::f32, 0), real(DType::f32, 0), real(DType::f32, 0)});
    add<thread::WgmmaFence>(SourceLoc::here());
  }
  void multiply(const thread::MatrixDescriptor& left, SourceLoc loc = SourceLoc::here()) {
    auto* s = add<thread::Wgmma>(loc, DType::f16, DType::f16, DType::f32, 8, ref(acc));
    s->a = left;
    s->b = b.descriptor(*this, 0);
  }
  void commit(SourceLoc loc = SourceLoc::here()) { add<thread::WgmmaCommit>(loc); }
  void wait(SourceLoc loc = SourceLoc::here()) {
    add<thread::WgmmaWait>(loc, 0, std::vector<const ir::RegArray*>{acc});
  }
  void store() {
    for (int i = 0; i < 4; ++i) {
      const E row = warp() * 16 + (lane() / 4 + 8 * (i / 2));
      const E at = row * 8 + (lane() % 4 * 2 + i % 2);
      add<thread::StoreGlobalVector>(SourceLoc::here(), ref(acc, i), 1, y, at.cast(DType::i64), nullptr);
    }
  }
  using KernelBuilder::ref;
};

enum class Apart { skipped, descriptor, swizzle };

std::shared_ptr<WgmmaTwin> by_hand(bool broken, Apart apart) {
  auto k = std::make_shared<WgmmaTwin>();
  k->when(k->thread_idx() == 0, [&] {
    k->add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), k->shared(WgmmaTwin::bar), k->u32(2304));
    k->load(0, 0, 0);  // <- first: swizzle_of_wgmma
    k->load(1, 2048, 64);
  });
  k->add<thread::MbarrierWait>(SourceLoc::here(), k->shared(WgmmaTwin::bar), k->u32(0));
  k->begin_accumulator();
  thread::MatrixDescriptor left = k->a.descriptor(*k, 0);
  if (broken && apart == Apart::swizzle) left.high &= 0x3fffffffU;  // none
  if (broken && apart == Apart::descriptor) left.low = k->e(left.low) + (k->warp() / 3 * 8).cast(DType::u32);
  if (broken && apart == Apart::skipped) {
    k->when(k->warp() < 3, [&] { k->multiply(left); });  // <- first: warp_skips
  } else {
    k->multiply(left);  // <- first: warps_differ <- second: swizzle_of_wgmma
  }
  k->commit();
  k->wait();
  k->store();
  return k;
}

}  // namespace

void add_registers(std::vector<Twin>& twins) {
  const Family family(twins, "wgmma registers");
  const auto about = [](const char* name, const char* source, Hazard hazard, const char* object) {
    return About{.name = name, .source = source, .expected = {hazard}, .object = object};
  };
  const auto x = operands(1);
  auto sum = product(x, 1);
  for (float& v : sum) v *= 1.5F;
  const auto accumulates = [&](const char* name, const char* source, Slip slip, const char* object = "acc") {
    About a = about(name, source, Hazard::wgmma, object);
    a.while_tracing = slip == Slip::three_warps || slip == Slip::one_warp_waits;
    add<Accumulates>(family, a, x, sum, [=](Accumulates& s) { s.slip = slip; });
  };
  accumulates("acc_read_early", "A1.3", Slip::read_early);
  accumulates("acc_scaled_early", "D9", Slip::scaled_early);
  accumulates("acc_no_fence", "D9", Slip::no_fence, "wgmma.fence");
  accumulates("acc_no_fence_after_scaling", "D9", Slip::no_fence_after_scaling);
  accumulates("acc_no_commit", "A1.2", Slip::no_commit);
  accumulates("acc_pending_one", "A1.3", Slip::pending_one);
  accumulates("acc_three_warps", "A3", Slip::three_warps, "wgmma.fence");
  accumulates("acc_one_warp_waits", "D4", Slip::one_warp_waits, "wgmma.wait_group");
  auto twice = product(x, 1);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 512);
  add<TwoAccumulators>(family, about("newest_group_read", "A1.3", Hazard::wgmma, "two"), x, twice);
  const auto two = operands(2);
  add<Fragment>(family, about("operand_registers", "D9", Hazard::wgmma, "a"), two, product(two, 2));
  const auto hand_written = [&](const char* name, Apart apart, Hazard hazard, const char* object) {
    const auto want = product(x, 1);
    family.add(about(name, "A3", hazard, object), [=](bool broken) {
      const auto builder = by_hand(broken, apart);
      const auto once = [=](const Launcher& on_machine) {
        auto in = x;
        std::vector<float> out(want.size());
        on_machine(builder->kernel, std::vector<sim::Argument>{argument(in), argument(out)});
        return out == want;
      };
      return Prepared{once, {}};
    });
  };
  hand_written("warp_skips", Apart::skipped, Hazard::wgmma, "warp 3");
  hand_written("warps_differ", Apart::descriptor, Hazard::wgmma, "warp");
  hand_written("swizzle_of_wgmma", Apart::swizzle, Hazard::swizzle, "sa");
}

}  // namespace tessera::twins
