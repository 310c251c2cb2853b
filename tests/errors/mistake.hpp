// Traces one body with one mistake in it, and checks the message, the line and the kind of the error.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"
#include "tessera/lang/lang.hpp"

namespace tessera::test {

// A kernel whose program is a function, with a run-time integer, a compile-time one and three pointers.
struct Program : Script {
  using Body = std::function<void(Program&)>;
  Body body;
  explicit Program(Body b) : body(std::move(b)) {}

  Int32* n = nullptr;
  int size = 0;
  Ptr<float16>* a = nullptr;
  Ptr<float16>* b = nullptr;
  Ptr<float>* c = nullptr;

  void operator()(Int32 n_arg, int size_arg, Ptr<float16> a_arg, Ptr<float16> b_arg, Ptr<float> c_arg) {
    n = &n_arg;
    size = size_arg;
    a = &a_arg;
    b = &b_arg;
    c = &c_arg;
    body(*this);
  }
  template <class... A>
  void print(const detail::Format& format, const A&... values) const {
    printf(format, values...);
  }
};

using KernelPtr = std::shared_ptr<ir::tile::Kernel>;

inline KernelPtr trace_bare(Program::Body body) {
  const std::vector<std::int64_t> constants{0, 1024, 0, 0, 0};
  return detail::trace(Program(std::move(body)), constants);
}
// With a grid and four warps set.
inline KernelPtr trace_body(const Program::Body& body) {
  return trace_bare([&](Program& k) {
    k.attrs.blocks = {cdiv(*k.n, 64)};
    k.attrs.warps = 4;
    body(k);
  });
}
// In a cluster of `size` blocks along x.
inline KernelPtr trace_cluster(int size, const Program::Body& body) {
  return trace_bare([&](Program& k) {
    k.attrs.cluster = {size};
    k.attrs.blocks = {size * cdiv(*k.n, 128)};
    k.attrs.warps = 8;
    body(k);
  });
}
inline std::string text_of(const Program::Body& body) { return ir::tile::to_string(*trace_body(body), false); }

// The text of the user error that `run` throws, whose first diagnostic must point at a line marked `// <- error`, and
// whose every diagnostic must say how to fix it.
inline std::string error_text(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user) << e.what();
    EXPECT_THAT(source_line(e.diagnostics().front().loc), testing::HasSubstr("// <- error")) << e.what();
    for (const Diagnostic& d : e.diagnostics()) EXPECT_FALSE(d.help.empty()) << d.message;
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}
inline std::string mistake(const Program::Body& body) {
  return error_text([&] { trace_body(body); });
}
inline std::string mistake_bare(const Program::Body& body) {
  return error_text([&] { trace_bare(body); });
}

// The same with one sentence to look for. Functions, because code in a macro's argument has the line of the macro.
inline void expect_error(const std::function<void()>& run, const std::string& sentence) {
  EXPECT_THAT(error_text(run), testing::HasSubstr(sentence));
}
inline void expect_mistake(const Program::Body& body, const std::string& sentence) {
  EXPECT_THAT(mistake(body), testing::HasSubstr(sentence));
}
inline void expect_mistake_bare(const Program::Body& body, const std::string& sentence) {
  EXPECT_THAT(mistake_bare(body), testing::HasSubstr(sentence));
}
inline void expect_in_cluster(const Program::Body& body, const std::string& sentence) {
  expect_error([&] { trace_cluster(2, body); }, sentence);
}

}  // namespace tessera::test
