# Shows that the layering test can fail: a tree in which `sched` includes `policies`, the predictor includes jobs, or a source its own header
# too late, must be refused.
set(tree ${WORK_DIR}/layering_self_test)
file(WRITE ${tree}/sched/upward.hpp "#include \"policies/registry.hpp\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${tree} -P ${CMAKE_CURRENT_LIST_DIR}/layering_test.cmake
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "upward.hpp includes")
  message(FATAL_ERROR "an upward include was not noticed: ${output}")
endif()

file(WRITE ${tree}/sched/upward.hpp "#include <string>\n")
file(WRITE ${tree}/workloads/plan.hpp "#include \"workloads/pricing/job_pricing.hpp\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${tree} -P ${CMAKE_CURRENT_LIST_DIR}/layering_test.cmake
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "plan.hpp includes")
  message(FATAL_ERROR "the predictor includes jobs, and it was not noticed: ${output}")
endif()
file(REMOVE ${tree}/workloads/plan.hpp)

file(WRITE ${tree}/sched/upward.cpp "#include <string>\n#include \"sched/upward.hpp\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${tree} -P ${CMAKE_CURRENT_LIST_DIR}/layering_test.cmake
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "upward.cpp must include")
  message(FATAL_ERROR "a header that is not included first was not noticed: ${output}")
endif()
file(REMOVE_RECURSE ${tree})
