// Two threads that count without a lock: what the thread sanitizer has to report.
#include <cstdio>
#include <thread>

int main() {
  int count = 0;
  std::thread other([&] { ++count; });
  ++count;
  other.join();
  std::printf("%d\n", count);
  return 0;
}
