// Exports whose launch is several kernels, one after the other on a stream, with a workspace between them.
#pragma once

#include <optional>
#include <utility>

#include "export/model.hpp"
#include "export/status.hpp"

namespace tessera::exporter {

// Where regions of a workspace and the workspace itself begin: multiples of it. All of CUDA's allocators keep to it.
constexpr int workspace_alignment = 256;

// A part of the workspace, in which one kernel leaves something for a later one.
struct Region {
  std::string what;                      // "partial sums"
  std::optional<std::size_t> parameter;  // that says how many rows it has
  std::int64_t rows = 1;                 // where none does
  std::int64_t row_bytes = 0;
  std::string text(const std::vector<detail::ParamInfo>& params) const;  // "partial sums, m_size rows of 8192 bytes"
};

// Where a run-time argument of a kernel comes from.
struct StepArgument {
  enum class From : std::uint8_t { value, parameter, region };
  From from = From::value;
  std::int64_t value = 0;
  std::size_t index = 0;  // of the launch's parameter, or of the region
  std::int64_t unit = 1;  // the parameter is counted in these, and has to be a multiple of them
  // With 1 or less of this parameter, `value` stands for the argument.
  std::optional<std::size_t> unless_one = {};
};

struct Step {
  Call call;                            // as it is compiled and chosen for
  std::string what;                     // "copies a"
  std::vector<StepArgument> arguments;  // one a parameter of the kernel; not read for constants
};

// The kernels of one set of sizes.
struct SizedSteps {
  std::vector<std::int64_t> constants;  // one a parameter of the launch; not read for others than constants
  std::vector<std::pair<std::size_t, std::int64_t>> sizes;  // parameters whose buckets decide
  std::vector<std::pair<std::size_t, std::int64_t>> most;   // parameters that may not be more than this
  std::vector<Region> regions;
  std::vector<Step> steps;
  std::size_t main = 0;  // the step that the launch is about
};

struct Sequence {
  std::string script;                     // what is exported, for people
  std::vector<detail::ParamInfo> params;  // of the launch; constants are compared with those of the sizes
  std::vector<std::size_t> none_if_zero;  // parameters; with a 0 of one nothing is launched
  std::vector<SizedSteps> all;            // never empty
  std::vector<std::string> notes;         // lines for the header's comment
};

// The whole export.
ExportReport write_sequence(Sequence sequence, const Device* device, const ExportOptions& options);

// A step, compiled.
struct StepKernel {
  std::size_t part = 0;     // of the model's parts
  std::size_t variant = 0;  // of the whole's variants
  std::size_t plan = 0;     // of the model's plans
  std::string chosen;
};
// A function that checks and works out a launch of a variant, with texts that name the launch's own parameters.
struct StepPlan {
  std::size_t part = 0, variant = 0;  // the variant is one of the part's
  std::vector<std::string> shown;     // of the run-time parameters of the kernel
  bool operator==(const StepPlan&) const = default;
};
struct SequenceModel {
  Sequence sequence;
  std::vector<Model> parts;                      // one a script
  Model whole;                                   // the parts' variants and cubins, the launch's parameters
  std::vector<std::vector<StepKernel>> kernels;  // as the sequence's steps
  std::vector<StepPlan> plans;
};

std::string sequence_source(const SequenceModel& model);
std::string sequence_manifest(const SequenceModel& model, const Files& files);
// "m_size in (8, 16], n_size = 512"; with or without the constants that all sizes agree in.
std::string sizes_text(const SequenceModel& model, std::size_t sized, bool all_constants);

}  // namespace tessera::exporter
