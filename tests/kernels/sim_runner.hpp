// Traces, lowers and runs a script on the simulated Hopper, with neither tuner nor cache.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "passes/pipeline.hpp"
#include "sim/simulator.hpp"
#include "tessera/lang/params.hpp"
#include "tessera/runtime/buffer.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {

template <class S>
passes::Lowered build(S script, const std::vector<std::int64_t>& constants, const passes::Options& options = {}) {
  auto kernel = detail::trace(std::move(script), constants);
  return passes::lower(*kernel, options);
}

template <class T>
sim::Argument argument(std::vector<T>& data) {
  sim::Argument a;
  a.data = reinterpret_cast<std::byte*>(data.data());
  a.bytes = data.size() * sizeof(T);
  return a;
}
inline sim::Argument argument(std::int64_t value) {
  sim::Argument a;
  a.integer = value;
  return a;
}

inline const std::vector<sim::Schedule>& all_schedules() {
  using Kind = sim::Schedule::Kind;
  static const std::vector<sim::Schedule> schedules = {
      {Kind::eager, 0}, {Kind::lazy, 0}, {Kind::random, 1}, {Kind::random, 2}, {Kind::random, 3}};
  return schedules;
}

inline sim::Options with(const sim::Schedule& schedule) {
  sim::Options options;
  options.schedule = schedule;
  options.threads = 1;
  return options;
}

// What the checker finds in one run, as text; empty if the kernel is right under every schedule.
inline std::string findings_in(const ir::thread::Kernel& kernel, const std::vector<sim::Argument>& arguments,
                               sim::Options options) {
  std::vector<Finding> findings;
  options.findings = &findings;
  sim::run(kernel, arguments, options);
  std::string text;
  for (const Finding& f : findings) text += format_diagnostic(f.diagnostic, name_of(f.hazard)) + "\n";
  return text;
}

template <class T>
std::vector<T> normal(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<T> values(n);
  for (T& v : values) v = T(distribution(random));
  return values;
}

// The kind and text of the error that `f` throws; fails the test if it throws none.
template <class F>
std::string error_of(F f, ErrorKind kind = ErrorKind::user) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace tessera::testing
