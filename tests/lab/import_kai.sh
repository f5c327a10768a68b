#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# A live cluster of KAI: which nodes its pods may have, which gangs are ready, and what a pod asks for.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# imports STDIN: the scenario in `now.json`, the notes in `err`.
imports() {
  "$allot" import kai - --out now.json --force 2>err || fail "import: $(<err)"
  "$allot" check now.json >checked 2>&1 || fail "check: $(<checked)"
  "$allot" decide now.json >decision 2>&1 || fail "decide: $(<decision)"
}
job() { grep "{\"id\": \"$1\"" now.json; }
admits() { says "$(tr -d '\n' <decision)" "*\"admit\": \[*\"$1\"*\"evict\"*"; }
holds() { says "$(tr -d '\n' <decision)" "*\"hold\": \[*\"$1\"*"; }

queue() { # NAME GPUS [MORE]
  printf '{"kind": "Queue", "metadata": {"name": "%s"}, "spec": {%s "resources": {"gpu": {"quota": %s, "limit": -1, "overQuotaWeight": 1}, "cpu": {"quota": -1, "limit": -1}, "memory": {"quota": -1, "limit": -1}}}},\n' \
    "$1" "${3:-}" "$2"
}
node() { # NAME GPUS [LABELS] [SPEC] [STATUS] [ALLOCATABLE]
  printf '{"kind": "Node", "metadata": {"name": "%s", "labels": {%s}}, "spec": {%s}, "status": {%s "allocatable": {"nvidia.com/gpu": "%s"%s}}},\n' \
    "$1" "${3:-}" "${4:-}" "${5:-}" "$2" "${6:-}"
}
group() { # NAME MIN [SPEC] [METADATA]
  printf '{"kind": "PodGroup", "metadata": {"name": "%s", "namespace": "n", "creationTimestamp": "2026-03-30T00:00:00Z"%s}, "spec": {"queue": "q", "minMember": %s%s}},\n' \
    "$1" "${4:-}" "$2" "${3:-}"
}
pod() { # NAME GROUP RESOURCES [SPEC] [STATUS] [ANNOTATIONS] [LABELS] [METADATA]
  printf '{"kind": "Pod", "metadata": {"name": "%s", "namespace": "n", "annotations": {"pod-group-name": "%s"%s}, "labels": {%s}%s}, "spec": {%s "containers": [{"resources": {"requests": {%s}}}]}, "status": {%s}},\n' \
    "$1" "$2" "${6:-}" "${7:-}" "${8:-}" "${4:-}" "$3" "${5:-\"phase\": \"Pending\"}"
}
gpus() { printf '"nvidia.com/gpu": "%s"' "$1"; }
running() { printf '"phase": "Running", "startTime": "2026-03-30T01:00:00Z"'; }
file() { # OBJECTS...
  echo '{"items": ['
  cat
  echo '{"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 200}]}'
}

# --- a gang is ready if as many pods are there, without gates, as it needs

{
  queue q 8
  node n0 8
  group few 4
  pod few-0 few "$(gpus 1)" '' '"phase": "Succeeded"'
  pod few-1 few "$(gpus 1)"
  group gated 2
  pod gated-0 gated "$(gpus 1)" '"schedulingGates": [{"name": "x"}],'
  pod gated-1 gated "$(gpus 1)"
  group elastic 1
  pod elastic-0 elastic "$(gpus 1)" '"schedulingGates": [{"name": "x"}],'
  pod elastic-1 elastic "$(gpus 1)"
  group grows 3
  pod grows-0 grows "$(gpus 1)" '"nodeName": "n0",' "$(running)"
  pod grows-1 grows "$(gpus 1)"
} | file | imports
notes 'PodGroup n/few: left out: it is not ready: 1 pod is there without gates, and it needs 4' \
  'PodGroup n/gated: left out: it is not ready: 1 pod is there without gates, and it needs 2' \
  'PodGroup n/elastic: 1 of its pods has scheduling gates' \
  'PodGroup n/grows: runs with 1 of the 3 pods that it needs' \
  'PodGroup n/grows: 1 of its pods waits, and is not carried over: it is not ready'
says "$(job n/elastic)" '*"pods": 1, "request": {"gpu": 1}*'
says "$(job n/grows)" '*"pods": 1, "request": {"gpu": 1}*"state": "running"*'
admits n/elastic

# --- nodes: selectors, affinities, taints, conditions, cordons

ready='"conditions": [{"type": "Ready", "status": "True"}],'
{
  queue q 8
  node h0 8 '"nvidia.com/gpu.product": "H100", "zone": "a"' '' "$ready"
  node h1 8 '"nvidia.com/gpu.product": "H100", "zone": "b"' '' "$ready"
  node a0 8 '"nvidia.com/gpu.product": "A100", "zone": "a"' '"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]' "$ready"
  node sick 8 '"nvidia.com/gpu.product": "A100"' '"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]' \
    '"conditions": [{"type": "Ready", "status": "Unknown"}],'
  node full 8 '' '' '"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}],'
  node off 8 '' '"unschedulable": true' "$ready"
  group anywhere 1
  pod anywhere-0 anywhere "$(gpus 1)"
  group zone-b 1
  pod zone-b-0 zone-b "$(gpus 4)" '"nodeSelector": {"zone": "b"},'
  group tolerates 1
  pod tolerates-0 tolerates "$(gpus 8)" '"nodeSelector": {"nvidia.com/gpu.product": "A100"}, "tolerations": [{"key": "team", "operator": "Exists"}],'
  group b200 1
  pod b200-0 b200 "$(gpus 8)" '"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["B200"]}]}]}}},'
  group cordoned 1
  pod cordoned-0 cordoned "$(gpus 2)" '"nodeName": "off",' "$(running)"
} | file | imports
notes 'Node sick: left out: its condition is Ready=Unknown' 'Node full: left out: its condition is DiskPressure=True' \
  'Node off: it is cordoned (spec.unschedulable): it has room for the pods that it has, and no others' \
  'Pod n/b200-0: no node of the file may take it'
says "$(<now.json)" '*{"name": "off", "gpus": 2, "pool": *'
says "$(job n/zone-b)" '*"node_pools": \["h1"\]*'
says "$(job n/tolerates)" '*"node_pools": \["a0"\]*'
says "$(job n/b200)" '*"node_pools": \[\]*'
says "$(job n/anywhere)" '*"node_pools": \["h0", "h1"\]*'
says "$(job n/cordoned)" '*"nodes": \["off"\]*'
admits n/zone-b
admits n/tolerates
holds n/b200
says "$(<decision)" '*"id": "n/zone-b"*"nodes": \["h1"\]*'

# --- annotations, as KAI reads them: one that is wrong is a note

{
  queue q 8
  node n0 2 '"nvidia.com/gpu.memory": "81920"'
  node odd 2 '"nvidia.com/gpu.memory": "much"'
  for each in 'a|"gpu-memory": "4000"' 'b|"gpu-fraction": "0.25", "gpu-fraction-num-devices": "2"' 'c|"gpu-memory": "2000mb"' \
    'd|"gpu-fraction": "1.5"' 'e|"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"' 'f|"gpu-fraction": "", "gpu-memory": "100"' \
    'g|"nvidia.com/container.main.gpu-memory.request": "8Gi"' 'h|"gpu-fraction": "half"' 'i|"gpu-fraction": "2.5e-1"'; do
    group "${each%%|*}" 1
    pod "${each%%|*}-0" "${each%%|*}" '"cpu": "100m"' '' '' ", ${each#*|}"
  done
} | file | imports
says "$(job n/a)" '*"request": {}, "gpu_memory_mib": 4000,*'
says "$(job n/b)" '*"devices_per_pod": 2, "request": {"gpu": 0.5}*'
says "$(job n/f)" '*"request": {}, "gpu_memory_mib": 100,*'
says "$(job n/g)" '*"gpu_memory_mib": 8192,*'
says "$(job n/i)" '*"request": {"gpu": 0.25}*'
for each in c d e h; do says "$(job n/$each)" '*"request": {}, "cpu_milli": 100*'; done
notes 'Pod (n/c-0): its annotation gpu-memory "2000mb" is no whole number of MiB above 0: KAI counts no part of a GPU for it' \
  'Pod (n/d-0): its annotation gpu-fraction "1.5" is no number between 0 and 1' \
  'Pod (n/e-0): its annotation gpu-fraction-num-devices "0" is no whole number above 0' \
  'Node odd: its label nvidia.com/gpu.memory "much" is no whole number'

# --- MIG: instances count as their g, and stand on nodes that have them

{
  queue q 8
  node whole 8 '"nvidia.com/gpu.product": "A100"'
  node cut 0 '"nvidia.com/mig.strategy": "mixed"' '' '' ', "cpu": "70", "nvidia.com/mig-1g.5gb": "7", "nvidia.com/mig-3g.20gb": "2", "nvidia.com/mig-1g.10gb.me": "1"'
  group small 1
  pod small-0 small '"nvidia.com/mig-1g.5gb": "2"'
  group large 1
  pod large-0 large '"nvidia.com/mig-3g.20gb": "1"' '"nodeName": "cut",' "$(running)"
  group plain 1
  pod plain-0 plain "$(gpus 1)"
  group me 1
  pod me-0 me '"nvidia.com/mig-1g.10gb.me": "1"'
  group old 1
  pod old-0 old '' '' '' ', "nvidia.com/mig-1g.5gb": "1"'
} | file | imports
says "$(<now.json)" '*{"name": "cut/mig-1g.5gb", "gpus": 7, "cpu_milli": 37692*{"name": "cut/mig-3g.20gb", "gpus": 6,*'
says "$(job n/small)" '*"request": {"gpu": 2}*"node_pools": \["cut/mig-1g.5gb"\]*'
says "$(job n/large)" '*"request": {"gpu": 3}*"nodes": \["cut/mig-3g.20gb"\]*'
says "$(job n/plain)" '*"node_pools": \["whole"\]*'
notes 'Pod (n/me-0): asks for nvidia.com/mig-1g.10gb.me, of which KAI reads no size'
says "$(job n/old)" '*"node_pools": \[\]*'
notes 'Node cut: nvidia.com/mig-1g.10gb.me: KAI reads no size from its name' 'Node cut: has devices of 2 kinds' \
  'Pod (n/old-0): asks for MIG by annotation, which KAI starts no more'

# --- subgroups are pod sets

{
  queue q 16
  node n0 8
  node n1 8
  group sets 9 ', "preemptibility": "semi-preemptible", "subGroups": [{"name": "workers", "minMember": 2}, {"name": "leader", "minMember": 1}]'
  pod sets-0 sets "$(gpus 1)" '' '' '' '"kai.scheduler/subgroup-name": "leader"'
  for i in 1 2 3; do pod sets-$i sets "$(gpus 4)" '' '' '' '"kai.scheduler/subgroup-name": "workers"'; done
  pod sets-4 sets "$(gpus 1)"
  pod sets-5 sets "$(gpus 1)" '' '' '' '"kai.scheduler/subgroup-name": "gone"'
  group wrong 1 ', "subGroups": [{"name": "x", "parent": "nowhere", "minMember": 1}]'
  pod wrong-0 wrong "$(gpus 1)"
  group lacks 1 ', "subGroups": [{"name": "x", "minMember": 1}, {"name": "y", "minMember": 2}]'
  pod lacks-0 lacks "$(gpus 1)" '' '' '' '"kai.scheduler/subgroup-name": "x"'
  pod lacks-1 lacks "$(gpus 1)" '' '' '' '"kai.scheduler/subgroup-name": "y"'
  group unlike 3
  pod unlike-0 unlike "$(gpus 1)"
  pod unlike-1 unlike '"cpu": "2"'
  pod unlike-2 unlike '"cpu": "2"'
} | file | imports
says "$(job n/sets)" '*"pod_sets": \[{"name": "workers", "pods": 3, "min_pods": 2, "request": {"gpu": 4}}, {"name": "leader", "pods": 1, "request": {"gpu": 1}}\],*"preemptible": false, "semi_preemptible": true*'
says "$(job n/unlike)" '*"pod_sets": \[{"name": "1", "pods": 1, "request": {"gpu": 1}}, {"name": "2", "pods": 2, "request": {}, "cpu_milli": 2000}\]*'
notes 'Pod (n/sets-4): is in no subgroup of its PodGroup' 'Pod (n/sets-5): is in a subgroup that its PodGroup does not have, gone' \
  'PodGroup n/wrong: spec.subGroups is not carried over: the parent nowhere of x is not there' \
  'PodGroup n/lacks: left out: it is not ready: of its subgroup y 1 pod is there without gates, and it needs 2'
admits n/sets

# --- what holds nodes: pods of others, GPUs that are shared, more than there is

{
  queue q 8
  queue orphan 8 '"parentQueue": "gone",'
  queue snake 8 '"parentQueue": "snake",'
  node n0 2 '' '' '' ', "cpu": "16", "memory": "64Gi", "pods": "110"'
  node n1 1 '' '' '' ', "cpu": "4"'
  echo '{"kind": "Pod", "metadata": {"name": "db", "namespace": "x"}, "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": "6", "memory": "4Gi"}}}]}, "status": {"phase": "Running"}},'
  echo '{"kind": "Pod", "metadata": {"name": "gone", "namespace": "x"}, "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": "9"}}}]}, "status": {"phase": "Failed"}},'
  echo '{"kind": "Pod", "metadata": {"name": "reserve", "namespace": "x", "labels": {"app": "kai-resource-reservation"}}, "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1", "cpu": "1m"}}}]}, "status": {"phase": "Running"}},'
  group one 1
  pod one-0 one '' '"nodeName": "n0",' "$(running)" ', "gpu-fraction": "0.4"' '"runai-gpu-group": "g7"'
  group two 1
  pod two-0 two '' '"nodeName": "n0",' "$(running)" ', "gpu-fraction": "0.4"' '"runai-gpu-group": "g8"'
  group over 1
  pod over-0 over "$(gpus 2), \"cpu\": \"5\"" '"nodeName": "n1",' "$(running)"
  group lost 1
  pod lost-0 lost "$(gpus 1)" '"nodeName": "n9",' "$(running)"
  group part 1
  pod part-0 part '' '' '' ', "gpu-fraction": "0.7"'
  group leaves 2
  pod leaves-0 leaves '"cpu": "1"' '"nodeName": "n0",' "$(running)" '' '' ', "deletionTimestamp": "2026-03-30T03:00:00Z"'
  pod leaves-1 leaves '"cpu": "1"'
  pod leaves-2 leaves '"cpu": "1"'
} | file | imports
says "$(<now.json)" '*{"name": "n0", "gpus": 2, "cpu_milli": 9999, "memory_mib": 61440, "pod_slots": 108}*{"name": "n1", "gpus": 2, "cpu_milli": 5000}*'
says "$(job n/one)" '*"nodes": \["n0"\], "devices": \[\[0\]\]*'
says "$(job n/two)" '*"nodes": \["n0"\], "devices": \[\[1\]\]*'
says "$(job n/leaves)" '*"pods": 2,*'
says "$(job n/leaves/leaving)" '*"state": "evicting"*'
notes 'Pod (x/db, x/reserve): 2 are in no PodGroup' 'Node n1: its pods hold 2 gpu (of 1), 5000 milli-CPU (of 4000)' \
  'Pod (n/lost-0): runs on n9, which is not among the nodes' 'Queue orphan: left out: its parent gone is not in the file' 'Queue snake: left out: its parents form a cycle'
says "$(<decision)" '*"evict": \[*{"id": "n/*", *"for": "n/part", "reason": "consolidate"}*'

# --- what is not carried over is told, with its effect; priorities

{
  queue q 8
  node n0 8 '' '' '' ', "rdma/hca": "1"'
  node n1 8
  group told 1 ', "priorityClassName": "high", "preemptionDelay": "5m", "minSubGroup": 2, "odd": 1'
  pod told-0 told "$(gpus 1), \"rdma/hca\": \"1\"" '"topologySpreadConstraints": [{}], "resourceClaims": [{"name": "x"}], "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}, "volumes": [{"persistentVolumeClaim": {"claimName": "c"}}], "odd": true,'
  group backoff 1 ', "schedulingBackoff": 1' ''
  pod backoff-0 backoff "$(gpus 1)"
  group unknown 1 ', "priorityClassName": "nobody"'
  pod unknown-0 unknown "$(gpus 1)" '' '"phase": "Unknown"'
} | file | imports
says "$(job n/told)" '*"node_pools": \["n0"\], "priority": 200, "preemptible": false, "class": "high"*'
notes 'PodGroup n/told: spec.preemptionDelay is not carried over: it may have others evicted at once' \
  'PodGroup n/told: minSubGroup is not carried over: it needs all of its subgroups' 'PodGroup n/told: spec.odd is not carried over' \
  'Pod (n/told-0): spec.topologySpreadConstraints is not carried over' 'Pod (n/told-0): spec.resourceClaims is not carried over' \
  'Pod (n/told-0): spec.affinity.podAntiAffinity is not carried over' 'Pod (n/told-0): where their volumes are is not carried over' \
  'Pod (n/told-0): spec.odd is not carried over' 'Pod (n/told-0): asks for rdma/hca' \
  'Pod (n/unknown-0): its status.phase is Unknown' 'PodGroup n/unknown: its priority class nobody is not in the file: the priority is 50'

conclude
