# Exports a matmul with the compiler stand-in, builds examples/exported_matmul with it, and runs the program on the driver
# stand-in: EXPORT (the command), NVRTC, DRIVER, EXAMPLE, BINARY_DIR; VERSION and CONFIG of the kernel.
set(ENV{TESSERA_CACHE_DIR} ${BINARY_DIR}/cache)
set(ENV{TESSERA_QUIET} 1)
set(ENV{TESSERA_NVRTC} ${NVRTC})
file(REMOVE_RECURSE ${BINARY_DIR})

function(run name code match)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  message(STATUS "${name}: ${result}\n${output}${errors}")
  if(NOT result STREQUAL code)
    message(FATAL_ERROR "${name}: exit code ${result} instead of ${code}")
  endif()
  if(NOT "${output}${errors}" MATCHES "${match}")
    message(FATAL_ERROR "${name}: nothing matches ${match}")
  endif()
endfunction()

# Two n and k: they are parameters of the launch. One: they are compiled in.
run(export 0 "n_size = 264, k_size = 200" ${EXPORT} hopper_matmul/${VERSION}/f16 --size 100 72 136 --size 300 264 200 --config ${CONFIG}
    --name several --out ${BINARY_DIR}/exported)
run(export 0 "one of MatmulTma|one of MatmulPersistent" ${EXPORT} hopper_matmul/${VERSION}/f16 --size 100 72 136 --config ${CONFIG} --name one
    --out ${BINARY_DIR}/exported)
run(configure 0 "" ${CMAKE_COMMAND} -S ${EXAMPLE} -B ${BINARY_DIR}/build -DEXPORTED=${BINARY_DIR}/exported -DCMAKE_C_FLAGS=-Werror
    -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DTESSERA_CUDA_DRIVER=${DRIVER})
run(build 0 "" ${CMAKE_COMMAND} --build ${BINARY_DIR}/build)

set(ENV{FAKE_N} 72)
set(ENV{FAKE_K} 136)
run(run 0 "wrong_elements=0\n3 launches: .* us of the host each" ${BINARY_DIR}/build/run_several 100 72 136 3 200)
run(run 0 "100 rows checked, wrong_elements=0" ${BINARY_DIR}/build/run_one 100 72 136 1 200)
run("another m" 0 "wrong_elements=0" ${BINARY_DIR}/build/run_several 77 72 136 0 50)
run("an n that was not exported" 3 "no kernel was exported for these sizes and constants" ${BINARY_DIR}/build/run_several 100 80 136)
run("wrong use" 2 "usage" ${BINARY_DIR}/build/run_several 100 72)
set(ENV{FAKE_WRONG} 1)
run("a wrong element" 1 "wrong_elements=1[^0-9]" ${BINARY_DIR}/build/run_several 100 72 136 0 100)
