# SPDX-License-Identifier: BSL-1.0
"""Tests on real clusters in parts: each is a process with a cluster of its own, and counts what held and what did not."""

import os
import random
import re
import subprocess
import sys
import time


class Checks:
    """What was found by a part."""

    def __init__(self, name, seed, keep):
        self.name, self.seed, self.keep = name, seed, keep
        self.random = random.Random(f"{name} {seed}")
        self.passed, self.failures = 0, []

    def check(self, holds, what):
        if holds:
            self.passed += 1
        else:
            self.failures.append(what)
            print(f"{self.name}: FAILED: {what}", flush=True)
        return bool(holds)

    def say(self, text):
        print(f"{self.name}: {text}", flush=True)


def several(program, names, seed, keep, at_once):
    """Runs the parts of a program, so many at once. The last line is "N passed, N failed". Returns the exit status."""
    running, waiting, passed, failed = {}, list(names), 0, 0
    outputs = {}
    try:
        while running or waiting:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                command = [sys.executable, os.path.abspath(program), "--seed", str(seed), name]
                command += ["--keep", keep] if keep else []
                running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for name, process in list(running.items()):
                if process.poll() is None:
                    continue
                outputs[name] = process.communicate()[0]
                del running[name]
                lines = outputs[name].strip().split("\n")
                print("\n".join(lines[:-1]), flush=True)
                counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1])
                if counts:
                    passed, failed = passed + int(counts[1]), failed + int(counts[2])
                else:
                    print(f"{name}: {lines[-1]}\n{name}: ended with {process.returncode}", flush=True)
                    failed += 1
            time.sleep(0.2)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
