// Owns the nodes of one kernel. Nodes hold raw pointers to each other and die together with the arena.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace tessera::support {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (auto it = objects_.rbegin(); it != objects_.rend(); ++it) it->second(it->first);
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    objects_.emplace_back(object.get(), [](void* p) { std::default_delete<T>{}(static_cast<T*>(p)); });
    return object.release();
  }

 private:
  std::vector<std::pair<void*, void (*)(void*)>> objects_;
};

}  // namespace tessera::support
