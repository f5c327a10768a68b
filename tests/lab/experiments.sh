#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Published results, from bench/lab/experiments: the exact ones digit by digit, the others by their shape.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
experiments=$2/bench/lab/experiments

# has WHAT TEXT: TEXT is found in `out`.
has() {
  grep -qF -- "$2" out || fail "$1: expected '$2' in: $(<out)"
}

# --- R3: KAI's division, 100 GPUs, deserved 10 and 10, wanted 100 and 100, weights 3 and 1
for policy in standard runai; do
  exits 0 "$allot" decide --rounds 200 --policy $policy "$experiments/r3_division.json"
  has "R3 $policy" '"three": {"used": {"gpu": 70}, "entitled": {"gpu": 70}, "borrowed": {"gpu": 60}'
  has "R3 $policy" '"one": {"used": {"gpu": 30}, "entitled": {"gpu": 30}, "borrowed": {"gpu": 20}'
done

# --- R4: Run:ai's over-quota demonstration, each act under both: what a, b, c and d use, of what is theirs
act() { # POLICY SECONDS "USED" "ENTITLED"
  local used entitled
  exits 0 "$allot" replay "$experiments/r4_over_quota.json" --policy "$1" --at "$2"
  used=$(awk '$2 ~ /^[abcd]$/ && NF == 10 { printf "%s ", $4 }' out)
  entitled=$(awk '$2 ~ /^[abcd]$/ && NF == 10 { printf "%s ", $5 }' out)
  [ "$used" = "$3 " ] || fail "R4 $1 at $2: a, b, c and d use $used, expected $3"
  [ "$entitled" = "$4 " ] || fail "R4 $1 at $2: a, b, c and d are entitled to $entitled, expected $4"
  has "R4 $1 at $2" '16 GPUs in use of 16'
}
for policy in standard runai; do
  act $policy 999 '4 6 6 0' '4 6 6 0'
  has 'R4 act 1' '13 running, 0 waiting'
  act $policy 1000 '4 4 4 4' '4 4 4 4'
  has 'R4 act 2' 'Waiting: 2'
  act $policy 2000 '8 4 4 0' '8 4 4 0'
  act $policy 3000 '4 2 2 8' '4 2 2 8'
done
# Only borrowers are evicted, and no job twice in one act.
exits 0 "$allot" replay "$experiments/r4_over_quota.json" --until 4000 --events --out r4
evicted=$(awk -F, '$2 == "evicted" { print $1, $4, $6, $7 }' r4/events.csv | sort | uniq -c | tr -s ' ')
[ "$evicted" = ' 1 1000 b d-eval reclaim
 1 1000 c d-eval reclaim
 4 3000 a d-train reclaim
 1 3000 b d-train reclaim
 1 3000 c d-train reclaim' ] || fail "R4: evicted were $evicted"

# --- R5: Gavel's multi-level fairness
exits 0 "$allot" decide "$experiments/r5_multi_level.json"
for entity in 1:1.5:0.167:0.333 2:3:0.333:0.667 3:4.5:0.5:1; do
  IFS=: read -r number all odd even <<<"$entity"
  grep -q "\"entity-$number\": {.*\"entitled\": {\"gpu\": $all}" out || fail "R5: entity $number is not due $all"
  [ "$(grep -c "\"entity-$number/job-[024]\": {.*\"entitled\": {\"gpu\": $odd}" out)" -eq 3 ] || fail "R5: entity $number"
  [ "$(grep -c "\"entity-$number/job-[135]\": {.*\"entitled\": {\"gpu\": $even}" out)" -eq 3 ] || fail "R5: entity $number"
done

# --- R7: the shape of Kueue's benchmark: large workloads wait least and small ones most, and it takes as long as the
# work needs (66 s) and a little more
awk -f "$experiments/r7_workloads.awk" >r7.csv
for policy in kueue kueue_fair; do
  exits 0 "$allot" replay "$experiments/r7_kueue_baseline.json" --policy $policy --trace r7.csv --out "r7_$policy"
  awk -F, -v policy=$policy '
    NR > 1 { split($1, kind, "-"); ++n[kind[1]]; waited[kind[1]] += $4 - $3; if ($5 > end) end = $5; done += $11 == "completed" }
    END {
      small = waited["small"] / n["small"]; medium = waited["medium"] / n["medium"]; large = waited["large"] / n["large"]
      if (done == 15000 && large < medium && medium < small && end >= 66 && end < 90) exit 0
      print "FAILED: R7 " policy ": " done " done at " end " s, waits " small ", " medium ", " large
      exit 1
    }' "r7_$policy/jobs.csv" || failures=$((failures + 1))
done

# --- what ./dev paper prints: those that need no trace, that every result is in the table, and names that are none
if command -v python3 >/dev/null; then
  exits 0 python3 "$experiments/published.py" "$allot" paper kai kai-time runai gavel-levels kueue kueue-large kueue-tas
  [ "$(grep -c '^  equal$' out)" -eq 4 ] && [ "$(grep -c '^  shape$' out)" -eq 3 ] || fail "published.py: $(<out)"
  for name in kai kai-time runai gavel-levels kueue kueue-large kueue-tas; do
    [ -s "paper/$name/figures.csv" ] && grep -q '</svg>' "paper/$name/chart.svg" || fail "published.py leaves nothing of $name"
  done
  exits 1 python3 "$experiments/published.py" "$allot" paper fgd
  has 'published.py fgd' 'not run: needs openb/expected_at_100pct.csv'
  exits 1 python3 "$experiments/published.py" "$allot" paper nothing
  exits 0 python3 "$experiments/published.py" --list
  while IFS= read -r name; do
    grep -qF "| \`$name\` |" "$2/bench/lab/README.md" || fail "the table of bench/lab/README.md has no $name: ./dev paper --write"
  done <out
  if [ -f "$traces/rlscheduler/lublin_256.swf" ]; then
    exits 0 python3 "$experiments/published.py" "$allot" paper --traces "$traces" rlscheduler
    grep -q '^  equal$' out || fail "published.py rlscheduler: $(<out)"
  fi
fi

# --- the experiments are valid, apart from scenarios that need the trace, and a small part of one runs
for file in "$experiments"/*.json; do
  if grep -q allot-scenario/1 "$file"; then
    exits 0 "$allot" check "$file"
  else
    grep -v '"trace": "philly128/jobs.csv"' "$file" | sed "s|\.\./scenarios|$experiments/../scenarios|" >without_trace.json
    exits 0 "$allot" sweep without_trace.json --list
    [ -s out ] || fail "$file: no points"
  fi
done
exits 0 "$allot" sweep "$experiments/generated_mix.json" --shard 0/30 --out mix
[ "$(grep -c ',done,' mix/results.csv)" -eq 2 ] || fail "generated_mix: $(<mix/results.csv)"

# --- those that need the trace, if it is available; the headline's fifo is that of the Helios simulator
if [ -f "$traces/philly128/jobs.csv" ]; then
  exits 0 "$allot" sweep "$experiments/headline.json" --trace "philly128=$traces/philly128/jobs.csv" --list
  [ "$(wc -l <out)" -eq 88 ] || fail "headline: $(wc -l <out) points"
  given=()
  for estimates in exact tsafrir none; do given+=(--trace "philly-$estimates=$traces/philly128/jobs.csv"); done
  exits 0 "$allot" sweep "$experiments/reservations.json" "${given[@]}" --list
  for estimates in exact tsafrir none; do
    grep -q "philly-$estimates\b.*standard-8" out || fail "reservations: no points of philly-$estimates: $(<out)"
  done
  # The second point is philly128 under fifo.
  exits 0 "$allot" sweep "$experiments/headline.json" --trace "philly128=$traces/philly128/jobs.csv" --shard 1/44 --out philly
  grep -q '^philly128.fifo.seed-1,.*,done,' philly/results.csv || fail 'headline: fifo is not there'
  grep -q '"mean": 84976.2' philly/points/philly128.fifo.seed-1/summary.json || fail 'headline: not the figures of R2'
else
  echo "skipped: there is no philly128/jobs.csv in $traces"
fi

conclude
