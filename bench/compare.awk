# SPDX-License-Identifier: BSL-1.0
# awk -f bench/compare.awk SIDE.PROGRAM.PASS.ROUND.json...
# Compares what Google Benchmark measured on two sides, `before` and `after`, in the same rounds. The table has
# the worst first. The exit status is 1 when something is worse, 2 when there is nothing to compare.
# Pass 2 measures again what was worse or better in pass 1; it counts instead of the first, and only what it
# finds as well is true. The deviation is the median of the distances from the median, which a single disturbed
# round does not change much.
#   -v rev=NAME      what the head of the table calls the side `before`
#   -v filters=1     no table; for each program with something worse or better its name, a tab and a regular
#                    expression that matches exactly that

BEGIN {
  # In percent. Less than that is often only another place of the same code in memory.
  least_change = 3
  in_ns["ns"] = 1; in_ns["us"] = 1e3; in_ns["ms"] = 1e6; in_ns["s"] = 1e9
}

FNR == 1 {
  n = split(FILENAME, part, /[.\/]/)
  side = part[n - 4]; program = part[n - 3]; pass = part[n - 2] + 0; round = part[n - 1] + 0
  if (round > rounds) rounds = round
}
/^ *"name": "/ {
  name = $0; sub(/^ *"name": "/, "", name); sub(/",?$/, "", name)
  key = program " " name
  # Those that take the time themselves take that of a part of what they do; CPU time is that of all of it.
  clock = name ~ /\/manual_time/ ? "\"real_time\":" : "\"cpu_time\":"
  time = 0
}
$1 == "\"error_occurred\":" && $2 ~ /true/ { learn(); failed[side, key] }
$1 == clock { time = $2 + 0 }
# A BigO that is computed from several benchmarks has a unit, too, but no time.
$1 == "\"time_unit\":" && time > 0 {
  gsub(/[",]/, "", $2)
  learn(); seen[side, key]
  times[side, pass, round, key] = time * in_ns[$2]
}

END {
  for (k = 1; k <= keys; ++k) judge(key_of[k])
  if (filters) print_filters()
  else if (keys == 0) exit 2
  else print_table()
  exit !filters && count["worse"] + count["fails now"] > 0
}

function learn() {
  if (key in program_of) return
  key_of[++keys] = key
  program_of[key] = program
  name_of[key] = name
}

function judge(key,    once) {
  if (("before", key) in failed) verdict[key] = "failed before"
  else if (("after", key) in failed) verdict[key] = "fails now"
  else if (compare(key, 1)) {
    once = verdict[key]
    if (compare(key, 2) && verdict[key] != once) verdict[key] = "same"
    insert_by_change(key)
  } else verdict[key] = (("before", key) in seen) ? "only before" : "only now"
  ++count[verdict[key]]
}

# Whether there are rounds of this pass with a time of either side.
function compare(key, pass,    n, r, i, b, a, ratio, off, typical, size) {
  for (r = 1; r <= rounds; ++r) {
    if (!(("before", pass, r, key) in times) || !(("after", pass, r, key) in times)) continue
    b[++n] = times["before", pass, r, key]
    a[n] = times["after", pass, r, key]
    ratio[n] = a[n] / b[n]
  }
  if (n == 0) return 0
  typical = median(ratio, n)
  for (i = 1; i <= n; ++i) off[i] = absolute(ratio[i] - typical)
  change[key] = 100 * (typical - 1)
  deviation[key] = 100 * median(off, n)
  before[key] = median(b, n)
  after[key] = median(a, n)
  size = absolute(change[key])
  if (size <= least_change || size <= 2 * deviation[key]) verdict[key] = "same"
  else verdict[key] = change[key] > 0 ? "worse" : "better"
  return 1
}

function absolute(x) { return x < 0 ? -x : x }

function median(list, n,    i, k, x) {
  for (i = 2; i <= n; ++i) {
    x = list[i]
    for (k = i; k > 1 && list[k - 1] > x; --k) list[k] = list[k - 1]
    list[k] = x
  }
  return (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
}

function insert_by_change(key,    k) {
  for (k = ++compared; k > 1 && change[sorted[k - 1]] < change[key]; --k) sorted[k] = sorted[k - 1]
  sorted[k] = key
}

function print_filters(    k, key, escaped, names, program) {
  for (k = 1; k <= compared; ++k) {
    key = sorted[k]
    if (verdict[key] == "same") continue
    escaped = name_of[key]
    gsub(/[][(){}.*+?^$|\\]/, "\\\\&", escaped)
    program = program_of[key]
    names[program] = names[program] (names[program] == "" ? "" : "|") escaped
  }
  for (program in names) print program "\t^(" names[program] ")$"
}

function print_table(    k, key) {
  if (compared) printf "%10s  %10s  %9s  %9s\n", rev, "now", "change", "deviation"
  for (k = 1; k <= compared; ++k) {
    key = sorted[k]
    printf "%10s  %10s  %+7.1f %%  %7.1f %%  %-6s  %s\n", human(before[key]), human(after[key]), change[key],
      deviation[key], (verdict[key] == "same" ? "" : verdict[key]), key
  }
  for (k = 1; k <= keys; ++k) {
    key = key_of[k]
    if (!(key in change)) print verdict[key] ": " key
  }
  printf "\n%d worse, %d better, %d the same", count["worse"], count["better"], count["same"]
  if (count["fails now"]) printf ", %d that fail now", count["fails now"]
  print ""
}

function human(ns) {
  if (ns < 1e3) return sprintf("%.2f ns", ns)
  if (ns < 1e6) return sprintf("%.2f us", ns / 1e3)
  if (ns < 1e9) return sprintf("%.2f ms", ns / 1e6)
  return sprintf("%.2f s ", ns / 1e9)
}
