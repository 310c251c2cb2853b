# The project of README.md, against the installation, with the library of KIND: its CMakeLists.txt as it is, and the choice from
# outside; then once more with the kind as the only component.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(is_shared FALSE)
set(choice "")
if(KIND STREQUAL "shared")
  set(is_shared TRUE)
  set(choice -Dtessera_USE_SHARED=ON)
endif()
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer/CMakeLists.txt ${example} DESTINATION ${WORK_DIR}/consumer)
set(options -G Ninja -DCMAKE_PREFIX_PATH=${STAGE} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
            "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} -S consumer -B build ${options} ${choice})
run(${CMAKE_COMMAND} --build build)
runs_right(${WORK_DIR}/build/consumer)
needs(${WORK_DIR}/build/consumer ${is_shared})

# By component. fmt is what the archive is made with: whoever wants the shared library alone does not look for it.
file(READ ${WORK_DIR}/consumer/CMakeLists.txt text)
string(REPLACE "find_package(tessera REQUIRED)" "find_package(tessera REQUIRED COMPONENTS ${KIND})
get_target_property(linked tessera::tessera INTERFACE_LINK_LIBRARIES)
message(STATUS \"linked: \${linked}; fmt: \${fmt_FOUND}.\")" text "${text}")
file(WRITE ${WORK_DIR}/component/CMakeLists.txt "${text}")
file(COPY ${example} DESTINATION ${WORK_DIR}/component)
run(${CMAKE_COMMAND} -S component -B build_component ${options})
expect("linked: tessera::${KIND}" "${output}")
if(is_shared)
  expect("fmt: [.]" "${output}")
endif()
