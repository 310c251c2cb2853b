// The trial process. It is started by the library with its socket as standard input; it is of no use to people.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "trial/server.hpp"

namespace {

constexpr int socket_descriptor = 0, shared_descriptor = 3, program_descriptor = 4;

// Ends the process with its parent, also while a kernel hangs. The end of the socket alone does not tell, where a child
// of the parent has inherited the other end without executing anything; and the signal that Linux offers for this comes
// when the thread that started the process ends.
void watch(pid_t parent) {
  for (;;) {
    constexpr int milliseconds = 500;
    pollfd one{socket_descriptor, POLLRDHUP, 0};
    const int n = ::poll(&one, 1, milliseconds);
    if ((n > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) || ::getppid() != parent) ::_exit(0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto parent = static_cast<pid_t>(argc == 2 ? std::atol(argv[1]) : 0);
  if (parent <= 0 || ::getppid() != parent) {
    std::fputs("tessera-trial runs candidates while the Tessera library tunes a kernel; the library starts it\n",
               stderr);
    return 2;
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::close(program_descriptor);
  std::thread(watch, parent).detach();
  tessera::trial::Server(socket_descriptor, shared_descriptor).serve();
  ::_exit(0);  // the driver's own clean-up may hang where a kernel did
}
