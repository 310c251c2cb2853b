// The configurations of every kernel, around the length of their rings.
#include <map>
#include <set>
#include <tuple>

#include "kernels/executor.hpp"
#include "matmul_case.hpp"

namespace tessera::testing {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace)

template <class P>
class Configs : public ::testing::Test {
 protected:
  using In = typename P::first_type;
  using Out = typename P::second_type;

  // Blocks of k that leave the ring short, full and gone round.
  static std::set<int> counts(int stages) { return {1, stages - 1, stages, stages + 1}; }
  // All of them, or the one whose turn it is.
  static std::set<int> counts(int stages, bool all, std::size_t turn) {
    const std::set<int> every = counts(stages);
    if (all) return every;
    return {*std::next(every.begin(), static_cast<std::ptrdiff_t>(turn % every.size()))};
  }
  const Schedule& schedule() { return all_schedules()[rounds_++ % all_schedules().size()]; }

  // make(problem) gives the executor.
  template <class F>
  void run(F make, std::int64_t m, std::int64_t n, std::int64_t k, Layouts layouts, const MatmulOptions& options,
           bool bias, const std::string& what) {
    SCOPED_TRACE(what + " of " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
    const Device device = simulated(schedule(), 3);
    MatmulCase<In, Out> test(m, n, k, layouts, static_cast<unsigned>(m * 7 + n * 3 + k));
    test.run_by(
        [&](const auto& a, const auto& b, const auto& c, const MatmulOptions& o) {
          const Problem problem = describe(a, b, c, o, SourceLoc::here());
          make(problem)->launch({problem, device, nullptr, SourceLoc::here()});
        },
        options, bias);
  }

  static Extents extents(bool a_by_k, bool b_by_k, OutputForm form) {
    Extents e;
    e.m = 1024;
    e.n = e.k = 4096;
    e.in_bytes = sizeof(In);
    e.out_bytes = sizeof(Out);
    e.a_by_k = a_by_k;
    e.b_by_k = b_by_k;
    e.form = form;
    return e;
  }

 private:
  std::size_t rounds_ = 0;
};
using Types =
    ::testing::Types<std::pair<float16, float16>, std::pair<bfloat16, float>, std::pair<float8_e4m3, bfloat16>>;
TYPED_TEST_SUITE(Configs, Types);

// The first of each kind at each of the four lengths, the others at one of them.
TYPED_TEST(Configs, OfPersistentMatmul) {
  std::size_t seen = 0;
  std::set<std::tuple<Consumers, int, int>> kinds;
  for (const auto& [config, us] : persistent_candidates(this->extents(true, true, OutputForm::rows_tma))) {
    EXPECT_GT(us, 0);
    ++seen;
    const bool first = kinds.insert({config.consumers, config.block_m, config.cluster}).second;
    for (const int blocks : this->counts(config.stages, first, seen)) {
      const auto make = [config = config](const Problem& p) { return make_persistent(p, {config}); };
      this->run(make, config.block_m + 8, config.block_n + 16, blocks * config.block_k, {}, {}, false,
                "tile " + std::to_string(config.block_m) + "x" + std::to_string(config.block_n) + ", cluster " +
                    std::to_string(config.cluster) + ", stages " + std::to_string(config.stages) + ", consumers " +
                    std::to_string(static_cast<int>(config.consumers)));
      if (this->HasFailure()) return;
    }
  }
  EXPECT_GE(seen, 18U);
}

// The widths that other problems get, each once at one of the four lengths.
TYPED_TEST(Configs, OfPersistentMatmulInEveryWidth) {
  std::set<std::string> seen;
  std::set<int> widths;
  Extents e = this->extents(true, true, OutputForm::rows_tma);
  for (e.n = 264; e.n <= 8192; e.n = e.n * 5 / 4 / 8 * 8 + 24) {
    for (const auto& [config, us] : persistent_candidates(e)) {
      const std::string name = "tile " + std::to_string(config.block_m) + "x" + std::to_string(config.block_n) +
                               ", cluster " + std::to_string(config.cluster) + ", consumers " +
                               std::to_string(static_cast<int>(config.consumers));
      if (!seen.insert(name).second) continue;
      widths.insert(config.block_n);
      const int blocks = *this->counts(config.stages, false, seen.size()).begin();
      const auto make = [config = config](const Problem& p) { return make_persistent(p, {config}); };
      this->run(make, config.block_m + 8, config.block_n + 16, blocks * config.block_k, {}, {}, false, name);
      if (this->HasFailure()) return;
    }
  }
  EXPECT_GE(widths.size(), 20U);
}

// More tiles than SMs, odd numbers of them, and all that an epilogue does.
TYPED_TEST(Configs, OfPersistentMatmulOverManyTiles) {
  Extents e = this->extents(true, true, OutputForm::columns_tma);
  e.steps = {true, true, true};
  std::map<std::tuple<Consumers, int, int>, int> of_kind;
  for (const auto& [config, us] : persistent_candidates(e)) {
    if (++of_kind[{config.consumers, config.block_m, config.cluster}] > 3) continue;
    const auto make = [config = config](const Problem& p) { return make_persistent(p, {config}); };
    this->run(make, 3 * config.block_m - 8, 3 * config.block_n - 8, 2 * config.block_k + 16,
              {Stored::rows, Stored::rows, Stored::columns}, {.alpha = 0.5f, .beta = 2}, true,
              "tile " + std::to_string(config.block_m) + "x" + std::to_string(config.block_n));
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(Configs, OfPersistentMatmulWithContiguousRows) {
  if (sizeof(typename TestFixture::In) == 1) return;  // 8-bit operands are contiguous along k
  for (const auto& [config, us] : persistent_candidates(this->extents(false, false, OutputForm::rows_tma))) {
    const auto make = [config = config](const Problem& p) { return make_persistent(p, {config}); };
    this->run(make, config.block_m + 8, config.block_n + 8, (config.stages + 1) * config.block_k,
              {Stored::padded_columns, Stored::padded_columns, Stored::rows}, {}, false,
              "tile " + std::to_string(config.block_m) + "x" + std::to_string(config.block_n) + ", cluster " +
                  std::to_string(config.cluster));
    if (this->HasFailure()) return;
  }
}

// As above: the first of each kind at all lengths, the others at one.
TYPED_TEST(Configs, OfSplitMatmul) {
  std::set<std::string> seen;
  std::set<std::tuple<int, int, int, int>> kinds;
  for (const int m : {1, 9, 17, 24, 33, 64, 96, 128, 200, 256}) {
    Extents e = this->extents(true, true, OutputForm::rows_tma);
    e.m = m;
    for (const SplitChoice& choice : split_candidates(e)) {
      if (choice.splits != 1 && choice.splits != 3) continue;
      for (const auto& [config, us] : choice.candidates) {
        const std::string name = "block " + std::to_string(config.block_m) + "x" + std::to_string(config.block_n) +
                                 ", stages " + std::to_string(config.stages) + ", splits " +
                                 std::to_string(choice.splits) + ", cluster " + std::to_string(config.cluster) + "x" +
                                 std::to_string(config.cluster_k);
        if (!seen.insert(name).second) continue;
        const int parts = choice.splits * config.cluster_k;
        const bool first = kinds.insert({choice.splits, config.block_n, config.cluster, config.cluster_k}).second;
        for (const int blocks : this->counts(config.stages, first, seen.size())) {
          const auto make = [&, config = config](const Problem& p) {
            return make_split(p, choice.splits, {config}, 0);
          };
          this->run(make, m, config.block_n + 8, (parts * blocks - parts / 2) * config.block_k, {}, {.alpha = 2},
                    blocks % 2 == 0, name);
          if (this->HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(seen.size(), 60U);
}

TYPED_TEST(Configs, OfPitchMatmul) {
  for (const auto& [config, us] : pitch_candidates(this->extents(true, true, OutputForm::rows))) {
    for (const int blocks : this->counts(config.stages)) {
      for (const Stored stored : {Stored::odd_rows, Stored::odd_columns, Stored::spread, Stored::rows}) {
        const auto make = [config = config](const Problem& p) { return make_pitch(p, {config}); };
        this->run(make, config.block_m + 1, 2 * config.block_n + 1, blocks * config.block_k - 1,
                  {stored, stored, Stored::rows}, {.beta = 1}, true, "block_n " + std::to_string(config.block_n));
        if (this->HasFailure()) return;
      }
    }
  }
}

// Copies of one operand or both in front of either kernel.
TYPED_TEST(Configs, OfPackRows) {
  for (const Stored a : {Stored::odd_rows, Stored::odd_columns, Stored::spread, Stored::shifted, Stored::rows}) {
    for (const Stored b : {Stored::odd_rows, Stored::odd_columns, Stored::spread, Stored::shifted}) {
      const auto make = [&](const Problem& p) {
        EXPECT_FALSE(p.b.loadable);
        const Problem packed = packed_problem(p);
        EXPECT_TRUE(packed.a.loadable && packed.b.loadable);
        Extents e = extents_of(packed, 132);
        auto inner = b == Stored::spread
                         ? make_split(packed, 2, {split_candidates(e).front().candidates.front().config}, 0)
                         : make_persistent(packed, {persistent_candidates(e).front().config});
        return make_packed(p, 0, std::move(inner));
      };
      this->run(make, 65, 131, 272, {a, b, Stored::rows}, {}, true,
                std::string("a ") + name_of_stored(a) + ", b " + name_of_stored(b));
      if (this->HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
