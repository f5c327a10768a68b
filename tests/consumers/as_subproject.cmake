# SPDX-License-Identifier: BSL-1.0
# As a subproject the library adds nothing but itself: no tests, programs or install rules of ours, and no
# flags on the consumer's targets.
foreach(option ALLOT_BUILD_TESTS ALLOT_BUILD_EXAMPLES ALLOT_BUILD_BENCH ALLOT_INSTALL)
  if(${option})
    message(FATAL_ERROR "${option} is on in a subproject")
  endif()
endforeach()
get_property(targets DIRECTORY ${ALLOT_SOURCE} PROPERTY BUILDSYSTEM_TARGETS)
list(REMOVE_ITEM targets allot allot_gpu allot_sim allot_graph)
if(targets)
  message(FATAL_ERROR "as a subproject the library adds these targets: ${targets}")
endif()
foreach(part allot allot_gpu allot_sim)
  get_target_property(options ${part} INTERFACE_COMPILE_OPTIONS)
  if(options)
    message(FATAL_ERROR "the library gives these flags to its consumers: ${options}")
  endif()
endforeach()
