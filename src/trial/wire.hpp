// The messages between the library and the trial process: a fixed head, then a payload of known length.
//
//   library   open, memory, candidate, run, time
//   process   launching, finished (notices that tell the waiting side which limit holds), then done or failed
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "trial/job.hpp"

namespace tessera::trial {

enum class Kind : std::uint32_t { open = 1, memory, candidate, run, time, launching, finished, done, failed };

struct Message {
  Kind kind{};
  std::vector<std::byte> payload;
};

// The same device as the library's: the number that it has there, and where it sits.
struct OpenRequest {
  std::int32_t ordinal = 0;
  std::array<std::int32_t, 3> bus{};  // PCI domain, bus and device
};
struct MemoryRequest {
  std::uint64_t bytes = 0;
  std::vector<Region> regions;
};
struct CandidateRequest {
  std::uint32_t number = 0;
  Job job;
};
struct RunRequest {
  std::uint32_t number = 0;
  bool compare_inputs = false;  // whether memory that nobody may write still has its content
};
struct DoneReply {
  double milliseconds = 0;
};
struct FailedReply {
  std::string message, help;
  bool lost = false;  // the process is of no further use
};

// The fields of each of them, in the order of the wire; one list for both directions.
template <class A>
void describe(A& a, Region& x) {
  a(x.name, x.bytes, x.misalignment, x.read, x.written, x.poison, x.input, x.output);
}
template <class A>
void describe(A& a, Param& x) {
  a(x.region, x.value);
}
template <class A>
void describe(A& a, MapJob& x) {
  a(x.name, x.type, x.swizzle, x.box, x.dims, x.strides, x.base, x.empty);
}
template <class A>
void describe(A& a, Job& x) {
  a(x.cubin, x.function, x.shared_bytes, x.cluster, x.dependent, x.threads, x.grid, x.params, x.maps);
}
template <class A>
void describe(A& a, OpenRequest& x) {
  a(x.ordinal, x.bus);
}
template <class A>
void describe(A& a, MemoryRequest& x) {
  a(x.bytes, x.regions);
}
template <class A>
void describe(A& a, CandidateRequest& x) {
  a(x.number, x.job);
}
template <class A>
void describe(A& a, RunRequest& x) {
  a(x.number, x.compare_inputs);
}
template <class A>
void describe(A& a, DoneReply& x) {
  a(x.milliseconds);
}
template <class A>
void describe(A& a, FailedReply& x) {
  a(x.message, x.help, x.lost);
}

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <class... T>
  void operator()(T&... values) {
    (put(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  template <class T>
  void put(T& value) {
    if constexpr (Plain<T>) {
      append(&value, sizeof value);
    } else {
      describe(*this, value);
    }
  }
  template <class T, std::size_t n>
  void put(std::array<T, n>& values) {
    for (T& value : values) put(value);
  }
  template <class Sequence>
  void put_sequence(Sequence& values) {
    std::uint64_t size = values.size();
    put(size);
    if constexpr (Plain<typename Sequence::value_type>) {
      append(values.data(), values.size() * sizeof(typename Sequence::value_type));
    } else {
      for (auto& value : values) put(value);
    }
  }
  template <class T>
  void put(std::vector<T>& values) {
    put_sequence(values);
  }
  void put(std::string& text) { put_sequence(text); }

  std::vector<std::byte> bytes_;
};

// Throws std::runtime_error where the payload is not what the reader expects.
class Reader {
 public:
  explicit Reader(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void end() const {
    if (at_ != bytes_.size()) throw std::runtime_error("a message is too long");
  }

 private:
  void take(void* to, std::size_t size) {
    if (size > bytes_.size() - at_) throw std::runtime_error("a message is too short");
    if (size != 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  template <class T>
  void get(T& value) {
    if constexpr (Plain<T>) {
      take(&value, sizeof value);
    } else {
      describe(*this, value);
    }
  }
  template <class T, std::size_t n>
  void get(std::array<T, n>& values) {
    for (T& value : values) get(value);
  }
  template <class Sequence>
  void get_sequence(Sequence& values) {
    std::uint64_t size = 0;
    get(size);
    if (size > bytes_.size() - at_) throw std::runtime_error("a message is too short");  // an element has a byte
    values.resize(size);
    if constexpr (Plain<typename Sequence::value_type>) {
      take(values.data(), values.size() * sizeof(typename Sequence::value_type));
    } else {
      for (auto& value : values) get(value);
    }
  }
  template <class T>
  void get(std::vector<T>& values) {
    get_sequence(values);
  }
  void get(std::string& text) { get_sequence(text); }

  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

template <class T>
std::vector<std::byte> encode(T& value) {
  Writer writer;
  describe(writer, value);
  return writer.take();
}
template <class T>
T decode(const Message& message) {
  T value;
  Reader reader(message.payload);
  describe(reader, value);
  reader.end();
  return value;
}

using Clock = std::chrono::steady_clock;
// No deadline: Clock::time_point::max().
enum class Transfer : std::uint8_t {
  complete,
  late,    // the deadline passed
  closed,  // the other side is gone
  garbled  // what came is no message of this version
};
// On a stream socket. Never raises SIGPIPE.
Transfer send_message(int socket, Kind kind, const std::vector<std::byte>& payload, Clock::time_point deadline);
Transfer receive_message(int socket, Message* message, Clock::time_point deadline);

}  // namespace tessera::trial
