// Messages survive the way to the other process, and nothing else is taken for one.
#include "trial/wire.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "trial/descriptor.hpp"

namespace tessera::trial {
namespace {
using namespace std::chrono_literals;

CandidateRequest example() {
  CandidateRequest request;
  request.number = 7;
  Job& job = request.job;
  job.cubin = {'c', '\0', 'b'};
  job.function = "matmul";
  job.shared_bytes = 98304;
  job.cluster = {2, 1, 1};
  job.dependent = true;
  job.threads = 384;
  job.grid = {132, 2, 1};
  job.params = {{no_region, -5}, {3, 1 << 20}};
  job.maps.push_back({"a", DType::bf16, 3, {64, 128}, {1024, 300}, {2048}, {3, 64}, false});
  job.maps.push_back({"b", DType::f32, 0, {}, {0}, {}, {}, true});
  return request;
}

Message message_of(CandidateRequest request) { return {Kind::candidate, encode(request)}; }

TEST(Wire, EveryFieldArrives) {
  const auto found = decode<CandidateRequest>(message_of(example()));
  const CandidateRequest expected = example();
  EXPECT_EQ(found.number, 7U);
  EXPECT_EQ(found.job.cubin, expected.job.cubin);
  EXPECT_EQ(found.job.function, "matmul");
  EXPECT_EQ(found.job.shared_bytes, 98304U);
  EXPECT_EQ(found.job.cluster, expected.job.cluster);
  EXPECT_TRUE(found.job.dependent);
  EXPECT_EQ(found.job.threads, 384U);
  EXPECT_EQ(found.job.grid, expected.job.grid);
  ASSERT_EQ(found.job.params.size(), 2U);
  EXPECT_EQ(found.job.params[0].value, -5);
  EXPECT_EQ(found.job.params[1].region, 3);
  ASSERT_EQ(found.job.maps.size(), 2U);
  EXPECT_EQ(found.job.maps[0].type, DType::bf16);
  EXPECT_EQ(found.job.maps[0].box, expected.job.maps[0].box);
  EXPECT_EQ(found.job.maps[0].dims, expected.job.maps[0].dims);
  EXPECT_EQ(found.job.maps[0].strides, expected.job.maps[0].strides);
  EXPECT_EQ(found.job.maps[0].base.value, 64);
  EXPECT_TRUE(found.job.maps[1].empty);
}

TEST(Wire, EveryShorterOrLongerMessageIsRefused) {
  const Message whole = message_of(example());
  for (std::size_t size = 0; size < whole.payload.size(); ++size) {
    Message cut = whole;
    cut.payload.resize(size);
    EXPECT_THROW(decode<CandidateRequest>(cut), std::runtime_error) << size;
  }
  Message more = whole;
  more.payload.push_back(std::byte{0});
  EXPECT_THROW(decode<CandidateRequest>(more), std::runtime_error);
}

TEST(Wire, AGiantLengthTakesNoMemory) {
  Message message;
  message.payload.assign(12, std::byte{0xff});
  EXPECT_THROW(decode<FailedReply>(message), std::runtime_error);
}

struct Pair {
  Descriptor a, b;
  Pair() {
    int both[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    a = Descriptor(both[0]);
    b = Descriptor(both[1]);
  }
};

TEST(Wire, LargeMessagesPassWhileTheOtherSideReads) {
  Pair pair;
  std::vector<std::byte> payload(5 << 20);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 7);
  std::thread sender(
      [&] { EXPECT_EQ(send_message(pair.a.get(), Kind::memory, payload, Clock::now() + 10s), Transfer::complete); });
  Message message;
  EXPECT_EQ(receive_message(pair.b.get(), &message, Clock::now() + 10s), Transfer::complete);
  sender.join();
  EXPECT_EQ(message.kind, Kind::memory);
  EXPECT_EQ(message.payload, payload);
}

TEST(Wire, KeepsItsDeadlinesInBothDirections) {
  Pair pair;
  Message message;
  EXPECT_EQ(receive_message(pair.b.get(), &message, Clock::now() + 20ms), Transfer::late);
  const std::vector<std::byte> much(5 << 20);
  EXPECT_EQ(send_message(pair.a.get(), Kind::memory, much, Clock::now() + 20ms), Transfer::late);
}

TEST(Wire, TellsSilenceNoiseAndTheEndApart) {
  Pair pair;
  const std::string noise(64, '?');
  ASSERT_EQ(::send(pair.a.get(), noise.data(), noise.size(), 0), 64);
  Message message;
  EXPECT_EQ(receive_message(pair.b.get(), &message, Clock::now() + 1s), Transfer::garbled);
  Pair closed;
  closed.a.reset();
  EXPECT_EQ(receive_message(closed.b.get(), &message, Clock::now() + 1s), Transfer::closed);
  EXPECT_EQ(send_message(closed.b.get(), Kind::done, {}, Clock::now() + 1s), Transfer::closed);  // and no SIGPIPE
}

}  // namespace
}  // namespace tessera::trial
