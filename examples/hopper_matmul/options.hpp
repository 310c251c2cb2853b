// The command line of the matmul example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hopper_matmul {

struct Options {
  std::vector<std::string> versions = {"v0"};
  std::vector<std::int64_t> size = {512, 512, 512};  // m, n, k
  std::string dtype = "f16";
  std::string device = "auto";
  std::string schedule = "eager";
  std::string config;  // of the only version; empty: tuned
  int launches = 1;
  bool check = false;
  bool bench = false;
  std::string json;
};

// Nothing if the program is to run on; else the exit code (0 after --help, 2 after a mistake), with the message
// printed.
std::optional<int> parse(int argc, char** argv, Options& options);

}  // namespace hopper_matmul
