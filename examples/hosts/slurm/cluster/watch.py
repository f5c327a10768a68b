# SPDX-License-Identifier: BSL-1.0
"""What Slurm says of its jobs, and whether the law of quotas holds in it, from the quotas of the configuration and the GPUs
that Slurm has allocated."""

import collections
import json
import re

from law import LawWatch

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


class Watch(LawWatch):
    """Polls Slurm and notes what must never be. `accounts` maps an account to its quota."""

    def __init__(self, cluster, quotas, accounts, gpus):
        super().__init__(quotas)
        self.cluster, self.accounts, self.gpus = cluster, accounts, gpus
        self.unread = 0
        self.jobs = {}
        self.last_restart = {}

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

    def running(self, account=None):
        return sorted(job.id for job in self.jobs.values()
                      if job.state == "RUNNING" and account in (None, job.account))

    def pending(self, account=None):
        return sorted(job.id for job in self.jobs.values()
                      if job.state == "PENDING" and account in (None, job.account))
