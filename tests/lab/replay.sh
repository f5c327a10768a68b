#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The files that replay, compare and generate leave behind, also after a failure.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# leaves DIRECTORY NAME...: exactly these files, and nothing unfinished beside them.
leaves() {
  local directory=$1
  shift
  says "$(ls "$directory" 2>/dev/null | tr '\n' ' ')" "$(printf '%s\n' "$@" | LC_ALL=C sort | tr '\n' ' ')"
  nothing_half_done
}
standard_files="cdf.csv jobs.csv report.html summary.json tenants.csv"

cat >teams.csv <<'CSV'
job_id,submit_s,duration_s,tenant,gpus
1,0,100,b,8
2,45,20,a,4
big,50,5,a,100
3,67,10,a,4
CSV
cat >teams.json <<'JSON'
{"format": "allot-scenario/1", "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 4}]},
 "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 4}},
            {"name": "b", "parent": "all", "nominal": {"gpu": 4}}],
 "trace": {"file": "teams.csv"}}
JSON

# --- a replay, and the same again
exits 0 "$allot" replay teams.json --out one
leaves one $standard_files
says "$(<out)" '*standard: 4 jobs, 8 GPUs*completed*3, 1 refused*preemptions*2,*one: summary.json*'
says "$(<err)" '1 job refused:*big: 100 gpu are asked for, and the nodes that it may run on have 8*'
says "$(<out)" '*waiting *100.00 % for fair share*'
exits 0 "$allot" replay teams.json --out two --events --chrome
leaves two $standard_files events.csv trace.json
for file in $standard_files; do
  cmp -s <(grep -v wall_s "one/$file") <(grep -v wall_s "two/$file") || fail "$file differs between two replays"
done
says "$(sed -n 1p one/jobs.csv)" \
  'job_id,quota,submit_s,start_s,end_s,wait_s,jct_s,preemptions,lost_s,nodes,state,reason,gpus,duration_s,class,fair_share_wait_s,fragmentation_wait_s,capacity_wait_s,finish_time_fairness'
says "$(sed -n 2p one/jobs.csv)" '1,b,0,0,177,30,177,2,47,n-0;n-1,completed,,8,100,,30,0,0,1.513478'
says "$(sed -n 4p one/jobs.csv)" 'big,a,50,,,0,,0,0,,refused,larger_than_cluster,100,5,,0,0,0,'
says "$(sed -n 1,2p one/tenants.csv)" $'time_s,quota,used,entitled,borrowed,lent,pending\n0,a,0,0,0,4,0'
says "$(grep evicted two/events.csv)" $'45,evicted,1,b,,2,reclaim,45\n67,evicted,1,b,,3,reclaim,2'
says "$(tr -d ' \n' <one/summary.json)" \
  '{"format":"allot-summary/1","policy":"standard","policy_name":"standard","policy_set":{},"version":"*.*.*","seed":1,"input_hash":"*","decision_hash":"*","jobs":{"total":4,"completed":3,"unfinished":0,"refused":1,"cancelled":0,"time_limit":0,"waiting":0,"running":0,"not_submitted":0},"jct_s":{"mean":*,"p50":*,"p90":*,"p99":*,"max":*},"queue_s":{*},*"makespan_s":*,"end_s":*,"allocation_rate":*,"fragmentation":*,"preemptions":2,*"lost_gpu_h":*,"borrowed_gpu_h":*,"lent_gpu_h":*,"churn":*,"jain":*,"fair_share_error_gpu_h":*,"max_wait_s":*,"tenants":{"all":{*},"a":{*},"b":{*}},"decisions":*,"events":*,"wall_s":*}'
says "$(<one/report.html)" '<!doctype html>*<svg *</html>'

# --- jobs whose pods differ, from a trace, in a host that fails: the pods by set where a job is shown
cat >sets.csv <<'CSV'
job_id,submit_s,duration_s,gpus,tenant,pods,min_pods,pod_set
chat,0,100,0,a,1,,router
chat,0,100,6,a,6,2,worker
big,5,50,8,b,2,,worker
big,5,50,16,b,4,,server
CSV
sed 's/teams.csv/sets.csv/; s/"trace"/"faults": {"start_s": 1, "failed_starts_percent": 20}, "trace"/' teams.json >sets.json
for policy in runai kueue standard; do
  exits 0 "$allot" replay sets.json --policy "$policy" --out "sets-$policy" --chrome
  says "$(grep -c '^chat,a,.*,completed,' "sets-$policy/jobs.csv")" 1
done
says "$(<err)" '*big: pod set server: 16 gpu are asked for, and the nodes that it may run on have 8*'
says "$(<sets-standard/report.html)" '*big (2 worker, 4 server)*"podSets":{"0":"1 router, 2 to 6 worker"}*'
grep -q '"pod_sets": *"1 router, 2 to 6 worker"' sets-standard/trace.json || fail 'trace.json has no pod_sets'
exits 0 "$allot" replay sets.json --at 50
says "$(<out)" '*chat *n-0 n-1; 1 router, 6 worker*'

# --- jobs that run at other speeds: preempted, in an outage, with fewer pods, side by side, in two racks
cat >speeds.json <<'JSON'
{"format": "allot-scenario/1",
 "cluster": {"topology": ["rack"], "nodes": [
   {"name": "v", "gpus": 2, "gpu_model": "V100", "labels": {"rack": "r1"}},
   {"name": "k", "gpus": 2, "gpu_model": "K80", "labels": {"rack": "r2"}}]},
 "quotas": [{"name": "all"}, {"name": "own", "parent": "all", "nominal": {"gpu": 4}}, {"name": "guest", "parent": "all"}],
 "speeds": [{"class": "slow", "gpu_model": {"K80": 0.5}, "pods": {"1": 1, "2": 1.5}},
            {"class": "share", "neighbours": [0.6]}, {"class": "wide", "apart": {"level": "rack", "speed": 0.5}}],
 "events": [{"at_s": 300, "node_down": {"node": "k"}}, {"at_s": 310, "node_up": {"node": "k"}}],
 "jobs": [
   {"id": "p", "quota": "guest", "request": {"gpu": 2}, "class": "slow", "gpu_model": "K80", "duration_s": 100,
    "checkpoint_s": 10, "restart_s": 5},
   {"id": "o", "quota": "own", "request": {"gpu": 2}, "gpu_model": "K80", "submit_s": 50, "duration_s": 10},
   {"id": "f", "quota": "guest", "request": {"gpu": 1}, "class": "slow", "gpu_model": "K80", "submit_s": 290, "duration_s": 20},
   {"id": "e", "quota": "guest", "request": {"gpu": 1}, "pods": 2, "min_pods": 1, "class": "slow", "gpu_model": "K80",
    "submit_s": 400, "duration_s": 30},
   {"id": "o2", "quota": "own", "request": {"gpu": 1}, "gpu_model": "K80", "submit_s": 420, "duration_s": 10},
   {"id": "s", "quota": "own", "request": {"gpu": 0.5}, "class": "share", "submit_s": 500, "duration_s": 100},
   {"id": "s2", "quota": "own", "request": {"gpu": 0.5}, "class": "share", "submit_s": 540, "duration_s": 100},
   {"id": "w", "quota": "own", "request": {"gpu": 1}, "pods": 3, "class": "wide", "submit_s": 700, "duration_s": 10},
   {"id": "w2", "quota": "own", "request": {"gpu": 1}, "pods": 2, "class": "wide", "submit_s": 730, "duration_s": 10},
   {"id": "cut", "quota": "own", "request": {"gpu": 1}, "class": "slow", "gpu_model": "K80", "submit_s": 800, "duration_s": 100}]}
JSON
exits 0 "$allot" replay speeds.json --out speeds --until 900
# p loses 10 s, in which it did 5 s of work, and a restart; e does two thirds with one pod, of which 0.666 are counted.
says "$(cut -d, -f1,4,5,8,9,20 speeds/jobs.csv)" "job_id,start_s,end_s,preemptions,lost_s,work_s
p,0,225,1,15,100
o,50,60,0,0,10
f,290,350,0,10,20
e,400,463.34,0,0,30
o2,420,430,0,0,10
s,500,640,0,0,100
s2,540,680,0,0,100
w,700,720,0,0,10
w2,730,740,0,0,10
cut,800,,0,0,50"
exits 0 "$allot" replay speeds.json --out speeds --force --isolated
says "$(grep '^cut' speeds/jobs.csv | cut -d, -f4,5)" 800,1000
# Alone on two GPUs of two racks w2 takes twice as long, and the others as long as here.
says "$(tr -d ' \n' <speeds/summary.json)" '*"own":*"on_share":{"gpus":2,*"finish_time_fairness":{"jobs":5,"mean":0.9,"max":1,*'

# --- tenants.csv in steps: for each quota the last row of a step, and the state at the beginning
exits 0 "$allot" replay teams.json --out steps --tenants-step 50
leaves steps $standard_files
says "$(<steps/tenants.csv)" "$(awk -F, 'NR == 1 || $1 == 0 { print; next }
  { step = int($1 / 50) } step != now { flush() } { now = step; if (!($2 in row)) n++; row[$2] = $0; at[$2] = NR }
  function flush(  i, q, first) {
    for (; n > 0; n--) {
      first = ""
      for (q in row) if (first == "" || at[q] < at[first]) first = q
      print row[first]; delete row[first]; delete at[first]
    }
  }
  END { flush() }' one/tenants.csv)"
[ "$(wc -l <steps/tenants.csv)" -lt "$(wc -l <one/tenants.csv)" ] || fail 'with steps there are no fewer rows'
for file in jobs.csv summary.json; do
  cmp -s <(grep -v wall_s "one/$file") <(grep -v wall_s "steps/$file") || fail "$file depends on the steps"
done
# Of many quotas what others' jobs alone change has no row each time, unless that is asked for.
exits 0 "$allot" generate --model mix --tenants 40 --gpus 32 --jobs 400 --out many.csv
exits 0 "$allot" replay --nodes 4x8 --trace many.csv --out many
exits 0 "$allot" replay --nodes 4x8 --trace many.csv --out many-all --tenants-step 0
[ "$(wc -l <many/tenants.csv)" -lt "$(wc -l <many-all/tenants.csv)" ] || fail 'there is a row for each change'
own='NR > 1 && $3 SUBSEP $5 SUBSEP $7 != row[$2] { row[$2] = $3 SUBSEP $5 SUBSEP $7; print $1, $2, $3, $5, $7 }'
says "$(awk -F, "$own" many/tenants.csv | sort)" "$(awk -F, "$own" many-all/tenants.csv | sort)"
for file in jobs.csv summary.json; do
  cmp -s <(grep -v wall_s "many/$file") <(grep -v wall_s "many-all/$file") || fail "$file depends on the rows"
done
exits 2 "$allot" replay teams.json --out never --tenants-step often
says "$(<err)" '*--tenants-step: expected *"often"*'

grep -qE 'https?:|src=|@import' one/report.html && fail 'the report refers to something outside'

# --- jobs that run from the start, elastic ones, time limits, nodes that fail
cat >world.json <<'JSON'
{"format": "allot-scenario/1", "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 4}]},
 "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 4}, "time_limit_s": {"interactive": 30}},
            {"name": "b", "parent": "all", "nominal": {"gpu": 4}}],
 "jobs": [{"id": "run", "quota": "a", "request": {"gpu": 1}, "pods": 2, "duration_s": 100, "checkpoint_s": 20,
           "state": "running", "start_s": 10, "nodes": ["n-0", "n-0"]},
          {"id": "going", "quota": "b", "request": {"gpu": 2}, "duration_s": 50, "state": "evicting", "start_s": 5,
           "nodes": ["n-1"]},
          {"id": "shell", "quota": "a", "class": "interactive", "request": {"gpu": 1}, "submit_s": 25, "duration_s": 500},
          {"id": "wide", "quota": "b", "request": {"gpu": 1}, "pods": 4, "min_pods": 1, "submit_s": 20, "duration_s": 60}],
 "events": [{"at_s": 60, "node_down": {"node": "n-0"}}, {"at_s": 90, "node_up": {"node": "n-0"}}]}
JSON
exits 0 "$allot" replay world.json --out world --events
leaves world $standard_files events.csv
says "$(grep going world/events.csv | sed -n 3p)" '10,evicted,going,b,,,,5'
says "$(grep -E '(evicted|shrank)' world/events.csv)" '*,shell,a,,,time_limit,0*60,evicted,run,a,,,node_down,10*'
says "$(grep grew world/events.csv)" '20,grew,wide,b,n-*'
says "$(grep shell world/jobs.csv)" 'shell,a,25,25,55,0,,0,0,n-*,time_limit,,1,500,interactive,0,0,0,'
says "$(grep ^run world/jobs.csv)" 'run,a,0,10,*'
says "$(tr -d ' \n' <world/summary.json)" '*"completed":3,*"time_limit":1,*"node_failures":1,*"livelocks":0,*'
sed 's/"nodes": \["n-1"\]/"nodes": ["n-0"], "devices": [[0, 1]]/; s/"nodes": \["n-0", "n-0"\]/&, "devices": [[0], [1]]/' world.json >clash.json
exits 2 "$allot" replay clash.json --out clash
says "$(<err)" 'clash.json: /jobs/0/devices: *'
[ ! -e clash ] || fail 'a directory was made for a replay that failed'

# --- the measurement window, and the figures per tenant alone
exits 0 "$allot" replay teams.json --out part --window 40,70 --grace 0 --isolated
says "$(tr -d ' \n' <part/summary.json)" \
  '*"window":{"from_s":40,"to_s":70,"jobs":3},"grace_s":0,*"isolated":{"sharing_anomaly_s":0,"of":"a",*'
says "$(<out)" '*useful *sharing *a waits 0 s more than alone on its quota*finish times *rho *'
exits 0 "$allot" replay teams.json --out part --force --warm-up 40 --no-drain
says "$(tr -d ' \n' <part/summary.json)" '*"window":{"from_s":40,"to_s":67.001,"jobs":3},"grace_s":60,"measured":{"warm_up":"40","no_drain":"true"},*'
says "$(<out)" '*  measured       without the first 40s, up to the last submission*'
says "$(<part/report.html)" '*<dt>measured</dt><dd><code>without the first 40s, up to the last submission</code>*'
exits 0 "$allot" replay teams.json --out part --force --window 50,
says "$(tr -d ' \n' <part/summary.json)" '*"window":{"from_s":50,"to_s":177,"jobs":2},*'
exits 0 "$allot" replay teams.json --out part --force --window 1h,
says "$(<err)" '*no job was submitted in the part that is measured (from 1h on): there are no means*'
exits 2 "$allot" replay teams.json --out wrong --window 50, --until 50
says "$(<err)" '--window: nothing would be measured: the window begins at 50s, and the replay ends at 50s'
exits 2 "$allot" replay teams.json --out wrong --warm-up 1h --until 50
says "$(<err)" '--warm-up: nothing would be measured: the first 1h are left out, and the replay ends at 50s'
for window in 40 70,40 x,3 ,-5 1e3,; do
  exits 2 "$allot" replay teams.json --out wrong --window "$window"
  says "$(<err)" '--window: expected *'
done
exits 2 "$allot" replay teams.json --out wrong --warm-up soon --grace -1
says "$(<err)" '--warm-up: expected seconds*"soon"*--grace: expected seconds*"-1"*'
[ ! -e wrong ] || fail 'a directory was made for a replay that failed'

# --- the quotas that are shown
exits 0 "$allot" replay teams.json --out shown --svg --show b
says "$(<shown/gpus.svg)" '*>b</text>*>1 other</text>*'
exits 0 "$allot" replay teams.json --out shown --force --svg --show a,b
grep -q 'other</text>' shown/gpus.svg && fail 'there are others where all are chosen'
exits 2 "$allot" replay teams.json --out wrong --show a,bb
says "$(<err)" '--show: there is no quota "bb"*'
exits 2 "$allot" replay teams.json --out wrong --show a,b,c,d,e,f,g,h,i
says "$(<err)" '--show: expected at most 8 quotas, as many as there are colours, found 9*'

# --- an existing directory
cp -r one kept
exits 2 "$allot" replay teams.json --out one
says "$(<err)" '*one exists*--force*'
exits 2 "$allot" replay teams.json --out one/
diff -r one kept >/dev/null || fail 'an existing directory was touched'
echo mine >two/notes.txt
exits 0 "$allot" replay teams.json --out two --force --seed 7
leaves two $standard_files notes.txt
says "$(<two/notes.txt)" mine
says "$(<two/summary.json)" '*"seed": 7,*'
exits 2 "$allot" replay teams.json --out teams.csv --force
says "$(<err)" '*teams.csv is not a directory*'
exits 2 "$allot" replay teams.json --out ''
exits 2 "$allot" replay teams.json --out .. --force
exits 0 "$allot" replay teams.json --out deep/down/run
leaves deep/down/run $standard_files
exits 2 "$allot" replay teams.json --out teams.csv/run
nothing_half_done

# --- remains of killed runs: they are no run, and the next run to the same place removes them
dead=999999999
for partial in "left/run.partial-$dead" "left/run.partial-$$" "left/other.partial-$dead"; do
  mkdir -p "$partial"
  cp one/* "$partial"
done
cp one/jobs.csv "left/jobs.csv.partial-$dead"
exits 2 "$allot" compare left one
says "$(<err)" 'left: there is no replay in it*'
exits 2 "$allot" compare "left/run.partial-$dead" one
says "$(<err)" "left/run.partial-$dead: it is not a finished run: *"
exits 0 "$allot" replay teams.json --out left/run
exits 0 "$allot" generate --jobs 10 --out left/jobs.csv
says "$(ls left | tr '\n' ' ')" "jobs.csv other.partial-$dead run run.partial-$$ "
exits 0 "$allot" compare left/run one
rm -r left

# --- invalid input leaves nothing, not even the directories above
sed 's/"trace".*/"events": [{"at_s": 50, "remove_quota": {"quota": "all"}}], &/' teams.json >broken.json
exits 2 "$allot" replay broken.json --out deep2/run
says "$(<err)" 'broken.json: /events/0/*: *'
printf 'job_id,submit_s,duration_s,gpus\n1,0,5,x\n' >bad.csv
exits 2 "$allot" replay --nodes 2x4 --trace bad.csv --policy fifo --out deep2/run
says "$(<err)" 'bad.csv: line 2, column 7 (gpus): *'
printf 'job_id,submit_s,duration_s,gpus\n' >none.csv
exits 2 "$allot" replay --nodes 2x4 --trace none.csv --policy fifo --out deep2/run
[ ! -e deep2 ] || fail 'a directory was made for a replay that failed'
nothing_half_done

# --- a full disk: a limit on the size of files fails in the same way
exits 0 "$allot" generate --days 200 --seed 3 --out long.csv
(ulimit -f 64 && exec "$allot" replay --nodes 16x8 --trace long.csv --policy fifo --out full) >out 2>err
[ $? -eq 2 ] || fail 'a file that could not be written was not noticed'
says "$(<err)" "*can't write full.partial-*"
[ ! -e full ] || fail 'half a replay has its final name'
(ulimit -f 64 && exec "$allot" generate --days 200 --out full.csv) >out 2>err
[ $? -eq 2 ] || fail 'a trace that could not be written was not noticed'
[ ! -e full.csv ] || fail 'half a trace has its final name'
nothing_half_done

# --- an interrupt: the results so far are written, and marked
interrupt() { # SIGNAL STATUS [AGAIN]
  local process status i
  "$allot" replay --nodes 16x8 --trace long.csv --policy fifo --out above/stopped --events >out 2>err &
  process=$!
  for ((i = 0; i < 2000; ++i)); do
    compgen -G 'above/stopped.partial-*' >/dev/null && break
    sleep 0.002
  done
  kill "-$1" "$process"
  [ -z "${3:-}" ] || kill "-$1" "$process" 2>/dev/null
  wait "$process"
  status=$?
  # On a fast machine it may have finished.
  [ "$status" -eq "$2" ] || [ "$status" -eq 0 ] || fail "$1: exit status $status"
  nothing_half_done
  if [ "$status" -ne 0 ] && [ -e above ]; then
    leaves above/stopped $standard_files events.csv
    says "$(tr -d ' \n' <above/stopped/summary.json)" '*"stopped":{"reason":"interrupt","at_s":*},"jobs":{*'
    says "$(<err)" 'interrupted at day *jobs had not finished when it was stopped:*'
    says "$(cut -d, -f11 above/stopped/jobs.csv | sort -u | tr '\n' ' ')" '*future*'
  fi
  rm -rf above
}
set -m # otherwise SIGINT is ignored in the background
interrupt INT 130
interrupt TERM 143
interrupt INT 130 again
set +m

# --- it ends at the right time
exits 0 "$allot" replay teams.json --out until --until 1m
leaves until $standard_files
says "$(<err)" 'stopped at day 0, 00:01:00 (60 s), as --until says*3 jobs had not finished*  1 (b): 8 GPUs, waiting*  2 (a): 4 GPUs, running*  3 (a): 4 GPUs, had not come yet*'
says "$(tr -d ' \n' <until/summary.json)" '*"stopped":{"reason":"until","at_s":60},"jobs":{"total":4,"completed":0,"unfinished":3,"refused":1,*"end_s":60,"allocation_rate":0.875,*'
says "$(sed -n 2,3p until/jobs.csv)" $'1,b,0,0,,15,,1,45,n-0;n-1,waiting,,8,100,,15,0,0,\n2,a,45,45,,0,,0,0,n-0,running,,4,20,,0,0,0,'
says "$(sed -n 5p until/jobs.csv)" '3,a,67,,,,,0,0,,future,,4,10,,,,,'
says "$(tr -d ' \n' <until/summary.json)" '*"jobs":{*"waiting":1,"running":1,"not_submitted":1}*'
says "$(<out)" '*completed *0, 3 unfinished (1 waiting, 1 running, 1 not yet submitted), 1 refused*'
says "$(<until/report.html)" '*3 unfinished (1 waiting, 1 running, 1 not yet submitted)*'
# Each tenant alone is compared up to the same time, and not if a guard ended the replay.
exits 0 "$allot" replay teams.json --out until --force --until 1m --isolated
says "$(tr -d ' \n' <until/summary.json)" \
  '*"isolated":{"sharing_anomaly_s":0,"of":"a",*"tenants":{"a":{"on_quota":{"gpus":4,"jobs":1,*'
exits 0 "$allot" replay teams.json --out until --force --isolated
says "$(tr -d ' \n' <until/summary.json)" '*"isolated":{*"tenants":{"a":{"on_quota":{"gpus":4,"jobs":2,*'
exits 3 "$allot" replay teams.json --out until --force --max-queue 0 --isolated
says "$(<err)" '*--isolated: each tenant alone is not replayed, because the replay was ended*'
rm -rf until
exits 0 "$allot" replay teams.json --out never --until 2h
says "$(<never/summary.json)" '*"completed": 3*'
grep -q stopped never/summary.json && fail 'a replay that was over before is not stopped'
exits 3 "$allot" replay teams.json --out queue --max-queue 0
says "$(<err)" 'stopped at day 0, 00:00:45 (45 s): more jobs waited than --max-queue allows*the queue only grows*'
says "$(tr -d ' \n' <queue/summary.json)" '*"stopped":{"reason":"max_queue","at_s":45}*'
exits 3 "$allot" replay --nodes 16x8 --trace long.csv --policy fifo --out time --max-time 1ms
says "$(tr -d ' \n' <time/summary.json)" '*"stopped":{"reason":"max_time","at_s":*}*'
says "$(<err)" '*it took longer than --max-time allows*'
rm -rf time
exits 0 "$allot" generate --days 10 --load 2 --gpus 16 --out much.csv
exits 0 "$allot" replay --nodes 2x8 --trace much.csv --policy fifo --out much
says "$(<err)" 'allot: the jobs ask for *.* % of what the cluster can do while they come, so the queue grows*--max-queue*'
exits 0 "$allot" replay teams.json --out timed --timing
says "$(<err)" '*reading *events and decisions *metrics *series and events *writing *all *100.0 %*events/s*'

# --- the state at one time
exits 0 "$allot" replay teams.json --at 50
says "$(<out)" 'standard at day 0, 00:00:50 (50 s): 4 GPUs in use of 8 (50.00 %), 1 running, 1 waiting, 1 over, 1 to come

Nodes *
  n-0 bbbb*n-1 ....

  Quotas *nominal*used*entitled*borrowed*lent*share*running*waiting
*  b a *4 *4 *4 *0 *0 *0.000 *1 *0
  c b *4 *0 *4 *0 *0 *0.000 *0 *1

Running: 1
*  2 *a *4 *5 s *n-0

Waiting: 1
*  1 *b *8 *50 s *capacity: all has 8 gpu for all and 4 are in use'
# A preset may read the tree its own way; the figures are those of the scenario's.
cat >sums.json <<'JSON'
{"format": "allot-scenario/1", "quotas": [{"name": "root", "nominal": {"gpu": 2}}, {"name": "a", "parent": "root", "nominal": {"gpu": 1}},
 {"name": "b", "parent": "root", "nominal": {"gpu": 1}}, {"name": "guest", "parent": "root"}],
 "jobs": [{"id": "g1", "quota": "guest", "request": {"gpu": 1}, "duration_s": 9}]}
JSON
sed 's/"gpu": 2}/&, "inclusive": true/' sums.json >contained.json
for policy in pai hyperpod runai; do
  exits 0 "$allot" replay sums.json --policy $policy --at 0
  says "$(<err)" "note: $policy decides as if the nominal of root contained that of its children; in the figures it comes on top of theirs*\"inclusive\": true*"
  exits 0 "$allot" replay contained.json --policy $policy --at 0
  [ ! -s err ] || fail "$policy: $(<err)"
done
exits 0 "$allot" replay sums.json --policy standard --out summed
[ ! -s err ] || fail "standard: $(<err)"
exits 0 "$allot" replay teams.json --at 0m50s --out seen
says "$(<out)" 'standard at day 0, 00:00:50*standard: 4 jobs, 8 GPUs*'
for file in $standard_files; do
  cmp -s <(grep -v wall_s "one/$file") <(grep -v wall_s "seen/$file") || fail "$file differs when somebody looks"
done
exits 0 "$allot" replay teams.json --at 1h
says "$(<out)" '*0 GPUs in use of 8*0 running, 0 waiting, 4 over, 0 to come*'
exits 0 "$allot" replay --nodes 2x4 --trace teams.csv --policy fifo --at 50 --rows 1
says "$(<out)" 'fifo at *Waiting: 1*'
for bad in 3x -5 '' 1h2h '3 d' 1e3 99999999999999; do
  [ -z "$bad" ] && continue
  exits 2 "$allot" replay teams.json "--until=$bad" --out wrong
  says "$(<err)" "--until: expected seconds, or a time such as \"3d\", \"12h30m\" or \"1.5h\", found \"$bad\"*"
done
exits 2 "$allot" replay teams.json --at 60 --until 50 --out wrong
exits 2 "$allot" replay teams.json
says "$(<err)" '--out: expected the directory*'
exits 2 "$allot" replay teams.json --max-queue -1 --out wrong
[ ! -e wrong ] || fail 'a directory was made for options that are wrong'
# A pipe gets no progress.
exits 0 "$allot" replay --nodes 16x8 --trace long.csv --policy fifo --out quiet
grep -qE $'\r|events/s' err && fail 'progress was written to a file'
rm -rf quiet
nothing_half_done

# --- compare and generate
exits 0 "$allot" replay teams.json --policy static_quotas --out fixed
exits 0 "$allot" compare fixed one/summary.json
says "$(<out)" '*fixed*one/summary.json*policy*static_quotas*standard*utilisation*wait, mean*preemptions*a*wait, mean*'
grep -qE 'jobs of|other jobs' out && fail 'two policies on one workload were taken for different inputs'
# Two variants of one preset are distinguished everywhere.
for guard in final_share initial_share; do
  sed 's/"cluster"/"policy": {"preset": "standard", "set": {"guard": "'$guard'", "placement": "worst_fit", "seed": 7}}, &/' \
    teams.json >$guard.json
  exits 0 "$allot" replay $guard.json --out $guard
  says "$(<out)" "standard (guard $guard, placement worst_fit): 4 jobs*made by *allot *.*, seed 7*"
  says "$(tr -d ' \n' <$guard/summary.json)" \
    '*"policy":"standard","policy_name":"standard(guard'$guard',placementworst_fit)","policy_set":{"guard":"'$guard'","placement":"worst_fit"},"version":*'
  says "$(<$guard/report.html)" "*<title>standard (guard $guard, placement worst_fit), seed 7: *Replay under standard (guard $guard, *"
done
exits 0 "$allot" compare final_share initial_share
says "$(<out)" '*policy*standard (guard final_share, placement worst_fit)*standard (guard initial_share, placement worst_fit)*seed *7 *7*allot *'
exits 0 "$allot" compare final_share initial_share --html -
says "$(<out)" '*guard final_share*guard initial_share*<td>allot<td>*'
sed 's/"cluster"/"policy": {"preset": "kueue_fair", "strategies": ["final_share", "initial_share"]}, &/' teams.json >strategies.json
exits 0 "$allot" replay strategies.json --at 0
says "$(<out)" 'kueue_fair (strategies final_share + initial_share) at day 0*'
exits 0 "$allot" replay final_share.json --policy static_quotas --at 0
says "$(<out)" 'static_quotas (placement worst_fit) at day 0*'
exits 0 "$allot" replay teams.json --nodes 3x8 --out three_nodes
exits 0 "$allot" compare fixed three_nodes
says "$(<out)" '*three_nodes ran the jobs of fixed on other nodes or under other quotas.'
sed 's/1,0,100/1,0,101/' teams.csv >longer.csv
exits 0 "$allot" replay teams.json --trace longer.csv --policy static_quotas --out longer
exits 0 "$allot" compare fixed longer
says "$(<out)" '*longer ran other jobs than fixed: *'
exits 2 "$allot" compare fixed nowhere
says "$(<err)" '*nowhere*summary.json*'
exits 2 "$allot" compare fixed teams.json
says "$(<err)" '*teams.json: /format: *'
exits 0 "$allot" generate --days 2 --seed 5 --out a.csv
exits 0 "$allot" generate --days 2 --seed 5 --out -
cmp -s a.csv out || fail 'the same seed gave two traces'
exits 2 "$allot" generate --days 2 --seed 6 --out a.csv
says "$(<err)" '*a.csv exists*'
exits 0 "$allot" generate --days 2 --seed 6 --out a.csv --force
cmp -s a.csv out && fail 'another seed gave the same trace'
exits 2 "$allot" generate --load 20 --out b.csv
exits 2 "$allot" generate --load 0.1 --serving 0.2 --out b.csv
exits 2 "$allot" generate --days 0 --out b.csv
[ ! -e b.csv ] || fail 'a trace was made of options that are wrong'
exits 0 "$allot" check a.csv

# --- the published figures, if the trace is available
if [ -f "$traces/philly128/jobs.csv" ]; then
  exits 0 "$allot" replay --nodes 16x8 --trace "$traces/philly128/jobs.csv" --policy fifo --out philly
  says "$(tr -d ' \n' <philly/summary.json)" \
    '*"completed":53069,*"jct_s":{"mean":84976.2*,"p50":17614,*"p99":420481,*"queue_s":{"mean":80229.9*,"p50":14782,*"p99":408354,*"end_s":6145778,*'
else
  echo "skipped: there is no philly128/jobs.csv in $traces"
fi

# --- gangs in one domain, instances of GPUs, and what was allocated of each pool
sed 's/"state": "running", "nodes": \["[ab]1-0"\], //; s/"cut", "gpus"/"cut", "pool": "cut", "gpus"/' \
  "$sources/bench/lab/scenarios/topology_and_mig.json" >near.json
exits 0 "$allot" replay near.json --isolated --chrome --out near
says "$(<err)" '*1 job refused:*too-wide: its 3 pods must be placed in one rack, and the largest, rack a/r1, has room for 2*'
says "$(grep too-wide near/jobs.csv)" '*,refused,larger_than_any_domain,*'
says "$(awk -F, 'NR > 1 { printf "%s %s %s,", $1, $4, $10 }' near/jobs.csv)" \
  'old-a 0 a1-0,old-b 0 a1-1,rack-wide 60 a2-0;a2-1,block-wide 120 b1-0;b1-1;b2-0;b2-1,too-wide  ,notebook 240 cut,tuning 300 cut,'
# Half an hour of 0.375 and of 1 of two GPUs, of three hours and a minute.
says "$(tr -d ' \n' <near/summary.json)" '*"pools":{"cut":{"allocation_rate":0.11395,"capacity_gpu_h":6.033}},*'
# Pools that differ only by flavor are one pool to the user.
printf '%s' '{"format": "allot-scenario/1", "resources": ["h/gpu", "a/gpu"], "cluster": {"nodes": [
    {"name": "x", "gpus": 2, "gpu_model": "H", "pool": "p"}, {"name": "y", "gpus": 2, "gpu_model": "A", "pool": "p"},
    {"name": "z", "gpus": 4, "gpu_model": "A"}]}, "quotas": [{"name": "q", "nominal": "cluster"}],
  "jobs": [{"id": "1", "request": {"gpu": 2}, "flavors": ["h", "a"], "duration_s": 3600}]}' >pools.json
exits 0 "$allot" replay pools.json --out pools
says "$(tr -d ' \n' <pools/summary.json)" \
  '*"models":{"H":{"allocation_rate":1,*"A":{"allocation_rate":0,*"pools":{"p":{"allocation_rate":0.5,"capacity_gpu_h":4}},*'

# --- pools that quotas prefer: small jobs leave what another owns in one piece, and a node that fails is made up for
cat >scattered.csv <<'CSV'
job_id,submit_s,duration_s,gpus,tenant,pods,min_pods
a1,0,1000,1,one,1,
b1,1,100,1,two,1,
a2,2,1000,1,one,1,
b2,3,100,1,two,1,
a3,4,1000,2,one,2,1
whole,200,50,4,two,1,
CSV
printf '%s' '{"format": "allot-scenario/1", "cluster": {"nodes": [{"name": "a", "gpus": 4, "pool": "a"}, {"name": "b", "gpus": 4, "pool": "b"}]},
  "quotas": [{"name": "all"}, {"name": "one", "parent": "all", "nominal": {"gpu": 4}, "preferred_node_pools": ["a"]},
             {"name": "two", "parent": "all", "nominal": {"gpu": 4}, "preferred_node_pools": ["b"]}],
  "events": [{"at_s": 300, "node_down": {"node": "a"}}], "trace": {"file": "scattered.csv"}}' >preferred.json
sed 's/, "preferred_node_pools": \["."\]//g' preferred.json >scattered.json
for policy in standard kueue hyperpod fifo; do
  exits 0 "$allot" replay preferred.json --policy "$policy" --out "preferred-$policy"
  exits 0 "$allot" replay scattered.json --policy "$policy" --out "scattered-$policy"
  says "$(grep whole "preferred-$policy/jobs.csv")" 'whole,two,200,200,250,*,b,completed,*'
  says "$(grep whole "scattered-$policy/jobs.csv")" 'whole,two,200,1[0-9][0-9][0-9]*'
done
says "$(grep -c ,completed, preferred-standard/jobs.csv)" 6

conclude
