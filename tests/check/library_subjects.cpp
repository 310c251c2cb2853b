#include <fmt/format.h>

#include <bit>

#include "kernels/programs.hpp"
#include "kernels/split_matmul.hpp"
#include "passes/pipeline.hpp"
#include "subjects.hpp"

namespace tessera::testing {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace)

constexpr DType half = DType::f16;

std::int64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

Subject subject(const char* kernel, std::string form, std::function<detail::Program()> program,
                std::vector<std::int64_t> constants) {
  Subject result{kernel, std::move(form), {}, {}};
  result.build = [program = std::move(program), constants = std::move(constants)] {
    return passes::lower(*program().candidates.front().trace(constants)).kernel;
  };
  return result;
}

struct Shape {
  std::int64_t m, n, k;
  OutputForm form = OutputForm::rows_tma;
  int sms = 2;
};

Subject persistent(const std::string& text, const PersistentConfig& config, const Shape& s) {
  const auto form = static_cast<std::int64_t>(s.form);
  Subject result = subject("persistent", fmt::format("{}, {}x{}x{}", text, s.m, s.n, s.k),
                           [config] { return persistent_program(half, half, {config}); },
                           {0, s.n, s.k, 1, 1, form, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::int64_t unit = pitch_unit(s.form, half);
  const bool across = by_columns(s.form);
  result.launches.push_back(
      {{scalar(s.m), scalar(s.k), scalar(s.k), scalar(across ? 1 : s.n / unit), scalar(across ? s.m / unit : 1),
        scalar(bits(1)), scalar(bits(0)), input(s.m * s.k), input(s.n * s.k), output(s.m * s.n), input(s.n)},
       s.sms});
  return result;
}

Subject split(const std::string& text, const SplitConfig& config, const Shape& s, int splits,
              OutputForm output_form = OutputForm::rows) {
  const auto form = static_cast<std::int64_t>(output_form);
  Subject result = subject("split", fmt::format("{}, {} splits, {}x{}x{}", text, splits, s.m, s.n, s.k),
                           [config] { return split_program(half, half, {config}); },
                           {0, s.n, s.k, 1, 1, form, 0, splits, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::int64_t partials = splits * s.m * partial_pitch(static_cast<int>(s.n));
  const bool alone = splits == 1;
  result.launches.push_back(
      {{scalar(s.m), scalar(s.k), scalar(s.k), scalar(s.n / pitch_unit(output_form, half)), scalar(1), scalar(bits(1)),
        scalar(bits(0)), input(s.m * s.k), input(s.n * s.k), alone ? output(s.m * s.n) : input(s.m * s.n), input(s.n),
        alone ? input(partials, DType::f32) : output(partials, DType::f32)},
       s.sms});
  return result;
}

Subject pitch(const std::string& text, const PitchConfig& config, const Shape& s) {
  const auto form = static_cast<std::int64_t>(OutputForm::rows);
  const auto order = static_cast<std::int64_t>(OperandOrder::by_k);
  Subject result = subject("pitch", fmt::format("{}, {}x{}x{}", text, s.m, s.n, s.k),
                           [config] { return pitch_program(half, half, {config}); },
                           {0, s.n, s.k, order, order, form, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  result.launches.push_back(
      {{scalar(s.m), scalar(s.k), scalar(1), scalar(s.k), scalar(1), scalar(s.n), scalar(1), scalar(bits(1)),
        scalar(bits(0)), input(s.m * s.k), input(s.n * s.k), output(s.m * s.n), input(s.n)},
       s.sms});
  return result;
}

Subject reduce(const Shape& s, int splits) {
  const auto form = static_cast<std::int64_t>(OutputForm::rows);
  Subject result = subject("reduce", fmt::format("{} splits, {}x{}", splits, s.m, s.n),
                           [] { return reduce_program(half); }, {0, s.n, form, 0, splits, 0, 0, 0, 0, 0, 0, 0});
  result.launches.push_back({{scalar(s.n), scalar(1), scalar(bits(1)), scalar(bits(0)), output(s.m * s.n), input(s.n),
                              input(splits * s.m * partial_pitch(static_cast<int>(s.n)), DType::f32)},
                             s.sms});
  result.launches.back().parameters.insert(result.launches.back().parameters.begin(), scalar(s.m));
  return result;
}

Subject pack(OperandOrder order, std::int64_t rows, std::int64_t columns) {
  Subject result = subject("pack", fmt::format("order {}, {}x{}", static_cast<int>(order), rows, columns),
                           [] { return pack_program(2); }, {0, 0, static_cast<std::int64_t>(order), 0, 0, 0, 0, 0});
  const std::int64_t pitch = (columns + 7) / 8;
  const bool by_k = order == OperandOrder::by_k;
  result.launches.push_back({{scalar(rows), scalar(columns), scalar(by_k ? columns : 1), scalar(by_k ? 1 : rows),
                              scalar(pitch), input(rows * columns), output(rows * pitch * 8)},
                             2});
  return result;
}

}  // namespace

std::vector<Subject> library_subjects() {
  const auto together = Consumers::cooperative, in_turns = Consumers::ping_pong;
  std::vector<Subject> all;
  all.push_back(persistent("cooperative, 2 stages, cluster 2, 2 buffers", {together, 128, 32, 16, 2, 2, 4, 16, 2},
                           {600, 64, 88}));
  all.push_back(persistent("cooperative, 3 stages, 1 buffer, columns", {together, 128, 32, 16, 3, 1, 4, 32, 1},
                           {304, 64, 120, OutputForm::columns_tma}));
  all.push_back(
      persistent("cooperative, 3 consumers, 2 stages", {together, 192, 16, 16, 2, 1, 4, 16, 1}, {400, 32, 88}));
  all.push_back(
      persistent("in turns, 2 stages, cluster 2, 2 buffers", {in_turns, 64, 32, 16, 2, 2, 4, 16, 2}, {600, 96, 88}));
  all.push_back(
      persistent("in turns, 3 stages, rows", {in_turns, 64, 32, 16, 3, 1, 4, 32, 1}, {640, 65, 120, OutputForm::rows}));
  all.push_back(split("16x64x16, 2 stages, 1 group", {16, 64, 16, 2, 1}, {20, 72, 176}, 2));
  all.push_back(split("8x128x16, 3 stages, 2 groups", {8, 128, 16, 3, 2}, {12, 72, 120}, 1));
  all.push_back(split("16x64x16, 2 stages, 1 group, cluster 2", {16, 64, 16, 2, 1, 2}, {20, 136, 176}, 2));
  all.push_back(split("16x64x16, 2 stages, 1 group, k by 2", {16, 64, 16, 2, 1, 1, 2}, {20, 72, 176}, 1));
  all.push_back(split("8x128x16, 2 stages, 2 groups, k by 4", {8, 128, 16, 2, 2, 1, 4}, {12, 72, 600}, 2));
  all.push_back(
      split("32x64x16, 2 stages, 1 group, results by TMA", {32, 64, 16, 2, 1}, {40, 72, 88}, 1, OutputForm::rows_tma));
  all.push_back(pitch("128x16x16, 2 stages", {128, 16, 16, 2, 4}, {140, 20, 85}));
  all.push_back(pitch("128x16x16, 3 stages", {128, 16, 16, 3, 4}, {140, 20, 120}));
  all.push_back(reduce({5, 300, 0}, 3));
  all.push_back(pack(OperandOrder::by_k, 40, 131));
  all.push_back(pack(OperandOrder::by_rows, 40, 131));
  return all;
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> all = ladder_subjects();
  for (Subject& s : library_subjects()) all.push_back(std::move(s));
  return all;
}

}  // namespace tessera::testing
