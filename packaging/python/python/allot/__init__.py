# SPDX-License-Identifier: BSL-1.0
"""GPU-cluster scheduling policies: replays, sweeps, and a simulator that is stepped from outside.

    allot.replay("teams.json", policy="kueue").summary     a simulation under one policy
    allot.sweep("experiment.json")                         many of them, as a table
    allot.decide("teams.json")                             one decision
    allot.explain_change("teams.json", "node:dgx-3:gone")  what a change would do
    allot.Simulator("teams.json")                          a simulation that you decide
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Union

from . import _allot
from ._errors import InputError, Problem
from ._inputs import Scenario, Time, Trace, Window, input_of, options_of, told_of
from ._results import Run, RunFiles, pandas, read_csv
from ._simulator import Action, Answer, Arrays, News, Simulator

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "Action",
    "Answer",
    "Arrays",
    "InputError",
    "News",
    "Policy",
    "Problem",
    "Run",
    "Simulator",
    "decide",
    "explain_change",
    "policies",
    "program",
    "replay",
    "sweep",
    "version",
]

#: The version of the library.
version: str = _allot.version()
__version__ = version


class Policy(NamedTuple):
    """A policy that has a name."""

    name: str
    summary: str


def policies() -> List[Policy]:
    """The policies of the library."""
    return [Policy(*p) for p in _allot.policies()]


def replay(
    scenario: Optional[Scenario] = None,
    *,
    trace: Optional[Trace] = None,
    policy: Union[str, Dict[str, Any], None] = None,
    nodes: Optional[str] = None,
    seed: Optional[int] = None,
    until: Optional[Time] = None,
    max_queue: Optional[int] = None,
    max_time: Optional[Time] = None,
    tenants_step: Optional[Time] = None,
    window: Optional[Window] = None,
    warm_up: Optional[Time] = None,
    no_drain: bool = False,
    isolated: bool = False,
    report: bool = True,
) -> Run:
    """Simulates a scenario, as `allot replay` does.

    scenario: the path of a scenario, or a dict with what one has. Without one, `trace` and `nodes` are required, and
        every tenant gets an equal part of the nodes.
    trace: the path of a CSV, or a data frame with its columns, whose times and GPUs are rounded to three decimals; in
        place of the scenario's.
    policy: a name (see `policies`), or a dict, as in a scenario: {"preset": "standard", "set": {...}}.
    nodes: "16x8", 16 nodes of 8 GPUs; in place of the scenario's.
    until, max_time, tenants_step, warm_up: numbers of seconds, or texts such as "30d".
    window: (from, to), either of which may be None.
    report: whether the report page is made.

    `allot replay --help` documents the rest. Raises `InputError` with everything that is wrong with the input.
    """
    files = RunFiles()
    given = input_of(scenario, trace, nodes, policy, files.path)
    options = options_of(
        dict(seed=seed, until=until, max_queue=max_queue, max_time=max_time, tenants_step=tenants_step, window=window,
             warm_up=warm_up, no_drain=no_drain, isolated=isolated, report=report))
    with told_of(files.path, {"trace.csv": "trace"}):
        return Run(files, *_allot.replay(given, options, files.path))


def decide(
    scenario: Optional[Scenario] = None,
    *,
    trace: Optional[Trace] = None,
    policy: Union[str, Dict[str, Any], None] = None,
    nodes: Optional[str] = None,
    rounds: int = 1,
) -> Dict[str, Any]:
    """One decision of a scheduler (or up to `rounds`), as `allot decide` prints it: which jobs are admitted and
    evicted, for which job and why, and which stay pending and why."""
    with tempfile.TemporaryDirectory(prefix="allot-") as directory, told_of(directory, {"trace.csv": "trace"}):
        return json.loads(_allot.decide(input_of(scenario, trace, nodes, policy, directory), rounds))


def explain_change(
    scenario: Scenario,
    changes: Union[str, List[str]],
    *,
    trace: Optional[Trace] = None,
    policy: Union[str, Dict[str, Any], None] = None,
    nodes: Optional[str] = None,
) -> Dict[str, Any]:
    """What would be otherwise with these changes, as `allot explain --if` prints it: which jobs would start, have to
    go, or wait for less, longer or another reason.

    changes: one or more of "quota:NAME:gpu+8" (or -8), "job:NAME:priority=5", "job:NAME:gone", "node:NAME:gone"."""
    with tempfile.TemporaryDirectory(prefix="allot-") as directory, told_of(directory, {"trace.csv": "trace"}):
        given = input_of(scenario, trace, nodes, policy, directory)
        return json.loads(_allot.explain_change(given, [changes] if isinstance(changes, str) else list(changes)))


def sweep(experiment: Scenario, out: Union[str, "os.PathLike[str]", None] = None, *, jobs: Optional[int] = None,
          traces: Optional[Dict[str, Any]] = None, executor: Optional[Executor] = None, shards: int = 8) -> DataFrame:
    """Replays every policy on every scenario at every load with every seed, and gives a data frame with a row for
    each replay and all its figures (results.csv of `allot sweep`).

    experiment: the path of an experiment, or a dict with what one has.
    out: the directory of the sweep; a sweep that was interrupted goes on there. Without one, nothing is kept.
    jobs: how many replays run at once; one per core.
    traces: by scenario, the path of its trace.
    executor: who runs it, in `shards` parts: a `concurrent.futures.Executor`, of this machine or of many (Dask, Ray and
        submitit have one). `out`, the experiment and the traces are then on a file system that all of them see. Without
        one it runs on this machine.
    """
    pandas()  # before the work
    if executor is not None and out is None:
        raise ValueError("a sweep with an executor needs `out`, a directory that its workers see")
    what = _at_home(experiment) if isinstance(experiment, dict) else os.path.abspath(experiment)
    options: List[str] = []
    if jobs is not None:
        options += ["--jobs", str(jobs)]
    for name, trace in (traces or {}).items():
        options += ["--trace", f"{name}={os.path.abspath(trace)}"]
    with tempfile.TemporaryDirectory(prefix="allot-") as directory:
        to = os.path.abspath(os.path.join(directory, "sweep") if out is None else out)
        if executor is not None:
            for part in [executor.submit(_sweep_into, to, what, [*options, "--shard", f"{i}/{shards}"]) for i in range(shards)]:
                part.result()
        # With an executor all is done, and this puts it together.
        _sweep_into(to, what, options)
        return read_csv(os.path.join(to, "results.csv"))


def _sweep_into(to: str, experiment: Union[str, Dict[str, Any]], options: List[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="allot-") as directory, told_of(directory, {"experiment.json": "experiment"}):
        path = experiment
        if isinstance(experiment, dict):
            path = os.path.join(directory, "experiment.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": "allot-experiment/1", **experiment}, file)
        program("sweep", path, "--out", to, *options, incomplete=True)


def _at_home(experiment: Dict[str, Any]) -> Dict[str, Any]:
    """Paths in an experiment are relative to its file; those of a dict to the working directory."""

    def home(scenario):
        if isinstance(scenario, str):
            return os.path.abspath(scenario)
        paths = {key: os.path.abspath(scenario[key]) for key in ("file", "trace") if key in scenario}
        return {**scenario, **paths}

    return {**experiment, "scenarios": [home(s) for s in experiment.get("scenarios", [])]}


def program(*arguments: Any, incomplete: bool = False) -> str:
    """Runs the program `allot` with these arguments, in a process of its own, and gives what it prints.

        allot.program("generate", "--days", 7, "--out", "jobs.csv")

    Raises `InputError` if the input is wrong; `incomplete` accepts a sweep with points that failed.
    """
    command = [sys.executable, "-m", "allot", *[str(a) for a in arguments]]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ended.returncode == 0 or (incomplete and ended.returncode == 3):
        return ended.stdout
    lines = [line for line in ended.stderr.splitlines() if line]
    if ended.returncode == 2:
        raise InputError([("", "", line) for line in lines])
    raise RuntimeError(f"allot {arguments[0] if arguments else ''}: status {ended.returncode}\n{ended.stderr}")
