# SPDX-License-Identifier: BSL-1.0
"""What Slurm says of its jobs, and whether the law of quotas holds in it. Shares nothing with the governor: the law is
computed here once more, from the quotas of the configuration and the GPUs that Slurm has allocated.

Per quota x: its own pool E(x) = nominal, less the children's supplies where the number contains theirs; supply
S(x) = E(x) + sum of min(lend, S) of its children; balance T(x) = E(x) - used(x) + sum of min(lend, T) of its children.
The law: T >= 0 at a root, T(x) >= -borrow limit elsewhere.
"""

import collections
import json
import re
import time

UNLIMITED = float("inf")
# In these a job has its nodes and GPUs.
HOLDING = {"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}

Job = collections.namedtuple("Job", "id account user state reason priority gpus wanted nodes restarts comment admin_comment "
                             "submit start name")


def gpus_of(text):
    """Of "gpu:8(IDX:0-7)", "gres:gpu:a100:2,gres:x:1"."""
    found = re.findall(r"(?:^|[,:])gpu(?::[A-Za-z_][\w.-]*)?(?::(\d+))?(?=$|[,(])", text or "")
    return sum(int(count or 1) for count in found)


def read_jobs(cluster):
    """All jobs that slurmctld knows, by id."""
    told = cluster.run("squeue", "--json", check=False, timeout=60)
    if told.returncode != 0:
        return None
    try:
        listed = json.loads(told.stdout, strict=False)["jobs"]
    except ValueError:
        return None
    jobs = {}
    for job in listed:
        jobs[job["job_id"]] = Job(
            id=job["job_id"], account=job["account"], user=job["user_name"], state=job["job_state"],
            reason=job["state_reason"], priority=job["priority"] or 0, gpus=sum(gpus_of(part) for part in job["gres_detail"]),
            wanted=gpus_of(job["tres_per_node"]) * max(1, job["node_count"] or 1) + gpus_of(job["tres_per_job"]),
            nodes=job["nodes"], restarts=job["restart_cnt"], comment=job["comment"], admin_comment=job["admin_comment"],
            submit=job["submit_time"], start=job["start_time"], name=job["name"])
    return jobs


class Law:
    def __init__(self, quotas):
        self.quotas = {quota["name"]: quota for quota in quotas}
        self.children = collections.defaultdict(list)
        for quota in quotas:
            if "parent" in quota:
                self.children[quota["parent"]].append(quota["name"])

    def nominal(self, name):
        nominal = self.quotas[name].get("nominal", {})
        return nominal if isinstance(nominal, (int, float)) else nominal.get("gpu", 0)

    def limit(self, name, which):
        quota = self.quotas[name]
        limit = "none" if quota.get("static") else quota.get(which, "all")
        if limit == "all":
            return UNLIMITED
        if limit == "none":
            return 0
        return limit["percent"] * self.nominal(name) / 100 if "percent" in limit else limit.get("gpu", UNLIMITED)

    def supply(self, name):
        return self.own(name) + sum(min(self.limit(child, "lend"), self.supply(child)) for child in self.children[name])

    def own(self, name):
        inside = sum(self.supply(child) for child in self.children[name]) if self.quotas[name].get("inclusive") else 0
        return self.nominal(name) - inside

    def balance(self, name, used):
        lent = sum(min(self.limit(child, "lend"), self.balance(child, used)) for child in self.children[name])
        return self.own(name) - used.get(name, 0) + lent

    def shortfalls(self, used):
        """{quota: (its balance, the least that the law allows)} of the quotas that have more than that."""
        found = {}
        for name, quota in self.quotas.items():
            least = -self.limit(name, "borrow") if "parent" in quota else 0
            balance = self.balance(name, used)
            if balance < least:
                found[name] = (balance, least)
        return found


class Watch:
    """Polls Slurm and notes what must never be. `accounts` maps an account to its quota."""

    def __init__(self, cluster, quotas, accounts, gpus):
        self.cluster, self.accounts, self.gpus = cluster, accounts, gpus
        self.law = Law(quotas)
        self.violations = []
        self.polls = self.most = self.unread = 0
        self.jobs = {}
        self.since = time.time()
        self.excused_until = 0
        self.floors = {}
        self.last_restart = {}

    def transition(self, quotas, seconds):
        """The quotas have changed, or jobs have started past the governor. Nobody is evicted without somebody who is owed
        the room, so a quota may stay above its limits; but it must not get any further from them after so many seconds."""
        self.law = Law(quotas)
        self.excused_until = time.time() + seconds
        self.floors = {}

    def check_law(self, used):
        found = self.law.shortfalls(used)
        if time.time() < self.excused_until:
            self.floors = {name: balance for name, (balance, _) in found.items()}
            return
        for name, (balance, least) in found.items():
            if balance < self.floors.get(name, least):
                self.note(f"{name}: its balance is {balance}, at least {least} is allowed; used: {dict(used)}")
        self.floors = {name: max(self.floors[name], balance) for name, (balance, _) in found.items() if name in self.floors}

    def used(self, jobs=None):
        used = collections.Counter()
        for job in (self.jobs if jobs is None else jobs).values():
            if job.state in HOLDING:
                used[self.accounts.get(job.account, job.account)] += job.gpus
        return used

    def poll(self):
        jobs = read_jobs(self.cluster)
        if jobs is None:  # slurmctld is not there just now
            self.unread += 1
            return self.jobs
        self.polls += 1
        self.jobs = jobs
        used = self.used()
        total = sum(used.values())
        self.most = max(self.most, total)
        if total > self.gpus:
            self.note(f"{total} GPUs are allocated, and there are {self.gpus}")
        for name in used:
            if name not in self.law.quotas and used[name]:
                self.note(f"a job of the account {name!r}, which has no quota, uses {used[name]} GPUs")
        self.check_law(used)
        for job in jobs.values():
            if job.restarts < self.last_restart.get(job.id, 0):
                self.note(f"job {job.id}: its count of restarts went back to {job.restarts}")
            self.last_restart[job.id] = job.restarts
        return jobs

    def note(self, what):
        self.violations.append(f"{time.time() - self.since:.1f} s: {what}")

    def until(self, condition, seconds, interval=0.2):
        """Polls until condition(jobs) holds. False after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            if condition(self.poll()):
                return True
            if time.monotonic() > end:
                return False
            time.sleep(interval)

    def idle(self, seconds, interval=0.2):
        self.until(lambda _: False, seconds, interval)

    def running(self, account=None):
        return sorted(job.id for job in self.jobs.values()
                      if job.state == "RUNNING" and account in (None, job.account))

    def pending(self, account=None):
        return sorted(job.id for job in self.jobs.values()
                      if job.state == "PENDING" and account in (None, job.account))
