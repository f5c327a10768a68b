# SPDX-License-Identifier: BSL-1.0
"""The program `allot`: `python -m allot`, or the command that is installed with the package."""

import sys

from . import _allot


def main() -> int:
    return _allot.program(["allot", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
