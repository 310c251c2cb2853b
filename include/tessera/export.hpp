// Ahead-of-time export: a tuned kernel as C source with its cubins, which needs the CUDA driver and nothing else.
//
//   Kernel<MyMatmul> kernel;
//   KernelExport out(kernel, {.name = "my_matmul", .directory = "out"});
//   out.call(4096, 4096, 4096, a, b, c);  // the arguments of a launch: each call is a bucket of sizes
//   out.call(128, 7168, 2048, a, b, c);
//   std::puts(out.write().text().c_str());
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/kernel.hpp"

namespace tessera {

struct ExportOptions {
  // What a launch does with sizes that no exported call had the bucket of. Every exported kernel is right for all sizes
  // that pass its checks; another one may only be slower.
  enum class Dispatch : std::uint8_t {
    nearest,  // takes the kernel of the nearest bucket that accepts them
    exact     // refuses them
  };
  std::string name;       // prefix of every C name and of the files; empty: made from the script's name
  std::string directory;  // is made if it is not there; empty: one of that name in the current one
  Dispatch dispatch = Dispatch::nearest;
  bool embed = true;  // cubins as arrays in the source; false: read from their files when the kernel is loaded
  bool keep_constants = false;  // compile-time constants stay in the signature though all calls agree on them
  // A tuning record (a file), or a folder of them: what was measured on another machine chooses among the candidates.
  std::string tuning = {};
  // A GPU to tune on. Default: that of the kernel or of the arguments, else none: a static estimate chooses.
  std::optional<Device> device = {};
};

// What an export holds.
struct ExportReport {
  struct Step {
    std::string kernel;
    std::string what;  // it does, of the whole: "copies a"
    std::string config;
    int registers = 0, spill_bytes = 0;
    std::uint32_t shared_bytes = 0;
  };
  struct Bucket {
    std::string sizes;   // "m_size in (2048, 4096]"
    std::string config;  // of the kernel, or of the one that a launch of several is about
    std::string chosen;  // how: "by a static estimate among 15", ...
    int registers = 0, spill_bytes = 0;
    std::uint32_t shared_bytes = 0;
    // Of an export whose launch may be several kernels: these, in their order, and what its workspace holds.
    std::vector<Step> steps = {};
    std::vector<std::string> workspace = {};
  };
  std::string name, kernel, directory;
  std::vector<Bucket> buckets;
  std::vector<std::string> files;    // within the directory
  std::vector<std::string> remarks;  // what a reader should know
  std::string text() const;          // for people
};

// An address that stands for memory in a call that is exported and not launched; a multiple of `alignment`.
template <class T>
T* export_memory(std::size_t alignment = 256) {
  return reinterpret_cast<T*>((std::size_t{1} << 32) + alignment);
}

namespace detail {
ExportReport export_calls(KernelImpl& kernel, const Device* device, const ExportOptions& options,
                          const std::vector<std::vector<Argument>>& calls);
}

template <class S, class Host = detail::HostArguments<S>>
class KernelExport;

template <class S, class... H>
class KernelExport<S, std::tuple<H...>> {
 public:
  KernelExport(Kernel<S, std::tuple<H...>>& kernel, ExportOptions options)
      : kernel_(kernel), options_(std::move(options)) {}

  // A representative launch. The kernel is compiled and chosen for its bucket of sizes, for its compile-time constants
  // and for the alignment of its pointers (16 bytes or less), as a launch of it would be. Nothing is launched.
  KernelExport& call(typename detail::LaunchArgument<H>::type... arguments) {
    calls_.push_back({detail::to_argument(arguments)...});
    return *this;
  }
  // Writes the files. Throws tessera::Error.
  ExportReport write() {
    return detail::export_calls(kernel_.impl(), options_.device ? &*options_.device : kernel_.device(), options_,
                                calls_);
  }

 private:
  Kernel<S, std::tuple<H...>>& kernel_;
  ExportOptions options_;
  std::vector<std::vector<detail::Argument>> calls_;
};

template <class S, class Host>
KernelExport(Kernel<S, Host>&, ExportOptions) -> KernelExport<S, Host>;

// The same for one call.
template <class S, class... H>
ExportReport export_kernel(Kernel<S, std::tuple<H...>>& kernel, const ExportOptions& options,
                           std::type_identity_t<typename detail::LaunchArgument<H>::type>... arguments) {
  return KernelExport<S, std::tuple<H...>>(kernel, options).call(arguments...).write();
}

// What the command tessera-export was asked for.
struct ExportRequest {
  ExportOptions options;
  std::vector<std::vector<std::int64_t>> sizes;  // of each --size; empty: the kernel's own
  std::string config;                            // of --config; empty: all candidates
  std::string type;                              // of --type; empty: the kernel's own
};
// `kernel` with the candidate that was asked for, or with all of them.
template <class S>
Kernel<S> requested_kernel(const ExportRequest& request) {
  if constexpr (detail::HasSpace<S>) {
    if (!request.config.empty()) return Kernel<S>(S::space().parse(request.config));
  }
  return Kernel<S>();
}

// Kernels that a program offers to the command: a name, what its sizes are ("m n k"), and how to export it.
using RegisteredExport = std::function<std::vector<ExportReport>(const ExportRequest&)>;
// Returns true, so that a namespace-scope constant can do it. Throws a user Error for a name that is taken or empty.
bool register_export(std::string name, std::string sizes, RegisteredExport make, SourceLoc loc = SourceLoc::here());
// The command over what is registered, as a whole main function; --help describes it. Returns the exit code: 0 written,
// 2 wrong use, 3 it could not be exported.
int export_main(int argc, char** argv);

}  // namespace tessera
