#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""allot-kueue on real Kubernetes clusters with the real Kueue, seen from outside: what counts is what the API server says.

    python3 real_cluster.py [--seed N] [--keep DIR] [PART...]    the parts, three at a time; or those named (--help lists them)
    python3 real_cluster.py --soak [--jobs 5000]                 many short jobs of five teams

The last line is "N passed, N failed".
"""

import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))

from cluster import GPU, GROUP, TOP, Cluster, Interrupted, cluster_queue, condition, flavor, local_queue, named, pod_template, priority_class  # noqa: E402
from governor import LEASE, Governor, bind_rights, governed_queue, set_queue, wait_for  # noqa: E402
from law import Law  # noqa: E402
from parts import Checks, main  # noqa: E402
from supervisor import free_ports  # noqa: E402
from watch import Watch, quotas_of, workload_of  # noqa: E402

from flawed_proxy import FlawedProxy  # noqa: E402

# Of a cohort's 128 GPUs: what each owns, and the limits of two of them.
TEAMS = {"team-a": (32, {}), "team-b": (48, {"borrowingLimit": 40}), "team-c": (48, {"lendingLimit": 24})}
# What kubelets and node_exporter read: name{label="value",...} number.
METRIC = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? -?(\d+(\.\d+)?(e[+-]?\d+)?|NaN|[+-]Inf)')
WORKLOADS = f"/apis/{GROUP}/namespaces/default/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
# Seconds for what takes one or two on a machine that has nothing else to do.
PATIENCE = 90


def objects(teams, hold=True):
    made = [flavor(), priority_class("high", 1000), priority_class("low", 10)]
    for name, (gpus, limits) in teams.items():
        one = governed_queue(name, gpus, hold=hold)
        one["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0].update(limits)
        made += [one, local_queue(name)]
    return made


class Part(Checks):
    """One cluster with one governor, and what was found."""

    def begin(self, start=True, policy="standard", options=()):
        bind_rights(self.cluster)
        self.governors = []
        self.governor = self.add_governor("allot", policy, options)
        self.watch = Watch(self.cluster)
        self.number = 0
        self.expected = []
        if start:
            self.governor.start()

    def add_governor(self, name, policy="standard", options=()):
        self.governors.append(Governor(self.cluster, name, policy, options))
        return self.governors[-1]

    def submit(self, queue, count=1, ends=True, seconds=None, **more):
        """Their names. `ends`: whether they are to end, once each, before the part does."""
        names = []
        for _ in range(count):
            self.number += 1
            names.append(self.cluster.submit(f"{queue[5:]}{self.number}", queue, seconds=seconds, **more))
        if ends and seconds is not None:
            self.expected += names
        return names

    def delete(self, names):
        for name in names:
            self.cluster.api("DELETE", f"{JOBS}/{name}", {"propagationPolicy": "Background"})
        self.expected = [name for name in self.expected if name not in names]

    def run_pods(self, names):
        """{uid: name of its job} of the pods of these jobs that run."""
        return {pod["metadata"]["uid"]: pod["metadata"]["labels"].get("job-name") for pod in self.cluster.pods().values()
                if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
                and pod["metadata"]["labels"].get("job-name") in names}

    def run(self):
        begin = time.monotonic()
        try:
            special = SPECIAL[self.name]() if self.name in SPECIAL else {}
            with Cluster(nodes=16, gpus=8, **{"objects": objects(TEAMS), **special}) as self.cluster:
                try:
                    globals()[f"part_{self.name}"](self)
                    for governor in self.governors:
                        if governor.alive():
                            status = governor.stop()
                            self.check(status == 0, f"SIGTERM ends it with status 0, not {status}")
                        self.check(not governor.complaints(), f"the rights of rbac.yaml are enough: {governor.complaints()[:3]}")
                finally:
                    self.keep_files()
        except Interrupted:
            raise
        except Exception:  # what went wrong counts as a failure, and the other parts go on
            self.check(False, traceback.format_exc())
        self.say(f"{self.passed} passed, {len(self.failures)} failed, {time.monotonic() - begin:.0f} s")

    def keep_files(self):
        if not self.keep:
            return
        os.makedirs(self.keep, exist_ok=True)
        found = [(os.path.join(governor.directory, name), f"{governor.name}-{name}") for governor in self.governors for name in os.listdir(governor.directory)]
        for path, name in found + [(self.cluster.log_path("kueue"), "kueue.txt")]:
            if os.path.isfile(path):
                shutil.copyfile(path, os.path.join(self.keep, f"{self.name}-{name}"))

    # What is waited for

    def told(self, names):
        told = [self.watch.jobs.get(name) for name in names]
        return [f"{one.job} {one.state} {one.why}".strip() if one else "unknown" for one in told]

    def are(self, state, names, seconds=PATIENCE):
        return self.watch.until(lambda now: all(name in now and now[name].state == state for name in names), seconds)

    def runs(self, names, what, seconds=PATIENCE):
        """Admitted, or over."""
        begin = time.monotonic()
        done = self.watch.until(lambda now: all(name in now and now[name].state in ("admitted", "finished") for name in names), seconds)
        self.check(done, f"{what}: {self.told(names)}")
        return time.monotonic() - begin

    def uses(self, queue, gpus, what, seconds=PATIENCE):
        return self.check(self.watch.until(lambda now: self.watch.used()[queue] == gpus, seconds), f"{what}: {dict(self.watch.used())}, not {gpus}")

    def drain(self, seconds=2 * PATIENCE):
        """All that is expected ends, exactly once."""
        def left(now):
            open_ones = [name for name in self.expected if name not in now or now[name].state != "finished"]
            if not 0 < len(open_ones) <= 20:
                return open_ones
            # A Job whose Workload was deleted as it ended has no other one, or one that never finishes: Kueue tries to suspend the Job,
            # and the API server refuses that of one that has ended.
            jobs = self.cluster.jobs()
            return [name for name in open_ones if name not in jobs or condition(jobs[name], "Complete") is None]

        over = self.watch.until(lambda now: not left(now), seconds, 0.3)
        self.check(over, f"all jobs end: {self.told(left(self.watch.jobs)[:5])}, {len(left(self.watch.jobs))} left")
        self.ended_once()

    def ended_once(self):
        jobs = self.cluster.jobs()
        succeeded = collections.Counter((pod["metadata"]["labels"].get("job-name"), pod["metadata"]["annotations"].get("batch.kubernetes.io/job-completion-index"))
                                        for pod in self.cluster.pods().values() if pod["status"].get("phase") == "Succeeded")
        problems = []
        for name in self.expected:
            told = jobs.get(name, {"spec": {"completions": 0}, "status": {}})
            done = condition(told, "Complete")
            if done is None or done["status"] != "True" or told["status"].get("succeeded") != told["spec"]["completions"]:
                problems.append(f"{name} is not complete: {told['status']}")
            again = [index for (of, index), count in succeeded.items() if of == name and count > 1]
            if again:
                problems.append(f"{name}: {again} succeeded more than once")
        self.check(not problems, "every job ends exactly once: " + "; ".join(problems[:5]))

    def law_held(self):
        self.check(self.watch.polls > 10, f"the API server was read ({self.watch.polls} times)")
        self.check(not self.watch.violations, "the law at every poll: " + "; ".join(self.watch.violations[:5]))

    def replays(self, governor=None):
        governor = governor or self.governor
        told = governor.call("replay-log", governor.events)
        self.check(told.returncode == 0, f"replay-log gives the same plans: {told.returncode}: {(told.stdout + told.stderr)[-600:]}")

    def storm(self, length, deeds, jobs):
        """Random jobs while other things happen: `deeds` are (when, what is called)."""
        chance = self.random

        def submit():
            self.submit(chance.choice(list(TEAMS)), pods=chance.choice([1, 1, 1, 2, 4]), gpus=chance.choice([1, 2, 4, 8, 8]),
                        seconds=chance.randint(1, 9), priority=chance.choice([None, None, "low", "high"]))

        deeds = sorted(list(deeds) + [(chance.uniform(0, length), submit) for _ in range(jobs)], key=lambda deed: deed[0])
        begin = time.monotonic()
        for at, deed in deeds:
            self.watch.until(lambda _: time.monotonic() - begin >= at, length)
            deed()


def fetch(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()
    except OSError as problem:
        return 0, str(problem)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


# --- the parts ------------------------------------------------------------------------------------------------------


def part_sharing(part):
    """Borrow up to the limit, reclaim, a freeze, and what operators see."""
    port, lock = free_ports(1)
    part.begin(options=["--listen", f"127.0.0.1:{port}"])
    watch, governor = part.watch, part.governor
    loans = part.submit("team-b", 14)
    part.uses("team-b", 88, "b borrows up to its limit")
    watch.idle(3)
    part.uses("team-b", 88, "b stays at its limit", 0)
    waiting = watch.pending("team-b")
    part.check(len(waiting) == 3 and all(watch.jobs[one].why for one in waiting), f"why a Workload waits stands on it: {part.told(waiting)}")
    frozen = governor.call("freeze", "--directory", governor.directory, "--for", "1h")
    part.check(frozen.returncode == 0, f"freeze: {frozen.stdout} {frozen.stderr}")
    watch.idle(2)
    # 40 are left, and the rest of what c asks for comes from b.
    owners = part.submit("team-c", 6, seconds=15)
    watch.until(lambda now: watch.used()["team-c"] == 40, PATIENCE)
    watch.idle(2)
    part.check(watch.used() == {"team-b": 88, "team-c": 40}, f"nobody is evicted during a freeze: {dict(watch.used())}")
    governor.call("thaw", "--directory", governor.directory)
    took = part.runs(owners, "the owner gets its own back")
    part.say(f"the owner's last job ran {took:.1f} s after the thaw")
    theirs = part.submit("team-a", 4, seconds=10)
    part.runs(theirs, "another owner, too")
    part.uses("team-b", 48, "b keeps what it owns")
    victims = {line.values.get("job") for line in governor.log("evict")}
    part.check(len(victims) == 5, f"five were evicted: {victims}")
    back = [one for one in loans if watch.jobs[one].state == "pending"][0]
    told = governor.call("why", "--directory", governor.directory, f"default/{watch.jobs[back].name}")
    part.check(told.returncode == 0 and "team-b" in told.stdout, f"why: {told.stdout} {told.stderr}")
    told = governor.call("status", "--directory", governor.directory)
    part.check(told.returncode == 0 and "team-c" in told.stdout, f"status: {told.stdout} {told.stderr}")
    status, text = fetch(port, "/metrics")
    bad = [line for line in text.split("\n") if line and not line.startswith("# ") and not METRIC.fullmatch(line)]
    part.check(status == 200 and not bad and "allot_kueue_leads 1" in text, f"the metrics are Prometheus text: {status} {bad[:3]}")
    part.check([fetch(port, path)[0] for path in ("/healthz", "/readyz")] == [200, 200], "it is healthy and ready")
    # Within a queue a Workload of a higher priority goes first, and those of a lower one make way.
    urgent = part.submit("team-b", 1, seconds=5, priority="high")
    part.runs(urgent, "who is more urgent goes first")
    part.uses("team-b", 88, "b comes back")
    part.drain()
    events = json.loads(part.cluster.kubectl("get", "events", "-o", "json").stdout)["items"]
    reasons = {one["reason"] for one in events if one.get("source", {}).get("component") == "allot-kueue" or one.get("reportingComponent") == "allot-kueue"}
    part.check({"Waiting", "Admitted", "Preempted"} <= reasons, f"events: {reasons}")
    part.check("team-b" in read(governor.page), "the page shows the quotas")
    part.delete(loans)
    part.law_held()
    part.replays()
    lock.close()


def part_killed(part):
    """Random jobs while the governor is killed at random moments."""
    part.begin()
    governor, chance, length = part.governor, part.random, 4.0 * part.kills + 5

    def kill():
        governor.kill()
        part.watch.idle(chance.uniform(0, 1))
        governor.start()

    loans = part.submit("team-b", 6)
    part.storm(length, [(chance.uniform(1, length), kill) for _ in range(part.kills)], jobs=int(length * 2))
    part.drain()
    part.delete(loans)
    part.law_held()


def part_faults(part):
    """Random jobs of three teams, deletions and changes of quotas while a proxy loses, delays, refuses and cuts what the governor and
    the API server say to each other."""
    part.begin(start=False, options=["--lease", LEASE])
    cluster, watch, governor, chance, length = part.cluster, part.watch, part.governor, part.random, part.seconds
    owned = {name: gpus for name, (gpus, _) in TEAMS.items()}

    def delete_jobs():
        part.delete(chance.sample(part.expected, min(2, len(part.expected))))

    def delete_workload():
        live = sorted(one.name for one in watch.jobs.values() if one.state != "finished")
        if live:
            cluster.api("DELETE", f"{WORKLOADS}/{chance.choice(live)}")

    def resize():
        # At no time there is more than there is.
        loser, winner = chance.sample(sorted(owned), 2)
        by = min(owned[loser], chance.choice([8, 16]))
        for name, change in ((loser, -by), (winner, by)):
            owned[name] += change
            set_queue(cluster, name, owned[name])
        # The governor may hear of it late.
        watch.changed(60)

    with FlawedProxy(cluster, chance.random()) as proxy:
        governor.connection = ["--kubeconfig", proxy.kubeconfig]
        governor.start()
        loans = part.submit("team-b", 8)
        deeds = [(delete_jobs, length // 10), (delete_workload, length // 10), (resize, length // 30)]
        part.storm(length, [(chance.uniform(0, length), deed) for deed, times in deeds for _ in range(times)], jobs=length)
        proxy.calm()
        begin = time.monotonic()
        more = part.submit("team-b", 16)
        well = lambda now: watch.pending() and all(now[one].why for one in watch.pending()) and not any(now[one].why for one in watch.running())
        part.check(watch.until(well, PATIENCE), f"who waits says why, and nobody else does: {part.told([one for one in watch.jobs if watch.jobs[one].state != 'finished'])}")
        part.say(f"all was told {time.monotonic() - begin:.1f} s after the last fault")
        missed = proxy.kinds() - set(proxy.counts)
        part.check(not missed, f"all faults happened, but {sorted(missed)}")
        part.say(f"{sum(proxy.counts.values())} faults: {dict(sorted(proxy.counts.items()))}")
        part.delete(loans + more)
        part.drain()
        part.check(watch.until(lambda now: not watch.pending() and not watch.used(), PATIENCE), f"nothing is left: {watch.pending()}, {dict(watch.used())}")
        part.check(governor.stop() == 0, "it ends")
    part.check(watch.most <= 128, f"never more than 128 GPUs: {watch.most}")
    part.law_held()
    part.replays()


def part_restarts(part):
    """The API server, etcd and Kueue are killed, and stop for a while: what runs goes on, and owners get theirs after it."""
    part.begin()
    cluster, watch = part.cluster, part.watch
    loans = part.submit("team-b", 11)
    part.uses("team-b", 88, "b borrows")
    part.check(wait_for(lambda: len(part.run_pods(loans)) == 11, PATIENCE), "they run")
    ways = [("the API server is killed", lambda: cluster.restart_part("apiserver", seconds=2)),
            ("etcd is killed", lambda: cluster.restart_part("etcd", seconds=1)),
            ("Kueue is killed", lambda: cluster.restart_part("kueue", seconds=2)),
            ("the API server stops for 6 s", lambda: cluster.stop_part_for("apiserver", 6))]
    for what, do in ways:
        before = part.run_pods(loans)
        do()
        part.check(wait_for(lambda: cluster.answers("apiserver") and cluster.answers("kueue"), PATIENCE), f"{what}: it is back")
        watch.idle(2)
        part.check(part.run_pods(loans) == before, f"{what}: what runs goes on: {len(part.run_pods(loans))} of {len(before)} pods")
        owners = part.submit("team-c", 6, seconds=3)
        took = part.runs(owners, f"{what}: owners get theirs")
        part.say(f"{what}: owners ran {took:.1f} s after they came")
        part.uses("team-b", 88, f"{what}: who yielded comes back")
        part.check(wait_for(lambda: len(part.run_pods(loans)) == 11, PATIENCE), f"{what}: and runs")
    part.drain()
    part.delete(loans)
    part.law_held()
    part.replays()


def part_nodes(part):
    """Nodes fail and return: their pods come again, and nothing is admitted twice or lost."""
    part.begin()
    cluster, chance = part.cluster, part.random
    loans = part.submit("team-b", 4, seconds=25)
    part.runs(loans, "they run")
    nodes = chance.sample(cluster.names, 3)
    part.storm(20, [*[(chance.uniform(2, 6), lambda name=name: cluster.fail_node(name)) for name in nodes],
                    *[(chance.uniform(12, 18), lambda name=name: cluster.return_node(name)) for name in nodes]], jobs=30)
    part.check(wait_for(lambda: len(cluster.nodes_in("True")) == 16, PATIENCE), "all nodes are back")
    part.drain()
    part.check(part.governor.alive(), "it goes on")
    part.law_held()
    part.replays()


def part_changes(part):
    """Quotas and queues change while jobs run; Workloads are deleted and deactivated, Jobs deleted, and end as they are admitted."""
    part.begin()
    cluster, watch, chance = part.cluster, part.watch, part.random
    loans = part.submit("team-b", 11)
    part.uses("team-b", 88, "b borrows")
    # Nobody is evicted for a number alone; who is owed the room gets it.
    set_queue(cluster, "team-a", 64)
    set_queue(cluster, "team-b", 16)
    watch.changed()
    watch.idle(3)
    part.uses("team-b", 88, "a change alone evicts nobody", 0)
    owners = part.submit("team-a", 8, seconds=12)
    part.runs(owners, "the new owner gets what it owns now")
    set_queue(cluster, "team-a", 32)
    set_queue(cluster, "team-b", 48)
    watch.changed()
    part.uses("team-b", 88, "and back")
    # A Workload that is deleted comes again; one that is deactivated stays out until it is active again.
    gone, inactive = loans[0], loans[1]
    cluster.call("DELETE", f"{WORKLOADS}/{watch.jobs[gone].name}")
    old = watch.jobs[gone].uid
    part.check(watch.until(lambda now: gone in now and now[gone].uid != old and now[gone].state == "admitted", PATIENCE), f"deleted, it comes again: {part.told([gone])}")
    path = f"{WORKLOADS}/{watch.jobs[inactive].name}"
    cluster.call("PATCH", path, {"spec": {"active": False}})
    part.check(part.are("pending", [inactive]), f"deactivated, it stops: {part.told([inactive])}")
    watch.idle(3)
    part.check(watch.jobs[inactive].state == "pending", f"and stays out: {part.told([inactive])}")
    cluster.call("PATCH", path, {"spec": {"active": True}})
    part.runs([inactive], "active again, it runs")
    part.delete(loans[2:4])
    part.check(watch.until(lambda now: not set(loans[2:4]) & set(now), PATIENCE), "the Workloads of deleted Jobs go")
    # Some end or go in the moment in which they are admitted.
    for _ in range(5):
        brief = part.submit("team-c", 4, seconds=0)
        brief += part.submit("team-a", 4, seconds=1)
        watch.idle(chance.uniform(0, 0.5), 0.1)
        part.delete(chance.sample(brief, 2))
        victim = watch.jobs.get(chance.choice(brief))
        if victim:
            cluster.api("DELETE", f"{WORKLOADS}/{victim.name}")
    part.drain()
    # A queue that is removed while its jobs run is there until they have ended, and admits nobody any more.
    last = part.submit("team-a", 2, seconds=8)
    part.runs(last, "a's last jobs run")
    # Who can never run says another reason when allot has heard of it.
    knows = lambda now, names: names[0] in now and now[names[0]].why and "never" not in now[names[0]].why
    late = part.submit("team-a", 1, pods=17, ends=False)
    part.check(watch.until(lambda now: late[0] in now and "never" in now[late[0]].why, PATIENCE), f"who can never run says so: {part.told(late)}")
    cluster.call("DELETE", f"/apis/{GROUP}/clusterqueues/team-a")
    part.check(watch.until(lambda now: knows(now, late), PATIENCE), f"that its ClusterQueue is deleted is said: {part.told(late)}")
    late += part.submit("team-a", 1, seconds=1, ends=False)
    later = part.submit("team-c", 1, pods=17, ends=False)
    part.check(watch.until(lambda now: later[0] in now and "never" in now[later[0]].why, PATIENCE), f"who can never run says so: {part.told(later)}")
    cluster.call("DELETE", f"/apis/{GROUP}/namespaces/default/localqueues/team-c")
    part.check(watch.until(lambda now: knows(now, later), PATIENCE), f"that there is no LocalQueue is said: {part.told(later)}")
    later += part.submit("team-c", 1, seconds=1, ends=False)
    part.drain()
    watch.has_law = False
    watch.idle(3)
    part.check(all(watch.jobs[one].state == "pending" for one in late + later if one in watch.jobs), f"without a queue nobody is admitted: {part.told(late + later)}")
    part.check(part.governor.alive(), f"it goes on: {part.governor.text()[-500:]}")
    more = part.submit("team-b", 1, seconds=1)
    part.delete(loans)
    part.runs(more, "and the others' jobs start")
    part.drain()
    part.law_held()
    part.replays()


def part_two(part):
    """Two governors with one Lease: one governs; it is killed, and stopped for 20 s."""
    part.begin(start=False, options=["--lease", LEASE])
    first, second = part.governor, part.add_governor("second", options=["--lease", LEASE])
    watch = part.watch

    def governs(one):
        states = [line.values.get("state", "").strip('"') for line in one.log("host")]
        states = [state for state in states if state in ("governs", "stands aside")]
        return bool(states) and states[-1] == "governs"

    first.start()
    part.check(wait_for(lambda: governs(first), PATIENCE), f"the first governs: {first.text()[-500:]}")
    second.start()
    loans = part.submit("team-b", 11)
    part.uses("team-b", 88, "b borrows")
    part.check(not governs(second), "the other stands by")
    first.kill()
    begin = time.monotonic()
    owners = part.submit("team-c", 6, seconds=5)
    part.runs(owners, "the other takes over")
    part.say(f"owners ran {time.monotonic() - begin:.1f} s after the kill of who governed")
    part.check(governs(second), "and governs")
    first.start()
    part.uses("team-b", 88, "b comes back")
    # One without the Lease does not start beside it.
    alone = part.add_governor("alone")
    alone.start()
    part.check(wait_for(lambda: not alone.alive(), PATIENCE) and "another allot-kueue" in alone.text(), f"one without --lease is refused: {alone.text()[-400:]}")
    second.signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        owners = part.submit("team-c", 6, seconds=5)
        watch.idle(20)
    finally:
        second.signal(signal.SIGCONT)
    part.runs(owners, "the first takes over from one that is stopped")
    part.say(f"owners ran {time.monotonic() - begin:.1f} s after the stop of who governed")
    part.check(wait_for(lambda: governs(first) and not governs(second), PATIENCE), f"the stopped one stands aside: {second.text()[-400:]}")
    part.drain()
    # A freeze outlives who governs.
    part.uses("team-b", 88, "b comes back")
    told = first.call("freeze", *first.connection, "--lease", LEASE, "--why", "the part two")
    part.check(told.returncode == 0, f"freeze: {told.stdout} {told.stderr}")
    part.check(wait_for(lambda: first.log("freeze"), PATIENCE), "who governs hears of it")
    first.kill()
    part.check(wait_for(lambda: governs(second) and second.log("freeze"), PATIENCE), f"and who comes after it: {second.text()[-400:]}")
    owners = part.submit("team-c", 6, seconds=5)
    watch.until(lambda now: watch.used()["team-c"] == 40, PATIENCE)
    watch.idle(3)
    part.check(watch.used() == {"team-b": 88, "team-c": 40}, f"nobody is evicted: {dict(watch.used())}")
    told = second.call("thaw", *second.connection, "--lease", LEASE)
    part.check(told.returncode == 0, f"thaw: {told.stdout} {told.stderr}")
    part.runs(owners, "after the thaw the owner gets its own back")
    first.start()
    part.drain()
    part.check(second.stop() == 0, "it ends")
    part.check(first.stop() == 0, "who governs ends, too")
    text = second.text()
    second.start()
    begin = time.monotonic()
    part.check(wait_for(lambda: governs(second) and len(second.text()) > len(text), 14), "a Lease that was given up is free at once")
    part.say(f"taken {time.monotonic() - begin:.1f} s after it was given up")
    part.delete(loans)
    part.law_held()


def part_takeover(part):
    """None -> Hold -> None with jobs that run: they go on, and who has the say admits."""
    part.begin()
    cluster, watch = part.cluster, part.watch

    def hold(policy):
        for name in TEAMS:
            set_queue(cluster, name, stopPolicy=policy)

    theirs = part.submit("team-b", 6)
    part.runs(theirs, "Kueue admits")
    part.check(wait_for(lambda: len(part.run_pods(theirs)) == 6, PATIENCE), "they run")
    part.check(not part.governor.log("release"), "and allot does not")
    before = part.run_pods(theirs)
    hold("Hold")
    ours = part.submit("team-b", 5)
    part.runs(ours, "allot admits")
    managers = [condition(watch.jobs[one].object, "QuotaReserved")["message"] for one in ours]
    part.check(all("allot" in message for message in managers), f"it was allot: {managers}")
    part.check(part.run_pods(theirs) == before, "what runs goes on")
    # Also what Kueue has admitted is given back to owners.
    owners = part.submit("team-c", 6, seconds=5) + part.submit("team-a", 4, seconds=5)
    part.runs(owners, "owners get theirs")
    part.drain()
    part.uses("team-b", 88, "who yielded comes back")
    part.check(wait_for(lambda: len(part.run_pods(theirs + ours)) == 11, PATIENCE), "they run")
    before, count = part.run_pods(theirs + ours), len(part.governor.log("release"))
    watch.has_law = False
    hold("None")
    watch.idle(3)
    part.check(part.run_pods(theirs + ours) == before, f"given back, all go on: {len(part.run_pods(theirs + ours))} of {len(before)} pods")
    owners = part.submit("team-c", 4, seconds=5)
    part.runs(owners, "Kueue admits again")
    part.check(len(part.governor.log("release")) == count, "and allot does not")
    part.drain()
    part.delete(theirs + ours)
    part.law_held()


RACK = "allot/rack"


def on_racks():
    """12 nodes in three racks of a flavor with a topology, where team-a and team-b own 96 GPUs, and four nodes of another flavor."""
    levels = [{"nodeLabel": label} for label in ("allot/block", RACK, "kubernetes.io/hostname")]
    made = [named("Topology", "dc", spec={"levels": levels}), flavor("racks", {"allot/pool": "racks"}, "dc"), flavor("plain", {"allot/pool": "plain"}),
            priority_class("high", 1000), priority_class("low", 10)]
    for name, gpus, of in (("team-a", 64, "racks"), ("team-b", 32, "racks"), ("team-c", 32, "plain")):
        made += [governed_queue(name, gpus, cohort=of, flavors=[of]), local_queue(name)]
    label = lambda i: {"allot/block": f"b{i // 8 + 1}", RACK: f"r{i // 4 + 1}", "allot/pool": "racks" if i < 12 else "plain"}
    return {"objects": made, "labels": label}


def asks(kind, level=RACK, gpus=8, seconds=None):
    """The template of pods with a request for a topology: required, preferred."""
    return pod_template(gpus, seconds, {f"kueue.x-k8s.io/podset-{kind}-topology": level})


def part_topology(part):
    """Pods that ask for a rack are on one; none has what another has; nodes fail, and the governor is killed."""
    part.begin(policy="kueue")
    cluster, watch, chance = part.cluster, part.watch, part.random
    rack = {name: cluster.labels(i)[RACK] for i, name in enumerate(cluster.names)}

    def places(job):
        """Of its pods that have not ended, where each is bound."""
        return [pod["spec"].get("nodeName") for pod in cluster.pods().values() if pod["metadata"]["labels"].get("job-name") == job
                and pod["status"].get("phase") not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]]

    def bound(job, pods):
        return wait_for(lambda: len(places(job)) == pods and None not in places(job), PATIENCE)

    def in_one_rack(job, pods, what):
        there = bound(job, pods)
        racks = {rack.get(node) for node in places(job)}
        part.check(there and len(racks) == 1 and racks <= {"r1", "r2", "r3"}, f"{what}: {job} is in one rack: {places(job)}")

    # Half of each of two racks is in use by pods that Kueue does not know.
    others = [named("Pod", f"other-{i}", "v1", "default", {"of": "nobody"}, spec={**pod_template(8)["spec"], "nodeSelector": {"kubernetes.io/hostname": node}})
              for i, node in enumerate(("n1", "n2", "n5", "n6"))]
    cluster.create(*others)
    part.check(wait_for(lambda: sum(cluster.gpus_used().values()) == 32, PATIENCE), "pods of nobody run")
    whole = part.submit("team-a", pods=4, template=asks("required"))
    part.runs(whole, "a rack is free")
    in_one_rack(whole[0], 4, "required")
    more = part.submit("team-a", pods=4, template=asks("required"))
    watch.idle(4)
    told = cluster.kubectl("describe", "workload", watch.jobs[more[0]].name).stdout
    part.check(watch.jobs[more[0]].state == "pending" and "one domain" in told, f"it waits for a rack, and says so: {part.told(more)}")
    part.say(f"it says: {watch.jobs[more[0]].why}")
    # One that prefers a rack takes what there is; one of the other flavor is none of this.
    loose = part.submit("team-a", pods=4, template=asks("preferred"))
    part.runs(loose, "who only prefers a rack starts")
    part.check(bound(loose[0], 4), f"and is bound: {places(loose[0])}")
    plain = part.submit("team-c", 2, pods=2)
    part.runs(plain, "the other flavor")
    part.check(all(bound(one, 2) and {rack[node] for node in places(one)} == {"r4"} for one in plain), f"it is on its own nodes: {[places(one) for one in plain]}")
    for one in others:
        cluster.api("DELETE", f"/api/v1/namespaces/default/pods/{one['metadata']['name']}", {"gracePeriodSeconds": 0})
    part.delete(loose)
    part.runs(more, "a rack is free again")
    in_one_rack(more[0], 4, "required, after it waited")
    near = part.submit("team-b", pods=4, template=asks("preferred"))
    part.runs(near, "room for who prefers a rack")
    in_one_rack(near[0], 4, "preferred, where there is room")
    slices = cluster.submit("never", "team-a", pods=4, template=pod_template(8, None, {
        "kueue.x-k8s.io/podset-slice-required-topology": "kubernetes.io/hostname", "kueue.x-k8s.io/podset-slice-size": "2"}))
    part.check(watch.until(lambda now: slices in now and "refused" in now[slices].why, PATIENCE), f"two pods of a node each do not fit on any: {part.told([slices])}")
    part.delete([slices])
    # A restart moves nobody, and places nobody on them.
    runs = whole + more + near
    before, was = {one: sorted(places(one)) for one in runs}, part.run_pods(runs)
    part.governor.kill()
    late = part.submit("team-b", pods=4, gpus=4, template=asks("required", gpus=4))
    part.governor.start()
    watch.idle(5)
    part.check({one: sorted(places(one)) for one in runs} == before and part.run_pods(runs) == was, "after a restart all are where they were")
    part.check(watch.jobs[late[0]].state == "pending", f"and nobody is placed on them: {part.told(late)}")
    part.delete(late)
    # A node fails: who is there starts elsewhere, as a whole.
    part.delete(near)
    watch.until(lambda now: near[0] not in now, PATIENCE)
    wait_for(lambda: not places(near[0]), PATIENCE)
    lost = places(whole[0])[0]
    cluster.fail_node(lost)
    part.check(wait_for(lambda: len(places(whole[0])) == 4 and None not in places(whole[0]) and lost not in places(whole[0]), 60),
               f"after {lost} has failed it runs elsewhere: {places(whole[0])} {part.told(whole)}")
    in_one_rack(whole[0], 4, "after a node failed")
    cluster.return_node(lost)
    part.delete(whole + more + plain)
    # Many of all kinds, while the governor is killed.
    made = []

    def some():
        kind, gpus = chance.choice(["required", "preferred", "required", None]), chance.choice([1, 2, 4, 8])
        queue = chance.choice(["team-a", "team-b"])
        template = asks(kind, chance.choice([RACK, "allot/block"]), gpus, chance.randint(2, 6)) if kind else None
        made.extend(part.submit(queue, pods=chance.choice([1, 2, 4]), gpus=gpus, seconds=chance.randint(2, 6), template=template,
                                priority=chance.choice([None, "low", "high"])))

    def again():
        part.governor.kill()
        part.governor.start()

    part.storm(25, [*[(chance.uniform(0, 25), some) for _ in range(30)], *[(at, again) for at in (8, 16)]], jobs=0)
    part.drain()
    part.law_held()
    part.replays()


def audited():
    """Writes of the user allot are in the audit log."""
    path = os.path.join("/tmp", f"allot-audit-{os.getpid()}")
    with open(path + ".json", "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
            {"level": "Metadata", "users": ["allot"], "verbs": ["create", "update", "patch", "delete", "deletecollection"]}, {"level": "None"}]}, file)
    return {"options": {"apiserver": [f"--audit-policy-file={path}.json", f"--audit-log-path={path}.log"]}}


def part_observe(part):
    """With --observe nothing is written; and a governor that has nothing to do writes nothing for a minute."""
    log = os.path.join("/tmp", f"allot-audit-{os.getpid()}.log")
    try:
        part.begin(options=["--observe"])
        watch = part.watch
        loans = part.submit("team-b", 14)
        wrote = lambda: read(log).count("\n")
        versions = lambda: {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in part.cluster.list(WORKLOADS)}
        part.check(wait_for(lambda: len(part.governor.log("release")) >= 11, PATIENCE), f"it logs what it would do: {part.governor.text()[-500:]}")
        # Kueue has something to say of new Workloads, once.
        watch.idle(3)
        before = versions()
        watch.idle(5)
        part.check(wrote() == 0 and versions() == before, f"nothing is written: {read(log)[:600]}")
        part.check(not watch.used(), f"nobody is admitted: {watch.used()}")
        part.check(part.governor.stop() == 0, "it ends")
        acts = part.add_governor("acts", options=["--lease", LEASE])
        acts.start()
        part.uses("team-b", 88, "the same without --observe admits")
        watch.idle(8)
        part.check(wrote() > 11, f"and its writes are in the audit log: {wrote()}")
        before, count = versions(), wrote()
        watch.idle(60, 1)
        now = versions()
        part.check(now == before, f"in an idle minute no Workload changes: {[name for name in now if now[name] != before.get(name)]}")
        written = [json.loads(line)["objectRef"]["resource"] for line in read(log).splitlines()[count:]]
        part.check(set(written) <= {"leases"}, f"nor is anything written but the Lease: {collections.Counter(written)}")
        part.delete(loans)
        part.law_held()
    finally:
        for end in (".json", ".log"):
            if os.path.exists(log[:-4] + end):
                os.remove(log[:-4] + end)


def bare_workload(name, queue, pods, gpus, priority):
    """Without a job: nobody starts or stops anything."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "resources": {"requests": {GPU: str(gpus)}}}]}}
    return named("Workload", name, namespace="default", spec={
        "queueName": queue, "priority": priority, "active": True, "podSets": [{"name": "main", "count": pods, "template": template}]})


def admit(cluster, name, queue, flavor_name, pods, gpus):
    """As Kueue does."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = [{"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": now} for kind in ("QuotaReserved", "Admitted")]
    assigned = {"name": "main", "flavors": {GPU: flavor_name}, "resourceUsage": {GPU: str(pods * gpus)}, "count": pods}
    cluster.call("PATCH", f"{WORKLOADS}/{name}/status?fieldManager=kueue-admission&force=true", content="apply-patch", body=named(
        "Workload", name, namespace="default", status={"admission": {"clusterQueue": queue, "podSetAssignments": [assigned]}, "conditions": conditions}))


def part_import(part):
    """What `allot import kueue` and `allot decide` make of a cluster is what Kueue itself admits and preempts next."""
    allot = os.environ.get("ALLOT") or os.path.join(TOP, "build/release/allot")
    part.check(os.access(allot, os.X_OK), f"the program {allot} is there")
    cluster, chance = part.cluster, part.random
    part.governors = []
    dump = lambda: {kind: cluster.list(f"/apis/{GROUP}/{kind}") for kind in ("clusterqueues", "localqueues", "workloads")}
    states = []
    for number in range(part.states):
        # Without its flavor a ClusterQueue is inactive; with it, all of a cohort are active at the same time.
        preempts, name = number % 2 == 1, f"s{number}"
        queues = [f"{name}-{i}" for i in range(chance.randint(1, 4))]
        # From the end: those of what runs, then, in states with preemptions mostly higher ones, those of what waits.
        priorities = chance.sample(range(100), 40)
        if preempts and chance.random() < 0.8:
            priorities.sort(reverse=True)
        for queue in queues:
            one = cluster_queue(queue, chance.choice([4, 8, 16, 24]), cohort=name, hold=False, flavors=[name])
            one["spec"]["preemption"] = {
                "reclaimWithinCohort": chance.choice(["Never", "LowerPriority", "Any"]) if preempts else "Never",
                "withinClusterQueue": chance.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]) if preempts else "Never"}
            one["spec"]["queueingStrategy"] = chance.choice(["StrictFIFO", "BestEffortFIFO"])
            limits = one["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
            limits.update({key: chance.choice([0, 2, 4]) for key in ("borrowingLimit", "lendingLimit") if chance.random() < 0.25})
            cluster.create(one, local_queue(queue))
        law = Law(quotas_of([cluster.call("GET", f"/apis/{GROUP}/clusterqueues/{queue}") for queue in queues]))
        used = collections.Counter()
        for i in range(chance.randint(6, 12) if preempts else chance.randint(0, 8)):
            queue, pods, gpus = chance.choice(queues), chance.randint(1, 4), chance.choice([1, 2, 4])
            after = used + collections.Counter({queue: pods * gpus})
            if not law.shortfalls(after):
                cluster.create(bare_workload(f"{name}-r{i}", queue, pods, gpus, priorities.pop()))
                admit(cluster, f"{name}-r{i}", queue, name, pods, gpus)
                used = after
        for i in range(1 if preempts else chance.randint(1, 8)):
            cluster.create(bare_workload(f"{name}-w{i}", chance.choice(queues), chance.randint(1, 4), chance.choice([1, 2, 4]), priorities.pop()))
        states.append((name, preempts))
    time.sleep(2)
    before = dump()
    for name, _ in states:
        cluster.create(flavor(name))

    def decided():
        now = {one["metadata"]["name"]: workload_of(one) for one in cluster.list(WORKLOADS)}
        return {name: one.state for name, one in now.items()}

    # A slow Kueue has come to all of them once it admits what comes last; then, until nothing has changed for five seconds.
    cluster.create(flavor("last"), cluster_queue("last", 8, cohort="last", hold=False, flavors=["last"]), local_queue("last"))
    cluster.create(bare_workload("last", "last", 1, 1, 0))
    part.check(wait_for(lambda: decided()["last"] == "admitted", 120), "Kueue admits what comes last")
    last, since = decided(), time.monotonic()
    while time.monotonic() - since < 5:
        time.sleep(0.5)
        now = decided()
        if now != last:
            last, since = now, time.monotonic()
    agree = 0
    for name, preempts in states:
        mine = lambda one: one["metadata"]["name"].startswith(f"{name}-")
        items = [flavor(name)]
        for kind in before:
            for one in filter(mine, before[kind]):
                one = dict(one, apiVersion=GROUP, kind={"clusterqueues": "ClusterQueue", "localqueues": "LocalQueue", "workloads": "Workload"}[kind])
                # They are inactive as long as the flavor is missing.
                items.append({key: value for key, value in one.items() if key != "status" or kind == "workloads"})
        objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        imported = cluster.run(allot, "import", "kueue", "-", input=objects, check=False)
        told = cluster.run(allot, "decide", *([] if preempts else ["--rounds", "50"]), "-", input=imported.stdout, check=False)
        if imported.returncode or told.returncode:
            part.check(False, f"{name}: {imported.stderr} {told.stderr}")
            continue
        ours = json.loads(told.stdout)
        plain = lambda text: text.rpartition("/")[2]
        theirs = {"admit": sorted(one for one, state in last.items() if one.startswith(f"{name}-w") and state == "admitted"),
                  "evict": sorted(one for one, state in last.items() if one.startswith(f"{name}-r") and state == "evicted")}
        ours = {key: sorted(plain(one["id"]) for one in ours[key]) for key in theirs}
        agree += ours == theirs
        if ours != theirs:
            part.say(f"{name}: allot {ours}, Kueue {theirs}")
            if part.keep:
                os.makedirs(part.keep, exist_ok=True)
                with open(os.path.join(part.keep, f"import-{name}.json"), "w", encoding="utf-8") as file:
                    file.write(objects)
    admitted, waits = (sum("-w" in name and state == of for name, state in last.items()) for of in ("admitted", "pending"))
    evicted = sum(state == "evicted" for state in last.values())
    part.check(min(admitted, waits, evicted) > 0, "Kueue admits, preempts and lets wait")
    part.say(f"in {len(states)} states Kueue admits {admitted}, preempts {evicted}, and {waits} wait")
    part.check(agree == len(states), f"of {len(states)} states allot decides {agree} as Kueue does")


def soak_teams():
    return {"objects": objects({f"team-{name}": (gpus, {}) for name, gpus in zip("abcde", (16, 24, 24, 32, 32))})}


def part_soak(part):
    """Many short jobs of five teams, as many waiting as users like."""
    part.begin()
    watch, chance = part.watch, part.random
    begin, made = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(8) as many:
        while made < part.jobs:
            # Bursts of one team each, so that all borrow and all are reclaimed from.
            team = f"team-{chance.choice('abcde')}"
            burst = [{"gpus": chance.choice([1, 1, 2, 4, 8]), "pods": chance.choice([1, 1, 1, 2]), "seconds": chance.randint(1, 4)}
                     for _ in range(min(chance.randint(1, 40), part.jobs - made))]
            names = [f"{team[5:]}{made + i}" for i in range(len(burst))]
            list(many.map(lambda name, one: part.cluster.submit(name, team, ttlSecondsAfterFinished=120, **one), names, burst))
            made += len(burst)
            watch.until(lambda now: len(watch.pending()) < 200, 300, 1)
    over = watch.until(lambda now: len(watch.finished) == made, 600, 1)
    part.check(over, f"every Workload finishes once: {len(watch.finished)} of {made}; {part.told(watch.pending()[:5])} wait, {part.told(watch.running()[:5])} run")
    taken = time.monotonic() - begin
    evicted = len(part.governor.log("evict"))
    part.say(f"{made} jobs in {taken:.0f} s, {evicted} evictions, at most {watch.most} GPUs, {watch.polls} polls")
    part.check(evicted > 0, "something was reclaimed")
    part.law_held()
    part.replays()


# What is special about the clusters of some parts.
SPECIAL = {"takeover": lambda: {"objects": objects(TEAMS, hold=False)}, "observe": audited, "topology": on_racks, "soak": soak_teams, "import": lambda: {"objects": []}}
# Those that take longest first.
PARTS = ["faults", "observe", "topology", "restarts", "two", "changes", "sharing", "nodes", "killed", "takeover", "import"]


if __name__ == "__main__":
    sys.exit(main(__doc__, Part, PARTS, {"jobs": (5000, "of the soak"), "kills": (5, "of the governor, in the part killed"),
                                            "seconds": (90, "of the part faults"), "states": (100, "of the part import")}))
