#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The program from outside: what it prints where, and its exit status.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
scenarios=$2/bench/lab/scenarios

# expect STATUS STDOUT STDERR ARGUMENTS...: runs the program on the standard input of this function. The texts
# are patterns of bash; an empty one means that nothing may be printed there.
expect() {
  local status=$1 out=$2 err=$3 got
  shift 3
  "$allot" "$@" >out 2>err
  got=$?
  # shellcheck disable=SC2053
  if [ "$got" -ne "$status" ] || [[ $(<out) != $out ]] || [[ $(<err) != $err ]]; then
    printf 'allot %s\n  exit status %s (expected %s)\n  out: %s\n  err: %s\n' "$*" "$got" "$status" "$(<out)" "$(<err)"
    failures=$((failures + 1))
  fi
}

scenario='{"format": "allot-scenario/1", "quotas": [{"name": "q", "nominal": {"gpu": 1}}],
           "jobs": [{"id": "j", "request": {"gpu": 1}}]}'

expect 0 'allot [0-9]*.[0-9]*.[0-9]*' '' --version
expect 0 '*check*decide*explain*replay*policies*' '' --help
expect 0 '*SCENARIO*--rounds*Examples:*' '' decide --help
expect 0 '*standard *static_quotas *pai *fifo *sjf *' '' policies
expect 0 '*surplus *weight *queue_order *fair_tree *victim_order *guard *placement *seed *' '' policies
expect 2 '' '*subcommand*'
expect 2 '' '*SCENARIO*' decide
expect 2 '' '*--rounds*' decide --rounds 0 -
expect 2 '' 'There is no command "frobnicate"*--help*' frobnicate

# Help is for terminals of 80 columns. (± takes two bytes.)
for command in '' check decide explain draw replay sweep compare import generate fill policies; do
  # shellcheck disable=SC2086
  "$allot" $command --help | sed 's/±/+/g; s/~/-/g' >help
  grep -q . help || fail "allot $command --help says nothing"
  while read -r line; do fail "allot $command --help is wider than 80 columns: $line"; done < <(awk 'length > 80' help)
done
# Examples are what a shell takes: one that goes on in the next line is the same command.
example=$("$allot" import --help | sed -n '/ SLURM_TIME_FORMAT=%s sacct -aDP --format/,/|$/p')
[[ $(bash -c "set -- ${example//|/}"'; printf "<%s>" "$@"') == *'<sacct><-aDP><--format=JobID,User,'*',AllocTRES,State>' ]] ||
  fail "the example of sacct: $example"

# Colours are for terminals that show them, and for nobody who says NO_COLOR.
if command -v script >/dev/null; then
  on_terminal() { script -qec "$1" /dev/null </dev/null; }
  esc=$'\x1b'
  [[ $(TERM=xterm on_terminal "$allot --help") == *"$esc[1m"* ]] || fail "no colour on a terminal"
  [[ $(TERM=xterm on_terminal "$allot check missing.json") == "$esc[31m"* ]] || fail "no colour of a problem"
  [[ $(TERM=xterm NO_COLOR=1 on_terminal "$allot --help") != *"$esc"* ]] || fail "colour in spite of NO_COLOR"
  [[ $(TERM=dumb on_terminal "$allot --help") != *"$esc"* ]] || fail "colour on a dumb terminal"
fi
[[ $(TERM=xterm "$allot" --help) != *$'\x1b'* ]] || fail "colour in a pipe"

# The files that help names are there. (A program that was built elsewhere finds none, and names them as in the sources.)
if [[ $(readlink -f "$allot") == "$(readlink -f "$sources")"/* ]]; then
  named=0
  for command in '' check decide explain replay sweep; do
    # shellcheck disable=SC2086
    for file in $("$allot" $command --help | grep -oE '[^ ]*bench/lab/[^ ;]*\.(md|json)'); do
      named=$((named + 1))
      [ -f "$file" ] || fail "allot $command --help names $file, which is not there"
    done
  done
  [ "$named" -ge 6 ] || fail "help names $named files"
fi

# Suggestions for a misspelt word.
expect 2 '' 'replai: did you mean replay\?*There is no command "replai"*' replai "$scenarios/three_teams.json"
expect 2 '' '*--polcy: did you mean --policy\?*' decide --polcy fifo "$scenarios/three_teams.json"
expect 2 '' '*--polcy: did you mean --policy\?*' replay --polcy=fifo --out never
expect 2 '' '*--hlep: did you mean --help\?*' replay --hlep
"$allot" frobnicate 2>&1 | grep -q 'did you mean' && fail 'something is like frobnicate'
"$allot" decide --rounds 0 "$scenarios/three_teams.json" 2>&1 | grep -q 'did you mean' && fail 'a good option was doubted'

for file in "$scenarios"/*.json; do
  expect 0 "scenario *ok" '' check "$file"
  expect 0 '{*"quotas": {*}*}' '' decide "$file"
done
expect 0 '*"admit": \[*"id": "b2"*"borrows": {"gpu": 3}*' '' decide "$scenarios/hyperpod_example.json"
expect 0 '*"rounds": 2,*serve-a3*"reason": "children"*"refuse": \[*carla*' '' \
  decide --rounds 9 "$scenarios/three_teams.json"
expect 0 '*"sweep"*"pods": 4, "for": "serve", "reason": "reclaim"*' '' decide "$scenarios/flavors_and_elastic.json"
expect 0 '*"batch"*"flavors": {"gpu": "a100"}*' '' decide "$scenarios/flavors_and_elastic.json"
expect 0 '*"rack-wide"*"nodes": \["a1-0", "a1-1"]*' '' decide --rounds 1 - <<<"$(sed 's/"a1-0"\], "duration/"a2-0"], "duration/' "$scenarios/topology_and_mig.json")"
expect 0 '*"admit": *"id": "rack-wide"*"nodes": \["a2-0", "a2-1"]*"id": "notebook"*"nodes": \["cut", "cut", "cut"]*"id": "tuning"*"nodes": \["cut", "cut"]*"id": "block-wide"*"no_domain_has_room"*"short_by": 8*its 4 pods must be placed in one block, and the one with most room, block b, has room for 3*"id": "too-wide"*"larger_than_any_domain"*the largest, rack a/r1, has room for 2 when it is empty*"notebooks": {"used": {"gpu": 1.375}*' '' \
  decide "$scenarios/topology_and_mig.json"

# One job: why it is pending, and the state of jobs that are not.
expect 0 'b2 (team-b) waits: team-b has 5 gpu, uses 4 and may not borrow.*if*- team-b had 3 gpu more*team-a*' '' \
  explain --policy static_quotas "$scenarios/hyperpod_example.json" b2
expect 0 'train-b3 (quota1.1) is evicted for serve-a1: *' '' explain "$scenarios/three_teams.json" train-b3
expect 0 'serve-a2 (quota1) starts on *Evicted for it*' '' explain --rounds 9 "$scenarios/three_teams.json" serve-a2
expect 0 'stray (quota1.1) is refused: carla *' '' explain "$scenarios/three_teams.json" stray
expect 0 '{*"format": "allot-explanation/1"*"state": "running"*}' '' \
  explain --json "$scenarios/three_teams.json" train-b1
expect 0 'block-wide (training) waits: its 4 pods *It asks for 32 gpu with 4 pods, all in one block, if possible in one rack.*It would be admitted if*- there was 1 more node of 8 GPUs in block b*- old-b were not there*' '' \
  explain "$scenarios/topology_and_mig.json" block-wide
expect 0 'notebook (notebooks) starts on *It has 0.375 gpu with 3 pods, each a MIG instance 1g.5gb.*' '' \
  explain "$scenarios/topology_and_mig.json" notebook
expect 2 '' '*three_teams.json: there is no job "train-b9" (did you mean "train-b1"?)*' \
  explain "$scenarios/three_teams.json" train-b9
expect 2 '' '*three_teams.json: there is no job "x" (there are *, as "*", "*", "*")*' \
  explain "$scenarios/three_teams.json" x
expect 2 '' '*there is no job "something else" (there are "j")*' explain - 'something else' <<<"$scenario"
expect 2 '' '*JOB*' explain "$scenarios/three_teams.json"

# A change, instead of a job.
expect 0 'These do not start:*  b2 (team-b)*These wait*  b2 (team-b): *' '' \
  explain "$scenarios/hyperpod_example.json" --if quota:team-a:gpu-3
expect 0 '{*"format": "allot-change/1"*"job:b2:gone"*"quota:team-b:gpu+4"*"waits": \[\]*}' '' \
  explain --json "$scenarios/hyperpod_example.json" --if job:b2:gone --if quota:team-b:gpu+4
expect 2 '' '*JOB*' explain "$scenarios/hyperpod_example.json" b2 --if job:b2:gone
expect 2 '' '*there is no quota "team-c"*there is no node "x"*expected quota:NAME*' \
  explain "$scenarios/hyperpod_example.json" --if quota:team-c:gpu+4 --if node:x:gone --if gone

# Standard input is a scenario or a trace.
expect 0 '*"admit": \[*"id": "j"*' '' decide - <<<"$scenario"
expect 0 'scenario standard input: policy fifo*ok' '' check --policy fifo - <<<"$scenario"
expect 0 'trace standard input: 1 job *ok' '' check - <<<$'job_id,submit_s,duration_s,gpus\n1,0,1,1'
expect 2 '' 'standard input: the file is empty*' check - </dev/null

# Unused columns are named, with the column that may have been meant.
mistaken=$'job_id,submit_s,duration_s,gpus,vc,Tenant,priorty,estimate_s,color\n1,0,9,1,a,b,3,5,red\n2,0,9,1,a,b,3,100,\n3,0,9,1,a,b,3,,\n'
expect 0 '*3 jobs of 0 tenants*2 have an estimate; 1 runs longer than it, by up to 4 s; of 1 it is over 10 times the duration*tags, which no policy looks at: vc (did you mean "tenant"?), Tenant (did you mean "tenant"?), priorty (did you mean "priority"?), color*ok' '' \
  check - <<<"$mistaken"
expect 0 '*tags, which no policy looks at: vc, color*ok' '' check - <<<"${mistaken/Tenant,priorty/tenant,priority}"
expect 0 'trace standard input: 0 jobs*tags*vc (did you mean "tenant"?)*ok' '' check - <<<"${mistaken%%$'\n'*}"
printf '%s' "$mistaken" >mistaken.csv
expect 0 '*' '*mistaken.csv: the column vc is a tag, which no policy looks at (did you mean "tenant"?)*priorty*' \
  replay --nodes 1x8 --trace mistaken.csv --out mistaken
says "$(head -n 1 mistaken/jobs.csv)" '*,estimate_s*'
says "$(cut -d, -f1,19 mistaken/jobs.csv | tr '\n' ' ')" 'job_id,estimate_s 1,5 2,100 3, '
# Those that the scenario's speeds depend on are used.
printf '{"format": "allot-scenario/1", "quotas": [{"name": "q", "nominal": {"gpu": 8}}], "trace": {"file": "mistaken.csv"},
  "speeds": [{"tags": {"vc": "a", "color": "red"}, "pods": {"1": 1}}]}' >speeds.json
expect 0 '*tags, which no policy looks at: Tenant (did you mean "tenant"?), priorty (did you mean "priority"?)'$'\n''*ok' '' \
  check speeds.json

# Every error has its file and place; nothing is printed on standard output.
expect 2 '' 'standard input: /jobs/0/request/gpu: expected a number*"one"' decide - <<<"${scenario/\"gpu\": 1\}\}]\}/\"gpu\": \"one\"\}\}]\}}"
expect 2 '' 'standard input: line 1, column 12: this is not JSON*' check - <<<'{"format": x}'
expect 2 '' 'nowhere.json: No such file or directory*' check nowhere.json
expect 2 '' 'nowhere.csv: No such file or directory*' check nowhere.csv
expect 2 '' '.: Is a directory*' decide .
expect 2 '' '--policy: there is no preset "best"*' decide --policy best - <<<"$scenario"
expect 2 '' '--nodes: expected nodes and GPUs of each*' decide --nodes 16 - <<<"$scenario"
printf 'job_id,submit_s,duration_s,gpus\n1,0,1,x\n2,0,1\n' >bad.csv
expect 2 '' 'bad.csv: line 2, column 7 (gpus): expected a number of GPUs, found "x"*bad.csv: line 3, column *' check bad.csv
printf '{"format": "allot-scenario/1", "trace": {"file": "bad.csv"}}' >refers.json
expect 2 '' 'bad.csv: line 2*' check refers.json
expect 2 '' 'allot replay: expected a scenario, or --trace*' replay --out somewhere
[ -e somewhere ] && failures=$((failures + 1))

# A result that can't be written is an error too.
if [ -e /dev/full ]; then
  "$allot" decide - <<<"$scenario" >/dev/full 2>err
  [ $? -eq 2 ] || { echo "a full disk went unnoticed"; failures=$((failures + 1)); }
fi

conclude
