#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Deliberately invalid input: the program reports what is wrong, quickly and in little memory, and prints
# nothing that a terminal would interpret.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# scenario MEMBERS: a scenario with these members.
scenario() {
  printf '{"format": "allot-scenario/1", %s}' "$1"
}
# within KIB COMMAND...: with a memory limit. The sanitizers themselves need more.
within() {
  local most=$1
  shift
  if grep -qa __asan_init "$allot"; then
    "$@"
  else
    (ulimit -v "$most" && "$@")
  fi
}

# A running job that has no place: all commands agree.
running='"cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8}]}, "quotas": [{"name": "q", "nominal": {"gpu": 16}}]'
agree_on() { # JOB PATTERN
  scenario "$running, \"jobs\": [$1]" >running.json
  exits 2 "$allot" check running.json
  says "$(<err)" "$2"
  mv err of_check
  exits 2 "$allot" decide running.json
  cmp -s err of_check || fail "check and decide disagree: $(<err)"
  exits 2 "$allot" explain running.json j
  cmp -s err of_check || fail "check and explain disagree: $(<err)"
  exits 2 "$allot" replay running.json --out run
  cmp -s err of_check || fail "check and replay disagree: $(<err)"
  exits 2 "$allot" check - <running.json
  says "$(<err)" 'standard input: /jobs/0*'
}
agree_on '{"id": "j", "state": "running", "request": {"gpu": 9}, "duration_s": 1}' \
  'running.json: /jobs/0: the running job has no place: *'
agree_on '{"id": "j", "state": "running", "request": {"gpu": 3}, "pods": 8, "nodes": ["n-0", "n-0", "n-0", "n-0", "n-1", "n-1", "n-1", "n-1"], "duration_s": 1}' \
  'running.json: /jobs/0/nodes: the running job does not fit there*'
scenario "$running, \"jobs\": [{\"id\": \"j\", \"state\": \"running\", \"request\": {\"gpu\": 8}, \"duration_s\": 1}]" >running.json
exits 0 "$allot" check running.json
exits 0 "$allot" decide running.json

# Endless input is an error that names the file and the limit.
if [ -e /dev/zero ]; then
  for command in check decide 'import kueue' 'import kai' 'import philly' 'import csv' compare; do
    # shellcheck disable=SC2086
    exits 2 within 1000000 timeout 10 "$allot" $command /dev/zero
    says "$(<err)" '/dev/zero: line 1, column 1: a zero byte: expected a text in UTF-8, not a binary file*'
  done
  exits 2 within 1000000 "$allot" sweep /dev/zero --out swept
  says "$(<err)" '/dev/zero: line 1, column 1: a zero byte*'
fi
exits 2 within 4000000 "$allot" check - < <(yes '')
says "$(<err)" 'standard input: there are more than 1 GiB to read, unpacked (expected less; --max-input SIZE raises the limit)*'
exits 2 within 1000000 "$allot" sweep - --out swept --max-input 1M < <(yes '')
says "$(<err)" 'standard input: there are more than 1 MiB*'
scenario '"quotas": [{"name": "q"}]' >small.json
exits 2 "$allot" check small.json --max-input 10
says "$(<err)" 'small.json: there are more than 10 bytes to read*'
exits 0 "$allot" check small.json --max-input 1K
exits 2 "$allot" check small.json --max-input 1Q
says "$(<err)" '--max-input: expected bytes, as in 1048576, 512M or 4G, at most 1024T, found "1Q"*'
exits 2 "$allot" check small.json --max-input 0
printf 'job_id,submit_s,duration_s,gpus\n%s' '1,0,1,1' >small.csv
exits 2 "$allot" check small.csv --max-input 16
says "$(<err)" 'small.csv: there are more than 16 bytes to read*'
if printf x | gzip -c >packed.gz 2>/dev/null; then
  head -c 2000000 /dev/zero | tr '\0' ' ' | gzip -c >packed.gz
  exits 2 "$allot" check packed.gz --max-input 1M
  says "$(<err)" 'packed.gz: there are more than 1 MiB to read, unpacked*'
  exits 2 "$allot" import kai packed.gz --max-input 1M
  says "$(<err)" 'packed.gz: there are more than 1 MiB to read, unpacked*'
fi
head -c 2000000 /dev/zero | tr '\0' '\n' >lines.csv
exits 2 "$allot" check lines.csv
says "$(<err)" 'lines.csv: line *: there are more than 1000000 empty lines together*'
exits 2 "$allot" import swf lines.csv
says "$(<err)" 'lines.csv: line *: there are more than 1000000 lines together without a job*'
# What is no UTF-8 is told as that, and what is shown of it is escaped.
scenario '"quotas": [{"name": "q"}]' >text.json
{ printf '\xff\xfe' && sed 's/./&\x00/g' text.json; } >utf16.json
exits 2 "$allot" check utf16.json
says "$(<err)" 'utf16.json: the text is UTF-16; expected UTF-8'
{ printf '\xef\xbb\xbf' && cat text.json; } >marked.json
exits 0 "$allot" check marked.json
exits 0 "$allot" check - <marked.json
printf '{"format": \x80}' >bytes.json
exits 2 "$allot" check bytes.json
says "$(<err)" 'bytes.json: line 1, column 12: this is not JSON (* at: \\x80})'
scenario '"quotas": [{"name": "q", "weight": "a\u0007b"}]' >bell.json
exits 2 "$allot" check bell.json
says "$(<err)" 'bell.json: /quotas/0/weight: expected *, found "a\\x07b"'
# Values, strings and nesting have limits of their own.
{
  printf '['
  yes 0, | head -n 5000 | tr -d '\n'
  printf '0]'
} >many.json
exits 2 "$allot" check many.json --max-input 64K
says "$(<err)" 'many.json: line 1, column *: there are more than 4096 values (expected fewer; --max-input SIZE raises the limit)*'
printf '[%.0s' {1..40} >deep.json
exits 2 "$allot" check deep.json
says "$(<err)" 'deep.json: line 1, column *nested too deep*'
long=$(head -c 70000 /dev/zero | tr '\0' k)
scenario "\"quotas\": [{\"name\": \"q\", \"$long\": 1}]" >key.json
exits 2 "$allot" check key.json
says "$(<err)" 'key.json: line 1, column *: the key is too long (expected at most 65536 bytes)*'
scenario "\"quotas\": [{\"name\": \"$long\"}]" >name.json
exits 2 "$allot" check name.json
says "$(<err)" 'name.json: /quotas/0/name: expected at most 4096 bytes, found 70000*'
scenario "\"quotas\": [{\"name\": \"q\", \"${long:0:60000}\": 1}]" >key.json
exits 2 "$allot" check key.json
[ "$(wc -c <err)" -lt 3000 ] || fail "a long key is printed as a whole"
says "$(<err)" 'key.json: /quotas/0/kkk*(* more bytes)*: unknown key "kkk*'

# The depth of quotas is limited, also when events change them; errors by the million are only counted.
chain() { # LEVELS
  printf '"quotas": [{"name": "q1", "nominal": {"gpu": 8}}'
  local i
  for ((i = 2; i <= $1; i++)); do printf ', {"name": "q%d", "parent": "q%d"}' "$i" $((i - 1)); done
  printf ']'
}
scenario "$(chain 256)" >chain.json
exits 0 "$allot" check chain.json
scenario "$(chain 257), \"events\": [{\"at_s\": 1, \"remove_quota\": {\"quota\": \"q9\"}}], \"jobs\": [{\"id\": \"j\", \"quota\": \"q3\", \"request\": {\"gpu\": 1}}]" >chain.json
exits 2 "$allot" check chain.json
says "$(<err)" 'chain.json: /quotas/256/parent: the quota is too deep in its tree (expected at most 256 levels; --max-depth N raises the limit)'
scenario "$(chain 257)" >chain.json
exits 0 "$allot" check chain.json --max-depth 257
scenario "$(chain 3), \"events\": [{\"at_s\": 1, \"add_quota\": {\"name\": \"new\", \"parent\": \"q3\"}}]" >chain.json
exits 0 "$allot" check chain.json --max-depth 4
exits 2 "$allot" check chain.json --max-depth 3
says "$(<err)" 'chain.json: /events/0/add_quota: the quota new is then too deep in its tree (expected at most 3 levels*'
exits 2 "$allot" check chain.json --max-depth 10001
says "$(<err)" '--max-depth: expected a whole number from 1 to 10000*'
scenario "$(chain 2000 | sed 's/"name": "q1",/"name": "q1", "inclusive": true,/'), \"jobs\": [{\"id\": \"j\", \"quota\": \"q2000\", \"request\": {\"gpu\": 1}, \"duration_s\": 1}]" >chain.json
for command in 'check chain.json' 'decide chain.json' 'explain chain.json j' 'replay chain.json --at 0'; do
  # shellcheck disable=SC2086
  exits 0 within 4000000 timeout 100 "$allot" $command --max-depth 2000
done
{
  printf '{"format": "allot-scenario/1", "quotas": [null'
  yes , | head -n 200000 | tr -d '\n' | sed 's/,/,null/g'
  printf ']}'
} >nulls.json
exits 2 within 300000 "$allot" check nulls.json
says "$(<err)" 'nulls.json: /quotas/0: expected an object, found null*... and 199951 more'

{
  printf '{"format": "allot-scenario/1"'
  seq -f ', "k%.0f": 1' 200000 | tr -d '\n'
  printf '}'
} >keys.json
exits 2 timeout 20 "$allot" check keys.json
says "$(<err)" 'keys.json: /k1: unknown key "k1"*... and 199950 more'

# Many tenants cost what they are, not their square; the report stays small, and so does what is printed.
awk 'BEGIN { print "job_id,submit_s,duration_s,gpus,tenant"
  for (i = 0; i < 20000; i++) printf "%d,%d,100,1,t%d\n", i, i / 2000, i }' >tenants.csv
exits 0 timeout 120 "$allot" replay --nodes 4000x8 --trace tenants.csv --policy standard --out tenants
[ "$(wc -c <tenants/report.html)" -lt 2000000 ] || fail "the report of 20,000 tenants has $(wc -c <tenants/report.html) bytes"
[ "$(wc -l <out)" -lt 250 ] || fail "the headline of 20,000 tenants has $(wc -l <out) lines"
says "$(tail -n 4 out)" '*... and 19,900 with less GPU time: see summary.json*'
says "$(grep -o 'The 2,000 quotas with the most GPU time of [0-9,]*' tenants/report.html)" '*of 20,000'
[ "$(grep -c '"t[0-9]*": {' tenants/summary.json)" -eq 20000 ] || fail "the summary lacks tenants"
rm -r tenants

# Errors of a trace have line and column, also those that are only found with a scenario; check of a trace
# alone finds what no scenario could accept.
printf 'job_id,submit_s,duration_s,gpus,tenant,gpu_model\n1,0,1,1,q,\n"2,2",0,1,1,"no\nbody",\n3,0,1,1,,\n4,0,1,1.5,q,\n5,0,1,2.25,q,V1\n' >places.csv
exits 2 "$allot" check places.csv
says "$(<err)" "places.csv: line 6, column 7 (gpus): job 4: 1.5 GPUs can't be had (expected *); and so in 1 more"
exits 2 "$allot" check - <places.csv
says "$(<err)" "standard input: line 6, column 7 (gpus): job 4: 1.5 GPUs*"
scenario '"cluster": {"nodes": [{"name": "n", "gpus": 8, "gpu_model": "T4"}]}, "quotas": [{"name": "q"}, {"name": "r"}]' >places.json
exits 2 "$allot" check places.json --trace places.csv
says "$(<err)" '*places.csv: line 7, column 14 (gpu_model): job 5: no node has the GPU model "V1"*'
says "$(<err)" '*places.csv: line 5, column 9 (tenant): job 3: the job has no tenant*'
says "$(<err)" '*places.csv: line 3, column 13 (tenant): job 2,2: the tenant "no\\x0abody" is not a quota of the scenario*'
# Errors of the objects of a cluster name the object.
objects=$sources/tests/lab/objects
sed 's/"nodeLabels": {[^}]*}/"nodeLabels": {"gpu": 5}/' "$objects/kueue.json" >objects.json
exits 2 "$allot" import kueue objects.json
says "$(<err)" '*objects.json: /items/*/spec/nodeLabels/gpu: expected a string, found 5 (in ResourceFlavor *)*'
# What is made passes check: also of pods that run where they can't.
sed 's/"cpu": "127500m"/"cpu": "5m"/' "$objects/kai.json" >objects.json
exits 0 "$allot" import kai objects.json
says "$(<err)" '*note: Node gpu-0: its pods hold 8000 milli-CPU (of 5) besides what others take: it is taken to have that*'
cp out made.json
exits 0 "$allot" check made.json
# Errors of an experiment name places in it.
experiment() {
  printf '{"format": "allot-experiment/1", "scenarios": [%s]}' "$1" >experiment.json
  exits 2 "$allot" sweep experiment.json --out swept
  [ ! -e swept ] || fail "a sweep of a wrong experiment has a directory"
}
experiment '{"file": "places.json", "trace": "places.csv"}'
says "$(<err)" 'places.csv: line 6, column 7 (gpus): job 4: *(for /scenarios/0 of experiment.json)*'
experiment '"small.json", {"nodes": "2x8", "tenants": {"a": 4, "b": 400}, "generate": {"model": "uniform", "gpus": 16, "jobs": 10}}'
says "$(<err)" '*experiment.json: /scenarios/1*'

# Numbers on the command line.
for option in '--seed=-1' '--seed=18446744073709551616' '--seed=1.5' '--seed=0x10' '--seed= 1' '--seed=1e3' \
  '--rows=-1' '--rows=x' '--max-queue=-1' '--max-queue=99999999999999999999'; do
  exits 2 "$allot" replay small.json --out run "$option"
  says "$(<err)" "${option%%=*}: expected a whole number from 0 to [0-9]*, found \"${option#*=}\"*"
  [ "$(wc -c <err)" -lt 250 ] || fail "$option: $(<err)"
done
for option in --seed=-1 --days=-1 --days=1.5 --jobs=99999999999999999999 --gpus=-8 --tenants=x --seed=18446744073709551616; do
  exits 2 "$allot" generate --out - "$option"
  says "$(<err)" "${option%%=*}: expected a whole number from 0 to [0-9]*, found \"${option#*=}\"*"
done
for option in --rounds=0 --rounds=-1 --rounds=1000001 --rounds=010x; do
  exits 2 "$allot" decide small.json "$option"
  says "$(<err)" "--rounds: expected a whole number from 1 to 1000000, found \"${option#*=}\"*"
done
exits 0 "$allot" generate --model uniform --jobs 10 --out - --seed 18446744073709551615
exits 0 "$allot" decide small.json --rounds 010
for option in nodes policy trace; do
  exits 2 "$allot" check small.json --$option=
  says "$(<err)" "--$option: expected *"
done

# A full disk behind standard output.
if [ -e /dev/full ]; then
  for arguments in 'check small.json' policies --help --version 'check --help' 'decide small.json' \
    'explain running.json j' 'replay running.json --at 0' 'generate --jobs 10 --out -'; do
    # shellcheck disable=SC2086
    "$allot" $arguments >/dev/full 2>err
    [ $? -eq 2 ] || fail "$arguments: a full disk went unnoticed"
    says "$(<err)" '*standard output*No space left on device*'
  done
fi

# Nor does a file take the place of standard output or error.
exits 0 "$allot" replay running.json --out open
"$allot" replay running.json --out closed <&- >&- 2>&-
[ $? -eq 2 ] || fail "a closed standard output went unnoticed"
for file in jobs.csv tenants.csv report.html; do
  cmp -s open/$file closed/$file || fail "without standard output and error there is something else in $file"
done

# Nothing that a terminal would obey: escapes, line breaks in names, what turns the text around; and a zero byte
# ends no message.
hostile='\u001b[31mred\u0007\u0000\nok\u202e\u009b'
shown='\\x1b\[31mred\\x07\\x00\\x0aok\\u202e\\u009b'
obeyed() {
  LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]' "$@"
}
is_harmless() { # WHAT
  obeyed out err && fail "$1: what a terminal obeys is printed raw: $(cat -v out err)"
}
scenario "\"quotas\": [{\"name\": \"q\", \"$hostile\": 1}]" >names.json
exits 2 "$allot" check names.json
is_harmless 'an unknown key'
says "$(<err)" "*/quotas/0/$shown: unknown key \"$shown\"*"
scenario "\"cluster\": {\"nodes\": [{\"name\": \"n$hostile\", \"gpus\": 8, \"gpu_model\": \"m$hostile\", \"pool\": \"p$hostile\"}]},
  \"quotas\": [{\"name\": \"q$hostile\", \"nominal\": \"cluster\"}],
  \"jobs\": [{\"id\": \"j$hostile\", \"request\": {\"gpu\": 8}, \"duration_s\": 9, \"class\": \"c$hostile\", \"user\": \"u$hostile\"},
             {\"id\": \"k\", \"request\": {\"gpu\": 8}, \"duration_s\": 9},
             {\"id\": \"r\", \"request\": {\"gpu\": 80}, \"duration_s\": 9}]" >names.json
exits 0 "$allot" check names.json
is_harmless check
says "$(<out)" "*n$shown*q$shown*"
[ "$(grep -c '^ok$' out)" -eq 1 ] || fail "a name looks like the end of check"
for job in k r; do
  exits 0 "$allot" explain names.json $job
  is_harmless "explain $job"
  says "$(<out)" "$job (q$shown)*"
done
exits 2 "$allot" explain names.json $'\e]0;title\a'
is_harmless 'explain, no such job'
says "$(<err)" '*there is no job "\\x1b\]0;title\\x07"*'
exits 0 "$allot" replay names.json --at 1
is_harmless 'replay --at'
exits 0 "$allot" replay names.json --out names --until 1
is_harmless 'replay'
cp -r names $'names\e[31m'
exits 0 "$allot" compare names $'names\e[31m'
is_harmless compare
# Markdown: a cell stays a cell, and nothing in it is markup.
cp -r names 'a|b`*'
exits 0 "$allot" compare 'a|b`*' names --format markdown
says "$(head -n 1 out)" '*| a\\|b\\`\\* |*names*'
awk -F'|' '{ gsub(/\\\|/, "") } /^\|/ && NF != 6 { exit 1 }' out || fail "a row of Markdown has more cells: $(<out)"

# Every name of a list, in every output: names of quotas, jobs, nodes, classes and users.
rows() { # PREFIX SUFFIX: a row for each name
  local name first=1
  while IFS= read -r name; do
    [ $first = 1 ] || printf ',\n'
    first=0
    printf '%s%s%s' "$1" "$name" "$2"
  done <"$sources/tests/lab/hostile_names.json"
}
scenario "\"cluster\": {\"nodes\": [$(rows '{"name": ' ', "gpus": 1}')]}, \"quotas\": [$(rows '{"name": ' ', "nominal": {"gpu": 1}}')],
  \"jobs\": [$(while IFS= read -r name; do
    printf '{"id": %s, "quota": %s, "request": {"gpu": 1}, "class": %s, "user": %s, "duration_s": 9},' "$name" "$name" "$name" "$name"
  done <"$sources/tests/lab/hostile_names.json")]" >list.json
names=$(wc -l <"$sources/tests/lab/hostile_names.json")
exits 0 "$allot" check list.json
is_harmless 'check of the list'
exits 0 "$allot" replay list.json --out list --events --chrome --svg
is_harmless 'replay of the list'
exits 0 "$allot" replay list.json --at 1
is_harmless 'replay --at of the list'
exits 0 "$allot" decide list.json
mv out list/decision.json
exits 0 "$allot" explain list.json a,b\;c --json
mv out list/story.json
# JSON output is valid JSON; a wrong format is reported only for valid JSON.
for file in list/summary.json list/trace.json list/decision.json list/story.json; do
  exits 2 "$allot" check "$file"
  says "$(<err)" "$file: *unknown key*"
done
says "$(tr -d ' \n' <list/summary.json)" "*\"jobs\":{\"total\":$names,\"completed\":$names,*"
exits 0 "$allot" compare list list --format csv
exits 0 "$allot" compare list list --all
is_harmless 'compare of the list'

exits 2 "$allot" frobnicate $'\e[31m'
is_harmless 'a wrong argument'
exits 2 "$allot" check $'no\e[31mfile.json'
is_harmless 'a file that is not there'
printf 'job_id,submit_s,duration_s,gpus,tenant\n\e[31mj,0,1,1.5,\e[31m\n\x80,0,x\e[31m,1,a\n' >names.csv
exits 2 "$allot" check names.csv
is_harmless 'a trace'
exits 2 "$allot" check small.json --trace names.csv
is_harmless 'a trace of a scenario'

conclude
