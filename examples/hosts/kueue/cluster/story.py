#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Three teams share a real Kubernetes cluster with Kueue, 16 nodes of 8 GPUs each, for less than two minutes.

    python3 story.py [--keep DIR]    the page, the log and the events are left in DIR
"""

import argparse
import collections
import json
import os
import shutil
import sys
import time

from cluster import GPU, Cluster, ClusterError, Interrupted, flavor, interruptible, job, local_queue, named, priority_class
from governor import Governor, bind_rights, governed_queue, set_queue, wait_for
from watch import Watch, quotas_of, workload_of

# What each owns of the cohort's 128. Cohorts hold no Workloads: what belongs to no team is a ClusterQueue of the organisation.
OWNS = {"organisation": 24, "team-b": 32, "team-c": 72}
USERS = {"organisation": "ana", "team-b": "ben", "team-c": "carla"}
NODES, GPUS = 16, 8
EXECUTION_LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"


def objects():
    """Each team has a namespace, a queue in it that admits nobody else's jobs, and one user who may submit there."""
    made = [flavor(), priority_class("high", 1000)]
    for team, gpus in OWNS.items():
        only = {"matchLabels": {"kubernetes.io/metadata.name": team}}
        made += [named("Namespace", team, "v1"), governed_queue(team, gpus, namespaceSelector=only), local_queue(team, namespace=team)]
        made += [named("Role", "submits", "rbac.authorization.k8s.io/v1", team, rules=[
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "list", "delete"]}]),
            named("RoleBinding", "submits", "rbac.authorization.k8s.io/v1", team,
                  roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "submits"},
                  subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USERS[team]}])]
    return made


class Story:
    def __init__(self, cluster, governor):
        self.cluster, self.governor = cluster, governor
        self.watch = Watch(cluster)
        self.begin = time.monotonic()

    def say(self, text):
        print(f"\n{time.monotonic() - self.begin:5.0f} s  {text}", flush=True)

    def submit(self, team, count, name, pods=1, seconds=None, limit=None, user=None, queue=None, check=True):
        """As its user."""
        labels = {EXECUTION_LIMIT: str(limit)} if limit else {}
        names = [f"{name}-{i + 1}" if count > 1 else name for i in range(count)]
        made = [job(one, queue or team, pods=pods, gpus=GPUS, seconds=seconds, labels=labels, namespace=team) for one in names]
        told = self.cluster.kubectl("create", f"--as={user or USERS[team]}", "-f", "-", check=check,
                                    input=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
        return told.stderr.strip() if told.returncode else names

    def until_running(self, jobs, seconds=30):
        """Admitted, and all their pods run."""
        def run(now):
            if not all(one in now and now[one].state == "admitted" for one in jobs):
                return False
            pods = collections.Counter(pod["metadata"]["labels"].get("job-name") for pod in self.cluster.list("/api/v1/pods")
                                       if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"])
            return all(pods[one] == now[one].object["spec"]["podSets"][0]["count"] for one in jobs)

        if not self.watch.until(run, seconds):
            states = {one: (self.watch.jobs[one].state, self.watch.jobs[one].why) for one in jobs if one in self.watch.jobs}
            raise ClusterError(f"expected to run after {seconds} s: {states}\n{self.governor.text()[-3000:]}")

    def table(self):
        """From kubectl alone."""
        get = lambda *what: json.loads(self.cluster.kubectl("get", *what, "-o", "json").stdout)["items"]
        workloads = [workload_of(one) for one in get("workloads", "-A")]
        print("\n  kubectl get clusterqueues,workloads      owns  in use  on loan  waiting")
        for quota in quotas_of(get("clusterqueues"))[1:]:
            name, owns = quota["name"], quota["nominal"]["gpu"]
            used = sum(one.gpus for one in workloads if one.queue == name)
            waiting = sum(one.state == "pending" and one.queue == name for one in workloads)
            print(f"  {name:37} {owns:7}  {used:6}  {max(0, used - owns) or '':7}  {waiting or '':7}")
        runs = sum(int(pod["spec"]["containers"][0]["resources"]["requests"][GPU]) for pod in get("pods", "-A")
                   if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Running")
        print(f"  {'kubectl get pods':37} {'':7}  {runs:6} of {NODES * GPUS} GPUs", flush=True)

    def why(self, team, jobs):
        for one in jobs:
            name = self.watch.jobs[one].name
            path = '{.status.conditions[?(@.type=="allot.dev/Waiting")].message}'
            told = self.cluster.kubectl("get", "workload", name, "-n", team, "-o", f"jsonpath={path}").stdout
            print(f"  kubectl get workload {name}: {told}", flush=True)
            if not told:
                raise ClusterError(f"it doesn't say why {one} waits\n{self.governor.text()[-3000:]}")

    def explained(self, jobs, seconds=8):
        if not wait_for(lambda: all(one in self.watch.poll() and self.watch.jobs[one].why for one in jobs), seconds):
            raise ClusterError(f"it doesn't say why {jobs} wait\n{self.governor.text()[-3000:]}")

    def play(self):
        watch, cluster = self.watch, self.cluster
        self.say("Team B owns 32 GPUs. The cluster is idle, so it borrows the other 96.")
        trained = self.submit("team-b", 16, "train")
        self.until_running(trained)
        self.table()

        self.say("Team C submits: 48 of its 72. Six jobs of team B are preempted; they will run again.")
        theirs = self.submit("team-c", 6, "speech", seconds=50, limit=65)
        self.until_running(theirs)
        back = [one for one in trained if watch.jobs[one].state == "pending"]
        self.explained(back[:2])
        self.table()
        self.why("team-b", back[:2])

        self.say("The organisation deploys a service of three replicas on what it keeps beside the teams: the borrower gives it back.")
        service = self.submit("organisation", 3, "serve")
        self.until_running(service)
        self.table()

        self.say("Mallory, who has no role in team B, submits there, and Carla of team C asks for team B's queue in her namespace.")
        told = self.submit("team-b", 1, "stray", user="mallory", check=False)
        if "orbidden" not in told:
            raise ClusterError(f"who has no role submits: {told}")
        print(f"  kubectl create --as=mallory: {told.splitlines()[0][:160]}")
        told = self.submit("team-b", 1, "stray", user="carla", check=False)
        if "orbidden" not in told:
            raise ClusterError(f"who has no role submits: {told}")
        # The administrator has made a mistake: the queue is there, and still it lets in no other namespace's jobs.
        self.cluster.create(local_queue("borrowed", "team-b", "team-c"))
        stray = self.submit("team-c", 1, "stray", queue="borrowed")
        self.explained(stray)
        self.why("team-c", stray)
        if watch.jobs[stray[0]].state != "pending":
            raise ClusterError("a job from another namespace is admitted")
        cluster.kubectl("delete", "job", "-n", "team-c", stray[0])

        self.say("The quotas change: 16 GPUs go from team C to team B, and the service ends. kubectl patch clusterqueue.")
        cluster.kubectl("delete", "job", "-n", "organisation", *service)
        set_queue(cluster, "team-c", 56)
        set_queue(cluster, "team-b", 48)
        watch.changed()
        if not watch.until(lambda now: watch.used(now)["team-b"] >= 80, 30):
            raise ClusterError(f"team B did not get what is free: {watch.used()}\n{self.governor.text()[-3000:]}")
        self.table()

        self.say("Team C starts a gang of 5 nodes. It is promised a start; a smaller job behind it does not delay it.")
        gang = self.submit("team-c", 1, "gang", pods=5, seconds=12, limit=30)
        self.explained(gang)
        small = self.submit("team-c", 1, "small", pods=2, limit=3600)
        self.explained(small)
        self.table()
        self.why("team-c", gang + small)
        promised = next((line.values.get("start") for line in self.governor.log("reserve") if f"/job-{gang[0]}-" in line.text), None)
        if promised is None:
            raise ClusterError(f"nothing is promised to {gang[0]}\n{self.governor.text()[-3000:]}")
        self.until_running(gang, 60)
        self.say(f"The gang runs. Promised at the latest: {promised}.")
        self.table()


def tell(keep):
    with Cluster(nodes=NODES, gpus=GPUS, objects=objects()) as cluster:
        bind_rights(cluster)
        governor = Governor(cluster, policy={"preset": "standard", "reservations": 1})
        print(f"Kubernetes and Kueue with {NODES} nodes of {GPUS} GPUs on 127.0.0.1, its ClusterQueues on Hold,\n"
              "and allot-kueue, which admits and preempts with the rights of deploy/rbac.yaml.", flush=True)
        print("  allot-kueue check: " + governor.call("check", *governor.connection).stdout.strip().replace("\n", "\n    "))
        with governor:
            story = Story(cluster, governor)
            try:
                story.play()
                found = story.watch.violations + governor.complaints()
                if found:
                    raise ClusterError("\n".join(found))
                status = governor.stop()
                if status != 0:
                    raise ClusterError(f"allot-kueue ended with {status} on SIGTERM")
            finally:
                os.makedirs(keep, exist_ok=True)
                for path, name in ((governor.page, "page.html"), (governor.log_path, "log.txt"), (governor.events, "events.jsonl")):
                    if os.path.exists(path):
                        shutil.copyfile(path, os.path.join(keep, name))
    print(f"\nThe law held at each of {story.watch.polls} looks at the API server; at most {story.watch.most_bound} GPUs were in use.")
    print(f"Left in {keep}: page.html log.txt events.jsonl")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", default="build/kueue", help="directory for the page, the log and the events")
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
