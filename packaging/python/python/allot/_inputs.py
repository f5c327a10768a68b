# SPDX-License-Identifier: BSL-1.0
"""Turns what Python has (paths, dicts, data frames, numbers) into what the lab reads."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, Tuple, Union

from ._errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

Time = Union[int, float, str]
Window = Union[str, Tuple[Union[Time, None], Union[Time, None]]]
Scenario = Union[str, "os.PathLike[str]", Dict[str, Any]]
Trace = Union[str, "os.PathLike[str]", "DataFrame"]


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
        rounded(trace).to_csv(given["trace"], index=False)
    elif trace is not None:
        given["trace"] = os.fspath(trace)
    if nodes is not None:
        given["nodes"] = nodes
    if isinstance(policy, dict):
        given["policy_json"] = json.dumps(policy)
    elif policy is not None:
        given["policy"] = policy
    return given


def rounded(frame):
    """Times and GPUs have three decimals, which computed ones rarely do."""
    exact = [name for name, column in frame.items()
             if column.dtype.kind == "f" and (name == "gpus" or str(name).endswith("_s"))]
    return frame.round({name: 3 for name in exact})


@contextlib.contextmanager
def told_of(directory: str, names: Dict[str, str]) -> Iterator[None]:
    """Files that the caller never saw go by other names in what is wrong."""
    paths = {os.path.join(directory, file): name for file, name in names.items()}

    def renamed(text: str) -> str:
        for path, name in paths.items():
            text = text.replace(path, name)
        return text

    try:
        yield
    except InputError as e:
        raise InputError([tuple(renamed(part) for part in p) for p in e.problems], e.count) from None


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
        if name in ("seed", "max_queue"):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
                raise InputError([(name, "", f"expected a whole number from 0 to 2^64 - 1, found {value!r}")])
        elif name in ("until", "max_time", "tenants_step", "warm_up"):
            value = time_text(value)
        elif name == "window" and not isinstance(value, str):
            value = ",".join("" if edge is None else time_text(edge) for edge in value)
        known[name] = value
    return known
