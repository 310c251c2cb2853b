# What makes a build of this tree quicker or sturdier and is used only where the machine has it.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(TESSERA_CCACHE ccache)
mark_as_advanced(TESSERA_CCACHE)
if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TESSERA_CCACHE})
endif()

find_program(TESSERA_MOLD mold)
find_program(TESSERA_LLD ld.lld)
mark_as_advanced(TESSERA_MOLD TESSERA_LLD)
if(TESSERA_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(TESSERA_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# Colours survive ninja's pipe when a person watches.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fdiagnostics-color=auto>)
