# SPDX-License-Identifier: BSL-1.0
import copy
import pathlib

import pytest

here = pathlib.Path(__file__).resolve().parent
tree = here.parents[2]

_teams = {
    "resources": ["gpu"],
    "cluster": {"nodes": [{"name": "node", "count": 2, "gpus": 4}]},
    "quotas": [
        {"name": "lab", "nominal": {"gpu": 0}},
        {"name": "vision", "parent": "lab", "nominal": {"gpu": 4}, "lend": "all", "borrow": {"gpu": 4}},
        {"name": "speech", "parent": "lab", "nominal": {"gpu": 4}, "lend": "all", "borrow": {"gpu": 2}},
    ],
    "jobs": [
        {"id": "train", "quota": "vision", "request": {"gpu": 3}, "pods": 2, "duration_s": 3600, "checkpoint_s": 60},
        {"id": "tune", "quota": "speech", "request": {"gpu": 3}, "submit_s": 600, "duration_s": 1200},
        {"id": "test", "quota": "vision", "request": {"gpu": 1}, "submit_s": 900, "duration_s": 60},
    ],
}


@pytest.fixture
def teams():
    return copy.deepcopy(_teams)


@pytest.fixture
def service(teams):
    """A job whose pods differ, alone."""
    chat = {
        "id": "chat", "quota": "vision", "duration_s": 600, "pod_sets": [
            {"name": "router", "request": {"gpu": 0}},
            {"name": "workers", "request": {"gpu": 2}, "pods": 3, "min_pods": 1},
        ]
    }
    return {**teams, "jobs": [chat]}


@pytest.fixture
def scenarios():
    return tree / "bench" / "lab" / "scenarios"


@pytest.fixture
def trace(tmp_path):
    """A day of two teams on 32 GPUs."""
    import allot

    path = tmp_path / "jobs.csv"
    allot.program("generate", "--days", 1, "--gpus", 32, "--out", path)
    return path
