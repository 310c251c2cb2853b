// Runs every mutation of a kernel on the simulated Hopper and tells how it was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/mutate.hpp"
#include "sim/simulator.hpp"
#include "subjects.hpp"

namespace tessera::testing {

enum class Verdict : std::uint8_t {
  found,          // by a finding
  wrong_numbers,  // no finding, but the result is not the original's
  failed,         // the simulator gave up with an error that is not a finding
  survived
};
const char* name_of(Verdict verdict);

struct Outcome {
  checker::Mutation mutation;
  Verdict verdict = Verdict::survived;
  std::string hazard;    // of the first finding
  std::string message;   // of the first finding or of the error
  std::string schedule;  // that showed it
};

struct Study {
  std::string kernel, form;
  std::string flaw;  // of the original: what was found in it, or how its numbers depend on the schedule; must be empty
  std::vector<Outcome> outcomes;
  std::uint64_t runs = 0;
  double seconds = 0;
};

struct StudyOptions {
  std::vector<sim::Schedule> schedules = {{sim::Schedule::Kind::eager, 0},
                                          {sim::Schedule::Kind::lazy, 0},
                                          {sim::Schedule::Kind::random, 1},
                                          {sim::Schedule::Kind::random, 2},
                                          {sim::Schedule::Kind::random, 3}};
  int threads = 0;  // mutations at a time; 0: all cores
};

// A mutation is done with at its first finding; wrong numbers count only if no schedule has a finding.
Study study(const Subject& subject, const StudyOptions& options = {});

// The line of source, without the blanks around it; empty if it cannot be read.
std::string source_of(const SourceLoc& loc);

}  // namespace tessera::testing
