// What the suite demands of the checker, for one variant and one schedule.
#pragma once

#include <string>
#include <vector>

#include "twin.hpp"

namespace tessera::twins {

// Lines of a twin's source that a report must name: `// <- first: NAME` and `// <- second: NAME` at the end of the
// line, with several names after commas, where `read_*` stands for every name that begins with `read_`. Any of the
// lines with the same word will do.
struct Marks {
  std::set<std::uint32_t> first, second;
};
Marks marks_of(const Twin& twin);

// Empty if the finding is the twin's; else what is missing.
std::string mismatch(const Twin& twin, const Marks& marks, const Finding& finding);

// One variant of a twin, traced and lowered once.
class Variant {
 public:
  Variant(const Twin& twin, bool broken);
  // Empty if all is as it must be: the mistake is reported, or nothing is and the results are right. Else a report.
  std::string check(const sim::Schedule& schedule) const;
  // Of what the text shows: whether it has the twin's mistake; a report of whatever a fixed one is blamed for.
  bool shown_by_text() const;
  std::string blamed_by_text() const;

 private:
  std::string check_found(const sim::Options& options, const std::vector<Finding>& findings) const;
  const Twin& twin_;
  bool broken_;
  Marks marks_;
  Prepared prepared_;
  bool refused_ = false;  // while tracing
  std::string refusal_;   // why the refusal is not the twin's; empty if it is
};

// eager, lazy, random:1, ...
std::vector<sim::Schedule> schedules(int count);

}  // namespace tessera::twins
