# How every target of the project is compiled, and the helper that defines a module.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without this ccache does not keep what is compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

# Warnings live here and nowhere else; the preset `dev` and those that inherit it make them errors. g++ 12 is wrong about string
# concatenation (-Wrestrict, GCC bug 105651) and about members in variants and optionals (-Warray-bounds, -Wmaybe-uninitialized); clang looks for the latter.
add_library(vtrain_warnings INTERFACE)
target_compile_options(vtrain_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wmissing-declarations>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict -Wno-array-bounds -Wno-maybe-uninitialized>)
# All presets but `tsan` compile eight files of a library together, in half the time. Such files see each other's unnamed namespaces, so
# a name stands in only one file of a folder, but for local names, which clang takes to hide another file's. The preset `tsan`, which
# `tools/test --nightly` builds, compiles each file alone, which shows that it includes what it uses.
if(CMAKE_UNITY_BUILD)
  target_compile_options(vtrain_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
endif()

add_library(vtrain_sanitizers INTERFACE)
if(VTRAIN_SANITIZERS)
  target_compile_options(vtrain_sanitizers INTERFACE
    -fsanitize=${VTRAIN_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(vtrain_sanitizers INTERFACE -fsanitize=${VTRAIN_SANITIZERS})
endif()

# vtrain_folder_library(NAME FOLDER DIR PUBLIC ... PRIVATE ...): the static library vtrain::NAME of all sources of a folder, or with
# RECURSE of all below it. NOT_INSTALLED keeps it out of the installed library. Headers are found from the project's root, as
# "module/folder/header.hpp"; where the library is installed, below include/vtrain/private. tests/layering_test.cmake checks what may
# include what.
function(vtrain_folder_library name)
  cmake_parse_arguments(arg "RECURSE;NOT_INSTALLED" "FOLDER" "PUBLIC;PRIVATE" ${ARGN})
  set(target vtrain_${name})
  if(arg_RECURSE)
    file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${arg_FOLDER}/*.cpp)
  else()
    file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${arg_FOLDER}/*.cpp)
  endif()
  add_library(${target} STATIC ${sources})
  add_library(vtrain::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/vtrain/private>)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:vtrain_warnings> $<BUILD_INTERFACE:vtrain_sanitizers>)
  if(NOT arg_NOT_INSTALLED)
    set_property(GLOBAL APPEND PROPERTY VTRAIN_LIBRARIES ${name})
  endif()
endfunction()

# vtrain_module(NAME PUBLIC ... PRIVATE ...): one library per module, of all sources below the current folder.
function(vtrain_module name)
  vtrain_folder_library(${name} FOLDER . RECURSE ${ARGN})
  set_property(GLOBAL APPEND PROPERTY VTRAIN_MODULES ${name})
endfunction()

# vtrain_program(NAME SOURCES ... LINK ...): an executable with the project's flags.
function(vtrain_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} vtrain_warnings vtrain_sanitizers)
endfunction()
