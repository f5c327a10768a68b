# SPDX-License-Identifier: BSL-1.0
# Runs PROGRAM and compares its standard output with the file EXPECTED. Shows the first line that differs; the
# output is kept beside the program.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM}: exit status ${status}; it printed:\n${printed}")
endif()
file(WRITE ${PROGRAM}.printed "${printed}")
if(NOT EXISTS ${EXPECTED})
  message(FATAL_ERROR "${EXPECTED} is missing; what the program printed is in ${PROGRAM}.printed")
endif()
file(READ ${EXPECTED} expected)
if(NOT printed STREQUAL expected)
  execute_process(COMMAND diff -u ${EXPECTED} ${PROGRAM}.printed OUTPUT_VARIABLE difference)
  message(FATAL_ERROR "The output is not the expected one:\n${difference}")
endif()
