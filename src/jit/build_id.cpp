#include "jit/build_id.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace tessera::jit {
namespace {

constexpr std::uint64_t longest_notes = 1 << 20;
constexpr std::uint64_t samples = 256, sample_bytes = 4096;

bool read_at(std::ifstream& file, std::uint64_t offset, void* out, std::size_t bytes) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
  return file.gcount() == static_cast<std::streamsize>(bytes);
}

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// A segment of notes: length of the name, length of the content, type; then both, padded to four bytes.
std::string id_in_notes(const std::vector<char>& notes) {
  std::size_t at = 0;
  Elf64_Nhdr note;
  while (at + sizeof note <= notes.size()) {
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note, content = name + padded(note.n_namesz);
    if (content + note.n_descsz > notes.size()) return {};
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      std::string text;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
      }
      return text;
    }
    at = content + padded(note.n_descsz);
  }
  return {};
}

std::string linked_id(std::ifstream& file) {
  Elf64_Ehdr head;
  if (!read_at(file, 0, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (head.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, head.e_phoff + std::uint64_t{i} * head.e_phentsize, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > longest_notes) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!read_at(file, segment.p_offset, notes.data(), notes.size())) return {};
    if (std::string id = id_in_notes(notes); !id.empty()) return id;
  }
  return {};
}

// FNV-1a of pages spread over the whole file: another build shifts code everywhere.
std::string sampled_id(std::ifstream& file) {
  file.clear();
  file.seekg(0, std::ios::end);
  const auto length = static_cast<std::uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  std::uint64_t hash = 0xcbf29ce484222325U;
  std::vector<char> page(sample_bytes);
  const std::uint64_t step = std::max(length / samples, sample_bytes);
  for (std::uint64_t at = 0; at < length; at += step) {
    const std::uint64_t bytes = std::min(sample_bytes, length - at);
    if (!read_at(file, at, page.data(), bytes)) return {};
    for (std::uint64_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(page[i])) * 0x100000001b3U;
  }
  return fmt::format("{}-{:016x}", length, hash);
}

}  // namespace

std::string build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const std::string id = linked_id(file);
  return id.empty() ? sampled_id(file) : id;
}

std::string file_of(const void* address) {
  Dl_info info;
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace tessera::jit
