# SPDX-License-Identifier: BSL-1.0
"""What can be wrong."""

from __future__ import annotations

from typing import List, NamedTuple


class Problem(NamedTuple):
    """One problem of the input: the file, the place in it (a JSON pointer, or line and column), and what is wrong."""

    file: str
    place: str
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class InputError(ValueError):
    """The input is wrong. `problems` lists everything that is (the first 50)."""

    def __init__(self, problems, count=None):
        self.problems: List[Problem] = [Problem(*p) for p in problems]
        #: How many there are.
        self.count: int = len(self.problems) if count is None else count
        lines = [str(p) for p in self.problems]
        if self.count > len(lines):
            lines.append(f"... and {self.count - len(lines)} more")
        super().__init__("\n".join(lines))
