// The first program of the language, from its source to its tile program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"
#include "tessera/lang/lang.hpp"
#include "tessera/runtime/space.hpp"

using namespace tessera;  // NOLINT: as a kernel author writes it

namespace {

struct MatmulTma : Script {
  struct Config {
    int block_m = 128, block_n = 128, block_k = 64;
  };

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n>({{64, 128}, {128, 128}, {128, 256}, {256, 128}, {256, 256}})
        .choices<&Config::block_k>({16, 32, 64});
  }

  Config config;
  explicit MatmulTma(Config c) : config(c) {}

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<float16> c_ptr) {
    const auto [block_m, block_n, block_k] = config;
    attrs.blocks = {cdiv(m_size, block_m), cdiv(n_size, block_n)};
    attrs.warps = 4;

    Int32 offset_m = block_m * blockIdx.x;
    Int32 offset_n = block_n * blockIdx.y;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto sa = shared_tensor<float16>({block_m, block_k});
    auto sb = shared_tensor<float16>({block_n, block_k});
    auto acc = register_tensor<float>({block_m, block_n}, 0.0f);

    auto tma_barrier = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;

    for (auto offset_k : range(0, k_size, block_k)) {
      if (auto _ = single_thread()) {
        mbarrier.arrive_and_expect_tx(tma_barrier, sa.nbytes() + sb.nbytes());
        tma.global_to_shared({.src = ga, .dst = sa, .offsets = {offset_m, offset_k}, .mbarrier = tma_barrier});
        tma.global_to_shared({.src = gb, .dst = sb, .offsets = {offset_n, offset_k}, .mbarrier = tma_barrier});
        mbarrier.wait(tma_barrier, phase);
      }
      sync();
      auto a = load_shared(sa);
      auto b = load_shared(sb);
      dot(a, b.transpose(), acc);
      sync();
      phase ^= 1u;
    }

    auto gc = global_view(c_ptr, {m_size, n_size});
    store_global(gc, cast<float16>(acc), {offset_m, offset_n});
  }
};

const std::vector<std::int64_t> constants{0, 1024, 512, 0, 0, 0};

TEST(Matmul, TileProgram) {
  const auto kernel = detail::trace(MatmulTma({.block_m = 64, .block_n = 128, .block_k = 64}), constants);
  EXPECT_EQ(ir::tile::to_string(*kernel, false),
            R"(kernel MatmulTma(m_size: i32, a_ptr: f16*, b_ptr: f16*, c_ptr: f16*)
blocks [int64((m_size / 64) + int32((m_size % 64) != 0)), 8, 1], warps 4
view ga: f16[int64(m_size), 512] = a_ptr, strides [512, 1]
view gb: f16[1024, 512] = b_ptr, strides [512, 1]
view gc: f16[int64(m_size), 1024] = c_ptr, strides [1024, 1]
sa: f16[64, 64] = shared_tensor()
sb: f16[128, 64] = shared_tensor()
acc: f32[64, 128] = register_tensor()
acc = 0
tma_barrier = mbarrier.alloc([1])
var phase: u32 = 0
for offset_k in range(0, 512, 64) {
  one thread elected in warp 0 {
    mbarrier.arrive_and_expect_tx(tma_barrier, 24576)
    tma.global_to_shared(ga, sa, [blockIdx.x * 64, offset_k], tma_barrier)
    tma.global_to_shared(gb, sb, [blockIdx.y * 128, offset_k], tma_barrier)
    let phase_1: u32 = phase
    mbarrier.wait(tma_barrier, phase_1)
  }
  sync()
  a: f16[64, 64] = load_shared(sa)
  b: f16[128, 64] = load_shared(sb)
  t3: f16[64, 128] = transpose(b)
  dot(a, t3, acc)
  sync()
  phase = phase ^ 1
}
t4: f16[64, 128] = float16(acc)
store_global(gc, t4, [blockIdx.x * 64, blockIdx.y * 128])
)");
}

TEST(Matmul, LocationsAreTheUsers) {
  const auto kernel = detail::trace(MatmulTma({}), constants);
  EXPECT_THAT(ir::tile::to_string(*kernel),
              testing::HasSubstr("acc: f32[128, 128] = register_tensor()  // matmul_test.cpp:"));
}

TEST(Matmul, Parameters) {
  const auto infos = detail::param_infos<MatmulTma>();
  ASSERT_EQ(infos.size(), 6U);
  EXPECT_EQ(infos[0].kind, detail::ParamKind::scalar);
  EXPECT_EQ(infos[1].kind, detail::ParamKind::constant);
  EXPECT_EQ(infos[3].kind, detail::ParamKind::pointer);
  EXPECT_EQ(infos[3].type, DType::f16);
  EXPECT_EQ(infos[3].name, "p3");
  static_assert(std::is_same_v<detail::HostArguments<MatmulTma>,
                               std::tuple<std::int32_t, int, int, PtrArg<float16>, PtrArg<float16>, PtrArg<float16>>>);
  EXPECT_EQ(detail::type_name<MatmulTma>(), "MatmulTma");
}

enum class Mode { plain, fancy };
template <class T>
struct Generic : Script {
  static constexpr auto params = names("rows", "mode", "scale", "out");
  void operator()(Int64 rows, Mode mode, Float32 scale, const Ptr<T>& out) const {
    attrs.blocks = rows;
    attrs.warps = mode == Mode::fancy ? 2 : 1;
    auto g = global_view(out, {rows});
    store_global(g, cast<T>(register_tensor<float>({32}, scale)), {0});
  }
};

TEST(Matmul, NamedParametersConstOperatorsAndTemplates) {
  const auto kernel = detail::trace(Generic<bfloat16>(), std::vector<std::int64_t>{0, 1, 0, 0});
  EXPECT_EQ(kernel->name, "Generic");
  EXPECT_EQ(kernel->warps, 2);
  ASSERT_EQ(kernel->params.size(), 3U);
  EXPECT_EQ(kernel->params[0].name, "rows");
  EXPECT_EQ(kernel->params[1].name, "scale");
  EXPECT_EQ(kernel->params[2].name, "out");
  EXPECT_TRUE(kernel->params[2].is_pointer);
}

}  // namespace
