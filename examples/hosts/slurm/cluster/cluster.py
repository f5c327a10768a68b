#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A real Slurm cluster on this machine's loopback addresses: slurmctld, a slurmd for each node, and a munged.

    python3 cluster.py [--nodes 16] [--gpus 8] [--directory DIR] [--ungoverned] -- COMMAND...
                                                         runs COMMAND with SLURM_CONF set; without one, until Ctrl-C

Everything is in one directory, and nothing outside of it is touched: munged has a socket and a key of its own.
Several clusters can run at once. Needs root, as slurmd runs jobs as those who submitted them.

The daemons, and the steps of jobs, which outlive slurmd, end with this process, whatever becomes of it:
../../governor/cluster/supervisor.py.
"""

import argparse
import ctypes
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "governor/cluster"))

from supervisor import ClusterError, Interrupted, Supervisor, descendants, free_ports, interruptible, run_inside  # noqa: E402

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
# Users that exist in the cluster only, and the group that says which team each is in.
USERS = {"ana": "a-member", "ben": "b-member", "carla": "c-member", "dora": "d-member", "mallory": None}
FIRST_ID = 61001
NEEDED = ["slurmctld", "slurmd", "munged", "sbatch", "squeue", "scontrol"]
# What accounting needs besides: Debian's slurmdbd and mariadb-server-core.
NEEDED_FOR_ACCOUNTING = ["slurmdbd", "sacctmgr", "mariadbd"]
SYSTEM_TABLES = "/usr/share/mysql/mysql_system_tables.sql"


def missing(accounting=False):
    """What a cluster needs and this machine doesn't have: a line each."""
    needed = NEEDED + (NEEDED_FOR_ACCOUNTING if accounting else [])
    found = [f"the command {name} is missing" for name in needed if shutil.which(name, path=search_path()) is None]
    if os.geteuid() != 0:
        found.append("only root can start slurmd for several users")
    return found


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def add_users(directory):
    """This process and its children see the users above: in a mount namespace of their own, so the machine's files stay
    as they are. Call it before any thread is started."""
    try:
        return pwd.getpwnam("ana").pw_uid == FIRST_ID
    except KeyError:
        pass
    libc = ctypes.CDLL(None, use_errno=True)

    def check(what, status):
        if status != 0:
            raise ClusterError(f"{what}: {os.strerror(ctypes.get_errno())}; the cluster's users need a mount namespace")

    check("unshare", libc.unshare(CLONE_NEWNS))
    check("mount /", libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    lines = {"passwd": [f"{user}:x:{FIRST_ID + i}:{FIRST_ID + i}::/:/bin/sh" for i, user in enumerate(USERS)],
             "group": [f"{group or user}:x:{FIRST_ID + i}:" for i, (user, group) in enumerate(USERS.items())]}
    for name, more in lines.items():
        copy = os.path.join(directory, name)
        with open(f"/etc/{name}", encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        with open(copy, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text + "".join(line + "\n" for line in more))
        os.chmod(copy, 0o644)
        check(f"mount /etc/{name}", libc.mount(copy.encode(), f"/etc/{name}".encode(), None, MS_BIND, None))
    return True


# --- the cluster ----------------------------------------------------------------------------------------------------


class Cluster:
    """with Cluster(nodes=16, gpus=8) as cluster: cluster.run("sinfo")

    `options` are lines of slurm.conf that replace or add to those here. `lua` is the job_submit.lua; None leaves the
    plugin out. `partitions` are lines of slurm.conf, `topology` those of topology.conf. `models` are types of GPUs: the
    first nodes have GPUs of the first type, and so on, as many each. `accounting` are commands of sacctmgr; with any, even
    none, there are a slurmdbd and its database. `daemons` is added to the environment of slurmctld and slurmd. The directory is removed at the end unless it was given.
    """

    def __init__(self, nodes=16, gpus=8, directory=None, options=None, lua="default", partitions=None, models=None,
                 topology=None, cpus=64, accounting=None, daemons=None):
        problems = missing(accounting is not None)
        if problems:
            raise ClusterError("; ".join(problems))
        if not 1 <= nodes <= 190:
            raise ClusterError(f"1 to 190 nodes, not {nodes}")
        self.nodes, self.gpus, self.models, self.cpus, self.accounting = nodes, gpus, models, cpus, accounting
        self.names = [f"n{i}" for i in range(1, nodes + 1)]
        self.own = directory is None
        self.directory = os.path.abspath(directory or tempfile.mkdtemp(prefix="allot-slurm-"))
        self.supervisor = self.lock = None
        self.options = dict(options or {})
        self.partitions = partitions or [f"PartitionName=main Nodes={self._range()} Default=YES MaxTime=INFINITE State=UP"]
        self.topology, self.daemons = topology, daemons or {}
        if lua == "default":
            lua = os.path.join(os.path.dirname(HERE), "job_submit.lua")
        self.lua = lua
        os.makedirs(self.directory, exist_ok=True)
        # Others than root submit, too.
        os.chmod(self.directory, 0o755)
        self.conf = os.path.join(self.directory, "slurm.conf")
        self.environment = dict(os.environ, SLURM_CONF=self.conf, PATH=search_path())
        for name in list(self.environment):
            if name.startswith(("SLURM_", "SBATCH_", "SQUEUE_", "SALLOC_")) and name != "SLURM_CONF":
                del self.environment[name]

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def _range(self):
        return f"n[1-{self.nodes}]" if self.nodes > 1 else "n1"

    def _write(self, loopback):
        host = "localhost" if loopback else socket.gethostname().split(".")[0]
        self.port, self.lock = free_ports(self.nodes + 2)
        options = {
            "ClusterName": "allot",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmctldPort": self.port,
            "AuthType": "auth/munge",
            # A requeued job may start again once its credential has expired.
            "AuthInfo": f"socket={self.path('munge.socket')},cred_expire=5",
            "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny" if loopback else "",
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "StateSaveLocation": self.path("state"),
            "SlurmdSpoolDir": self.path("spool-%n"),
            "SlurmctldPidFile": self.path("slurmctld.pid"),
            "SlurmdPidFile": self.path("slurmd-%n.pid"),
            "SlurmctldDebug": "info",
            "SlurmdDebug": "verbose",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "MpiDefault": "none",
            "SwitchType": "switch/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "JobCompType": "jobcomp/filetxt",
            "JobCompLoc": self.path("completions.txt"),
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "SlurmdParameters": "config_overrides",
            "GresTypes": "gpu",
            "ReturnToService": 2,
            "SlurmdTimeout": 15,
            "SlurmctldTimeout": 15,
            "MessageTimeout": 20,
            "KillWait": 3,
            "InactiveLimit": 0,
            "MinJobAge": 300,
            "MaxJobCount": 20000,
            "MaxArraySize": 20001,
            # Released jobs start at once.
            "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=100000,bf_interval=5",
            "MailProg": "/bin/true",
        }
        if self.lua:
            options["JobSubmitPlugins"] = "lua"
            shutil.copyfile(self.lua, self.path("job_submit.lua"))
        options.update(self.options)
        if self.accounting is not None:
            options.update({"AccountingStorageType": "accounting_storage/slurmdbd", "AccountingStorageHost": host,
                            "AccountingStoragePort": self.port + self.nodes + 1, "AccountingStoragePass": self.path("munge.socket"),
                            "AccountingStorageEnforce": "associations,qos"})
            options.update(self.options)
            self._write_accounting(host, loopback)
        lines = [f"{key}={value}" for key, value in options.items() if value not in ("", None)]
        lines += [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={self.port + 1 + i} "
                  f"CPUs={self.cpus} RealMemory=500000 Gres={self._gres(i)} State=UNKNOWN" for i, name in enumerate(self.names)]
        self._text("slurm.conf", lines + self.partitions)
        # Files that are just there: Slurm counts them, nobody opens them.
        for i in range(self.gpus):
            self._text(f"gpu{i}", [])
        self._text("gres.conf", [f"NodeName={name} Name=gpu {f'Type={self._model(i)} ' if self.models else ''}"
                                 f"File={self.path('gpu')}[0-{self.gpus - 1}]" for i, name in enumerate(self.names)])
        if self.topology:
            self._text("topology.conf", self.topology)
        os.makedirs(self.path("state"), exist_ok=True)
        for name in self.names:
            os.makedirs(self.path(f"spool-{name}"), exist_ok=True)

    def _model(self, i):
        return self.models[i * len(self.models) // self.nodes]

    def _gres(self, i):
        return f"gpu:{self._model(i)}:{self.gpus}" if self.models else f"gpu:{self.gpus}"

    def _write_accounting(self, host, loopback):
        conf = self.path("slurmdbd.conf")
        self._text("slurmdbd.conf", [
            "AuthType=auth/munge", f"AuthInfo=socket={self.path('munge.socket')}", f"DbdHost={host}", "DbdAddr=127.0.0.1",
            f"DbdPort={self.port + self.nodes + 1}", "SlurmUser=root", "DebugLevel=info", f"PidFile={self.path('slurmdbd.pid')}",
            *(["CommunicationParameters=NoInAddrAny"] if loopback else []),
            "StorageType=accounting_storage/mysql", "StorageHost=localhost", "StorageUser=root", "StorageLoc=slurm"])
        os.chmod(conf, 0o600)

    def _text(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def start(self):
        try:
            return self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        add_users(self.directory)
        self.supervisor = Supervisor(self.directory if self.own else None, self.environment)
        # The daemons listen where the name of the host leads. It is another one for them, if that can be.
        self._write(loopback=self.supervisor.rename_host("localhost"))
        key = self.path("munge.key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(os.urandom(128))
        self.supervisor.start("munged", log=self.path("munged.txt"), command=[
            "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.path('munge.socket')}",
            f"--pid-file={self.path('munged.pid')}", f"--log-file={self.path('munged.log')}",
            f"--seed-file={self.path('munged.seed')}", "--num-threads=4"])
        self._wait("munged", lambda: os.path.exists(self.path("munge.socket")), 10)
        if self.accounting is not None:
            self._start_accounting()
        self.start_controller()
        # Only now does slurmdbd know what slurmctld counts: GPUs, for one.
        for command in self.accounting or []:
            self.sacctmgr(*command.split())
        for name in self.names:
            self.start_node(name)
        self._wait("all nodes", lambda: len(self.nodes_in("idle")) == self.nodes, 60)
        return self

    def _start_accounting(self):
        """slurmdbd, and a database that listens on a socket alone, where only root comes."""
        data = self.path("database")
        os.makedirs(data, mode=0o700, exist_ok=True)
        sock = os.path.join(data, "socket")
        common = ["mariadbd", "--no-defaults", f"--datadir={data}", "--user=root"]
        # slurmdbd has a stored procedure, which needs the system's tables. In a bootstrap a statement is a line.
        with open(SYSTEM_TABLES, encoding="utf-8") as file:
            tables = "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n" + file.read()
        self.run(*common, "--bootstrap", input=tables)
        self.supervisor.start("mariadbd", log=self.path("mariadbd.txt"), command=[
            *common, f"--socket={sock}", "--skip-networking", "--skip-grant-tables", f"--pid-file={self.path('mariadbd.pid')}", "--innodb-buffer-pool-size=64M",
            "--innodb-flush-log-at-trx-commit=0"])
        self._wait("mariadbd", lambda: os.path.exists(sock), 60)
        # libmariadb takes the socket of "localhost" from here.
        self.supervisor.start("slurmdbd", ["slurmdbd", "-D"], self.path("slurmdbd.txt"), {"MYSQL_UNIX_PORT": sock, "SLURM_CONF": self.conf})
        self._wait("slurmdbd", lambda: self.sacctmgr("list", "cluster", check=False).returncode == 0, 60)
        self.sacctmgr("add", "cluster", "allot")

    def sacctmgr(self, *command, check=True):
        return self.run("sacctmgr", "-i", *command, check=check)

    def _wait(self, what, condition, seconds):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise ClusterError(f"{what}: not up after {seconds} s\n{self.last_words()}")
            time.sleep(0.1)

    def last_words(self):
        told = []
        for name in ("munged.txt", "mariadbd.txt", "slurmdbd.txt", "slurmctld.txt", "slurmd-n1.txt"):
            try:
                with open(self.path(name), errors="replace", encoding="utf-8") as file:
                    told += [f"{name}: {line.rstrip()}" for line in file.readlines()[-5:]]
            except OSError:
                pass
        return "\n".join(told)

    # The parts

    def start_controller(self):
        self.supervisor.start("slurmctld", ["slurmctld", "-D"], self.path("slurmctld.txt"), self.daemons)
        self._wait("slurmctld", self.controller_answers, 30)

    def controller_answers(self):
        return self.run("scontrol", "ping", check=False).stdout.count("is UP") == 1

    def controller_pid(self):
        return self.supervisor.alive("slurmctld")

    def stop_controller(self, number=signal.SIGKILL):
        self._stop("slurmctld", number)

    def stop_controller_for(self, seconds):
        """It is there and answers nobody."""
        self.supervisor.signal("slurmctld", signal.SIGSTOP)
        time.sleep(seconds)
        self.supervisor.signal("slurmctld", signal.SIGCONT)

    def start_node(self, name):
        self.supervisor.start(f"slurmd-{name}", ["slurmd", "-D", "-N", name], self.path(f"slurmd-{name}.txt"), self.daemons)

    def stop_node(self, name, number=signal.SIGKILL):
        """The daemon alone; jobs that run there go on, as on a node whose slurmd has crashed."""
        self._stop(f"slurmd-{name}", number)

    def fail_node(self, name):
        """As when its power goes: the daemon, what it runs for jobs, and Slurm is told."""
        self.stop_node(name)
        mark = f"SLURMD_NODENAME={name}".encode()
        for pid in descendants(self.supervisor.pid):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark not in file.read().split(b"\0"):
                        continue
                with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{parent}/cmdline", "rb") as file:
                    if file.read().startswith(b"slurmstepd"):
                        os.kill(parent, signal.SIGKILL)
                os.kill(pid, signal.SIGKILL)
            except (OSError, ValueError):
                continue
        self.run("scontrol", "update", f"nodename={name}", "state=down", "reason=power")

    def return_node(self, name):
        self.start_node(name)
        # Where its registration was quicker it is back already, and Slurm refuses this.
        self.run("scontrol", "update", f"nodename={name}", "state=resume", check=False)

    def _stop(self, name, number):
        self.supervisor.signal(name, number)
        self._wait(f"end of {name}", lambda: not self.supervisor.alive(name), 20)

    def nodes_in(self, state):
        told = self.run("sinfo", "-h", "-N", "-o", "%N %T", check=False).stdout
        return sorted({line.split()[0] for line in told.splitlines() if line.split()[1:] == [state]})

    def gpus_used(self):
        """By node, as slurmctld counts."""
        told = self.run("scontrol", "show", "node", "--detail", "--oneliner").stdout
        return {name: int(gpus) for name, gpus in re.findall(r"NodeName=(\S+) .*?GresUsed=gpu:(?:[^:( ]+:)?(\d+)", told)}

    def purged_scripts(self):
        """Jobs whose script slurmd took for what is left of an old job. It does so when slurmctld asks what runs there
        while a job is launched, and then the job fails at once."""
        purged = set()
        for name in self.names:
            with open(self.path(f"slurmd-{name}.txt"), errors="replace", encoding="utf-8") as log:
                purged |= {int(job) for job in re.findall(r"Purging vestigial job script \S*/job(\d+)/", log.read())}
        return purged

    # Commands

    def run(self, *command, check=True, user=None, input=None, environment=None, timeout=60, cwd="/"):
        """Runs a command as `user` (a name), or as root. Bytes that are no UTF-8 come back as surrogates."""
        identity = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        done = subprocess.run(command, env=dict(self.environment, **(environment or {})), capture_output=True, text=True,
                              errors="surrogateescape", stdin=None if input is not None else subprocess.DEVNULL,
                              input=input, timeout=timeout, cwd=cwd, **identity)
        if check and done.returncode != 0:
            raise ClusterError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
        return done

    def submit(self, account, gpus=1, nodes=1, seconds=60, script=None, user=None, options=(), check=True):
        """sbatch: so many GPUs on each of so many nodes. Returns the id, or None where it is refused and that may be."""
        script = script or f"#!/bin/sh\nexec sleep {seconds}\n"
        command = ["sbatch", "--parsable", "--chdir=/", "--output=/dev/null", "--requeue", f"--account={account}",
                   f"--nodes={nodes}"]
        if gpus:
            command.append(f"--gres=gpu:{gpus}")
        done = self.run(*command, *options, user=user, input=script, check=check)
        return int(done.stdout.split(";")[0]) if done.returncode == 0 else None

    def stop(self):
        if self.supervisor is not None:
            self.supervisor.stop()
            self.supervisor = None
        if self.lock is not None:
            self.lock.close()
            self.lock = None
        if self.own:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=8, help="of each node")
    parser.add_argument("--directory", help="kept at the end; without it, one that is removed")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a line of slurm.conf")
    parser.add_argument("--ungoverned", action="store_true", help="without job_submit.lua: jobs are not held")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    interruptible()
    try:
        with Cluster(nodes=options.nodes, gpus=options.gpus, directory=options.directory,
                     lua=None if options.ungoverned else "default",
                     options=dict(pair.split("=", 1) for pair in options.set)) as cluster:
            print(f"export SLURM_CONF={cluster.conf}", file=sys.stderr, flush=True)
            if options.command:
                return run_inside(options.command, cluster.environment)
            while True:
                signal.pause()
    except ClusterError as problem:
        print(f"cluster: {problem}", file=sys.stderr)
        return 2
    except Interrupted:
        return 130


if __name__ == "__main__":
    sys.exit(main())
