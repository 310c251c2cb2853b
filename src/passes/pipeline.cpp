#include "passes/pipeline.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "cuda/printer.hpp"
#include "ir/thread_text.hpp"
#include "lower/lowering.hpp"
#include "passes/expand.hpp"
#include "passes/infer_layouts.hpp"
#include "passes/plan_shared.hpp"
#include "passes/proxy_fences.hpp"
#include "passes/registers.hpp"
#include "passes/static_check.hpp"
#include "passes/stream_operands.hpp"

namespace tessera::passes {
namespace {

// The stages that TESSERA_DUMP or the options ask for, printed as they are reached.
class Dump {
 public:
  explicit Dump(const Options& options) : sink_(options.dump_sink), stages_(options.dump) {
    if (const char* env = std::getenv("TESSERA_DUMP"); stages_.empty() && env != nullptr) stages_ = env;
    stages_ = "," + stages_ + ",";
  }
  template <class F>
  void operator()(const std::string& stage, F text) const {
    if (stages_.find("," + stage + ",") == std::string::npos) return;
    if (sink_) return sink_(stage, text());
    const std::string out = fmt::format("======== {} ========\n{}\n", stage, text());
    std::fwrite(out.data(), 1, out.size(), stderr);
  }

 private:
  std::function<void(const std::string&, const std::string&)> sink_;
  std::string stages_;
};

}  // namespace

Lowered lower(ir::tile::Kernel& kernel, const Options& options) {
  const Dump dump(options);
  Lowered result;
  ir::tile::verify(kernel);
  const std::string program = ir::tile::to_string(kernel);
  dump("tile", [&] { return program; });
  if (options.refuse_hazards) {
    result.findings = refuse_certain_hazards(kernel, {.fences_inserted = options.insert_proxy_fences});
  }

  infer_layouts(kernel, result.remarks);
  expand(kernel);
  ir::tile::verify(kernel);
  stream_operands(kernel);
  dump("layout", [&] { return ir::tile::to_string(kernel); });

  const RegisterNeed need = estimate_registers(kernel);
  result.register_estimate = need.estimate;
  const SharedPlan plan = plan_shared(kernel, options.barriers_in_tiles);
  if (options.insert_proxy_fences) insert_proxy_fences(kernel);
  dump("plan", [&] { return to_string(plan) + ir::tile::to_string(kernel); });

  result.kernel =
      lower::lower_kernel(kernel, static_cast<std::uint32_t>(plan.total_bytes), plan.regions, result.remarks);
  result.kernel.tile_program = program;
  result.kernel.ctas_per_sm =
      contains(kernel, ir::StmtKind::tile_SetRegisters)
          ? 1
          : choose_ctas_per_sm(need, kernel.warps * 32, plan.total_bytes, contains(kernel, ir::StmtKind::tile_Wgmma));
  if (!options.barriers_in_tiles) ir::thread::verify(result.kernel);
  dump("thread", [&] { return ir::thread::to_string(result.kernel, true); });
  dump("cuda", [&] { return cuda::print(result.kernel); });
  return result;
}

}  // namespace tessera::passes
