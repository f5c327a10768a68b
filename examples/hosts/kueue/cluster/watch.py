# SPDX-License-Identifier: BSL-1.0
"""What the API server says of Workloads and pods, and whether the law of quotas holds in it."""

import collections
import http.client

from cluster import GPU, GROUP, ClusterError, condition
from law import LawWatch

Workload = collections.namedtuple("Workload", "uid name namespace job queue state gpus priority why object")


def holds(conditions, kind):
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def workload_of(one):
    """`gpus` is what it holds; `why` is what it says of its waiting."""
    meta, status = one["metadata"], one.get("status", {})
    conditions = status.get("conditions") or []
    reclaimable = {told["name"]: told["count"] for told in status.get("reclaimablePods") or []}
    gpus = 0
    for assigned in status.get("admission", {}).get("podSetAssignments", []):
        held, count = int(assigned.get("resourceUsage", {}).get(GPU, 0)), assigned.get("count", 1)
        gpus += held * (count - min(count, reclaimable.get(assigned["name"], 0))) // count if count else 0
    state = "finished" if holds(conditions, "Finished") else \
        "pending" if not (holds(conditions, "QuotaReserved") and "admission" in status) else \
        "evicted" if holds(conditions, "Evicted") else "admitted"
    waiting = condition(one, "allot.dev/Waiting")
    return Workload(
        uid=meta["uid"], name=meta["name"], namespace=meta["namespace"],
        job=next((owner["name"] for owner in meta.get("ownerReferences", [])), meta["name"]),
        queue=status.get("admission", {}).get("clusterQueue") or one["spec"].get("queueName", ""), state=state,
        gpus=gpus if state in ("evicted", "admitted") else 0, priority=one["spec"].get("priority", 0),
        why=waiting["message"] if waiting and waiting["status"] == "True" else "", object=one)


def quotas_of(queues, cohorts=()):
    """As the law has them: ClusterQueues below their cohorts."""
    found = {}
    for one in cohorts:
        found[one["metadata"]["name"]] = one
    quotas = [dict(name=one["spec"]["cohortName"], nominal={"gpu": 0}) for one in queues if one["spec"].get("cohortName", "") not in ("", *found)]
    quotas = list({quota["name"]: quota for quota in quotas}.values())
    for one in [*found.values(), *queues]:
        spec = one["spec"]
        quota = {"name": one["metadata"]["name"], "nominal": {"gpu": 0}}
        parent = spec.get("cohortName") or spec.get("parentName")
        if parent:
            quota["parent"] = parent
        for group in spec.get("resourceGroups", []):
            for flavor in group["flavors"]:
                for resource in flavor["resources"]:
                    if resource["name"] != GPU:
                        continue
                    quota["nominal"]["gpu"] += int(resource["nominalQuota"])
                    for key, word in (("borrowingLimit", "borrow"), ("lendingLimit", "lend")):
                        if key in resource:
                            quota[word] = {"gpu": quota.get(word, {}).get("gpu", 0) + int(resource[key])}
        quotas.append(quota)
    return quotas


class Watch(LawWatch):
    """Polls the API server. Workloads are those of all namespaces, by the name of their job."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.configured = self.read_quotas()
        super().__init__(self.configured)
        self.gpus = cluster.nodes * cluster.gpus
        self.unread = self.most_bound = 0
        self.jobs = {}
        self.finished = {}
        # The law is that of all admissions: not so where others admit, too.
        self.has_law = True

    def read_quotas(self):
        return quotas_of(self.cluster.list(f"/apis/{GROUP}/clusterqueues"), self.cluster.list(f"/apis/{GROUP}/cohorts"))

    def changed(self, seconds=10):
        """Somebody has changed the quotas."""
        self.configured = self.read_quotas()
        self.transition(self.configured, seconds)

    def used(self, jobs=None):
        used = collections.Counter()
        for one in (self.jobs if jobs is None else jobs).values():
            if one.gpus:
                used[one.queue] += one.gpus
        return used

    def poll(self):
        try:
            objects = self.cluster.list(f"/apis/{GROUP}/workloads")
            bound = self.cluster.gpus_used()
        except (ClusterError, OSError, http.client.HTTPException):  # the API server is not there just now
            self.unread += 1
            return self.jobs
        self.polls += 1
        jobs = {}
        for told in map(workload_of, objects):
            # A Job whose Workload was deleted has a new one.
            if told.job not in jobs or jobs[told.job].state == "finished":
                jobs[told.job] = told
            self.look_at(told)
        self.jobs = jobs
        used = self.used()
        total = sum(used.values())
        self.most = max(self.most, total)
        self.most_bound = max(self.most_bound, sum(bound.values()))
        if self.has_law:
            for name in used:
                if name not in self.law.quotas:
                    self.note(f"Workloads of {name!r}, which is no ClusterQueue, use {used[name]} GPUs")
            self.check_law(used)
            # Whatever becomes of quotas.
            if total > self.gpus:
                self.note(f"Workloads use {total} GPUs, and there are {self.gpus}: {dict(used)}")
        for name, gpus in bound.items():
            if gpus > self.cluster.gpus:
                self.note(f"{gpus} GPUs are in use on {name}, and there are {self.cluster.gpus}")
        if sum(bound.values()) > self.gpus:
            self.note(f"{sum(bound.values())} GPUs are in use, and there are {self.gpus}")
        return jobs

    def look_at(self, told):
        if told.state == "finished":
            at = condition(told.object, "Finished")["lastTransitionTime"]
            if self.finished.setdefault(told.uid, at) != at:
                self.note(f"{told.job} has finished twice: {self.finished[told.uid]} and {at}")
        elif told.uid in self.finished:
            self.note(f"{told.job} had finished, and now it is {told.state}")

    def running(self, queue=None):
        return sorted(one.job for one in self.jobs.values() if one.state == "admitted" and queue in (None, one.queue))

    def pending(self, queue=None):
        return sorted(one.job for one in self.jobs.values() if one.state == "pending" and queue in (None, one.queue))
