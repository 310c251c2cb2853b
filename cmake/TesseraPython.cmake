# Kernels for Python, in this tree, in a project that has it as a part, and after find_package(tessera).
#   tessera_python_kernel(my_kernels my_kernels.cpp): the module `my_kernels`, whose source includes <tessera/python.hpp>.
# Needs the headers of a Python and of pybind11 (Debian: python3-dev, pybind11-dev), which are looked for when it is called and not
# before. Python3_EXECUTABLE chooses the Python that the module is for, TESSERA_PYBIND11_INCLUDE the folder that holds pybind11/.

# tessera_find_python(problem): sets Python3_EXECUTABLE, Python3_INCLUDE_DIRS, Python3_SOABI and TESSERA_PYBIND11_INCLUDE; `problem` is
# what is missing and how to get it, or empty.
function(tessera_find_python problem)
  set(${problem} "" PARENT_SCOPE)
  if(NOT Python3_EXECUTABLE AND Python_EXECUTABLE)
    set(Python3_EXECUTABLE ${Python_EXECUTABLE})  # what a project has found that looks for "Python"
  elseif(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python3_EXECUTABLE /usr/bin/python3)  # the one that Debian's headers and modules belong to, whatever the PATH says
  endif()
  find_package(Python3 COMPONENTS Interpreter Development.Module QUIET)
  if(NOT Python3_Interpreter_FOUND)
    set(${problem} "there is no Python 3 at '${Python3_EXECUTABLE}': set Python3_EXECUTABLE to the one that the module is for" PARENT_SCOPE)
    return()
  elseif(NOT Python3_Development.Module_FOUND)
    set(${problem} "the headers of ${Python3_EXECUTABLE} are not found (Python.h): install them (Debian: python3-dev), or set \
Python3_EXECUTABLE to a Python that has them" PARENT_SCOPE)
    return()
  endif()
  if(NOT TESSERA_PYBIND11_INCLUDE)  # that Python may have it as a package of its own
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import pybind11; print(pybind11.get_include())" OUTPUT_VARIABLE package
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_path(TESSERA_PYBIND11_INCLUDE pybind11/pybind11.h HINTS ${pybind11_INCLUDE_DIRS} ${pybind11_INCLUDE_DIR} ${package})
  mark_as_advanced(TESSERA_PYBIND11_INCLUDE)
  if(NOT TESSERA_PYBIND11_INCLUDE)
    set(${problem} "pybind11 is not found (pybind11/pybind11.h): install it (Debian: pybind11-dev), or set TESSERA_PYBIND11_INCLUDE to \
the folder that holds pybind11/" PARENT_SCOPE)
  elseif(NOT EXISTS ${TESSERA_PYBIND11_INCLUDE}/pybind11/pybind11.h)
    set(${problem} "TESSERA_PYBIND11_INCLUDE is ${TESSERA_PYBIND11_INCLUDE}, where there is no pybind11/pybind11.h: give the folder that \
holds pybind11/" PARENT_SCOPE)
  endif()
  foreach(variable Python3_EXECUTABLE Python3_INCLUDE_DIRS Python3_SOABI)
    set(${variable} "${${variable}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(tessera_python_kernel name)
  if(NOT ARGN)
    message(FATAL_ERROR "tessera_python_kernel(${name}): name the sources of the module: tessera_python_kernel(${name} ${name}.cpp)")
  endif()
  tessera_find_python(problem)
  if(problem)
    message(FATAL_ERROR "tessera_python_kernel(${name}): ${problem}")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} SYSTEM PRIVATE ${Python3_INCLUDE_DIRS} ${TESSERA_PYBIND11_INCLUDE})
  target_link_libraries(${name} PRIVATE tessera::tessera)
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".${Python3_SOABI}.so" CXX_VISIBILITY_PRESET hidden)
endfunction()
