#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Slurm's accounting: which rows are one job, what never ran, and what columns say.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# imports STATUS ARGUMENTS...: sacct of standard input; output in `out` and `err`.
imports() {
  local expected=$1 status
  shift
  "$allot" import sacct "$@" >out 2>err
  status=$?
  [ "$status" -eq "$expected" ] || fail "import $*: exit status $status, expected $expected: $(<err)"
  [ "$status" -ne 0 ] || "$allot" check - <out >checked 2>&1 || fail "import $*: not good: $(<checked)"
  nothing_half_done
}
# has COLUMNS TEXT: these columns of `out`, by name, are this text.
has() {
  local found
  found=$(awk -F, -v names="$1" '
    NR == 1 { n = split(names, name, ","); for (i = 1; i <= NF; ++i) at[$i] = i }
    NR > 1 { line = ""; for (i = 1; i <= n; ++i) line = line (i > 1 ? "," : "") $(at[name[i]]); print line }' out)
  [ "$found" = "$2" ] || fail "expected $1:
$2
found:
$found
of $(<out)
$(<err)"
}
noted() { says "$(<err)" "*note: $1*"; }

# --- which rows are a job

# The last run is the job, whatever the order of the rows; it was submitted when the first was. Two users of one
# id are two jobs. A row that a file of an overlapping span repeats is no run of its own, and a job that was
# cancelled while it waited for another run is the run that it had.
imports 0 - <<'TXT'
JobID|User|Account|Submit|Start|Elapsed|Timelimit|AllocTRES|State
501|u1|a|2026-03-01T03:20:01|2026-03-01T04:10:00|00:30:00|02:00:00|cpu=1,gres/gpu=4|COMPLETED
501|u1|a|2026-03-01T00:00:00|2026-03-01T01:00:00|00:50:00|02:00:00|cpu=1,gres/gpu=4|REQUEUED
501|u1|a|2026-03-01T01:50:01|2026-03-01T02:10:00|01:10:00|02:00:00|cpu=1,gres/gpu=4|NODE_FAIL
502|u1|a|2026-03-01T00:10:00|2026-03-01T00:20:00|00:05:00|02:00:00|cpu=1,gres/gpu=1|COMPLETED
502|u2|a|2026-05-01T00:10:00|2026-05-01T00:20:00|00:06:00|02:00:00|cpu=1,gres/gpu=2|COMPLETED
503|u1|a|2026-03-01T00:10:00|2026-03-01T00:20:00|00:10:00|02:00:00|cpu=1,gres/gpu=1|RUNNING
JobID|User|Account|Submit|Start|Elapsed|Timelimit|AllocTRES|State
503|u1|a|2026-03-01T00:10:00|2026-03-01T00:20:00|00:40:00|02:00:00|cpu=1,gres/gpu=1|COMPLETED
504|u1|a|2026-03-01T00:10:00|Unknown|00:00:00|02:00:00||PENDING
504|u1|a|2026-03-01T00:10:00|2026-03-01T00:30:00|00:07:00|02:00:00|cpu=1,gres/gpu=1|FAILED
505|u1|a|2026-03-01T00:10:00|2026-03-01T00:30:00|00:08:00|02:00:00|cpu=1,gres/gpu=1|PREEMPTED
505|u1|a|2026-03-01T00:38:01|None|00:00:00|02:00:00||CANCELLED by 7
506|u1|a|2026-03-01T00:10:00|2026-03-01T00:30:00|00:08:00|02:00:00|cpu=1,gres/gpu=1|PREEMPTED
506|u1|a|2026-03-01T00:38:01|Unknown|00:00:00|02:00:00||PENDING
507|u1|a|2026-03-01T00:10:00|2026-03-01T00:30:00|01:00:00|02:00:00|cpu=1,gres/gpu=1|RESIZING
507|u1|a|2026-03-01T00:10:00|2026-03-01T01:30:00|00:30:00|02:00:00|cpu=1,gres/gpu=2|COMPLETED
TXT
has job_id,submit_s,duration_s,gpus,earlier_runs '501,0,1800,4,2
502,600,300,1,0
502#2,5271000,360,2,0
503,600,2400,1,0
504,600,420,1,0
505,600,480,1,0
507,600,5400,2,0'
noted '1 job that had not ended is left out (506)'
noted '1 job (501) ran more than once: the last run is the job, *; 2 earlier runs, of 8 GPU-hours,'
noted '1 job (505) ended by preemption'
noted '1 job (507) changed the size'
noted '1 job (502) had an id that another user had before'
noted '2 rows tell of a run that another row tells of'

# The ids of several clusters are told apart.
imports 0 - <<<$'JobID|Cluster|Submit|Elapsed|AllocTRES\n7|a|2026-03-01T00:00:00|00:01:00|gres/gpu=1\n7|b|2026-03-01T00:00:00|00:02:00|gres/gpu=2'
has job_id,duration_s,gpus 'a:7,60,1
b:7,120,2'

# --- what never ran

# By state and allocation: a job that was cancelled while it waited has a start, and one that ran has none.
imports 0 - <<'TXT'
JobID|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|State
1|2026-03-01T08:00:00|None|2026-03-01T08:03:00|00:00:00||gres/gpu=1|CANCELLED by 1000000017
2|2026-03-01T08:00:00|Unknown|Unknown|00:00:00||gres/gpu=1|CANCELLED+
3|2026-03-01T08:00:00||2026-03-01T08:03:00|00:00:00||gres/gpu=1|DEADLINE
4|2026-03-01T08:00:00|1970-01-01T01:00:00|2026-03-01T08:03:00|20513-08:03:00||gres/gpu=1|CANCELLED
5|2026-03-01T08:00:00|2026-03-01T08:05:00|2026-03-01T08:05:00|00:00:00||gres/gpu=1|CANCELLED by 0
6_[1-9:2,20%3]|2026-03-01T08:00:00|2026-03-01T08:05:00|2026-03-01T08:05:00|00:00:00||gres/gpu=1|CANCELLED by 0
7|2026-03-01T08:00:00|2026-03-01T08:05:00|2026-03-01T08:05:00|00:00:00|gres/gpu=1,node=1|gres/gpu=1|FAILED
8|2026-03-01T08:00:00|Unknown|2026-03-01T08:05:00|00:04:00|gres/gpu=1,node=1|gres/gpu=1|CANCELLED by 5
9|2026-03-01T08:00:00|1970-01-01T00:00:00|2026-03-01T08:05:00|20513-08:05:00|gres/gpu=1,node=1|gres/gpu=1|COMPLETED
10|2026-03-01T08:00:00|2026-03-01T08:05:00|2026-03-01T08:15:00|00:10:00||gres/gpu=2|COMPLETED
11_[4-10%2]|2026-03-01T08:00:00|Unknown|Unknown|00:00:00||gres/gpu=1|PENDING
12_[1,3,5,...]|2026-03-01T08:00:00|Unknown|Unknown|00:00:00||gres/gpu=1|PENDING
TXT
has job_id,duration_s,gpus '7,0,1
8,240,1
10,600,2'
noted '11 jobs that never ran are left out (1, 2, 3, ...)'
noted '10 jobs that had not ended are left out (11_*, 12_*)'
noted '2 arrays (6, 11) let only some of the tasks run at once'
noted '1 array (12) with a list of tasks that breaks off'
says "$(<err)" '*line 10, column 23 (Start): no job runs for 20513 days (its start is not known), found "1970*'
# Without AllocTRES the nodes say it; without any, the state and the time.
imports 0 - <<'TXT'
JobID|Submit|Start|Elapsed|ReqTRES|NodeList|State
1|2026-03-01T08:00:00|2026-03-01T08:05:00|00:00:00|gres/gpu=1|None assigned|CANCELLED by 0
2|2026-03-01T08:00:00|2026-03-01T08:05:00|00:00:00|gres/gpu=1|n1|CANCELLED by 0
TXT
has job_id '2'
imports 0 - <<<$'JobID|Submit|Start|Elapsed|ReqTRES|State\n1|2026-03-01T08:00:00|2026-03-01T08:05:00|00:00:00|gres/gpu=1|CANCELLED by 0\n2|2026-03-01T08:00:00|2026-03-01T08:05:00|00:00:00|gres/gpu=1|FAILED'
has job_id '2'
# What ran of an array and is told in one row is as many jobs as it has.
imports 0 - <<<$'JobID|Submit|Elapsed|AllocTRES\n9_[5-7,9]|2026-03-01T08:00:00|00:01:00|gres/gpu=1\n8_[0-99999999]|2026-03-01T08:00:00|00:01:00|gres/gpu=1'
has job_id,duration_s '9_5,60
9_6,60
9_7,60
9_9,60'
says "$(<err)" '*line 3, *expected the tasks of an array, at most 4000001*found "8_*'

# --- resources

imports 0 - --shards 4 --mps 100 <<'TXT'
JobID|Submit|Elapsed|AllocTRES
1|2026-03-01T08:00:00|00:01:00|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=1.50T,node=1
2|2026-03-01T08:00:00|00:01:00|gres/gpu:a100=2,gres/gpu:v100=1,mem=500M
3|2026-03-01T08:00:00|00:01:00|gres/gpu=4,gres/gpu:a100=2
4|2026-03-01T08:00:00|00:01:00|gres/shard=1
5|2026-03-01T08:00:00|00:01:00|gres/shard:nvidia=6,gres/shard=6
6|2026-03-01T08:00:00|00:01:00|gres/mps=25
7|2026-03-01T08:00:00|00:01:00|gres/gpu:1g.10gb=2,gres/gpu=2
8|2026-03-01T08:00:00|00:01:00|cpu=4,gres/gpu=0,gres/nic=2,license/matlab=1,energy=5
TXT
has job_id,gpus,gpu_model,cpu_milli,memory_mib '1,2,a100,8000,1572864
2,3,,0,500
3,4,,0,0
4,0.25,,0,0
5,2,,0,0
6,0.25,,0,0
7,2,1g.10gb,0,0
8,0,,4000,0'
noted '2 jobs (2, 3) had GPUs of several types'
noted '1 job (7) had instances of MIG'
noted '1 job (8) asked for gres/nic,'
noted '1 job (8) asked for license/matlab,'
imports 0 - <<<$'JobID|Submit|Elapsed|AllocTRES\n1|2026-03-01T08:00:00|00:01:00|gres/shard=1\n2|2026-03-01T08:00:00|00:01:00|gres/mps=1'
has gpus '0
0'
noted '1 job (2) asked for gres/mps (--mps), parts of GPUs: *1 job (1) asked for gres/shard (--shards), '

# The nodes that a job asks for are its pods; those that it got by chance are not.
imports 0 - <<'TXT'
JobID|Submit|Elapsed|ReqTRES|AllocTRES
1|2026-03-01T08:00:00|00:01:00|gres/gpu=16,node=2|gres/gpu=16,node=2
2|2026-03-01T08:00:00|00:01:00|gres/gpu=16,node=1|gres/gpu=16,node=3
3|2026-03-01T08:00:00|00:01:00|gres/gpu=3,node=2|gres/gpu=3,node=2
TXT
has job_id,gpus,pods '1,16,2
2,16,
3,3,'
noted '1 job (3) asked for several nodes'

# The components of a heterogeneous job are the pod sets of one gang. Of one that had not ended, none is there.
imports 0 - <<'TXT'
JobID|User|Submit|Start|Elapsed|TimelimitRaw|AllocTRES|State
30+0|u|2026-03-01T09:00:00|2026-03-01T09:10:00|02:00:00|240|cpu=4,gres/gpu:a100=4,mem=10G,node=1|COMPLETED
31+0|u|2026-03-01T09:00:00|2026-03-01T09:10:00|02:00:00|240|cpu=4,gres/gpu=4|COMPLETED
30+1|u|2026-03-01T09:00:00|2026-03-01T09:10:00|01:00:00|300|cpu=64,mem=100G,node=2|COMPLETED
30+0.batch||2026-03-01T09:10:00|2026-03-01T09:10:00|02:00:00||cpu=4|COMPLETED
31+1|u|2026-03-01T09:00:00|2026-03-01T09:10:00|02:00:00|240|cpu=4,gres/gpu=4|RUNNING
TXT
has job_id,submit_s,duration_s,gpus,pods,pod_set,gpu_model,cpu_milli,memory_mib,estimate_s '30,0,7200,4,1,0,a100,4000,10240,18000
30,0,7200,0,2,1,,64000,102400,18000'
noted '1 job (30) had components'
noted '2 jobs that had not ended are left out (31+1, 31+0)'

# More of them than a job may have pod sets are one request.
{
  echo 'JobID|Submit|Elapsed|AllocTRES|State'
  for ((i = 0; i < 17; ++i)); do echo "9+$i|2026-03-01T08:00:00|00:01:00|cpu=2,gres/gpu:a100=1,gres/gpu=1,node=1|COMPLETED"; done
} >many.txt
imports 0 many.txt
has job_id,gpus,pods,pod_set,gpu_model,cpu_milli '9,17,,,a100,34000'
noted '1 job (9) had more components than a job may have pod sets'

# A component that ran twice is one of its gang's runs.
imports 0 - <<'TXT'
JobID|Submit|Start|Elapsed|AllocTRES|State
30+0|2026-03-01T09:00:00|2026-03-01T09:10:00|01:00:00|gres/gpu=4|NODE_FAIL
30+1|2026-03-01T09:00:00|2026-03-01T09:10:00|01:00:00|gres/gpu=2|NODE_FAIL
30+0|2026-03-01T10:10:00|2026-03-01T11:10:00|02:00:00|gres/gpu=4|COMPLETED
30+1|2026-03-01T10:10:00|2026-03-01T11:10:00|01:30:00|gres/gpu=2|COMPLETED
40_7|2026-03-01T09:00:00|2026-03-01T09:10:00|01:00:00|gres/gpu=1|PREEMPTED
40_7|2026-03-01T10:10:00|2026-03-01T11:10:00|00:30:00|gres/gpu=1|TIMEOUT
TXT
has job_id,submit_s,duration_s,gpus,pod_set,earlier_runs '30,0,7200,4,0,1
30,0,7200,2,1,1
40_7,0,1800,1,,1'

# --- columns

# What bounds where or when a job may start, and is not carried over, is told with the jobs.
imports 0 - <<'TXT'
JobID|Submit|Eligible|Elapsed|Timelimit|AllocTRES|Partition|Constraints|Reservation|Licenses|Suspended|Restarts|Priority|MaxRSS|Site
1|2026-03-01T08:00:00|2026-03-01T09:00:00|00:01:00|UNLIMITED|gres/gpu=1|a|||||0|99||x
2|2026-03-01T08:00:00|2026-03-01T08:00:00|00:01:00|Partition_Limit|gres/gpu=1|b|a100&ib|maint|ansys:2|00:10:00|2|99||
TXT
has job_id,submit_s,ready_s,estimate_s '1,0,3600,
2,0,,'
noted '1 job (2) had the time limit of the partition'
noted 'column Partition: 2 jobs (1, 2): *'
noted 'column Constraints: 1 job (2): *'
noted 'column Reservation: 1 job (2): *'
noted 'column Licenses: 1 job (2): *'
noted 'column Suspended: 1 job (2): *'
noted 'column Restarts: 1 job (2): *sacct -D*'
noted 'column Site: it is not known what it means'
[[ $(<err) != *Priority* && $(<err) != *MaxRSS* ]] || fail "a column without effect is noted: $(<err)"

# Texts of users may have separators and line breaks in them; --parsable ends lines with a separator.
imports 0 - <<'TXT'
JobID|JobName|Constraints|Submit|Elapsed|AllocTRES|State|
1|train|a100|h100|2026-03-01T08:00:00|00:01:00|gres/gpu=1|COMPLETED|
2|a|b|c||2026-03-01T08:00:00|00:02:00|gres/gpu=1|COMPLETED|
3|line
break||2026-03-01T08:00:00|00:03:00|gres/gpu=1|COMPLETED|
4|"quoted, and |all||2026-03-01T08:00:00|00:04:00|gres/gpu=1|FAILED|
5|short|2026-03-01T08:00:00|
6|plain||2026-03-01T08:00:00|00:06:00|gres/gpu=1|COMPLETED|
TXT
has job_id,duration_s '1,60
2,120
3,180
break",COMPLETED
4,240
6,360'
noted '4 rows have separators or line breaks in a text'
says "$(<err)" '*line 7, *expected 7 fields, as in the header row, found 4*'

# Several files in one have the same columns.
imports 2 - <<<$'JobID|Submit|Elapsed|AllocTRES\n1|2026-03-01T08:00:00|00:01:00|gres/gpu=1\nJobID|Elapsed|Submit|AllocTRES\n2|00:01:00|2026-03-01T08:00:00|gres/gpu=1'
says "$(<err)" '*line 3: another header row, with other columns*'
imports 0 - <<<$'JobIDRaw|Submit|Elapsed|AllocTRES\n1|2026-03-01T08:00:00|00:01:00|gres/gpu=1\n1.batch|2026-03-01T08:00:00|00:01:00|cpu=1'
has job_id '1'
# Without a header row; with another separator; for people.
imports 0 - --columns JobID,Submit,ElapsedRaw,AllocTRES --separator tab <<<$'1\t2026-03-01T08:00:00\t61\tgres/gpu=1'
has job_id,duration_s '1,61'
imports 2 - <<<$'       JobID    JobName      State \n------------ ---------- ---------- \n1  x  COMPLETED '
says "$(<err)" '*sacct --parsable2*'

# --- times

# Seconds since 1970, other formats of strftime, and relative to the day.
imports 0 - <<<$'JobID|Submit|Start|Elapsed|AllocTRES\n1|1772352000|1772352060|00:01:00|gres/gpu=1\n2|1772352030|Unknown|00:01:00|gres/gpu=1'
has job_id,submit_s '1,0
2,30'
noted 'submissions count from the first, 2026-03-01 08:00:00'
imports 0 - --time-format '%d/%m/%y %I:%M %p' <<<$'JobID|Submit|Elapsed|AllocTRES\n1|01/03/26 08:00 AM|00:01:00|gres/gpu=1\n2|01/03/26 01:30 PM|00:01:00|gres/gpu=1'
has job_id,submit_s '1,0
2,19800'
imports 0 - --time-format relative:2026-03-01 <<<$'JobID|Submit|Elapsed|AllocTRES\n1|12 Feb 10:00|00:01:00|gres/gpu=1\n2|Ystday 10:00|00:01:00|gres/gpu=1\n3|00:00:01|00:01:00|gres/gpu=1'
has job_id,submit_s '1,0
2,1382400
3,1432801'
imports 2 - <<<$'JobID|Submit|Elapsed|AllocTRES\n1|Ystday 10:00|00:01:00|gres/gpu=1'
says "$(<err)" '* (Submit): expected a date and time*found "Ystday 10:00"*--time-format*'
imports 2 - --time-format relative </dev/null
says "$(<err)" '*--time-format: *relative:2026-03-01, found "relative"*'
imports 2 - --time-format '%d %b %H:%M' </dev/null
says "$(<err)" '*--time-format: no time is known without its year*'
imports 2 - --time-format soon </dev/null
says "$(<err)" '*--time-format: expected standard, relative:DATE or a format*'
"$allot" import swf - --time-format %s </dev/null 2>err
says "$(<err)" '*--time-format, --shards and --mps are options of the format sacct, not of swf*'
# The run time without Elapsed, less what it was suspended.
imports 0 - <<<$'JobID|Submit|Start|End|Suspended|AllocTRES\n1|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|00:20:00|gres/gpu=1\n2|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T07:00:00|00:00:00|gres/gpu=1'
has job_id,duration_s '1,2400'
says "$(<err)" '*line 3, column * (End): expected a time that is not before the start*'
# A start before submission is told, and found again in the trace.
imports 0 - <<<$'JobID|Submit|Start|Elapsed|AllocTRES\n1|2026-03-01T08:00:00|2026-03-01T07:00:00|00:01:00|gres/gpu=1'
noted '1 job (1) started before submission'
says "$(<checked)" '*1 job starts before submission (column Start), 1 first*'
imports 0 - <<<$'JobID|Submit|Start|Elapsed|AllocTRES\n1|1772352000|1772350000|00:01:00|gres/gpu=1'
says "$(<checked)" '*1 job starts before submission (column Start), 1 first*'
imports 0 - <<<$'JobID|Submit|Start|Elapsed|AllocTRES\n1|2026-03-01T08:00:00|1970-01-01T01:00:00|00:01:00|gres/gpu=1'
says "$(<checked)" '*1 job starts in 1970 (column Start), 1 first*'

# --- --json

imports 0 - <<'JSON'
{"meta": {"slurm": {"version": {"major": "23"}}}, "errors": [], "jobs": [
  {"job_id": 11, "account": "a", "user": "u", "qos": "normal", "partition": "p", "array": {"job_id": 0, "task_id": {"set": false, "infinite": false, "number": 0}, "task": ""},
   "het": {"job_id": 0, "job_offset": {"set": true, "infinite": false, "number": 0}}, "state": {"current": ["COMPLETED"], "reason": "None"},
   "time": {"submission": 1772352000, "eligible": 1772352060, "start": 1772352060, "end": 1772355660, "elapsed": 3600, "suspended": 0, "limit": {"set": true, "infinite": false, "number": 120}},
   "tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 8}, {"type": "mem", "name": "", "id": 2, "count": 2048}, {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 2}, {"type": "gres", "name": "gpu", "id": 1001, "count": 2}],
            "requested": [{"type": "node", "name": "", "id": 4, "count": 2}]}},
  {"job_id": 13, "array": {"job_id": 12, "task_id": {"set": true, "infinite": false, "number": 3}, "task": ""}, "state": {"current": "FAILED"},
   "time": {"submission": 1772352001, "elapsed": 5, "start": 1772352002, "limit": {"set": true, "infinite": true, "number": 0}}, "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 1}]}, "wobble": 1},
  {"job_id": 12, "array": {"job_id": 12, "task_id": {"set": false}, "task": "4-10%2"}, "state": {"current": ["PENDING"]}, "time": {"submission": 1772352001, "start": 0}, "tres": {"allocated": []}},
  {"job_id": 20, "state": {"current": ["COMPLETED"]}, "time": {"submission": 1772352001, "start": 1772352002, "elapsed": "x"}, "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 1}]}},
  7]}
JSON
has job_id,submit_s,ready_s,duration_s,gpus,tenant,pods,gpu_model,cpu_milli,memory_mib,estimate_s '11,0,60,3600,2,a,2,a100,8000,2048,7200
12_3,1,,5,1,,,,0,0,'
noted '7 jobs that had not ended are left out (12_*)'
noted 'field wobble: 1 job has it*'
says "$(<err)" '*/jobs/3: ElapsedRaw: expected a number of seconds*/jobs/4: JobID: expected the id of a job*'

conclude
