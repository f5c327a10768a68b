# SPDX-License-Identifier: BSL-1.0
"""Turns what Python has (paths, dicts, data frames, numbers) into what the lab reads."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Union

Scenario = Union[str, "os.PathLike[str]", Dict[str, Any]]


def input_of(scenario, trace, nodes, policy, directory) -> Dict[str, Any]:
    """`directory` takes a trace that is a data frame."""
    given: Dict[str, Any] = {}
    if isinstance(scenario, dict):
        # In messages it is "scenario"; a relative path in it is relative to the working directory.
        given["scenario"] = "scenario"
        given["scenario_text"] = json.dumps({"format": "allot-scenario/1", **scenario})
    elif scenario is not None:
        given["scenario"] = os.fspath(scenario)
    if hasattr(trace, "to_csv"):
        given["trace"] = os.path.join(directory, "trace.csv")
        trace.to_csv(given["trace"], index=False)
    elif trace is not None:
        given["trace"] = os.fspath(trace)
    if nodes is not None:
        given["nodes"] = nodes
    if isinstance(policy, dict):
        given["policy_json"] = json.dumps(policy)
    elif policy is not None:
        given["policy"] = policy
    return given


def time_text(value) -> str:
    """A number of seconds, or a text such as "30d"."""
    if isinstance(value, str):
        return value
    return format(value, ".3f") if isinstance(value, float) else str(value)


def options_of(options: Dict[str, Any]) -> Dict[str, Any]:
    known = {}
    for name, value in options.items():
        if value is None:
            continue
        if name in ("until", "max_time", "tenants_step", "warm_up"):
            value = time_text(value)
        elif name == "window" and not isinstance(value, str):
            value = ",".join("" if edge is None else time_text(edge) for edge in value)
        known[name] = value
    return known
