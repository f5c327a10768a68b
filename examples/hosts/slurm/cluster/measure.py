#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What a governor costs and how fast it is, on a real Slurm.

    python3 measure.py latency [--rounds 10]      from an owner's submission to the first victim's signal
    python3 measure.py tick [--jobs 10000]        CPU of a tick with so many held jobs, and what slurmctld has to answer
    python3 measure.py compare [--seconds 150]    the same backlog under Slurm's own scheduler and under allot-slurm
"""

import argparse
import concurrent.futures
import os
import random
import re
import statistics
import sys
import time

from cluster import Cluster, ClusterError, Interrupted, interruptible, missing
from governor import Governor, Ledger, configuration
from watch import HOLDING, Watch, gpus_of

QUOTAS = [{"name": "all", "nominal": {"gpu": 128}, "inclusive": True},
          {"name": "a", "parent": "all", "nominal": {"gpu": 32}}, {"name": "b", "parent": "all", "nominal": {"gpu": 48}},
          {"name": "c", "parent": "all", "nominal": {"gpu": 48}}]
ACCOUNTS = {"team-a": "a", "team-b": "b", "team-c": "c"}
USERS = {"team-a": "ana", "team-b": "ben", "team-c": "carla"}


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


# --- latency --------------------------------------------------------------------------------------------------------


def signalled(cluster, since):
    """When slurmctld was told to signal a job: the first warning after the line `since` of the ledger."""
    with open(cluster.path("jobs.txt"), encoding="utf-8") as file:
        return any(line.startswith("warned") for line in file.readlines()[since:])


def latency(options):
    print("An owner submits a job of 8 GPUs while another team has borrowed all that is free.", flush=True)
    for poll in options.polls:
        took, started = [], []
        with Cluster(options={"MinJobAge": 30}) as cluster:
            governor = Governor(cluster, configuration(cluster, QUOTAS, ACCOUNTS, poll_s=poll))
            ledger, watch = Ledger(cluster), Watch(cluster, QUOTAS, ACCOUNTS, 128)
            time.sleep(3)
            with governor:
                for _ in range(16):
                    cluster.submit("team-b", gpus=8, user="ben", script=ledger.script(3000, "wait"))
                if not watch.until(lambda now: watch.used(now)["b"] == 128, 30):
                    raise ClusterError(f"b did not borrow all: {watch.used()}\n{governor.text()[-2000:]}")
                for _ in range(options.rounds):
                    time.sleep(random.uniform(0, poll))
                    lines = len(open(ledger.path, encoding="utf-8").readlines())
                    owner = cluster.submit("team-a", gpus=8, user="ana", script=ledger.script(3000))
                    begin = time.monotonic()
                    while not signalled(cluster, lines):
                        if time.monotonic() - begin > 30:
                            raise ClusterError(f"no signal after 30 s\n{governor.text()[-2000:]}")
                        time.sleep(0.005)
                    took.append(time.monotonic() - begin)
                    watch.until(lambda now: now[owner].state == "RUNNING", 40, 0.05)
                    started.append(time.monotonic() - begin)
                    cluster.run("scancel", str(owner))
                    watch.until(lambda now: watch.used(now)["b"] == 128, 40)
        print(f"poll_s {poll}: submission to the first victim's signal: median {statistics.median(took):.2f} s, "
              f"max {max(took):.2f} s = {max(took) / poll:.2f} ticks; to the owner's start (grace_s 2): median "
              f"{statistics.median(started):.2f} s, max {max(started):.2f} s ({len(took)} rounds)")


# --- the cost of a tick ---------------------------------------------------------------------------------------------


def cpu_of(pid):
    """User and system seconds of a process."""
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ticks_of(governor):
    """Ticks, and CPU seconds of their own and of libslurm's load and unpack, from the governor's metrics."""
    with open(governor.config["slurm"]["metrics"], encoding="utf-8") as file:
        told = dict(line.rsplit(" ", 1) for line in file.read().splitlines() if not line.startswith("#"))
    return [float(told[f"allot_slurm_{name}_total"]) for name in ("ticks", "tick_cpu_seconds", "load_cpu_seconds")]


def calls(cluster):
    """{message type: count} that slurmctld has answered since `sdiag --reset`, without sdiag's own."""
    told = cluster.run("sdiag").stdout
    part = told.split("Remote Procedure Call statistics by message type")[1].split("Remote Procedure Call statistics by user")[0]
    found = {name: (int(count), int(total)) for name, count, total in
             re.findall(r"(\w+)\s*\(\s*\d+\) count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)", part)}
    return {name: value for name, value in found.items() if name not in ("REQUEST_STATS_INFO", "MESSAGE_NODE_REGISTRATION_STATUS",
                                                                          "REQUEST_PING")}


def tick(options):
    with Cluster(options={"MaxJobCount": options.jobs + 2000, "MaxArraySize": 100001}) as cluster:
        quotas = [dict(quota, nominal={"gpu": 0} if quota["name"] == "a" else quota["nominal"]) for quota in QUOTAS]
        quotas[1]["borrow"] = "none"
        # b and c fill the cluster; what is held stays held, and the world is quiet.
        governor = Governor(cluster, configuration(cluster, quotas, ACCOUNTS, poll_s=1))
        ledger, watch = Ledger(cluster), Watch(cluster, quotas, ACCOUNTS, 128)
        time.sleep(3)
        for _ in range(8):
            for account in ("team-b", "team-c"):
                cluster.submit(account, gpus=8, user=USERS[account], script=ledger.script(3000, "wait"))
        # Half of them separate jobs, by one array a job with one task; half of them arrays of a thousand.
        separate = options.jobs // 2
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as several:
            list(several.map(lambda i: cluster.submit(("team-b", "team-c")[i % 2], gpus=8, nodes=1 + i % 2, user="ben"),
                             range(separate)))
        for i in range((options.jobs - separate) // 1000):
            cluster.submit(("team-b", "team-c")[i % 2], gpus=4, user="ben", options=["--array=0-999"])
        print(f"{separate} held jobs and arrays of {options.jobs - separate} tasks submitted in {time.monotonic() - begin:.0f} s")
        with governor:
            if not watch.until(lambda now: sum(watch.used(now).values()) == 128, 120, 2):
                raise ClusterError(f"the cluster is not full: {watch.used()}\n{governor.text()[-2000:]}")
            for what, other in (("quiet", None), ("a job submitted and cancelled every second", 1)):
                # What it writes into comments at first is over.
                time.sleep(20)
                cluster.run("sdiag", "--reset")
                controller = cluster.controller_pid()
                counted_before = ticks_of(governor)
                before, theirs, begin = cpu_of(governor.process.pid), cpu_of(controller), time.monotonic()
                for _ in range(options.ticks):
                    if other:
                        cluster.run("scancel", str(cluster.submit("team-b", gpus=8, user="ben")))
                    time.sleep(1)
                took = time.monotonic() - begin
                mine = cpu_of(governor.process.pid) - before
                load = cpu_of(controller) - theirs
                counted = calls(cluster)
                ticks = took / 1.0
                times = [after - at for at, after in zip(counted_before, ticks_of(governor))]
                print(f"{what}: of each of {times[0]:.0f} ticks {1000 * times[1] / times[0]:.1f} ms CPU is the governor's own, and "
                      f"{1000 * times[2] / times[0]:.1f} ms libslurm's load and unpack")
                print(f"{what}: governor {1000 * mine / ticks:.0f} ms CPU a second (a tick), slurmctld {1000 * load / ticks:.0f} ms; calls:")
                for name, (count, total) in sorted(counted.items()):
                    print(f"    {name}: {count / ticks:.2f} a tick, {total / max(count, 1) / 1000:.2f} ms each")
            status = governor.call("status", "--config", governor.config_path)
            print("\n".join(status.stdout.split("\n")[:12]))
            told = [line.text for line in governor.log() if "cpu" in line.text or "tick" in line.text][-3:]
            print("\n".join(told))


# --- Slurm's own scheduler ------------------------------------------------------------------------------------------


def backlog(seed, seconds):
    """(at, account, gpus, nodes, duration): team b's long jobs first, then the owners' bursts."""
    chance = random.Random(seed)
    jobs = []
    for at, account, count, length in ((0, "team-b", 40, (20, 50)), (15, "team-c", 12, (10, 25)), (40, "team-a", 10, (8, 20)),
                                       (60, "team-b", 20, (10, 30)), (70, "team-c", 14, (10, 25)), (85, "team-a", 10, (8, 20))):
        for _ in range(count):
            jobs.append((at + chance.uniform(0, 4), account, chance.choice([4, 8, 8, 8]), chance.choice([1, 1, 1, 2]),
                         chance.randint(*length)))
    return sorted(job for job in jobs if job[0] < seconds)


class Way:
    """`options_of(wanted, account)`: what a user adds to sbatch, who sees for how many GPUs jobs of his team run or wait."""

    def __init__(self, name, options=None, partitions=None, governed=False, options_of=None, lua=None, policy="standard",
                 accounting=None):
        self.name, self.options, self.partitions, self.governed = name, options or {}, partitions, governed
        self.options_of, self.lua, self.policy = options_of or (lambda wanted, account: []), lua, policy
        self.accounting = accounting


OWN = {f"team-{quota['name']}": quota["nominal"]["gpu"] for quota in QUOTAS[1:]}
MULTIFACTOR = {"PriorityType": "priority/multifactor", "PriorityWeightAge": 1000, "PriorityWeightFairshare": 10000,
               "PriorityMaxAge": "0-1"}
ALL = "Nodes=n[1-16] MaxTime=INFINITE State=UP"


def ways():
    return [
        Way("Slurm, backfill, first come first served"),
        # Without slurmdbd there are no associations, and so neither fair shares nor QOS: a partition for what teams own and
        # one for what they borrow, whose jobs the former preempt, is the nearest that slurm.conf alone can say.
        Way("Slurm, preempt/partition_prio", options=dict(
            MULTIFACTOR, PreemptType="preempt/partition_prio", PreemptMode="REQUEUE",
            SchedulerParameters="batch_sched_delay=0,sched_min_interval=100000,bf_interval=2,preempt_youngest_first"),
            partitions=[f"PartitionName=own {ALL} PriorityTier=10 PreemptMode=off GraceTime=2",
                        f"PartitionName=main {ALL} Default=YES PriorityTier=1 PreemptMode=requeue GraceTime=2"],
            # Users choose: b, who borrows, its own partition while it is below what it owns, else the one that yields.
            options_of=lambda wanted, account: ["--partition=own" if account != "team-b" or wanted < 48 else "--partition=main"]),
    ] + ([] if missing(accounting=True) else [by_qos()]) + [
        Way("allot-slurm, standard", governed=True, lua="default"),
    ]


def by_qos():
    """With slurmdbd: fair shares of what the teams own, and a QOS for each team's own, as large as that, whose jobs preempt
    those of the QOS that all may use."""
    accounting = ["add qos loan priority=1 gracetime=2 preemptmode=requeue"]
    for account, own in OWN.items():
        accounting += [f"add account {account} fairshare={own}",
                       f"add qos own-{account} priority=100 preempt=loan grptres=gres/gpu={own}",
                       f"add user {USERS[account]} account={account} qos=loan,own-{account} defaultqos=loan"]
    return Way("Slurm, multifactor with fair share, `preempt/qos`", accounting=accounting, options=dict(
        MULTIFACTOR, PriorityWeightQOS=20000, PriorityCalcPeriod=1, PriorityDecayHalfLife="0-1", AccountingStorageTRES="gres/gpu",
        AccountingStorageEnforce="associations,limits,qos", PreemptType="preempt/qos", PreemptMode="REQUEUE",
        SchedulerParameters="batch_sched_delay=0,sched_min_interval=100000,bf_interval=2,preempt_youngest_first"),
        options_of=lambda wanted, account: [f"--qos=own-{account}" if wanted < OWN[account] else "--qos=loan"])


def run_way(way, jobs, seconds):
    options = dict({"MinJobAge": 600}, **way.options)
    own = {quota["name"]: quota["nominal"]["gpu"] for quota in QUOTAS}
    arguments = {"partitions": way.partitions} if way.partitions else {}
    with Cluster(options=options, lua=way.lua, accounting=way.accounting, **arguments) as cluster:
        governor = Governor(cluster, configuration(cluster, QUOTAS, ACCOUNTS, way.policy)) if way.governed else None
        ledger, watch = Ledger(cluster), Watch(cluster, QUOTAS, ACCOUNTS, 128)
        time.sleep(3)
        if governor:
            governor.start()
        begin = time.monotonic()
        todo, sent, known = list(jobs), {}, {}
        samples, shortages, last = [], {}, begin
        owed = {"a": [], "b": [], "c": []}
        since = {}
        while todo or time.monotonic() - begin < seconds:
            now = time.monotonic() - begin
            while todo and todo[0][0] <= now:
                at, account, gpus, nodes, duration = todo.pop(0)
                over = lambda job: job in known and known[job].state not in ("PENDING", *HOLDING)
                wanted = sum(size for job, (_, of, size, _) in sent.items() if of == account and not over(job))
                extra = way.options_of(wanted, account)
                job = cluster.submit(account, gpus=gpus, nodes=nodes, user=USERS[account], script=ledger.script(duration, "wait"),
                                     options=extra + [f"--time={1 + duration // 60}"])
                sent[job] = (now, account, gpus * nodes, duration)
            known = watch.poll()
            used = watch.used()
            samples.append((now, sum(used.values()), bool([j for j in known.values() if j.state == "PENDING"])))
            # Owed: a team has less than it owns, while it waits for no more than the rest of it.
            for account, quota in ACCOUNTS.items():
                waits = [j for j in known.values() if j.account == account and j.state == "PENDING" and j.id in sent
                         and used[quota] + sent[j.id][2] <= own[quota]]
                if waits and quota not in since:
                    since[quota] = now
                elif not waits and quota in since:
                    owed[quota].append(now - since.pop(quota))
            time.sleep(0.15)
        for quota, at in since.items():
            owed[quota].append(time.monotonic() - begin - at)
        known = watch.poll()
        waits = {account: [] for account in ACCOUNTS}
        done = 0
        submitted = time.time() - time.monotonic() + begin
        for job, (at, account, size, duration) in sent.items():
            first = first_start(ledger, job, submitted)
            waits[account].append((first - at) if first is not None else time.monotonic() - begin - at)
            done += known[job].state == "COMPLETED" if job in known else 0
        if governor:
            governor.stop()
        used_area = sum(total * (b - a) for (a, total, _), (b, _, _) in zip(samples, samples[1:]))
        return {"way": way.name, "utilisation": used_area / (128 * samples[-1][0]), "done": done, "jobs": len(sent),
                "wait": {account: statistics.mean(values) for account, values in waits.items()},
                "owed": [span for spans in owed.values() for span in spans],
                "requeues": sum(job.restarts for job in known.values()),
                "broken": len(watch.violations) / max(1, watch.polls)}


def first_start(ledger, job, submitted):
    """When its script said that it starts for the first time, in seconds since the beginning."""
    for what, restart, at in ledger.times().get(job, []):
        if what == "start":
            return at - submitted
    return None


def compare(options):
    jobs = backlog(options.seed, options.seconds)
    work = sum(gpus * nodes * duration for _, _, gpus, nodes, duration in jobs)
    print(f"{len(jobs)} jobs, {work / 128:.0f} s of all 128 GPUs, watched for {options.seconds} s (seed {options.seed})\n")
    print("| | utilisation | done | wait a | wait b | wait c | owed: median | owed: max | requeues |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for way in [way for i, way in enumerate(ways(), 1) if i in options.ways or not options.ways]:
        result = run_way(way, jobs, options.seconds)
        wait, owed = result["wait"], result["owed"] or [0]
        print(f"| {way.name} | {100 * result['utilisation']:.0f} % | {result['done']} of {result['jobs']} | {wait['team-a']:.0f} s | "
              f"{wait['team-b']:.0f} s | {wait['team-c']:.0f} s | {statistics.median(owed):.1f} s | {max(owed):.1f} s | {result['requeues']} |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["latency", "tick", "compare"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--polls", type=int, nargs="*", default=[1, 5])
    parser.add_argument("--jobs", type=int, default=10000)
    parser.add_argument("--ticks", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", type=int, nargs="*", default=[], help="of compare: the first, second, ... line only")
    options = parser.parse_args()
    interruptible()
    try:
        {"latency": latency, "tick": tick, "compare": compare}[options.what](options)
    except ClusterError as problem:
        print(f"measure: {problem}", file=sys.stderr)
        return 1
    except Interrupted:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
