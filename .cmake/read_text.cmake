# SPDX-License-Identifier: BSL-1.0
# read_text(FILE END OUT): the text of a file that is put into another, without the comment that it begins with, which is
# for those who read the sources, and without its last newline. It must not have END, which would end it there.
function(read_text file end out)
  file(READ ${file} text)
  string(REGEX REPLACE "^/\\*[^*]*\\*/\n" "" text "${text}")
  string(REGEX REPLACE "\n$" "" text "${text}")
  string(FIND "${text}" "${end}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file}: ${end} would end the text")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
