# A Python module of a project's own, against the installation, with the library of KIND: built, imported and used. Then what is said
# where something for it is missing.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(options -G Ninja -DCMAKE_PREFIX_PATH=${STAGE} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
            "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
set(is_shared FALSE)
if(KIND STREQUAL "shared")
  set(is_shared TRUE)
  list(APPEND options -Dtessera_USE_SHARED=ON)
endif()
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer_python/ ${SOURCE_DIR}/tests/python/own_kernels.cpp DESTINATION ${WORK_DIR}/consumer)
run(${CMAKE_COMMAND} -S consumer -B build ${options} -DPython3_EXECUTABLE=${PYTHON})
run(${CMAKE_COMMAND} --build build --verbose)
if(output MATCHES "${SOURCE_DIR}/(include|src)/?[ \n]")
  message(FATAL_ERROR "headers of the tree are used, not those of the installation:\n${output}")
endif()
file(GLOB module ${WORK_DIR}/build/own_kernels.*.so)
needs("${module}" ${is_shared})
run(${CMAKE_COMMAND} -E env PYTHONPATH=${WORK_DIR}/build ${PYTHON} ${WORK_DIR}/consumer/use.py)
expect("0 wrong, from ${WORK_DIR}/build/" "${output}")

# write_project(name text): a project whose last lines are `text`.
function(write_project name text)
  file(WRITE ${WORK_DIR}/${name}/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES CXX)
find_package(tessera REQUIRED)
${text}
")
endfunction()

# Whoever builds no module needs no Python.
write_project(none "message(STATUS \"Python: '\${Python3_FOUND}\${Python3_EXECUTABLE}', pybind11: '\${TESSERA_PYBIND11_INCLUDE}'\")")
run(${CMAKE_COMMAND} -S none -B build_none ${options})
expect("Python: '', pybind11: ''" "${output}")

# refused(name regex text options...)
function(refused name regex text)
  write_project(${name} "${text}")
  fails("${regex}" ${CMAKE_COMMAND} -S ${name} -B build_${name} ${options} ${ARGN})
endfunction()
set(module "tessera_python_kernel(mine ../consumer/own_kernels.cpp)")
refused(no_source "tessera_python_kernel.mine.: name the sources of the module: tessera_python_kernel.mine mine.cpp."
        "tessera_python_kernel(mine)")
refused(no_python "tessera_python_kernel.mine.: there is no Python 3 at '/nonexistent/python3': set Python3_EXECUTABLE"
        "${module}" -DPython3_EXECUTABLE=/nonexistent/python3)
refused(wrong_pybind11 "mine.: TESSERA_PYBIND11_INCLUDE is /nonexistent, where there is no pybind11/pybind11.h"
        "${module}" -DPython3_EXECUTABLE=${PYTHON} -DTESSERA_PYBIND11_INCLUDE=/nonexistent)
# As on a machine without it: a Python that has no such package, and folders in which nothing is found.
set(bare "foreach(path CMAKE_PATH CMAKE_ENVIRONMENT_PATH CMAKE_SYSTEM_PATH SYSTEM_ENVIRONMENT_PATH)
  set(CMAKE_FIND_USE_\${path} OFF)
endforeach()
${module}")
file(WRITE ${WORK_DIR}/python3 "#!/bin/sh\nexec ${PYTHON} -S -E \"$@\"\n")
file(CHMOD ${WORK_DIR}/python3 PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
refused(no_pybind11 "mine.: pybind11 is not found .pybind11/pybind11.h.: install it .Debian: pybind11-dev., or set TESSERA_PYBIND11_INCLUDE"
        "${bare}" -DPython3_EXECUTABLE=${WORK_DIR}/python3)
# There, but as a package of the Python alone.
file(WRITE ${WORK_DIR}/packages/pybind11/__init__.py "def get_include(): return '${WORK_DIR}/packages/headers'\n")
file(WRITE ${WORK_DIR}/packages/headers/pybind11/pybind11.h "")
write_project(package "${bare}")
run(${CMAKE_COMMAND} -E env PYTHONPATH=${WORK_DIR}/packages ${CMAKE_COMMAND} -S package -B build_package ${options}
    -DPython3_EXECUTABLE=${PYTHON})
run(${CMAKE_COMMAND} -LA -N build_package)
expect("TESSERA_PYBIND11_INCLUDE:PATH=${WORK_DIR}/packages/headers" "${output}")
