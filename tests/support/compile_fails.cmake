# SPDX-License-Identifier: BSL-1.0
# Compiles SOURCE with the macro CASE, which must fail with the text below the case as first error; without a
# case it must succeed, and without a warning. With STEP "precompile" only what SOURCE includes is compiled, to
# PRECOMPILED.gch (a name that g++ and clang++ both look for). See compile_fail/compile_fail.cmake.
set(ENV{LC_ALL} C)
set(command ${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
foreach(directory IN LISTS INCLUDES)
  list(APPEND command -I${directory})
endforeach()

if(STEP STREQUAL "precompile")
  file(STRINGS ${SOURCE} includes REGEX "^#include ")
  list(JOIN includes "\n" includes)
  file(WRITE ${PRECOMPILED} "#pragma once\n${includes}\n")
  execute_process(COMMAND ${command} -x c++-header ${PRECOMPILED} -o ${PRECOMPILED}.gch COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

# A case ends at its first error, the only one that is looked at.
list(APPEND command -fsyntax-only -include ${PRECOMPILED})
if(CASE)
  list(APPEND command -Wfatal-errors -D${CASE})
  # clang 14 crashes after some of these errors, which does no harm; it would leave a report of each.
  if(COMPILER MATCHES "clang")
    list(APPEND command -fno-crash-diagnostics)
  endif()
endif()
execute_process(COMMAND ${command} ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)

if(NOT CASE)
  if(NOT status EQUAL 0 OR NOT said STREQUAL "")
    message(FATAL_ERROR "${SOURCE} does not compile, or not without a warning:\n${said}")
  endif()
  return()
endif()

file(READ ${SOURCE} text)
if(NOT text MATCHES "(ifdef|defined) ${CASE}\n *// ([^\n]+)")
  message(FATAL_ERROR "${SOURCE} has no case ${CASE}")
endif()
set(expected "${CMAKE_MATCH_2}")
if(status EQUAL 0)
  message(FATAL_ERROR "It compiles. Expected an error: ${expected}")
endif()
string(REGEX MATCH "[^\n]*error: [^\n]*" first "${said}")
string(FIND "${first}" "${expected}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "The first error is\n  ${first}\nand not\n  ${expected}\n\n${said}")
endif()
message("${first}")
