#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""allot-slurm on real Slurm clusters, seen from outside: what counts is what squeue says.

    python3 real_cluster.py [--seed N] [--keep DIR] [PART...]    the parts, three at a time; or those named
    python3 real_cluster.py --soak [--jobs 2000]                 many short jobs of five accounts

The last line is "N passed, N failed".
"""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))

from cluster import Cluster, Interrupted, missing  # noqa: E402
from governor import TOP, Governor, Ledger, configuration, program, step_clock, stepped_clock, wait_for  # noqa: E402
from parts import Checks, main  # noqa: E402
from watch import Watch  # noqa: E402

TEAMS = [
    {"name": "all", "nominal": {"gpu": 128}, "inclusive": True},
    {"name": "a", "parent": "all", "nominal": {"gpu": 32}},
    {"name": "b", "parent": "all", "nominal": {"gpu": 48}, "borrow": {"gpu": 40}},
    {"name": "c", "parent": "all", "nominal": {"gpu": 48}, "lend": {"percent": 50}},
]
ACCOUNTS = {"team-a": "a", "team-b": "b", "team-c": "c"}
USERS = {"team-a": "ana", "team-b": "ben", "team-c": "carla"}
# What kubelets and node_exporter read: name{label="value",...} number.
METRIC = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? -?(\d+(\.\d+)?(e[+-]?\d+)?|NaN|[+-]Inf)')
LOG_LINE = re.compile(r"\S*\d\S* [a-z]+( .*)?")


class Part(Checks):
    """One cluster with one governor, and what was found."""

    def __init__(self, name, seed, keep):
        super().__init__(name, seed, keep)
        self.rounds = 4

    def begin(self, quotas=None, accounts=None, policy="standard", start=True, resources=("gpu",), environment=None, **slurm):
        quotas = quotas or TEAMS
        accounts = accounts or ACCOUNTS
        config = dict(configuration(self.cluster, quotas, accounts, policy, **slurm), resources=list(resources))
        self.governor = Governor(self.cluster, config, environment=environment)
        self.ledger = Ledger(self.cluster)
        self.watch = Watch(self.cluster, quotas, accounts, self.cluster.nodes * self.cluster.gpus)
        # After its start slurmctld takes some seconds before it starts jobs.
        time.sleep(3)
        if start:
            self.governor.start()

    def submit(self, account, gpus=8, nodes=1, seconds=600, on_term="die", user=None, options=(), check=True):
        return self.cluster.submit(account, gpus=gpus, nodes=nodes, user=user or USERS.get(account, "ben"), check=check,
                                   script=self.ledger.script(seconds, on_term), options=options)

    def runs(self, jobs, seconds=20):
        return self.watch.until(lambda now: all(job in now and now[job].state == "RUNNING" for job in jobs), seconds)

    def state(self, job):
        return self.watch.jobs[job].state if job in self.watch.jobs else "unknown"

    def is_stranded(self, job):
        """A heterogeneous job of which Slurm has requeued one component, whose node failed, while another came to its end:
        Slurm never starts it again, and the governor says so."""
        return job in self.watch.jobs and "Slurm never starts it" in self.watch.jobs[job].comment

    def drain(self, jobs, seconds):
        """Waits until none of the jobs is pending or has nodes, but those that are stranded."""
        over = lambda now: all(self.is_stranded(job) or job in now and now[job].state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")
                               for job in jobs)
        return self.watch.until(over, seconds, 0.3)

    def ended_once(self, jobs, upset=()):
        begun = self.ledger.read()
        purged = {job for job in self.cluster.purged_scripts() if self.state(job) == "FAILED" and job not in begun}
        if purged:
            self.say(f"slurmd removed the scripts of {purged} before they began")
        problems = self.ledger.problems(set(jobs) - purged, self.watch.last_restart, upset)
        self.check(not problems, "every job ends exactly once: " + "; ".join(problems[:5]))

    def law_held(self):
        self.check(self.watch.polls > 10, f"squeue was read ({self.watch.polls} times)")
        self.check(not self.watch.violations, "the law at every poll: " + "; ".join(self.watch.violations[:5]))

    def files_are_harmless(self):
        text = self.governor.text()
        bad = [line for line in text.split("\n") if line and not LOG_LINE.fullmatch(line)]
        self.check(not bad, f"the log has one line a decision: {bad[:3]!r}")
        strange = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff]", text)
        self.check(not strange, f"no control character in the log: {strange and text[strange.start() - 60:strange.end() + 20]!r}")
        metrics = read(self.governor.config["slurm"]["metrics"])
        bad = [line for line in metrics.split("\n") if line and not line.startswith("# ") and not METRIC.fullmatch(line)]
        self.check(metrics and not bad, f"the metrics are Prometheus text: {bad[:3] or 'no file'!r}")
        self.check("\udc80" not in metrics and metrics.isprintable() or not re.search(r"[\x00-\x08\x0b-\x1f\udc80-\udcff]", metrics),
                   "no control character in the metrics")

    def replays(self):
        events = self.governor.config["slurm"]["events"]
        told = self.governor.call("replay-log", "--config", self.governor.config_path, events)
        self.check(told.returncode == 0, f"replay-log gives the same plans: {told.returncode}: {(told.stdout + told.stderr)[-600:]}")

    def run(self):
        begin, clock = time.monotonic(), None
        try:
            special = SPECIAL[self.name]() if self.name in SPECIAL else {}
            options = dict({"MinJobAge": 600}, **special.pop("options", {}))
            clock = special.get("daemons", {}).get("STEPPED_CLOCK")
            with Cluster(nodes=16, gpus=8, options=options, **special) as self.cluster:
                try:
                    globals()[f"part_{self.name}"](self)
                    if self.governor.alive():
                        status = self.governor.stop()
                        self.check(status == 0, f"SIGTERM ends it with status 0, not {status}")
                finally:
                    if self.keep:
                        os.makedirs(self.keep, exist_ok=True)
                        for name in sorted(os.listdir(self.governor.directory)):
                            path = os.path.join(self.governor.directory, name)
                            if os.path.isfile(path):
                                shutil.copyfile(path, os.path.join(self.keep, f"{self.name}-{name}"))
                        shutil.copyfile(self.cluster.path("slurmctld.txt"), os.path.join(self.keep, f"{self.name}-slurmctld.txt"))
        except Interrupted:
            raise
        except Exception:  # what went wrong counts as a failure, and the other parts go on
            self.check(False, traceback.format_exc())
        finally:
            if clock:
                shutil.rmtree(os.path.dirname(clock), ignore_errors=True)
        self.say(f"{self.passed} passed, {len(self.failures)} failed, {time.monotonic() - begin:.0f} s")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def of_placed():
    """Four switches of four nodes; the first eight nodes have other GPUs than the rest; QOS, where slurmdbd is there."""
    leaves = [f"SwitchName=s{i} Nodes=n[{4 * i - 3}-{4 * i}]" for i in range(1, 5)]
    accounting = [f"add account {account}" for account in ACCOUNTS]
    accounting += [f"add user {user} account={account}" for account, user in USERS.items()]
    accounting += ["add qos high", "add qos low", "add qos small GrpTRES=gres/gpu=8",
                   f"modify user {','.join(USERS.values())} set qos+=high,low,small"]
    limits = {"AccountingStorageTRES": "gres/gpu", "AccountingStorageEnforce": "associations,limits,qos"}
    return {"options": dict({"TopologyPlugin": "topology/tree"}, **({} if missing(accounting=True) else limits)), "topology": leaves + ["SwitchName=top Switches=s[1-4]"],
            "models": ["a100", "h100"], "accounting": None if missing(accounting=True) else accounting}


def of_clocks():
    """All daemons have one clock. Their own timeouts are longer than the steps."""
    path = os.path.join(tempfile.mkdtemp(prefix="allot-clock-"), "machine")
    return {"options": {"SlurmdTimeout": 30000, "SlurmctldTimeout": 30000}, "daemons": stepped_clock(path)}


# What is special about the clusters of some parts.
SPECIAL = {"lawless": lambda: {"lua": None}, "guide": lambda: {"lua": None}, "placed": of_placed, "clocks": of_clocks}

# --- the parts ------------------------------------------------------------------------------------------------------


def part_sharing(part):
    """Borrow, reclaim, the parent's turn, and a job that can't be requeued."""
    part.begin()
    watch = part.watch
    loans = [part.submit("team-b", on_term=way) for way in ["die", "ignore", "wait"] * 4 + ["die"] * 2]
    # 48 of its own and 40 that it may borrow.
    part.check(watch.until(lambda now: watch.used(now)["b"] == 88, 20), f"b borrows up to its limit: {watch.used()}")
    watch.idle(3)
    part.check(watch.used()["b"] == 88, f"b stays at its limit: {watch.used()}")
    waiting = watch.pending("team-b")
    part.check(waiting and all(watch.jobs[job].comment and watch.jobs[job].admin_comment for job in waiting),
               f"why a job waits stands in its comment: {[watch.jobs[job].comment for job in waiting]}")
    # 24 of c's 48 are lent; 40 are left, and the rest of what c asks for comes from b. In 8 GPUs each: six jobs.
    owners = [part.submit("team-c", seconds=20) for _ in range(6)]
    begin = time.monotonic()
    part.check(part.runs(owners), f"the owner gets its own back: {[part.state(job) for job in owners]}")
    part.say(f"the owner's jobs ran after {time.monotonic() - begin:.1f} s")
    fixed = part.submit("team-b", gpus=8, options=["--no-requeue"])
    watch.idle(3)
    part.check(part.state(fixed) == "PENDING", f"what can't be requeued is never on loan: {part.state(fixed)}")
    theirs = [part.submit("team-a", seconds=10) for _ in range(4)]
    part.check(part.runs(theirs), f"another owner, too: {[part.state(job) for job in theirs]}")
    part.check(watch.until(lambda now: watch.used(now)["b"] == 48, 15), f"b keeps what it owns: {watch.used()}")
    warned = {line.values.get("job") for line in part.governor.log("warn")}
    requeued = {line.values.get("job") for line in part.governor.log("requeue")}
    evicted = {str(job.id) for job in watch.jobs.values() if job.restarts > 0}
    part.check(evicted and evicted <= requeued <= warned | requeued and evicted <= warned,
               f"who was evicted {sorted(evicted)} was warned {sorted(warned)} and requeued {sorted(requeued)}")
    # c and a end, and b comes back.
    part.check(watch.until(lambda now: watch.used(now)["b"] >= 80, 40), f"b comes back: {watch.used()}")
    for job in loans + [fixed]:
        part.cluster.run("scancel", str(job), check=False)
    part.check(part.drain(owners + theirs, 40), "the owners' jobs end")
    part.ended_once(owners + theirs)
    part.law_held()
    part.files_are_harmless()
    part.replays()
    # The test of the test: other events, other plans.
    events = part.governor.config["slurm"]["events"]
    lines = read(events).split("\n")
    with open(events + ".cut", "w", encoding="utf-8") as file:
        file.write("\n".join(lines[:len(lines) // 3] + lines[len(lines) // 2:]))
    told = part.governor.call("replay-log", "--config", part.governor.config_path, events + ".cut")
    part.check(told.returncode != 0, "replay-log of events that miss some is no success")


def part_storm(part):
    """Random jobs for a minute, while the governor is killed twenty times, slurmctld restarts and three nodes fail."""
    part.begin()
    watch, governor, chance = part.watch, part.governor, part.random
    length = 60.0
    kills = sorted(chance.uniform(1, length) for _ in range(20))
    deeds = [(at, "kill") for at in kills]
    nodes = chance.sample(part.cluster.names, 3)
    for name in nodes:
        at = chance.uniform(8, length - 20)
        deeds += [(at, f"fail {name}"), (at + chance.uniform(6, 15), f"return {name}")]
    deeds += [(length / 3, "restart"), (2 * length / 3, "freeze")]
    deeds += [(chance.uniform(0, length), "submit") for _ in range(130)]
    deeds += [(chance.uniform(10, length), "cancel") for _ in range(5)]
    deeds += [(chance.uniform(10, length), "requeue") for _ in range(4)]
    deeds.sort()
    begin, restart_at, jobs, cancelled, fixed, upset = time.monotonic(), None, [], set(), set(), set()
    for at, what in deeds:
        while time.monotonic() - begin < at:
            if restart_at is not None and time.monotonic() > restart_at:
                governor.start()
                restart_at = None
            watch.poll()
            time.sleep(0.15)
        deed, _, name = what.partition(" ")
        if deed == "kill":
            if governor.alive():
                governor.kill()
            else:
                part.check(restart_at is not None, f"the governor is alive: {governor.text()[-800:]}")
            restart_at = time.monotonic() + chance.uniform(0, 1)
        elif deed == "fail":
            watch.poll()
            upset |= set(watch.running())
            part.cluster.fail_node(name)
        elif deed == "return":
            part.cluster.return_node(name)
        elif deed == "restart":
            part.cluster.stop_controller(signal.SIGTERM)
            time.sleep(2)
            part.cluster.start_controller()
        elif deed == "freeze":
            part.cluster.stop_controller_for(4)
        elif deed == "cancel" and jobs:
            job = chance.choice(jobs)
            cancelled.add(job)
            part.cluster.run("scancel", str(job), check=False)
        elif deed == "requeue" and watch.running():
            job = chance.choice(watch.running())
            upset.add(job)
            part.cluster.run("scontrol", "requeue", str(job), check=False)
        elif deed == "submit":
            nodes_wanted = chance.choice([1, 1, 1, 1, 2, 3])
            options = ["--no-requeue"] if chance.random() < 0.15 else []
            gpus = chance.choice([1, 2, 4, 8, 8])
            if not options and chance.random() < 0.15:
                # A leader without GPUs, and workers.
                options, nodes_wanted, gpus = [":", f"--nodes={nodes_wanted}", f"--gres=gpu:{gpus}"], 1, 0
            job = part.submit(chance.choice(list(ACCOUNTS)), gpus=gpus, nodes=nodes_wanted,
                              seconds=chance.randint(1, 9), on_term=chance.choice(["die", "ignore", "wait"]), options=options)
            jobs.append(job)
            if "--no-requeue" in options:
                fixed.add(job)
    if not governor.alive():
        governor.start()
    part.check(part.drain(jobs, 90), "all jobs come to their end: " + str(
        [(job, part.state(job), watch.jobs[job].comment) for job in jobs if part.state(job) in ("PENDING", "RUNNING")][:5]))
    part.say(f"{len(jobs)} jobs, {len(kills)} kills, {nodes} failed, at most {watch.most} GPUs, {watch.polls} polls, "
             f"{watch.unread} without an answer, {sum(job.restarts for job in watch.jobs.values())} requeues")
    # A node that fails takes with it what can't be requeued.
    lost = {job for job in fixed if part.state(job) == "NODE_FAIL"} | {job for job in jobs if part.is_stranded(job)}
    part.check(len(lost) < len(jobs) / 4, f"few jobs were lost with a node: {lost}")
    part.ended_once([job for job in jobs if job not in cancelled | lost], upset)
    part.law_held()
    # Slurm may have lost count: of a requeued job whose last node failed before it was clean.
    lost = {node: gpus for node, gpus in part.cluster.gpus_used().items() if gpus > 0}
    if lost and not watch.running():
        told = lambda: {line.values["node"]: int(line.values["lost_gpus"]) for line in governor.log("node") if "lost_gpus" in line.values}
        part.check(wait_for(lambda: told().items() >= lost.items(), 15), f"the governor says which GPUs are lost: {lost}, not {told()}")
    part.check(part.governor.log("adopt"), "a restarted governor adopts what runs")
    part.files_are_harmless()
    part.replays()


def part_hostile(part):
    """What users may do and should not."""
    # d owns eight GPUs and neither lends nor borrows, whatever its jobs claim.
    quotas = copy.deepcopy(TEAMS[:1]) + [dict(TEAMS[1], access={"roles": ["a-member"]}), dict(TEAMS[2], nominal={"gpu": 40}),
                                         TEAMS[3], {"name": "d", "parent": "all", "nominal": {"gpu": 8}, "static": True}]
    part.begin(quotas, dict(ACCOUNTS, **{"team-d": "d"}))
    cluster, watch = part.cluster, part.watch
    nasty = ["a\nb\r\nc", "<script>alert(1)</script>", "\"'`$(reboot)\\", "\x1b[31m\x07\x7f", "x" * 4000, "\udcff\udcfe",
             "}\nallot_gpus{quota=\"b\"} 7", "%s%n%x", "‮ùñí"]
    odd = cluster.path("dir\n<b>\"'")
    os.mkdir(odd)
    os.chmod(odd, 0o777)
    jobs = []
    for text in nasty:
        jobs.append(part.submit("team-b", gpus=1, seconds=30, options=[f"--comment={text}", f"--job-name={text}"], check=False))
        part.submit(text, gpus=1, seconds=30, check=False)
    jobs.append(part.submit("team-b", gpus=1, seconds=30, options=[f"--chdir={odd}"], check=False))
    part.check(part.runs([job for job in jobs if job], 30),
               f"jobs with odd names run like others: {[(job, part.state(job)) for job in jobs]}")
    own = [job for job in jobs if job and watch.jobs[job].comment.startswith("<script>")]
    part.check(own, "a user's own comment stays")
    # An account without a quota: held, and its user can read why.
    stray = part.submit("nowhere", gpus=1)
    part.check(watch.until(lambda now: stray in now and now[stray].comment, 10), "a job without a quota is told so")
    part.check(part.state(stray) == "PENDING" and watch.jobs[stray].priority == 0, "a job without a quota stays held")
    without = part.submit("team-a", gpus=1, user="mallory")
    part.check(watch.until(lambda now: without in now and now[without].comment, 10), "who has no role is told so")
    part.check(part.state(without) == "PENDING", "who has no role doesn't run")
    huge = part.submit("team-d", gpus=8, nodes=2)
    part.check(watch.until(lambda now: huge in now and now[huge].comment, 10), "a job that is too large is told so")

    # One's own held job. The message of job_submit.lua is for the user.
    told = cluster.run("scontrol", "release", str(huge), user="ben", check=False)
    part.check(told.returncode != 0, "a user can't release his own held job")
    told = cluster.run("scontrol", "update", f"jobid={huge}", "priority=100", user="ben", check=False)
    part.check(told.returncode != 0, "nor give it a priority")
    watch.idle(2)
    part.check(part.state(huge) == "PENDING", "it stays held")
    # Root can: it is held again, or if it has started by then, it counts and its quota gets nothing more.
    watch.transition(quotas, 6)
    cluster.run("scontrol", "release", str(huge))
    watch.idle(6)
    noticed = [line for line in part.governor.log() if line.word in ("hold", "adopt") and line.values.get("job") == str(huge)]
    part.check(noticed, "a job that was released past the governor is noticed")
    if part.state(huge) == "PENDING":
        part.check(watch.jobs[huge].priority == 0, f"and held again: {watch.jobs[huge]}")
    more = part.submit("team-d", gpus=1)
    watch.idle(2)
    part.check(part.state(huge) == "PENDING" or part.state(more) == "PENDING", "a quota above its limits gets nothing more")
    cluster.run("scancel", str(more))
    cluster.run("scancel", str(huge))

    # Altered after admission: it gives nodes back, and others may have them.
    shrinking = part.submit("team-d", gpus=2, nodes=4)
    part.check(part.runs([shrinking]), f"a job of four nodes runs: {part.state(shrinking)}")
    part.check(watch.jobs[shrinking].gpus == 8, f"it gets what it asked for, 2 GPUs on each of 4 nodes: {watch.jobs[shrinking]}")
    after = part.submit("team-d", gpus=4)
    watch.idle(2.5)
    part.check(part.state(after) == "PENDING", f"its quota is full: {part.state(after)}")
    told = cluster.run("scontrol", "update", f"jobid={shrinking}", "numnodes=2", user="ben", check=False)
    part.check(part.runs([after], 15) or told.returncode != 0, f"what it gave back is noticed: {part.state(after)} {told.stderr}")
    for change in ("timelimit=1", "gres=gpu:1", "numnodes=1", "account=team-b", "requeue=0", "nice=100", "comment=mine\nagain",
                   "name=<i>", "features=x", "reqnodelist=n1", "starttime=now+1hour", "dependency=afterany:1", "partition=none"):
        cluster.run("scontrol", "update", f"jobid={after}", change, user="ben", check=False)
    watch.idle(1)
    part.check(watch.jobs[after].account == "team-d", "what is admitted stays charged to its account")
    # Still held and without nodes, everything about it may change; it is decided as it is then.
    waiting = part.submit("team-d", gpus=8)
    watch.idle(1.5)
    told = cluster.run("scontrol", "update", f"jobid={waiting}", "gres=gpu:1", user="ben", check=False)
    watch.idle(1.5)
    for job in (shrinking, after):
        cluster.run("scancel", str(job), check=False)
    part.check(part.runs([waiting], 15), f"a job that was altered while it waited runs: {part.state(waiting)}")

    # Held by its user or an operator, it waits until one of them releases it.
    hold = lambda verb, job, user=None: cluster.run("scontrol", verb, str(job), user=user, check=False)
    mine = part.submit("team-b", gpus=1, options=["--hold", "--comment=own"])
    theirs = part.submit("team-d", gpus=8)
    watch.idle(2)
    told = [hold("hold", theirs, "ben"), hold("release", theirs, "ben"), hold("hold", theirs)]
    part.check(not any(done.returncode for done in told), f"who holds a job that waits may: {[done.stderr for done in told]}")
    cluster.run("scancel", str(waiting), check=False)
    watch.idle(5)
    part.check(watch.jobs[mine].comment == "allot: held by its user; own", f"a hold is in its comment: {watch.jobs[mine].comment!r}")
    told = hold("release", theirs, "ben")
    part.check(told.returncode != 0 and "permission denied" in told.stderr, f"an operator's hold is not for users: {told.stderr!r}")
    states = {job: (part.state(job), watch.jobs[job].priority) for job in (mine, theirs)}
    part.check(set(states.values()) == {("PENDING", 0)}, f"what is held stays so, with room: {states}")
    told = [hold("release", mine, "ben"), hold("release", theirs)]
    part.check(part.runs([mine, theirs], 45), f"once released they run: {[done.stderr for done in told]} {watch.jobs[mine]} {watch.jobs[theirs]}")
    part.check(watch.jobs[mine].comment == "own", f"and its own comment is left: {watch.jobs[mine].comment!r}")
    told = hold("hold", mine, "ben")
    part.check(told.returncode != 0, "what runs can't be held")
    for job in (mine, theirs):
        cluster.run("scancel", str(job), check=False)

    # Requeued and cancelled by its user, again and again.
    restless = part.submit("team-b", gpus=8, seconds=600)
    part.check(part.runs([restless]), "it runs")
    for _ in range(2):
        cluster.run("scontrol", "requeue", str(restless), user="ben", check=False)
        watch.idle(1)
        part.check(part.runs([restless], 25), f"a job that its user has requeued runs again: {part.state(restless)}")
    cluster.run("scancel", str(restless), user="ben")
    part.check(watch.until(lambda now: now[restless].state == "CANCELLED", 10), "and is cancelled")
    # Arrays: each task is a job.
    array = part.submit("team-b", gpus=1, seconds=2, options=["--array=0-9%3"])
    done = lambda: read(part.ledger.path).count("end ")
    ends = done()
    part.check(wait_for(lambda: (watch.poll(), done() >= ends + 10)[1], 40), f"all tasks of an array run: {done() - ends}")
    part.check(array, "an array was submitted")
    part.law_held()
    part.files_are_harmless()
    page = read(part.governor.config["slurm"]["page"])
    part.check(page, "there is a page")
    part.check("<script>alert" not in page and "\x1b" not in page and "\x07" not in page, "the page has no markup of users")
    status = part.governor.call("status", "--config", part.governor.config_path)
    part.check(status.returncode == 0 and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", status.stdout), f"status: {status.stderr[:300]}")
    status = part.governor.call("status", "--config", part.governor.config_path, "--json")
    try:
        json.loads(status.stdout)
    except ValueError as problem:
        part.check(False, f"status --json: {problem}: {status.stdout[:200]!r}")
    part.replays()


def part_lawless(part):
    """A cluster without job_submit.lua: users hold with --hold, or don't and run at once."""
    quotas = [TEAMS[0], TEAMS[1], dict(TEAMS[2], nominal={"gpu": 40}), TEAMS[3],
              {"name": "d", "parent": "all", "nominal": {"gpu": 8}, "static": True}]
    part.begin(quotas, dict(ACCOUNTS, **{"team-d": "d"}), start=False)
    cluster, watch = part.cluster, part.watch
    checked = part.governor.call("check", "--config", part.governor.config_path)
    part.check(checked.returncode == 1, f"check says that jobs are not held: {checked.returncode} {checked.stdout} {checked.stderr}")
    # What runs already when the governor comes.
    early = part.submit("team-a", gpus=8, seconds=30)
    part.check(part.runs([early], 15), "it runs without a governor")
    watch.transition(quotas, 20)
    part.governor.start()
    held = part.submit("team-b", gpus=8, seconds=5, options=["--hold"])
    part.check(part.runs([held], 15), f"a job on hold is released: {part.state(held)}")
    part.check(any(line.values.get("job") == str(early) for line in part.governor.log("adopt")), "what runs already is adopted")
    bold = [part.submit("team-d", gpus=8, seconds=600, options=["--no-requeue"] if i == 2 else []) for i in range(3)]
    watch.transition(quotas, 6)
    watch.idle(6)
    counted = lambda job: any(line.word in ("hold", "adopt") and line.values.get("job") == str(job) for line in part.governor.log())
    part.check(all(counted(job) for job in bold), "who starts past the governor is noticed, and held or counted")
    runs = watch.used()["d"]
    freed = part.submit("team-d", gpus=8, seconds=600, options=["--hold"])
    watch.idle(3)
    part.check(part.state(freed) == "PENDING" or runs == 0, f"a quota above its limits gets nothing more: {part.state(freed)}")
    # The owner of a held job lets it go himself.
    watch.transition(quotas, 5)
    cluster.run("scontrol", "release", str(freed), user="ben", check=False)
    watch.idle(5)
    part.check(counted(freed), f"who releases his own job is noticed: {part.state(freed)}")
    # Owners take back what is on loan to it, also what was taken without asking.
    rightful = [part.submit(account, gpus=8, seconds=5, options=["--hold"]) for account in ["team-a"] * 3 + ["team-b"] * 5 + ["team-c"] * 6]
    part.check(part.drain(rightful, 60), f"owners get theirs: {[part.state(job) for job in rightful]}")
    for job in bold + [freed]:
        cluster.run("scancel", str(job), check=False)
    part.drain([early, held], 40)
    part.ended_once([early, held])
    part.law_held()


def part_operator(part):
    """Configurations, the journal, two governors, --observe, a clock of its own."""
    part.begin(start=False, policy={"preset": "standard", "reservations": 1})
    watch, governor = part.watch, part.governor
    # To observe is to touch nothing.
    seen = part.submit("team-a", gpus=8, seconds=6)
    before = part.cluster.run("scontrol", "show", "job", str(seen)).stdout
    told = part.cluster.run("timeout", "20", *observe(governor), check=False)
    part.check(told.returncode == 0, f"--observe --ticks 3 ends by itself: {told.returncode} {told.stderr[-300:]}")
    part.check("release" in told.stdout + told.stderr, f"it says what it would do: {(told.stdout + told.stderr)[-300:]}")
    part.check(part.cluster.run("scontrol", "show", "job", str(seen)).stdout == before, "it touches nothing")
    checked = governor.call("check", "--config", governor.config_path)
    part.check(checked.returncode in (0, 1), f"check: {checked.returncode} {checked.stderr[:200]}")

    good = governor.config
    governor.configure(dict(good, slurm={key: value for key, value in good["slurm"].items() if key != "events"}))
    governor.start()
    part.check(part.runs([seen]), "then it is released")
    # A log of events begins when the configuration names it.
    events = good["slurm"]["events"]
    part.check(not os.path.exists(events), "there is no log of events unless it is asked for")
    governor.reload(good)
    part.check(wait_for(lambda: os.path.exists(events) and read(events).startswith('{"begin":'), 6),
               "a reload begins the log of events")
    # A second one.
    second = subprocess.run(observe(governor)[:1] + ["run", "--config", governor.config_path, "--ticks", "3"], check=False,
                            env=part.cluster.environment, capture_output=True, text=True, timeout=30)
    part.check(second.returncode not in (0, None), f"two governors do not both act: {second.returncode} {second.stderr[-300:]}")

    # Configurations that can't be: the old one stays.
    for bad in ("", "{", "{}", json.dumps(dict(good, quotas=[])), json.dumps(dict(good, borow=1)), "\0" * 100,
                json.dumps(dict(good, quotas=good["quotas"] + [dict(good["quotas"][1])])),
                json.dumps(dict(good, slurm=dict(good["slurm"], accounts={"team-a": "gone"})))):
        count = len(governor.log("config"))
        governor.write(bad)
        governor.reload()
        part.check(wait_for(lambda: len(governor.log("config")) > count, 6), f"an invalid configuration is logged: {bad[:40]!r}")
        part.check(governor.alive(), f"it goes on with the old one: {bad[:40]!r}")
    os.rename(governor.config_path, governor.config_path + ".away")
    governor.reload()
    watch.idle(1.5)
    part.check(governor.alive(), "the file is gone, and it goes on")
    governor.configure(good)
    job = part.submit("team-b", gpus=8, seconds=5)
    part.check(part.runs([job]), "and it still decides")
    # A transition: b may have less at once.
    loans = [part.submit("team-b", gpus=8) for _ in range(14)]
    part.check(watch.until(lambda now: watch.used(now)["b"] == 88, 20), f"b borrows: {watch.used()}")
    smaller = copy.deepcopy(TEAMS)
    smaller[2]["borrow"] = {"gpu": 0}
    watch.transition(smaller, 3)
    governor.reload(dict(good, quotas=smaller))
    owners = [part.submit("team-a", gpus=8) for _ in range(4)] + [part.submit("team-c", gpus=8) for _ in range(6)]
    part.check(watch.until(lambda now: watch.used(now)["b"] <= 48, 12), f"b gives back what others own: {watch.used()}")
    part.check(watch.until(lambda now: watch.used(now)["b"] == 48, 15), f"and keeps its own: {watch.used()}")
    watch.idle(2)
    for job in owners:
        part.cluster.run("scancel", str(job))
    watch.idle(3)
    part.check(watch.used()["b"] == 48, f"it may not borrow any more: {watch.used()}")

    # The journal: lost, damaged, stale. What runs goes on.
    running = watch.running()
    journals = [name for name in os.listdir(governor.directory) if "journal" in name and not name.endswith(".new")]
    part.check(len(journals) == 1, f"there is one journal: {os.listdir(governor.directory)}")
    journal = os.path.join(governor.directory, journals[0]) if journals else os.devnull
    with open(journal, "rb") as file:
        old = file.read()
    for what, content in (("cut", old[:len(old) // 2]), ("noise", part.random.randbytes(4000)), ("empty", b""), ("lost", None),
                          ("of another format", b'{"format":"other/9"}'), ("stale", old)):
        governor.kill()
        if content is None:
            os.remove(journal)
        else:
            with open(journal, "wb") as file:
                file.write(content)
        lines = len(governor.text())
        governor.start()
        watch.idle(2.5)
        part.check(governor.alive(), f"it starts with a journal that is {what}: {governor.text()[lines:][-300:]}")
        if what in ("cut", "noise", "of another format"):
            part.check(" journal " in governor.text()[lines:], f"it says that the journal is {what}")
    part.check([job for job in running if part.state(job) == "RUNNING"] == running, "all that ran goes on")
    for job in loans:
        part.cluster.run("scancel", str(job), check=False)
    part.drain([seen, job], 20)
    part.law_held()
    part.files_are_harmless()


def observe(governor):
    return [program(), "run", "--config", governor.config_path, "--observe", "--ticks", "3"]


def part_dependents(part):
    """Slurm never shows a reclaimed job as over: jobs that depend on its end neither run nor are cancelled."""
    part.begin(grace_s=0)
    cluster, watch = part.cluster, part.watch
    loans = [part.submit("team-b") for _ in range(16)]
    part.check(part.runs(loans[:11], 25), f"b borrows: {watch.used()}")
    kinds = (("afterok", ("--kill-on-invalid-dep=yes",)), ("afterany", ()), ("afternotok", ()))
    dependents = [part.submit("team-a", gpus=1, seconds=1, options=(f"--dependency={kind}:{job}", *options))
                  for job in loans for kind, options in kinds]
    others, begun = [], time.monotonic()
    for _ in range(part.rounds):
        owners = [part.submit(account) for account, count in (("team-a", 4), ("team-c", 6)) for _ in range(count)]
        # Each submission makes slurmctld look for jobs to start.
        seen = time.monotonic()
        while time.monotonic() < seen + 30 and not all(part.state(job) == "RUNNING" for job in owners):
            others.append(part.submit("team-a", gpus=0, seconds=0))
            watch.poll()
        part.check(all(part.state(job) == "RUNNING" for job in owners), f"the owner's jobs run: {[part.state(job) for job in owners]}")
        for job in owners:
            cluster.run("scancel", str(job))
        watch.until(lambda now: sum(job in now and now[job].state == "RUNNING" for job in loans) >= 11, 25)
    reclaims = sum(watch.last_restart[job] for job in loans)
    part.check(reclaims >= 5 * part.rounds, f"{reclaims} reclaims, beside {len(others) / (time.monotonic() - begun):.1f} submissions a second")
    wrong = {job: part.state(job) for job in dependents if part.state(job) != "PENDING"}
    part.check(not wrong, f"no dependent has acted on a reclaim ({reclaims} of them): {wrong}")
    for job in dependents + loans:
        cluster.run("scancel", str(job), check=False)
    part.drain(loans + others, 40)
    part.ended_once(others)
    part.law_held()


def part_components(part):
    """A heterogeneous job is one job: it starts whole, is taken back whole, and comes back whole."""
    part.begin()
    cluster, governor, watch = part.cluster, part.governor, part.watch
    # Slurm numbers the components on from their leader.
    unlike = lambda account, *more, **given: part.submit(
        account, gpus=0, options=["--cpus-per-task=4", *[word for each in more for word in (":", *each)]], **given)
    states = lambda leader, count=2: [part.state(leader + i) for i in range(count)]
    is_in = lambda leader, state, count=2: lambda now: all(
        leader + i in now and now[leader + i].state == state for i in range(count))
    used = lambda: {quota["name"]: quota["used"]["gpu"] for quota in json.loads(
        governor.call("status", "--json", "--config", governor.config_path).stdout)["quotas"]}

    # 16 nodes: a CPU leader and 11 nodes of workers, 40 of their 88 GPUs on loan.
    leader = unlike("team-b", ["--nodes=11", "--gres=gpu:8"], seconds=25)
    part.check(watch.until(is_in(leader, "RUNNING"), 30), f"leader and workers run: {states(leader)} {watch.jobs}")
    part.check(watch.used()["b"] == 88 and watch.jobs[leader].gpus == 0, f"the workers have the GPUs: {watch.used()}")
    both = [watch.jobs[leader + i] for i in range(2)]
    part.check(all(job.admin_comment.startswith("allot: admitted on n") for job in both) and
               all("borrows 40 gpu" in job.comment for job in both), f"each component says so: {both}")
    part.check(wait_for(lambda: used()["b"] == 88, 5), f"their quota is charged for both: {used()}")
    told = governor.call("why", f"{leader}+1", "--config", governor.config_path).stdout
    part.check("88 gpu on 1 + 11 nodes" in told, f"why says what it is: {told}")
    # The owner comes, and so does another governor.
    owner = part.submit("team-c", nodes=6, seconds=10)
    part.check(wait_for(lambda: governor.log("warn"), 10), "the job is warned for the owner")
    governor.kill()
    governor.start()
    part.check(part.runs([owner], 30), f"the owner has its own back: {part.state(owner)} {watch.used()}")
    # It may have died of the warning: then its nodes are free before it is requeued.
    part.check(watch.until(is_in(leader, "PENDING"), 10), f"the job is gone whole: {states(leader)}")
    governor.kill()
    governor.start()
    part.check(part.drain([owner], 30), f"the owner ends: {part.state(owner)}")
    part.check(watch.until(is_in(leader, "RUNNING"), 40), f"and the job is back, whole: {states(leader)}")
    part.check([watch.last_restart[leader + i] for i in range(2)] == [1, 1], f"after one restart: {watch.last_restart}")
    governor.kill()
    governor.start()
    part.check(part.drain([leader, leader + 1], 60), f"it ends whole: {states(leader)}")
    part.ended_once([owner, leader])

    # One of three components is cancelled while it runs, and what it had is free.
    three = unlike("team-a", ["--nodes=2", "--gres=gpu:2"], ["--nodes=1", "--gres=gpu:8"])
    part.check(watch.until(is_in(three, "RUNNING", 3), 30), f"three components run: {states(three, 3)}")
    cluster.run("scancel", f"{three}+2")
    part.check(wait_for(lambda: used()["a"] == 4, 15), f"what a cancelled component had is free: {used()}")
    part.check(watch.until(is_in(three, "RUNNING"), 1), f"and the others run on: {states(three, 3)}")
    cluster.run("scancel", str(three))
    part.check(part.drain([three, three + 1, three + 2], 20) and wait_for(lambda: used()["a"] == 0, 5),
               f"until their leader is cancelled: {states(three, 3)} {used()}")

    # Its user holds it and lets it go, by the id of all.
    governor.stop()
    held = unlike("team-a", ["--nodes=2", "--gres=gpu:8"], seconds=5)
    cluster.run("scontrol", "hold", str(held), user="ana")
    governor.start()
    watch.idle(4)
    part.check(is_in(held, "PENDING")(watch.jobs) and "held by its user" in watch.jobs[held].comment,
               f"a job that its user holds waits: {states(held)} {watch.jobs[held].comment!r}")
    told = governor.call("why", str(held), "--config", governor.config_path).stdout
    part.check("held by its user" in told, f"and why says so: {told}")
    cluster.run("scontrol", "release", str(held), user="ana")
    part.check(watch.until(is_in(held, "RUNNING"), 30), f"then it runs: {states(held)}")
    # What fails with a node of its workers comes back whole.
    lost = unlike("team-c", ["--nodes=2", "--gres=gpu:8"], seconds=20)
    part.check(watch.until(is_in(lost, "RUNNING"), 30), f"another one runs: {states(lost)}")
    part.drain([held, held + 1], 30)
    node = cluster.run("scontrol", "show", "hostnames", watch.jobs[lost + 1].nodes).stdout.split()[0]
    cluster.fail_node(node)
    part.check(watch.until(lambda now: is_in(lost, "RUNNING")(now) and now[lost].restarts == 1, 40),
               f"what lost a node comes back whole, elsewhere: {states(lost)}")
    part.check(node not in cluster.run("scontrol", "show", "hostnames", watch.jobs[lost + 1].nodes).stdout.split(),
               f"not on {node}: {watch.jobs[lost + 1].nodes}")
    cluster.return_node(node)
    part.drain([lost, lost + 1], 60)
    part.ended_once([held, lost], upset=[lost])

    # What can't be one gang is refused, and says why.
    mixed = unlike("team-a", ["--nodes=1", "--gres=gpu:8", "--account=team-b"])
    part.check(watch.until(lambda now: mixed + 1 in now and "refused" in now[mixed + 1].comment, 10) and
               "another account" in watch.jobs[mixed].comment, f"components of two accounts: {watch.jobs[mixed].comment!r}")
    cluster.run("scancel", str(mixed))
    part.law_held()
    part.files_are_harmless()
    part.replays()


def part_hand(part):
    """What an operator asks of a governor that runs."""
    part.begin(grace_s=0)
    governor, watch = part.governor, part.watch
    ask = lambda *words: governor.call(*words, "--config", governor.config_path)
    loans = [part.submit("team-b") for _ in range(11)]
    part.check(part.runs(loans, 25), f"b borrows: {watch.used()}")
    part.check(ask("freeze", "--for", "1h", "--why", "a visit").returncode == 0, "it is frozen")
    watch.idle(2)
    owners = [part.submit("team-c") for _ in range(6)]
    part.check(part.runs(owners[:5], 20), f"owners start where there is room: {[part.state(job) for job in owners]}")
    watch.idle(5)
    part.check(part.state(owners[5]) == "PENDING" and not any(watch.last_restart[job] for job in loans), "and nobody is preempted")
    part.check("a visit" in ask("status").stdout, "status says so, and why")
    part.check(ask("thaw").returncode == 0 and part.runs(owners, 20), f"after the thaw the last one runs: {[part.state(job) for job in owners]}")
    for job in owners + loans:
        part.cluster.run("scancel", str(job), check=False)
    part.drain(owners + loans, 20)
    held = part.submit("team-a", options=["--hold"])
    watch.idle(4)
    told = ask("why", str(held)).stdout
    part.check(part.state(held) == "PENDING" and "held by its user" in told, f"a job that its user holds stays held, and why says so: {told}")
    part.check(ask("start", str(held)).returncode == 0 and part.runs([held], 15), f"an operator starts it: {watch.jobs[held]}")
    part.cluster.run("scancel", str(held), check=False)
    part.drain([held], 15)
    part.law_held()


def part_reserved(part):
    """Coming maintenance is foreseen, and jobs of a reservation run in it."""
    part.begin(grace_s=0)
    cluster, watch = part.cluster, part.watch
    reserve = lambda name, *options: cluster.run("scontrol", "create", "reservation", f"reservationname={name}", *options)
    reserve("maint", "starttime=now+3minutes", "duration=10", "nodes=n[1-4]", "flags=maint", "users=root")
    reserve("course", "starttime=now", "duration=30", "nodes=n5", "users=ana")
    nodes = lambda jobs: {watch.jobs[job].nodes for job in jobs}
    long = [part.submit("team-b", options=["--time=30"]) for _ in range(12)]
    part.check(part.runs(long[:11], 30), f"jobs of half an hour run: {[part.state(job) for job in long]}")
    part.check(nodes(long[:11]) == {f"n{i}" for i in range(6, 17)}, f"and none where they would run into a reservation: {nodes(long)}")
    brief = part.submit("team-a", options=["--time=1"])
    part.check(part.runs([brief], 15) and nodes([brief]) <= {"n1", "n2", "n3", "n4"}, f"one of a minute does: {watch.jobs[brief]}")
    inside = part.submit("team-a", options=["--time=30", "--reservation=course"])
    part.check(part.runs([inside], 15) and nodes([inside]) == {"n5"}, f"a job of the reservation runs in it: {watch.jobs[inside]}")
    owner = part.submit("team-c", options=["--time=30"])
    part.check(part.runs([owner], 25) and nodes([owner]) <= {f"n{i}" for i in range(6, 17)}, f"an owner takes back a node that it can use: {watch.jobs[owner]}")
    moved = sum(watch.last_restart[job] for job in long)
    part.check(moved == 1, f"one job gave way to it: {moved}")
    cluster.run("scontrol", "delete", "reservationname=maint")
    part.check(watch.until(lambda now: sum(now[job].state == "RUNNING" for job in long) == 11, 25), f"without the maintenance there is room again: {[part.state(job) for job in long]}")
    everything = long + [brief, inside, owner]
    for job in everything:
        cluster.run("scancel", str(job), check=False)
    part.drain(everything, 30)
    cluster.run("scontrol", "delete", "reservationname=course")
    part.law_held()


def part_slurm_chooses(part):
    """Quotas only: Slurm finds the nodes."""
    part.begin(nodes="slurm")
    watch = part.watch
    loans = [part.submit("team-b", gpus=4, nodes=2, on_term="wait") for _ in range(11)]
    part.check(watch.until(lambda now: watch.used(now)["b"] == 88, 25), f"b borrows: {watch.used()}")
    owners = [part.submit("team-c", gpus=8, nodes=3, seconds=4) for _ in range(2)]
    part.check(part.runs(owners[:1], 25) and part.drain(owners, 40), f"the owner's gangs run: {[part.state(job) for job in owners]}")
    for job in loans:
        part.cluster.run("scancel", str(job), check=False)
    part.drain(loans, 20)
    part.ended_once(owners)
    unlike = part.submit("team-a", gpus=0, seconds=4, options=[":", "--nodes=2", "--gres=gpu:8"])
    part.check(part.runs([unlike, unlike + 1], 30) and part.drain([unlike, unlike + 1], 30),
               f"the components of a heterogeneous job run: {part.state(unlike)} {part.state(unlike + 1)}")
    part.ended_once([unlike])

    # Nodes fail and return while there is no room elsewhere: what ran there may only go back there, and must live.
    full = [part.submit(account, seconds=600) for account, count in (("team-a", 4), ("team-b", 6), ("team-c", 6)) for _ in range(count)]
    part.check(part.runs(full, 25), f"the cluster is full: {[part.state(job) for job in full]}")
    # Slurm calls a job running before its script has said anything: a node that fails in between takes a run that never began.
    part.check(wait_for(lambda: set(full) <= set(part.ledger.read()), 20), "and each script has begun")
    for away in (1, 3, 6):
        lost = part.random.choice(full)
        name, before = watch.jobs[lost].nodes, dict(watch.last_restart)
        part.cluster.fail_node(name)
        watch.idle(away)
        part.cluster.return_node(name)
        back = watch.until(lambda now: now[lost].state == "RUNNING" and now[lost].restarts > before[lost], 40)
        part.check(back, f"a job whose node was away for {away} s runs again: {watch.jobs[lost]}")
        watch.idle(6)
        part.check(part.state(lost) == "RUNNING" and watch.last_restart[lost] == before[lost] + 1,
                   f"and its new run lives: {part.state(lost)}, {watch.last_restart[lost] - before[lost]} restarts")
        moved = [job for job in full if job != lost and watch.last_restart[job] != before[job]]
        part.check(not moved, f"nobody else is moved: {moved}")
    excluded = part.cluster.run("squeue", "-h", "-o", "%x").stdout.split()
    part.check(set(excluded) <= {"(null)"}, f"no node stays excluded: {excluded}")
    starts = {job: events for job, events in part.ledger.read().items()
              if job in full and [what for what, _ in events].count("start") != watch.last_restart[job] + 1}
    part.check(not starts, f"each run began once: {starts}")
    for job in full:
        part.cluster.run("scancel", str(job), check=False)
    part.drain(full, 20)
    part.law_held()


def part_placed(part):
    """Gangs stay below a switch, types of GPUs are what they are asked to be, and a QOS has the priority of its map."""
    quotas = [{"name": "all", "nominal": {"gpu": 128, "h100/gpu": 64}, "inclusive": True},
              {"name": "a", "parent": "all", "nominal": {"gpu": 48, "h100/gpu": 16}},
              {"name": "b", "parent": "all", "nominal": {"gpu": 40, "h100/gpu": 24}, "borrow": {"h100/gpu": 0}},
              {"name": "c", "parent": "all", "nominal": {"gpu": 40, "h100/gpu": 24}}]
    part.begin(quotas, resources=("gpu", "h100/gpu"), qos={"high": 100, "low": -100})
    cluster, watch = part.cluster, part.watch
    nodes_of = lambda job: {int(name[1:]) for name in cluster.run(
        "scontrol", "show", "hostnames", watch.jobs[job].nodes).stdout.split()}
    switches_of = lambda job: {(n - 1) // 4 for n in nodes_of(job)}
    typed = lambda account, options, **more: part.submit(account, gpus=0, options=options, **more)
    cancel = lambda jobs: [cluster.run("scancel", str(job), check=False) for job in jobs]

    # Types, however they are asked for.
    h100 = [typed("team-a", ["--gres=gpu:h100:4"], nodes=2), typed("team-a", ["--gpus=h100:4"]),
            typed("team-a", ["--gpus-per-node=h100:4"])]
    a100 = [typed("team-a", ["--gres=gpu:a100:8"], nodes=2), typed("team-a", ["--gpus=a100:3"])]
    part.check(part.runs(h100 + a100, 15), f"jobs of either type run: {[part.state(job) for job in h100 + a100]}")
    part.check(all(min(nodes_of(job)) > 8 for job in h100), f"those that ask for h100 have them: {[watch.jobs[j].nodes for j in h100]}")
    part.check(all(max(nodes_of(job)) < 9 for job in a100), f"those that ask for a100 have them: {[watch.jobs[j].nodes for j in a100]}")
    # The quota of one type is full while the other has room. Later ones of the same team go on.
    mine = [typed("team-b", ["--gres=gpu:h100:8"]) for _ in range(4)]
    other = typed("team-b", ["--gres=gpu:a100:8"])
    part.check(part.runs(mine[:3] + [other], 15), f"b's h100 and an a100 run: {[part.state(job) for job in mine + [other]]}")
    watch.idle(2)
    part.check(part.state(mine[3]) == "PENDING", f"b may not borrow h100: {part.state(mine[3])}")
    part.check("h100/gpu" in watch.jobs[mine[3]].comment, f"and can read that: {watch.jobs[mine[3]].comment!r}")
    cancel(h100 + a100 + mine + [other])
    part.drain(h100 + a100 + mine + [other], 15)

    # One job on each of three switches, wherever the policy puts them: one switch is left for a gang of four nodes.
    singles = [part.submit("team-c", gpus=8) for _ in range(5)] + [part.submit("team-b", gpus=8) for _ in range(5)]
    singles += [part.submit("team-a", gpus=8) for _ in range(6)]
    part.check(part.runs(singles, 20), f"single nodes run: {[part.state(job) for job in singles]}")
    kept = {}
    for job in singles:
        kept.setdefault(min(switches_of(job)), job)
    kept = [kept[switch] for switch in sorted(kept)][:3]
    cancel([job for job in singles if job not in kept])
    part.drain([job for job in singles if job not in kept], 15)
    first = part.submit("team-a", gpus=8, nodes=4, options=["--switches=1"])
    part.check(part.runs([first], 15) and len(switches_of(first)) == 1, f"a gang is below one switch: {watch.jobs[first].nodes}")
    second = part.submit("team-a", gpus=4, nodes=4, options=["--switches=1"])
    watch.idle(3)
    part.check(part.state(second) == "PENDING" and watch.jobs[second].priority == 0,
               f"with no switch that has room the next one waits: {part.state(second)} {watch.jobs[second]}")
    part.check(watch.jobs[second].comment.startswith("allot: "), f"and its user can read why: {watch.jobs[second].comment!r}")
    # Who does not insist may be split; nodes there are enough of.
    loose = part.submit("team-b", gpus=8, nodes=4)
    part.check(part.runs([loose], 15) and len(switches_of(loose)) > 1, f"a gang that does not insist is split: {watch.jobs[loose].nodes}")
    cancel([loose, kept[0]])
    part.check(part.runs([second], 15) and len(switches_of(second)) == 1,
               f"once a switch has room it is below that: {watch.jobs[second].nodes}")
    # Several pods that would fit on fewer nodes have as many nodes as they ask for.
    part.check(len(nodes_of(second)) == 4, f"and has its four nodes: {watch.jobs[second].nodes}")
    part.say("nodes: " + "; ".join(f"{name} {watch.jobs[job].nodes}" for name, job in (
        ("first", first), ("second", second), ("split", loose))))
    cancel([first, second] + kept)
    part.drain([first, second] + kept, 15)
    unlike = part.submit("team-a", gpus=0, options=[":", "--nodes=3", "--gres=gpu:8"])
    part.check(part.runs([unlike, unlike + 1], 30) and len(switches_of(unlike) | switches_of(unlike + 1)) == 1,
               f"components are below one switch: {[watch.jobs[unlike + i].nodes for i in range(2)]}")
    cancel([unlike])
    part.drain([unlike, unlike + 1], 15)

    if cluster.accounting is None:
        part.say("no slurmdbd and MariaDB, and so no QOS: the map was not tried")
    else:
        # One node is left; who comes first is not who starts first.
        full = [part.submit(account, gpus=8, nodes=5, options=["--qos=high"]) for account in ACCOUNTS]
        part.check(part.runs(full, 20), f"the cluster is full but for one node: {[part.state(job) for job in full]}")
        blocker = part.submit("team-a", gpus=8, options=["--qos=high"], seconds=4)
        part.check(part.runs([blocker], 10), f"and then full: {part.state(blocker)}")
        order = [part.submit("team-a", gpus=8, seconds=2, options=options) for options in (
            ["--qos=low"], ["--nice=50"], [], ["--qos=high", "--nice=150"], ["--qos=high"])]
        part.check(part.drain(order, 60), f"jobs of all QOS run: {[part.state(job) for job in order]}")
        starts = {job: events[0][2] for job, events in part.ledger.times().items() if job in order}
        wanted = [order[4], order[3], order[2], order[1], order[0]]
        part.check(sorted(order, key=starts.get) == wanted, f"by QOS, then by nice: {sorted(order, key=starts.get)}, not {wanted}")
        seen = cluster.run("squeue", "-h", "-j", str(full[0]), "-o", "%q").stdout.strip()
        part.check(seen == "high", f"Slurm knows the QOS: {seen!r}")
        part.ended_once(order + [blocker])
        cancel(full)
        part.drain(full, 20)
        # What a limit of Slurm's would keep from starting waits, and nobody gives way to it.
        lent = [part.submit(account, gpus=8, on_term="wait") for account in ["team-b"] * 11 + ["team-c"] * 5]
        part.check(part.runs(lent, 30), f"b and c have all nodes: {[part.state(job) for job in lent]}")
        before = len(part.governor.log("warn"))
        small = [part.submit("team-a", gpus=8, seconds=15, options=["--qos=small"]) for _ in range(3)]
        part.check(part.runs(small[:1], 15), f"what the QOS allows runs: {part.state(small[0])}")
        watch.idle(5)
        part.check([part.state(job) for job in small[1:]] == ["PENDING"] * 2 and len(part.governor.log("warn")) == before + 1,
                   f"one makes way for one: {[part.state(job) for job in small]}, {len(part.governor.log('warn')) - before} warned")
        part.check(all("QOSGrpGRES" in watch.jobs[job].comment for job in small[1:]), f"and it says so: {watch.jobs[small[1]].comment!r}")
        part.check(part.drain(small, 60), f"they run one after the other: {[part.state(job) for job in small]}")
        checked = part.governor.call("check", "--config", part.governor.config_path)
        part.check("QOS small" in checked.stdout, f"check names limits of Slurm's: {checked.stdout}")
        imported = part.governor.call("import-associations")
        part.check(imported.returncode == 0 and '"team-b", "parent": "root"' in imported.stdout,
                   f"the accounts of sacctmgr are quotas: {imported.stdout} {imported.stderr}")
        shares = part.governor.call("shares", "--config", part.governor.config_path)
        part.check(shares.returncode == 0 and "fair share" in shares.stdout, f"shares: {shares.stdout} {shares.stderr}")
        part.ended_once(small)
        cancel(lent)
    part.law_held()
    part.files_are_harmless()
    part.replays()


def part_clocks(part):
    """Clocks step: that of the whole machine, and that of the governor alone."""
    machine = part.cluster.daemons["STEPPED_CLOCK"]
    part.begin(environment=dict(part.cluster.daemons))
    cluster, watch, governor = part.cluster, part.watch, part.governor
    own = cluster.path("governor-clock")
    long = [part.submit("team-b", gpus=8, on_term="wait") for _ in range(11)]
    part.check(watch.until(lambda now: watch.used(now)["b"] == 88, 20), f"b borrows: {watch.used()}")
    ours = []

    def goes_on(when, waits=25):
        """Owners still get theirs at once, and who yielded comes back."""
        owners = [part.submit(account, gpus=8, seconds=3) for account in ["team-c"] * 6 + ["team-a"]]
        ours.extend(owners)
        restarts = sum(watch.last_restart.values())
        begin = time.monotonic()
        had = lambda now: all(job in now and now[job].state in ("RUNNING", "COMPLETING", "COMPLETED") for job in owners)
        part.check(watch.until(had, waits), f"{when}: owners get theirs: {[part.state(job) for job in owners]}")
        took = time.monotonic() - begin
        part.check(sum(watch.last_restart.values()) == restarts + 2, f"{when}: two of b's jobs yield to them")
        part.check(part.drain(owners, 20), f"{when}: their jobs end: {[part.state(job) for job in owners]}")
        back = watch.until(lambda now: watch.used(now)["b"] == 88, 25)
        part.check(back, f"{when}: who yielded comes back: {watch.used()}, {[(j.id, j.state, j.comment) for j in watch.jobs.values() if j.state == 'PENDING'][:2]}")
        part.check(governor.alive(), f"{when}: it goes on: {governor.text()[-500:]}")
        part.say(f"{when}: owners ran after {took:.1f} s")

    for seconds, what in ((-7200, "two hours back"), (0, "two hours on")):
        waiting = part.submit("team-b", gpus=8, on_term="wait")
        part.check(watch.until(lambda now: waiting in now and now[waiting].comment, 10), "b has reached its limit, and one more waits")
        before = dict(watch.last_restart)
        step_clock(machine, seconds)
        watch.idle(3)
        changed = [job for job in long if watch.last_restart[job] != before[job]]
        part.check(not changed and watch.used()["b"] == 88, f"the machine's clock goes {what}, and nobody is moved: {changed} {watch.used()}")
        if seconds < 0:
            # slurmctld looks for jobs to start at times that are hours away now, until it is started again.
            cluster.stop_controller(signal.SIGTERM)
            cluster.start_controller()
            time.sleep(3)
        # What has waited since before the step is not put off by it.
        over = long.pop()
        cluster.run("scancel", str(over))
        long.append(waiting)
        part.check(part.runs([waiting], 12), f"a job submitted before the step starts: {part.state(waiting)} {watch.jobs[waiting].comment!r}")
        goes_on(f"the machine's clock {what}")
    told = [line.values for line in governor.log("slurm") if "clock" in line.values]
    part.check([values["clock"] for values in told] == ["back", "on"], f"it says that the clock was set: {told}")
    # Only the governor's: it is on another machine, or was started before the clock was right.
    part.check(governor.stop() == 0, "it ends")
    for seconds, what in ((-7200, "two hours behind Slurm's"), (3600, "an hour ahead of Slurm's")):
        governor.environment = stepped_clock(own)
        step_clock(own, seconds)
        before = dict(watch.last_restart)
        governor.start()
        watch.idle(3)
        changed = [job for job in long if watch.last_restart[job] != before[job]]
        part.check(not changed and watch.used()["b"] == 88, f"a governor {what} moves nobody: {changed} {watch.used()}")
        goes_on(f"a governor {what}")
        part.check(governor.stop() == 0, "it ends")
    for job in long:
        cluster.run("scancel", str(job), check=False)
    part.drain(long, 20)
    part.ended_once(ours)
    part.law_held()


# Where there is no systemd: what the guide asks of it.
SYSTEMCTL = """#!/bin/bash
case $1 in
  start) allot-slurm run --config "$(dirname "$SLURM_CONF")/allot.json" --ticks 300 >>"$GOVERNOR.log" 2>&1 & echo $! >"$GOVERNOR.pid" ;;
  reload) kill -HUP "$(cat "$GOVERNOR.pid")" ;;
  stop) pid=$(cat "$GOVERNOR.pid"); kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done ;;
esac
"""


def part_guide(part):
    """Every command of the guide, as it stands there; only what is waited for Slurm's grace is shorter."""
    part.begin(start=False)
    cluster, governor = part.cluster, part.governor
    etc, tools = cluster.directory, cluster.path("tools")
    os.mkdir(tools)
    with open(os.open(os.path.join(tools, "systemctl"), os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
        file.write(SYSTEMCTL)
    os.symlink(program(), os.path.join(tools, "allot-slurm"))
    text = read(os.path.join(os.path.dirname(HERE), "README.md"))
    text = text[text.index("## allot in front of your Slurm"):text.index("## What users should know")]
    for there, here in (("/var/lib/allot-slurm", governor.directory), ("/etc/systemd/system/", tools),
                        ("sleep 35", "sleep 9"), ("--observe\n", "--observe --ticks 3\n")):
        part.check(there in text, f"the guide has {there!r}")
        text = text.replace(there, here)
    blocks = {kind: re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("sh", "json")}
    part.check(len(blocks["json"]) == 1 and len(blocks["sh"]) == 8, f"the guide has as many commands as are tried here: {blocks}")
    with open(os.path.join(etc, "allot.json"), "w", encoding="utf-8") as file:
        file.write(blocks["json"][0])
    setting, _, check, observe_it, hold, reclaim, change, back = blocks["sh"]
    environment = {"PATH": f"{tools}:{cluster.environment['PATH']}", "SBATCH_OUTPUT": "/dev/null",
                   "GOVERNOR": os.path.join(governor.directory, "log")}

    logged = lambda: read(environment["GOVERNOR"] + ".log")

    def do(commands, status=0):
        told = cluster.run("bash", "-ec", setting + commands, check=False, environment=environment, cwd=TOP)
        part.check(told.returncode == status, f"{commands}: {told.returncode} {told.stdout[-500:]} {told.stderr[-500:]}")
        return told.stdout + told.stderr

    # It finds what step 5 mends.
    part.check("JobSubmitPlugins has no lua" in do(check, 1), "check says that jobs are not held")
    early = part.submit("vision", gpus=8, user="ana", seconds=4)
    do(observe_it)
    part.check(part.runs([early]) or part.state(early) == "COMPLETED", "jobs start as ever")
    part.drain([early], 10)
    do(hold)
    try:
        told = do(reclaim)
        pages = re.split(r" *JOBID .*\n", told)
        part.check(len(re.findall(r"vision +R ", pages[1])) == 16, f"vision has all: {told}")
        part.check(logged().count(" requeue ") >= 4, f"and gives back four nodes: {logged()[-600:]}")
        part.check(len(re.findall(r"vision +R ", pages[-1])) == 12, f"vision has what is left: {told}")
        part.check(re.search(r"speech +R ", pages[-1]), f"speech runs: {told}")
        part.check(len(re.findall(r"vision +PD .* allot: ", pages[-1])) == 4, f"those who yielded can read why: {told}")
        part.check(re.search(r"speech .*32", told), f"status has both quotas: {told}")
        do(change)
        part.check(wait_for(lambda: " config " in logged().split("requeue")[-1], 10), f"the change is taken over: {logged()[-400:]}")
    finally:
        do(back)
    held = cluster.run("squeue", "-h", "-t", "PD", "-o", "%i %r %Q").stdout
    part.check("JobHeld" not in held, f"nothing is held any more: {held}")
    pid = read(environment["GOVERNOR"] + ".pid").strip()
    part.check(wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 10), "the governor ends")
    free = part.submit("speech", gpus=8, seconds=1, user="ben")
    part.watch.poll()
    part.check(part.watch.jobs[free].priority > 0, "new jobs are not held")


def part_soak(part):
    """Many short jobs of five accounts, as many waiting as users like."""
    quotas = [TEAMS[0]] + [{"name": name, "parent": "all", "nominal": {"gpu": gpus}}
                           for name, gpus in (("a", 16), ("b", 24), ("c", 24), ("d", 32), ("e", 32))]
    accounts = {f"team-{name}": name for name in "abcde"}
    part.begin(quotas, accounts)
    watch, chance = part.watch, part.random
    begin, jobs = time.monotonic(), []
    while len(jobs) < part.jobs:
        # Bursts of one team each, so that all borrow and all are reclaimed from.
        account = chance.choice(list(accounts))
        for _ in range(min(chance.randint(1, 40), part.jobs - len(jobs))):
            jobs.append(part.submit(account, gpus=chance.choice([1, 1, 2, 4, 8]), nodes=chance.choice([1, 1, 1, 2]),
                                    seconds=chance.randint(1, 4), on_term=chance.choice(["die", "wait"]), user="ben"))
            if len(jobs) % 5 == 0:
                watch.poll()
        # No more than some hundreds wait.
        watch.until(lambda now: len(watch.pending()) < 300, 120, 0.5)
    part.check(part.drain(jobs, 600), f"all jobs end: {len(watch.pending())} wait, {len(watch.running())} run")
    taken = time.monotonic() - begin
    requeues = sum(job.restarts for job in watch.jobs.values())
    part.say(f"{len(jobs)} jobs in {taken:.0f} s, {requeues} requeues, at most {watch.most} GPUs, {watch.polls} polls")
    part.check(requeues > 0, "something was reclaimed")
    part.ended_once(jobs)
    part.law_held()
    part.files_are_harmless()
    part.replays()


PARTS = ["storm", "hostile", "operator", "clocks", "placed", "components", "sharing", "lawless", "slurm_chooses", "dependents", "reserved", "hand", "guide"]


if __name__ == "__main__":
    sys.exit(main(__doc__, Part, PARTS, {"jobs": (2000, "of the soak"), "rounds": (4, "of dependents")}))
