#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Three teams share a real Slurm cluster of 16 nodes with 8 GPUs each, for about four minutes.

    python3 story.py [--keep DIR]    the page, the log and the metrics are left in DIR
"""

import argparse
import collections
import copy
import json
import os
import shutil
import sys
import time

from cluster import Cluster, ClusterError, Interrupted, interruptible
from governor import TOP, Governor, Ledger, configuration, wait_for
from watch import Watch

QUOTAS = [
    {"name": "quota1", "nominal": {"gpu": 128}, "inclusive": True, "preempt": {"children": True},
     "access": {"roles": ["a-member"]}},
    {"name": "quota1.1", "parent": "quota1", "nominal": {"gpu": 48}, "access": {"roles": ["b-member"]}},
    {"name": "quota1.2", "parent": "quota1", "nominal": {"gpu": 80}, "access": {"roles": ["c-member"]}},
]
ACCOUNTS = {"team-a": "quota1", "team-b": "quota1.1", "team-c": "quota1.2"}
USERS = {"team-a": "ana", "team-b": "ben", "team-c": "carla"}
NODES, GPUS = 16, 8

ALLOT = os.environ.get("ALLOT") or os.path.join(TOP, "build/release/allot")
EXPERIMENT = {
    "format": "allot-experiment/1",
    "scenarios": [{"name": "mix", "nodes": "16x8", "tenants": {"serving": 24, "vision": 39, "speech": 65},
                   "generate": {"model": "mix", "days": 2, "gpus": 128, "serving": 0.11, "serving_tenant": "serving",
                                "training": {"vision": 39, "speech": 65}}}],
    "policies": ["static_quotas", "standard"], "loads": [0.9], "seeds": {"count": 4}, "baseline": "static_quotas",
}


class Story:
    def __init__(self, cluster, governor):
        self.cluster, self.governor = cluster, governor
        self.quotas = copy.deepcopy(QUOTAS)
        self.ledger = Ledger(cluster)
        self.watch = Watch(cluster, QUOTAS, ACCOUNTS, NODES * GPUS)
        self.begin = time.monotonic()

    def say(self, text):
        print(f"\n{time.monotonic() - self.begin:5.0f} s  {text}", flush=True)

    def submit(self, account, count, nodes=1, seconds=600, user=None, minutes=None, name="train", on_term="die", options=()):
        options = [f"--job-name={name}", *options] + ([f"--time={minutes}"] if minutes else [])
        script = self.ledger.script(seconds, on_term)
        return [self.cluster.submit(account, gpus=GPUS, nodes=nodes, user=user or USERS[account], script=script, options=options)
                for _ in range(count)]

    def until_running(self, jobs, seconds=40):
        if not self.watch.until(lambda now: all(now[job].state == "RUNNING" for job in jobs if job in now), seconds):
            states = {job: self.watch.jobs[job].state for job in jobs if job in self.watch.jobs}
            raise ClusterError(f"expected to run after {seconds} s: {states}\n{self.governor.text()[-3000:]}")

    def table(self):
        """From squeue alone."""
        jobs = self.watch.poll()
        used = self.watch.used()
        held = collections.Counter(ACCOUNTS.get(job.account, "") for job in jobs.values() if job.state == "PENDING")
        print("\n           quota       owns   runs  on loan  waiting")
        for quota in self.quotas:
            name, owns = quota["name"], quota["nominal"]["gpu"]
            team = next((account for account, of in ACCOUNTS.items() if of == name), "")
            if self.watch.law.children[name]:
                # Its number contains its children's: what is left of it is its own.
                owns = int(self.watch.law.own(name))
            loan = max(0, used[name] - owns)
            print(f"  {team:8} {name:10} {owns:5}  {used[name]:5}  {loan or '':7}  {held[name] or '':7}")
        print(f"  {'':19} {'':5}  {sum(used.values()):5} of {NODES * GPUS} GPUs", flush=True)

    def why(self, jobs):
        for job in jobs[:2]:
            job = self.watch.jobs[job]
            print(f"  squeue -o %k: job {job.id} of {job.account}: {job.comment.strip()}")
        sys.stdout.flush()

    def play(self):
        watch, governor = self.watch, self.governor
        self.say("Team B owns 48 GPUs. The cluster is idle, so it borrows the other 80 from team C.")
        trained = self.submit("team-b", 16)
        self.until_running(trained)
        self.table()

        self.say("Team C submits: 48 of its 80. Six jobs of team B are warned (SIGTERM, 2 s) and requeued, held.")
        theirs = self.submit("team-c", 6, seconds=75, minutes=2)
        self.until_running(theirs)
        back = [job for job in trained if watch.jobs[job].state == "PENDING"]
        self.table()
        self.why(back)

        self.say("Team A deploys a service of three replicas on the quota above both: it takes from the borrower.")
        service = self.submit("team-a", 3, name="serve", options=["--no-requeue"])
        self.until_running(service)
        self.table()

        self.say("Mallory, who has no role in team B, submits to it, and so does Carla of team C.")
        strays = self.submit("team-b", 1, user="mallory") + self.submit("team-b", 1, user="carla")
        told = lambda: all(job in watch.poll() and watch.jobs[job].comment for job in strays)
        wait_for(told, 8)
        self.why(strays)
        if any(watch.jobs[job].state == "RUNNING" for job in strays):
            raise ClusterError("a job without the role for its quota runs")
        for job in strays:
            self.cluster.run("scancel", str(job))

        self.say("The quotas change: 24 GPUs go from team C to team B, and the service ends. kill -HUP.")
        for job in service:
            self.cluster.run("scancel", str(job))
        self.quotas[1]["nominal"]["gpu"], self.quotas[2]["nominal"]["gpu"] = 72, 56
        watch.transition(self.quotas, 10)
        governor.reload(dict(governor.config, quotas=self.quotas))
        count = lambda now: watch.used(now)["quota1.1"] >= 72
        if not watch.until(count, 40):
            raise ClusterError(f"team B did not get its 72 GPUs\n{governor.text()[-3000:]}")
        self.table()

        self.say("Team C starts a gang of 5 nodes. It is promised a start; a smaller job behind it does not delay it.")
        gang = self.submit("team-c", 1, nodes=5, seconds=20, minutes=1, name="gang")
        small = self.submit("team-c", 1, nodes=2, seconds=600, minutes=60, name="small")
        wait_for(lambda: watch.poll() and watch.jobs[gang[0]].comment != "", 8)
        self.table()
        self.why(gang + small)
        reserved = [line for line in governor.log("reserve") if line.values.get("job") == str(gang[0])]
        for line in reserved[:1]:
            print(f"  {line.text}")
        self.until_running(gang, 90)
        self.say(f"The gang runs on {watch.jobs[gang[0]].nodes}.")
        self.table()

        self.say("Carla compares policies: an array of four tasks, each a part of one sweep, on CPUs alone.")
        self.sweep()
        return reserved

    def sweep(self):
        """A sweep that outgrows one machine: each task of an array runs a shard of the experiment."""
        directory = self.cluster.path("sweep")
        os.mkdir(directory)
        os.chmod(directory, 0o777)
        experiment = os.path.join(directory, "experiment.json")
        with open(experiment, "w", encoding="utf-8") as file:
            json.dump(EXPERIMENT, file)
        self.cluster.submit("team-c", gpus=0, user=USERS["team-c"], options=["--job-name=sweep", "--array=0-3", "--time=5"],
                            script=f"#!/bin/sh\ncd {directory} && exec {ALLOT} sweep experiment.json "
                                   "--out part-$SLURM_ARRAY_TASK_ID --shard $SLURM_ARRAY_TASK_ID/4\n")
        parts = [os.path.join(directory, f"part-{task}") for task in range(4)]
        if not wait_for(lambda: self.watch.poll() and all(os.path.exists(os.path.join(part, "table.csv")) for part in parts), 60):
            raise ClusterError(f"the array did not end: {os.listdir(directory)}\n{self.governor.text()[-3000:]}")
        self.cluster.run(ALLOT, "sweep", "--merge", *parts, "--out", os.path.join(directory, "all"))
        print(self.cluster.run(ALLOT, "compare", os.path.join(directory, "all"), "--figures", "queue_s/mean,jct_s/mean,preemptions").stdout)


def tell(keep):
    with Cluster(nodes=NODES, gpus=GPUS) as cluster:
        config = configuration(cluster, QUOTAS, ACCOUNTS, policy={"preset": "standard", "reservations": 1})
        governor = Governor(cluster, config)
        print(f"A Slurm cluster of {NODES} nodes with {GPUS} GPUs on 127.0.0.1, every job held on submission,\n"
              "and allot-slurm, which releases, warns and requeues.", flush=True)
        checked = governor.call("check", "--config", governor.config_path)
        print(f"  allot-slurm check: {(checked.stdout + checked.stderr).strip() or 'nothing found'}")
        with governor:
            story = Story(cluster, governor)
            # After its start slurmctld takes some seconds before it starts jobs.
            time.sleep(3)
            try:
                story.play()
                if story.watch.violations:
                    raise ClusterError("\n".join(story.watch.violations))
                status = governor.stop()
                if status != 0:
                    raise ClusterError(f"allot-slurm ended with {status} on SIGTERM")
            finally:
                os.makedirs(keep, exist_ok=True)
                left = [(config["slurm"]["page"], "page.html"), (config["slurm"]["metrics"], "allot.prom"),
                        (governor.log_path, "log.txt"), (config["slurm"]["events"], "events.jsonl"),
                        (governor.config_path, "allot.json")]
                for path, name in left:
                    if os.path.exists(path):
                        shutil.copyfile(path, os.path.join(keep, name))
    print(f"\nThe law held at each of {story.watch.polls} looks at squeue; at most {story.watch.most} GPUs were in use.")
    print(f"Left in {keep}: {' '.join(sorted(os.listdir(keep)))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", default="build/slurm", help="directory for the page, the log and the metrics")
    options = parser.parse_args()
    interruptible()
    try:
        tell(options.keep)
    except ClusterError as problem:
        print(f"story: {problem}", file=sys.stderr)
        return 1
    except Interrupted as interrupted:
        print(f"\ninterrupted by {interrupted}: everything is cleaned up", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
