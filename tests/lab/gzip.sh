#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# All input files may be compressed with gzip, and so may written traces; also the deadlines of a scenario's
# jobs.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
scenarios=$sources/bench/lab/scenarios

# --- deadlines of jobs in the scenario: b starts when a is done, at 100, and is late
cat >late.json <<'JSON'
{"format": "allot-scenario/1", "policy": "fifo", "cluster": {"nodes": [{"name": "n", "gpus": 1}]},
 "quotas": [{"name": "q", "nominal": "cluster"}],
 "jobs": [{"id": "a", "request": {"gpu": 1}, "duration_s": 100, "deadline_s": 100},
          {"id": "b", "request": {"gpu": 1}, "submit_s": 1, "duration_s": 100, "deadline_s": 199.999},
          {"id": "c", "request": {"gpu": 1}, "submit_s": 2, "duration_s": 100}]}
JSON
exits 0 "$allot" replay late.json --out late
says "$(tr -d ' \n' <late/summary.json)" '*"deadlines":{"jobs":2,"met":1,*'
sed 's/199.999/0.5/' late.json >bad.json
exits 2 "$allot" check bad.json
says "$(<err)" 'bad.json: /jobs/1/deadline_s: expected a point in time, as submit_s is one, and not before it'

# --- gzip
exits 0 "$allot" generate --days 2 --gpus 32 --out jobs.csv
"$allot" generate --days 2 --gpus 32 --out jobs.csv.gz >out 2>err
status=$?
if [[ $(<err) == *'built without zlib'* ]]; then
  [ "$status" -eq 2 ] || fail "a .gz that can't be written: exit status $status"
  [ ! -e jobs.csv.gz ] || fail 'a .gz without zlib was written'
  if printf 'job_id,submit_s,duration_s,gpus\n' | gzip >packed.csv; then
    exits 2 "$allot" check packed.csv
    says "$(<err)" 'packed.csv: *built without zlib (expected plain text)*'
  fi
  [ "$failures" -eq 0 ] || exit 1
  echo 'skipped: this program was built without zlib'
  exit 77
fi
says "$(<out)" 'jobs.csv.gz: * jobs over 2 days'
gzip -dc jobs.csv.gz | cmp -s - jobs.csv || fail 'jobs.csv.gz is not jobs.csv'
"$allot" generate --days 2 --gpus 32 --out again.csv.gz >out 2>err
cmp -s jobs.csv.gz again.csv.gz || fail 'the same seed gave two packed files'
# Larger than a block.
exits 0 "$allot" generate --jobs 20000 --out large.csv.gz
exits 0 "$allot" generate --jobs 20000 --out large.csv
gzip -dc large.csv.gz | cmp -s - large.csv || fail 'large.csv.gz is not large.csv'
exits 0 "$allot" generate --model teams --days 2 --out teams.csv.gz
exits 0 "$allot" check teams.csv.gz
says "$(<out)" 'trace teams.csv.gz: * jobs *ok'
exits 2 "$allot" generate --out teams.csv.gz
says "$(<err)" '*teams.csv.gz exists*--force*'
if [ -e /dev/full ]; then
  (ulimit -f 8 && exec "$allot" generate --jobs 20000 --out never.csv.gz) >out 2>err
  [ $? -eq 2 ] || fail 'a packed file that could not be written was not noticed'
  [ ! -e never.csv.gz ] || fail 'half a packed trace has its final name'
fi

# Every command reads them, with the same result.
exits 0 "$allot" check jobs.csv
sed 's/jobs.csv/jobs.csv.gz/' out >plain
exits 0 "$allot" check jobs.csv.gz
cmp -s out plain || fail "check jobs.csv.gz: $(<out)"
exits 0 "$allot" check - <jobs.csv.gz
says "$(<out)" 'trace standard input: * jobs *ok'
for trace in jobs.csv jobs.csv.gz; do
  exits 0 "$allot" replay --nodes 4x8 --trace $trace --policy fifo --out "run-$trace"
done
cmp -s run-jobs.csv/jobs.csv run-jobs.csv.gz/jobs.csv || fail 'a packed trace was replayed otherwise'
says "$(grep _hash run-jobs.csv.gz/summary.json)" "$(grep _hash run-jobs.csv/summary.json)"
gzip -c "$scenarios/three_teams.json" >three_teams.json.gz
for command in check decide 'explain --json'; do
  job=
  [ "${command%% *}" = explain ] && job=train-b1
  # shellcheck disable=SC2086
  exits 0 "$allot" $command three_teams.json.gz $job
  sed 's/three_teams.json.gz/three_teams.json/' out >packed
  cp "$scenarios/three_teams.json" three_teams.json
  # shellcheck disable=SC2086
  exits 0 "$allot" $command three_teams.json $job
  cmp -s packed out || fail "$command: gzip makes a difference"
done
exits 0 "$allot" decide - <three_teams.json.gz
# A scenario and an experiment that name compressed files.
printf '{"format": "allot-scenario/1", "cluster": {"nodes": [{"name": "n", "count": 4, "gpus": 8}]},
  "trace": {"file": "jobs.csv.gz"}}' | gzip >names.json.gz
exits 0 "$allot" check names.json.gz
says "$(<out)" '*trace jobs.csv.gz: *ok'
printf '{"format": "allot-experiment/1", "name": "e", "scenarios": [{"name": "s", "file": "names.json.gz"}],
  "policies": ["fifo"]}' | gzip >experiment.json.gz
exits 0 "$allot" sweep experiment.json.gz --list
says "$(<out)" 'to run  s.fifo.seed-1'
printf 'timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,1,1,1,a\n' >philly.csv
exits 0 "$allot" import philly philly.csv --out philly.csv.gz
exits 0 "$allot" import philly philly.csv --out philly_canonical.csv
gzip -dc philly.csv.gz | cmp -s - philly_canonical.csv || fail 'import packs another trace'

# Truncated anywhere, damaged, or not what the name says.
size=$(stat -c %s jobs.csv.gz)
for n in 3 10 30 $((size / 2)) $((size - 1)); do
  head -c "$n" jobs.csv.gz >cut.csv.gz
  exits 2 "$allot" check cut.csv.gz
  says "$(<err)" "cut.csv.gz: the gzip file ends after $n bytes in the middle of its data (is it truncated?) (expected a CSV file)"
  [ ! -s out ] || fail "something was printed for $n bytes"
  exits 2 "$allot" replay --nodes 4x8 --trace cut.csv.gz --policy fifo --out never
  [ ! -e never ] || fail 'something was written for a truncated trace'
done
for n in 3 100 $(($(stat -c %s three_teams.json.gz) - 1)); do
  head -c "$n" three_teams.json.gz >cut.json
  exits 2 "$allot" decide cut.json
  says "$(<err)" "cut.json: the gzip file ends after $n bytes in the middle of its data (is it truncated?) (expected a scenario)"
done
{ head -c 200 jobs.csv.gz && printf 'rubbish' && tail -c +208 jobs.csv.gz; } >damaged.csv.gz
exits 2 "$allot" check damaged.csv.gz
says "$(<err)" 'damaged.csv.gz: the gzip data is damaged at byte *'
cp jobs.csv plain.csv.gz
exits 0 "$allot" check plain.csv.gz

conclude
