# SPDX-License-Identifier: BSL-1.0
# Writes OUTPUT, the page: page.html with each @name@ replaced by a file of FILES (name=path, separated by commas), and by
# the VERSION.
include(${CMAKE_CURRENT_LIST_DIR}/../../.cmake/read_text.cmake)
string(REPLACE "," ";" FILES "${FILES}")
set(version "${VERSION}")
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" entry "${entry}")
  read_text(${CMAKE_MATCH_2} "</script" ${CMAKE_MATCH_1})
endforeach()
configure_file(${PAGE} ${OUTPUT} @ONLY)
