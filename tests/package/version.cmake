# One version everywhere, and which versions find_package() takes for which.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
string(REPLACE . ";" parts ${VERSION})
list(GET parts 0 major)
list(GET parts 1 minor)
list(GET parts 2 patch)

file(READ ${STAGE}/include/tessera/version.hpp header)
foreach(part major minor patch)
  expect("int version_${part} = ${${part}};" "${header}")
endforeach()
file(GLOB pc_files ${STAGE}/${LIBDIR}/pkgconfig/*.pc)
foreach(pc_file ${pc_files})
  file(READ ${pc_file} text)
  expect("\nVersion: ${VERSION}\n" "${text}")
endforeach()

# find(version): configures a project that asks for that version.
set(languages NONE)
set(kind shared)
if(NOT SHARED)
  set(languages CXX)  # the archive asks for threads, which is a question to a compiler
  set(kind static)
endif()
file(WRITE ${WORK_DIR}/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)\nproject(ask ${languages})\n
set(CMAKE_SIZEOF_VOID_P 8)\nfind_package(tessera \${ASKED} REQUIRED COMPONENTS \${COMPONENTS})\nmessage(STATUS \"found \${tessera_VERSION}\")\n")
set(ask ${CMAKE_COMMAND} -S ${WORK_DIR} -G Ninja -DCMAKE_PREFIX_PATH=${STAGE} -DCMAKE_CXX_COMPILER=${CXX}
        -DCOMPONENTS=${kind})
math(EXPR next_minor "${minor} + 1")
math(EXPR next_patch "${patch} + 1")
math(EXPR next_major "${major} + 1")
foreach(good ${major}.${minor} ${VERSION} "${VERSION}\;EXACT")
  run(${ask} -B good "-DASKED=${good}")
  expect("found ${VERSION}" "${output}")
endforeach()
foreach(bad ${major}.${next_minor} ${major}.${minor}.${next_patch} ${next_major}.0)
  fails("compatible with requested version" ${ask} -B bad -DASKED=${bad})
endforeach()
fails("has no not_there library" ${ask} -B bad -DASKED=${VERSION} "-DCOMPONENTS=${kind}\;not_there")
