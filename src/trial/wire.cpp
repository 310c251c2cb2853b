#include "trial/wire.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tessera::trial {
namespace {

struct Head {
  std::uint32_t magic = 0x54534554;  // what garbage does not begin with
  std::uint32_t version = 1;
  Kind kind{};
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;
};
constexpr std::uint64_t longest = std::uint64_t{1} << 30;

// Milliseconds for poll(): rounded up, so that it does not spin before the deadline.
int remaining_ms(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3600 * 1000));
}

// Waits until the socket is ready for one of `events`.
Transfer wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    pollfd one{socket, events, 0};
    const int ms = remaining_ms(deadline);
    const int n = ::poll(&one, 1, ms);
    if (n > 0) return Transfer::complete;
    if (n < 0 && errno != EINTR) return Transfer::closed;
    if (n == 0 && Clock::now() >= deadline) return Transfer::late;
  }
}

template <class Move>
Transfer move_all(int socket, short events, std::size_t size, Clock::time_point deadline, const Move& move) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = move(at);
    if (n > 0) {
      at += static_cast<std::size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const Transfer t = wait_for(socket, events, deadline); t != Transfer::complete) return t;
    } else if (n == 0 || errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::complete;
}

Transfer send_all(int socket, const void* data, std::size_t size, Clock::time_point deadline) {
  return move_all(socket, POLLOUT, size, deadline, [&](std::size_t at) {
    return ::send(socket, static_cast<const std::byte*>(data) + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

Transfer receive_all(int socket, void* data, std::size_t size, Clock::time_point deadline) {
  return move_all(socket, POLLIN, size, deadline, [&](std::size_t at) {
    return ::recv(socket, static_cast<std::byte*>(data) + at, size - at, MSG_DONTWAIT);
  });
}

}  // namespace

Transfer send_message(int socket, Kind kind, const std::vector<std::byte>& payload, Clock::time_point deadline) {
  Head head;
  head.kind = kind;
  head.length = payload.size();
  const Transfer first = send_all(socket, &head, sizeof head, deadline);
  return first == Transfer::complete ? send_all(socket, payload.data(), payload.size(), deadline) : first;
}

Transfer receive_message(int socket, Message* message, Clock::time_point deadline) {
  const Head expected;
  Head head;
  if (const Transfer t = receive_all(socket, &head, sizeof head, deadline); t != Transfer::complete) return t;
  if (head.magic != expected.magic || head.version != expected.version || head.length > longest ||
      head.kind < Kind::open || head.kind > Kind::failed)
    return Transfer::garbled;
  message->kind = head.kind;
  message->payload.resize(head.length);
  return receive_all(socket, message->payload.data(), message->payload.size(), deadline);
}

}  // namespace tessera::trial
