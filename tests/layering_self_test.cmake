# Shows that the layering test can fail: each of these files must be refused, with this message.
set(tree ${WORK_DIR}/layering_self_test)

# refuse(MESSAGE FILE CONTENT): the tree with this file alone is refused.
function(refuse message file content)
  file(REMOVE_RECURSE ${tree})
  file(WRITE ${tree}/core/base/result.hpp "#include <string>\n")
  file(WRITE ${tree}/${file} "${content}")
  string(REGEX REPLACE "cpp$" "hpp" header ${file})
  if(file MATCHES "cpp$")
    file(WRITE ${tree}/${header} "#include <string>\n")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${tree} -P ${CMAKE_CURRENT_LIST_DIR}/layering_test.cmake
    RESULT_VARIABLE result ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "${message}")
    message(FATAL_ERROR "not noticed: ${file}: ${message}: ${output}")
  endif()
endfunction()

refuse("sched may include only core, workloads, sched" sched/cluster/cluster.hpp "#include \"policies/registry.hpp\"\n")
refuse("sched/cluster may include only cluster" sched/cluster/cluster.hpp "#include \"sched/simulation/simulator.hpp\"\n")
refuse("policies/list may include only list, base" policies/list/edf.hpp "#include \"policies/registry.hpp\"\n")
refuse("workloads/search may include only search" workloads/search/plan_search.hpp "#include \"workloads/predict.hpp\"\n")
refuse("workloads/predict may include only predict" workloads/predict.hpp "#include \"workloads/search/plan_search.hpp\"\n")
refuse("of workloads sched may include only workloads/jobs" sched/cluster/cluster.hpp "#include \"workloads/model/model.hpp\"\n")
refuse("the folder elsewhere is not among those of sched" sched/elsewhere/cluster.hpp "#include <string>\n")
refuse("only the profiler may" core/base/units.hpp "#include <cuda_runtime.h>\n")
refuse("Boost.Graph types are named in" workloads/model/model.hpp "#include <boost/graph/adjacency_list.hpp>\n")
refuse("must include core/base/text.hpp first" core/base/text.cpp "#include <string>\n#include \"core/base/text.hpp\"\n")

file(REMOVE_RECURSE ${tree})
file(WRITE ${tree}/sched/metrics/metrics.hpp "#include \"sched/cluster/cluster.hpp\"\n#include \"core/base/result.hpp\"\n#include \"workloads/jobs/job.hpp\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${tree} -P ${CMAKE_CURRENT_LIST_DIR}/layering_test.cmake
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "a tree in which all points downwards was refused: ${output}")
endif()
file(REMOVE_RECURSE ${tree})
