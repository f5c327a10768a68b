# SPDX-License-Identifier: BSL-1.0
"""Runs allot-slurm beside a cluster of cluster.py, and the jobs that tell what happened to them."""

import collections
import json
import os
import signal

from cluster import ClusterError
from process import GovernorProcess, wait_for  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))


def program():
    path = os.environ.get("ALLOT_SLURM") or os.path.join(TOP, "build/release/allot-slurm")
    if not os.access(path, os.X_OK):
        raise ClusterError(f"no program {path}: ./dev slurm builds it")
    return os.path.abspath(path)


def configuration(cluster, quotas, accounts, policy="standard", name="allot", **slurm):
    """The configuration of a governor whose files are in the cluster's directory."""
    directory = cluster.path(f"governor-{name}")
    return {
        "format": "allot-scenario/1",
        "resources": ["gpu"],
        "policy": policy,
        "quotas": quotas,
        "slurm": {"partitions": ["main"], "nodes": "allot", "poll_s": 1, "grace_s": 2, "signal": "TERM",
                  "directory": directory, "page": os.path.join(directory, "page.html"),
                  "metrics": os.path.join(directory, "allot.prom"), "events": os.path.join(directory, "events.jsonl"),
                  "accounts": accounts, **slurm},
    }


def stepped_clock(path):
    """The environment of a program whose wall clock is off by as many seconds as the file `path` says."""
    library = os.path.join(os.path.dirname(program()), "allot-stepped-clock.so")
    if not os.path.exists(library):
        raise ClusterError(f"no library {library}: ./dev slurm test builds it")
    step_clock(path, 0)
    return {"LD_PRELOAD": library, "STEPPED_CLOCK": path}


def step_clock(path, seconds):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(f"{seconds}\n")
    os.replace(path + ".new", path)


class Governor(GovernorProcess):
    """`environment` is added to that of the cluster."""

    def __init__(self, cluster, config, name="allot", environment=None):
        self.cluster, self.name, self.environment = cluster, name, environment or {}
        self.directory = cluster.path(f"governor-{name}")
        os.makedirs(self.directory, exist_ok=True)
        self.config_path = os.path.join(self.directory, "allot.json")
        self.log_path = os.path.join(self.directory, "log.txt")
        self.configure(config)

    def configure(self, config):
        self.config = config
        self.write(json.dumps(config, indent=1))

    def write(self, text):
        with open(self.config_path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(self.config_path + ".new", self.config_path)

    def start(self, *options):
        return self.start_command([program(), "run", "--config", self.config_path, *options], dict(self.cluster.environment, **self.environment))

    def reload(self, config=None):
        if config is not None:
            self.configure(config)
        self.signal(signal.SIGHUP)

    def call(self, *arguments, check=False):
        return self.cluster.run(program(), *arguments, check=check)


class Ledger:
    """A file to which every job of `script` appends when it starts, is warned and ends."""

    def __init__(self, cluster):
        self.path = cluster.path("jobs.txt")
        with open(self.path, "a", encoding="utf-8"):
            pass
        os.chmod(self.path, 0o666)

    def script(self, seconds, on_term="die"):
        """`on_term`: die (as most do), ignore, or wait (it saves its work and waits for the end)."""
        # Where `date` is killed the shell is killed next: it has said nothing.
        say = f'say() {{ at=$(date +%s.%N) && echo "$1 $SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $at" >>{self.path}; }}'
        trap = {"die": "trap 'say warned; exit 143' TERM", "ignore": "trap 'say warned' TERM",
                "wait": "trap 'say warned; exec sleep 600' TERM"}[on_term]
        # A shell runs a trap when a `wait` is interrupted. setsid: who ignores the signal does so for its steps, too.
        detach = "setsid " if on_term == "ignore" else ""
        return (f"#!/bin/sh\n{say}\n{trap}\nsay start\n{detach}sleep {seconds} &\npid=$!\n"
                "while kill -0 $pid 2>/dev/null; do wait $pid; done\nsay end\n")

    def times(self):
        """{job: [(what, restart, when), ...]} in the order of the file."""
        told = collections.defaultdict(list)
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    what, job, restart, at = line.split()
                    told[int(job)].append((what, int(restart), float(at)))
        return told

    def read(self):
        return {job: [event[:2] for event in events] for job, events in self.times().items()}

    def problems(self, expected, restarts, upset=()):
        """What speaks against: each of these jobs ended exactly once, and none started twice in one run. `restarts` of
        each job, as Slurm counts them. One that was requeued in the instant in which it said that it ends has ended again:
        after a warning, or if it is among the `upset`, whom a user or a failing node has requeued."""
        told = self.read()
        found = []
        for job in expected:
            events = told.get(job, [])
            warned = {restart for what, restart in events if what == "warned"}
            cut = {restart for what, restart in events
                   if what == "end" and restart < restarts.get(job, 0) and (restart in warned or job in upset)}
            events = [(what, restart) for what, restart in events if what != "end" or restart not in cut]
            ends = sum(what == "end" for what, _ in events)
            starts = [restart for what, restart in events if what == "start"]
            if ends != 1:
                found.append(f"job {job} ended {ends} times: {events}")
            if len(starts) != len(set(starts)):
                found.append(f"job {job} started twice in one run: {events}")
            if "end" in [what for what, _ in events][:-1]:
                found.append(f"job {job} went on after its end: {events}")
        return found
