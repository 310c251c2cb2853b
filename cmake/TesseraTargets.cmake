# Helpers that give every target the same language level, warnings and include folders.

# A newer compiler warns of more: in somebody else's project that must not end the build.
option(TESSERA_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})

add_library(tessera_flags INTERFACE)
target_compile_features(tessera_flags INTERFACE cxx_std_20)
target_compile_options(tessera_flags INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${TESSERA_WERROR}>:-Werror>
                                               -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror=unused-result)
target_compile_options(tessera_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Werror=reorder-init-list>)
# g++ 12 sees overlapping copies in std::string's own operator+ (GCC bug 105651).
target_compile_options(tessera_flags INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
# g++ takes every source that a unity build includes for a header, whose classes must not have members of an unnamed namespace.
target_compile_options(tessera_flags INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)
target_include_directories(tessera_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                   $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)

# What is installed names its own files relative to the tree, not where it was built.
add_library(tessera_relative_names INTERFACE)
target_compile_options(tessera_relative_names INTERFACE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

# tessera_component(name SOURCES a.cpp ... [DEPENDS other components] [LINK external libraries])
# One folder of src/: an object library, and a static library of it for the component's own tests.
function(tessera_component name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(tessera_${name}_objects OBJECT ${ARG_SOURCES})
  target_link_libraries(tessera_${name}_objects PRIVATE tessera_flags tessera_relative_names ${ARG_LINK})
  add_library(tessera_${name} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tessera_${name}_objects>)
  target_link_libraries(tessera_${name} PUBLIC tessera_flags ${ARG_LINK})
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(tessera_${name} PUBLIC tessera_${dependency})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TESSERA_OBJECTS $<TARGET_OBJECTS:tessera_${name}_objects>)
  set_property(GLOBAL APPEND PROPERTY TESSERA_LINK ${ARG_LINK})
endfunction()

# tessera_test(name SOURCES ... LINK ... [LABELS ...] [SEPARATE] [OPTIMISED]): one GoogleTest program, one ctest entry a program.
# Labels that mean something: `slow` and `package` are left out under the sanitizers, `gpu` where there is no card; `threads` is for
# programs whose code runs threads of its own, all of which the target `threaded_tests` builds and tools/tsan.sh runs. SEPARATE: the
# sources use the same names for different things or replace `operator new`, so that a unity build must not put them together.
# OPTIMISED: the program computes much itself.
function(tessera_test name)
  cmake_parse_arguments(ARG "SEPARATE;OPTIMISED" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_SEPARATE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_link_libraries(${name} PRIVATE tessera_flags ${ARG_LINK} GTest::gmock GTest::gtest_main)
  # A test program is compiled more often than it runs, and spends its time in the libraries.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize"
     OR (CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT ARG_OPTIMISED AND NOT "slow" IN_LIST ARG_LABELS))
    target_compile_options(${name} PRIVATE -O0)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if("threads" IN_LIST ARG_LABELS)
    set_property(GLOBAL APPEND PROPERTY TESSERA_THREADED_TESTS ${name})
  endif()
endfunction()
