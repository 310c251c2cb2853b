// A script, ready to be called: traced, compiled, tuned, cached and launched.
#pragma once

#include <array>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/lang/params.hpp"
#include "tessera/runtime/argument.hpp"
#include "tessera/runtime/buffer.hpp"
#include "tessera/runtime/program.hpp"
#include "tessera/runtime/progress.hpp"
#include "tessera/runtime/report.hpp"
#include "tessera/runtime/space.hpp"
#include "tessera/runtime/stream_arg.hpp"
#include "tessera/runtime/tuning.hpp"

namespace tessera {

struct LaunchOptions {
  std::optional<Device> device = {};  // default: that of the buffers
  StreamArg stream = {};              // a Stream or a CUstream; nothing: the default stream
};

namespace runtime {
struct Toolchain;
}

namespace detail {

// Everything about a kernel that does not depend on the script's C++ type.
class KernelImpl {
 public:
  // A null toolchain means the real one.
  explicit KernelImpl(Program program, std::shared_ptr<const runtime::Toolchain> toolchain = nullptr);
  ~KernelImpl();
  KernelImpl(KernelImpl&&) noexcept;
  KernelImpl& operator=(KernelImpl&&) noexcept;

  // `arguments` has one entry a parameter of the program. Throws tessera::Error.
  void launch(std::span<const Argument> arguments, const Device* device, const StreamArg& stream);
  void prepare(std::span<const Argument> arguments, const Device* device);
  void tuning(const Tuning& tuning, SourceLoc loc);
  void wait_for_tuning();
  Report report() const;
  // For the library itself: what a launch with these arguments would run (runtime/launchable.hpp).
  struct Launchable;
  Launchable launchable(std::span<const Argument> arguments, const Device* device);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[noreturn]] void scalar_out_of_range(const std::string& value, const char* type, SourceLoc loc);

template <class T, class V>
constexpr bool fits(V value) {
  if constexpr (std::is_same_v<V, bool>)
    return true;
  else
    return std::in_range<T>(value);
}

// What a launch takes for a scalar or a compile-time constant: any number that has the same value in the parameter's
// type. It records the caller's line.
template <class T>
class ScalarArg {
 public:
  template <class V>
  requires(std::same_as<V, T>) ScalarArg(V value, SourceLoc loc = SourceLoc::here())
      : value_(value), loc_(loc) {}  // NOLINT: implicit on purpose
  template <class V>
  requires(!std::same_as<V, T> && std::is_integral_v<T> && !std::same_as<T, bool> && std::is_integral_v<V>)
      ScalarArg(V value, SourceLoc loc = SourceLoc::here())
      : value_(static_cast<T>(value)), loc_(loc) {  // NOLINT
    if (!fits<T>(value)) scalar_out_of_range(std::to_string(value), name_of(integer_dtype<T>()), loc);
  }
  template <class V>
  requires(!std::same_as<V, T> && ElementType<T> && !std::is_integral_v<T> && std::is_arithmetic_v<V>)
      ScalarArg(V value, SourceLoc loc = SourceLoc::here())  // NOLINT
      : value_(static_cast<T>(static_cast<float>(value))), loc_(loc) {}

  Argument argument() const {
    Argument result;
    result.pointer.loc = loc_;
    if constexpr (std::is_same_v<T, float>) {
      result.integer = std::bit_cast<std::uint32_t>(value_);
    } else if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>) {  // a narrow float: its bits
      result.integer = value_.bits;
    } else {
      result.integer = static_cast<std::int64_t>(value_);
    }
    return result;
  }

 private:
  T value_;
  SourceLoc loc_;
};

template <class H>
struct LaunchArgument {
  using type = ScalarArg<H>;
};
template <class T>
struct LaunchArgument<PtrArg<T>> {
  using type = PtrArg<T>;
};

template <class T>
Argument to_argument(const ScalarArg<T>& value) {
  return value.argument();
}
template <class T>
Argument to_argument(const PtrArg<T>& pointer) {
  Argument result;
  result.pointer = pointer.value();
  return result;
}

struct NoConfig {};
template <class S>
concept HasConfig = requires {
  typename S::Config;
};
template <class S>
concept HasSpace = HasConfig<S> && requires {
  S::space().configs();
};
template <class S>
struct ConfigType {
  using type = NoConfig;
};
template <HasConfig S>
struct ConfigType<S> {
  using type = typename S::Config;
};
template <class S>
using ConfigOf = typename ConfigType<S>::type;

template <class S>
Program empty_program(SourceLoc loc) {
  static_assert(!HasConfig<S> || std::constructible_from<S, ConfigOf<S>>,
                "a script with a Config needs a constructor that takes it: explicit S(Config c) : config(c) {}");
  Program program;
  program.name = type_name<S>();
  program.loc = loc;
  program.params = param_infos<S>();
  return program;
}
template <class S>
void add_candidate(Program& program, std::string text, S script) {
  program.candidates.push_back(
      {std::move(text), [script = std::move(script), loc = program.loc](std::span<const std::int64_t> constants) {
         return trace<S>(script, constants, loc);
       }});
}
template <class S>
Program script_program(S script, SourceLoc loc) {
  Program program = empty_program<S>(loc);
  add_candidate(program, {}, std::move(script));
  return program;
}
template <class S>
Program space_program(const Space<ConfigOf<S>>& space, SourceLoc loc) {
  Program program = empty_program<S>(loc);
  for (const auto& config : space.configs()) add_candidate(program, space.text(config), S(config));
  return program;
}
template <class S>
Program config_program(const ConfigOf<S>& config, SourceLoc loc) {
  Program program = empty_program<S>(loc);
  std::string text;
  if constexpr (HasSpace<S>) text = S::space().text(config);
  add_candidate(program, std::move(text), S(config));
  return program;
}
template <class S>
Program default_program(SourceLoc loc) {
  if constexpr (HasSpace<S>) {
    return space_program<S>(S::space(), loc);
  } else if constexpr (HasConfig<S>) {
    return config_program<S>({}, loc);
  } else {
    static_assert(std::default_initializable<S>, "pass the script: Kernel<S> kernel(S(...))");
    return script_program<S>(S{}, loc);
  }
}

}  // namespace detail

// Kernel<MyScript> kernel;                        the whole Space of the script (or its default Config)
// Kernel<MyScript> kernel{{.block_m = 64}};       one Config
// Kernel<MyScript> kernel(space);                 another Space<MyScript::Config>
// Kernel<MyScript> kernel(MyScript(...));         a script without a Config
//
// Calling it launches. The first call with new values of the compile-time constants (or on another device) traces,
// compiles and tunes, or takes all of that from the cache; the first call with run-time integers of another size bucket
// tunes among the compiled candidates. A bucket holds the values of which each rounds up to the same power of two.
// Later calls launch. One object may be used from several threads.
template <class S, class Host = detail::HostArguments<S>>
class Kernel;

template <class S, class... H>
class Kernel<S, std::tuple<H...>> {
 public:
  using Config = detail::ConfigOf<S>;

  explicit Kernel(SourceLoc loc = SourceLoc::here()) : impl_(detail::default_program<S>(loc)) {}
  explicit Kernel(Config config, SourceLoc loc = SourceLoc::here()) requires(detail::HasConfig<S>)
      : impl_(detail::config_program<S>(config, loc)) {}
  explicit Kernel(const Space<Config>& space, SourceLoc loc = SourceLoc::here()) requires(detail::HasConfig<S>)
      : impl_(detail::space_program<S>(space, loc)) {}
  explicit Kernel(S script, SourceLoc loc = SourceLoc::here()) requires(!detail::HasConfig<S>)
      : impl_(detail::script_program<S>(std::move(script), loc)) {}

  // Launches on the device and the stream of this object. Asynchronous on a GPU; returns when done on the simulated
  // device. Scalars and constants take any number that the parameter's type holds, pointers take a Buffer<T>, a
  // Buffer<T>::from, a T*, or (on the simulated device) a std::span<T> or std::vector<T>.
  void operator()(typename detail::LaunchArgument<H>::type... arguments) {
    run({detail::to_argument(arguments)...}, device_, stream_);
  }
  template <class... A>
  requires(!std::is_invocable_v<void (*)(typename detail::LaunchArgument<H>::type...), A...>) void operator()(A&&...) {
    static_assert(sizeof...(A) == sizeof...(H),
                  "this call has another number of arguments than the script's operator() has parameters");
    static_assert(sizeof...(A) != sizeof...(H) || detail::always_false<S>,
                  "an argument of this call does not fit its parameter: an Int32 (or int) takes an integer, a Float32 "
                  "a number, a Ptr<T> a Buffer<T>, a T* or host memory of the same T");
  }

  // As a call, with options of its own.
  void launch(const LaunchOptions& options, typename detail::LaunchArgument<H>::type... arguments) {
    run({detail::to_argument(arguments)...}, options.device ? options.device : device_, options.stream);
  }
  // Everything but the launch: traces, compiles and tunes for these arguments, and checks them.
  void compile(typename detail::LaunchArgument<H>::type... arguments) {
    const std::array<detail::Argument, sizeof...(H)> flat = {detail::to_argument(arguments)...};
    impl_.prepare(flat, device_ ? &*device_ : nullptr);
  }

  // The device (otherwise that of the buffers, or Device::best() if no argument is a buffer) and the stream of calls.
  Kernel& on(Device device) {
    device_ = std::move(device);
    return *this;
  }
  // Refers to the stream: it has to live as long as it is used here.
  Kernel& stream(const StreamArg& stream) {
    stream_ = stream;
    return *this;
  }

  // When and for how long the candidates of later first calls are measured (tessera/runtime/tuning.hpp).
  Kernel& tuning(const Tuning& tuning, SourceLoc loc = SourceLoc::here()) {
    impl_.tuning(tuning, loc);
    return *this;
  }
  // Returns when nothing is tuned in the background any more.
  void wait_for_tuning() { impl_.wait_for_tuning(); }

  // What the last call (or compile) chose, and why. Empty before.
  Report report() const { return impl_.report(); }

  // For the library itself.
  detail::KernelImpl& impl() { return impl_; }
  const Device* device() const { return device_ ? &*device_ : nullptr; }

 private:
  void run(const std::array<detail::Argument, sizeof...(H)>& arguments, const std::optional<Device>& device,
           const StreamArg& stream) {
    impl_.launch(arguments, device ? &*device : nullptr, stream);
  }

  detail::KernelImpl impl_;
  std::optional<Device> device_;
  StreamArg stream_;
};

}  // namespace tessera
