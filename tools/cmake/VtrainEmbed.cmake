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
  # Clang warns of strings longer than the 64 KB that every compiler must take.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${output})
endfunction()

# vtrain_embed_files(TARGET FUNCTION FILE...): compiles the bytes of every FILE into TARGET, as
#
#     std::span<const vtrain::EmbeddedFile> vtrain::embedded::FUNCTION();
#
# in the order of the files, by their names without the extension.
function(vtrain_embed_files target function)
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    string(MAKE_C_IDENTIFIER ${function}_${name} symbol)
    vtrain_embed_file(${target} ${file} ${symbol})
    string(APPEND declarations "extern const std::string_view ${symbol};\n")
    string(APPEND entries "      {\"${name}\", ${symbol}},\n")
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${function}.cpp)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "// Generated.
#include <span>

#include \"core/io/embedded_file.hpp\"
namespace vtrain::embedded {
@declarations@std::span<const EmbeddedFile> @function@();
std::span<const EmbeddedFile> @function@() {
  static const EmbeddedFile files[] = {
@entries@  };
  return files;
}
}  // namespace vtrain::embedded
")
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
