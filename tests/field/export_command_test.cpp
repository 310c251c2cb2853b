// The command over a program's own kernels.
#include "export_fixture.hpp"
#include "export_kernels.hpp"

namespace tessera::test {
namespace {
using ::testing::HasSubstr;

ExportRequest last;

std::vector<ExportReport> export_add(const ExportRequest& request) {
  last = request;
  auto kernel = requested_kernel<VectorAdd>(request);
  KernelExport out(kernel, request.options);
  for (const auto& size : request.sizes)
    out.call(size.at(0), export_memory<float>(), export_memory<float>(), export_memory<float>());
  return {out.write()};
}
const bool registered = register_export("vector_add", "n", export_add);

class ExportCommand : public ExportTest {
 protected:
  void SetUp() override {
    ExportTest::SetUp();
    before_ = fs::current_path();
    fs::current_path(root_);
  }
  void TearDown() override {
    fs::current_path(before_);
    ExportTest::TearDown();
  }
  // Runs the command in the test's folder; its output is in `text_`.
  int command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tessera-export");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = export_main(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    text_ = ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
    return code;
  }
  std::string text_;
  fs::path before_;
};

TEST_F(ExportCommand, ListsWhatThereIs) {
  ASSERT_TRUE(registered);
  EXPECT_EQ(command({"list"}), 0);
  EXPECT_EQ(text_, "vector_add                   --size n\n");
  EXPECT_EQ(command({"--help"}), 0);
  EXPECT_THAT(text_, HasSubstr("Exit code: 0 written, 2 wrong use"));
}

TEST_F(ExportCommand, ExportsAsAsked) {
  const std::string out = (root_ / "out").string();
  EXPECT_EQ(command({"vector_add", "--size", "1000", "--size", "5000", "--name", "add", "--out", out, "--dispatch",
                     "exact", "--separate-cubins", "--keep-constants"}),
            0)
      << text_;
  EXPECT_THAT(text_, HasSubstr("add of VectorAdd in " + out));
  EXPECT_THAT(text_, HasSubstr("n in (4096, 8192]: block="));
  EXPECT_EQ(last.sizes, (std::vector<std::vector<std::int64_t>>{{1000}, {5000}}));
  EXPECT_EQ(last.options.dispatch, ExportOptions::Dispatch::exact);
  EXPECT_FALSE(last.options.embed);
  EXPECT_TRUE(last.options.keep_constants);
  EXPECT_TRUE(fs::exists(root_ / "out" / "add.c"));
  EXPECT_EQ(command({"vector_add", "--size", "1000", "--config", "block=1024", "--out", out}), 0) << text_;
  EXPECT_THAT(text_, HasSubstr("block=1024, the only candidate"));
}

TEST_F(ExportCommand, WritesToAFolderOfItsOwn) {
  EXPECT_EQ(command({"vector_add", "--size", "1000"}), 0) << text_;
  EXPECT_TRUE(fs::exists(root_ / "vector_add" / "vector_add.c"));
  EXPECT_EQ(command({"vector_add", "--size", "1000", "--name", "other", "--out", "vector_add"}), 0)
      << "beside the first";
  EXPECT_TRUE(fs::exists(root_ / "vector_add" / "other.c"));
  EXPECT_TRUE(fs::exists(root_ / "vector_add" / "vector_add.c"));
}

TEST_F(ExportCommand, LeavesTheProjectOfOthersAlone) {
  std::ofstream(root_ / "CMakeLists.txt") << "project(precious)\n";
  EXPECT_EQ(command({"vector_add", "--size", "1000", "--out", "."}), 2);
  EXPECT_THAT(text_, HasSubstr("is not of an export, and an export would replace it"));
  EXPECT_EQ(text_of(root_ / "CMakeLists.txt"), "project(precious)\n");
  EXPECT_FALSE(fs::exists(root_ / "vector_add.c"));
}

TEST_F(ExportCommand, RefusesWrongUse) {
  EXPECT_EQ(command({}), 2);
  EXPECT_EQ(command({"no_such_kernel"}), 2);
  EXPECT_THAT(text_, HasSubstr("there is no kernel 'no_such_kernel'; 'list' prints"));
  EXPECT_EQ(command({"vector_add", "--size", "many"}), 2);
  EXPECT_EQ(command({"vector_add", "--dispatch", "perhaps"}), 2);
  EXPECT_EQ(command({"vector_add", "--size", "1000", "--config", "blok=7"}), 2);
  EXPECT_THAT(text_, HasSubstr("blok"));
  EXPECT_EQ(command({"vector_add", "--size", "1000", "--tuning", root_.string()}), 2);
  EXPECT_THAT(text_, HasSubstr("holds no tuning record"));
  EXPECT_EQ(command({"vector_add", "--out", root_.string()}), 2) << "without a size";
  EXPECT_THAT(text_, HasSubstr("an export without a call"));
}

TEST_F(ExportCommand, NamesAreTakenOnce) {
  EXPECT_THAT(error_of([] { register_export("vector_add", "n", export_add); }).what(),
              HasSubstr("there is a kernel of the name 'vector_add'"));
  EXPECT_THAT(error_of([] { register_export("", "n", export_add); }).what(), HasSubstr("with the name ''"));
  EXPECT_THAT(error_of([] { register_export("list", "n", export_add); }).what(), HasSubstr("with the name 'list'"));
}

}  // namespace
}  // namespace tessera::test
