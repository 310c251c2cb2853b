# No CMake: COMPILER with what pkg-config says, linked with the shared library, with the archive by its own name, and with the
# archive by --static where there is no other library.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

# ask(result folder arguments...): what pkg-config says of the installation in `folder`, as a list.
function(ask result folder)
  set(ENV{PKG_CONFIG_PATH} ${folder}/${LIBDIR}/pkgconfig)
  run(${PKG_CONFIG} ${ARGN})
  separate_arguments(output UNIX_COMMAND "${output}")
  set(${result} ${output} PARENT_SCOPE)
endfunction()

set(ENV{PKG_CONFIG_PATH} ${STAGE}/${LIBDIR}/pkgconfig)
ask(cflags ${STAGE} --cflags tessera-static)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
run(${COMPILER} -std=c++20 ${flags} ${cflags} -c ${example} -o main.o)

ask(libs ${STAGE} --libs tessera-static)
run(${COMPILER} ${flags} main.o -o static ${libs})
needs(${WORK_DIR}/static FALSE)
runs_right(${WORK_DIR}/static)

if(SHARED)
  ask(libs ${STAGE} --libs tessera)
  if(libs MATCHES "fmt")
    message(FATAL_ERROR "the shared library is enough to link with, and pkg-config adds: ${libs}")
  endif()
  run(${COMPILER} ${flags} main.o -o shared ${libs} -Wl,-rpath,${STAGE}/${LIBDIR})
  needs(${WORK_DIR}/shared TRUE)
  runs_right(${WORK_DIR}/shared)

  file(MAKE_DIRECTORY ${WORK_DIR}/archive/${LIBDIR})
  file(COPY ${STAGE}/${LIBDIR}/libtessera.a ${STAGE}/${LIBDIR}/pkgconfig DESTINATION ${WORK_DIR}/archive/${LIBDIR})
  ask(libs ${WORK_DIR}/archive --static --libs tessera)
  run(${COMPILER} ${flags} main.o -o static_option ${libs})
  needs(${WORK_DIR}/static_option FALSE)
  runs_right(${WORK_DIR}/static_option)
  ask(libs ${WORK_DIR}/archive --libs tessera)
  fails("undefined (reference|symbol)" ${COMPILER} ${flags} main.o -o no_option ${libs})
endif()
