// A process of the test with many and the real compiler: launches kernels out of the cache of TESSERA_CACHE_DIR, on the
// driver stand-in that TESSERA_LIBCUDA names.
//   nvrtc_worker KERNELS THREADS LOG RESULTS [GATE]
// Every thread runs all kernels with objects of its own, each thread beginning at another one. LOG gets a line for each
// compilation as it begins, RESULTS one for each launch: the kernel, and what the driver has launched for it. GATE is a
// descriptor that is closed when all are to start. Exit status 0: every kernel was launched.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "hopper_matmul/matmul_v0.hpp"
#include "runtime/toolchain.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;

void append(const char* path, const std::string& line) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::perror(path);
  ::close(file);
}

// The real one, with a note of each compilation.
std::shared_ptr<const runtime::Toolchain> noting_toolchain(const char* log, int kernel) {
  auto chain = std::make_shared<runtime::Toolchain>(*runtime::real_toolchain());
  chain->compile = [compile = chain->compile, log, kernel](const std::string& source, const std::string& name) {
    append(log, std::to_string(kernel) + "\n");
    return compile(source, name);
  };
  return chain;
}

// Products of two types in tiles of several sizes, each for another n, which is compiled in.
constexpr std::array<hopper_matmul::MatmulConfig, 3> tiles = {{{.block_m = 64, .block_n = 128, .block_k = 64},
                                                               {.block_m = 128, .block_n = 128, .block_k = 32},
                                                               {.block_m = 64, .block_n = 128, .block_k = 16}}};

template <class Element>
void launch(const Device& device, int kernel, const char* log) {
  const int m = 64, n = 128 + 8 * kernel, k = 64;
  using Script = hopper_matmul::MatmulTma<Element>;
  detail::KernelImpl impl(
      detail::config_program<Script>(tiles[static_cast<std::size_t>(kernel) % tiles.size()], SourceLoc::here()),
      noting_toolchain(log, kernel));
  const auto a = device.zeros<Element>({m, k}), b = device.zeros<Element>({n, k}), c = device.zeros<Element>({m, n});
  std::array<detail::Argument, 6> arguments;
  arguments[0].integer = m;
  arguments[1].integer = n;
  arguments[2].integer = k;
  arguments[3].pointer = PtrArg<Element>(a).value();
  arguments[4].pointer = PtrArg<Element>(b).value();
  arguments[5].pointer = PtrArg<Element>(c).value();
  impl.launch(arguments, nullptr, {});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 2;
  const int kernels = std::atoi(argv[1]), threads = std::atoi(argv[2]);
  const char *log = argv[3], *results = argv[4];
  if (argc > 5) {
    char byte = 0;
    while (::read(std::atoi(argv[5]), &byte, 1) > 0) {
    }
  }
  set_progress(Progress::quiet);
  const Device device = Device::cuda(0);
  void* driver = ::dlopen(::getenv("TESSERA_LIBCUDA"), RTLD_NOW);
  const auto last_launch = reinterpret_cast<const char* (*)()>(::dlsym(driver, "image_last_launch"));
  std::atomic<int> failed{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (int i = 0; i < kernels; ++i) {
        const int kernel = (i + t * 7) % kernels;
        try {
          kernel % 2 == 0 ? launch<float16>(device, kernel, log) : launch<bfloat16>(device, kernel, log);
          append(results, std::to_string(kernel) + " " + last_launch() + "\n");
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  return failed == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
