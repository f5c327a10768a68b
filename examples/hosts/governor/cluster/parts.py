# SPDX-License-Identifier: BSL-1.0
"""Tests on real clusters in parts: each is a process with a cluster of its own, and counts what held and what did not."""

import argparse
import os
import random
import re
import subprocess
import sys
import time

from supervisor import Interrupted, interruptible


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


def main(doc, part_class, parts, numbers):
    """The program of `part_class`, whose functions part_NAME are its parts: all of `parts`, or those that are named. `numbers`
    are its own options, each {NAME: (DEFAULT, HELP)}, which a part has as attributes. Returns the exit status."""
    known = vars(sys.modules["__main__"])
    told = [f"  {name:<10} " + re.sub(r"\s+", " ", known[f"part_{name}"].__doc__) for name in parts]
    parser = argparse.ArgumentParser(description=doc, epilog="the parts:\n" + "\n".join(told), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--keep", help="directory for what the governors wrote")
    parser.add_argument("--soak", action="store_true")
    for name, (default, text) in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=text)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    unknown = [name for name in options.parts if f"part_{name}" not in known]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(parts)}")
    names = ["soak"] if options.soak else options.parts or parts
    own = {name: getattr(options, name) for name in numbers}
    interruptible()
    try:
        if len(names) > 1:
            return several(sys.argv[0], names, options.seed, options.keep, options.at_once, own)
        part = part_class(names[0], options.seed, options.keep)
        for name, value in own.items():
            setattr(part, name, value)
        print(f"{names[0]}: seed {options.seed}", flush=True)
        part.run()
        print(f"{part.passed} passed, {len(part.failures)} failed")
        return 1 if part.failures else 0
    except Interrupted as interrupted:
        print(f"interrupted by {interrupted}")
        return 130


def several(program, names, seed, keep, at_once, numbers):
    """Runs the parts of a program, so many at once. The last line is "N passed, N failed". Returns the exit status."""
    running, waiting, passed, failed = {}, list(names), 0, 0
    outputs = {}
    try:
        while running or waiting:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                command = [sys.executable, os.path.abspath(program), "--seed", str(seed), name]
                command += ["--keep", keep] if keep else []
                command += [argument for option, value in numbers.items() for argument in (f"--{option}", str(value))]
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
