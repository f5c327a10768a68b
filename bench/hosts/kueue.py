#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Kueue's own scheduler and allot-kueue side by side: the same jobs on the same real cluster, seen from outside.

    python3 kueue.py [--rounds 3] [--seed 1] [--keep FILE]    the replay, then every way in turns; prints the table of the README of allot-kueue
    python3 kueue.py --only replay                            whether allot-kueue decides what Kueue has decided, step by step

What the workloads are, and what the rows mean: README.md beside this file.
"""

import argparse
import collections
import http.client
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "examples/hosts/kueue/cluster"))

from cluster import (GPU, GROUP, Cluster, ClusterError, Interrupted, cluster_queue, flavor, interruptible, job, local_queue,  # noqa: E402
                     named)
from governor import LABEL, Governor, bind_rights, wait_for  # noqa: E402
from watch import workload_of  # noqa: E402

NODES, GPUS = 16, 8
TEAMS = {"team-a": 32, "team-b": 48, "team-c": 48}
SHARED = "shared"
BURST = [f"burst-{i}" for i in range(10)]
LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"
WORKLOADS = f"/apis/{GROUP}/namespaces/default/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
# What may not be the limit of a rate: requests a second of Kueue's client. allot-kueue has no limit of its own.
RAISED = {"clientConnection": {"qps": 5000, "burst": 10000}}
SIZES = {"1 GPU": (1, 1), "2 to 8 GPUs": (2, 8), "9 to 32 GPUs": (9, 32), "over 32 GPUs": (33, 10**6)}

Way = collections.namedtuple("Way", "name policy")
WAYS = [Way("Kueue", None), Way("allot-kueue, `kueue`", "kueue"), Way("allot-kueue, `standard`", "standard")]


# --- the jobs -------------------------------------------------------------------------------------------------------

Arrival = collections.namedtuple("Arrival", "at queue pods gpus seconds")


def small(chance, seconds):
    """A job of one GPU after the other, and always room for it."""
    return [Arrival(at, SHARED, 1, 1, chance.randint(3, 6)) for at in arrivals(chance, 5, seconds)]


def teams(chance, seconds):
    """One team wants all there is, and has it until the others come for what they own."""
    made = [Arrival(chance.uniform(0, 2), "team-b", *chance.choice([(1, 4), (1, 8), (1, 8), (2, 8)]), chance.randint(10, 20)) for _ in range(16)]
    made += [Arrival(at, "team-b", *chance.choice([(1, 1), (1, 4), (1, 8), (1, 8), (2, 8)]), chance.randint(6, 15)) for at in arrivals(chance, 0.8, seconds)]
    for owner, gap in (("team-c", 9), ("team-a", 7)):
        at = chance.uniform(5, 7)
        while at < seconds - 4:
            for _ in range(chance.randint(2, 4)):
                made.append(Arrival(at + chance.uniform(0, 0.5), owner, *chance.choice([(1, 1), (1, 4), (1, 8), (2, 8), (4, 8)]), chance.randint(3, 6)))
            at += chance.uniform(gap - 2, gap + 2)
    return sorted(made)


def gangs(chance, seconds):
    """More small jobs than the cluster can do, and now and then a job of half of it or more."""
    made = [Arrival(at, SHARED, 1, 8, chance.randint(3, 6)) for at in [0.0] * 16 + arrivals(chance, 3, seconds)]
    made += [Arrival(at, SHARED, chance.choice([8, 10, 12]), 8, 4) for at in (3.5, 10.5, 17.5)]
    return sorted(made)


def arrivals(chance, each_second, seconds):
    at, found = chance.expovariate(each_second), []
    while at < seconds:
        found.append(at)
        at += chance.expovariate(each_second)
    return found


def bare_workload(name, queue, gpus, priority=0):
    """Without a job: nobody starts or stops anything."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "resources": {"requests": {GPU: str(gpus)}}}]}}
    return named("Workload", name, namespace="default", spec={
        "queueName": queue, "priority": priority, "active": True, "podSets": [{"name": "main", "count": 1, "template": template}]})


def queues(of, hold, **more):
    """ClusterQueues and their LocalQueues, which allot-kueue may govern."""
    made = []
    for name, gpus in of.items():
        one = cluster_queue(name, gpus, hold=hold, **more)
        one["metadata"]["labels"] = {LABEL: "true"}
        made += [one, local_queue(name)]
    return made


def connect(cluster):
    return http.client.HTTPSConnection("127.0.0.1", cluster.port, context=cluster.trust)


def headers(cluster):
    return {"Authorization": f"Bearer {cluster.tokens['admin']}", "Content-Type": "application/json"}


def create(cluster, workloads):
    """Many of them, over one connection."""
    connection = connect(cluster)
    for one in workloads:
        connection.request("POST", WORKLOADS, json.dumps(one), headers(cluster))
        answer = connection.getresponse()
        told = answer.read()
        if answer.status != 201:
            raise ClusterError(f"{one['metadata']['name']}: {told.decode()}")
    connection.close()


def objects(hold):
    return [flavor(), *queues(TEAMS, hold), *queues({SHARED: NODES * GPUS}, hold, cohort="shared"),
            *queues(dict.fromkeys(BURST, 10000), hold, cohort="burst", flavors=["burst"])]


# --- what is seen ---------------------------------------------------------------------------------------------------


class Stream:
    """The events of a kind, each with the moment at which it came. A process of its own reads them, which nobody keeps waiting."""

    def __init__(self, cluster, path):
        self.cluster, self.path = cluster, path
        version = cluster.call("GET", path)["metadata"]["resourceVersion"]
        written, self.name = tempfile.mkstemp()
        self.file, self.rest = open(self.name, "rb"), b""
        self.process = multiprocessing.get_context("fork").Process(target=self._listen, args=(version, written), daemon=True)
        self.process.start()
        os.close(written)

    def _listen(self, version, to):
        with open(to, "wb", buffering=0) as file:
            while True:
                connection, line = connect(self.cluster), None
                connection.request("GET", f"{self.path}?watch=1&resourceVersion={version}", headers=headers(self.cluster))
                answer = connection.getresponse()
                if answer.status == 200:
                    for line in answer:
                        file.write(b"%f %s" % (time.monotonic(), line))
                # The API server has let go of it: it does with who is slow, on a machine that has much to do.
                connection.close()
                version = version if line is None else json.loads(line)["object"]["metadata"]["resourceVersion"]
                time.sleep(0.05)

    def take(self):
        """[(moment, ADDED, MODIFIED or DELETED, object)] since the last time."""
        *lines, self.rest = (self.rest + self.file.read()).split(b"\n")
        found = []
        for line in lines:
            at, _, text = line.partition(b" ")
            event = json.loads(text)
            if event["type"] == "ERROR":
                raise ClusterError(f"a watch is broken: {event['object'].get('message')}")
            found.append((float(at), event["type"], event["object"]))
        if not self.process.is_alive():
            raise ClusterError("a watch is broken")
        return found

    def close(self):
        self.process.kill()
        self.process.join()
        self.file.close()
        os.unlink(self.name)


Change = collections.namedtuple("Change", "at job state")


class History:
    """What became of Workloads, by the names of their jobs: pending, admitted, evicted, finished, gone; and the GPUs that pods
    were bound to."""

    def __init__(self, cluster):
        self.workloads, self.pods = Stream(cluster, WORKLOADS), Stream(cluster, PODS)
        self.changes, self.bound = [], []
        self.state, self.objects, self.holds = {}, {}, {}

    def read(self):
        for at, kind, one in self.workloads.take():
            told = workload_of(one)
            state = "gone" if kind == "DELETED" else told.state
            self.objects[told.job] = one
            if self.state.get(told.job) != state:
                self.state[told.job] = state
                self.changes.append(Change(at, told.job, state))
        for at, kind, one in self.pods.take():
            holds = kind != "DELETED" and "nodeName" in one["spec"] and one["status"].get("phase") not in ("Succeeded", "Failed")
            gpus = int(one["spec"]["containers"][0]["resources"]["requests"][GPU]) if holds else 0
            before = self.holds.get(one["metadata"]["uid"], 0)
            if gpus != before:
                self.holds[one["metadata"]["uid"]] = gpus
                self.bound.append((at, gpus - before))

    def count(self, state):
        return sum(one == state for one in self.state.values())

    def close(self):
        self.workloads.close()
        self.pods.close()


class Processes:
    """CPU seconds and memory of the daemons, and of allot-kueue where it governs."""

    def __init__(self, cluster, governor):
        self.pids = {part: cluster.supervisor.alive(part) for part in ("kueue", "apiserver", "etcd")}
        if governor:
            self.pids["allot"] = governor.process.pid

    def cpu(self):
        found = {}
        for name, pid in self.pids.items():
            with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                fields = file.read().rpartition(")")[2].split()
            found[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    def memory(self):
        """The most that each has had, in MiB."""
        found = {}
        for name, pid in self.pids.items():
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                found[name] = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
        return found


# --- what it comes to -----------------------------------------------------------------------------------------------


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


def waits(history, jobs, until):
    """{job: (seconds from its Workload's creation to its first admission, whether it was admitted)}; who was not has waited until then."""
    made, first = {}, {}
    for at, name, state in history.changes:
        if name in jobs and at <= until:
            made.setdefault(name, at)
            if state == "admitted":
                first.setdefault(name, at)
    return {name: (first.get(name, until) - at, name in first) for name, at in made.items()}


def reclaims(history, jobs, owns, until):
    """Seconds from creation to admission of those whose team owns what they ask for, while others had it."""
    usage, waiting, total, since, took = collections.Counter(), collections.Counter(), 0, {}, []
    state = {}
    for at, name, now in history.changes:
        if name not in jobs or at > until:
            continue
        team, gpus = jobs[name].queue, jobs[name].pods * jobs[name].gpus
        before, state[name] = state.get(name), now
        if before is None and usage[team] + waiting[team] + gpus <= owns[team] and total + gpus > NODES * GPUS:
            since[name] = at
        if now == "admitted" and name in since:
            took.append(at - since.pop(name))
        held, holds = before in ("admitted", "evicted"), now in ("admitted", "evicted")
        usage[team] += gpus * (holds - held)
        total += gpus * (holds - held)
        waiting[team] += gpus * ((now == "pending") - (before == "pending"))
    return took + [until - at for at in since.values()]


def used_part(bound, begin, end):
    """Of all GPU-seconds, those that pods were bound for."""
    area, gpus, last = 0.0, 0, begin
    for at, change in bound:
        at = min(max(at, begin), end)
        area += gpus * (at - last)
        gpus, last = gpus + change, at
    return (area + gpus * (end - last)) / ((end - begin) * NODES * GPUS)


# --- one run --------------------------------------------------------------------------------------------------------


class Run:
    """A cluster under one scheduler, with one workload after the other. `found` is {row: value}."""

    def __init__(self, way, seed, lengths):
        self.way, self.seed, self.lengths = way, seed, lengths
        self.found = {}

    def play(self):
        with Cluster(nodes=NODES, gpus=GPUS, kueue=RAISED, objects=objects(hold=self.way.policy is not None)) as self.cluster:
            governor = None
            if self.way.policy:
                bind_rights(self.cluster)
                governor = Governor(self.cluster, policy=self.way.policy).start()
                if not wait_for(lambda: governor.log("host"), 20):
                    raise ClusterError(f"allot-kueue does not govern\n{governor.text()[-2000:]}")
            try:
                self.processes = Processes(self.cluster, governor)
                for what in (self.burst, self.small, self.teams, self.gangs):
                    what()
                for name, memory in self.processes.memory().items():
                    self.found[f"memory {name}"] = memory
                if governor and governor.complaints():
                    raise ClusterError(f"the API server has refused: {governor.complaints()[:3]}")
            finally:
                if governor:
                    governor.stop()
        return self.found

    def measured(self, name, what):
        """Runs what(history), and notes the CPU time that it took; then everything that it left behind goes."""
        history = History(self.cluster)
        before = self.processes.cpu()
        what(history)
        for part, seconds in self.processes.cpu().items():
            self.found[f"cpu {part} {name}"] = seconds - before[part]
        history.close()
        if not wait_for(self.is_cleared, 120, 0.5):
            raise ClusterError(f"{name}: not all goes")
        return history

    def is_cleared(self):
        """Asks for it until it is so: a cluster that has much to do may not answer in time."""
        try:
            left = [path for path in (JOBS, WORKLOADS, PODS) if self.cluster.list(path)]
            # Those of Jobs go with them.
            for path in left[:1]:
                self.cluster.api("DELETE", path, {"propagationPolicy": "Background"})
            return not left
        except (OSError, http.client.HTTPException):
            return False

    def jobs(self, name, arriving, limit=None):
        """{name: Arrival} and the history of the jobs of a workload, from its first second to its last."""
        length = self.lengths[name]
        made = arriving(random.Random(f"{name} {self.seed}"), length)
        jobs = {f"{name}-{i}": one for i, one in enumerate(made)}

        def submit(history):
            self.begin = time.monotonic()
            for one, told in jobs.items():
                while (left := self.begin + told.at - time.monotonic()) > 0:
                    history.read()
                    time.sleep(min(left, 0.2))
                self.found["late"] = max(self.found.get("late", 0), -left)
                labels = {LIMIT: str(told.seconds + limit)} if limit else {}
                self.cluster.submit(one, told.queue, pods=told.pods, gpus=told.gpus, seconds=told.seconds, labels=labels)
            wait_for(lambda: history.read() or time.monotonic() >= self.begin + length, length + 1, 0.2)
            self.end = time.monotonic()

        return jobs, self.measured(name, submit)

    def burst(self):
        """Nothing but quotas are in the way, and they let in all at once."""
        count = self.lengths["burst"]

        def admit(history):
            create(self.cluster, [bare_workload(f"burst-{i}", BURST[i % len(BURST)], 1) for i in range(count)])
            # Kueue has written into each that its ClusterQueue is not active.
            wait_for(lambda: history.read() or all("status" in one for one in history.objects.values()), 30)
            time.sleep(1)
            self.opened, before = time.monotonic(), self.processes.cpu()
            self.cluster.create(flavor("burst"))
            if not wait_for(lambda: history.read() or history.count("admitted") == count, 120):
                raise ClusterError(f"burst: {history.count('admitted')} of {count} are admitted")
            for part, seconds in self.processes.cpu().items():
                self.found[f"cpu {part} admit"] = seconds - before[part]

        history = self.measured("burst", admit)
        times = [one.at for one in history.changes if one.state == "admitted"]
        self.found["rate"] = count / (max(times) - self.opened)

    def small(self):
        jobs, history = self.jobs("small", small)
        took = [wait for wait, was in waits(history, jobs, self.end).values() if was]
        self.found["small median"], self.found["small p99"] = 1000 * quantile(took, 0.5), 1000 * quantile(took, 0.99)
        self.found["small jobs"] = len(took)

    def teams(self):
        jobs, history = self.jobs("teams", teams)
        self.note("teams", jobs, history, until=self.end)
        took = reclaims(history, jobs, TEAMS, self.end)
        self.found["reclaims"] = len(took)
        self.found["reclaim median"], self.found["reclaim p90"] = quantile(took, 0.5), quantile(took, 0.9)
        self.found["evictions"] = sum(one.state == "evicted" for one in history.changes)

    def gangs(self):
        jobs, history = self.jobs("gangs", gangs, limit=15)
        took = self.note("gangs", jobs, history, until=self.end)
        large = [was for name, (_, was) in took.items() if jobs[name].pods > 1]
        self.found["gangs started"], self.found["gangs"] = sum(large), len(large)

    def note(self, name, jobs, history, until):
        took = waits(history, jobs, until)
        for word, (least, most) in SIZES.items():
            of = [wait for one, (wait, _) in took.items() if least <= jobs[one].pods * jobs[one].gpus <= most]
            if of:
                self.found[f"{name} wait {word}"] = statistics.median(of)
        self.found[f"{name} used"] = 100 * used_part(history.bound, self.begin, until)
        self.found[f"{name} done"] = sum(one.state == "finished" and one.at <= until for one in history.changes)
        self.found[f"{name} jobs"] = len(jobs)
        return took


# --- the same decisions ---------------------------------------------------------------------------------------------


class Sequence:
    """Cohorts that have nothing to do with each other, and what comes to each of them: a backlog at once, then one thing after the
    other, a second apart at least: a Workload more, or the end of the one that has run for the longest time. `ends` is who that was
    in each cohort and step under Kueue, where it is played first."""

    def __init__(self, seed, cohorts, steps, backlog=16):
        chance = random.Random(f"replay {seed}")
        self.cohorts, self.steps, self.ends = [f"c{i}" for i in range(cohorts)], steps, {}
        self.objects, self.backlog, self.deeds = [], {}, {}
        for name in self.cohorts:
            of = [f"{name}-{i}" for i in range(chance.randint(1, 4))]
            # Kueue looks at the head of a strict queue again at once, and at those that it has passed over a moment later.
            strategy = chance.choice(["StrictFIFO", "BestEffortFIFO"])
            for queue in of:
                one = queues({queue: chance.choice([4, 8, 16])}, False, cohort=name, queueingStrategy=strategy,
                             preemption={"reclaimWithinCohort": chance.choice(["Never", "LowerPriority", "Any", "Any"]),
                                         "withinClusterQueue": chance.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])})
                limits = one[0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
                limits.update({key: chance.choice([0, 2, 4]) for key in ("borrowingLimit", "lendingLimit") if chance.random() < 0.2})
                self.objects += one
            # Those of the backlog are made in the same second: their priorities say who goes first.
            self.backlog[name] = [bare_workload(f"{name}-b{i}", chance.choice(of), chance.choice([1, 2, 4]), priority)
                                  for i, priority in enumerate(chance.sample(range(100), backlog))]
            self.deeds[name] = [None if chance.random() < 0.4 else bare_workload(f"{name}-s{i}", chance.choice(of), chance.choice([1, 2, 4]), chance.choice([20, 50, 80]))
                                for i in range(steps)]

    def play(self, policy):
        """Who runs in each cohort when the backlog, and then each step, has had its effect; and how often who was admitted or evicted."""
        own = policy is None
        for one in self.objects:
            if one["kind"] == "ClusterQueue":
                one["spec"]["stopPolicy"] = "None" if own else "Hold"
        with Cluster(nodes=1, gpus=GPUS, kueue=RAISED, objects=self.objects) as self.cluster:
            governor = None
            if not own:
                bind_rights(self.cluster)
                governor = Governor(self.cluster, policy=policy).start()
            try:
                return self._play(own)
            finally:
                if governor:
                    governor.stop()

    def _play(self, own):
        history, found = History(self.cluster), []
        self.cluster.create(*[one for backlog in self.backlog.values() for one in backlog])
        self.settle(history, own, 2)
        # Without the flavor no ClusterQueue is active.
        self.cluster.create(flavor())
        for step in range(-1, self.steps):
            for name in self.cohorts if step >= 0 else []:
                self.do(history, own, name, step)
            self.settle(history, own, 6 if step < 0 else 2)
            runs = [name for name, state in history.state.items() if state == "admitted"]
            found.append({cohort: {name for name in runs if name.startswith(f"{cohort}-")} for cohort in self.cohorts})
        history.close()
        return found, collections.Counter(one.state for one in history.changes)

    def settle(self, history, own, seconds):
        """Until nothing has changed for so long."""
        last = time.monotonic()
        while time.monotonic() - last < seconds:
            history.read()
            for name in [name for name, state in history.state.items() if own and state == "evicted"]:
                self.clear(history.objects[name])
            last = max([last] + [one.at for one in history.changes[-1:]])
            time.sleep(0.05)

    def do(self, history, own, cohort, step):
        deed = self.deeds[cohort][step]
        if deed is not None:
            self.cluster.create(deed)
            return
        if own:
            # The one that has been admitted for the longest time.
            runs = [one.job for one in history.changes if one.state == "admitted" and one.job.startswith(f"{cohort}-") and history.state[one.job] == "admitted"]
            self.ends[cohort, step] = runs[0] if runs else None
        name = self.ends[cohort, step]
        # Where it was decided otherwise before, it may not be there.
        if name and history.state.get(name) != "gone":
            self.cluster.call("DELETE", f"{WORKLOADS}/{name}")

    def clear(self, one):
        """As a job's controller does once its pods are stopped."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        over = {kind: {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": now} for kind, status, reason in (
            ("QuotaReserved", "False", "Pending"), ("Admitted", "False", "NoReservation"), ("Requeued", "True", "Preempted"))}
        told = [each for each in one["status"]["conditions"] if each["type"] not in over] + list(over.values())
        # Refused where it has changed since; then it is seen again.
        self.cluster.api("PATCH", f"{WORKLOADS}/{one['metadata']['name']}/status", {
            "metadata": {"resourceVersion": one["metadata"]["resourceVersion"]}, "status": {"admission": None, "conditions": told}})


def replay(options):
    """Prints how much allot-kueue decides as Kueue does. Returns whether it is all."""
    sequence = Sequence(options.seed, options.cohorts, options.steps)
    (theirs, changes), (ours, _) = sequence.play(None), sequence.play("kueue")
    agree = 0
    for step, (by_kueue, by_allot) in enumerate(zip(theirs, ours), -1):
        for name in sequence.cohorts:
            agree += by_kueue[name] == by_allot[name]
            if by_kueue[name] != by_allot[name]:
                print(f"{name}, step {step}: only under Kueue {sorted(by_kueue[name] - by_allot[name])} run, only under allot-kueue "
                      f"{sorted(by_allot[name] - by_kueue[name])}")
    of = len(sequence.cohorts) * len(theirs)
    print(f"Kueue's {changes['admitted']} admissions and {changes['evicted']} evictions in {len(sequence.cohorts)} cohorts, replayed: "
          f"after {agree} of {of} steps the same run.", flush=True)
    return agree == of and min(changes["admitted"], changes["evicted"]) > 0


# --- the table ------------------------------------------------------------------------------------------------------

# What it says, where it is found, digits, unit.
ROWS = [
    ("`burst`: admissions a second", "rate", 0, ""),
    ("`small`: from creation to admission, median", "small median", 0, "ms"),
    ("`small`: the same, 99th percentile", "small p99", 0, "ms"),
    ("`teams`: from an owner's creation to its admission by reclaim, median", "reclaim median", 2, "s"),
    ("`teams`: the same, 90th percentile", "reclaim p90", 2, "s"),
    *[(f"`teams`: wait for {word}, median", f"teams wait {word}", 1, "s") for word in list(SIZES)[:3]],
    ("`teams`: evictions", "evictions", 0, ""),
    ("`teams`: jobs that have ended", "teams done", 0, ""),
    ("`teams`: GPUs in use", "teams used", 0, "%"),
    ("`gangs`: gangs that have started, of 3", "gangs started", 0, ""),
    ("`gangs`: wait for over 32 GPUs, median", "gangs wait over 32 GPUs", 1, "s"),
    ("`gangs`: wait for 8 GPUs, median", "gangs wait 2 to 8 GPUs", 1, "s"),
    ("`gangs`: GPUs in use", "gangs used", 0, "%"),
    *[(f"CPU of {who}, {what}", f"cpu {part} {key}", 2, "s") for part, who in (("kueue", "Kueue"), ("allot", "allot-kueue"), ("apiserver", "the API server"))
      for key, what in (("admit", "admissions of `burst`"), ("small", "`small`"), ("teams", "`teams`"), ("gangs", "`gangs`"))],
    *[(f"memory of {who}, at most", f"memory {part}", 0, "MiB") for part, who in (("kueue", "Kueue"), ("allot", "allot-kueue"))],
]


def cell(values, digits, unit):
    if not values:
        return ""
    text = lambda value: f"{value:.{digits}f}"
    spread = f" ({text(min(values))} to {text(max(values))})" if text(min(values)) != text(max(values)) else ""
    return f"{text(statistics.median(values))}{' ' + unit if unit else ''}{spread}"


def table(found):
    """`found` is {way: [{row: value} of each round]}."""
    ways = [way for way in WAYS if way.name in found]
    print("| | " + " | ".join(way.name for way in ways) + " |\n|---|" + "---:|" * len(ways))
    for said, key, digits, unit in ROWS:
        cells = [cell([one[key] for one in found[way.name] if key in one], digits, unit) for way in ways]
        print(f"| {said} | {' | '.join(cells)} |")
    late = max(one["late"] for of in found.values() for one in of)
    print(f"\nJobs came at most {late:.1f} s late" + ("." if late < 1 else ": the machine has too much else to do, and the table is not one to keep."))
    kueue, on_hold = (found.get(way.name) for way in WAYS[:2])
    if kueue and on_hold:
        for key in ("admit", "small", "teams", "gangs"):
            active, held, allot = (statistics.median(one[f"cpu {part} {key}"] for one in of)
                                   for of, part in ((kueue, "kueue"), (on_hold, "kueue"), (on_hold, "allot")))
            print(f"{key}: Kueue needs {active - held:+.2f} s of CPU more with its scheduler ({active:.2f} s) than on Hold ({held:.2f} s); allot-kueue needs {allot:.2f} s")


def compare(options):
    lengths = {"burst": options.burst, "small": 20, "teams": 45, "gangs": 40}
    found = collections.defaultdict(list)
    for number in range(options.rounds):
        for way in [one for i, one in enumerate(WAYS) if not options.ways or i in options.ways]:
            begin = time.monotonic()
            found[way.name].append(Run(way, options.seed + number, lengths).play())
            print(f"round {number + 1}, {way.name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
            if options.keep:
                with open(options.keep, "w", encoding="utf-8") as file:
                    json.dump(found, file, indent=1)
    table(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--burst", type=int, default=600, help="Workloads of it")
    parser.add_argument("--ways", type=int, nargs="*", default=[], help=", ".join(f"{i}: {way.name}" for i, way in enumerate(WAYS)))
    parser.add_argument("--keep", help="file for the figures of each round, as JSON")
    parser.add_argument("--cohorts", type=int, default=8, help="of the replay")
    parser.add_argument("--steps", type=int, default=20, help="of the replay, in each cohort")
    parser.add_argument("--only", choices=["table", "replay"])
    options = parser.parse_args()
    interruptible()
    try:
        agrees = options.only == "table" or replay(options)
        if options.only != "replay":
            compare(options)
        return 0 if agrees else 1
    except ClusterError as problem:
        print(f"kueue: {problem}", file=sys.stderr)
        return 1
    except Interrupted:
        return 130


if __name__ == "__main__":
    sys.exit(main())
