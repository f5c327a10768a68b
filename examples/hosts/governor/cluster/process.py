# SPDX-License-Identifier: BSL-1.0
"""A governor beside a cluster of any engine, and its log."""

import collections
import ctypes
import re
import signal
import subprocess
import time

Line = collections.namedtuple("Line", "at word values text")


class GovernorProcess:
    """`log_path` and `process` are those of its current run; a derived class says how it is started."""

    log_path, process = None, None

    def start_command(self, command, environment):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                            preexec_fn=end_with_parent)
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=15):
        """Its exit status; None where it had to be killed."""
        if self.process is None:
            return None
        self.process.terminate()
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        finally:
            self.process = None

    def text(self):
        try:
            with open(self.log_path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except OSError:
            return ""

    def log(self, word=None):
        """The lines TIME WORD key=value ... of its log."""
        lines = []
        for text in self.text().split("\n"):
            parts = text.split(" ", 2)
            if len(parts) < 2 or (word is not None and parts[1] != word):
                continue
            values = dict(re.findall(r"([\w-]+)=(\"(?:[^\"\\]|\\.)*\"|\S*)", parts[2] if len(parts) > 2 else ""))
            lines.append(Line(parts[0], parts[1], values, text))
        return lines

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.alive():
            self.stop()


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def wait_for(condition, seconds, interval=0.1):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(interval)
    return True
