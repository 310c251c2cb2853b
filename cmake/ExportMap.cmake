# Writes the version script of the shared library: the names of the public interface, one by one, and nothing else.
#   cmake -DNM=nm -DARCHIVE=libtessera.a -DNODE=TESSERA_0.1 -DOUTPUT=tessera.map -P ExportMap.cmake
# Public is what the public headers declare, which is in tessera:: itself and in tessera::detail::. Names are listed because
# patterns would have to say "all but these namespaces", which linkers resolve in different ways.
#   - Functions: those that the library alone defines. Inline ones and instances of templates are compiled into whoever uses
#     them and have to be found nowhere else.
#   - Objects: all, also those that users have copies of (typeinfo and vtables, inline variables, statics of inline functions),
#     so that program and library agree on one of them.
set(internal checker cuda exporter ir jit kernels lang layout lower passes race runtime sim support trial tune)

execute_process(COMMAND ${NM} -P -g --defined-only ${ARCHIVE} OUTPUT_FILE ${OUTPUT}.all COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${OUTPUT}.all names REGEX "^_Z(T[ISV]|GVZ?|Z)?N[A-Z]*7tessera[^ ]+ [TDBRGSVu] ")
file(REMOVE ${OUTPUT}.all)
list(TRANSFORM names REPLACE " .*" "")
set(mangled "")
foreach(namespace ${internal})
  string(LENGTH ${namespace} length)
  list(APPEND mangled ${length}${namespace})
endforeach()
list(JOIN mangled | internal)
list(FILTER names EXCLUDE REGEX "^_Z(T[ISV]|GVZ?|Z)?N[A-Z]*7tessera(${internal})[0-9a-z]")
list(SORT names)
list(REMOVE_DUPLICATES names)
list(LENGTH names count)
if(count LESS 50)
  message(FATAL_ERROR "${ARCHIVE} has ${count} public names only: are names mangled in another way here?")
endif()
list(JOIN names ";\n    " names)
file(WRITE ${OUTPUT} "${NODE} {\n  global:\n    ${names};\n  local:\n    *;\n};\n")
