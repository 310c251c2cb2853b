#include <cmath>
#include <numeric>

#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "runtime_fixture.hpp"

namespace tessera {
namespace {
using test::error_of;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Schedule, ParsesItsOwnText) {
  for (const Schedule& schedule :
       {Schedule::eager(), Schedule::lazy(), Schedule::random(0), Schedule::random(1234567)}) {
    EXPECT_EQ(Schedule::parse(schedule.to_string()), schedule);
  }
  for (const char* text : {"", "Eager", "random", "random:", "random:x", "random:-1", "random:1 "}) {
    EXPECT_EQ(error_of([&] { (void)Schedule::parse(text); }).kind(), ErrorKind::user) << text;
  }
}

TEST(Device, SimulatedDeviceSaysWhatItIs) {
  const Device device = Device::sim({.schedule = Schedule::random(7), .threads = 1});
  EXPECT_TRUE(device.is_simulated());
  EXPECT_EQ(device.ordinal(), -1);
  EXPECT_EQ(device.name(), "simulated Hopper (random:7)");
  const Device same = device;
  EXPECT_TRUE(same == device);
  EXPECT_FALSE(device == Device::sim());
}

TEST(Device, CudaSaysWhatIsMissing) {
  if (jit::driver_available() && jit::device_count() > 0) GTEST_SKIP() << "this machine has a GPU";
  const Error error = error_of([] { (void)Device::cuda(0); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 2));
  EXPECT_THAT(error.what(), AnyOf(HasSubstr("no CUDA driver"), HasSubstr("the driver shows 0 GPUs")));
  EXPECT_THAT(error.diagnostics()[0].help, HasSubstr("Device::sim()"));
  EXPECT_TRUE(Device::best().is_simulated());
}

TEST(Buffer, HoldsWhatWasPutIn) {
  const Device device = Device::sim();
  const std::vector<std::int32_t> values = {1, 2, 3, 4, 5, 6};
  auto buffer = device.from_host(values, {2, 3});
  EXPECT_EQ(buffer.to_host(), values);
  EXPECT_THAT(buffer.shape(), ElementsAre(2, 3));
  EXPECT_EQ(buffer.bytes(), 24U);
  EXPECT_TRUE(buffer.device() == device);
  const std::vector<std::int32_t> others = {6, 5, 4, 3, 2, 1};
  buffer.copy_from_host(others);
  EXPECT_EQ(buffer.to_host(), others);
  EXPECT_THAT(device.zeros<float>({3}).to_host(), ElementsAre(0.0F, 0.0F, 0.0F));
  EXPECT_THAT(device.full<float>({2}, 1.5F).to_host(), ElementsAre(1.5F, 1.5F));
  EXPECT_TRUE(device.empty<float>({0, 4}).to_host().empty());
}

TEST(Buffer, EmptySimulatedMemoryIsNaN) {
  for (const float16 x : Device::sim().empty<float16>({5, 5}).to_host()) EXPECT_TRUE(std::isnan(static_cast<float>(x)));
  for (const float x : Device::sim().empty<float>({25}).to_host()) EXPECT_TRUE(std::isnan(x));
}

TEST(Buffer, RefusesWrongShapes) {
  const Device device = Device::sim();
  const Error negative = error_of([&] { (void)device.empty<float>({4, -1}); });
  EXPECT_EQ(negative.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 1));
  EXPECT_THAT(negative.what(), HasSubstr("extent -1 is negative"));
  EXPECT_THAT(error_of([&] {
                (void)device.empty<float>({1LL << 40, 1LL << 40});
              }).what(),
              HasSubstr("more than 2^62 bytes"));
  const std::vector<float> three(3);
  EXPECT_THAT(error_of([&] { (void)device.from_host(three, {4}); }).what(), HasSubstr("copying 3 elements"));
  auto buffer = device.zeros<float>({4});
  EXPECT_THAT(error_of([&] { (void)buffer.from(5); }).what(), HasSubstr("Buffer::from(5) of a buffer of 4 elements"));
  EXPECT_THAT(error_of([&] { (void)buffer.from(-1); }).what(), HasSubstr("Buffer::from(-1)"));
}

TEST(Buffer, FromIsAPartWithTheRestOfTheBytes) {
  auto buffer = Device::sim().zeros<float>({8});
  const detail::PtrValue whole = PtrArg<float>(buffer).value();
  const detail::PtrValue part = buffer.from(3).value();
  EXPECT_EQ(static_cast<float*>(part.pointer), static_cast<float*>(whole.pointer) + 3);
  EXPECT_EQ(part.bytes, 20U);
  EXPECT_EQ(part.loc.line, static_cast<unsigned>(__LINE__ - 3));
}

TEST(Randn, DependsOnSeedAndPositionAlone) {
  const Device a = Device::sim(), b = Device::sim({.schedule = Schedule::lazy()});
  const auto numbers = a.randn<float>({1000}, 5).to_host();
  const auto narrow = a.randn<float8_e4m3>({1000}, 5).to_host();
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(narrow[i].bits, float8_e4m3(numbers[i]).bits);
  EXPECT_EQ(a.randn<float>({100000}, 5).to_host(), b.randn<float>({100000}, 5).to_host());
  EXPECT_NE(a.randn<float>({64}, 5).to_host(), a.randn<float>({64}, 6).to_host());
  const auto longer = a.randn<float>({70001}, 9).to_host(), shorter = a.randn<float>({501}, 9).to_host();
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  // Without a seed: a new one each time, the same sequence on each device.
  const auto first = b.randn<float>({64}).to_host(), second = b.randn<float>({64}).to_host();
  EXPECT_NE(first, second);
  EXPECT_EQ(first, a.randn<float>({64}).to_host());
  EXPECT_EQ(second, a.randn<float>({64}, 2).to_host());
  const auto half = a.randn<float16>({64}, 5).to_host();
  const auto whole = a.randn<float>({64}, 5).to_host();
  for (std::size_t i = 0; i < half.size(); ++i) EXPECT_EQ(half[i].bits, float16(whole[i]).bits);
}

TEST(Randn, HasTheMomentsOfTheNormalDistribution) {
  const auto values = Device::sim().randn<float>({1 << 20}, 11).to_host();
  double moments[5] = {};
  for (const float x : values) {
    for (int p = 1; p <= 4; ++p) moments[p] += std::pow(static_cast<double>(x), p) / static_cast<double>(values.size());
  }
  EXPECT_NEAR(moments[1], 0, 0.005);  // five standard errors: 5 / sqrt(2^20)
  EXPECT_NEAR(moments[2], 1, 0.008);
  EXPECT_NEAR(moments[3], 0, 0.02);
  EXPECT_NEAR(moments[4], 3, 0.05);
  double neighbours = 0;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) neighbours += static_cast<double>(values[i]) * values[i + 1];
  EXPECT_NEAR(neighbours / static_cast<double>(values.size()), 0, 0.005);
}

TEST(SimulatedDevice, HasAsManyMultiprocessorsAsAskedFor) {
  EXPECT_EQ(Device::sim().state()->sm_count(), 4);
  EXPECT_EQ(Device::sim({.sms = 7}).state()->sm_count(), 7);
  for (const int sms : {0, -1, 5000}) {
    const Error error = error_of([&] { Device::sim({.sms = sms}); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("sms = " + std::to_string(sms)));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("test_device.cpp"));
  }
}

}  // namespace
}  // namespace tessera
