"""The SM clock while kernels run, as ``nvidia-smi`` shows it.

``nvidia-smi`` may take seconds to start, longer than a measurement, so that one runs for all of
them, and each line that it writes has its time.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ClockSample", "clock_within", "sampled_clocks"]

_INTERVAL_MS = 50
_START_S = 15.0
"""[s] That ``nvidia-smi`` is waited for, which is slow where no driver is kept loaded."""
_END_S = 5.0


class ClockSample(NamedTuple):
    """An SM clock [Hz], and the local time at which it was read."""

    at: datetime
    sm_clock_hz: float


@contextmanager
def sampled_clocks(uuid: str | None, program: str = "nvidia-smi") -> Iterator[list[ClockSample]]:
    """Sample the SM clock of a GPU; the list is filled at the end, or stays empty.

    Parameters
    ----------
    uuid
        Identity of the GPU without ``GPU-``: CUDA_VISIBLE_DEVICES and nvidia-smi number GPUs
        differently. None where it is not known: then there are no samples, as they might be of
        another GPU.
    program
        ``nvidia-smi``, or its path.
    """
    samples: list[ClockSample] = []
    found = None if uuid is None else shutil.which(program)
    if found is None:
        yield samples
        return
    argv = [
        found, "-i", f"GPU-{uuid}", "--query-gpu=timestamp,clocks.sm",
        "--format=csv,noheader,nounits", f"--loop-ms={_INTERVAL_MS}",
    ]  # fmt: skip
    # A file, as a pipe is full after two minutes and nvidia-smi would wait.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(argv, stdout=output, stderr=subprocess.DEVNULL)
        except OSError:
            yield samples
            return
        try:
            begin = time.monotonic()
            while process.poll() is None and time.monotonic() - begin < _START_S:
                if output.seek(0, 2):
                    break
                time.sleep(0.02)
            yield samples
        finally:
            process.terminate()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    samples += [one for one in map(_sample, text.splitlines()) if one is not None]


def _sample(line: str) -> ClockSample | None:
    """Return what a line says; None for another one, such as ``[N/A]`` or one that is cut off.

    Examples
    --------
    >>> _sample("2026/12/01 02:38:49.123, 1980").sm_clock_hz
    1980000000.0
    """
    at, _, clock_mhz = line.partition(", ")
    try:
        return ClockSample(datetime.strptime(at, "%Y/%m/%d %H:%M:%S.%f"), int(clock_mhz) * 1e6)
    except ValueError:
        return None


def clock_within(samples: Sequence[ClockSample], begin: datetime, end: datetime) -> float | None:
    """Return the median SM clock [Hz] of a measurement; None where there is no sample of it.

    The first fifth is left out: it is the warm-up, in which the clock may still rise.

    Parameters
    ----------
    samples
        From `sampled_clocks`.
    begin, end
        Local times between which it ran.

    Examples
    --------
    >>> begin, end = datetime(2026, 12, 1, 12, 0, 0), datetime(2026, 12, 1, 12, 0, 1)
    >>> clock_within([ClockSample(datetime(2026, 12, 1, 12, 0, 0, 500000), 1.98e9)], begin, end)
    1980000000.0
    """
    warm = begin + (end - begin) / 5
    clocks = [one.sm_clock_hz for one in samples if warm <= one.at <= end]
    return statistics.median(clocks) if clocks else None
