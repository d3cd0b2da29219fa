# Reads every #include line of the project and fails on one that points upwards, between modules or between the folders of a module,
# and on a source file that does not include its own header first (which shows that the header compiles alone). Run as
#   cmake -D SOURCE_DIR=<project> -P layering_test.cmake
# CMake tolerates cycles between static libraries, and one include path serves all modules, so nothing else would notice.
cmake_minimum_required(VERSION 3.25)

set(modules core workloads traces sched policies profiler tools docs)
set(may_include_core core)
set(may_include_workloads core workloads)
set(may_include_traces core workloads traces)
set(may_include_sched core workloads sched)
set(may_include_policies core workloads sched policies)
set(may_include_profiler profiler)
set(may_include_tools core workloads traces sched policies profiler tools)
set(may_include_docs core workloads docs)

# The folders of each module: "folder: folders that it may include, directly or through these". A folder that is not listed is an error.
# Files at the root of a module, its table or main file, may include all of its folders; no folder includes them. One that is listed
# by its name without extension is a layer like a folder.
set(folders_core "base:" "graph:" "text: base" "io: base text" "kernels: io" "profile: kernels")
set(folders_workloads "jobs:" "logs:" "pipeline:" "model: pipeline" "iteration: model" "stack: model" "layers: iteration stack"
  "physical: layers" "release: iteration" "settings:" "config: release stack settings" "calibration: stack" "search: physical"
  "target: release calibration" "predict: target physical" "pricing: search config jobs" "validation: predict search config logs")
set(folders_traces "reading:" "formats: reading" "editing: reading" "rules: reading" "synthesis: rules editing")
set(folders_sched "cluster:" "tenants: cluster" "disruption: cluster" "placement: cluster" "accounting: disruption placement"
  "simulation: tenants accounting" "metrics: simulation")
set(folders_policies "base:" "solver: base" "fcfs: base" "list: base" "backfill: fcfs list" "promises: list" "elasticflow: list fcfs promises"
  "chronus: list fcfs solver" "tenants: list fcfs")
set(folders_tools "format:" "web:" "experiment: format" "live: experiment" "database:" "sweep: experiment database" "serve: live database web" "report: experiment web" "results: report"
  "studies: results sweep" "api: results" "cli: format" "options: experiment cli" "commands: options studies live serve")
# docs/measured/normalise is a program of its own, and docs/*.cpp are examples of the installed library.
set(folders_docs "measured:")

# The scheduler half knows jobs and nothing of models and plans.
set(scheduler_half traces sched policies)

# What only some modules may use: Boost.Graph behind core's own names, CUDA in the profiler.
set(only_core_may_include "boost/graph/")
set(only_profiler_may_include "cuda|cupti|nccl|cublas|cudnn")

# Sets may_include_<module>_<folder> to the folder and all that it may include.
foreach(module IN LISTS modules)
  set(known_${module} "")
  foreach(row IN LISTS folders_${module})
    string(REGEX MATCH "^([a-z_]+):(.*)$" matched "${row}")
    set(folder ${CMAKE_MATCH_1})
    string(REGEX MATCHALL "[a-z_]+" below "${CMAKE_MATCH_2}")
    set(all ${folder})
    foreach(each IN LISTS below)  # a row names only folders of rows above it
      list(APPEND all ${may_include_${module}_${each}})
    endforeach()
    list(REMOVE_DUPLICATES all)
    set(may_include_${module}_${folder} ${all})
    list(APPEND known_${module} ${folder})
  endforeach()
endforeach()

# The layer of a path: the first folder below its module, or a file at the module's root that is listed; empty for other files there.
function(folder_of path to)
  set(folder "")
  if(path MATCHES "^[a-z_]+/([a-z_]+)/")
    set(folder ${CMAKE_MATCH_1})
  elseif(path MATCHES "^([a-z_]+)/([a-z_]+)[.][a-z]+$")
    if(CMAKE_MATCH_2 IN_LIST known_${CMAKE_MATCH_1})
      set(folder ${CMAKE_MATCH_2})
    endif()
  endif()
  set(${to} "${folder}" PARENT_SCOPE)
endfunction()

set(violations "")
set(num_files 0)
foreach(module IN LISTS modules)
  file(GLOB_RECURSE files ${SOURCE_DIR}/${module}/*.hpp ${SOURCE_DIR}/${module}/*.cpp ${SOURCE_DIR}/${module}/*.cu)
  foreach(file IN LISTS files)
    math(EXPR num_files "${num_files} + 1")
    file(RELATIVE_PATH name ${SOURCE_DIR} ${file})
    folder_of(${name} here)
    if(known_${module} AND here AND NOT here IN_LIST known_${module})
      list(APPEND violations "${name}: the folder ${here} is not among those of ${module} in layering_test.cmake")
      continue()
    endif()
    file(STRINGS ${file} includes REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
    string(REGEX REPLACE "cpp$" "hpp" own_header ${name})
    if(name MATCHES "cpp$" AND EXISTS ${SOURCE_DIR}/${own_header})
      list(GET includes 0 first)
      if(NOT first STREQUAL "#include \"${own_header}\"")
        list(APPEND violations "${name} must include ${own_header} first")
      endif()
    endif()
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[\"<]([^\">]*)[\">].*$" "\\1" target "${line}")
      string(REGEX REPLACE "/.*$" "" target_module "${target}")
      if(target_module IN_LIST modules AND target MATCHES "/")
        folder_of(${target} there)
        if(NOT target_module IN_LIST may_include_${module})
          list(JOIN may_include_${module} ", " allowed)
          list(APPEND violations "${name} includes ${target}: ${module} may include only ${allowed}")
        elseif(module IN_LIST scheduler_half AND target_module STREQUAL "workloads" AND NOT there STREQUAL "jobs")
          list(APPEND violations "${name} includes ${target}: of workloads ${module} may include only workloads/jobs")
        elseif(target_module STREQUAL module AND here AND known_${module} AND NOT there IN_LIST may_include_${module}_${here})
          list(JOIN may_include_${module}_${here} ", " allowed)
          list(APPEND violations "${name} includes ${target}: ${module}/${here} may include only ${allowed}")
        endif()
      endif()
      if(target MATCHES "^(${only_profiler_may_include})" AND NOT module STREQUAL "profiler")
        list(APPEND violations "${name} includes ${target}: only the profiler may")
      endif()
      if(target MATCHES "^${only_core_may_include}" AND NOT module STREQUAL "core" AND name MATCHES "\\.hpp$")
        list(APPEND violations "${name} includes ${target}: Boost.Graph types are named in core/graph/execution_graph.hpp")
      endif()
    endforeach()
  endforeach()
endforeach()

# Two types of one name in one namespace are one type to the linker, which then mixes their functions.
foreach(module IN LISTS modules)
  file(GLOB_RECURSE headers ${SOURCE_DIR}/${module}/*.hpp)
  foreach(header IN LISTS headers)
    file(STRINGS ${header} lines REGEX "^(namespace [a-z_:]+ |(struct|class|enum class) [A-Za-z]+[^;]*)[{]")
    set(namespace "")
    foreach(line IN LISTS lines)
      if(line MATCHES "^namespace ([a-z_:]+)")
        set(namespace ${CMAKE_MATCH_1})
      elseif(NOT line MATCHES "^[a-z ]+ [A-Za-z]+::" AND line MATCHES "^(struct|class|enum class) ([A-Za-z]+)")
        string(MAKE_C_IDENTIFIER "type_${namespace}_${CMAKE_MATCH_2}" type)
        file(RELATIVE_PATH name ${SOURCE_DIR} ${header})
        if(DEFINED ${type})
          list(APPEND violations "${name}: ${namespace}::${CMAKE_MATCH_2} has the name of a type in ${${type}}")
        endif()
        set(${type} ${name})
      endif()
    endforeach()
  endforeach()
endforeach()

if(num_files EQUAL 0)
  message(FATAL_ERROR "no source files below '${SOURCE_DIR}'")
endif()
if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "layering:\n  ${text}")
endif()
message(STATUS "layering: ${num_files} files, every include points downwards, own headers come first")
