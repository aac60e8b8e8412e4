"""How far a run has come: read from what ncu says while it profiles, for a person to see.

``==PROF== Profiling "name" - 3 (4/10): 0%....50%....100% - 9 passes``: the line begins when the
launch does, grows while passes are replayed, and what the target says may come between. What a
report holds is counted in the report; this is for looking only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["NcuProgress", "Progress", "duration_text", "progress_text", "remaining_s"]

_BEGIN = re.compile(
    r'==PROF== Profiling "(?P<name>[^\n]*?)"(?: - \d+)?(?: \(\d+/(?P<total>\d+)\))?:'
)
_PASSES = re.compile(r"100% - (?P<passes>\d+) pass(?:es)?\b")
_LONGEST_TAIL = 1 << 16
"""[character] Of a line that has not ended; a target may write without end."""


class NcuProgress:
    r"""What the output of ncu says, piece by piece.

    Parameters
    ----------
    launch_count
        Launches that are profiled already.
    launch_total
        Launches that are to be profiled; None where ncu does not say.
    kernel
        Name of the kernel that is profiled; None between two.
    pass_count
        Passes of the launch that was profiled last; None before.

    Examples
    --------
    >>> progress = NcuProgress()
    >>> progress.feed('==PROF== Profiling "gemm" - 0 (1/4): 0%....50%')
    >>> progress.kernel, progress.launch_count, progress.launch_total
    ('gemm', 0, 4)
    >>> progress.feed("....100% - 9 passes\n")
    >>> progress.kernel, progress.launch_count, progress.pass_count
    (None, 1, 9)
    """

    def __init__(self) -> None:
        self.launch_count = 0
        self.launch_total: int | None = None
        self.kernel: str | None = None
        self.pass_count: int | None = None
        self._tail = ""

    def feed(self, text: str) -> None:
        """Take the next piece of the output, which may begin and end anywhere."""
        text = self._tail + text
        while True:
            if self.kernel is None:
                found = _BEGIN.search(text)
                if found is None:
                    break
                self.kernel = found["name"]
                if found["total"] is not None:
                    self.launch_total = int(found["total"])
                text = text[found.end() :]
            done, begun = _PASSES.search(text), _BEGIN.search(text)
            if done is not None and (begun is None or done.start() < begun.start()):
                self.launch_count += 1
                self.pass_count = int(done["passes"])
                text = text[done.end() :]
            elif begun is None:
                break
            # Else it failed: the next one has begun without a word of its passes.
            self.kernel = None
        # What may still be completed by the next piece.
        line = text.rpartition("\n")[2] if self.kernel is None else text
        self._tail = line[-_LONGEST_TAIL:]


class Progress(NamedTuple):
    """How far a run has come.

    Parameters
    ----------
    part_id
        The part that runs.
    number, total
        Which part it is, and how many there are to run, counted from 1.
    launch_count, launch_total
        Launches profiled in this part, and how many it has; None where that is not known.
    pass_count
        Replay passes of the last launch; None where there is none.
    elapsed_s
        [s] Of this part.
    remaining_s
        [s] Of the whole run, estimated; None before there is anything to go by.
    """

    part_id: str
    number: int
    total: int
    launch_count: int | None
    launch_total: int | None
    pass_count: int | None
    elapsed_s: float
    remaining_s: float | None


def remaining_s(
    *,
    elapsed_s: float,
    launch_count: int | None,
    launch_total: int | None,
    parts_left: int,
    last_part_s: float | None,
) -> float | None:
    """Estimate how long [s] a run still takes.

    Parameters
    ----------
    elapsed_s
        [s] Since this part began.
    launch_count, launch_total
        Launches of this part that are profiled, and all of them.
    parts_left
        Parts behind this one.
    last_part_s
        [s] That the part before it took; None for the first one.

    Returns
    -------
    float or None
        None where there is nothing to go by.

    Examples
    --------
    >>> remaining_s(
    ...     elapsed_s=10, launch_count=5, launch_total=20, parts_left=1, last_part_s=None
    ... )
    70.0
    """
    part_s = last_part_s
    if launch_count and launch_total:
        part_s = elapsed_s * max(launch_total, launch_count) / launch_count
    if part_s is None:
        return None
    return float(max(0.0, part_s - elapsed_s) + parts_left * part_s)


def progress_text(progress: Progress) -> str:
    """Return one line for a terminal.

    Examples
    --------
    >>> progress_text(Progress("ncu-batch-0008", 2, 10, 12, 40, 9, 65.0, 600.0))
    'part 2 of 10: ncu-batch-0008, 12 of 40 launches, 9 passes each, 1:05, about 10:00 left'
    """
    words = [f"part {progress.number} of {progress.total}: {progress.part_id}"]
    if progress.launch_count is not None:
        of = f" of {progress.launch_total}" if progress.launch_total else ""
        words.append(f"{progress.launch_count}{of} launches")
    if progress.pass_count is not None:
        words.append(f"{progress.pass_count} passes each")
    words.append(duration_text(progress.elapsed_s))
    if progress.remaining_s is not None:
        words.append(f"about {duration_text(progress.remaining_s)} left")
    return ", ".join(words)


def duration_text(seconds: float) -> str:
    """Return a time as a clock shows it.

    Examples
    --------
    >>> duration_text(5.2), duration_text(3725)
    ('0:05', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
