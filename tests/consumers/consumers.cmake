# SPDX-License-Identifier: BSL-1.0
# The package as others use it: installed, as a subproject, through FetchContent; and what must be refused.
set(prefix ${PROJECT_BINARY_DIR}/consumers/prefix)

add_test(NAME "consumers/install" COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${prefix})
set_tests_properties("consumers/install" PROPERTIES LABELS "consumers;more" FIXTURES_SETUP consumer_prefix)

# An exported file of CMake >= 3.23 names the headers' directory only inside a check for that version, unless
# it is installed with INCLUDES DESTINATION.
add_test(NAME "consumers/include directory for CMake before 3.23"
         COMMAND ${CMAKE_COMMAND} -D FILE=${prefix}/share/cmake/allot/allotTargets.cmake -P
                 ${CMAKE_CURRENT_LIST_DIR}/check_include_directory.cmake)
set_tests_properties("consumers/include directory for CMake before 3.23"
                     PROPERTIES LABELS "consumers;more" FIXTURES_REQUIRED consumer_prefix)

function(allot_add_consumer name project)
  add_test(
    NAME "consumers/${name}"
    COMMAND
      ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/consumers/${project}
      ${PROJECT_BINARY_DIR}/consumers/${name} --build-generator ${CMAKE_GENERATOR} --build-options
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_PREFIX_PATH=${prefix}
      -DALLOT_SOURCE=${PROJECT_SOURCE_DIR} ${ARGN} --test-command consumer)
  set_tests_properties("consumers/${name}" PROPERTIES LABELS "consumers;more" FIXTURES_REQUIRED consumer_prefix
                                                      TIMEOUT 300)
endfunction()

# The test passes when CMake refuses with `message`; any other failure is a failure.
function(allot_add_refused name message)
  allot_add_consumer("${name} is refused" installed ${ARGN})
  set_tests_properties("consumers/${name} is refused" PROPERTIES PASS_REGULAR_EXPRESSION "${message}")
endfunction()

allot_add_consumer(installed installed -DWANTED=${PROJECT_VERSION})
allot_add_consumer("installed for another architecture" installed
                   -DWANTED=${PROJECT_VERSION} -DOTHER_ARCHITECTURE=ON)
allot_add_consumer("installed, with its views" installed -DWANTED=${PROJECT_VERSION} "-DCOMPONENTS=gpu$<SEMICOLON>sim$<SEMICOLON>graph")
allot_add_consumer(add_subdirectory add_subdirectory)
allot_add_consumer(fetch_content fetch_content)

set(not_compatible "compatible[ \n]+with[ \n]+requested[ \n]+version")
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
allot_add_refused("version 99" ${not_compatible} -DWANTED=99)
allot_add_refused("next minor version" ${not_compatible} -DWANTED=${PROJECT_VERSION_MAJOR}.${next_minor})
if(PROJECT_VERSION_MAJOR EQUAL 0 AND PROJECT_VERSION_MINOR GREATER 0)
  math(EXPR last_minor "${PROJECT_VERSION_MINOR} - 1")
  allot_add_refused("last minor version" ${not_compatible} -DWANTED=0.${last_minor})
endif()
allot_add_refused("unknown component" "set[ \n]+allot_FOUND[ \n]+to[ \n]+FALSE" -DCOMPONENTS=nonesuch)
