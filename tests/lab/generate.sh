#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The generator from outside: every model, the effect of the options, and invalid options.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
scenarios=$2/bench/lab/scenarios

# generates STATUS ARGUMENTS...: output in `out` and `err`.
generates() {
  local expected=$1 status
  shift
  "$allot" generate "$@" >out 2>err
  status=$?
  [ "$status" -eq "$expected" ] || fail "generate $*: exit status $status, expected $expected: $(<err)"
  [ "$status" -eq 0 ] || [ ! -s out ] || fail "generate $*: an error, and something on standard output"
  nothing_half_done
}

# Every model is a readable trace, in the order of submission, and reproducible.
for model in mix philly helios openb inference interactive teams; do
  generates 0 --model $model --days 3 --seed 7 --out $model.csv
  says "$(<out)" "$model.csv: * jobs over 3 days"
  says "$("$allot" check $model.csv)" "trace $model.csv: *ok"
  generates 0 --model $model --days 3 --seed 7 --out -
  cmp -s out $model.csv || fail "$model: the same seed gave two traces"
  generates 0 --model $model --days 3 --seed 8 --out -
  cmp -s out $model.csv && fail "$model: another seed gave the same trace"
  awk -F, 'NR > 1 { if ($2 < last) exit 1; last = $2 }' $model.csv || fail "$model: not in the order of submission"
done

# The default is a mix that fits the scenarios of the demo.
generates 0 --out default.csv --days 3 --seed 7
cmp -s default.csv mix.csv || fail 'the default is not the mix'
for class in train inference interactive; do grep -q ",$class," mix.csv || fail "the mix has no $class"; done
"$allot" replay "$scenarios/two_weeks_lending.json" --trace mix.csv --out run >out 2>err || fail "replay: $(<err)"
# GPU-seconds over those of the cluster.
load() { awk -F, -v all="$2" 'NR > 1 { work += $3 * $4 } END { printf "%.3f", work / all }' "$1"; }
says "$(load mix.csv $((128 * 3 * 86400)))" 0.900
generates 0 --load 0.5 --days 10 --gpus 64 --out half.csv
says "$(load half.csv $((64 * 10 * 86400)))" 0.500
generates 0 --model inference --load 0.25 --days 10 --out quarter.csv
says "$(load quarter.csv $((128 * 10 * 86400)))" 0.250

generates 0 --jobs 1234 --tenants 5 --out many.csv
says "$(<out)" 'many.csv: 1,234 jobs over *'
says "$(awk 'NR > 1' many.csv | wc -l)" 1234
says "$(cut -d, -f5 many.csv | sort -u | tr '\n' ' ')" 'team-1 team-2 team-3 team-4 team-5 tenant '
generates 0 --interactive 0 --serving 0 --days 2 --out training.csv
# The checkpoints of training jobs, and the cost of a restart.
generates 0 --days 2 --checkpoint 1h --restart 90 --out saves.csv
says "$(grep ',train,' saves.csv | cut -d, -f9,10 | sort -u)" 3600,90
generates 0 --days 2 --checkpoint none --out never_saves.csv
says "$(grep ',train,' never_saves.csv | cut -d, -f9,10 | sort -u)" ,120
says "$(cut -d, -f1-5 saves.csv | cksum)" "$(cut -d, -f1-5 never_saves.csv | cksum)"
generates 0 --model uniform --jobs 500 --tenants 2 --mean-duration 10m --out uniform.csv
says "$(<out)" 'uniform.csv: 500 jobs over *'
grep -qE ',(inference|interactive),' training.csv && fail 'there are services in a mix without'

# Estimates are a column at the end: the jobs are the same, byte for byte.
for model in mix philly openb uniform teams; do
  # shellcheck disable=SC2046
  jobs=$([ $model = uniform ] && echo --jobs 2000 || echo --days 3)
  # shellcheck disable=SC2086
  generates 0 --model $model $jobs --seed 7 --out plain.csv --force
  # shellcheck disable=SC2086
  generates 0 --model $model $jobs --seed 7 --out none.csv --force --estimates none
  cmp -s plain.csv none.csv || fail "$model: --estimates none is not the default"
  for estimates in exact doubled f_model tsafrir; do
    # shellcheck disable=SC2086
    generates 0 --model $model $jobs --seed 7 --out with.csv --force --estimates $estimates
    sed 's/,[^,]*$//' with.csv | cmp -s - plain.csv || fail "$model: --estimates $estimates changed the jobs"
    says "$(head -n 1 with.csv)" '*,estimate_s'
    awk -F, -v model=$estimates '
      function ceil(x) { return x == int(x) ? x : int(x) + 1 }
      NR > 1 {
        run = ceil($3)
        if (run < 1) run = 1
        if ($NF < run) exit 1
        if (model == "exact" && $NF != run || model == "doubled" && $NF != 2 * run) exit 1
        if (model == "f_model" && $NF > 10 * run || model == "tsafrir" && $NF % 300 != 0) exit 1
        ++times[$NF]
      }
      END {
        if (model == "tsafrir") {
          for (most = 1; most <= 20; ++most) {
            best = ""
            for (e in times) if (best == "" || times[e] > times[best]) best = e
            sum += times[best]
            delete times[best]
          }
          if (sum < 0.85 * (NR - 1)) exit 1
        }
      }' with.csv || fail "$model: --estimates $estimates: not what it should be"
    says "$("$allot" check with.csv)" 'trace with.csv: *all have an estimate*ok'
    # shellcheck disable=SC2086
    generates 0 --model $model $jobs --seed 7 --out - --estimates $estimates
    cmp -s out with.csv || fail "$model: --estimates $estimates: the same seed gave other estimates"
  done
done
says "$("$allot" generate --help)" '*--estimates*exact: the duration*tsafrir: *'

# Invalid options; nothing is written then.
wrong() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  generates 2 "$@" --out never.csv
  says "$(<err)" "$pattern"
  [ ! -e never.csv ] || fail "something was written for $*"
}
wrong '*--model: there is no model "phily" (expected mix, philly, *teams, uniform)' --model phily
wrong '*--jobs: expected days or jobs*' --days 1 --jobs 1
wrong '*--days: expected 1 to 3650' --days 0
wrong '*--jobs: expected 1 to *' --jobs 0
wrong '*--jobs*' --jobs -1
wrong '*--gpus: expected 8 to 1000000' --gpus 7
wrong '*--tenants: expected 1 to 1000' --tenants 1001
wrong '*--load: expected a number from 0 to 10*' --load nan
wrong '*--load: expected a number from 0 to 10*' --load 1000000000000000000
wrong '*--load: expected a number above 0*' --load 0
wrong '*--serving: expected a number from 0 to the load*' --load 0.1 --serving 0.2
wrong '*--serving: expected less serving and interactive sessions than the load together*' --load 0.2 --serving 0.1 --interactive 0.1
wrong '*--serving: only the models mix and teams have it*' --model philly --serving 0.1
wrong '*--interactive: only the model mix has it*' --model teams --interactive 0.1
wrong '*--jobs: only the models mix, philly, *, interactive and uniform have it*' --model teams --jobs 5
wrong '*--tenants: only the models*' --model teams --tenants 5
wrong '*--checkpoint: expected seconds, or a time such as*, or none, found "often"*' --checkpoint often
wrong '*--checkpoint: expected more than 0*' --checkpoint 0
wrong '*--checkpoint: only the models*' --model inference --checkpoint 30m
wrong '*--restart: expected seconds*' --restart -1
wrong '*--mean-duration: only the model uniform has it*' --mean-duration 1h
wrong '*--estimates: there is no model of estimates "tsafir" (did you mean "tsafrir"?)' --estimates tsafir
wrong '*--estimates: there is no model of estimates "7" (expected "none", "exact", *' --estimates 7
wrong '*--days: expected 1 to 3650*--tenants: expected 1 to 1000*' --days 0 --tenants 0
generates 2 --out ''
generates 2 --out no/such/directory.csv
generates 2 --out mix.csv
says "$(<err)" '*mix.csv exists*--force*'
if [ -e /dev/full ]; then
  generates 2 --days 3 --out /dev/full
  says "$(<err)" "*can't write /dev/full: No space left on device"
  "$allot" generate --days 3 --out - >/dev/full 2>err
  [ $? -eq 2 ] || fail 'a full disk behind standard output was not noticed'
  [ -c /dev/full ] || fail '/dev/full was replaced'
fi
(ulimit -f 64 && exec "$allot" generate --jobs 20000 --out never.csv) >out 2>err
[ $? -eq 2 ] || fail 'a file that could not be written was not noticed'
[ ! -e never.csv ] || fail 'half a trace has its final name'

# A million jobs in the memory for a few.
if [ "${ALLOT_LONG:-}" = 1 ]; then
  (ulimit -v 200000 && exec "$allot" generate --jobs 1000000 --gpus 10000 --out million.csv) >out 2>err ||
    fail "a million jobs: $(<err)"
fi

conclude
