"""A program beside this one: run to its end or ended with all that it started.

The one place that starts foreign programs: profilers, their targets, ``nvidia-smi``. Each runs in
a session of its own, so that what it started can be ended with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Ended", "end_tree", "run_quietly"]

GRACE_S = 5.0
"""[s] Time between the polite signal and the one that cannot be refused."""


class Ended(NamedTuple):
    """How a program ended, and what it said."""

    argv: tuple[str, ...]
    return_code: int
    """Negative: the number of the signal that ended it."""
    stdout: str
    stderr: str
    duration_s: float
    has_timed_out: bool
    """True where we ended it because its time was over."""


def run_quietly(
    argv: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Ended:
    r"""Run a program that says little, and return what it said.

    Parameters
    ----------
    argv
        Program and arguments; no shell looks at them.
    timeout_s
        [s] After that long it is ended, with everything that it started.
    environment
        Its whole environment; None for that of this process.
    folder
        Where it runs; None for the working directory of this process.

    Raises
    ------
    OSError
        There is no such program, or it cannot be run.

    Examples
    --------
    >>> import sys
    >>> run_quietly([sys.executable, "-c", "print(1)"], timeout_s=60).stdout
    '1\n'
    """
    began = time.monotonic()
    with subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=None if environment is None else dict(environment),
        cwd=folder,
        start_new_session=True,
    ) as process:
        has_timed_out = False
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            has_timed_out = True
            end_tree(process)
            stdout, stderr = process.communicate()
        except BaseException:
            end_tree(process)
            raise
    return Ended(
        tuple(argv), process.returncode, stdout, stderr, time.monotonic() - began, has_timed_out
    )


def end_tree(process: subprocess.Popen[str], *, grace_s: float = GRACE_S) -> None:
    """End a program that leads its session, and everything that it started.

    Parameters
    ----------
    process
        Started with ``start_new_session=True``.
    grace_s
        [s] How long it may take to end by itself after the polite signal.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    # Also where the leader is gone: what it started may have stayed.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
