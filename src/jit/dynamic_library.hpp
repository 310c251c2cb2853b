// Opens a shared library at run time, remembers where it was looked for and binds its entry points.
#pragma once

#include <string>
#include <vector>

namespace tessera::jit {

class DynamicLibrary {
 public:
  // What to open: the value of the environment variable alone where it is set, else each name as the loader finds it
  // and then, for `in_cuda_folders`, in the usual folders of the CUDA toolkit.
  struct Request {
    const char* variable;
    std::vector<std::string> names;
    bool in_cuda_folders = false;
  };

  explicit DynamicLibrary(const Request& request);

  bool loaded() const { return handle_ != nullptr; }
  // e.g. "libnvrtc.so.13, libnvrtc.so.12 by the loader and in /usr/local/cuda/lib64"; for messages.
  const std::string& looked_for() const { return looked_for_; }
  // Why the last candidate did not open, in the loader's words.
  const std::string& reason() const { return reason_; }
  void* symbol(const char* name) const;  // null if there is none

  // Sets `function` to the entry point `name`, or to null; missing() is the first that the library lacks, or empty.
  template <class F>
  void bind(F*& function, const char* name) {
    function = reinterpret_cast<F*>(symbol(name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }
  // Why `what` cannot be called: the library was not found, or lacks an entry point. Empty if it can.
  std::string why_not(const char* what) const;

 private:
  bool open(const std::string& path);

  void* handle_ = nullptr;  // never closed: the libraries keep threads and state of their own
  std::string looked_for_;
  std::string reason_;
  std::string missing_;
};

// Folders where CUDA's libraries usually lie, those of CUDA_HOME, CUDA_PATH and of the nvcc in PATH first.
std::vector<std::string> cuda_library_folders();

}  // namespace tessera::jit
