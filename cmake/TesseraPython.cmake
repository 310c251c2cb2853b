# Kernels for Python. Needs pybind11's headers and those of a Python (Debian: pybind11-dev, python3-dev).
#   tessera_python_kernel(my_kernels my_kernels.cpp): the module `my_kernels`, whose source includes <tessera/python.hpp>.
# Python3_EXECUTABLE chooses the Python that the module is for.
if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)  # the one that Debian's headers and modules belong to, whatever the PATH says
endif()
find_package(Python3 COMPONENTS Interpreter Development.Module QUIET)
find_path(TESSERA_PYBIND11_INCLUDE pybind11/pybind11.h)
mark_as_advanced(TESSERA_PYBIND11_INCLUDE)

function(tessera_python_kernel name)
  if(NOT Python3_Development.Module_FOUND OR NOT TESSERA_PYBIND11_INCLUDE)
    message(FATAL_ERROR "${name}: no headers of Python or pybind11 (Debian: python3-dev, pybind11-dev)")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} SYSTEM PRIVATE ${Python3_INCLUDE_DIRS} ${TESSERA_PYBIND11_INCLUDE})
  target_link_libraries(${name} PRIVATE tessera::tessera)
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".${Python3_SOABI}.so" CXX_VISIBILITY_PRESET hidden)
endfunction()
