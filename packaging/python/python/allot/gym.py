# SPDX-License-Identifier: BSL-1.0
"""An environment of Gymnasium: an agent starts jobs, one at a time.

    env = allot.gym.Scheduling("teams.json")
    state, info = env.reset()
    while not done:
        state, reward, done, _, info = env.step(agent(state))
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import gymnasium
import numpy as np

from ._simulator import Simulator


class Scheduling(gymnasium.Env):  # type: ignore[type-arg]
    """Action i starts the i-th of the jobs that wait, by submission; the last action lets time pass until something happens.
    So does an action that is refused: `info["refused"]`. The reward is minus the time that jobs have waited meanwhile, in
    hours: the sum over an episode is the total wait. An episode ends when no job runs and none is to come; each that still
    waits then never runs, and counts as `unstarted_h` hours of waiting.

    An observation has `pending` (a row for each of the first `most_pending` jobs: GPUs or other resources, pods, priority,
    age and estimate in hours (-1 if there is none), hours served, whether it fits), `quotas` (nominal, used, headroom of
    each resource) and `free_gpus` (by node).

    The arguments are those of `allot.Simulator`; `arrays` has all of the state. For other rewards and actions, derive from
    this class, or use `allot.Simulator` itself.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, scenario: Any = None, *, most_pending: int = 64, unstarted_h: float = 1000.0, **options: Any):
        options.setdefault("report", False)
        self.simulator = Simulator(scenario, **options)
        self.most_pending = most_pending
        self.unstarted_h = unstarted_h
        self._begin()
        resources = len(self.arrays.resources)

        def box(*shape: int) -> gymnasium.spaces.Box:
            return gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)

        self.observation_space = gymnasium.spaces.Dict({
            "pending": box(most_pending, resources + 6),
            "quotas": box(len(self.arrays.quota_names), 3 * resources),
            "free_gpus": box(len(self.arrays.free_gpus)),
        })
        self.action_space = gymnasium.spaces.Discrete(most_pending + 1)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Dict[str, Any]]:
        super().reset(seed=seed)
        self.simulator.reset()
        self._begin()
        return self._observation(), {}

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        now = self.arrays
        before, waiting = now.time_s, now.waiting
        started = 0
        if action < now.pending_shown:
            started = self.simulator.start_numbers([int(now.pending["job"][action])])
        if started == 0:
            self.simulator.advance()
        now.update()
        waited = waiting * (now.time_s - before) / 3600
        if self.simulator.done:
            waited += waiting * self.unstarted_h
        refused = started == 0 and action < self.most_pending
        return self._observation(), -waited, self.simulator.done, False, {"refused": refused}

    def _begin(self) -> None:
        self.arrays = self.simulator.arrays(self.most_pending, 0)

    def _observation(self) -> Dict[str, Any]:
        now = self.arrays
        shown = now.pending_shown
        jobs = now.pending
        rows = np.zeros((self.most_pending, len(now.resources) + 6), np.float32)
        rows[:shown] = np.column_stack([
            jobs["request"], jobs["pods"], jobs["priority"], jobs["age_s"] / 3600,
            np.nan_to_num(jobs["estimate_s"] / 3600, nan=-1), jobs["served_s"] / 3600,
            jobs["fits_quota"] & jobs["fits_nodes"]
        ])[:shown]
        quotas = np.column_stack([now.quotas["nominal"], now.quotas["used"], now.quotas["headroom"]])
        return {
            "pending": rows,
            "quotas": np.nan_to_num(quotas, posinf=1e6).astype(np.float32),
            "free_gpus": now.free_gpus.astype(np.float32),
        }
