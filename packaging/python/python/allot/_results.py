# SPDX-License-Identifier: BSL-1.0
"""What a simulation leaves: the files of `allot replay`, as data frames."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
import zlib
from typing import TYPE_CHECKING, Any, Dict, Optional, Union

if TYPE_CHECKING:
    from pandas import DataFrame


def pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as e:  # it is only needed for data frames
        raise ImportError("data frames need pandas: pip install pandas (summaries and the simulator do not)") from e
    return pd


# What is text though it may look like a number.
_texts = frozenset(
    ("job_id", "quota", "nodes", "state", "reason", "class", "event", "for", "point", "scenario", "policy", "load"))


def read_csv(path: str) -> DataFrame:
    pd = pandas()
    header = pd.read_csv(path, nrows=0).columns
    return pd.read_csv(
        path,
        dtype={name: "str" for name in header if name in _texts},
        # An empty number is missing. An empty text is just that, and a job may be called "NA".
        keep_default_na=False,
        na_values={name: [""] for name in header if name not in _texts},
    )


class RunFiles:
    """A directory that lives as long as what refers to it."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="allot-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


_names = ("jobs.csv", "tenants.csv", "events.csv", "report.html", "summary.json")


class Run:
    """The result of a replay, or of a simulation that was stepped.

    `summary` has the keys of summary.json, and `jobs()`, `tenants()` and `events()` are data frames with the columns
    of jobs.csv, tenants.csv and events.csv (bench/lab/README.md documents them all), read once. It can be pickled, with
    all its files: a process pool returns it.
    """

    def __init__(self, files: RunFiles, headline: str = "", warnings: str = ""):
        self._files = files
        self._tables: Dict[str, Any] = {}
        #: The main figures as text.
        self.headline = headline
        #: What else should be known: refused jobs, jobs that never ran. Empty if there is nothing.
        self.warnings = warnings
        with open(self._path("summary.json"), encoding="utf-8") as file:
            #: All figures.
            self.summary: Dict[str, Any] = json.load(file)

    def _path(self, name: str) -> str:
        return os.path.join(self._files.path, name)

    def __getstate__(self) -> Dict[str, Any]:
        files = {}
        for name in _names:
            if os.path.exists(self._path(name)):
                with open(self._path(name), "rb") as file:
                    files[name] = zlib.compress(file.read(), 1)
        return {**self.__dict__, "_files": files, "_tables": {}}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _files=RunFiles())
        for name, packed in state["_files"].items():
            with open(self._path(name), "wb") as file:
                file.write(zlib.decompress(packed))

    def _table(self, name: str) -> DataFrame:
        if name not in self._tables:
            self._tables[name] = read_csv(self._path(name))
        return self._tables[name].copy()

    def jobs(self) -> DataFrame:
        """A row for each job: when it was submitted, started and ended, where it ran, why it waited."""
        return self._table("jobs.csv")

    def tenants(self) -> DataFrame:
        """A series for each quota: what it uses, borrows and lends, and what it is entitled to."""
        return self._table("tenants.csv")

    def events(self) -> DataFrame:
        """A row for each thing that happened to a job."""
        return self._table("events.csv")

    @property
    def decision_hash(self) -> str:
        """The fingerprint of all decisions, in their order: the same on every machine."""
        return self.summary["decision_hash"]

    @property
    def report(self) -> Optional[str]:
        """The path of the report page, for a browser; it is there as long as this object. None if it was not wanted."""
        path = self._path("report.html")
        return path if os.path.exists(path) else None

    def save(self, directory: Union[str, "os.PathLike[str]"]) -> None:
        """Copies all files into a new directory, as `allot replay --out` makes it. `allot compare` reads it."""
        os.makedirs(directory)
        for name in _names:
            if os.path.exists(self._path(name)):
                shutil.copy(self._path(name), directory)

    def __repr__(self) -> str:
        jobs = self.summary["jobs"]
        return f"<allot.Run {self.summary['policy_name']}: {jobs['completed']} of {jobs['total']} jobs completed>"
