#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The policies of examples/own_policies as a researcher has them: a project outside the tree that is built against
# the installed package, and each policy by its name in every command.
#   own_policies.sh PREFIX PROJECT DIR     works in DIR, with a copy of the project
set -euo pipefail
prefix=$(cd "$1" && pwd)
rm -rf "$3" && mkdir -p "$3" && cp -r "$2"/. "$3" && cd "$3"
own=(smallest_first small_victims equal_surplus exact_fit round_robin)
fail() { printf '%s\n' "$1" >&2 && exit 1; }

for header in *.hpp; do
  [ "$(wc -l <"$header")" -le 40 ] || fail "$header has more than 40 lines"
done
[ "$(wc -l <replay.cpp)" -le 45 ] || fail "replay.cpp has more than 45 lines"

cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" >configure.txt
begin=$SECONDS
cmake --build build >build.txt 2>&1 || { cat build.txt && exit 1; }
printf 'all five policies and the replay in C++ were built in %d s\n' $((SECONDS - begin))
# A single policy, as it is tried first: its header and <allot/lab/own_policy.hpp> are enough.
for policy in "${own[@]}"; do
  printf '#include <allot/lab/own_policy.hpp>\n#include "%s.hpp"\nint main(int c, char** v) { return allot::lab::run_program_with<%s>(c, v); }\n' \
    "$policy" "$policy" >alone.cpp
  begin=$SECONDS
  "${CXX:-c++}" -std=c++20 -O2 -I"$prefix/include" -I. -c alone.cpp -o alone.o
  printf '%s alone was compiled in %d s\n' "$policy" $((SECONDS - begin))
done

allot=$PWD/build/my_allot
scenarios=$prefix/share/allot/scenarios

"$allot" policies >policies.txt
cat >short.json <<'JSON'
{"format": "allot-experiment/1",
 "scenarios": [{"name": "mix", "nodes": "16x8", "tenants": {"serving": 24, "vision": 39, "speech": 65},
   "generate": {"model": "mix", "days": 2, "gpus": 128, "load": 0.9, "training": {"vision": 39, "speech": 65},
                "serving": 0.11, "interactive": 0.08, "serving_tenant": "serving"}}],
 "policies": ["static_quotas", "fifo", "standard", "kueue", "hyperpod",
              "smallest_first", "small_victims", "equal_surplus", "exact_fit", "round_robin"],
 "baseline": "standard"}
JSON
"$allot" sweep short.json --out sweep >sweep.txt
"$allot" compare sweep --html sweep.html
"$allot" generate --days 2 --load 1.4 --out jobs.csv 2>generate.txt
for policy in "${own[@]}"; do
  grep -q "^  $policy " policies.txt || fail "$policy is not listed"
  # With one resource, and with several.
  "$allot" decide --policy "$policy" "$scenarios/three_teams.json" >decision.json
  grep -q '"admit": \[' decision.json || fail "$policy admits nobody"
  "$allot" decide --policy "$policy" "$scenarios/flavors_and_elastic.json" >/dev/null
  "$allot" explain --policy "$policy" "$scenarios/three_teams.json" train-b1 >/dev/null
  grep -q "$policy" sweep.txt || fail "$policy is not in the table of the sweep"
  grep -q "$policy" sweep.html || fail "$policy is not on the page"
  "$allot" replay --nodes 16x8 --trace jobs.csv --policy "$policy" --out "runs/$policy" >/dev/null 2>said.txt
  grep -q "\"$policy\"" "runs/$policy/summary.json" || fail "$policy is not in the summary"
  grep -q "$policy" "runs/$policy/report.html" || fail "$policy is not in the report"
done
hash_of() { grep -o '"decision_hash": *"[^"]*"' "runs/$1/summary.json"; }
"$allot" replay --nodes 16x8 --trace jobs.csv --policy standard --out runs/standard >/dev/null 2>said.txt
for policy in "${own[@]}"; do
  [ "$(hash_of "$policy")" != "$(hash_of standard)" ] || fail "$policy decides as standard does"
done
"$allot" compare runs/standard runs/round_robin >compare.txt
grep -q round_robin compare.txt || fail "round_robin is not in the comparison"

build/replay jobs.csv in_cpp >in_cpp.txt
grep -q '^smallest_first ' in_cpp.txt || fail "the replay in C++ says nothing of smallest_first"
[ -s in_cpp/report.html ] && [ -s in_cpp/summary.json ] || fail "the replay in C++ writes no report"
