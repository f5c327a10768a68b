# SPDX-License-Identifier: BSL-1.0
# Doxygen's filter for READMEs that are pages of the reference. Sections are called PAGE-name, so that other pages can
# refer to them. Links to such READMEs stay links; a link to a source becomes its text, and a diagram, which needs a
# script of its own, is left out.
BEGIN {
  page_of["bench/lab/README.md"] = "program"
  page_of["governor/README.md"] = "host_governor"
  page_of["kueue/README.md"] = "host_kueue"
  page_of["slurm/README.md"] = "host_slurm"
  page_of["packaging/python/README.md"] = "python"
  page_of["tests/README.md"] = "laws"
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
  # Doxygen takes a ' in a code span for its end, unless the span has two backticks.
  count = split(line, part, "`")
  line = part[1]
  for (i = 2; i <= count; ++i) line = line (part[i - i % 2] ~ /'/ ? "``" : "`") part[i]
  print line
}
