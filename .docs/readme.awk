# SPDX-License-Identifier: BSL-1.0
# Makes a page of the reference of a README: doxygen's filter for it. Sections are PAGE-name, so that other pages can
# refer to them. Of its links those to sections of READMEs that are pages stay; one to
# a source is its text alone, and a diagram, which needs a script of its own, is left out.
BEGIN {
  page_of["bench/lab/README.md"] = "program"
  page_of["governor/README.md"] = "host_governor"
  page_of["kueue/README.md"] = "host_kueue"
  page_of["slurm/README.md"] = "host_slurm"
  page_of["packaging/python/README.md"] = "python"
}
FNR == 1 { page = page_for(FILENAME) }
function page_for(file, known) {
  for (known in page_of) if (file ~ ("(^|/)" known "$")) return page_of[known]
  return ""
}
function name_of(heading) {
  heading = tolower(heading)
  gsub(/[^a-z0-9 _-]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}
function target(link, file, place, to) {
  if (link ~ /^https?:/) return "(" link ")"
  file = link
  sub(/#.*/, "", file)
  place = link ~ /#/ ? substr(link, index(link, "#") + 1) : ""
  if (file == "") return "(@ref " page "-" place ")"
  to = page_for(file)
  return to == "" ? "" : "(@ref " to (place == "" ? "" : "-" place) ")"
}
/^```mermaid/ { is_diagram = 1 }
is_diagram { if (/^```$/) is_diagram = 0; print ""; next }
/^```/ { is_code = !is_code }
is_code || /^    / { print; next }
NR == 1 { print $0 " {#" page "}"; next }
/^##+ / { heading = $0; sub(/^#+ /, "", heading); print $0 " {#" page "-" name_of(heading) "}"; next }
{
  rest = $0
  line = ""
  while (match(rest, /\[[^]]+\]\([^)]+\)/)) {
    link = substr(rest, RSTART, RLENGTH)
    split_at = index(link, "](")
    words = substr(link, 2, split_at - 2)
    to = target(substr(link, split_at + 2, length(link) - split_at - 2))
    line = line substr(rest, 1, RSTART - 1) (to == "" ? words : "[" words "]" to)
    rest = substr(rest, RSTART + RLENGTH)
  }
  line = line rest
  # Doxygen takes a name after # for one of C++.
  gsub(/#[A-Z]/, "\\&#35;&", line); gsub(/&#35;#/, "\\&#35;", line)
  print line
}
