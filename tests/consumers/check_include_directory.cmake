# SPDX-License-Identifier: BSL-1.0
file(READ ${FILE} exported)
if(NOT exported MATCHES "set_target_properties\\(allot::allot PROPERTIES[^)]*INTERFACE_INCLUDE_DIRECTORIES")
  message(FATAL_ERROR "${FILE}: no INTERFACE_INCLUDE_DIRECTORIES outside the check for the version of CMake")
endif()
