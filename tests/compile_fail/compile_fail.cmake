# SPDX-License-Identifier: BSL-1.0
# Code that must not compile, and the required text of the first error. A file here has many cases, each a
# macro:
#
#   #ifdef preemptible_is_an_int    (or #elif defined preemptible_is_an_int)
#     // allot: the view's preemptible must be `bool preemptible(const job&) const`
#
# A test defines one of them and looks for the line below it in the first line that has "error: ". Without a
# case the file must compile, so it is the case that is refused. Nothing is built for these tests, but what a file
# includes is precompiled before its cases, for it is nearly all of what one costs.
function(allot_add_compile_test name source)
  cmake_path(GET source STEM about)
  add_test(
    NAME "compile_fail/${name}"
    COMMAND
      ${CMAKE_COMMAND} -D COMPILER=${CMAKE_CXX_COMPILER} -D SOURCE=${source} -D
      "INCLUDES=$<TARGET_PROPERTY:allot,INTERFACE_INCLUDE_DIRECTORIES>;$<TARGET_PROPERTY:Boost::headers,INTERFACE_INCLUDE_DIRECTORIES>"
      -D PRECOMPILED=${CMAKE_CURRENT_BINARY_DIR}/compile_fail/${about}.hpp ${ARGN} -P
      ${PROJECT_SOURCE_DIR}/tests/support/compile_fails.cmake)
  set_tests_properties("compile_fail/${name}" PROPERTIES LABELS more)
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM about)
  # A new case is a new test.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  allot_add_compile_test("${about}: what it includes" ${source} -D STEP=precompile)
  allot_add_compile_test("${about}: compiles without a case" ${source})
  set(included "compile_fail/${about}: what it includes")
  set(with_includes "compile_fail/${about}: compiles without a case")
  file(READ ${source} text)
  string(REGEX MATCHALL "#(ifdef|elif defined) [a-z_]+\n *// " cases "${text}")
  list(TRANSFORM cases REPLACE "^#(ifdef|elif defined) ([a-z_]+)\n.*$" "\\2")
  foreach(case IN LISTS cases)
    string(REPLACE "_" " " title ${case})
    allot_add_compile_test("${about}: ${title}" ${source} -D CASE=${case})
    list(APPEND with_includes "compile_fail/${about}: ${title}")
  endforeach()
  # Hundreds of megabytes, so they are removed when the last case has run.
  add_test(NAME "compile_fail/${about}: no longer needed" COMMAND
           ${CMAKE_COMMAND} -E rm -f ${CMAKE_CURRENT_BINARY_DIR}/compile_fail/${about}.hpp.gch)
  set_tests_properties("${included}" PROPERTIES FIXTURES_SETUP compile_fail_${about})
  set_tests_properties("compile_fail/${about}: no longer needed" PROPERTIES FIXTURES_CLEANUP compile_fail_${about}
                       LABELS more)
  set_tests_properties(${with_includes} PROPERTIES FIXTURES_REQUIRED compile_fail_${about})
endforeach()
