#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The importers of traces from outside: the result for each format, what is omitted and why, and that nothing
# is written when the input is invalid.
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
  [ "$status" -ne 0 ] || { [ -s out ] && "$allot" check - <out >checked 2>&1; } || [[ $* == *--out* ]] ||
    fail "import $*: what it made is not good: $(<checked)"
  nothing_half_done
}
# makes TEXT: `out` is exactly this text.
makes() {
  [ "$(<out)" = "$1" ] || fail "expected:
$1
found:
$(<out)"
}

# --- one of each

imports 0 philly - <<'CSV'
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:00:00,2951.5,8,23612,6214e9
CSV
makes 'job_id,submit_s,duration_s,gpus,tenant,gpu_time
0,3715,66,1,11cb48,66.0
1,0,2951.5,8,6214e9,23612'
says "$(<err)" '*note: submissions count from the first, 2017-10-09 06:00:00*standard input: 2 jobs'

# Philly's own log: the last attempt that ended is the job; what never ran is left out.
cat >cluster_job_log <<'JSON'
[
  {"status": "Pass", "vc": "a", "jobid": "one", "user": "u", "submitted_time": "2017-10-09 07:00:00", "attempts": [
     {"start_time": "2017-10-09 07:02:00", "end_time": "2017-10-09 08:02:00", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]},
     {"start_time": "2017-10-09 08:10:00", "end_time": "2017-10-09 08:40:00", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}]}]},
  {"status": "Killed", "vc": "a", "jobid": "open", "user": "u", "submitted_time": "2017-10-09 07:00:30", "attempts": [
     {"start_time": "2017-10-09 07:00:00", "end_time": "2017-10-09 07:30:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
     {"start_time": "2017-10-09 08:00:00", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
  {"status": "Killed", "vc": "b", "jobid": "none", "attempts": [], "submitted_time": "2017-10-09 07:05:00", "user": "u"},
  {"status": "Failed", "vc": "b", "jobid": "never", "attempts": [{"start_time": null, "end_time": null, "detail": []}], "submitted_time": "None", "user": "u"},
  {"status": "Pass", "vc": "b", "jobid": "places", "attempts": [{"start_time": "2017-10-09 07:00:00", "end_time": "2017-10-09 07:30:00", "detail": []}], "submitted_time": "2017-10-09 07:05:00", "user": "u"},
  {"status": "Pass", "vc": "b", "jobid": "when", "attempts": [{"start_time": "2017-10-09 07:00:00", "end_time": "2017-10-09 07:30:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}], "submitted_time": "None", "user": "u"},
  {"status": "Pass", "vc": "b", "jobid": "one", "attempts": [{"start_time": "2017-10-09 07:00:00", "end_time": "2017-10-09 07:30:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}], "submitted_time": "2017-10-09 07:00:00", "user": "u"},
  7
]
JSON
imports 0 philly cluster_job_log
makes 'job_id,submit_s,duration_s,gpus,tenant,user,status,attempts,node_num
one,0,1800,4,a,u,Pass,2,2
open,30,1800,1,a,u,Killed,2,1'
for text in '*/4 (places): it is not known how long it ran, or on which GPUs (it is left out)*' \
  '*/5 (when): it is not known when it was submitted*' '*/6 (one): the job id "one" was given before*' \
  '*/7: expected a job with a jobid*' '*note: 2 jobs that never ran are left out (none, never)*' \
  '*note: 1 job (one) had several attempts: *1 earlier one, of 2 GPU-hours,*' \
  '*note: 1 job (open): the end of the last attempt is not known*' \
  '*note: 1 job (open) started before submission*2 jobs of 8, 4 rows left out'; do
  says "$(<err)" "$text"
done
imports 0 philly cluster_job_log --tenant user
says "$(<out)" '*one,0,1800,4,u,u,*'
imports 2 philly cluster_job_log --tenant team
says "$(<err)" '*--tenant: no job has "team"'
imports 2 philly - <<<'{"jobs": []}'
says "$(<err)" '*expected a list of jobs, as cluster_job_log of Philly is'

cat >helios.csv <<'CSV'
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
1425512,uVMrF,vchbv,16,64,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
1425513,uVMrF,vchbv,0,4,1,CANCELLED,2020-06-09 18:41:28,,,0,0
CSV
imports 0 helios helios.csv
makes 'job_id,submit_s,duration_s,gpus,tenant,cpu_milli,user,node_num,state,start_time,end_time,queue
1425511,0,36848,1,vcJkd,1000,uXBbc,1,COMPLETED,2020-06-09 18:41:01,2020-06-10 04:55:09,0
1425512,26,249,16,vchbv,64000,uVMrF,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:45:36,0
1425513,27,0,0,vchbv,4000,uVMrF,1,CANCELLED,,,0'
imports 0 helios helios.csv --gpu-only --tenant user --origin 2020-06-09
says "$(<out)" '*1425511,67261,36848,1,uXBbc,*1425512,67287,*'
says "$(<err)" '*note: 1 job without GPUs is left out*2 jobs of 3'
imports 0 helios helios.csv --tenant ''
says "$(head -n 1 out)" 'job_id,submit_s,duration_s,gpus,cpu_milli,user,*'

imports 0 acme - <<'CSV'
job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
5778432,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,x,y,117,32,936.0
dlctk696,uf794,8,64,960,Pretrain,FAILED,2023-02-28 16:18:52+00:00,x,y,18,10.0,1152.0
CSV
makes 'job_id,submit_s,duration_s,gpus,class,cpu_milli,user,node_num,state,start_time,end_time,queue,gpu_time
5778432,0,117,8,Other,128000,u5907,1,FAILED,x,y,32,936.0
dlctk696,30,18,64,Pretrain,960000,uf794,8,FAILED,x,y,10.0,1152.0'

cat >pai.csv <<'CSV'
job_id,num_inst,submit_time,num_cpu,num_gpu,gpu_type,duration,user,group
1,1,496349,600,50,T4,10452,58540f,g1
2,5,496350,300,100,MISC,86,8b1b4f,
3,1,496351,800,0,CPU,1,8b1b4f,
4,1,496352,800,200,V100,1,8b1b4f,
CSV
imports 0 pai pai.csv
makes 'job_id,submit_s,duration_s,gpus,pods,gpu_model,cpu_milli,user,group
1,496349,10452,0.5,1,T4,6000,58540f,g1
2,496350,86,5,5,MISC,15000,8b1b4f,
3,496351,1,0,1,,8000,8b1b4f,
4,496352,1,2,1,V100,8000,8b1b4f,'
says "$(<err)" '*column num_gpu: read as percents of a GPU*4 jobs'
imports 0 pai - <<<$'job_id,num_inst,submit_time,num_cpu,num_gpu,gpu_type,duration,user\na,2,0,6,0.5,T4,9,u'
makes 'job_id,submit_s,duration_s,gpus,pods,gpu_model,cpu_milli,user
a,0,9,1,2,T4,12000,u'
imports 0 pai pai.csv --unit gpus
says "$(<out)" '*1,496349,10452,50,1,*'

imports 0 spot - <<'CSV'
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
239255,13,A10,20,1,1,0,2764799,HP
437260,57,A100-SXM4-80GB,15,8,16,9589663,41060,Spot
CSV
makes 'job_id,submit_s,duration_s,gpus,tenant,pods,priority,class,preemptible,gpu_model,cpu_milli
239255,0,2764799,1,13,1,100,HP,false,A10,20000
437260,9589663,41060,128,57,16,0,Spot,true,A100-SXM4-80GB,240000'

cat >pods.csv <<'CSV'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,12000,16384,1,460,V100M16|V100M32,LS,Running,10,110,20
p1,12000,16384,8,1000,,BE,Succeeded,5,110,5
p2,12000,16384,1,1000,,BE,Pending,5,110,
p3,1000,1024,0,0,,Burstable,Running,7,8,7
CSV
imports 0 openb pods.csv
makes 'job_id,submit_s,duration_s,gpus,pods,class,preemptible,gpu_model,cpu_milli,memory_mib,num_gpu,gpu_milli,pod_phase
p0,10,90,0.46,1,LS,false,V100M16|V100M32,12000,16384,1,460,Running
p1,5,105,8,1,BE,true,,12000,16384,8,1000,Succeeded
p3,7,1,0,1,Burstable,true,,1000,1024,0,0,Running'
says "$(<err)" '*note: 1 pod that was never scheduled is left out*3 jobs of 4'
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,2,1,500\nb,1,2,2,500\n' >untimed.csv
imports 0 openb untimed.csv --gap 30 --duration 60
makes 'job_id,submit_s,duration_s,gpus,pods,cpu_milli,memory_mib,num_gpu,gpu_milli
a,0,60,0.5,1,1,2,1,500
b,30,60,1,1,1,2,2,500'
says "$(<err)" '*the list has no times*30 s apart*60 s*1 pod asks for parts of several GPUs*2 jobs'
imports 0 openb - --out nodes.json <<'CSV'
sn,cpu_milli,memory_mib,gpu,model
n0,64000,262144,2,V100M32
n1,64000,262144,0,
n2,96000,393216,8,T4
CSV
says "$(<err)" '*3 nodes, 10 GPUs'
[ "$("$allot" check nodes.json --trace pods.csv 2>&1)" != '' ] || fail 'check says nothing'
"$allot" import openb pods.csv --out trace.csv 2>/dev/null
says "$("$allot" check nodes.json --trace trace.csv 2>&1)" '*3 nodes, 10 GPUs*3 jobs*ok'
# A pod that accepts two models runs on nodes of either.
printf '{"format": "allot-scenario/1", "resources": ["t4/gpu", "v100m32/gpu"],' >flavored.json
sed -n '3,$p' nodes.json >>flavored.json
"$allot" replay flavored.json --trace trace.csv --out flavored >/dev/null 2>err || fail "flavored: $(<err)"
says "$(grep '^p0,' flavored/jobs.csv)" '*,n0,*'

# Nodes of other systems, and levels of a topology.
imports 0 nodes - <<'CSV'
machine,gpu_type,cap_cpu,cap_mem,cap_gpu
m0,V100,96,512,8
m1,CPU,64,29.3,0
m2,T4,96,512,2.5
m0,T4,96,512,2
CSV
makes '{
  "format": "allot-scenario/1",
  "cluster": {
    "nodes": [
      {"name": "m0", "gpus": 8, "gpu_model": "V100", "cpu_milli": 96000, "memory_mib": 524288},
      {"name": "m1", "gpus": 0, "cpu_milli": 64000, "memory_mib": 30003}
    ]
  }
}'
says "$(<err)" '*line 4, column 14 (cap_gpu): expected a whole number up to*line 5*the node is there twice*2 nodes, 8 GPUs'
printf 'ip,DSW,PSW,ASW\nh0,D1,P1,S1\nh1,D1,P1,S2\n' >topo.csv
imports 0 nodes topo.csv --gpus 8 --topology DSW,PSW,ASW
says "$(<out)" '*"topology":*"DSW",*"PSW",*"ASW"*"name": "h1", "gpus": 8, "labels": {"DSW": "D1", "PSW": "P1", "ASW": "S2"}*'
imports 2 nodes topo.csv
says "$(<err)" '*no column says how many GPUs a node has (expected --gpus N, or gpus, gpu, cap_gpu)*'
imports 2 nodes topo.csv --gpus 8 --topology rack
says "$(<err)" '*--topology: the file has no column "rack" (it has ip, DSW, PSW, ASW)*'
imports 2 csv topo.csv
says "$(<err)" '*a list of nodes, which allot import nodes reads*'

# Gavel: steps, and how many of them a kind of job does in a second on each model. Shockwave also has durations.
cat >rates.json <<'JSON'
{"v100": {"('LM (batch size 5)', 1)": {"null": 8, "('A3C', 1)": [4, 5]}, "('LM (batch size 5)', 2)": {"null": 12.5}},
 "k80": {"('LM (batch size 5)', 1)": {"null": 2}, "('A3C', 1)": {"null": 0}}}
JSON
printf '%s\t' 'LM (batch size 5)' 'python3 "main.py' lm --steps 1 1000 1 1 -1.0 >gavel.trace
printf '30.5\n' >>gavel.trace
printf '%s\t' 'LM (batch size 5)' 'python3 main.py' lm --steps 1 1000 2 1 -1.0 >>gavel.trace
printf '40\n' >>gavel.trace
imports 0 gavel gavel.trace --throughputs rates.json
makes 'job_id,submit_s,duration_s,gpus,class,command,working_directory,num_steps_arg,needs_data_dir,priority_weight,slo
0,30.5,125,1,LM (batch size 5),"python3 ""main.py",lm,--steps,1,1,-1.0
1,40,80,2,LM (batch size 5),python3 main.py,lm,--steps,1,1,-1.0'
says "$(<err)" '*note: durations are those on GPUs of the model v100, from rates.json*2 jobs'
imports 0 gavel gavel.trace --throughputs rates.json --gpu-model k80
says "$(<out)" '*0,30.5,500,1,*'
says "$(<err)" '*line 2, column 1 (job_type): the throughputs of k80 have no "LM (batch size 5)" on 2 GPUs*1 job of 2, 1 row left out'
imports 2 gavel gavel.trace --throughputs rates.json --gpu-model p100
says "$(<err)" '*there is no GPU model "p100" (expected v100, k80)*'
imports 2 gavel gavel.trace
says "$(<err)" '*how many steps a job has, not how long one takes: expected --throughputs FILE*'
printf '%s\t' A3C python3 rl -n 1 5279 4 static 1 -1.0 895 >shockwave.trace
printf '5011\n' >>shockwave.trace
imports 0 gavel shockwave.trace
says "$(<out)" '*0,5011,895,4,A3C,*static*'
imports 2 gavel - <<<'no tabs'
says "$(<err)" '*line 1: expected 6, 9, 10 or 12 fields with tabs between them, found 1*'

imports 0 swf - <<'SWF'
; Version: 2.2
; MaxProcs: 128
1 0 5 60.5 4 -1 -1 8 3600 1024 1 3 4 -1 2 1 -1 -1
2 10 -1 7 2 -1 -1 -1 -1 -1 0 -1 -1 -1 -1 -1 1 0
SWF
makes 'job_id,submit_s,duration_s,gpus,tenant,memory_mib,user,estimate_s,wait_time,average_cpu_time,used_memory,requested_time,status,executable,partition,preceding_job,think_time
1,0,60.5,8,q2/g4,8,3,3600,5,,,3600,1,,1,,
2,10,7,2,,0,,,,,,,0,,,1,0'
imports 0 swf - --tenant partition <<<'1 0 5 60 4 -1 -1 8 3600 -1 1 3 4 -1 2 7 -1 -1'
says "$(<out)" '*1,0,60,8,7,*'

# The requested time is the estimate, in whole seconds; a job that ran longer has its run time as the
# estimate.
imports 0 swf - --tenant '' <<'SWF'
1 0 5 60.5 4 -1 -1 8 60.25 -1 1 3 4 -1 2 1 -1 -1
2 0 5 10 4 -1 -1 8 60.25 -1 1 3 4 -1 2 1 -1 -1
3 0 5 10 4 -1 -1 8 0 -1 1 3 4 -1 2 1 -1 -1
SWF
says "$(cut -d, -f1,3,7 out | tr '\n' ' ')" 'job_id,duration_s,estimate_s 1,60.5,61 2,10,61 3,10, '
says "$(<err)" '*note: 1 job ran longer than requested_time says: the run time is the estimate*3 jobs'

# What nothing needs leaves out no job, whatever it is; what is left out is counted by reason.
imports 0 swf - <<'SWF'
1 0 x 60 4 nan 12.5 8 3600 -1 failed 3 4 ./a.out 2 gpu -7 1e400
2 0 5 60 many -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1
3 0 5 -1 4 -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1
4 0 5 -1 4 -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1
5 0 5 60 many -1 -1 -1 3600 -1 1 3 4 -1 2 1 -1 -1
6 0 5 60 4 -1 -1 8 soon -1 1 3 4 -1 2 1 -1 -1
6 0 5
1 0 5 60 4 -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1
SWF
says "$(tail -n +2 out)" '1,0,60,8,q2/g4,0,3,3600,,,,3600,,,,,
2,0,60,8,q2/g4,0,3,3600,5,,,3600,1,,1,,'
says "$(<err)" '*line 6, column 20 (requested_time): expected a number, found "soon"*'
for text in '1 line is left out: expected 18 fields' '2 lines are left out: it is not known how long the job ran' \
  '1 line is left out: it is not known how many processors the job had' \
  '1 line is left out: requested_time: expected a number' '1 line is left out: its number was given before*' \
  'values that are no numbers are as if they were unknown: allocated_processors (2), *status (1), *'; do
  says "$(<err)" "*note: $text*"
done
# What says who the tenant is, is needed; what then does not say it any more is not.
imports 0 swf - --tenant partition <<<$'1 0 5 60 4 -1 -1 8 9 -1 1 3 staff -1 fast 7 -1 -1\n2 0 5 60 4 -1 -1 8 9 -1 1 3 4 -1 2 gpu -1 -1'
says "$(<out)" '*1,0,60,8,7,*'
says "$(<err)" '*line 2, column * (partition): expected a number, found "gpu"*1 job of 2, 1 row left out'

# --- omitted rows, with line and reason

cat >rows.csv <<CSV
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,-66.0,1,66.0,a
2017-10-09 07:01:55,NaN,1,66.0,a
2017-10-09 07:01:55,1,1000000000000000000,66.0,a
2017-10-09 07:01:55,1000000000000000000,1,66.0,a
2017-13-09 07:01:55,1,1,66.0,a
2017-10-09 07:01:55,1,1
2017-10-09 07:01:55,1,1.5,66.0,a
2017-10-09 07:01:56,5,2,"6,6","a
b"
2017-10-09 07:01:55,1,1,66.0,a
CSV
imports 0 philly rows.csv
says "$(<err)" 'rows.csv: line 2, column 21 (duration): expected at least 0, found "-66.0" (the row is left out)
rows.csv: line 3, column 21 (duration): expected a number of seconds, found "NaN" (the row is left out)
rows.csv: line 4, column 23 (num_gpus): expected at most 1000000, found "1000000000000000000" (the row is left out)
rows.csv: line 5, column 21 (duration): expected at most 1000000000000, found "1000000000000000000" (the row is left out)
rows.csv: line 6, column 1 (timestamp): expected a date and time, as in 2017-10-09 07:01:55, found "2017-13-09 07:01:55" (the row is left out)
rows.csv: line 7, column 23: expected 5 fields, as in the header row, found 3 (the row is left out)
rows.csv: line 8, column 23 (num_gpus): expected a whole number, found "1.5" (the row is left out)
rows.csv: note: submissions count from the first, 2017-10-09 07:01:55
rows.csv: 2 jobs of 9, 7 rows left out'
makes 'job_id,submit_s,duration_s,gpus,tenant,gpu_time
7,1,5,2,"a
b","6,6"
8,0,1,1,a,66.0'
imports 0 philly rows.csv --shown 2
says "$(<err)" '*line 3, *... and 5 more rows are left out*'
[[ $(<err) != *'line 4,'* ]] || fail '--shown 2 shows three'
imports 2 philly rows.csv --strict
says "$(<err)" '*7 rows are wrong, and --strict allows none: nothing is written'
imports 2 philly rows.csv --strict --out strict.csv
[ ! -e strict.csv ] || fail 'a trace was made in spite of --strict'
imports 0 helios - <<'CSV'
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u,v,1,1,1,C,2020-06-09 18:41:01,,,5,0
7,u,v,1,1,1,C,2020-06-09 18:41:02,,,5,0
,u,v,1,1,1,C,2020-06-09 18:41:02,,,5,0
CSV
says "$(<err)" '*line 3, column 1: the job id "7" was given before, on line 2 (the*line 4, column 1 (job_id): expected the id of a job, found nothing*1 job of 3, 2 rows left out'
imports 2 philly - <<<$'timestamp,duration,num_gpus,gpu_time,cluster\nx,1,1,1,a\n'
says "$(<err)" '*no row can be carried over: nothing is written'
imports 0 pai - --unit gpus <<<$'job_id,submit_time,duration,num_gpu\n1,0,1,1.5\n2,0,1,1'
says "$(<err)" '*line 2, column 1: 1.5 GPUs can*be had (expected whole GPUs, or a fraction of one)*'
imports 0 spot - <<<$'job_name,gpu_request,worker_num,submit_time,duration,job_type\n1,1,0,0,1,HP\n2,1,1,0,1,hp\n3,1000000,1000000,0,1,HP\n4,1,1,0,1,HP'
says "$(<err)" '*line 2, column 5 (worker_num): expected at least 1*line 3, column 11 (job_type): expected HP or Spot, found "hp"*2 jobs of 4, 2 rows left out'
imports 0 swf - <<<$'1 0 5 -1 4 -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1\n2 0 1 1 -1 1 1 -1 1 1 1 1 1 1 1 1 1 1\nx y\n3 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n3 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1'
says "$(<err)" '*line 1, column 1 (run_time): it is not known how long*line 2, column 1 (requested_processors): it is not known how many*line 3, column 3: expected 18 fields, found 2*line 5, column 1 (job_number): the job id "3" was given before, on line 4*1 job of 5, 4 rows left out'

# --- input that is invalid as a whole: place and expectation, and nothing is written

imports 2 philly nowhere.csv --out never.csv
says "$(<err)" 'nowhere.csv: No such file or directory'
imports 2 phily rows.csv --out never.csv
says "$(<err)" '*there is no format "phily" (expected philly, helios, *'
imports 2 philly . --out never.csv
imports 2 philly helios.csv --out never.csv
says "$(<err)" '*helios.csv: line 1, column 1 (timestamp): this column is required, and the header row lacks it*'
imports 2 philly /dev/null --out never.csv
says "$(<err)" '*line 1, column 1: the text is empty: expected a header row with timestamp,duration,num_gpus'
imports 2 swf /dev/null --out never.csv
says "$(<err)" '*there is no job in the file (expected lines of 18 numbers)'
imports 2 philly - --out never.csv <<<$'timestamp,duration,num_gpus,duration\n'
says "$(<err)" '*line 1, column 29 (duration): this column is there twice*'
head -c 110 rows.csv >cut.csv
imports 2 philly cut.csv --out never.csv
says "$(<err)" '*cut.csv: line 3, column 27: expected 5 fields*the file ends in the middle of this row (is it truncated?)'
printf '1 0 5 60 4 -1 -1 8 36' >cut.swf
imports 2 swf cut.swf --out never.csv
says "$(<err)" '*line 1, column 20: expected 18 fields, found 9*is it truncated?)'
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,2,1,500\nb,1' >cut.csv
imports 2 openb cut.csv --out never.csv
says "$(<err)" '*line 3, column 3: expected 5 fields*is it truncated?)'
printf 'timestamp,duration,num_gpus\n2017-10-09 07:01:55,"1\n,1\n' >quote.csv
imports 2 philly quote.csv --out never.csv
says "$(<err)" '*line 2, column 21: this quote is never closed'
printf 'timestamp,duration,num_gpus\r2017-10-09 07:01:55,1,1\r' >mac.csv
imports 2 philly mac.csv --out never.csv
says "$(<err)" '*line 1, column 28: a carriage return without a line feed'
printf '\xff\xfet\0i\0' >utf16.csv
imports 2 philly utf16.csv --out never.csv
says "$(<err)" '*the text is UTF-16; expected UTF-8'
imports 2 philly rows.csv --tenant team --out never.csv
says "$(<err)" '*--tenant: the file has no column "team"'
imports 2 philly rows.csv --origin soon --out never.csv
says "$(<err)" '*--origin: expected a date*found "soon"'
imports 2 philly rows.csv --origin 2018-01-01 --out never.csv
says "$(<err)" '*--origin: the first job is submitted at 2017-10-09 07:01:55, before that'
imports 2 openb untimed.csv --gap -1 --out never.csv
says "$(<err)" '*--gap: expected a number of seconds, found "-1"'
[ ! -e never.csv ] || fail 'something was written in spite of an error'
# Another kind of file is told as what it looks like, by any importer.
is_told() { # FORMAT TEXT: of standard input
  imports 2 "$1" - --out never.csv
  says "$(<err)" "*the file looks like $2*"
}
for format in helios pai openb swf csv; do is_told "$format" 'JSON: a job log of Philly, which allot import philly reads, which' <cluster_job_log; done
is_told kueue 'a table that allot import philly reads' <rows.csv
is_told helios 'a table that allot import philly reads' <rows.csv
is_told philly 'a table that allot import helios reads' <helios.csv
is_told helios 'a workload in SWF, which allot import swf reads' <<<'1 0 5 60 4 -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1'
is_told swf 'the output of sacct, which allot import sacct reads' <<<$'JobID|Submit|Elapsed\n1|2|3'
is_told philly 'a trace of allot, which needs no import' <<<'job_id,submit_s,duration_s,gpus'
is_told swf 'JSON: objects of Kueue, which allot import kueue reads' <<<'{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}'
is_told philly 'a Parquet file' <<<'PAR1abcd'
is_told csv 'XML, or a web page' <<<'<!DOCTYPE html>'
is_told kai 'YAML: objects of Kubernetes, which allot import kubernetes reads' <<<$'apiVersion: v1\nkind: List'
# A byte order mark, and line ends of both kinds, are accepted.
printf '\xef\xbb\xbftimestamp,duration,num_gpus\r\n2017-10-09 07:01:55,1,1\n2017-10-09 07:01:57,1,1\r\n' | "$allot" import philly - >out 2>err ||
  fail "byte order mark: $(<err)"
makes 'job_id,submit_s,duration_s,gpus
0,0,1,1
1,2,1,1'

# --- gzip

if printf 'timestamp,duration,num_gpus\n2017-10-09 07:01:55,1,1\n' | gzip >one.gz; then
  imports 0 philly one.gz || true
  if [[ $(<err) == *'built without zlib'* ]]; then
    echo 'skipped: this program was built without zlib'
  else
    makes $'job_id,submit_s,duration_s,gpus\n0,0,1,1'
    cat one.gz <(printf '2017-10-09 07:01:56,1,1\n' | gzip) >two.gz
    imports 0 philly - <two.gz
    says "$(<err)" '*2 jobs'
    for size in 3 10 30 $(($(stat -c %s one.gz) - 1)); do
      head -c "$size" one.gz >cut.gz
      imports 2 philly cut.gz --out never.csv
      says "$(<err)" "cut.gz: line *, column *: the gzip file ends after $size bytes in the middle of its data (is it truncated?)"
    done
    cat one.gz <(echo rubbish) >rubbish.gz
    imports 2 philly rubbish.gz --out never.csv
    says "$(<err)" '*the gzip data is damaged at byte *'
    [ ! -e never.csv ] || fail 'something was written of a damaged file'
  fi
fi

# --- the destination of the result

imports 0 philly rows.csv --out made.csv
imports 2 philly rows.csv --out made.csv
says "$(<err)" '*made.csv exists*--force*'
imports 0 philly rows.csv --out made.csv --force
imports 2 philly rows.csv --out no/such/directory.csv
imports 2 philly rows.csv --out .
if [ -e /dev/full ]; then
  imports 2 philly rows.csv --out /dev/full
  says "$(<err)" "*can't write /dev/full: No space left on device"
  "$allot" import philly rows.csv >/dev/full 2>err
  [ $? -eq 2 ] || fail 'a full disk behind standard output was not noticed'
  says "$(<err)" "*can't write to standard output: No space left on device"
  [ -c /dev/full ] || fail '/dev/full was replaced'
fi
{
  echo 'timestamp,duration,num_gpus'
  for ((i = 0; i < 4000; ++i)); do echo "2017-10-09 07:01:55,$i,1"; done
} >many.csv
(ulimit -f 16 && exec "$allot" import philly many.csv --out never.csv) >out 2>err
[ $? -eq 2 ] || fail 'a file that could not be written was not noticed'
[ ! -e never.csv ] || fail 'half a trace has its final name'

# --- the published files, if they are available

if [ -f "$traces/philly/philly.csv" ]; then
  imports 0 philly "$traces/philly/philly.csv" --strict
  says "$(<checked)" 'trace standard input: 82247 jobs of 15 tenants, submitted from 0 s to 9408690 s*ask for 107235 GPUs, the largest for 128*ok'
fi
if [ -f "$traces/openb/openb_pod_list_default.csv" ]; then
  for list in "$traces"/openb/openb_pod_list_*.csv; do imports 0 openb "$list" --strict; done
  imports 0 openb "$traces/openb/openb_pod_list_default.csv" --strict --gpu-only
  # Those of days 119 to 149.
  found=$(awk -F, 'NR > 1 && $2 >= 119 * 86400' out | wc -l)
  [ "$found" -eq 5632 ] || fail "expected 5632 GPU pods from day 119 on, found $found"
  imports 0 openb "$traces/openb/openb_node_list_gpu_node.csv"
  says "$(<checked)" '*1213 nodes, 6212 GPUs*ok'
fi

conclude
