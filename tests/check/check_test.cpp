// tessera::check as a program calls it, and the command.
#include "tessera/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Scale : Script {
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, 128)};
    attrs.warps = 4;
    Int32 offset = 128 * blockIdx.x;
    store_global(global_view(y_ptr, {n}), load_global(global_view(x_ptr, {n}), {offset}, {128}) * 2.0f, {offset});
  }
};

// Each block writes one element past its own.
struct Overhang : Script {
  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, 128)};
    attrs.warps = 4;
    Int32 offset = 128 * blockIdx.x;
    auto x = load_global(global_view(x_ptr, {n}), {offset}, {256});
    store_global(global_view(y_ptr, {n}), x, {offset});  // two blocks write
  }
};

// A tile goes from one warp to all others without a barrier.
struct HandOver : Script {
  void operator()(Ptr<float> y_ptr) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto tile = shared_tensor<float>({128});
    if (auto _ = single_warp(0)) store_shared(tile, register_tensor<float>({128}, 1.0f));
    store_global(global_view(y_ptr, {128}), load_shared(tile), {0});
  }
};

struct Waived : Script {
  void operator()(Ptr<float> y_ptr) {
    attrs.blocks = {2};
    attrs.warps = 1;
    auto one = register_tensor<float>({32}, 1.0f);
    store_global(global_view(y_ptr, {32}), one, {0});  // all write the same; tessera-check: allow(misuse, race)
  }
};

class CheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder = std::filesystem::path(::testing::TempDir()) / (std::string("tessera_check_") + name);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    ::setenv("TESSERA_CACHE_DIR", (folder / "cache").c_str(), 1);
    ::setenv("TESSERA_QUIET", "1", 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_F(CheckTest, ARightKernelIsCleanAndItsMemoryUntouched) {
  std::vector<float> x(1000, 3.0f), y(1000, -1.0f);
  Kernel<Scale> kernel;
  const CheckReport report = check(kernel, 1000, x, y);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.kernel, "Scale");
  EXPECT_GT(report.blocks, 0U);
  EXPECT_THAT(y, Each(-1.0f));
  EXPECT_EQ(report.schedules.front(), "eager");
}

TEST_F(CheckTest, NoBlocksNoFindings) {
  std::vector<float> x, y;
  Kernel<Scale> kernel;
  EXPECT_TRUE(check(kernel, 0, x, y).clean());
}

TEST_F(CheckTest, TwoBlocksThatWriteOneElementAreNamedUnderAnySchedule) {
  std::vector<float> x(1000, 3.0f), y(1000);
  Kernel<Overhang> kernel;
  const CheckReport report = check_with({.schedules = 0, .orderings = 0}, kernel, 1000, x, y);
  ASSERT_THAT(report.findings, SizeIs(1)) << report.text();
  const Finding& f = report.findings.front();
  EXPECT_EQ(f.hazard, Hazard::race);
  EXPECT_EQ(f.object, "y_ptr");
  EXPECT_THAT(f.diagnostic.message, HasSubstr("element 128 of y_ptr"));
  EXPECT_THAT(source_line(f.diagnostic.loc), HasSubstr("// two blocks write"));
  EXPECT_THAT(f.diagnostic.help, HasSubstr("blocks of a grid are not ordered"));
  EXPECT_GT(f.count, 1U);
  EXPECT_THAT(report.schedules, SizeIs(2));
}

TEST_F(CheckTest, BuffersThatOverlapAreOneMemory) {
  std::vector<float> memory(1128, 3.0f);
  Kernel<Scale> kernel;
  EXPECT_TRUE(check(kernel, 1000, std::span(memory).first(1000), std::span(memory).first(1000)).clean());
  const CheckReport shifted = check(kernel, 1000, std::span(memory).subspan(4, 1000), std::span(memory).first(1000));
  ASSERT_FALSE(shifted.clean());
  EXPECT_EQ(shifted.findings.front().hazard, Hazard::race);
  EXPECT_THAT(memory, Each(3.0f));
}

TEST_F(CheckTest, AMissingBarrierIsFoundWhereItHappenedToGoWell) {
  std::vector<float> y(128);
  Kernel<HandOver> kernel;
  const CheckReport report = check_with({.schedules = 0, .orderings = 0}, kernel, y);
  ASSERT_FALSE(report.clean());
  EXPECT_EQ(report.findings.front().hazard, Hazard::race);
  EXPECT_EQ(report.findings.front().object, "tile");
  EXPECT_EQ(report.findings.front().schedule, "eager");
}

TEST_F(CheckTest, TheScheduleOfAFindingShowsItAgain) {
  std::vector<float> y(128);
  Kernel<HandOver> kernel;
  const CheckReport report = check(kernel, y);
  ASSERT_FALSE(report.clean());
  Device device = Device::sim({.schedule = Schedule::parse(report.findings.front().schedule), .check = true});
  auto buffer = device.empty<float>({128});
  try {
    kernel(buffer);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user);
    EXPECT_THAT(e.what(), HasSubstr("race"));
  }
}

TEST_F(CheckTest, TheEnvironmentChecksEveryLaunch) {
  ::setenv("TESSERA_CHECK", "1", 1);
  Device device = Device::sim();
  auto buffer = device.empty<float>({128});
  Kernel<HandOver> kernel;
  EXPECT_THROW(kernel(buffer), Error);
  ::unsetenv("TESSERA_CHECK");
}

TEST_F(CheckTest, ACommentWaives) {
  std::vector<float> y(32);
  Kernel<Waived> kernel;
  const CheckReport report = check(kernel, y);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.waived, 1U);
  EXPECT_THAT(report.text(), HasSubstr("1 finding waived"));
}

TEST_F(CheckTest, TheSameOptionsGiveTheSameReport) {
  std::vector<float> y(128);
  Kernel<HandOver> kernel;
  const std::string once = check_with({.threads = 1}, kernel, y).json();
  EXPECT_EQ(check_with({.threads = 1}, kernel, y).json(), once);
  EXPECT_EQ(check_with({.threads = 4}, kernel, y).json(), once);
}

TEST_F(CheckTest, OrdersOfASmallKernelAreSearched) {
  std::vector<float> y(128);
  Kernel<HandOver> kernel;
  const CheckReport report = check_with({.schedules = 0, .orderings = 10}, kernel, y);
  ASSERT_GE(report.schedules.size(), 4U);
  EXPECT_EQ(report.schedules[2], "order:");
  EXPECT_THAT(report.schedules[3], HasSubstr("order:"));
  EXPECT_LE(report.schedules.size(), 12U);
}

TEST_F(CheckTest, ATimelineIsDrawnOnRequest) {
  std::vector<float> y(128);
  Kernel<HandOver> kernel;
  EXPECT_TRUE(check(kernel, y).timeline_html.empty());
  const std::string page = check_with({.timeline = true}, kernel, y).timeline_html;
  EXPECT_THAT(page, HasSubstr("warp 3"));
  EXPECT_THAT(page, HasSubstr("</html>"));
}

TEST_F(CheckTest, WrongOptionsAreRefused) {
  std::vector<float> y(128);
  Kernel<HandOver> kernel;
  for (const CheckOptions& options : {CheckOptions{.schedules = -1}, CheckOptions{.orderings = -1},
                                      CheckOptions{.sms = 0}, CheckOptions{.threads = -1}}) {
    try {
      check_with(options, kernel, y);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::user);
      EXPECT_THAT(e.what(), HasSubstr("CheckOptions"));
    }
  }
}

class CommandTest : public CheckTest {
 protected:
  static void SetUpTestSuite() {
    register_check("good/scale", [](const CheckOptions& o) {
      std::vector<float> x(300, 1.0f), y(300);
      Kernel<Scale> kernel;
      return check_with(o, kernel, 300, x, y);
    });
    register_check("bad/hand_over", [](const CheckOptions& o) {
      std::vector<float> y(128);
      Kernel<HandOver> kernel;
      return check_with(o, kernel, y);
    });
    register_check("broken", [](const CheckOptions&) -> CheckReport {
      throw Error(ErrorKind::user, {}, "this check cannot run");
    });
  }
  static int command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tessera-check");
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    return check_main(static_cast<int>(argv.size()), argv.data());
  }
  nlohmann::json read(const char* name) const {
    std::ifstream file(folder / name);
    return nlohmann::json::parse(file);
  }
};

TEST_F(CommandTest, ExitCodesSayWhatHappened) {
  EXPECT_EQ(command({"--list"}), 0);
  EXPECT_EQ(command({"good/*"}), 0);
  EXPECT_EQ(command({"bad/*"}), 1);
  EXPECT_EQ(command({"good/*", "bad/*"}), 1);
  EXPECT_EQ(command({"broken"}), 3);
  EXPECT_EQ(command({"no such kernel"}), 2);
  EXPECT_EQ(command({"--schedules", "minus one"}), 2);
  EXPECT_EQ(command({"good/*", "--json", (folder / "no" / "folder").string()}), 3);
}

TEST_F(CommandTest, FilesHoldAllReports) {
  EXPECT_EQ(command({"good/*", "bad/*", "--json", (folder / "a.json").string(), "--sarif",
                     (folder / "a.sarif").string(), "--timeline", (folder / "a.html").string()}),
            1);
  const auto json = read("a.json");
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["name"], "bad/hand_over");
  EXPECT_EQ(json[0]["report"]["clean"], false);
  EXPECT_EQ(json[1]["report"]["clean"], true);
  EXPECT_EQ(read("a.sarif")["runs"][0]["results"].size(), json[0]["report"]["findings"].size());
  EXPECT_GT(std::filesystem::file_size(folder / "a.html"), 1000U);
}

TEST_F(CommandTest, NamesAreUnique) {
  const auto nothing = [](const CheckOptions&) { return CheckReport{}; };
  EXPECT_THROW(register_check("broken", nothing), Error);
  EXPECT_THROW(register_check("", nothing), Error);
}

}  // namespace
}  // namespace tessera
