// One entry's directory: its files and the manifest that vouches for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/cache.hpp"

namespace tessera::runtime {

constexpr const char* manifest_name = "manifest.json";
constexpr const char* cubin_name = "kernel.cubin";

struct EntryCheck {
  enum class State {
    whole,
    missing,
    damaged,     // its content is not what it should be
    unreadable,  // the system does not let us see it
  };
  State state = State::missing;
  std::string why;  // "kernel.cubin: another checksum"
  int error = 0;    // of an unreadable one
};

enum class Cubin { required, unwanted, if_listed };

// Reads and checks the entry. Sizes are compared before anything is read.
EntryCheck read_entry(const std::filesystem::path& directory, const std::string& key, Cubin cubin, CacheEntry* out);

// Makes the directory, writes the files and the manifest and waits until they are on the disk: 0 or the error number.
// `bytes` grows by what was written.
int write_entry(const std::filesystem::path& directory, const std::string& key, const CacheEntry& entry,
                std::uint64_t* bytes);

// Takes an entry (or whatever stands in its place, or a record) out of the way of readers by one rename into drafts/,
// then deletes it; where it cannot be moved, the manifest goes first. 0 or the error number.
int remove_entry(const std::filesystem::path& root, const std::filesystem::path& path);

// A record's text, without the seal. Damaged also where it is another key's.
EntryCheck read_record(const std::filesystem::path& path, const std::string& key, std::string* text);
// What the file of a record is to hold. Throws what the JSON library does for text that is not an object.
std::string sealed_record(const std::string& key, std::string_view text);

}  // namespace tessera::runtime
