"""A process that exports, to be killed: what it adds takes a while and many steps."""

from __future__ import annotations

import sys
from pathlib import Path

from nsightlens.store import merge
from support.datasets import write_reports


def main(folder: str, first: str, count: str, force: str) -> None:
    """Say that the run begins, and add reports to a dataset."""
    merge._FEW = 2  # every run is merged with those before
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    numbers = range(int(first), int(first) + int(count))
    write_reports(Path(folder), numbers, force=force == "force")


if __name__ == "__main__":
    main(*sys.argv[1:])
