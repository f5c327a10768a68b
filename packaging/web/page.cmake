# SPDX-License-Identifier: BSL-1.0
# Writes OUTPUT, the page: page.html with each @name@ replaced by a file of FILES (name=path, separated by commas), but for
# the comment that it begins with, and by the VERSION.
string(REPLACE "," ";" FILES "${FILES}")
set(version "${VERSION}")
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" entry "${entry}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} text)
  string(REGEX REPLACE "^/\\*[^*]*\\*/\n" "" text "${text}")
  string(REGEX REPLACE "\n$" "" text "${text}")
  # It would end the element that the text is in.
  string(FIND "${text}" "</script" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${CMAKE_MATCH_2}: </script would end the script")
  endif()
  set(${name} "${text}")
endforeach()
configure_file(${PAGE} ${OUTPUT} @ONLY)
