# Runs FUZZER for SECONDS, with a fixed seed so that runs can be compared, on a copy of SEEDS below FOLDER, where it also leaves an input that it found to fail.
file(REMOVE_RECURSE ${FOLDER}/corpus)
file(MAKE_DIRECTORY ${FOLDER}/corpus)
file(GLOB seeds ${SEEDS}/*)
if(NOT seeds)
  message(FATAL_ERROR "no seed corpus in ${SEEDS}")
endif()
file(COPY ${seeds} DESTINATION ${FOLDER}/corpus)
execute_process(
  COMMAND ${FUZZER} -seed=1 -max_total_time=${SECONDS} -rss_limit_mb=2048 -timeout=10 -max_len=16384 -print_final_stats=1
    -artifact_prefix=${FOLDER}/ ${FOLDER}/corpus
  WORKING_DIRECTORY ${FOLDER}
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the fuzzer ended with ${result}; the input is in ${FOLDER}")
endif()
