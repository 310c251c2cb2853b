// What an export holds, before it is written as C.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "tessera/export.hpp"
#include "tessera/runtime/program.hpp"

namespace tessera::exporter {

// One compiled kernel.
struct Variant {
  std::string config;
  std::vector<std::int64_t> constants;  // one a parameter of the program; 0 for those of run time
  std::uint64_t alignment = 0;          // bit i: pointer i is assumed to be aligned to 16 bytes
  std::shared_ptr<const ir::thread::Kernel> kernel;
  std::string function;
  std::size_t cubin = 0;
  int registers = 0, spill_bytes = 0;
};

// The sizes that a variant was chosen for.
struct Entry {
  std::size_t variant = 0;
  std::vector<std::int64_t> bounds;  // one a run-time parameter, as those of the runtime's buckets
  std::string bucket;                // "m_size in (2048, 4096]"
  std::string chosen;                // "by a static estimate", ...
};

struct Model {
  ExportOptions options;
  std::string script;  // the kernel's name
  std::vector<detail::ParamInfo> params;
  std::vector<bool> in_signature;  // one a parameter: false for a constant that is the same in all variants
  std::vector<Variant> variants;
  std::vector<Entry> entries;
  std::vector<Entry> of_calls;  // of each call its entry, which several calls may share
  std::vector<std::vector<char>> cubins;
  std::string compiler;
  std::vector<std::string> notes;  // lines for the header's comment
  // Of an export whose launch may be several kernels: what they are, lines for the header's comment; else empty.
  std::vector<std::string> launches;
  std::vector<bool> decides;  // then one a parameter: whether the workspace's size depends on it
  bool several() const { return !launches.empty(); }
};

// A launch that stands for a bucket.
struct Call {
  detail::KernelImpl* kernel;
  std::vector<detail::Argument> arguments;
  std::string how = {};  // its one candidate was chosen; empty: it is the only one
};
// A call as the compiler sees it.
struct CallShape {
  std::vector<std::int64_t> constants, bounds;  // one a parameter; one a run-time parameter
  std::uint64_t alignment = 0;
  SourceLoc loc;
};
CallShape shape_of(const detail::Program& program, const std::vector<detail::Argument>& call);

// Chooses and compiles what the calls need. Their kernels have one script; they may have different candidates.
Model collect(const std::vector<Call>& calls, const Device* device, const ExportOptions& options);
// The whole export. `notes` are lines for the header's comment.
ExportReport write_calls(const std::vector<Call>& calls, const Device* device, const ExportOptions& options,
                         std::vector<std::string> notes = {});

// A run-time parameter whose value decides which kernel is fast: integers and booleans.
bool is_sized(const detail::ParamInfo& param);

// Options that are checked: the name can begin C names. Throws a user Error.
void require_name(const ExportOptions& options);
// Replaces the files of the folder. Throws a user Error.
using Files = std::vector<std::pair<std::string, std::string>>;
void write_files(const std::string& directory, const Files& files);
// The header, source, declarations, project, cubins; all but the manifest.
Files files_of(const Model& model, std::string header, std::string source);

std::string cubin_file(const Model& model, std::size_t index);  // within the directory
// The files' texts.
std::string header_text(const Model& model);
std::string source_text(const Model& model);
std::string manifest_text(const Model& model, const Files& files);
extern const char* const cuda_declarations;  // tessera_cuda.h
extern const char* const cmake_project;      // CMakeLists.txt

// C names of the program's parameters: legal in C and C++, different from each other and from what the source uses.
std::vector<std::string> c_names(const Model& model);
// The type of a parameter in the launch function's signature.
const char* c_type(const detail::ParamInfo& param);
// What a reader is told about a parameter beside its type: "float16", "address of bfloat16 elements", ...
std::string c_meaning(const detail::ParamInfo& param);
// "const NAME_module* module, int32_t m_size, ..., CUstream stream"
std::string launch_parameters(const Model& model);
// The same of NAME_workspace_bytes.
std::string workspace_parameters(const Model& model);
std::string upper(const std::string& name);
std::string snake(const std::string& name);  // "MatmulTma" to "matmul_tma"

}  // namespace tessera::exporter
