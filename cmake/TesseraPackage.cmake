# `cpack -G DEB` and `cpack --config CPackSourceConfig.cmake`: Debian packages of what is installed, one for each component, and an
# archive of the sources. The preset `package` builds for /usr, with the folders that Debian has there.
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "The Tessera developers")
set(CPACK_PACKAGE_CONTACT "The Tessera developers")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "Kernels are C++ classes over tiles of global, shared and register memory, traced
once, lowered, printed as CUDA C++, tuned and cached. They also run without a
GPU, on a simulated Hopper that finds races and missing waits.")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_GENERATOR DEB)

# The package of the shared library is named after what programs are bound to, so that two of them can be installed.
set(TESSERA_DEB_RUNTIME libtessera${TESSERA_ABI})
set(CPACK_COMPONENTS_ALL development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, archive, and what CMake and pkg-config read.\n${CPACK_PACKAGE_DESCRIPTION}")
set(depends "")
if(TESSERA_LINKED MATCHES "fmt::fmt")
  list(APPEND depends libfmt-dev)  # of the archive
endif()

set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
if(TESSERA_SHARED)
  list(APPEND CPACK_COMPONENTS_ALL runtime)
  list(APPEND depends "${TESSERA_DEB_RUNTIME} ${same_version}")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${TESSERA_DEB_RUNTIME})
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
  set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library.\n${CPACK_PACKAGE_DESCRIPTION}")
endif()
list(JOIN depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "python3-dev, pybind11-dev")  # for Python modules

get_property(commands GLOBAL PROPERTY TESSERA_COMMAND_TARGETS)
if(commands)
  list(APPEND CPACK_COMPONENTS_ALL tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME tessera-tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The commands.\n${CPACK_PACKAGE_DESCRIPTION}")
  if(TESSERA_SHARED)  # which no installed package has, so that dpkg-shlibdeps is told where it is and what it is called
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${TESSERA_DEB_RUNTIME} ${same_version}")
  endif()
endif()
# Every package says under which licence it is, where Debian looks for it.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianCopyright.cmake)

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME tessera-${PROJECT_VERSION})
set(CPACK_SOURCE_STRIP_FILES OFF)
string(REGEX REPLACE "([][+.*^$()?|\\\\])" "\\\\\\\\\\1" source_pattern "${PROJECT_SOURCE_DIR}")
set(CPACK_SOURCE_IGNORE_FILES "")
foreach(left_out "[.]git(/|$)" "build(-[^/]*)?(/|$)" "[.]ccache/" "[.]cache/" "compile_commands[.]json$" "CMakeUserPresets[.]json$")
  list(APPEND CPACK_SOURCE_IGNORE_FILES "^${source_pattern}/${left_out}")
endforeach()
list(APPEND CPACK_SOURCE_IGNORE_FILES "/__pycache__/" "[.]pyc$" "~$" "[.]sw.$")

include(CPack)
