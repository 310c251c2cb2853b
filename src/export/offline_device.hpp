// A Hopper that is compiled for but not there: the compiler's cubins are kept instead of loaded.
#pragma once

#include <map>
#include <mutex>

#include "runtime/device_state.hpp"

namespace tessera::exporter {

// An H200 as far as compiling and estimating go. Addresses that it hands out are never followed; launching throws.
class OfflineDevice final : public detail::DeviceState {
 public:
  std::string name() const override { return "sm_90a without a GPU"; }
  bool simulated() const override { return true; }  // has no clock, and so no tuning records
  std::string driver() const override { return {}; }
  int multiprocessors() const override;
  bool needs_cubin() const override { return true; }
  bool host_memory() const override { return false; }

  void* allocate(std::size_t bytes) override;
  void release(void*) noexcept override {}
  void copy_in(void*, const void*, std::size_t) override { no_memory(); }
  void copy_out(void*, const void*, std::size_t) override { no_memory(); }
  void copy(void*, const void*, std::size_t) override { no_memory(); }
  void fill(void*, unsigned char, std::size_t) override { no_memory(); }
  void synchronize() override {}
  bool usable(const void*, std::string*) const override { return true; }

  void encode(const ir::thread::TensorMap&, const runtime::ResolvedMap&, jit::EncodedTensorMap*) const override {}
  std::unique_ptr<runtime::Executable> load(std::shared_ptr<const ir::thread::Kernel> kernel,
                                            const std::vector<char>& cubin) override;
  std::unique_ptr<runtime::Timer> make_timer() override { return nullptr; }

  // What was loaded for this kernel; an internal Error if nothing was.
  const std::vector<char>& cubin_of(const ir::thread::Kernel* kernel) const;

 private:
  [[noreturn]] static void no_memory();
  struct Loaded {
    std::shared_ptr<const ir::thread::Kernel> kernel;  // keeps its address its own
    std::vector<char> cubin;
  };
  mutable std::mutex mutex_;
  std::map<const ir::thread::Kernel*, Loaded> loaded_;
  std::uintptr_t next_ = std::uintptr_t{1} << 32;
};

}  // namespace tessera::exporter
