#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# A Kueue cluster as a scenario: what of its objects changes what Kueue decides is carried over, or noted with
# its effect.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# Objects are made of the members of their spec (and status), without braces.
queue() { # NAME SPEC: a ClusterQueue, and a LocalQueue of its name in the namespace n
  printf '{"kind": "ClusterQueue", "metadata": {"name": "%s"}, "spec": {%s}}\n' "$1" "$2"
  printf '{"kind": "LocalQueue", "metadata": {"namespace": "n", "name": "%s"}, "spec": {"clusterQueue": "%s"}}\n' "$1" "$1"
}
gpus() { # FLAVOR=AMOUNT...: namespaceSelector and resourceGroups of GPUs
  local f flavors=
  for f in "$@"; do
    flavors+=${flavors:+, }'{"name": "'${f%=*}'", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": '${f#*=}'}]}'
  done
  printf '"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [%s]}]' "$flavors"
}
flavor() { # NAME SPEC
  printf '{"kind": "ResourceFlavor", "metadata": {"name": "%s"}, "spec": {%s}}\n' "$1" "$2"
}
minute=0
work() { # NAME QUEUE PODSETS [STATUS [SPEC [METADATA]]]
  minute=$((minute + 1))
  printf '{"kind": "Workload", "metadata": {"namespace": "n", "name": "%s", "creationTimestamp": "2026-05-01T00:%02d:00Z"%s},\n' \
    "$1" "$minute" "${6:+, $6}"
  printf ' "spec": {"queueName": "%s", "podSets": [%s]%s}, "status": {%s}}\n' "$2" "$3" "${5:+, $5}" "${4-}"
}
pods() { # NAME COUNT GPUS [PODSPEC [PODSET]]
  printf '{"name": "%s", "count": %s, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": %s}}}]%s}}%s}' \
    "$1" "$2" "$3" "${4:+, $4}" "${5:+, $5}"
}
condition() { # TYPE STATUS [REASON]
  printf '{"type": "%s", "status": "%s", "reason": "%s", "lastTransitionTime": "2026-05-01T00:30:00Z"}' "$1" "$2" "${3-}"
}
admitted() { # QUEUE ASSIGNMENTS [CONDITION]
  printf '"admission": {"clusterQueue": "%s", "podSetAssignments": [%s]}, "conditions": [%s%s]' \
    "$1" "$2" "$(condition QuotaReserved True)" "${3:+, $3}"
}
assigned() { # SET COUNT FLAVOR GPUS
  printf '{"name": "%s", "count": %s, "flavors": {"nvidia.com/gpu": "%s"}, "resourceUsage": {"nvidia.com/gpu": "%s"}}' "$@"
}

# becomes [OPTION...]: imports the objects on standard input; `jobs` are the jobs' lines then, `out` the
# scenario, `err` the notes.
becomes() {
  printf '[' >objects.json
  sed '2,$s/^{"kind"/,&/' >>objects.json
  printf ']' >>objects.json
  "$allot" import kueue objects.json "$@" >out 2>err || fail "import: $(<err)"
  "$allot" check out >checked 2>&1 || fail "check: $(<checked)"
  jobs=$(sed -n 's/^ *\({"id".*}\),*$/\1/p' out)
}
# jobs_are LINE-PATTERN...: these jobs and no others, each with a pattern.
jobs_are() {
  local n=0 line
  while read -r line; do
    [ -n "$line" ] || continue
    n=$((n + 1))
    says "$line" "${!n-(no more jobs)}"
  done <<<"$jobs"
  [ "$n" -eq $# ] || fail "$n jobs, expected $#: $jobs"
}
silent() {
  if grep -qF "$1" err; then fail "there is a note: $1: $(<err)"; fi
}
# admits ID...: what allot decide starts at once, in this order.
admits() {
  "$allot" decide --rounds 9 out >decision 2>&1 || fail "decide: $(<decision)"
  local ids
  ids=$(sed -n '/"admit"/,/"evict"/s/^ *{"id": "\([^"]*\)".*/\1/p' decision | tr '\n' ' ')
  [ "$ids" = "${*:+$* }" ] || fail "decide admits $ids, expected $*"
}

# --- flavors: selectors and affinities count by the keys that a flavor has

both() { flavor reserved '"nodeLabels": {"tier": "reserved"}'; flavor zonal '"nodeLabels": {"zone": "z1", "gen": "7"}'; }
affinity() { # EXPRESSIONS...: the terms
  local t all=
  for t in "$@"; do all+=${all:+, }'{"matchExpressions": ['$t']}'; done
  printf '"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [%s]}}}' "$all"
}
becomes < <(
  both
  queue q "$(gpus reserved=8 zonal=1)"
  work key-of-one q "$(pods m 1 4 '"nodeSelector": {"zone": "z1"}')"
  work other-zone q "$(pods m 1 1 '"nodeSelector": {"zone": "z2"}')"
  work no-such-key q "$(pods m 1 1 '"nodeSelector": {"disk": "ssd"}')"
  work neither q "$(pods m 1 1 '"nodeSelector": {"tier": "spot", "zone": "z9"}')"
  work newer q "$(pods m 1 1 "$(affinity '{"key": "gen", "operator": "Gt", "values": ["6"]}, {"key": "tier", "operator": "In", "values": ["spot"]}')")"
  work either q "$(pods m 1 1 "$(affinity '{"key": "gen", "operator": "Lt", "values": ["6"]}' '{"key": "tier", "operator": "Exists"}')")"
  work rather q "$(pods m 1 1 '"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["spot"]}]}}]}}')"
)
jobs_are '*"n/key-of-one"*"request": {"gpu": 4}, "flavors": \[{"resources": \["gpu"\], "flavors": \["reserved", "zonal"\]}\]*' \
  '*"n/other-zone"*"flavors": \["reserved"\]*' '*"n/no-such-key"*"flavors": \["reserved", "zonal"\]*' \
  '*"n/neither"*"(inadmissible)": 1*' '*"n/newer"*"flavors": \["zonal"\]*' '*"n/either"*"flavors": \["reserved", "zonal"\]*' \
  '*"n/rather"*"flavors": \["reserved", "zonal"\]*'
notes 'Workload n/neither: is not admitted: no flavor for nvidia.com/gpu admits its pod set m: reserved: its label tier is reserved, not spot; zonal: its label zone is z1, not z9'
silent 'n/rather:'

# A queue with one flavor that does not match admits nothing either.
becomes < <(
  flavor a '"nodeLabels": {"gpu": "a100"}'
  queue q "$(gpus a=8)"
  work h100 q "$(pods m 1 1 '"nodeSelector": {"gpu": "h100"}')"
  work a100 q "$(pods m 1 1 '"nodeSelector": {"gpu": "a100"}')"
)
admits n/a100

# Taints: the pods' tolerations, or the flavor's own. Those that only discourage keep nobody away.
becomes < <(
  flavor dear '"nodeTaints": [{"key": "dear", "value": "yes", "effect": "NoSchedule"}]'
  flavor own '"nodeTaints": [{"key": "x", "effect": "NoExecute"}], "tolerations": [{"key": "x", "operator": "Exists"}]'
  flavor soft '"nodeTaints": [{"key": "y", "effect": "PreferNoSchedule"}]'
  queue q "$(gpus dear=8 own=8 soft=8)"
  work plain q "$(pods m 1 1)"
  work equal q "$(pods m 1 1 '"tolerations": [{"key": "dear", "value": "yes", "effect": "NoSchedule"}]')"
  work other q "$(pods m 1 1 '"tolerations": [{"key": "dear", "value": "no"}]')"
  work all q "$(pods m 1 1 '"tolerations": [{"operator": "Exists"}]')"
)
jobs_are '*"n/plain"*"flavors": \["own", "soft"\]*' '*"n/equal"*"flavors": \["dear", "own", "soft"\]*' \
  '*"n/other"*"flavors": \["own", "soft"\]*' '*"n/all"*"flavors": \["dear", "own", "soft"\]*'

# Topologies: flavors that have one are for pods that ask for one, and only with its levels; not in a queue that
# has no others.
racks='{"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}}'
becomes < <(
  flavor tas '"topologyName": "t"'
  flavor any ''
  echo "$racks"
  queue both "$(gpus tas=8 any=8)"
  queue only "$(gpus tas=8)"
  work plain both "$(pods m 1 1)"
  work rack both "$(pods m 1 1 '' '"topologyRequest": {"required": "rack"}')"
  work block both "$(pods m 1 1 '' '"topologyRequest": {"preferred": "block"}')"
  work implied only "$(pods m 1 1)"
  # What Kueue writes for every Job whose pods have an index.
  work index both "$(pods m 1 1 '' '"topologyRequest": {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}')"
)
jobs_are '*"n/plain"*"flavors": \["any"\]*' '*"n/rack"*"flavors": \["tas"\]*' '*"n/block"*"(inadmissible)": 1*' \
  '*"n/implied"*"request": {"gpu": 1}, "flavors": \[{"resources": \["gpu"\], "flavors": \["tas"\]}\]*' '*"n/index"*"flavors": \["any"\]*'
notes 'Workload n/rack: spec.podSets[].topologyRequest.required is not carried over: its pods may stand anywhere here' \
  'Workload n/block: is not admitted: no flavor for nvidia.com/gpu admits its pod set m: tas: its topology t has no level block; any: it has no topology, and its pods ask for one'

# A flavor that is not in the file admits everything.
becomes < <(
  flavor a '"nodeLabels": {"gpu": "a100"}'
  queue q "$(gpus a=8 b=8)"
  work w q "$(pods m 1 1 '"nodeSelector": {"gpu": "h100"}')"
)
jobs_are '*"flavors": \["b"\]*'
notes 'ResourceFlavor b: it is not in the file: taken as one without labels and taints'

# --- requests that no queue covers

uncovered() {
  local mig='{"resources": {"requests": {"nvidia.com/gpu": "1", "nvidia.com/mig-1g.5gb": "1", "example.com/zero": "0"}}}'
  queue strict "\"queueingStrategy\": \"StrictFIFO\", $(gpus f=8)"
  queue effort "$(gpus f=8)"
  for q in strict effort; do
    work "mig-$q" $q '{"name": "m", "count": 2, "template": {"spec": {"containers": ['"$mig"']}}}'
    work "next-$q" $q "$(pods m 1 1)"
  done
}
becomes < <(uncovered)
# As in Kueue it is in the way of those behind it, if its queue is strict.
admits n/next-effort
notes 'Workload n/mig-strict: is not admitted: asks for nvidia.com/mig-1g.5gb, which its ClusterQueue does not cover'
silent example.com/zero
minute=0
becomes --quota-check-strategy IgnoreUndeclared < <(uncovered)
admits n/mig-strict n/mig-effort n/next-strict n/next-effort
notes 'Workload n/mig-effort: asks for nvidia.com/mig-1g.5gb, which its ClusterQueue does not cover: left out'
exits 2 "$allot" import kueue objects.json --quota-check-strategy Never
exits 2 "$allot" import kai objects.json --quota-check-strategy BlockUndeclared
says "$(<err)" '*--quota-check-strategy is an option of the format kueue, not of kai*'
# Nor does Kueue admit pods that ask for more than their limits.
becomes < <(
  queue q "$(gpus f=8)"
  work w q '{"name": "m", "count": 1, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "1"}}}]}}}'
)
admits
notes 'Workload n/w: is not admitted: a container of its pod set m requests more nvidia.com/gpu than its limit'
# Where there is no room to say so in the scenario, they are left out.
becomes < <(
  queue q "$(gpus 1=8 2=8 3=8 4=8 5=8 6=8 7=8 8=8), \"queueingStrategy\": \"StrictFIFO\""
  work w q '{"name": "m", "count": 1, "template": {"spec": {"containers": [{"resources": {"limits": {"memory": "1Gi"}}}]}}}'
)
jobs_are
notes 'Workload n/w: left out: Kueue does not admit it: asks for memory' 'Workload n/w: there it is in the way of those behind it'

# --- pod sets

# Each with its own flavors, counts and minimum.
two() { # RESOURCES OF HEAD, OF WORKERS
  printf '{"name": "head", "count": 1, "template": {"spec": {"nodeSelector": {"pool": "cpu"}, "containers": [{"resources": {"requests": {%s}}}]}}},' "$1"
  printf '{"name": "workers", "count": 3, "minCount": 1, "template": {"spec": {"nodeSelector": {"pool": "gpu"}, "containers": [{"resources": {"requests": {%s}}}]}}}' "$2"
}
pools() {
  flavor cpu '"nodeLabels": {"pool": "cpu"}'
  flavor gpu '"nodeLabels": {"pool": "gpu"}'
  queue q '"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [
    {"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": 8}, {"name": "nvidia.com/gpu", "nominalQuota": 0}]},
    {"name": "gpu", "resources": [{"name": "cpu", "nominalQuota": 16}, {"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}]'
}
becomes < <(pools; work ray q "$(two '"cpu": 4' '"cpu": 8, "nvidia.com/gpu": 4')")
jobs_are '*"pod_sets": \[{"name": "head", "pods": 1, "request": {"cpu": 4}, "flavors": \[{"resources": \["cpu"\], "flavors": \["cpu"\]}\]}, {"name": "workers", "pods": 3, "min_pods": 1, "request": {"cpu": 8, "gpu": 4}, "flavors": \[{"resources": \["cpu", "gpu"\], "flavors": \["gpu"\]}\]}\], "priority": 0*'
admits n/ray
says "$(<decision)" '*"name": "workers", "pods": 2, "flavors": {"cpu": "gpu", "gpu": "gpu"}*'
# It runs as it was assigned.
becomes < <(
  pools
  work ray q "$(two '"cpu": 4' '"cpu": 8, "nvidia.com/gpu": 4')" "$(admitted q '{"name": "head", "count": 1, "flavors": {"cpu": "cpu"}, "resourceUsage": {"cpu": "4"}},
    {"name": "workers", "count": 2, "flavors": {"cpu": "gpu", "nvidia.com/gpu": "gpu"}, "resourceUsage": {"cpu": "16", "nvidia.com/gpu": "8"}}')"
  work next q "$(pods m 1 1 '"nodeSelector": {"pool": "gpu"}')"
)
jobs_are '*"pod_sets": \[{"name": "head", "pods": 1, "request": {"cpu/cpu": 4}}, {"name": "workers", "pods": 3, "min_pods": 1, "request": {"gpu/cpu": 8, "gpu/gpu": 4}}\], "running_pods": 3, *"state": "running"*' '*'
admits
silent 'n/ray: runs with'

# Nine sets with one flavor each, which the scenario can say; nine that choose are one request, eight are not.
many() { # SETS NODESELECTOR
  local i all=
  for ((i = 1; i <= $1; ++i)); do all+=${all:+, }$(pods s$i $i 1 "$2"); done
  printf '%s' "$all"
}
becomes < <(
  both
  queue q "$(gpus reserved=8 zonal=8)"
  work single q "$(many 9 '"nodeSelector": {"zone": "z2"}')"
  work choosing q "$(many 9 '')"
  work eight q "$(many 8 '')"
)
jobs_are '*"n/single"*{"name": "s9", "pods": 9, "request": {"reserved/gpu": 1}}\], "priority"*' \
  '*"n/choosing"*"total": true, "request": {"gpu": 45}, "flavors": *' \
  '*"n/eight"*{"name": "s8", "pods": 8, "request": {"gpu": 1}, "flavors": \[{"resources": \["gpu"\], "flavors": \["reserved", "zonal"\]}\]}\], "priority"*'
notes 'Workload n/choosing: its pod sets, or the flavors that they choose, are too many to be told apart: they are one request'

# More sets than a job has are one request, too.
becomes < <(
  queue q "$(gpus f=800)"
  work waits q "$(many 17 '')"
  work runs q "$(many 17 '')" "$(admitted q "$(for ((i = 1; i <= 17; ++i)); do
    [ "$i" -eq 1 ] || printf ', '
    assigned s$i $i f $i
  done)")"
)
jobs_are '*"n/waits"*"total": true, "request": {"gpu": 153}, *' '*"n/runs"*"total": true, "request": {"gpu": 153}, *"running"*'

# Sets of a group get flavors that admit all of them.
becomes < <(
  flavor a '"topologyName": "t", "nodeLabels": {"gpu": "a"}'
  flavor b '"topologyName": "t", "nodeLabels": {"gpu": "b"}'
  queue q "$(gpus a=8 b=8)"
  work w q "$(pods l 1 1 '' '"topologyRequest": {"podSetGroupName": "g"}'), $(pods w 2 1 '"nodeSelector": {"gpu": "b"}' '"topologyRequest": {"podSetGroupName": "g"}')"
  work v q "$(pods l 1 1 '' '"topologyRequest": {"podSetGroupName": "g"}'), $(pods w 2 1 '' '"topologyRequest": {"podSetGroupName": "g"}')"
)
jobs_are '*{"name": "l", "pods": 1, "request": {"gpu": 1}, "flavors": \[{"resources": \["gpu"\], "flavors": \["b"\]}\]}, {"name": "w"*' '*'
notes 'Workload n/v: its pod sets of the group g choose their flavors each for itself; there they get the same'
silent 'n/w: its pod sets of the group'

# Reclaimable pods are not held any more, of those that run and of those that wait.
becomes < <(
  queue q "$(gpus f=10)"
  work half q "$(pods m 10 1)" "$(admitted q "$(assigned m 10 f 10)"), \"reclaimablePods\": [{\"name\": \"m\", \"count\": 6}]"
  work next q "$(pods m 6 1)"
  work again q "$(pods a 3 1), $(pods b 4 1)" '"reclaimablePods": [{"name": "a", "count": 1}, {"name": "b", "count": 4}]'
  work over q "$(pods m 2 1)" "$(admitted q "$(assigned m 2 f 2)"), \"reclaimablePods\": [{\"name\": \"m\", \"count\": 2}]"
  work part q "$(pods m 4 1 '' '"minCount": 1')" "$(admitted q "$(assigned m 2 f 2)"), \"reclaimablePods\": [{\"name\": \"m\", \"count\": 1}]"
)
jobs_are '*"n/half"*"pods": 4, "request": {"gpu": 1}*"running"*' '*"n/next"*"pods": 6, *' '*"n/again"*"pods": 2, "request": {"gpu": 1},*' \
  '*"n/part"*"pods": 3, "min_pods": 1, "request": {"gpu": 1}, "running_pods": 2,*'
notes 'Workload n/over: left out: it holds nothing: all of its pods are reclaimable'

# What Kueue has found that pods ask for counts in place of their template.
becomes < <(
  queue q "$(gpus f=10)"
  work w q "$(pods m 4 1)" '"resourceRequests": [{"name": "m", "resources": {"nvidia.com/gpu": "8", "pods": "4"}}]'
)
jobs_are '*"pods": 4, "request": {"gpu": 2}*'

# --- what is in its queue

becomes < <(
  queue q "$(gpus f=8)"
  work later q "$(pods m 1 1)" '"requeueState": {"count": 1, "requeueAt": "2026-05-01T02:00:00Z"}'
  work earlier q "$(pods m 1 1)" '"requeueState": {"count": 1, "requeueAt": "2026-05-01T00:20:00Z"}'
  work backs-off q "$(pods m 1 1)" "\"requeueState\": {\"requeueAt\": \"2026-05-01T02:00:00Z\"}, \"conditions\": [$(condition Requeued False PodsReadyTimeout)]"
  work not-requeued q "$(pods m 1 1)" "\"conditions\": [$(condition Requeued False Deactivated)]"
  work requeued q "$(pods m 1 1)" "\"conditions\": [$(condition Requeued True), $(condition Evicted True PodsReadyTimeout), $(condition QuotaReserved False)]"
  work inactive q "$(pods m 1 1)" '' '"active": false'
  work gated q "$(pods m 1 1)" '' '' '"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/gate"}'
  work retry q "$(pods m 1 1)" '"admissionChecks": [{"name": "c", "state": "Retry", "lastTransitionTime": "2026-05-01T00:30:00Z", "requeueAfterSeconds": 60}]'
  work rejected q "$(pods m 1 1)" '"admissionChecks": [{"name": "c", "state": "Rejected"}]'
  work done q "$(pods m 1 1)" "\"conditions\": [$(condition Finished True)]"
  work lost gone "$(pods m 1 1)"
)
jobs_are '*"n/later"*"ready_s": 7140,*' '*"n/earlier"*"submit_s": 60, "duration_s"*' '*"n/backs-off"*"ready_s": 7140,*' \
  '*"n/requeued"*"submit_s": 1740, "duration_s"*' '*"n/retry"*"ready_s": 1800,*' '*"n/rejected"*"(inadmissible)": 1*'
admits n/earlier n/requeued
notes 'Workload n/not-requeued: left out: its condition Requeued is False (Deactivated)' 'Workload n/inactive: left out: spec.active is false' \
  'Workload n/gated: left out: it is gated by example.com/gate' 'Workload n/rejected: is not admitted: its admission check c says Rejected' \
  'Workload: 1 that is finished is left out' 'Workload n/lost: left out: the LocalQueue n/gone is not in the file'

# What runs, and what goes.
minute=0
becomes < <(
  queue q "$(gpus f=80)"
  work runs q "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)"), \"admissionChecks\": [{\"name\": \"c\", \"state\": \"Ready\"}]"
  work waits q "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)"), \"admissionChecks\": [{\"name\": \"c\", \"state\": \"Pending\"}]"
  work goes q "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)" "$(condition Evicted True PodsReadyTimeout)"), \"requeueState\": {\"requeueAt\": \"2026-05-01T02:00:00Z\"}"
  work inactive q "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)")" '"active": false'
  work rejected q "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)"), \"admissionChecks\": [{\"name\": \"c\", \"state\": \"Rejected\"}]"
  work limited q "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)"), \"accumulatedPastExecutionTimeSeconds\": 600" '"maximumExecutionTimeSeconds": 3600'
)
jobs_are '*"n/runs"*"running"*' '*"n/waits"*"running"*' '*"n/goes"*"submit_s": 1740, "ready_s": 7140,*"evicting"*' '*"n/inactive"*"ready_s": 31557*"evicting"*' '*"n/rejected"*"evicting"*' \
  '*"n/limited"*"duration_s": 3000, "estimate_s": 3000,*"running"*'
notes 'Workload n/waits: runs here; there it holds its quota and waits for 1 admission check (c)' \
  'Workload n/inactive: is being evicted and does not come back: spec.active is false' \
  'Workload n/rejected: is being evicted and does not come back: its admission check c says Rejected'
silent n/goes

# How long it will run, as its annotation says.
minute=0
estimate() { printf '"annotations": {"allot.dev/estimate-seconds": "%s"}' "$1"; }
becomes < <(
  queue q "$(gpus f=80)"
  work told q "$(pods m 1 1)" '' '' "$(estimate 7200)"
  work limited q "$(pods m 1 1)" '' '"maximumExecutionTimeSeconds": 60' "$(estimate 7200)"
  work wrong q "$(pods m 1 1)" '' '' "$(estimate 2h)"
)
jobs_are '*"n/told"*"duration_s": 7200, "estimate_s": 7200*' '*"n/limited"*"duration_s": 60, "estimate_s": 60*' \
  '*"n/wrong"*"duration_s": 3600}'
notes 'Workload n/wrong: the annotation allot.dev/estimate-seconds is left out: expected whole seconds, 1 to 2147483647, found "2h"'

# Queues that are stopped, or not active.
minute=0
stopped() { # POLICY OF LOCALQUEUE, OF CLUSTERQUEUE
  echo '{"kind": "LocalQueue", "metadata": {"namespace": "n", "name": "l"}, "spec": {"clusterQueue": "q", "stopPolicy": "'"$1"'"}}'
  queue q "$(gpus f=8), \"stopPolicy\": \"$2\""
  work runs l "$(pods m 1 1)" "$(admitted q "$(assigned m 1 f 1)")"
  work waits l "$(pods m 1 1)"
}
becomes < <(stopped None None)
jobs_are '*"n/runs"*"running"*' '*"n/waits"*'
silent n/waits
for policies in 'None Hold' 'Hold None'; do
  # shellcheck disable=SC2086
  becomes < <(stopped $policies)
  jobs_are '*"n/runs"*"running"*'
  notes 'Workload n/waits: left out: it waits in a ' 'Workload n/runs: runs; once evicted it is pending here, and not there: it is in a '
done
for policies in 'None HoldAndDrain' 'HoldAndDrain None'; do
  # shellcheck disable=SC2086
  becomes < <(stopped $policies)
  jobs_are '*"n/runs"*"evicting"*'
  admits
  says "$(tr -d '\n' <out)" '*"events": \[ *{"at_s": 1740, "cancel": {"job": "n/runs"}} *\]*'
  notes 'Workload n/waits: left out: it waits in a ' 'Workload n/runs: is being evicted and does not come back: it is in a '
done
becomes < <(
  echo '{"kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {'"$(gpus f=8)"'}, "status": {"conditions": ['"$(condition Active False FlavorNotFound)"']}}'
  work waits q "$(pods m 1 1)"
)
jobs_are
notes 'Workload n/waits: left out: it waits in the ClusterQueue q: it is not Active (FlavorNotFound)'

# Nothing is admitted below a cycle of cohorts, and there is a scenario all the same.
becomes < <(
  for c in 'x y' 'y x' 'z x'; do
    echo '{"kind": "Cohort", "metadata": {"name": "'"${c% *}"'"}, "spec": {"parentName": "'"${c#* }"'"}}'
  done
  queue a "$(gpus f=8), \"cohortName\": \"z\""
  queue b "$(gpus f=8)"
  work in a "$(pods m 1 1)"
  work beside b "$(pods m 1 1)"
)
jobs_are '*"n/beside"*'
notes 'Workload n/in: left out: it waits in the ClusterQueue a: its cohorts form a cycle' 'Cohort x: its parent y is left out, because they form a cycle'

# Namespaces: {} selects all, nothing selects none; labels are those of the Namespace, which has its name as one.
becomes < <(
  q() { queue "$1" "$(gpus f=8 | sed "s|\"namespaceSelector\": {}, |$2|")"; work "$1" "$1" "$(pods m 1 1)"; }
  q all '"namespaceSelector": {}, '
  q none ''
  q named '"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "n"}}, '
  q other '"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["n"]}]}, '
  q unknown '"namespaceSelector": {"matchLabels": {"team": "a"}}, '
)
jobs_are '*"n/all"*' '*"n/named"*' '*"n/unknown"*'
notes 'Workload n/none: left out: the ClusterQueue none selects no workloads of the namespace n, nor of any other: it has no spec.namespaceSelector' \
  'Workload n/other: left out: the ClusterQueue other selects no workloads of the namespace n' \
  'ClusterQueue unknown: spec.namespaceSelector asks for labels of the namespace n, which is not in the file: taken as selected'
becomes < <(
  echo '{"kind": "Namespace", "metadata": {"name": "n", "labels": {"team": "b"}}}'
  for team in a b; do
    queue $team "$(gpus f=8 | sed "s|{}|{\"matchLabels\": {\"team\": \"$team\"}}|")"
    work $team $team "$(pods m 1 1)"
  done
)
jobs_are '*"n/b"*'
silent 'Namespace:'

# --- settings, in the words of v1beta1 and v1beta2

becomes < <(
  fungible() { queue "$1" "$(gpus f=8), \"flavorFungibility\": {$2}"; }
  fungible old '"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"'
  fungible new '"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch", "preference": "BorrowingOverPreemption"'
  fungible next '"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "PreemptionOverBorrowing"'
  fungible odd '"preference": "Neither"'
  for w in 0 '"0.5"' '"1500m"' '"1n"' 2; do
    queue "w${w//[^0-9n]/}" "$(gpus f=8), \"cohortName\": \"c\", \"fairSharing\": {\"weight\": $w}"
  done
)
says "$(tr -d '\n' <out)" '*"name": "new", *"flavor_choice": {"when_can_borrow": "borrow", "when_can_preempt": "preempt", "preference": "borrowing_over_preemption"}}*"name": "next", *"flavor_choice": {"when_can_borrow": "try_next", "when_can_preempt": "try_next", "preference": "preemption_over_borrowing"}}*"name": "old", *"flavor_choice": {"when_can_borrow": "borrow", "when_can_preempt": "preempt"}}*'
for w in '"w0", *"weight": 0}' '"w05", *"weight": 0.5}' '"w1500", *"weight": 1.5}' '"w1n", *"weight": 0.001}' '"w2", *"weight": 2}'; do
  says "$(grep "${w%%,*}" out)" "*{\"name\": $w*"
done
notes 'ClusterQueue odd: spec.flavorFungibility.preference: "Neither" is not carried over' 'ClusterQueue w1n: spec.fairSharing.weight: "1n" is taken as 0.001' \
  'fair sharing is configured in ClusterQueue w0: the policy is kueue_fair'

# With that preference a quota takes its own back rather than borrow another flavor (kubernetes-sigs/kueue#9462).
lender() { # PREFERENCE
  local rules='"cohortName": "c", "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}, "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "'$1'"}'
  queue borrower "$(gpus f1=1 f2=0), $rules"
  queue owner "$(gpus f1=1 f2=0), $rules"
  queue third "$(gpus f1=0 f2=2), $rules"
  work a1 borrower "$(pods m 1 1)" "$(admitted borrower "$(assigned m 1 f1 1)")"
  work a2 borrower "$(pods m 1 1)" "$(admitted borrower "$(assigned m 1 f1 1)")"
  work b1 owner "$(pods m 1 1)"
}
minute=0
becomes < <(lender BorrowingOverPreemption)
admits n/b1
says "$(<decision)" '*"admit": \[*"n/b1"*"flavors": {"gpu": "f2"}*"evict": \[\]*'
becomes < <(lender PreemptionOverBorrowing)
admits n/b1
says "$(<decision)" '*"admit": \[*"n/b1"*"flavors": {"gpu": "f1"}*"evict": \[*"id": "n/a*"for": "n/b1"*'

# Priorities: the number, else that of the class of that kind.
minute=0
becomes < <(
  echo '{"kind": "WorkloadPriorityClass", "metadata": {"name": "c"}, "value": 5}'
  echo '{"kind": "PriorityClass", "metadata": {"name": "c"}, "value": -2147483648}'
  queue q "$(gpus f=8)"
  work number q "$(pods m 1 1)" '' '"priority": 7, "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "c"}'
  work named q "$(pods m 1 1)" '' '"priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "c"}'
  work of-pods q "$(pods m 1 1)" '' '"priorityClassName": "c", "priorityClassSource": "scheduling.k8s.io/priorityclass"'
)
jobs_are '*"n/number"*"priority": 7,*' '*"n/named"*"priority": 5,*' '*"n/of-pods"*"priority": -2147483647,*'

notes 'Workload n/of-pods: the priority -2147483648 is taken as -2147483647'

# --- the whole range of quantities

minute=0
for amount in '"1Ei"' '"9E"' 9223372036854775807 '"1e99"'; do
  becomes < <(
    queue q "$(gpus "f=$amount"), \"cohort\": \"c\""
    queue r "$(gpus "f=$amount" | sed 's/}\]}/, "borrowingLimit": "9E", "lendingLimit": "1Ei"&/'), \"cohort\": \"c\""
    work w q "$(pods m 3 1)"
  )
  admits n/w
done
becomes < <(
  queue q '"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": [
    {"name": "cpu", "nominalQuota": "2500m"}, {"name": "memory", "nominalQuota": "8Ei"}]}]}]'
  work w q '{"name": "m", "count": 2, "template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "0.1e1", "memory": "1Pi"}}},
    {"resources": {"requests": {"cpu": "249999u"}}}]}}}'
)
jobs_are '*"request": {"cpu": 1.25, "memory_mib": 1073741824}*'
admits n/w
# Units of bytes in which what is asked for can be said.
for amounts in '9E 3Ei _gib 3221225472' '9E 100M _mib 95.368' '1Ti 100M _kb 100000' '8Ei 128Mi _mib 128'; do
  read -r nominal request unit units <<<"$amounts"
  for resource in memory ephemeral-storage hugepages-2Mi; do
    becomes < <(
      queue q '"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["'$resource'"], "flavors": [{"name": "f", "resources": [
        {"name": "'$resource'", "nominalQuota": "'"$nominal"'"}]}]}]'
      for w in 1 2 3; do
        work w$w q '{"name": "m", "count": 1, "template": {"spec": {"containers": [{"resources": {"limits": {"'$resource'": "'"$request"'"}}}]}}}'
      done
    )
    says "$jobs" "*\"request\": {\"$resource$unit\": $units}*"
    # Two of 3 Ei are in 9 E.
    if [ $unit = _gib ]; then admits n/w1 n/w2; else admits n/w1 n/w2 n/w3; fi
  done
done
# What a pod asks for as a whole counts in place of what its containers do.
becomes < <(
  queue q '"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [{"name": "f", "resources": [
    {"name": "cpu", "nominalQuota": 9}, {"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}]'
  work w q "$(pods m 1 2 '"resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}')"
)
jobs_are '*"request": {"cpu": 4, "gpu": 2}*'

# --- what can't be carried over is noted with its effect, and so is what is not known

becomes < <(
  echo '{"kind": "AdmissionCheck", "metadata": {"name": "c"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}}'
  queue q "$(gpus f=8), \"admissionChecksStrategy\": {\"admissionChecks\": [{\"name\": \"c\"}]}, \"admissionScope\": {\"admissionMode\": \"UsageBasedAdmissionFairSharing\"}, \"newField\": {\"a\": 1}"
  work gated q "$(pods m 1 1 '"resourceClaims": [{"name": "r"}], "schedulingGates": [{"name": "g"}], "hostNetwork": true')" '' '"preemptionGates": [{"name": "g"}]'
  work open q "$(pods m 1 1)" '"preemptionGates": [{"name": "g", "position": "Open"}]' '"preemptionGates": [{"name": "g"}]'
  work slice q "$(pods m 1 1)" '' '' '"annotations": {"kueue.x-k8s.io/workload-slice-replacement-for": "n/gated", "kueue.x-k8s.io/priority-boost": "5"}'
  work parts q "$(pods m 8 1 '' '"topologyRequest": {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4, "subGroupCount": 2}')"
)
for text in 'ClusterQueue q: spec.admissionChecksStrategy is not carried over: a workload that gets quota here starts at once' \
  'ClusterQueue q: its workloads run in other clusters (MultiKueue, AdmissionCheck c)' \
  'ClusterQueue q: spec.admissionScope is not carried over: ' 'ClusterQueue q: spec.newField is not carried over: this program does not know it' \
  'Workload n/gated: spec.podSets[].template.spec.resourceClaims is not carried over: the devices' \
  'Workload n/gated: spec.preemptionGates is not carried over: ' \
  'Workload n/slice: it replaces n/gated: ' 'Workload n/slice: the annotation kueue.x-k8s.io/priority-boost is not carried over' \
  'Workload n/parts: spec.podSets[].topologyRequest.podSetSliceRequiredTopology is not carried over: its pods may stand anywhere here' \
  'Workload n/parts: is not admitted: no flavor for nvidia.com/gpu admits its pod set m: f: it has no topology'; do
  notes "$text"
done
for text in schedulingGates hostNetwork subGroupCount n/open; do silent "$text"; done

conclude
