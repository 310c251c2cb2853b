// Source files under relative names are found from anywhere in their tree.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/source_file.hpp"
#include "tessera/core/error.hpp"

namespace tessera::support {
namespace {

namespace fs = std::filesystem;

// A tree of its own with the current folder deep inside it.
class SourceFile : public ::testing::Test {
 protected:
  SourceFile() {
    fs::create_directories(tree_ / "build" / "deep");
    fs::create_directories(tree_ / "src");
    std::ofstream(tree_ / "src" / "kernel.hpp") << "first\nsecond\n";
    fs::current_path(tree_ / "build" / "deep");
  }
  ~SourceFile() override {
    fs::current_path(before_);
    fs::remove_all(tree_);
  }
  static std::string first_line(const fs::path& path) {
    std::string line;
    std::ifstream file = open_source(path.c_str());
    std::getline(file, line);
    return line;
  }
  const fs::path before_ = fs::current_path();
  const fs::path tree_ = fs::temp_directory_path() / ("tessera_source_file_" + std::to_string(getpid()));
};

TEST_F(SourceFile, IsFoundFromBelow) {
  EXPECT_EQ(first_line("src/kernel.hpp"), "first");
  EXPECT_EQ(source_line({"src/kernel.hpp", "", 2}), "second");
}

TEST_F(SourceFile, TheNearestOneCounts) {
  fs::create_directories(tree_ / "build" / "src");
  std::ofstream(tree_ / "build" / "src" / "kernel.hpp") << "nearer\n";
  EXPECT_EQ(first_line("src/kernel.hpp"), "nearer");
  fs::current_path(tree_);
  EXPECT_EQ(first_line("src/kernel.hpp"), "first");
}

TEST_F(SourceFile, IsFoundFromTheProgramsFolder) {
  const fs::path name = "tessera_source_file_" + std::to_string(getpid()) + ".hpp";
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path() / name;
  EXPECT_FALSE(open_source(name.c_str()).is_open());
  std::ofstream(beside) << "beside the program\n";
  EXPECT_EQ(first_line(name), "beside the program");
  fs::remove(beside);
}

TEST_F(SourceFile, AFolderOrNothingIsNotOpened) {
  EXPECT_FALSE(open_source("src").is_open());
  EXPECT_FALSE(open_source("src/other.hpp").is_open());
  EXPECT_FALSE(open_source("").is_open());
  EXPECT_EQ(source_line({"src/kernel.hpp", "", 3}), "");
}

TEST_F(SourceFile, AnAbsoluteNameIsNotLookedForElsewhere) {
  EXPECT_EQ(first_line(tree_ / "src" / "kernel.hpp"), "first");
  EXPECT_FALSE(open_source("/src/kernel.hpp").is_open());
}

}  // namespace
}  // namespace tessera::support
