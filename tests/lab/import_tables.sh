#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The user's own tables: columns by --map with units and time formats, and Slurm's accounting.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# imports STATUS ARGUMENTS...: standard input is that of this function; output in `out` and `err`.
imports() {
  local expected=$1 status
  shift
  "$allot" import "$@" >out 2>err
  status=$?
  [ "$status" -eq "$expected" ] || fail "import $*: exit status $status, expected $expected: $(<err)"
  [ "$status" -eq 0 ] || [ ! -s out ] || fail "import $*: an error, and something on standard output"
  [ "$status" -ne 0 ] || "$allot" check - <out >checked 2>&1 || fail "import $*: not good: $(<checked)"
  nothing_half_done
}
# makes TEXT: `out` is exactly this text.
makes() {
  [ "$(<out)" = "$1" ] || fail "expected:
$1
found:
$(<out)"
}

# --- any table

# As in the traces of Tiresias: only the names differ.
imports 0 csv - --map gpus=num_gpu,submit_s=submit_time,duration_s=duration <<'CSV'
job_id,num_gpu,submit_time,iterations,model_name,duration,interval
1,4,0,100,vgg,3600,5
2,1,30.5,10,bert,61,5
CSV
makes 'job_id,submit_s,duration_s,gpus,iterations,model_name,interval
1,0,3600,4,100,vgg,5
2,30.5,61,1,10,bert,5'
says "$(<err)" '*note: job_id from job_id, submit_s from submit_time, duration_s from duration, gpus from num_gpu*2 jobs'

# Muri's are in milliseconds, which nothing in the file says: read as seconds they span decades. Its priorities are
# random, so no column is to be the priority.
cat >muri.csv <<'CSV'
job_id,num_gpu,submit_time,duration,priority
1,4,0,5117000,1
2,1,2344695000,60000,0
CSV
imports 0 csv muri.csv --map gpus=num_gpu,submit_s=submit_time,duration_s=duration
notes 'jobs are submitted over 74 years: are the times in another unit than seconds, as in milliseconds?'
says "$(<checked)" '*jobs are submitted over 74 years: are the times in another unit*'
"$allot" replay --nodes 1x8 --trace - --out muri <out >/dev/null 2>err || fail "muri: $(<err)"
says "$(<err)" '*jobs are submitted over 74 years*'
imports 0 csv muri.csv --map gpus=num_gpu,submit_s=submit_time:ms,duration_s=duration:ms,priority=
makes 'job_id,submit_s,duration_s,gpus,csv_priority
1,0,5117,4,1
2,2344695,60,1,0'
! grep -q 'are the times' err checked || fail "doubts right times: $(<err) $(<checked)"
imports 0 csv muri.csv --map gpus=num_gpu,submit_s=submit_time:ms,duration_s=duration:h,priority=
notes 'a job runs for 213208 days: are the times'
imports 2 csv muri.csv --map gpus=num_gpu,submit_s=submit_time:ms,duration_s=duration:ms,priority=,priority=priority
says "$(<err)" '*--map: priority is there twice*'
imports 2 csv muri.csv --map gpus=num_gpu,submit_s=submit_time:ms,duration_s=
says "$(<err)" '*nothing says how long jobs run*'

# When it may start and when it should be completed are points in time, as the submission is.
imports 0 csv - --map 'gpus=n,submit_s=at:date,duration_s=ran,ready_s=from:date,deadline_s=due:date' <<'CSV'
n,at,ran,from,due
1,2024-03-01 10:00:00,60,2024-03-01 10:10:00,2024-03-01 11:00:00
1,2024-03-01 10:30:00,60,2024-03-01 10:20:00,
2,2024-03-01 10:30:00,60,,2024-03-01 10:20:00
CSV
makes 'job_id,submit_s,ready_s,deadline_s,duration_s,gpus
0,0,600,3600,60,1
1,1800,,,60,1'
says "$(<err)" '*line 4, column 27 (due): expected a time that is not before the submission*1 row left out'
imports 0 csv - <<'CSV'
job_id,submit_s,duration_s,gpus,deadline_s
a,10,60,1,100
CSV
makes 'job_id,submit_s,deadline_s,duration_s,gpus
a,10,100,60,1'

# Philly in its circulated form: the example of the help. The first value tells dates from numbers.
imports 0 csv - --map gpus=num_gpus,tenant=vc,submit_s=timestamp --map duration_s=duration <<'CSV'
timestamp,duration,num_gpus,vc
2017-10-09 07:01:55,66.0,1,11cb48
2017-10-09 06:00:00,2951.5,8,
CSV
makes 'job_id,submit_s,duration_s,gpus,tenant
0,3715,66,1,11cb48
1,0,2951.5,8,'
says "$(<err)" '*they are numbered from 0*submissions count from the first, 2017-10-09 06:00:00*'

# Units, formats, and everything that has a key; the file has no header row and another separator.
imports 0 csv - --separator '|' --columns 'name,when,ran,limit,n,each,cpu,mem,who,team,kind,p,pre,model,save,back,note' \
  --map 'job_id=name,submit_s=when:%d.%m.%Y %H:%M,duration_s=ran:m,estimate_s=limit:clock,pods=n,gpus_per_pod=each:percent' \
  --map 'cpu_milli=cpu:cores,memory_mib=mem:gib,user=who,tenant=team,class=kind,priority=p,preemptible=pre' \
  --map 'gpu_model=model,checkpoint_s=save:h,restart_s=back:500ms' <<'CSV'
a|09.10.2017 07:01|1.5|1-00:00:00|2|50|4|1.5|ana|vision|train|-3|no|A100|0.5|4|x, y
b|09.10.2017 07:03|2.25|NaN|1|100||||vision||||||0|
CSV
makes 'job_id,submit_s,duration_s,gpus,tenant,pods,priority,class,preemptible,gpu_model,cpu_milli,memory_mib,user,checkpoint_s,restart_s,estimate_s,note
a,0,90,1,vision,2,-3,train,false,A100,4000,1536,ana,1800,2,86400,"x, y"
b,120,135,1,vision,1,0,,true,,0,0,,,0,,'

# Start and end, milliseconds since 1970, tabs, exponents; a column whose name has a colon in it.
imports 0 csv - --separator tab --map submit_s=t:unix_ms,start_s=s:unix_ms,end_s=e:unix_ms,gpus=a:b <<<$'t\ts\te\ta:b\n1500000000000\t1500000001000\t1.500000061e12\t2'
makes 'job_id,submit_s,duration_s,gpus
0,0,60,2'

# An ambiguous line is reported, not guessed.
imports 0 csv - <<<$'job_id,submit_s,duration_s,gpus,vc,priorty\n1,0,9,1,a,5'
says "$(<err)" '*column vc: it is kept as a tag (is it a tenant? --map tenant=vc)*column priorty: *--map priority=priorty*'
imports 0 csv - --tenant vc <<<$'job_id,submit_s,duration_s,gpus,vc\n1,0,9,1,a'
says "$(head -n 1 out)" 'job_id,submit_s,duration_s,gpus,tenant'

# A row for each pod set of a job, between others'; what it says of the whole job must be the same.
imports 0 csv - --map submit_s=t,duration_s=d,gpus=g,pods=n,pod_set=task,tenant=vc <<'CSV'
job_id,t,d,g,n,task,vc
a,0,10,0,1,ps,x
b,0,10,1,1,,x
a,0,10,8,2,worker,x
a,0,11,8,2,other,x
a,0,10,8,2,worker,x
b,0,10,1,1,late,x
CSV
says "$(<out)" 'job_id,submit_s,duration_s,gpus,tenant,pods,pod_set
a,0,10,0,x,1,ps
b,0,10,1,x,1,
a,0,10,8,x,2,worker'
for text in 'line 5, column 1: the job says something else than on line 2' \
  'line 6, column 1: the job has more than one pod set "worker"' \
  'line 7, column 1: the job id "b" was given before, on line 3' '2 jobs of 5, 3 rows left out'; do
  grep -qF "$text" err || fail "expected '$text', found: $(<err)"
done
mv out sets.csv
exits 0 "$allot" check sets.csv
says "$(<out)" '*2 jobs of 1 tenant*1 consists of pods that differ*ok'

# --- omitted rows

imports 0 csv - --map submit_s=t,duration_s=d,gpus=g,pods=p <<'CSV'
job_id,t,d,g,p
1,0,10,1,1
2,x,10,1,1
3,0,-1,1,1
4,0,,1,1
5,0,10,one,1
6,0,10,3,2.5
7,0,10,1,3
1,0,10,1,1
,0,10,1,1
CSV
says "$(tail -n 1 out)" '1,0,10,1,1'
for text in 'line 3, column 3 (t): expected a number that is not negative, found "x"' \
  'line 4, column 5 (d): expected a number that is not negative, found "-1"' \
  'line 5, column 5 (d): expected how long the job ran, found nothing' \
  'line 6, column 8 (g): expected a number of GPUs, found "one"' \
  'line 7, column 10 (p): expected a whole number from 1 to 2147483647, found "2.5"' \
  'line 8, column 8 (g): expected GPUs that can be split evenly over the pods, found "1"' \
  'line 9, column 1: the job id "1" was given before, on line 2' \
  'line 10, column 1 (job_id): expected the id of a job, found nothing'; do
  grep -qF "$text" err || fail "expected '$text', found: $(<err)"
done
imports 2 csv - --strict --map submit_s=t <<<$'t,duration_s,gpus\n0,1,1\n2017-10-09,1,1'
says "$(<err)" '*line 3, column 1 (t): expected a number that is not negative, found "2017-10-09"*--strict*'
imports 2 csv - --map submit_s=t,start_s=a,end_s=b <<<$'t,a,b,gpus\n0,9,1,1'
says "$(<err)" '*line 2, column 5 (b): expected a time that is not before the start*'

# A start in 1970 is none; one before the submission is told.
imports 0 csv - --map job_id=id,submit_s=at,start_s=from,end_s=to,gpus=n <<'CSV'
id,at,from,to,n
a,2017-10-09 07:06:00,2017-10-09 07:05:00,2017-10-09 07:10:00,1
b,2017-10-09 07:08:00,1970-01-01 01:00:00,2017-10-09 07:10:00,1
c,2017-10-09 07:08:00,None,None,1
CSV
says "$(tail -n +2 out)" 'a,0,300,1'
says "$(<err)" '*line 3, column 23 (from): expected a start that is not in 1970, found "1970-01-01 01:00:00"*line 4, * (from): expected when the job ran*note: 1 job (a) started before submission*1 job of 3, 2 rows left out'
# Numbers count from any origin.
imports 0 csv - --map job_id=id,submit_s=at,start_s=from,end_s=to,gpus=n <<<$'id,at,from,to,n\na,0,5,65,1'
says "$(tail -n +2 out)" 'a,0,60,1'

# --- invalid options: all of them are reported, and nothing is written

wrong() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  imports 2 csv - "$@" <<<$'timestamp,duration,num_gpus,vc\n0,1,1,a'
  says "$(<err)" "$pattern"
}
wrong '*nothing says when jobs are submitted: expected --map submit_s=COLUMN; the columns of the file are timestamp, duration, num_gpus, vc*nothing says how long*start_s=COLUMN,end_s=COLUMN*nothing says how many GPUs*gpus_per_pod=COLUMN*'
wrong '*--map: a trace has no "tennant" (did you mean "tenant"?)*' --map tennant=vc
wrong '*--map: gpus: the file has no column "num_gpu" (did you mean "num_gpus"?)*--map: tenant: the file has no column "queue" (expected "timestamp", *' --map gpus=num_gpu,tenant=queue
wrong '*--map: pod_set means nothing without job_id*--gpu-only: the other pod sets*' --map pod_set=vc --gpu-only
wrong '*--map: expected KEY=COLUMN or KEY=COLUMN:UNIT, or KEY= for no column, found "gpus"*' --map gpus
wrong '*--map: gpus is there twice*' --map gpus=num_gpus,gpus=vc
wrong '*--map: duration_s: expected a unit as s, ms, m, h or d; or clock*found "min"*' --map duration_s=duration:min
wrong '*--map: submit_s: expected a unit as s*; date; unix or unix_ms*found "%q"*' --map submit_s=timestamp:%q
wrong '*--map: gpus: expected gpus, percent, milli; found "half"*' --map gpus=num_gpus:half
wrong '*--map: tenant: expected no unit; found "s"*' --map tenant=vc:s
wrong '*there are gpus and gpus_per_pod*' --map submit_s=timestamp,duration_s=duration,gpus=num_gpus,gpus_per_pod=vc
wrong '*--separator: expected one character, or tab, found "ab"*' --separator ab
imports 2 philly - --map gpus=num_gpus </dev/null
says "$(<err)" '*--map, --columns and --separator are options of the format csv, not of philly*'
printf 'job_id,submit_s,duration_s,gpus\n1,0,10,' >cut.csv
imports 2 csv cut.csv
says "$(<err)" '*the file ends in the middle of this row*'

# --- Slurm

cat >sacct.txt <<'TXT'
JobID|User|Account|Partition|Submit|Start|End|Elapsed|Timelimit|AllocTRES|State|QOS
101|ana|vision|gpu|2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-01T12:05:30|02:00:30|1-00:00:00|billing=8,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=128G,node=1|COMPLETED|normal
101.batch|||gpu|2024-03-01T10:05:00|2024-03-01T10:05:00|2024-03-01T12:05:30|02:00:30||cpu=16,mem=128G,node=1|COMPLETED|
102_1|ben|speech|gpu|2024-03-01T10:00:10|2024-03-01T10:05:00|2024-03-02T10:05:00|1-00:00:00|UNLIMITED|cpu=2,mem=4096M,node=1|TIMEOUT|normal
103|ben|speech|gpu|2024-03-01T10:00:20|Unknown|Unknown|00:00:00|02:00:00||PENDING|normal
104|ben|speech|gpu|2024-03-01T10:00:30|None|2024-03-01T10:01:00|00:00:00|02:00:00||CANCELLED by 1001|normal
105|"x|speech|gpu|2024-03-01T10:00:40|2024-03-01T10:05:00|2024-03-01T10:05:10|00:00:10|30:00|cpu=1,gres/gpu:v100=1,gres/gpu:a100=1|FAILED|high
TXT
imports 0 sacct sacct.txt
makes 'job_id,submit_s,duration_s,gpus,tenant,class,gpu_model,cpu_milli,memory_mib,user,estimate_s,Partition,Start,End,State
101,0,7230,4,vision,normal,a100,16000,131072,ana,86400,gpu,2024-03-01T10:05:00,2024-03-01T12:05:30,COMPLETED
102_1,10,86400,0,speech,normal,,2000,4096,ben,,gpu,2024-03-01T10:05:00,2024-03-02T10:05:00,TIMEOUT
105,40,10,2,speech,high,,1000,0,"""x",1800,gpu,2024-03-01T10:05:00,2024-03-01T10:05:10,FAILED'
says "$(<err)" '*1 step of a job is left out*1 job that had not ended is left out*1 job that never ran is left out*3 jobs of 5'
imports 0 sacct sacct.txt --gpu-only --tenant Partition
says "$(cut -d, -f1,5 out | tr '\n' ' ')" 'job_id,tenant 101,gpu 105,gpu '
# In seconds and minutes, by what was requested.
imports 0 sacct - <<<$'JobIDRaw|JobID|Submit|ElapsedRaw|TimelimitRaw|ReqTRES\n7|7|2024-03-01T10:00:00|59|90|gres/gpu=8'
says "$(tail -n 1 out)" '7,0,59,8,,0,0,5400,7'
imports 2 sacct - <<<$'JobID|Submit|Elapsed\n7|2024-03-01T10:00:00|00:01:00'
says "$(<err)" '*expected the column AllocTRES or ReqTRES*'
imports 2 sacct - <<<$'JobID|Submit|AllocTRES\n7|2024-03-01T10:00:00|cpu=1'
says "$(<err)" '*expected the column Elapsed or ElapsedRaw*'
imports 2 sacct - <<<$'JobID|Submit|Elapsed|Timelimit|AllocTRES\n7|2024-03-01T10:00:00|x|y|cpu:1'
says "$(<err)" '*Elapsed): expected a time as 1-02:30:00*AllocTRES): expected resources*'

# The real Philly trace is the same by either way.
if [ -e "$traces/philly/philly.csv" ]; then
  imports 0 csv "$traces/philly/philly.csv" --map gpus=num_gpus,tenant=cluster,submit_s=timestamp,duration_s=duration
  mv out mapped
  imports 0 philly "$traces/philly/philly.csv"
  cmp -s out mapped || fail 'csv --map and philly differ'
fi

conclude
