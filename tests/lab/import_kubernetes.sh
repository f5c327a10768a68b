#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Any cluster of Kubernetes as a scenario: pods by their owners, GPUs of several vendors, namespaces as quotas.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# imports [OPTION...]: the scenario in `now.json`, the notes in `err`.
imports() {
  "$allot" import kubernetes - --out now.json --force "$@" 2>err || fail "import: $(<err)"
  "$allot" check now.json >checked 2>&1 || fail "check: $(<checked)"
  "$allot" decide now.json >decision 2>&1 || fail "decide: $(<decision)"
  "$allot" replay now.json --out replayed --force >replay 2>&1 || fail "replay: $(<replay)"
}
job() { grep -F "{\"id\": \"$1\"" now.json; }
quota() { grep -F "{\"name\": \"$1\"" now.json; }

node() { # NAME ALLOCATABLE [LABELS] [STATUS]
  printf '{"kind": "Node", "metadata": {"name": "%s", "labels": {%s}}, "status": {%s "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", %s}}},\n' \
    "$1" "${3:-}" "${4:-}" "$2"
}
owner() { printf '"ownerReferences": [{"kind": "%s", "name": "%s", "controller": true}],' "$1" "$2"; }
pod() { # NAMESPACE NAME REQUESTS [SPEC] [METADATA] [PHASE]
  printf '{"kind": "Pod", "metadata": {%s "name": "%s", "namespace": "%s", "creationTimestamp": "2026-03-30T00:00:00Z"}, "spec": {%s "containers": [{"resources": {"requests": {%s}}}]}, "status": {"phase": "%s", "startTime": "2026-03-30T01:00:00Z"}},\n' \
    "${5:-}" "$2" "$1" "${4:-}" "$3" "${6:-Pending}"
}
job_object() { # NAMESPACE NAME SPEC REQUESTS [STATUS] [METADATA]
  printf '{"kind": "Job", "metadata": {%s "name": "%s", "namespace": "%s", "creationTimestamp": "2026-03-30T00:00:00Z"}, "spec": {%s "template": {"spec": {"containers": [{"resources": {"limits": {%s}}}]}}}, "status": {%s}},\n' \
    "${6:-}" "$2" "$1" "$3" "$4" "${5:-}"
}
gpus() { printf '"nvidia.com/gpu": "%s"' "$1"; }
file() {
  echo '{"kind": "List", "items": ['
  cat
  echo '{"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 7, "globalDefault": true}]}'
}

# --- owners, namespaces and what the nodes' own pods hold

{
  node g0 "$(gpus 8)" '"nvidia.com/gpu.product": "H100"'
  node g1 "$(gpus 8)" '"nvidia.com/gpu.product": "H100"'
  node bad "$(gpus 8)" '' '"conditions": [{"type": "Ready", "status": "False"}],'
  echo '{"kind": "ResourceQuota", "metadata": {"name": "rq", "namespace": "vision"}, "spec": {"hard": {"requests.nvidia.com/gpu": "6", "requests.cpu": "99"}}},'
  echo '{"kind": "ResourceQuota", "metadata": {"name": "more", "namespace": "vision"}, "spec": {"hard": {"requests.nvidia.com/gpu": "12"}}},'
  echo '{"kind": "ResourceQuota", "metadata": {"name": "part", "namespace": "speech"}, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}, "scopes": ["BestEffort"]}},'
  for i in 0 1; do
    pod vision "train-$i" "$(gpus 2), \"cpu\": \"4\"" '"nodeName": "g0",' "$(owner Job train)" Running
  done
  job_object vision train '"parallelism": 4, "completions": 4, "completionMode": "Indexed", "activeDeadlineSeconds": 7200,' "$(gpus 2), \"cpu\": \"4\"" '"startTime": "2026-03-30T00:30:00Z"'
  job_object vision later '"parallelism": 2, "suspend": true,' "$(gpus 1)"
  job_object vision done '"parallelism": 2,' "$(gpus 1)" '"conditions": [{"type": "Complete", "status": "True"}]'
  job_object speech worker '' "$(gpus 1)" '' "$(owner JobSet set)"
  job_object speech nightly '"parallelism": 3, "completions": 5,' "$(gpus 1)" '"succeeded": 3' "$(owner CronJob night)"
  pod speech web-abc-1 "$(gpus 1)" '"nodeName": "g1", "priority": 9,' "$(owner ReplicaSet web-abc) \"labels\": {\"pod-template-hash\": \"abc\"}," Running
  pod speech web-abc-2 "$(gpus 1)" '"priority": 9,' "$(owner ReplicaSet web-abc) \"labels\": {\"pod-template-hash\": \"abc\"},"
  pod speech torch-m "$(gpus 1)" '' "$(owner PyTorchJob torch)"
  pod speech torch-w "$(gpus 4)" '' "$(owner PyTorchJob torch)"
  pod speech alone "$(gpus 1)" '"schedulingGates": [{"name": "x"}],'
  pod kube-system proxy '"cpu": "3"' '"nodeName": "g0",' "$(owner DaemonSet proxy)" Running
  pod kube-system api '"cpu": "1"' '"nodeName": "g0",' '"annotations": {"kubernetes.io/config.mirror": "x"},' Running
  pod kube-system db '"cpu": "2"' '"nodeName": "g1",' "$(owner StatefulSet db)" Running
  pod kube-system idle '"cpu": "2"'
} | file >cluster.json
imports <cluster.json
says "$(job vision/train)" '*"quota": "vision", "pods": 4, "min_pods": 2, "request": {"gpu": 2}, *"priority": 7,*"state": "running", "start_s": 1800, "running_pods": 2, "nodes": \["g0", "g0"\], "duration_s": 7200, "estimate_s": 7200*'
says "$(job vision/later)" '*"pods": 2, "min_pods": 1, "request": {"gpu": 1}*"duration_s": 3600*'
says "$(job speech/web)" '*"pods": 2, "min_pods": 1, *"priority": 9, *"running_pods": 1, "nodes": \["g1"\]*'
says "$(job speech/torch)" '*"pod_sets": \[{"name": "1", "pods": 1, "request": {"gpu": 1}}, {"name": "2", "pods": 1, "request": {"gpu": 4}}\]*'
says "$(job speech/set)" '*"pods": 1, "request": {"gpu": 1}*'
says "$(job speech/nightly)" '*"pods": 2, "min_pods": 1*'
[ -z "$(job vision/done)$(job speech/alone)$(job kube-system/db)" ] || fail 'jobs that are none'
says "$(quota vision)" '*"nominal": {"gpu": 6}, "borrow": {"gpu": 0}*'
says "$(quota speech)" '*"nominal": {"gpu": 0}}*'
says "$(<now.json)" '*"nodes": \[{"name": "g0", "gpus": 8, "gpu_model": "H100", "cpu_milli": 60000, *"pod_slots": 108}, {"name": "g1", *"cpu_milli": 62000,*'
notes 'Node bad: left out: its condition Ready is not True' 'Job vision/later: is suspended' \
  'ResourceQuota vision/rq: its bounds of requests.cpu are not carried over' 'ResourceQuota speech/part: not carried over' \
  'speech: has no ResourceQuota of GPUs' 'Pod speech/alone: 1 of its pods has scheduling gates' \
  'Pod (kube-system/idle): 1 waits for no GPU' \
  'Pod (kube-system/api, kube-system/proxy, kube-system/db): 3 run without GPUs, or for a node itself'

# The same in several files, one after the other, and with quotas of one's own.
sed 's/"kind": "List"/"kind": "NodeList"/' cluster.json >first.json
echo '{"kind": "PodList", "items": [{"kind": "Pod", "metadata": {"name": "more", "namespace": "vision"}, "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 1}}}]}}]}' >second.json
imports < <(cat first.json second.json)
[ -n "$(job vision/more)" ] || fail 'the second file is not there'
echo '{"resources": ["gpu", "cpu"], "policy": {"preset": "standard"}, "quotas": [{"name": "root", "nominal": {"gpu": 16, "cpu": 128}}, {"name": "vision", "parent": "root", "nominal": {"gpu": 3}, "weight": 2.5}]}' >quotas.json
imports --quotas quotas.json <cluster.json
says "$(quota vision)" '*"parent": "root", "nominal": {"gpu": 3}, "weight": 2.5}*'
says "$(job vision/train)" '*"request": {"cpu": 4, "gpu": 2}*'
sed 's/"weight": 2.5/"x-share": 0.3333333333333333333333333333333333333333333333/' quotas.json >long.json
imports --quotas long.json <cluster.json
says "$(quota vision)" '*"x-share": 0.3333333333333333333333333333333333333333333333}*'
imports --quotas quotas.json <cluster.json
notes 'Deployment speech/web: left out: its namespace speech is no quota of the file of --quotas' 'ResourceQuota vision/rq: not carried over'

# --- several vendors, instances, names of one's own

{
  node n0 "$(gpus 2), \"nvidia.com/mig-1g.5gb\": \"4\""
  node a0 '"amd.com/gpu": "4"' '"amd.com/gpu.product-name": "MI300X"'
  node o0 '"example.com/npu": "4"'
  pod x one "$(gpus 1)"
  pod x two '"nvidia.com/mig-1g.5gb": "2"'
  pod x three '"amd.com/gpu": "4"' '"nodeName": "a0",' '' Running
  pod x four '"example.com/npu": "1"'
  pod x five '"habana.ai/gaudi": "1"'
} | file >vendors.json
imports --gpu-resource example.com/npu <vendors.json
says "$(tr -d '\n' <now.json)" '*"resources": \[ *"amd.com/gpu/gpu", *"example.com/npu/gpu", *"habana.ai/gaudi/gpu", *"nvidia.com/gpu/gpu", *"nvidia.com/mig-1g.5gb/gpu" *\]*'
says "$(<now.json)" '*"labels": {"device": "amd.com/gpu"}*'
says "$(quota cluster)" '*"nominal": {"amd.com/gpu/gpu": 4, "example.com/npu/gpu": 4, "habana.ai/gaudi/gpu": 0, *'
notes 'Pod x/five: no node of the file may take it'
says "$(job x/two)" '*"request": {"nvidia.com/mig-1g.5gb/gpu": 2}*'
says "$(job x/three)" '*"nodes": \["a0"\]*'
says "$(tr -d '\n' <decision)" '*"x/four"*"nodes": \["o0"\]*"x/one"*"nodes": \["n0/gpu"\]*"x/two"*"nodes": \["n0/mig-1g.5gb"\]*'
imports <vendors.json
[ -z "$(job x/four)" ] || fail 'a device that nobody named is a GPU'
exits 2 "$allot" import kai vendors.json --gpu-resource a.b/c
says "$(<err)" '*--gpu-resource and --quotas are options of the format kubernetes, not of kai*'
exits 2 "$allot" import kubernetes - <<<'{"kind": "List", "items": []}'
says "$(<err)" '*there is no Node and no Pod (expected the output of: kubectl get nodes,pods,*'
exits 2 "$allot" import kubernetes cluster.json --quotas missing.json
exits 2 "$allot" import kubernetes cluster.json --quotas second.json
says "$(<err)" '*second.json: /quotas: expected at least one quota*'

conclude
