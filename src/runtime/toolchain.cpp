#include "runtime/toolchain.hpp"

#include "cuda/printer.hpp"
#include "ir/thread_text.hpp"

namespace tessera::runtime {

std::shared_ptr<const Toolchain> real_toolchain() {
  static const std::shared_ptr<const Toolchain> instance = std::make_shared<Toolchain>(Toolchain{
      [](ir::tile::Kernel& kernel) {
        passes::Options options;
        options.refuse_hazards = true;
        return passes::lower(kernel, options);
      },
      [](const ir::thread::Kernel& kernel, bool readable) { return cuda::print(kernel, {.readable = readable}); },
      [](const ir::thread::Kernel& kernel) { return ir::thread::to_string(kernel); },
      [](const std::string& source, const std::string& kernel) { return jit::compile(source, kernel); },
      [] { return jit::compiler_version() + " (" + jit::compiler_build() + ") " + jit::compiler_flags(); }});
  return instance;
}

}  // namespace tessera::runtime
