# SPDX-License-Identifier: BSL-1.0
"""A simulation that is decided from outside."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from . import _allot
from ._inputs import Scenario, Time, Trace, Window, input_of, options_of, told_of
from ._results import Run, RunFiles


class Answer(NamedTuple):
    """What became of an action. It is true if the action was carried out."""

    action: str
    job: str
    done: bool
    #: A word for programs: "borrow_limit", "full", "not_pending", "not_preemptible", ... Empty if it was done.
    reason: str
    #: The quota whose bound it is, or "cluster"; empty if it is neither.
    at: str
    #: The same as a sentence.
    text: str

    def __bool__(self) -> bool:
        return self.done


#: "job" or ("start", "job"): start it. ("evict", "job") or ("evict", "job", "for which"). ("grow", "job") and
#: ("shrink", "job"): one more pod, or one less, of a running elastic job.
Action = Union[str, Tuple[str, str], Tuple[str, str, Optional[str]]]


class News(NamedTuple):
    """What has happened to jobs, by number."""

    submitted: List[int]
    #: Those that wait again: evicted, or their node has failed.
    evicted: List[int]
    #: Finished, or cancelled.
    ended: List[int]


class Arrays:
    """The state of a simulation as NumPy arrays, for learners: `update` fills them, in place, with what is so now.

    `pending` and `running` are dicts of arrays with a row for each of the first jobs, by submission and by start; the first
    `pending_shown` and `running_shown` rows count. Of a job: `job` (its number: an index of `Simulator.workload()`),
    `quota` (an index of `quota_names`), `request` (a column for each of `resources`), `pods`, `priority`, `preemptible`,
    `age_s`, `estimate_s` (NaN if there is none), `served_s` (for how long it has run, in all), `starts` (how often);
    of one that runs `ran_s` (since it last started), of one that waits `fits_quota` and `fits_nodes`: if both, a
    start would be done. `quotas` has `nominal`, `used`, `borrowed`, `lent` and `headroom`, by quota and resource, infinite if
    unlimited. `free_gpus` is by node (0 if it is closed).
    """

    def __init__(self, simulator: Simulator, most_pending: int, most_running: int):
        self._simulator = simulator
        names = simulator._stepper.names()
        self.quota_names: List[str] = names["quotas"]
        self.node_names: List[str] = names["nodes"]
        self.resources: List[str] = names["resources"]
        self._columns = simulator._stepper.columns(most_pending, most_running)
        arrays = self._columns.arrays()
        self.pending: Dict[str, Any] = arrays["pending"]
        self.running: Dict[str, Any] = arrays["running"]
        self.quotas: Dict[str, Any] = arrays["quotas"]
        self.free_gpus: Any = arrays["free_gpus"]
        self.update()

    def update(self) -> None:
        """Fills the arrays."""
        #: `waiting` and `running_in_all` count all of them.
        self.time_s, self.waiting, self.pending_shown, self.running_in_all, self.running_shown = (
            self._simulator._stepper.fill(self._columns))


class Simulator:
    """A simulation that is decided from outside: observe, decide, act, and let time pass.

        sim = allot.Simulator("teams.json")
        while not sim.done:
            for job in sim.observe()["pending"]:
                if job["fits"]:
                    sim.start(job["job"])
            sim.advance()
        print(sim.result().headline)

    It stands at an instant at which something happened: jobs have ended and arrived, and now it is decided. What is
    not decided stays as it is. Nothing is started, or evicted, that is not asked for, except that a job that has run
    for its time limit ends.

    The arguments are those of `replay`, without a policy. `placement` names the placement of the jobs that are
    started: "best_fit", "fgd", ... (`allot policies` lists them).
    """

    def __init__(
        self,
        scenario: Optional[Scenario] = None,
        *,
        trace: Optional[Trace] = None,
        nodes: Optional[str] = None,
        placement: Optional[str] = None,
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
    ):
        self._inputs = dict(scenario=scenario, trace=trace, nodes=nodes)
        self._options: Dict[str, Any] = dict(
            seed=seed, until=until, max_queue=max_queue, max_time=max_time, tenants_step=tenants_step, window=window,
            warm_up=warm_up, no_drain=no_drain, isolated=isolated)
        self._placement = placement
        self._report = report
        self.reset()

    def reset(self) -> None:
        """Starts over with the same workload."""
        self._result: Optional[Run] = None
        self._stepper: Any = None  # the one before, first
        self._files = RunFiles()
        policy: Dict[str, Any] = {"preset": "outside"}
        if self._placement is not None:
            policy["set"] = {"placement": self._placement}
        given = input_of(policy=policy, directory=self._files.path, **self._inputs)
        given["is_stepped"] = True
        options = options_of(dict(self._options, report=self._report))
        with told_of(self._files.path, {"trace.csv": "trace"}):
            self._stepper = _allot.Stepper(given, options, self._files.path)

    @property
    def done(self) -> bool:
        """Whether nothing more happens: the workload is over, or `until` has come."""
        return self._stepper.done

    @property
    def time(self) -> float:
        """The simulated time in seconds."""
        return self._stepper.now

    def observe(self, most_pending: Optional[int] = None) -> Dict[str, Any]:
        """The state as dicts and lists: `time_s`, `pending`, `running`, `quotas`, `nodes` and `free_gpus`.

        `pending` are the jobs that wait, by submission (the first `most_pending`), `running` those that run, in the
        order of their starts. pandas.DataFrame(sim.observe()["pending"]) is a table of them.
        """
        return self._stepper.observe(sys.maxsize if most_pending is None else most_pending)

    def act(self, actions: Iterable[Action]) -> List[Answer]:
        """Carries out one action after the other, now, and says of each whether it was done, and why not.

        What an action evicts has gone when the next one starts a job. An action that the quotas, the nodes or the
        state of its job do not allow changes nothing.
        """
        wanted = []
        for a in [actions] if isinstance(actions, str) else actions:
            kind, job, *rest = ("start", a) if isinstance(a, str) else a
            wanted.append((kind, job, rest[0] if rest else None))
        answers = self._stepper.act(wanted)
        return [Answer(w[0], w[1], *a) for w, a in zip(wanted, answers)]

    def arrays(self, most_pending: int = 64, most_running: int = 64) -> Arrays:
        """The state as NumPy arrays of a fixed size, to be updated in place: see `Arrays`. For this episode: `reset`
        begins another."""
        return Arrays(self, most_pending, most_running)

    def workload(self) -> Dict[str, Any]:
        """The jobs by their numbers, as lists: `job` (the id), `quota`, `class`, and in `tags` each tag of the trace."""
        return self._stepper.workload()

    def happened(self) -> News:
        """What has happened to jobs since the last call."""
        return News(*self._stepper.take_news())

    def start_numbers(self, jobs: Iterable[int]) -> int:
        """Starts jobs, given by number, one after the other, up to the first that is refused. Returns how many."""
        return self._stepper.start(list(jobs))

    def start(self, job: str) -> Answer:
        """Starts a pending job."""
        return self.act([("start", job)])[0]

    def evict(self, job: str, beneficiary: Optional[str] = None) -> Answer:
        """Evicts a running job, which is pending again; `beneficiary` is the pending job for which it is done."""
        return self.act([("evict", job, beneficiary)])[0]

    def advance(self, until: Optional[float] = None) -> bool:
        """Lets time pass until something happens; if `until` is given, to that time (in seconds), whether or not
        something happens then, without asking for decisions before.

        Returns whether it goes on: False if the simulation is done, because no job runs and none is to come. Jobs that
        could start then are to be started before: those that still wait never run. With `until` it goes on while one
        could start, until 1,000 such rounds and a day have passed without effect.
        """
        self._stepper.advance(float("-inf") if until is None else until)
        return not self.done

    def run(self, policy: Callable[[Dict[str, Any]], Iterable[Action]]) -> Run:
        """Runs to the end under a function that makes actions of an observation."""
        while not self.done:
            self.act(policy(self.observe()))
            self.advance()
        return self.result()

    def result(self) -> Run:
        """The result, as that of `replay`. If the simulation is not done, it ends now."""
        if self._result is None:
            self._stepper.stop()
            self._result = Run(self._files, *self._stepper.result())
        return self._result

    def run_policy(self, policy: Union[str, Dict[str, Any]] = "standard") -> Run:
        """For comparison: the same workload under a policy of the library, from its beginning."""
        from . import replay

        options = dict(self._options, report=self._report)
        if self._placement is not None:
            policy = dict(policy) if isinstance(policy, dict) else {"preset": policy}
            policy["set"] = {"placement": self._placement, **policy.get("set", {})}
        return replay(policy=policy, **self._inputs, **options)
