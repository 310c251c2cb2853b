// The path of a launch whose shape is known: nothing is checked, nothing is allocated, and every launch has its own
// addresses, in its parameters and in its tensor maps.
#include <latch>
#include <thread>

#include "counting_new.hpp"
#include "runtime_fixture.hpp"

namespace tessera {
namespace {
using detail::Argument;
using detail::KernelImpl;
using detail::ParamKind;
using runtime::LaunchPlan;
using test::error_of;
using test::FakeDevice;
using test::FakeExecutable;
using test::FakeWorld;
using ::testing::HasSubstr;

// Fake(c_scale: constant, m: Int32, x: Ptr<float>, y: Ptr<float>), y written, with a tensor map over each: that of y
// begins at its element 8.
struct PathTest : test::RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    world->build = [this](const std::string&, ir::thread::Kernel& kernel) {
      if (building) building();
      auto& pool = kernel.context->expr;
      const ir::Expr* m = pool.cast(DType::i64, pool.leaf(ir::ExprKind::param, DType::i32, 0));
      kernel.grid = {m, pool.i64(1), pool.i64(1)};
      kernel.views = {{"gx", 1, DType::f32, {m}, m, SourceLoc::here()},
                      {"gy", 2, DType::f32, {m}, m, SourceLoc::here()}};
      kernel.written_params = {2};
      for (const std::uint32_t param : {1U, 2U}) {
        ir::thread::TensorMap map;
        map.name = param == 1 ? "gx" : "gy";
        map.param = param;
        map.type = DType::f32;
        if (param == 2) map.base_offset = pool.i64(8);
        map.dims = {m};
        map.box = {8};
        kernel.tensor_maps.push_back(map);
      }
    };
    world->behaviours["a"] = {.run = [this](const LaunchPlan& plan) { look(plan); }};
  }
  void TearDown() override {
    FakeExecutable::recording = true;
    RuntimeTest::TearDown();
  }
  // What the driver would read: parameters, then maps, all of one launch.
  void look(const LaunchPlan& plan) {
    const auto pointer = [&](std::size_t i) { return *static_cast<const std::uint64_t*>(plan.params[i]); };
    const auto base = [&](std::size_t i) {
      return static_cast<const jit::EncodedTensorMap*>(plan.params[i])->words[0];
    };
    if (base(3) != pointer(1) || base(4) != pointer(2) + 32) ++mixed;
    seen_x = pointer(1);
    seen_y = pointer(2);
    if (inside) inside();
  }
  std::unique_ptr<KernelImpl> make() {
    return std::make_unique<KernelImpl>(test::fake_program(world, {{ParamKind::constant, DType::i32, "c_scale"},
                                                                   {ParamKind::scalar, DType::i32, "m"},
                                                                   {ParamKind::pointer, DType::f32, "x"},
                                                                   {ParamKind::pointer, DType::f32, "y"}}),
                                        test::fake_toolchain(world));
  }
  static std::array<Argument, 4> arguments(int scale, int m, const PtrArg<float>& x, const PtrArg<float>& y) {
    std::array<Argument, 4> result;
    result[0].integer = scale;
    result[1].integer = m;
    result[2].pointer = x.value();
    result[3].pointer = y.value();
    return result;
  }
  static std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  std::shared_ptr<FakeDevice> state = std::make_shared<FakeDevice>(world);
  Device device{state};
  Buffer<float> x = device.zeros<float>({4096}), y = device.zeros<float>({4096});
  Buffer<float> u = device.zeros<float>({4096}), v = device.zeros<float>({4096});
  std::atomic<int> mixed = 0;
  std::atomic<std::uint64_t> seen_x = 0, seen_y = 0;
  std::function<void()> inside, building;
};

TEST_F(PathTest, ChangedPointersAreNeitherCheckedAgainNorAllocateAnything) {
  auto kernel = make();
  const auto one = arguments(1, 100, x, y), other = arguments(1, 100, u, v);
  kernel->launch(one, nullptr, nullptr);
  kernel->launch(other, nullptr, nullptr);
  const int encoded = world->encoded_maps;
  FakeExecutable::recording = false;
  const std::size_t before = test::allocations;
  for (int i = 0; i < 100; ++i) {
    kernel->launch(i % 2 == 0 ? one : other, nullptr, nullptr);
    ASSERT_EQ(seen_x, address(i % 2 == 0 ? x.data() : u.data()));
    ASSERT_EQ(seen_y, address(i % 2 == 0 ? y.data() : v.data()));
  }
  EXPECT_EQ(test::allocations, before);
  EXPECT_EQ(world->encoded_maps, encoded);
  EXPECT_EQ(kernel->report().counters.planned, 1U);
  EXPECT_EQ(kernel->report().counters.launched, 102U);
  EXPECT_EQ(mixed, 0);
}

TEST_F(PathTest, OnlyMapsOfChangedPointersAreTouched) {
  auto kernel = make();
  kernel->launch(arguments(1, 100, x, y), nullptr, nullptr);
  EXPECT_EQ(world->rebased_maps, 0);
  kernel->launch(arguments(1, 100, u, y), nullptr, nullptr);
  EXPECT_EQ(world->rebased_maps, 1);
  kernel->launch(arguments(1, 100, u, y), nullptr, nullptr);
  EXPECT_EQ(world->rebased_maps, 1) << "the map of the last launch is kept";
  kernel->launch(arguments(1, 100, x, v), nullptr, nullptr);
  EXPECT_EQ(world->rebased_maps, 3);
  EXPECT_EQ(mixed, 0);
}

TEST_F(PathTest, EveryOtherPropertyIsCheckedAnew) {
  auto kernel = make();
  kernel->launch(arguments(1, 100, x, y), nullptr, nullptr);
  const auto refused = [&](const PtrArg<float>& a, const PtrArg<float>& b) {
    return std::string(error_of([&] { kernel->launch(arguments(1, 100, a, b), nullptr, nullptr); }).what());
  };
  EXPECT_THAT(refused(device.zeros<float>({99}), y), HasSubstr("the argument for x has 396 bytes"));
  EXPECT_THAT(refused(nullptr, y), HasSubstr("the argument for x is a null pointer"));
  EXPECT_THAT(refused(x, static_cast<const float*>(y.data())), HasSubstr("the argument for y is read-only memory"));
  EXPECT_THAT(refused(x.from(1), y), HasSubstr("TMA cannot address"));
  EXPECT_THAT(refused(x, std::span<float>(y.data(), 4096)), HasSubstr("the argument for y is host memory"));
  const Device elsewhere{std::make_shared<FakeDevice>(world, "another GPU")};
  EXPECT_THAT(refused(x, elsewhere.zeros<float>({4096})), HasSubstr("is a buffer of another GPU"));
  EXPECT_THAT(error_of([&] { kernel->launch(arguments(1, 5000, x, y), nullptr, nullptr); }).what(),
              HasSubstr("the argument for x has 16384 bytes"));
  kernel->launch(arguments(1, 100, x.from(4), y), nullptr, nullptr);  // as aligned, but another extent
  EXPECT_EQ(kernel->report().counters.planned, 2U);
  EXPECT_EQ(seen_x, address(x.data() + 4));
  EXPECT_EQ(mixed, 0);
}

TEST_F(PathTest, TheDriverIsAskedOnceForARawPointer) {
  auto kernel = make();
  kernel->launch(arguments(1, 100, x.data(), y.data()), &device, nullptr);
  for (int i = 0; i < 10; ++i) kernel->launch(arguments(1, 100, x.data(), y.data()), &device, nullptr);
  const int asked = state->asked;
  EXPECT_EQ(asked, 2);
  kernel->launch(arguments(1, 100, u.data(), y.data()), &device, nullptr);
  kernel->launch(arguments(1, 100, u.data(), y.data()), &device, nullptr);
  EXPECT_EQ(state->asked, asked + 1);
  EXPECT_EQ(kernel->report().counters.planned, 1U);
  state->usable_pointers = false;
  kernel->launch(arguments(1, 100, u.data(), y.data()), &device, nullptr);  // was found to be in order
  const Error error = error_of([&] { kernel->launch(arguments(1, 100, u.data(), v.data()), &device, nullptr); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("the argument for y is an address that the driver does not know"));
  EXPECT_EQ(error.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 3));
}

TEST_F(PathTest, TheCacheOfPlansIsBounded) {
  auto kernel = make();
  for (int round = 0; round < 2; ++round) {
    for (int m = 1000; m < 1200; ++m) kernel->launch(arguments(1, m, x, y), nullptr, nullptr);
  }
  EXPECT_EQ(kernel->report().counters.planned, 400U) << "each made room before it came again";
  kernel->launch(arguments(1, 1199, x, y), nullptr, nullptr);
  EXPECT_EQ(kernel->report().counters.planned, 400U);
  EXPECT_EQ(mixed, 0);
}

TEST_F(PathTest, ThreadsDoNotMixTheirAddresses) {
  auto kernel = make();
  FakeExecutable::recording = false;
  std::vector<Buffer<float>> memory;
  for (int i = 0; i < 16; ++i) memory.push_back(device.zeros<float>({4096}));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        // A shape that all share, and ones that are planned while others launch.
        const int m = i % 5 == 0 ? 1 + static_cast<int>(t) * 100 + i % 100 : 2000;
        kernel->launch(arguments(1, m, memory[2 * t], memory[2 * t + 1]), nullptr, nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(kernel->report().counters.launched, 24000U);
}

TEST_F(PathTest, AKnownLaunchDoesNotWaitForATuner) {
  auto kernel = make();
  kernel->launch(arguments(1, 100, x, y), nullptr, nullptr);
  std::latch lowering(1), launched(1);
  building = [&] {
    lowering.count_down();
    launched.wait();
  };
  std::thread tuning([&] { kernel->launch(arguments(2, 100, x, y), nullptr, nullptr); });
  lowering.wait();
  kernel->launch(arguments(1, 100, u, v), nullptr, nullptr);  // hangs if it needs what the other thread holds
  EXPECT_EQ(seen_x, address(u.data()));
  launched.count_down();
  tuning.join();
  EXPECT_EQ(seen_x, address(x.data()));
  EXPECT_EQ(mixed, 0);
}

TEST_F(PathTest, ALaunchInsideOfALaunchHasMemoryOfItsOwn) {
  auto kernel = make();
  kernel->launch(arguments(1, 100, x, y), nullptr, nullptr);
  std::vector<std::uint64_t> order;
  world->behaviours["a"].run = [&](const LaunchPlan& plan) {
    if (order.empty()) {
      order.push_back(0);
      kernel->launch(arguments(1, 100, u, v), nullptr, nullptr);
    }
    order.push_back(*static_cast<const std::uint64_t*>(plan.params[1]));
  };
  kernel->launch(arguments(1, 100, x, y), nullptr, nullptr);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, address(u.data()), address(x.data())}));
}

TEST_F(PathTest, TwentyArgumentsAllocateNothing) {
  std::vector<detail::ParamInfo> infos;
  for (int i = 0; i < 20; ++i)
    infos.push_back({i % 2 == 0 ? ParamKind::scalar : ParamKind::pointer, DType::f32, "p" + std::to_string(i)});
  world->build = [](const std::string&, ir::thread::Kernel& kernel) {
    kernel.grid = {kernel.context->expr.i64(1), nullptr, nullptr};
  };
  std::int64_t sum = 0;
  world->behaviours["a"].run = [&](const LaunchPlan& plan) {
    sum = 0;
    for (std::size_t i = 0; i < 20; i += 2) sum += *static_cast<const std::int64_t*>(plan.params[i]);
  };
  KernelImpl kernel(test::fake_program(world, infos), test::fake_toolchain(world));
  std::array<Argument, 20> all;
  for (std::size_t i = 0; i < 20; ++i) {
    all[i].integer = static_cast<std::int64_t>(i);
    if (i % 2 == 1) all[i].pointer = PtrArg<float>(i % 4 == 1 ? x : y).value();
  }
  kernel.launch(all, nullptr, nullptr);
  EXPECT_EQ(sum, 90);
  FakeExecutable::recording = false;
  all[0].integer = 10;
  kernel.launch(all, nullptr, nullptr);
  EXPECT_EQ(sum, 100);
  const std::size_t before = test::allocations;
  for (int i = 0; i < 50; ++i) {
    all[1].pointer = PtrArg<float>(i % 2 == 0 ? u : v).value();
    kernel.launch(all, nullptr, nullptr);
  }
  EXPECT_EQ(test::allocations, before);
}

TEST_F(PathTest, AStreamOfAnotherDeviceIsRefused) {
  auto kernel = make();
  const Device other{std::make_shared<FakeDevice>(world, "another GPU")};
  const Stream mine(device), theirs(other);
  kernel->launch(arguments(1, 100, x, y), nullptr, mine);
  const Error error = error_of([&] { kernel->launch(arguments(1, 100, x, y), nullptr, theirs); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(),
              HasSubstr("Fake: the stream is of another GPU, but the memory or the launch is of fake GPU"));
  auto fresh = make();
  EXPECT_THAT(error_of([&] { fresh->launch(arguments(1, 100, x, y), nullptr, theirs); }).what(),
              HasSubstr("the stream is of another GPU"));
}

}  // namespace
}  // namespace tessera
