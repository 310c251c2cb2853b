# Stages an installation under WORK_DIR, makes a project of SOURCE_DIR's CMakeLists.txt and the program MAIN there, builds it
# against the installation and runs it.
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/stage)
file(COPY ${SOURCE_DIR}/CMakeLists.txt ${MAIN} DESTINATION ${WORK_DIR}/consumer)
run(${CMAKE_COMMAND} -S ${WORK_DIR}/consumer -B ${WORK_DIR}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK_DIR}/stage
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${BUILD_TYPE})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
set(ENV{TESSERA_CACHE_DIR} ${WORK_DIR}/cache)
run(${WORK_DIR}/build/consumer)
