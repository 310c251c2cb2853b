// The trial process's side: runs candidates on its own copies of the caller's memory, in a context of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "jit/driver.hpp"
#include "jit/launch_timer.hpp"
#include "trial/wire.hpp"

namespace tessera::trial {

class Server {
 public:
  Server(int socket, int shared) : socket_(socket), shared_descriptor_(shared) {}
  // Answers requests until the other side is gone.
  void serve();

 private:
  // On the device: guard, copy, guard; and what the copy begins with where candidates read and write it.
  struct Copy {
    Region region;
    std::uintptr_t address = 0;
    void* original = nullptr;
  };
  struct Candidate {
    std::unique_ptr<jit::Module> module;
    Job job;
    std::vector<std::int64_t> values;
    std::vector<jit::EncodedTensorMap> maps;
    std::vector<void*> params;
  };
  void handle(const Message& message);
  void open(const OpenRequest& request);
  void take_memory(const MemoryRequest& request);
  void take_candidate(CandidateRequest request);
  void run(const RunRequest& request);
  double time(const RunRequest& request);

  void make_copy(Copy& copy);
  void restore(bool poison) const;
  void check_guards() const;
  void check_guard(const Copy& copy, std::uintptr_t at, const char* where) const;
  void check_inputs() const;
  void launch(const Candidate& candidate) const;
  Candidate& candidate(std::uint32_t number);
  std::uintptr_t address_of(const Param& param) const;
  void notice(Kind kind) const;
  void answer(FailedReply reply) const;

  int socket_, shared_descriptor_;
  std::byte* shared_ = nullptr;
  int device_ = -1;
  std::unique_ptr<jit::LaunchTimer> timer_;
  std::vector<std::byte> pattern_;  // of guards
  std::vector<Copy> copies_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
};

}  // namespace tessera::trial
