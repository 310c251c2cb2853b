# The shared library. Its interface is written into a version script (cmake/ExportMap.cmake says what and why), so that public
# headers need no macro for it. The objects are those of the archive: everything has default visibility, which is what
# lets the typeinfo of tessera::Error and inline variables be one for the program and the library, and the script alone hides.
set(node TESSERA_${TESSERA_ABI})
set(map ${CMAKE_CURRENT_BINARY_DIR}/tessera.map)
add_custom_command(
  OUTPUT ${map}
  COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DARCHIVE=$<TARGET_FILE:tessera> -DNODE=${node} -DOUTPUT=${map}
          -P ${PROJECT_SOURCE_DIR}/cmake/ExportMap.cmake
  DEPENDS tessera ${PROJECT_SOURCE_DIR}/cmake/ExportMap.cmake
  COMMENT "Listing the public names"
  VERBATIM)

tessera_library(tessera_shared SHARED ${map})
add_library(tessera::shared ALIAS tessera_shared)
# What it is linked with stays its own affair: users neither link nor find it.
foreach(library ${TESSERA_LINKED} Threads::Threads)
  target_link_libraries(tessera_shared PRIVATE $<BUILD_INTERFACE:${library}>)
endforeach()
target_link_libraries(tessera_shared PRIVATE ${CMAKE_DL_LIBS})
# -Bsymbolic-functions: calls inside the library stay inside, also where a program has the archive as well; objects are
# still looked up, so that there is one of each.
target_link_options(tessera_shared PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic-functions -Wl,--no-undefined)
set_target_properties(tessera_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${TESSERA_ABI} EXPORT_NAME shared
                                                LINK_DEPENDS ${map})
