// The CUDA text of the golden kernels. UPDATE_GOLDEN=1 rewrites the expected files.
#include "cuda/printer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "golden/kernels.hpp"

namespace tessera::golden {
namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Printed : public testing::TestWithParam<Case> {};

void expect_golden(const std::string& text, const std::string& file) {
  const std::string path = std::string(TESSERA_GOLDEN_DIR) + "/" + file;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text, read(path)) << "if the change is wanted, run with UPDATE_GOLDEN=1";
}

TEST_P(Printed, ReadableText) { expect_golden(cuda::print(GetParam().make()), GetParam().name + ".cu"); }

TEST_P(Printed, IsDeterministic) {
  const auto kernel = GetParam().make();
  const std::string first = cuda::print(kernel);
  EXPECT_EQ(first, cuda::print(kernel));
  EXPECT_EQ(first, cuda::print(GetParam().make()));
}

TEST_P(Printed, IncludesNoHeader) {
  EXPECT_THAT(cuda::print(GetParam().make()), testing::Not(testing::HasSubstr("#include")));
}

void rename_everything(ir::Block& body, ir::Context& context) {
  for (ir::Stmt* s : body) {
    s->loc = {"elsewhere.cpp", "g", 999};
    if (auto* let = ir::as<ir::control::Let>(s)) const_cast<ir::Value*>(let->value)->name = "renamed";
    if (auto* var = ir::as<ir::control::DeclareVar>(s)) const_cast<ir::Var*>(var->var)->name = "renamed";
    if (auto* regs = ir::as<ir::thread::DeclareRegs>(s)) const_cast<ir::RegArray*>(regs->array)->name = "renamed";
    if (auto* loop = ir::as<ir::control::For>(s)) {
      const_cast<ir::Value*>(loop->induction)->name = "renamed";
      rename_everything(loop->body, context);
    }
    if (auto* loop = ir::as<ir::control::Loop>(s)) rename_everything(loop->body, context);
    if (auto* branch = ir::as<ir::control::If>(s)) {
      rename_everything(branch->then_body, context);
      rename_everything(branch->else_body, context);
    }
  }
}

TEST_P(Printed, CanonicalTextIgnoresNamesAndLines) {
  const std::string canonical = cuda::print(GetParam().make(), {false});
  auto kernel = GetParam().make();
  kernel.name = "another";
  kernel.loc = {"elsewhere.cpp", "g", 999};
  kernel.tile_program = "another text";
  for (auto& p : kernel.params) p.name = "renamed";
  for (auto& m : kernel.tensor_maps) m.name = "renamed";
  rename_everything(kernel.body, *kernel.context);
  EXPECT_EQ(canonical, cuda::print(kernel, {false}));
  EXPECT_NE(canonical, cuda::print(kernel));
}

INSTANTIATE_TEST_SUITE_P(Golden, Printed, testing::ValuesIn(cases()), [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace tessera::golden
