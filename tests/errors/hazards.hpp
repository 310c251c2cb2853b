// What the program text of one body shows: hazards as findings, and those that are refused.
#pragma once

#include "errors/mistake.hpp"
#include "passes/static_check.hpp"

namespace tessera::test {

using passes::StaticOptions;

inline std::vector<Finding> findings_of(const KernelPtr& kernel, const StaticOptions& options = {}) {
  return passes::static_findings(*kernel, options);
}
inline std::vector<Finding> findings_of(const Program::Body& body, const StaticOptions& options = {}) {
  return findings_of(trace_body(body), options);
}
inline std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += format_diagnostic(f.diagnostic, name_of(f.hazard)) + "\n";
  return text;
}

enum class Verdict { refused, finding };

// One finding of this kind, at the line marked `// <- error`, about this object, with this sentence and a help that
// contains `help`; refused before a launch or left to the report.
inline void expect_hazard(const KernelPtr& kernel, Verdict verdict, Hazard hazard, const std::string& object,
                          const std::string& sentence, const std::string& help, const StaticOptions& options = {}) {
  const std::vector<Finding> found = findings_of(kernel, options);
  ASSERT_EQ(found.size(), 1U) << text_of(found);
  const Finding& f = found.front();
  EXPECT_EQ(f.hazard, hazard) << name_of(f.hazard);
  EXPECT_EQ(f.object, object);
  EXPECT_EQ(f.kernel, kernel->name);
  EXPECT_EQ(f.schedule, "");
  EXPECT_THAT(f.diagnostic.message, testing::HasSubstr(sentence));
  EXPECT_THAT(f.diagnostic.help, testing::HasSubstr(help));
  EXPECT_THAT(source_line(f.diagnostic.loc), testing::HasSubstr("// <- error")) << text_of(found);
  if (verdict == Verdict::refused) {
    expect_error([&] { passes::refuse_certain_hazards(*kernel); }, sentence);
  } else {
    EXPECT_NO_THROW(passes::refuse_certain_hazards(*kernel));
  }
}
inline void expect_hazard(const Program::Body& body, Verdict verdict, Hazard hazard, const std::string& object,
                          const std::string& sentence, const std::string& help, const StaticOptions& options = {}) {
  expect_hazard(trace_body(body), verdict, hazard, object, sentence, help, options);
}

inline void expect_silence(const KernelPtr& kernel, const StaticOptions& options = {}) {
  EXPECT_EQ(text_of(findings_of(kernel, options)), "");
  EXPECT_NO_THROW(passes::refuse_certain_hazards(*kernel));
}
inline void expect_silence(const Program::Body& body, const StaticOptions& options = {}) {
  expect_silence(trace_body(body), options);
}

}  // namespace tessera::test
