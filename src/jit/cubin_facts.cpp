#include "jit/cubin_facts.hpp"

#include <cstdlib>
#include <sstream>

namespace tessera::jit {
namespace {

// The number that stands before `what`, e.g. 16 in "16 bytes stack frame, ..."; -1 if it does not occur.
int number_before(const std::string& line, const std::string& what) {
  const std::size_t end = line.find(what);
  if (end == std::string::npos) return -1;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return begin == end ? -1 : std::atoi(line.substr(begin, end - begin).c_str());
}

bool is_remark(const std::string& line) {
  return line.find("(C7") != std::string::npos || line.find("Performance Loss") != std::string::npos ||
         line.find("ptxas warning") != std::string::npos;
}

}  // namespace

// The log has, for each function, "Compiling entry function 'name'", "Function properties for name", a line with the
// stack frame and the spills, and a line with the registers.
bool parse_facts(const std::string& log, const std::string& kernel_name, CubinFacts* facts) {
  std::istringstream lines(log);
  bool in_kernel = false, has_stack = false, has_registers = false;
  for (std::string line; std::getline(lines, line);) {
    if (is_remark(line)) facts->remarks.push_back(line);
    if (line.find("Compiling entry function '") != std::string::npos) {
      in_kernel = line.find("'" + kernel_name + "'") != std::string::npos;
    }
    if (!in_kernel) continue;
    const int stack = number_before(line, " bytes stack frame");
    if (stack >= 0 && !has_stack) {
      has_stack = true;
      facts->stack_bytes = stack;
      facts->spill_store_bytes = number_before(line, " bytes spill stores");
      facts->spill_load_bytes = number_before(line, " bytes spill loads");
    }
    const int registers = number_before(line, " registers");
    if (registers >= 0 && !has_registers) {
      has_registers = true;
      facts->registers = registers;
      const int shared = number_before(line, " bytes smem");
      facts->static_shared_bytes = shared < 0 ? 0 : shared;
    }
  }
  return has_stack && has_registers && facts->spill_store_bytes >= 0 && facts->spill_load_bytes >= 0;
}

}  // namespace tessera::jit
