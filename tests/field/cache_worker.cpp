// A process of the tests with many: prepares and runs kernels out of the cache of TESSERA_CACHE_DIR.
//   cache_worker KERNELS THREADS COMPILE_MS LOG [GATE]
// Every thread runs all kernels with objects of its own, each thread beginning at another one. LOG gets a line for each
// compilation as it begins. GATE is a descriptor that is closed when all are to start. Exit status 0: every result is
// right.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cache_fixture.hpp"

int main(int argc, char** argv) {
  using namespace tessera;
  if (argc < 5) return 2;
  const int kernels = std::atoi(argv[1]), threads = std::atoi(argv[2]);
  const std::chrono::milliseconds compile_time(std::atoi(argv[3]));
  if (argc > 5) {
    char byte = 0;
    while (::read(std::atoi(argv[5]), &byte, 1) > 0) {
    }
  }
  test::HastyFileSystem hasty;  // what a killed process has written is there without waiting for the disk
  const runtime::ScopedFileSystem scope(hasty);
  std::atomic<int> wrong{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (int i = 0; i < kernels; ++i) {
        const int k = (i + t * 7) % kernels;
        const auto factor = static_cast<float>(k + 2);
        const test::FieldKernel kernel({"k" + std::to_string(k)}, factor, compile_time);
        kernel.world->compile_log = argv[4];
        try {
          wrong += kernel.result() == factor ? 0 : 1;
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  return wrong == 0 ? 0 : 1;
}
