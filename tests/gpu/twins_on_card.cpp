// One twin of tests/check/twins on the card: how many of many launches have wrong results. A program and not a test:
// what a broken kernel does on a card is nothing to rely on.
//   twins_on_card --list                    the twins that cannot hang or write where they must not
//   twins_on_card NAME [LAUNCHES] [fixed]   one line of JSON
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "harness.hpp"
#include "twin.hpp"

namespace tessera::gpu_tests {
namespace {

// A wrong result is all that these can lead to.
bool safe(const twins::Twin& twin) {
  static const std::set<Hazard> harmless = {Hazard::race, Hazard::proxy_fence, Hazard::bulk_group, Hazard::wgmma,
                                            Hazard::uninitialised};
  const auto& expected = twin.about.expected;
  return !twin.about.while_tracing &&
         std::all_of(expected.begin(), expected.end(), [](Hazard h) { return harmless.count(h) != 0; });
}

void list() {
  for (const twins::Twin& twin : twins::all_twins()) {
    if (!safe(twin)) continue;
    fmt::print("{} {} {}\n", twin.about.name, twin.about.source, name_of(*twin.about.expected.begin()));
  }
}

// Compiles the twin's kernel once, whatever the number of launches.
class OnCard {
 public:
  void operator()(const ir::thread::Kernel& kernel, const std::vector<sim::Argument>& arguments) {
    std::unique_ptr<CardProgram>& program = programs_[&kernel];
    if (!program) program = std::make_unique<CardProgram>(kernel);
    std::vector<Argument> buffers(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      buffers[i].scalar = arguments[i].integer;
      if (arguments[i].data != nullptr)
        buffers[i].bytes.assign(arguments[i].data, arguments[i].data + arguments[i].bytes);
    }
    program->run(buffers);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].data != nullptr) std::memcpy(arguments[i].data, buffers[i].bytes.data(), arguments[i].bytes);
    }
  }

 private:
  std::map<const ir::thread::Kernel*, std::unique_ptr<CardProgram>> programs_;
};

int run(const std::string& name, int launches, bool broken) {
  for (const twins::Twin& twin : twins::all_twins()) {
    if (twin.about.name != name) continue;
    OnCard card;
    const twins::Prepared prepared = twin.make(broken);
    int wrong = 0;
    for (int i = 0; i < launches; ++i) {
      wrong += prepared.run([&](const auto& kernel, const auto& arguments) { card(kernel, arguments); }) ? 0 : 1;
    }
    fmt::print("{{\"twin\": \"{}\", \"variant\": \"{}\", \"launches\": {}, \"wrong\": {}}}\n", name,
               broken ? "broken" : "fixed", launches, wrong);
    return 0;
  }
  fmt::print(stderr, "there is no twin of the name {}\n", name);
  return 2;
}

}  // namespace
}  // namespace tessera::gpu_tests

int main(int argc, char** argv) try {
  const std::string first = argc > 1 ? argv[1] : "--list";
  if (first == "--list") {
    tessera::gpu_tests::list();
    return 0;
  }
  const bool fixed = argc > 3 && std::strcmp(argv[3], "fixed") == 0;
  return tessera::gpu_tests::run(first, argc > 2 ? std::atoi(argv[2]) : 1000, !fixed);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
