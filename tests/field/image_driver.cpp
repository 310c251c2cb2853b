// The driver stand-in of tests/golden for real cubins: a module is its image, which has to be an ELF file of CUDA's; a
// function has to be among its symbols; and the last launch of a thread can be asked for: which bytes of which image it
// was.
#define cuLaunchKernel plain_cuLaunchKernel
#define cuLaunchKernelEx plain_cuLaunchKernelEx
#define cuModuleLoadData plain_cuModuleLoadData
#define cuModuleUnload plain_cuModuleUnload
#define cuModuleGetFunction plain_cuModuleGetFunction
#include "golden/fake_driver.cpp"
#undef cuLaunchKernel
#undef cuLaunchKernelEx
#undef cuModuleLoadData
#undef cuModuleUnload
#undef cuModuleGetFunction

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

namespace {

constexpr unsigned machine_of_cuda = 190;
constexpr int invalid_image = 200, not_found = 500;

struct Image {
  std::vector<char> bytes;
  std::string text;  // length and hash
  std::vector<std::string> functions;
};
struct Function {
  const Image* image;
  std::string name;
};
thread_local std::string last_launch;

template <class T>
T at(const char* bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

// As the driver has to: nobody says how long an image is.
std::uint64_t length_of(const char* image, const Elf64_Ehdr& head) {
  std::uint64_t end = std::max(head.e_shoff + std::uint64_t{head.e_shnum} * sizeof(Elf64_Shdr),
                               head.e_phoff + std::uint64_t{head.e_phnum} * sizeof(Elf64_Phdr));
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(image, head.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

std::vector<std::string> functions_of(const char* image, const Elf64_Ehdr& head) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    const auto table = at<Elf64_Shdr>(image, head.e_shoff + i * sizeof(Elf64_Shdr));
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto strings = at<Elf64_Shdr>(image, head.e_shoff + table.sh_link * sizeof(Elf64_Shdr));
    for (std::uint64_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(image, table.sh_offset + offset);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) names.emplace_back(image + strings.sh_offset + symbol.st_name);
    }
  }
  return names;
}

std::string summary(const std::vector<char>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%zu:%016llx", bytes.size(), static_cast<unsigned long long>(hash));
  return text.data();
}

int launched(const void* f) {
  MAY_FAIL("launch");
  const auto* function = static_cast<const Function*>(f);
  last_launch = function->image->text + " " + function->name;
  return 0;
}

}  // namespace

// "LENGTH:HASH FUNCTION" of the calling thread's last launch.
FAKE const char* image_last_launch() { return last_launch.c_str(); }

FAKE int cuModuleLoadData(void** module, const void* data) {
  MAY_FAIL("load");
  const auto* image = static_cast<const char*>(data);
  const auto head = at<Elf64_Ehdr>(image, 0);
  const bool right = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
                     head.e_machine == machine_of_cuda;
  if (!right) return invalid_image;
  auto loaded = std::make_unique<Image>();
  loaded->bytes.assign(image, image + length_of(image, head));
  loaded->text = summary(loaded->bytes);
  loaded->functions = functions_of(image, head);
  return *module = loaded.release(), 0;
}
FAKE int cuModuleUnload(void* module) { return delete static_cast<Image*>(module), 0; }
FAKE int cuModuleGetFunction(void** function, void* module, const char* name) {
  MAY_FAIL("function");
  static std::mutex mutex;
  static std::vector<std::unique_ptr<Function>> all;
  const auto* image = static_cast<const Image*>(module);
  if (std::find(image->functions.begin(), image->functions.end(), name) == image->functions.end()) return not_found;
  const std::lock_guard lock(mutex);
  all.push_back(std::make_unique<Function>(Function{image, name}));
  return *function = all.back().get(), 0;
}
FAKE int cuLaunchKernel(void* f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**) {
  return launched(f);
}
FAKE int cuLaunchKernelEx(const void*, void* f, void**, void**) { return launched(f); }
