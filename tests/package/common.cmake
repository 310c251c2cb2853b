# Shared by the scripts of this folder. Each gets BUILD_DIR (this build), SOURCE_DIR (the tree), WORK_DIR (its own folder, emptied
# here), STAGE (an installation, where there is one yet), CXX and what else its test names.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
set(ENV{TESSERA_CACHE_DIR} ${WORK_DIR}/cache)
set(example ${SOURCE_DIR}/examples/vector_add/main.cpp)

# run(command...): has to succeed. Sets `output`, standard output and error together.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(status)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${text}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

# fails(regex command...): has to fail and to say why.
function(fails regex)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  list(JOIN ARGN " " command)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  if(NOT status)
    message(FATAL_ERROR "succeeded, and should not have: ${command}\n${text}")
  elseif(NOT text MATCHES "${regex}")
    message(FATAL_ERROR "does not say '${regex}': ${command}\n${text}")
  endif()
endfunction()

function(expect regex text)
  if(NOT text MATCHES "${regex}")
    message(FATAL_ERROR "'${regex}' is not in\n${text}")
  endif()
endfunction()

# runs_right(program): the example, and its sum is right.
function(runs_right program)
  run(${program})
  expect("vector_add of 100003 elements on .*: 0 wrong" "${output}")
endfunction()

# needs(program TRUE|FALSE): whether it is linked with the shared library.
function(needs program wanted)
  run(${READELF} -d ${program})
  set(found FALSE)
  if(output MATCHES "NEEDED[^\n]*libtessera[.]so[.]")
    set(found TRUE)
  endif()
  if(NOT found STREQUAL wanted)
    message(FATAL_ERROR "${program}: is the shared library needed? expected ${wanted}, found ${found}")
  endif()
endfunction()
