# vtrain_source_hash(TARGET SYMBOL GLOB...): compiles into TARGET the hash of all files that match the globs, in subfolders too, as
#
#   namespace vtrain::embedded { extern const std::string_view SYMBOL; }
#
# It changes with every change of a file's content, at build time, without configuring again.
function(vtrain_source_hash target symbol)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${ARGN})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.txt)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  list(JOIN inputs "\n" lines)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}" @ONLY)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUTS=${list} -DOUTPUT=${output} -DSYMBOL=${symbol} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${inputs} ${list} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Hashing sources for ${symbol}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(STRINGS ${INPUTS} inputs)
  set(hashes "")
  foreach(input IN LISTS inputs)
    file(SHA256 ${input} hash)
    cmake_path(GET input FILENAME name)
    string(APPEND hashes "${name} ${hash}\n")
  endforeach()
  string(SHA256 hash "${hashes}")
  file(WRITE ${OUTPUT} "// Generated from the files listed in ${INPUTS}.
#include <string_view>
namespace vtrain::embedded {
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL}(\"${hash}\");
}  // namespace vtrain::embedded
")
endif()
