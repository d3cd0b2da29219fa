# vtrain_embed_file(TARGET FILE SYMBOL): compiles the bytes of FILE into TARGET, as
#
#   namespace vtrain::embedded { extern const std::string_view SYMBOL; }
#
# The code that uses it writes that declaration itself. The bytes are exact (NUL bytes included) and live as long as the
# program; the view is initialised at compile time, so it may be used during static initialisation. FILE is relative to the
# current source folder, or an absolute path, which may be the output of a custom command of the same folder. It is read at build
# time: a changed FILE is embedded anew without configuring again. 1 MB takes about a second.
function(vtrain_embed_file target file symbol)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE input)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DSYMBOL=${symbol} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${input} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${file}"
    VERBATIM)
  # 64 KiB is what compilers must support; both of ours take far more.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # A string of escapes compiles many times faster than an array of numbers, and needs no care for any byte.
  file(READ ${INPUT} bytes HEX)
  string(LENGTH "${bytes}" num_bytes)
  math(EXPR num_bytes "${num_bytes} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" escapes "${bytes}")
  file(WRITE ${OUTPUT} "// Generated from ${INPUT}.
#include <string_view>
namespace vtrain::embedded {
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL}(\"${escapes}\", ${num_bytes});
}  // namespace vtrain::embedded
")
endif()
