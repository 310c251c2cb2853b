# What `cmake --install` puts where, by component: runtime (the shared library), development (headers, archive, what CMake and
# pkg-config read) and tools (the commands). No file says where it was installed, so that a folder can be moved as a whole.
include(CMakePackageConfigHelpers)
set(TESSERA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(staged ${PROJECT_BINARY_DIR}/cmake)

# tessera_install_library(target kind): with its own file of targets, so that a program need find only what one of them needs.
function(tessera_install_library target kind)
  install(TARGETS ${target} EXPORT tessera_${kind}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
  install(EXPORT tessera_${kind} NAMESPACE tessera:: FILE tessera-${kind}.cmake DESTINATION ${TESSERA_CMAKE_DIR}
          COMPONENT development)
endfunction()
tessera_install_library(tessera static)
if(TESSERA_SHARED)
  tessera_install_library(tessera_shared shared)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp")

# find_package(tessera 0.1): until 1.0 another minor version is another interface.
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in ${staged}/tesseraConfig.cmake
                              INSTALL_DESTINATION ${TESSERA_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${staged}/tesseraConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${staged}/tesseraConfig.cmake ${staged}/tesseraConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/TesseraPython.cmake
        DESTINATION ${TESSERA_CMAKE_DIR} COMPONENT development)

# pkg-config: `tessera` for the shared library, with `--static` for either; `tessera-static` for the archive where both are.
# The prefix is where the file itself lies.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
set(TESSERA_PC_PREFIX "\${pcfiledir}/${to_prefix}")
set(TESSERA_PC_REQUIRES "")
foreach(library ${TESSERA_LINKED})
  if(library STREQUAL "fmt::fmt")
    list(APPEND TESSERA_PC_REQUIRES fmt)
  else()
    message(FATAL_ERROR "${library} is linked: say here what pkg-config calls it")
  endif()
endforeach()
list(JOIN TESSERA_PC_REQUIRES ", " TESSERA_PC_REQUIRES)
set(pkgconfig_files tessera-static)
if(TESSERA_SHARED)
  list(APPEND pkgconfig_files tessera)
endif()
foreach(name ${pkgconfig_files})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${staged}/${name}.pc @ONLY)
  install(FILES ${staged}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

get_property(commands GLOBAL PROPERTY TESSERA_COMMAND_TARGETS)
if(commands)
  install(TARGETS ${commands} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT development)

# All that is installed, and nothing of what is not.
add_custom_target(installed)
add_dependencies(installed tessera ${commands})
if(TESSERA_SHARED)
  add_dependencies(installed tessera_shared)
endif()
