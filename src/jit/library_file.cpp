#include "jit/library_file.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "jit/build_id.hpp"

namespace tessera::jit {
namespace {

constexpr const char* cache_path = "/etc/ld.so.cache";
constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr std::int32_t libc6_x86_64 = 0x0303;

// The cache of the loader, as glibc writes it since 2.2: this head, the entries, the strings that they point to.
struct CacheHead {
  char magic[20];
  std::uint32_t entries, string_bytes;
  std::uint32_t unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name, path;  // offsets in the file
  std::uint32_t unused;
  std::uint64_t hardware;  // 0: for all processors
};
static_assert(sizeof(CacheHead) == 48 && sizeof(CacheEntry) == 24);

// What the loader would not skip as made for another machine.
bool is_library(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head;
  file.read(reinterpret_cast<char*>(&head), sizeof head);
  return file && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
         head.e_machine == EM_X86_64 && head.e_type == ET_DYN;
}

std::string loaded_file(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return {};
  link_map* map = nullptr;
  std::string path;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) path = map->l_name;
  ::dlclose(handle);
  return path;
}

struct Folders {
  std::vector<std::string> asked_for;  // by LD_LIBRARY_PATH and run paths
  std::vector<std::string> usual;
};

Folders folders_of_loader() {
  Folders folders;
  // The object that this code is in decides which run path counts: a shared library, or the program.
  const std::string self = file_of(reinterpret_cast<const void*>(&folders_of_loader));
  void* handle = ::dlopen(self.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) handle = ::dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size;
  if (handle == nullptr) return folders;
  if (::dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const std::unique_ptr<std::uint64_t[]> memory(new std::uint64_t[size.dls_size / sizeof(std::uint64_t) + 1]);
    auto* info = reinterpret_cast<Dl_serinfo*>(memory.get());
    std::memcpy(info, &size, sizeof size);
    if (::dlinfo(handle, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i) {
        const Dl_serpath& path = info->dls_serpath[i];
        (path.dls_flags == LA_SER_DEFAULT ? folders.usual : folders.asked_for).emplace_back(path.dls_name);
      }
    }
  }
  ::dlclose(handle);
  return folders;
}

std::string first_in(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders) {
    if (std::string path = fmt::format("{}/{}", folder, name); is_library(path)) return path;
  }
  return {};
}

// False: not a cache of the known form.
bool look_into_cache(const std::string& name, std::string* path) {
  std::ifstream file(cache_path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  CacheHead head;
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::string_view(head.magic, sizeof head.magic) != cache_magic) return false;
  if (head.entries > (bytes.size() - sizeof head) / sizeof(CacheEntry)) return false;
  for (std::uint32_t i = 0; i < head.entries; ++i) {
    CacheEntry entry;
    std::memcpy(&entry, bytes.data() + sizeof head + i * sizeof entry, sizeof entry);
    if (entry.name >= bytes.size() || entry.path >= bytes.size()) return false;
    if (entry.flags != libc6_x86_64 || entry.hardware != 0 || bytes.c_str() + entry.name != name) continue;
    if (is_library(bytes.c_str() + entry.path)) {
      *path = bytes.c_str() + entry.path;
      return true;
    }
  }
  return true;
}

}  // namespace

std::string library_file(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_library(name) ? name : std::string();
  if (std::string path = loaded_file(name); !path.empty()) return path;
  const Folders folders = folders_of_loader();
  if (std::string path = first_in(folders.asked_for, name); !path.empty()) return path;
  std::string path;
  if (!look_into_cache(name, &path)) return {};
  return path.empty() ? first_in(folders.usual, name) : path;
}

std::string find_library(const DynamicLibrary::Request& request) {
  const char* chosen = std::getenv(request.variable);
  if (chosen != nullptr && *chosen != '\0') return library_file(chosen);
  for (const std::string& name : request.names) {
    if (std::string path = library_file(name); !path.empty()) return path;
  }
  if (!request.in_cuda_folders) return {};
  for (const std::string& folder : cuda_library_folders()) {
    for (const std::string& name : request.names) {
      if (std::string path = library_file(fmt::format("{}/{}", folder, name)); !path.empty()) return path;
    }
  }
  return {};
}

}  // namespace tessera::jit
