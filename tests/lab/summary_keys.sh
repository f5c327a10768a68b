#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Every key of summary.json is in the tables of bench/lab/README.md.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# Of everything something: names of the user's own begin with x-.
cat >world.json <<'JSON'
{"format": "allot-scenario/1", "policy": {"preset": "standard", "set": {"guard": "final_share"}},
 "cluster": {"nodes": [{"name": "x-n", "count": 2, "gpus": 4, "gpu_model": "x-model", "pool": "x-pool"}]},
 "quotas": [{"name": "x-all", "nominal": "cluster", "inclusive": true},
            {"name": "x-a", "parent": "x-all", "nominal": {"gpu": 4}}, {"name": "x-b", "parent": "x-all", "nominal": {"gpu": 4}}],
 "jobs": [{"id": "1", "quota": "x-a", "request": {"gpu": 1}, "pods": 8, "class": "x-class", "duration_s": 100, "deadline_s": 200},
          {"id": "2", "quota": "x-b", "request": {"gpu": 1}, "pods": 4, "submit_s": 10, "duration_s": 100},
          {"id": "3", "quota": "x-b", "request": {"gpu": 1}, "submit_s": 20, "duration_s": 100},
          {"id": "4", "quota": "x-b", "request": {"gpu": 1}, "submit_s": 2000, "duration_s": 100}],
 "events": [{"at_s": 50, "node_down": {"node": "x-n-0"}}, {"at_s": 60, "node_up": {"node": "x-n-0"}}],
 "faults": {"start_s": 5, "failed_starts_percent": 60, "eviction_s": 5, "failed_evictions_percent": 60}}
JSON
exits 0 "$allot" replay world.json --isolated --warm-up 1 --until 1000 --out run
tables=$(sed -n '/^## A summary/,/^## An experiment/p' "$sources/bench/lab/README.md" | grep -o '`[^`]*`' | tr -d '`"{}:' | tr ', ' '\n\n')
keys=$(grep -oE '"[^"]+":' run/summary.json | tr -d '":' | sort -u | grep -vE '^(x-.*|guard)$')
[ "$(wc -l <<<"$keys")" -gt 100 ] || fail "there are few keys: $keys"
for key in stopped failed_starts failed_evictions isolated; do
  grep -qx "$key" <<<"$keys" || fail "the world has no $key"
done
while IFS= read -r key; do
  grep -qxF -- "$key" <<<"$tables" || fail "bench/lab/README.md does not say what $key is"
done <<<"$keys"

conclude
