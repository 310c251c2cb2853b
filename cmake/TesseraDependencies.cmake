# The libraries that Tessera itself needs. A portable build takes the C++ run time and every library from archives or
# from headers, so that nothing but glibc is looked for at run time (the CUDA libraries are opened by name when asked for).
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)

if(TESSERA_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  if(NOT TARGET fmt::fmt)  # the distribution has no archive of fmt; its headers hold the whole library
    find_path(TESSERA_FMT_INCLUDE fmt/format-inl.h REQUIRED)
    mark_as_advanced(TESSERA_FMT_INCLUDE)
    add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
    target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
    target_include_directories(fmt::fmt INTERFACE ${TESSERA_FMT_INCLUDE})
  endif()
  add_link_options(-static-libstdc++ -static-libgcc)
elseif(NOT TARGET fmt::fmt)
  find_package(fmt REQUIRED)
endif()
