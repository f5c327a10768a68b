# SPDX-License-Identifier: BSL-1.0
"""What clusters of any engine on loopback addresses have in common: daemons that never outlive their cluster, free ports,
and a command that runs in the cluster.

The daemons are children of a supervisor, which adopts what they leave behind and ends all of it when the pipe to its
parent closes: nothing stays behind, even if the parent is killed.
"""

import ctypes
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWUTS = 0x04000000


class ClusterError(Exception):
    pass


class Supervisor:
    """`remove` is a directory that goes with the daemons."""

    def __init__(self, remove=None, environment=None):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), remove or ""], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment, start_new_session=True)
        self.pid = self.process.pid

    def _order(self, **order):
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as problem:
            raise ClusterError(f"the supervisor is gone: {problem}") from problem

    def rename_host(self, name):
        """Daemons that are started from now on see this name of the host. False where that can't be."""
        return self._order(host=name)

    def start(self, name, command, log, environment=None):
        return self._order(start=name, command=command, log=log, environment=environment or {})

    def signal(self, name, number):
        return self._order(signal=name, number=int(number))

    def alive(self, name):
        """Its process id, or 0."""
        return self._order(alive=name)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()


# --- the supervisor's own process -----------------------------------------------------------------------------------


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise ClusterError(f"prctl({option}): {os.strerror(ctypes.get_errno())}")


def descendants(of):
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                children.setdefault(int(parent), []).append(int(name))
    found, todo = [], [of]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def reap():
    ended = []
    while True:
        try:
            pid = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append(pid)


def end_descendants():
    # What is killed may just have forked: until nobody is left.
    until = time.monotonic() + 20
    while time.monotonic() < until:
        left = descendants(os.getpid())
        if not left:
            break
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        reap()


def supervise(remove):
    """Reads an order a line, a JSON object, as Supervisor writes them. Answers each with a line."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running = {}

    def start(order):
        with open(order["log"], "ab") as log:
            process = os.fork()
            if process == 0:
                try:
                    os.setsid()
                    # Should the supervisor itself be killed, the daemons still go.
                    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                        signal.signal(number, signal.SIG_DFL)
                    null = os.open(os.devnull, os.O_RDONLY)
                    os.dup2(null, 0)
                    os.dup2(log.fileno(), 1)
                    os.dup2(log.fileno(), 2)
                    os.closerange(3, 256)
                    os.environ.update(order["environment"])
                    os.execvp(order["command"][0], order["command"])
                except BaseException:  # the child must not go on as a second supervisor
                    os._exit(127)
        running[order["start"]] = process
        return process

    def rename_host(name):
        renamed = ctypes.CDLL(None).unshare(CLONE_NEWUTS) == 0
        if renamed:
            socket.sethostname(name)
        return renamed

    try:
        buffer = b""
        while True:
            ready = select.select([0], [], [], 0.2)[0]
            for pid in reap():
                for name in [name for name, known in running.items() if known == pid]:
                    del running[name]
            if not ready:
                continue
            data = os.read(0, 65536)
            if not data:
                return
            buffer += data
            while b"\n" in buffer:
                line, buffer = buffer.split(b"\n", 1)
                order = json.loads(line)
                if "start" in order:
                    answer = start(order)
                elif "signal" in order:
                    answer = order["signal"] in running
                    if answer:
                        os.kill(running[order["signal"]], order["number"])
                elif "host" in order:
                    answer = rename_host(order["host"])
                else:
                    answer = running.get(order["alive"], 0)
                os.write(1, json.dumps(answer).encode() + b"\n")
    except (OSError, ValueError):
        pass
    finally:
        end_descendants()
        if remove:
            shutil.rmtree(remove, ignore_errors=True)


# --- what else clusters need ----------------------------------------------------------------------------------------


def free_ports(count):
    """The first of so many consecutive free ports, and a lock that keeps other clusters away from them. They are below
    the range from which the kernel takes the ports of outgoing connections."""
    for _ in range(200):
        base = 10000 + 200 * random.SystemRandom().randrange(100)
        lock = socket.socket(socket.AF_UNIX)
        probes = []
        try:
            lock.bind(f"\0allot-cluster-{base}")
            for port in range(base, base + count):
                probe = socket.socket()
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probes.append(probe)
                probe.bind(("127.0.0.1", port))
            return base, lock
        except OSError:
            lock.close()
        finally:
            for probe in probes:
                probe.close()
    raise ClusterError(f"no {count} consecutive free ports on 127.0.0.1")


class Interrupted(Exception):
    pass


def interruptible():
    """SIGTERM and SIGHUP unwind like Ctrl-C, so that `with` ends what it has begun."""

    def raise_it(number, _):
        raise Interrupted(signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, raise_it)


def run_inside(command, environment):
    """Its exit status. What it has started and left in the background, a governor, say, ends too: its cluster goes."""
    token = f"{os.getpid()}-{time.time_ns()}"
    try:
        return subprocess.run(command, env=dict(environment, ALLOT_CLUSTER_SHELL=token), check=False).returncode
    finally:
        end_left_behind(token)


def end_left_behind(token):
    mark = f"ALLOT_CLUSTER_SHELL={token}".encode()

    def left():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    if mark in environ.read().split(b"\0"):
                        yield int(pid)
            except OSError:
                pass

    for number, patience in ((signal.SIGTERM, 30), (signal.SIGKILL, 5)):
        for pid in left():
            try:
                os.kill(pid, number)
            except OSError:
                pass
        end = time.monotonic() + patience
        while time.monotonic() < end and any(True for _ in left()):
            time.sleep(0.2)


if __name__ == "__main__":
    supervise(sys.argv[1])
