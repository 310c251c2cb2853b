// A few lines make a kernel callable from Python, on tensors of any library that speaks DLPack (PyTorch, NumPy, CuPy):
//
//   #include <tessera/python.hpp>
//   PYBIND11_MODULE(my_kernels, m) {
//     tessera::python::register_errors(m);
//     tessera::python::add_kernel<VectorAdd>(m, "vector_add", "c = a + b");
//   }
//
// Needs pybind11, and is included by nothing else of the library.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/runtime/dlpack.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::python {

namespace py = pybind11;

// tessera.Error, and ValueError for what the caller did wrong. Once a module.
inline void register_errors(py::module_& m) {
  static PyObject* error = nullptr;
  if (error == nullptr) error = py::exception<Error>(m, "Error", PyExc_RuntimeError).release().ptr();
  m.attr("Error") = py::reinterpret_borrow<py::object>(error);
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& e) {
      PyErr_SetString(e.kind() == ErrorKind::user ? PyExc_ValueError : error, e.what());
    }
  });
}

// The line of the Python program that is running.
inline SourceLoc caller() {
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  if (frame == nullptr) return {};
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const auto keep = [](const py::object& text) {  // for ever, as the names in the program itself
    static auto& texts = *new std::set<std::string>;
    return texts.insert(py::cast<std::string>(text)).first->c_str();
  };
  return {keep(code.attr("co_filename")), keep(code.attr("co_name")),
          static_cast<std::uint32_t>(PyFrame_GetLineNumber(frame))};
}

inline bool is_torch(const py::handle& object) {
  const std::string module = py::cast<std::string>(py::type::of(object).attr("__module__"));
  return module == "torch" || module.rfind("torch.", 0) == 0;
}

// PyTorch does not hand out all of its types by DLPack: of its 8-bit floats the bytes are taken.
inline DlpackTensor take_tensor(const py::handle& object, SourceLoc loc);
inline std::optional<DType> float8_of_torch(const py::handle& object) {
  if (!is_torch(object) || py::cast<int>(object.attr("element_size")()) != 1) return {};
  const std::string name = py::cast<std::string>(py::str(object.attr("dtype")));
  if (name == "torch.float8_e4m3fn") return DType::f8e4m3;
  if (name == "torch.float8_e5m2") return DType::f8e5m2;
  return {};
}

// Takes a tensor over. `stream` is what the producer is told of ours: -1 where it runs on the same one.
inline DlpackTensor take_tensor(const py::handle& object, SourceLoc loc) {
  if (!py::hasattr(object, "__dlpack__")) {
    throw py::type_error("a tensor with __dlpack__ is wanted (PyTorch, NumPy, CuPy, ...), but this is a " +
                         py::cast<std::string>(py::type::of(object).attr("__name__")));
  }
  if (const std::optional<DType> float8 = float8_of_torch(object)) {
    const py::object bytes = object.attr("view")(py::module_::import("torch").attr("uint8"));
    return take_tensor(bytes, loc).as(*float8, loc);
  }
  const bool gpu = py::cast<int>(object.attr("__dlpack_device__")().cast<py::tuple>()[0]) == dlpack::cuda;
  py::object capsule =
      gpu ? object.attr("__dlpack__")(py::arg("stream") = -1) : py::object(object.attr("__dlpack__")());
  constexpr const char *plain = "dltensor", *versioned = "dltensor_versioned";
  if (PyCapsule_IsValid(capsule.ptr(), versioned) != 0) {
    auto* managed = static_cast<dlpack::DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), versioned));
    DlpackTensor tensor = from_dlpack(managed, loc);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    return tensor;
  }
  auto* managed = static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), plain));
  if (managed == nullptr) throw py::error_already_set();
  DlpackTensor tensor = from_dlpack(managed, loc);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return tensor;
}

// The stream of a call: what the caller says, else PyTorch's current one of the tensor's device, else the default one.
inline void* stream_of(const py::object& given, const py::handle& tensor, const DlpackTensor& taken) {
  if (!given.is_none()) return reinterpret_cast<void*>(py::cast<std::uintptr_t>(given));
  if (!taken.device() || !is_torch(tensor)) return nullptr;
  const py::object current = py::module_::import("torch").attr("cuda").attr("current_stream");
  return reinterpret_cast<void*>(py::cast<std::uintptr_t>(current(taken.device()->ordinal()).attr("cuda_stream")));
}

namespace detail {

// The tensors of a call, which live until it returns. On a GPU they are still in use then, by a stream on which their
// owner works as well.
struct Tensors {
  SourceLoc loc;
  py::object stream;
  std::vector<DlpackTensor> taken;
  void* handle = nullptr;
  bool placed = false;  // a tensor on a GPU has settled the stream
};

template <class T>
tessera::detail::Argument argument(const py::handle& value, std::type_identity<PtrArg<T>>, Tensors& tensors) {
  tessera::detail::Argument result;
  tensors.taken.push_back(take_tensor(value, tensors.loc));
  const DlpackTensor& tensor = tensors.taken.back();
  result.pointer = tensor.pointer<T>(tensors.loc).value();
  if (!tensors.placed && tensor.device()) {
    tensors.handle = stream_of(tensors.stream, value, tensor);
    tensors.placed = true;
  }
  return result;
}
template <class T>
tessera::detail::Argument argument(const py::handle& value, std::type_identity<T>, Tensors& tensors) {
  if constexpr (std::is_enum_v<T>) {
    using Number = std::underlying_type_t<T>;
    return argument(value, std::type_identity<Number>{}, tensors);
  } else if constexpr (std::is_same_v<T, bool>) {
    return tessera::detail::ScalarArg<T>(py::cast<bool>(value), tensors.loc).argument();
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return tessera::detail::ScalarArg<T>(py::cast<Wide>(value), tensors.loc).argument();
  } else {
    return tessera::detail::ScalarArg<T>(py::cast<double>(value), tensors.loc).argument();
  }
}

template <class S, class... H, std::size_t... I>
void call(Kernel<S, std::tuple<H...>>& kernel, const py::args& args, const py::object& stream,
          std::index_sequence<I...>) {
  if (args.size() != sizeof...(H)) {
    throw py::type_error("this kernel takes " + std::to_string(sizeof...(H)) + " arguments, not " +
                         std::to_string(args.size()));
  }
  Tensors tensors{caller(), stream, {}, nullptr, false};
  tensors.taken.reserve(sizeof...(H));
  std::array<tessera::detail::Argument, sizeof...(H)> flat = {argument(args[I], std::type_identity<H>{}, tensors)...};
  for (tessera::detail::Argument& one : flat) one.pointer.loc = tensors.loc;
  const py::gil_scoped_release others;
  kernel.impl().launch(flat, kernel.device(), tensors.handle);
}

template <class S, class... H>
void add(py::module_& m, const char* name, std::shared_ptr<Kernel<S, std::tuple<H...>>> kernel, const char* text) {
  m.def(
      name,
      [kernel](const py::args& args, const py::object& stream) {
        call(*kernel, args, stream, std::index_sequence_for<H...>{});
      },
      py::arg("stream") = py::none(), text);
}

}  // namespace detail

// Adds a function to the module that launches the kernel. Its arguments are those of the script: numbers, and for each
// Ptr<T> a contiguous tensor. Tensors in host memory run on the simulated Hopper; those on a GPU on their device, on
// PyTorch's current stream or the one given by `stream=` (an integer). Everything after `name` is passed to Kernel<S>.
template <class S, class... K>
void add_kernel(py::module_& m, const char* name, const char* text, K&&... how) {
  detail::add(m, name, std::make_shared<Kernel<S>>(std::forward<K>(how)...), text);
}

}  // namespace tessera::python
