// A report with every field set, whose places are lines of a file that the test writes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tessera/check.hpp"

namespace tessera::test {

// The folder of one test, in which the process works while the test runs: paths in reports stay relative.
class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / ("tessera_" + std::string(info->test_suite_name()) + "_" +
                                                        info->name() + "_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "src dir");
    std::filesystem::current_path(folder_);
    write(file_, {"void operator()() {", "  tma.store(sc);", "  sync();", "  store_shared(sc, x[1]);", "}"});
  }
  void TearDown() override {
    std::filesystem::current_path(folder_.parent_path());
    std::filesystem::remove_all(folder_);
  }
  static void write(const char* path, std::initializer_list<const char*> lines) {
    std::ofstream file(path);
    for (const char* line : lines) file << line << '\n';
  }
  static SourceLoc at(std::uint32_t line) { return {file_, "operator()", line}; }

  static Finding overwritten() {
    Finding finding;
    finding.hazard = Hazard::bulk_group;
    finding.diagnostic = {at(4),
                          "the store of line 4 overwrites what the TMA store of line 2 may still read: byte 8 of 'sc'",
                          "wait for the store's bulk group",
                          {{at(2), "the store reads the tile from here on"}, {{}, "of shape {64, 64}"}}};
    finding.object = "sc[1]";
    finding.kernel = "Matmul";
    finding.schedule = "random:7";
    finding.block = {1, 2, 0};
    finding.warp = 3;
    finding.count = 12;
    return finding;
  }
  static Finding bare() {
    Finding finding;
    finding.hazard = Hazard::registers;
    finding.diagnostic.message = "the warpgroups ask for too many";
    return finding;
  }
  static CheckReport example() {
    CheckReport report;
    report.kernel = "Matmul";
    report.config = "block_m=128, stages=4";
    report.findings = {overwritten(), bare()};
    report.schedules = {"eager", "lazy", "random:5", "random:6", "random:7", "random:9"};
    report.blocks = 24;
    report.statements = 1234567;
    return report;
  }

  static constexpr const char* file_ = "src dir/main.cpp";
  std::filesystem::path folder_;
};

}  // namespace tessera::test
