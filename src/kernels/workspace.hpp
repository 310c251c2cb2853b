// Device memory in which one kernel leaves something for the next one.
#pragma once

#include <mutex>
#include <optional>

#include "tessera/runtime/buffer.hpp"

namespace tessera::kernels {

// What the memory is for. A call that needs both takes `operands` first.
enum class WorkspaceUse : std::uint8_t { operands, partials };

// The memory of one stream of a device, which grows as it is needed and is kept. Whoever holds the object has it to
// himself until everything that uses the memory is launched.
class Workspace {
 public:
  // At least `bytes`, aligned to 256. A simulated device runs a kernel to its end inside the launch and devices come
  // and go, so that each object there has memory of its own.
  Workspace(const Device& device, void* stream, WorkspaceUse use, std::int64_t bytes);
  const detail::PtrValue& memory() const { return memory_; }

 private:
  bool take_for_graph(const Device& device, void* stream, std::int64_t bytes);

  std::unique_lock<std::mutex> lock_;
  std::optional<Buffer<std::uint8_t>> own_;
  detail::PtrValue memory_;
};

}  // namespace tessera::kernels
