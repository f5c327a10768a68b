#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Kubernetes objects as scenarios: the conversion of Kueue's and KAI's, the report on the rest, and that
# nothing is written when the input is invalid.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
objects=$2/tests/lab/objects

# imports STATUS FORMAT FILE...: output in `out` and `err`.
imports() {
  local expected=$1 status
  shift
  "$allot" import "$@" >out 2>err
  status=$?
  [ "$status" -eq "$expected" ] || fail "import $*: exit status $status, expected $expected: $(<err)"
  [ "$status" -eq 0 ] || [ ! -s out ] || fail "import $*: an error, and something on standard output"
  [ "$status" -ne 0 ] || [ ! -s out ] || "$allot" check out >checked 2>&1 || fail "import $*: $(<checked)"
}

# --- a complete example, which can be decided on

for format in kueue kai; do
  imports 0 "$format" "$objects/$format.json"
  diff -u "$objects/$format.expected" out || fail "$format: the scenario is not what was expected"
  "$allot" decide --rounds 9 out >decision 2>err || fail "$format: decide: $(<err)"
  # The same objects in another notation make the same scenario.
  imports 0 "$format" "$objects/$format.json" --out "$format.json"
  gzip -c "$objects/$format.json" >packed.gz
  "$allot" import "$format" packed.gz >again 2>err
  grep -q 'built without zlib' err || cmp -s again "$format.json" || fail "$format: gzip makes a difference"
  { echo ---; cat "$objects/$format.json"; } | "$allot" import "$format" - >again 2>err
  grep -q 'built without yaml-cpp' err || cmp -s again "$format.json" || fail "$format: YAML makes a difference"
done
says "$("$allot" decide kueue.json)" '*"admit": \[*"cv/job-wide"*"flavors": {"gpu": "a100"}*"hold": \[*"asr/mpi"*"reason": "capacity", "at": "company", "resource": "h100/gpu", "short_by": 14*'
says "$("$allot" decide kai.json)" '*"admit": \[*"asr/pg-wait"*"nodes": \["gpu-0"\]*"asr/pg-halves"*'

# --- manifests in YAML, several in a file

"$allot" import kai - --out manifests.json 2>err <<'YAML'
# A department with one queue.
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: dep}
spec:
  resources:
    gpu: {quota: 4, limit: -1, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata:
  name: "1"
spec:
  parentQueue: dep
  displayName: >-
    a text of
    two lines
  resources:
    gpu:
      quota: 2.5
      limit: 4
      overQuotaWeight: 2
---
---
apiVersion: v1
kind: Node
metadata: {name: n}
spec: {taints: ~}
status:
  allocatable: {nvidia.com/gpu: "8", cpu: 64, memory: 512Gi}
...
YAML
if ! grep -q 'built without yaml-cpp' err; then
  says "$(tr -d ' \n' <manifests.json)" '*"name":"n","gpus":8*"name":"1","parent":"dep","nominal":{"gpu":2.5},"borrow":{"gpu":1.5},"weight":{"gpu":2}*"name":"dep",*"nominal":{"gpu":4},*'
  exits 2 "$allot" import kai - <<<$'kind: Queue\nmetadata:\n  name: a\n spec: {}'
  says "$(<err)" '*standard input: line 4, column 2: *'
fi

# --- what can't be converted is reported

imports 0 kueue "$objects/kueue.json"
notes 'Node: 1 object is not carried over' \
  'ClusterQueue speech: spec.admissionChecks is not carried over' \
  'Workload asr/mpi: spec.podSets[].topologyRequest.required is not carried over: its pods may stand anywhere' \
  'Workload nlp/lost: left out: the LocalQueue nlp/nowhere is not in the file' \
  'Workload: 1 that is finished is left out' \
  'fair sharing is configured in ClusterQueue speech'
imports 0 kai "$objects/kai.json"
notes 'Queue speech: spec.fairness is not carried over' \
  'PodGroup cv/pg-train: spec.topologyConstraint is not carried over: ' 'cpu: no queue bounds it' \
  'PodGroup asr/pg-lost: left out: its queue gone is not in the file' \
  'Pod (kube-system/stray): 1 is in no PodGroup of the file: what it holds is taken off its node'

# --- wrong types are errors, which name the object

wrong() { # FORMAT JSON PATTERN
  local kind=Queue
  [ "$1" = kai ] || kind=ClusterQueue
  imports 2 "$1" - <<<"{\"items\": [{\"kind\": \"$kind\", \"metadata\": {\"name\": \"first\"}, \"spec\": {}}, $2]}"
  says "$(<err)" "*standard input: /items/1$3"
}
wrong kai '{"kind": "Queue", "metadata": {"name": 5}}' '/metadata/name: expected a text, found 5 (in Queue)*'
wrong kai '{"kind": "Queue", "metadata": "x"}' '/metadata: expected an object, found "x" (in Queue)*'
wrong kai '{"kind": "Queue", "metadata": {"name": "q"}, "spec": "x"}' '/spec: expected an object, found "x" (in Queue q)*'
[ "$(wc -l <err)" -eq 1 ] || fail "one wrong member is told several times: $(<err)"
wrong kai '{"kind": "Queue", "metadata": {"name": "q"}, "spec": {"parentQueue": true}}' \
  '/spec/parentQueue: expected a text, found true (in Queue q)*'
wrong kai '{"kind": "Queue", "metadata": {"name": "q"}, "spec": {"resources": [1]}}' \
  '/spec/resources: expected an object, found an array (in Queue q)*'
wrong kai '{"kind": "PodGroup", "metadata": {"namespace": "s", "name": "g"}, "spec": {"queue": "first", "topologyConstraint": 7}}' \
  '/spec/topologyConstraint: expected an object, found 7 (in PodGroup s/g)*'
wrong kueue '{"kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": []}' \
  '/spec: expected an object, found an array (in ClusterQueue q)*'
wrong kai '{"kind": "Pod", "metadata": {"namespace": "s", "name": "p"}, "status": "Running"}' \
  '/status: expected an object, found "Running" (in Pod s/p)*'

# --- smaller worlds

# A queue of its own; amounts that are exact in bytes only; a paused queue; a workload that is being evicted.
imports 0 kueue - <<'JSON'
{"items": [
  {"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"stopPolicy": "Hold", "resourceGroups": [
    {"coveredResources": ["memory", "pods"], "flavors": [{"name": "f", "resources": [
      {"name": "memory", "nominalQuota": "100G"}, {"name": "pods", "nominalQuota": 10}]}]}]}},
  {"kind": "Workload", "metadata": {"name": "w", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
   "spec": {"queueName": "q", "priorityClassName": "gone", "podSets": [{"name": "m", "count": 3, "template": {"spec": {
     "overhead": {"memory": "1M"}, "containers": [{"resources": {"requests": {"memory": "3333333333"}}}],
     "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"memory": "1k"}}}]}}}]},
   "status": {"admission": {"clusterQueue": "a", "podSetAssignments": [{"name": "m", "flavors": {"memory": "f", "pods": "f"}}]},
              "conditions": [{"type": "Evicted", "status": "True", "reason": "Preempted"}]}},
  {"kind": "Workload", "metadata": {"name": "v", "namespace": "n"}, "spec": {"queueName": "q", "podSets": [{"name": "m"}]}}
]}
JSON
says "$(<out)" '*"resources": \[*"memory_kb",*"pods"*"policy": "kueue",*{"name": "a", "nominal": {"memory_kb": 100000000, "pods": 10}}*"pods": 3, "request": {"memory_kb": 3334334.333, "pods": 1}, "priority": 0,*"state": "evicting"*'
says "$(<err)" '*n/v: left out: it waits in a ClusterQueue whose stopPolicy is Hold*n/w: its priority class gone is not in the file*'

# What runs with several pod sets runs so, each with its flavor.
imports 0 kueue - <<'JSON'
{"items": [
  {"kind": "LocalQueue", "metadata": {"name": "q", "namespace": "n"}, "spec": {"clusterQueue": "a"}},
  {"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"resourceGroups": [
    {"coveredResources": ["nvidia.com/gpu"], "flavors": [
      {"name": "f", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 4}]},
      {"name": "g", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 4}]}]}]}},
  {"kind": "Workload", "metadata": {"name": "w", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
   "spec": {"queueName": "q", "podSets": [
     {"name": "head", "count": 1, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 1}}}]}}},
     {"name": "work", "count": 3, "minCount": 1, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 2}}}]}}}]},
   "status": {"admission": {"clusterQueue": "a", "podSetAssignments": [
     {"name": "head", "count": 1, "flavors": {"nvidia.com/gpu": "g"}, "resourceUsage": {"nvidia.com/gpu": 1}},
     {"name": "work", "count": 2, "flavors": {"nvidia.com/gpu": "f"}, "resourceUsage": {"nvidia.com/gpu": 4}}]}}}
]}
JSON
says "$(<out)" '*"pod_sets": \[*"name": "head", "pods": 1, "request": {"g/gpu": 1}*"name": "work", "pods": 3, "min_pods": 1, "request": {"f/gpu": 2}*"running_pods": 3*"state": "running"*'

# More flavors than can be counted: GPUs first.
{
  echo '{"items": [{"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"cohort": "a", "resourceGroups": ['
  echo '{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": ['
  for f in 1 2 3 4 5 6; do
    [ $f -eq 1 ] || echo ','
    echo '{"name": "f'$f'", "resources": [{"name": "cpu", "nominalQuota": 8}, {"name": "nvidia.com/gpu", "nominalQuota": 8}]}'
  done
  echo ']}]}}]}'
} >many.json
imports 0 kueue many.json
says "$(<err)" '*note: Cohort a: called "cohort a"*note: cpu: is not carried over: this program counts at most 8 resources*'
says "$(<out)" '*{"name": "cohort a"},*{"name": "a", "parent": "cohort a", "nominal": {"f1/gpu": 8, *"f6/gpu": 8}}*'

# Without nodes the cluster is the sum of its queues' guarantees; then a part of a GPU by its memory is
# unknown.
imports 0 kai - <<'JSON'
{"items": [
  {"kind": "Queue", "metadata": {"name": "cluster"}, "spec": {"resources": {"gpu": {"quota": 4, "limit": 2}, "cpu": {"quota": 8000, "limit": 16000, "overQuotaWeight": 2},
     "memory": {"quota": 1000, "limit": -1}}}},
  {"kind": "Queue", "metadata": {"name": "lost"}, "spec": {"parentQueue": "gone", "resources": {"gpu": {"quota": -1, "limit": 3}}}},
  {"kind": "Queue", "metadata": {"name": "below"}, "spec": {"parentQueue": "lost"}},
  {"kind": "Queue", "metadata": {"name": "free"}, "spec": {"resources": {"gpu": {"quota": -1, "limit": 3}}}},
  {"kind": "PodGroup", "metadata": {"name": "p", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"queue": "cluster", "priorityClassName": "odd"}},
  {"kind": "PodGroup", "metadata": {"name": "r", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"queue": "cluster", "minMember": 2}},
  {"kind": "Pod", "metadata": {"name": "p-0", "namespace": "n", "annotations": {"pod-group-name": "p", "gpu-memory": "100"}}, "spec": {}},
  {"kind": "Pod", "metadata": {"name": "r-0", "namespace": "n", "annotations": {"pod-group-name": "r"}}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1500m", "memory": "1G"}}}]}},
  {"kind": "Pod", "metadata": {"name": "r-1", "namespace": "n", "annotations": {"pod-group-name": "r"}}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
]}
JSON
says "$(<out)" '*"resources": \[*"gpu",*"cpu",*"memory_mb"*{"name": "(cluster)",*"nominal": {"gpu": 5, "cpu": 8, "memory_mb": 1000}}*{"name": "cluster", "parent": "(cluster)", "nominal": {"gpu": 2, "cpu": 8, "memory_mb": 1000}, "borrow": {"gpu": 0, "cpu": 8}, "weight": {"gpu": 0, "cpu": 2, "memory_mb": 0}*{"name": "free", *"nominal": {"gpu": 3, "cpu": 0, "memory_mb": 0}, "borrow": {"gpu": 0, "cpu": 0, "memory_mb": 0}*"n/r", *"pod_sets": \[{"name": "1", "pods": 1, "request": {"cpu": 1.5, "memory_mb": 1000}}, {"name": "2", "pods": 1, "request": {"cpu": 1}}\]*'
says "$(<err)" '*Queue lost: left out: its parent gone is not in the file*Queue below: left out: its parent lost is not in the file*n/p: its priority class odd is not in the file*n/p: left out: n/p-0 asks for 100 MiB of a GPU*the cluster is taken to have 5 gpu*Queue free: it does not specify cpu, of which KAI then allows it none*'

# Gangs that must be placed near each other, and one of each kind that can't be converted.
group() { # NAME PODS CONSTRAINT [MIN]
  printf '{"kind": "PodGroup", "metadata": {"name": "%s"}, "spec": {"queue": "q", "minMember": %s, "topologyConstraint": %s}},\n' \
    "$1" "${4:-$2}" "$3"
  local i
  for ((i = 0; i < $2; ++i)); do
    printf '{"kind": "Pod", "metadata": {"name": "%s-%s", "annotations": {"pod-group-name": "%s"}}, "spec": {"containers": [%s]}},\n' \
      "$1" $i "$1" '{"resources": {"limits": {"nvidia.com/gpu": 8}}}'
  done
}
node() { # NAME LABELS
  printf '{"kind": "Node", "metadata": {"name": "%s", "labels": {%s}}, "status": {"allocatable": {"nvidia.com/gpu": 8}}},\n' "$1" "$2"
}
{
  echo '{"items": ['
  for i in 1 2 3 4; do node n$i '"x/block": "b", "x/rack": "r'$((i / 3))'", "kubernetes.io/hostname": "n'$i'"'; done
  node odd '"x/block": "b"'
  group wide 2 '{"topology": "t", "requiredTopologyLevel": "x/rack"}'
  group wider 3 '{"topology": "t", "requiredTopologyLevel": "x/rack", "preferredTopologyLevel": "x/block"}'
  group near 2 '{"topology": "t", "requiredTopologyLevel": "x/block", "preferredTopologyLevel": "kubernetes.io/hostname"}'
  group elastic 2 '{"topology": "t", "requiredTopologyLevel": "x/rack"}' 1
  group other 2 '{"topology": "u", "requiredTopologyLevel": "x/rack"}'
  group nameless 1 '{"preferredTopologyLevel": "x/rack"}'
  group zone 1 '{"topology": "t", "requiredTopologyLevel": "x/zone"}'
  group free 1 '{"topology": "t"}'
  for name in u t; do
    printf '{"kind": "Topology", "metadata": {"name": "%s"}, "spec": {"levels": [{"nodeLabel": "x/zone"}, {"nodeLabel": "x/block"}, %s' \
      $name '{"nodeLabel": "x/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}},'
  done
  echo '{"kind": "Queue", "metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": -1, "limit": -1, "overQuotaWeight": 1}}}}]}'
} >near.json
imports 0 kai near.json --out near_scenario.json
says "$(tr -d ' \n' <near_scenario.json)" \
  '*"cluster":{"topology":\["x/block","x/rack"\],"nodes":\[{"name":"n1","gpus":8,"labels":{"x/block":"b","x/rack":"r0"}},*{"name":"odd","gpus":8,"labels":{"x/block":"b","x/rack":"(odd)"}}\]}*'
notes 'Topology u: not carried over: a scenario has one topology, here t' \
  'Topology t: its level x/zone is not carried over: no node has that label' \
  'Node odd: it has no label x/rack: taken as one of its own' \
  'PodGroup other: spec.topologyConstraint is not carried over: the topology u is not in the scenario' \
  'PodGroup nameless: spec.topologyConstraint is not carried over: it names no topology' \
  'PodGroup zone: spec.topologyConstraint is not carried over: the topology has no level x/zone'
says "$(grep -o '"id": "[a-z]*"\|"topology": {[^}]*}' near_scenario.json | tr '\n' ' ')" \
  '"id": "elastic" "topology": {"required": "x/rack"} "id": "free" "id": "nameless" "id": "near" "topology": {"required": "x/block", "preferred": "node"} "id": "other" "id": "wide" "topology": {"required": "x/rack"} "id": "wider" "topology": {"required": "x/rack"} "id": "zone" '
exits 0 "$allot" decide near_scenario.json
# Under runai a job that can never fit is pending, as in KAI.
says "$(<out)" '*"hold": *"wider"*'

# --- invalid input: place and expectation, and nothing is written

expects() { # FORMAT TEXT PATTERN
  printf '%s' "$2" >wrong.json
  imports 2 "$1" wrong.json --out never.json
  says "$(<err)" "$3"
  [ ! -e never.json ] || fail "something was written of: $2"
}
for format in kueue kai; do
  expects "$format" '' 'wrong.json: the file is empty (expected a JSON object)*'
  expects "$format" '{"items": [' 'wrong.json: line 1, column 12: the JSON ends too early*'
  expects "$format" '{"kind": "List"' 'wrong.json: line 1, column *: the JSON ends too early*'
  expects "$format" '[1]' '*wrong.json: /0: expected an object, found 1*'
  expects "$format" '{}' '*wrong.json: expected what "kubectl get ... -o json" prints*'
  expects "$format" '{"items": 5}' '*wrong.json: /items: expected an array, found 5*'
  expects "$format" '{"items": [{"metadata": {"name": "a"}}]}' '*wrong.json: /items/0: the object has no "kind"*'
  expects "$format" '{"items": [{"kind": "Queue"}]}' '*/items/0: the object has no name*'
  expects "$format" '{"items": [{"kind": "Pod", "metadata": {"name": "a"}}, {"kind": "Pod", "metadata": {"name": "a"}}]}' \
    '*/items/1: there is more than one Pod a*'
  expects "$format" '{"items": [{"kind": "Pod", "metadata": {"name": "a", "creationTimestamp": "yesterday"}}]}' \
    '*/items/0/metadata/creationTimestamp: expected a time, as in *found "yesterday"*'
  expects "$format" "$(printf '[%.0s' {1..100})" '*arrays and objects are nested too deep*'
done
expects kueue '{"items": []}' '*there is no ClusterQueue (expected the output of: kubectl get clusterqueues*'
expects kai '{"items": []}' '*there is no Queue (expected the output of: kubectl get queues*'
queue='{"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": AMOUNT}]}]}]}}'
for amount in '"4x"' '-1' '"1e9.5"' 'true' '"NaN"'; do
  expects kueue "${queue/AMOUNT/$amount}" '*/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota: expected a*'
done
expects kueue '{"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {}}' '*no ClusterQueue counts any resource*'
expects kai '{"kind": "Queue", "metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"quota": -2}}}}' \
  '*/spec/resources/gpu/quota: expected an amount, or -1 for no bound, found -2*'
expects kai '{"kind": "Queue", "metadata": {"name": "a"}, "spec": {"preemptMinRuntime": "soon"}}' \
  '*/spec/preemptMinRuntime: expected a span of time, as in "5m"*found "soon"*'
head -c 3000 "$objects/kueue.json" >cut.json
imports 2 kueue cut.json
says "$(<err)" 'cut.json: line *, column *: the JSON ends too early*'
imports 2 kueue nowhere.json
if [ -e /dev/full ]; then
  imports 2 kueue "$objects/kueue.json" --out /dev/full
  says "$(<err)" "*can't write /dev/full: No space left on device"
fi

conclude
