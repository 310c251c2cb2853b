// Launches on a card as a program in use makes them: streams, events, graphs with other pointers, threads, errors that
// surface later (in a process of its own), two devices if there are two. Prints a line each; exit code 1 if one fails.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <numeric>
#include <thread>

#include "hopper_matmul/matmul_v0.hpp"
#include "runtime/device_state.hpp"
#include "tessera/matmul.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;

struct Step : Script {
  void operator()(Int32 n, Int32 step, Ptr<std::int32_t> x_ptr, Ptr<std::int32_t> y_ptr) {
    attrs.blocks = {cdiv(n, 1024)};
    attrs.warps = 4;
    auto y = global_view(y_ptr, {n});
    auto sum = load_global(global_view(x_ptr, {n}), {blockIdx.x * 1024}, {1024}) +
               load_global(y, {blockIdx.x * 1024}, {1024}) + step;
    store_global(y, sum, {blockIdx.x * 1024});
  }
};

// Reads and writes where nothing is if `distance` leads there.
struct Stray : Script {
  void operator()(Int64 distance, Ptr<float> y_ptr) {
    attrs.blocks = {1};
    attrs.warps = 1;
    auto y = global_view(y_ptr, {distance + 32});
    store_global(y, register_tensor<float>({32}, 1.0f), {distance});
  }
};

int failures = 0;
void check(const std::string& name, bool good) {
  fmt::print("{:60} {}\n", name, good ? "good" : "WRONG");
  std::fflush(stdout);
  failures += good ? 0 : 1;
}
bool names(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  fmt::print("no \"{}\" in:\n{}\n", part, text);
  return false;
}

void streams(const Device& device) {
  constexpr int n = 1 << 22;
  const Stream one(device, {.independent = true}), two(device, {.independent = true});
  auto x = device.full<std::int32_t>({n}, 1), y = device.zeros<std::int32_t>({n}), z = device.zeros<std::int32_t>({n});
  Kernel<Step> step;
  step.compile(n, 0, x, y);
  step.compile(n, 0, y, z);
  device.synchronize();
  Event begin(device), end(device);
  begin.record(one);
  for (int i = 0; i < 200; ++i) step.launch({.stream = one}, n, 1, x, y);
  end.record(one);
  two.wait(end);
  step.launch({.stream = two}, n, 0, y, z);  // too early it would see less than 400
  const bool busy = !one.finished();
  two.synchronize();
  const auto result = z.to_host();
  check("a stream waits for another one's event", result.front() == 400 && result.back() == 400);
  check("launches return before their kernels have ended", busy);
  check("events time what is between them", end.elapsed_ms_since(begin) > 0.1 && end.finished());
  fill_on(one, z, 0);
  copy_on(one, y, z);
  one.synchronize();
  check("copies and fills on a stream", z.to_host().back() == 400);
}

bool equal(const Buffer<float16>& a, const Buffer<float16>& b) {
  const auto x = a.to_host(), y = b.to_host();
  return std::equal(x.begin(), x.end(), y.begin(), [](float16 p, float16 q) { return p.bits == q.bits; });
}

void changed_pointers(const Device& device) {
  const int m = 256, n = 256, k = 128;
  Kernel<hopper_matmul::MatmulTma<float16>> v0{{.block_m = 64, .block_n = 128, .block_k = 64}};
  std::vector<Buffer<float16>> a, b, c, expected;
  for (int i = 0; i < 4; ++i) {
    a.push_back(device.randn<float16>({m, k}));
    b.push_back(device.randn<float16>({n, k}));
    c.push_back(device.zeros<float16>({m, n}));
    expected.push_back(device.zeros<float16>({m, n}));
    Kernel<hopper_matmul::MatmulTma<float16>> fresh{{.block_m = 64, .block_n = 128, .block_k = 64}};
    fresh(m, n, k, a.back(), b.back(), expected.back());
  }
  bool good = true;
  for (std::size_t i = 0; i < 4; ++i) v0(m, n, k, a[i], b[i], c[i]);
  for (std::size_t i = 0; i < 4; ++i) good = good && equal(c[i], expected[i]);
  check("a changed pointer has its own tensor map", good && v0.report().counters.planned == 1);

  const Stream stream(device);
  const auto work = [&](std::size_t i) { return [&, i] { v0.launch({.stream = stream}, m, n, k, a[i], b[i], c[i]); }; };
  for (auto& buffer : c) fill_on(nullptr, buffer, 0);
  Graph graph = Graph::capture(stream, work(0));
  graph.launch();
  bool in_place = true;
  for (std::size_t i = 1; i < 4; ++i) {
    in_place = graph.update(work(i)) && in_place;
    graph.launch();
  }
  stream.synchronize();
  good = true;
  for (std::size_t i = 0; i < 4; ++i) good = good && equal(c[i], expected[i]);
  check("a graph is replayed with other pointers, changed in place", good && in_place);
}

// A product of few rows, whose partial sums lie in memory that belongs to the graph.
void matmul_graph(const Device& device) {
  const int m = 16, n = 4096, k = 4096;
  const Stream stream(device);
  auto a = device.randn<float16>({m, k}), b = device.randn<float16>({n, k});
  auto c = device.zeros<float16>({m, n}), expected = device.zeros<float16>({m, n});
  std::string refused;
  try {
    static_cast<void>(Graph::capture(stream, [&] { matmul(a, b, c, {.stream = stream}); }));
  } catch (const Error& error) {
    refused = error.what();
  }
  matmul(a, b, expected);
  Graph graph = Graph::capture(stream, [&] { matmul(a, b, c, {.stream = stream}); });
  auto large = device.randn<float16>({m, 8192}), other = device.randn<float16>({8192, 8192});
  auto out = device.zeros<float16>({m, 8192});
  matmul(large, other, out, {.stream = stream});  // grows the stream's own memory
  for (int i = 0; i < 10; ++i) graph.launch();
  stream.synchronize();
  check("tessera::matmul in a graph: " + last_matmul_report().kernel, equal(c, expected));
  check("its first call in a capture is refused", names(refused, "before the capture"));
}

// Running sums over blocks that wait for one another, and a last block that waits until all have counted themselves in.
struct FlagChain : Script {
  static constexpr int block = 128;
  void operator()(Int32 blocks, Ptr<float> x_ptr, Ptr<float> sums_ptr, Ptr<float> total_ptr,
                  Ptr<std::uint32_t> flags_ptr, Ptr<std::uint32_t> done_ptr) {
    attrs.blocks = {blocks};
    attrs.warps = 4;
    auto x = global_view(x_ptr, {blocks, block}), sums = global_view(sums_ptr, {blocks, block});
    auto total = global_view(total_ptr, {1, block});
    auto flags = global_view(flags_ptr, {blocks}), done = global_view(done_ptr, {1});
    Int32 me = blockIdx.x;
    auto own = register_tensor<float>({1, block}, 0.0f);
    own += load_global(x, {me, 0}, {1, block});
    if (auto _ = when(me > 0)) {
      global_flag.wait(flags, {me - 1}, 1);
      own += load_global(sums, {me - 1, 0}, {1, block});
    }
    store_global(sums, own, {me, 0});
    sync();
    if (auto _ = single_thread()) {
      global_flag.signal(flags, {me}, 1);
      global_flag.add(done, {0}, 1);
    }
    if (auto _ = when(me == 0)) {
      global_flag.wait_at_least(done, {0}, cast<UInt32>(blocks));
      auto last = register_tensor<float>({1, block}, 0.0f);
      last += load_global(sums, {blocks - 1, 0}, {1, block});
      store_global(total, last, {0, 0});
    }
  }
};

void flags(const Device& device) {
  const int blocks = device.state()->multiprocessors();  // all of them are on the card at once
  std::vector<float> values(static_cast<std::size_t>(blocks) * FlagChain::block);
  std::vector<float> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7 % 11);
    expected[i] = values[i] + (i >= FlagChain::block ? expected[i - FlagChain::block] : 0.0f);
  }
  const auto x = device.from_host(values, {blocks, FlagChain::block});
  Kernel<FlagChain> chain;
  bool good = true;
  for (int round = 0; round < 200; ++round) {
    auto sums = device.full<float>({blocks, FlagChain::block}, -1.0f),
         total = device.full<float>({FlagChain::block}, -1.0f);
    auto flag = device.zeros<std::uint32_t>({blocks}), done = device.zeros<std::uint32_t>({1});
    chain(blocks, x, sums, total, flag, done);
    good = good && sums.to_host() == expected &&
           total.to_host() == std::vector<float>(expected.end() - FlagChain::block, expected.end());
  }
  check("200 launches of a chain of blocks that hand sums over by flags", good);
}

void threads(const Device& device) {
  constexpr int workers = 8, launches = 10000, n = 2048;
  std::vector<Stream> all;
  for (int i = 0; i < 4; ++i) all.emplace_back(device);
  Kernel<Step> step;
  std::vector<int> good(workers);
  std::vector<std::thread> running;
  for (int t = 0; t < workers; ++t) {
    running.emplace_back([&, t] {
      const Stream& stream = all[static_cast<std::size_t>(t) % 4];
      const auto x = device.full<std::int32_t>({n}, t);
      Buffer<std::int32_t> y[2] = {device.zeros<std::int32_t>({n}), device.zeros<std::int32_t>({n})};
      device.synchronize();
      for (int i = 0; i < launches; ++i) step.launch({.stream = stream}, n, i % 7, x, y[i % 2]);
      stream.synchronize();
      int steps = 0;
      for (int i = 0; i < launches; ++i) steps += i % 7;
      const auto even = y[0].to_host(), odd = y[1].to_host();
      good[static_cast<std::size_t>(t)] = 1;
      for (std::size_t i = 0; i < n; ++i) {
        if (even[i] + odd[i] != launches * t + steps) good[static_cast<std::size_t>(t)] = 0;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  check("8 threads, 4 streams, 10000 launches each, one kernel",
        std::accumulate(good.begin(), good.end(), 0) == workers && step.report().counters.planned == 7);
}

// A process of its own: a kernel that fails takes the context with it.
int fail(bool waiting) {
  if (waiting) ::setenv("TESSERA_SYNC", "1", 1);
  const Device device = Device::cuda(0);
  auto x = device.zeros<std::int32_t>({1024}), y = device.zeros<std::int32_t>({1024});
  auto f = device.zeros<float>({1024});
  Kernel<Step> step;
  Kernel<Stray> stray;
  stray.compile(0, f.data());
  step(1024, 1, x, y);
  device.synchronize();
  bool good = true;
  try {
    stray(std::int64_t{1} << 40, f.data());
    step(1024, 1, x, y);
    device.synchronize();
    fmt::print("nothing was reported\n");
    return 1;
  } catch (const Error& error) {
    good =
        error.kind() == ErrorKind::device && names(error.what(), "Stray") && names(error.what(), "launch_on_card.cpp");
    if (waiting) good = good && names(error.what(), "the run of kernel 'Stray' failed");
  }
  try {
    static_cast<void>(device.zeros<float>({16}));
    good = false;
  } catch (const Error& error) {
    good = good && names(error.what(), "Stray");
  }
  return good ? 0 : 1;
}

void late_errors(const char* program) {
  for (const char* mode : {"--fail", "--fail-waiting"}) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl(program, program, mode, nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    check(std::string("a failure that surfaces later names its kernel ") + mode,
          WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

void two_devices() {
  std::optional<Device> second;
  try {
    second = Device::cuda(1);
  } catch (const Error&) {
    fmt::print("one device: the checks of two are left out\n");
    return;
  }
  Kernel<Step> step;
  std::vector<std::thread> running;
  std::atomic<int> good = 0;
  for (const Device& device : {Device::cuda(0), *second}) {
    running.emplace_back([&step, &good, device] {
      const Stream stream(device);
      auto x = device.full<std::int32_t>({1024}, 1), y = device.zeros<std::int32_t>({1024});
      device.synchronize();
      for (int i = 0; i < 1000; ++i) step.launch({.stream = stream}, 1024, 0, x, y);
      stream.synchronize();
      if (y.to_host()[7] == 1000) ++good;
    });
  }
  for (std::thread& thread : running) thread.join();
  check("one kernel on two devices", good == 2);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) return fail(std::string(argv[1]) == "--fail-waiting");
  late_errors("/proc/self/exe");
  const Device device = Device::cuda(0);
  fmt::print("{}\n", device.name());
  streams(device);
  changed_pointers(device);
  matmul_graph(device);
  flags(device);
  threads(device);
  two_devices();
  static_cast<void>(argv);
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
