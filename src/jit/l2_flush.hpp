// Takes what a measurement must not find out of the L2 cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::jit {

// Memory of twice the size of a device's L2 cache and a kernel that reads through it: after a run the cache holds clean
// lines of this memory and nothing else. Overwriting would leave dirty lines, which the kernel measured next had to
// write back on its own time. Where the driver takes no PTX (its compiler is a library of its own, which containers may
// lack) the memory is overwritten after all. Not to be shared between threads.
class L2Flush {
 public:
  explicit L2Flush(int device);
  ~L2Flush();  // never throws: the device may have failed
  L2Flush(const L2Flush&) = delete;
  L2Flush& operator=(const L2Flush&) = delete;

  // In the stream, before the launch to be measured.
  void run(void* stream) const;
  // Whether it reads; false: it overwrites.
  bool reads() const { return function_ != nullptr; }
  // For the description of a measurement.
  const char* protocol() const {
    return reads() ? "L2 filled with clean lines of other memory" : "L2 filled with other memory by writing it";
  }

 private:
  int device_;
  std::size_t bytes_;
  unsigned blocks_;
  void* memory_ = nullptr;
  void *module_ = nullptr, *function_ = nullptr;
};

}  // namespace tessera::jit
