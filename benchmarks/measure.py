"""Runs a process and says what it took. Imports nothing but the standard library.

On Linux a process starts with the peak memory of the one that started it, so this one has to stay
smaller than whatever it measures: reports are written, and read, in processes of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

__all__ = ["ROOT", "Cost", "cheapest", "run"]

ROOT = Path(__file__).resolve().parents[1]
"""Where this package and nsightlens lie: the working directory of every process."""


class Cost(NamedTuple):
    """Wall time [s] from start to end, peak resident memory [MB], and what it printed."""

    seconds: float
    megabytes: float
    output: str


def run(argv: list[str], scanner: str | None = None, *, is_output_kept: bool = True) -> Cost:
    """Run Python with some arguments and return what that took.

    Parameters
    ----------
    argv
        Arguments of the interpreter.
    scanner
        Which scanner of ours is to read: ``"c"`` or ``"python"``.
    is_output_kept
        Return what the process prints, instead of dropping it unread.

    Raises
    ------
    SystemExit
        The process failed; what it said stands on the standard error already.
    """
    environment = os.environ | ({} if scanner is None else {"NSIGHTLENS_SCANNER": scanner})
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *argv],
        stdout=subprocess.PIPE if is_output_kept else subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
        text=True,
    )
    output = "" if process.stdout is None else process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.stdout is not None:
        process.stdout.close()
    if process.returncode:
        raise SystemExit(f"failed with code {process.returncode}: python {' '.join(argv)}")
    # Linux counts in KiB, macOS in bytes.
    megabytes = usage.ru_maxrss * (1024 if sys.platform == "linux" else 1) / 1e6
    return Cost(seconds, megabytes, output)


def cheapest(argv: list[str], repeat: int, scanner: str | None = None) -> Cost:
    """Run a command some times and return what the quickest run took."""
    return min(run(argv, scanner, is_output_kept=False) for _ in range(repeat))
