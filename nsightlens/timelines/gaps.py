"""Times in which a device did nothing, and why, as far as the host's calls tell.

The cause of a gap follows from the call that asked for what ended it, and from its thread:

- ``sync``: the thread was waiting for the device when the gap began (in a synchronising call that
  began before the gap and returned within it), and made the call after that.
- ``queued``: the call had returned before the gap began: the work was queued, and the device or
  another stream kept it waiting. No launch would begin it sooner.
- ``launch``: the call was running when the gap began, or the thread spent at least half of the gap
  in calls that launch: the device waited for launches.
- ``host``: the thread did something else for most of the gap, other CUDA calls included.
- ``unknown``: the trace has no call for what ended the gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.timelines.activities import NO_VALUE, codes_of, distinct, whole_column
from nsightlens.timelines.intervals import covered_within, merged

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nsightlens.timelines.activities import Activities
    from nsightlens.trace import Trace

__all__ = ["CAUSES", "Gaps", "gaps_of"]

CAUSES = ("launch", "host", "sync", "queued", "unknown")
_LAUNCH, _HOST, _SYNC, _QUEUED, _UNKNOWN = range(5)
_SHARE_IN_CALLS = 0.5
"""Of a gap that a thread spent in launching calls, from which on it waited for launches."""
_LAUNCHING = ("Launch", "MemcpyAsync", "MemsetAsync", "Memcpy2DAsync", "HtoDAsync", "DtoHAsync")
_WAITING = ("Synchronize",)
_WAITING_COPIES = ("cudaMemcpy", "cudaMemcpy2D", "cudaMemcpyToSymbol", "cudaMemcpyFromSymbol")


class Gaps(NamedTuple):
    """Gaps of all devices; g of them.

    Parameters
    ----------
    device_id, start_ns, end_ns
        Where and when. Shape (g,).
    after
        Position among the activities of what ended the gap. Shape (g,).
    cause
        Index into `CAUSES`. Shape (g,).
    """

    device_id: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    after: NDArray[np.int64]
    cause: NDArray[np.int64]

    @property
    def duration_ns(self) -> NDArray[np.int64]:
        """Length of each. Shape (g,)."""
        return self.end_ns - self.start_ns


def gaps_of(trace: Trace, activities: Activities) -> Gaps:
    """Return the gaps between what the devices did, each with its cause."""
    number = activities.number
    device, start, end = (number[one] for one in ("device_id", "start_ns", "end_ns"))
    found: list[list[NDArray[np.int64]]] = []
    devices, of_device = distinct(device)
    for place, (one,) in enumerate(devices):  # one turn per device
        rows = np.flatnonzero(of_device == place)
        rows = rows[np.argsort(start[rows], kind="stable")]
        reach = np.maximum.accumulate(end[rows])
        at = np.flatnonzero(start[rows][1:] > reach[:-1])
        after = rows[at + 1]
        found.append([np.full(len(at), one), reach[at], start[after], after])
    empty = [[np.zeros(0, dtype=np.int64)] * 4]
    device_id, begin, stop, after = (
        np.concatenate(part) for part in zip(*(found or empty), strict=True)
    )
    gaps = Gaps(device_id, begin, stop, after, np.zeros(len(after), dtype=np.int64))
    return gaps._replace(cause=_causes(trace, activities.only(gaps.after), gaps))


def _causes(trace: Trace, after: Activities, gaps: Gaps) -> NDArray[np.int64]:
    """Return the cause of each gap, from the calls of the thread that ended it."""
    asked = after.number["api_start_ns"]
    thread = [after.number[one] for one in ("process_id", "thread_id")]
    in_calls = np.zeros(len(asked), dtype=np.int64)
    is_sync = np.zeros(len(asked), dtype=bool)
    calls = trace.api_calls
    of_call = [whole_column(calls, one) for one in ("process_id", "thread_id")]
    begin, stop = (whole_column(calls, one) for one in ("start_ns", "end_ns"))
    is_timed = (begin != NO_VALUE) & (stop != NO_VALUE)
    waits, launches = (_called(trace, one) & is_timed for one in (_is_waiting, _is_launching))
    threads, of_thread = distinct(*thread)
    for place, (process, one) in enumerate(threads):  # one turn per thread
        mine = np.flatnonzero((of_thread == place) & (asked != NO_VALUE))
        theirs = (of_call[0] == process) & (of_call[1] == one)
        union = merged(begin[theirs & launches], stop[theirs & launches])
        # Up to the call that ended the gap: while that runs, the device waits for it.
        in_calls[mine] = covered_within(union, gaps.start_ns[mine], gaps.end_ns[mine])
        ended = np.flatnonzero(theirs & waits)
        ended = ended[np.argsort(stop[ended], kind="stable")]
        at = np.searchsorted(stop[ended], asked[mine], side="right") - 1
        last = np.append(ended, -1)[at]
        has_waited = (at >= 0) & (np.append(stop, NO_VALUE)[last] >= gaps.start_ns[mine])
        is_sync[mine] = has_waited & (np.append(begin, NO_VALUE)[last] <= gaps.start_ns[mine])
    returned = after.number["api_end_ns"]
    is_launch = (asked <= gaps.start_ns) | (in_calls >= _SHARE_IN_CALLS * gaps.duration_ns)
    cause = np.where(is_launch, _LAUNCH, _HOST)
    cause = np.where(is_sync, _SYNC, cause)
    cause = np.where((returned != NO_VALUE) & (returned <= gaps.start_ns), _QUEUED, cause)
    return np.where(asked == NO_VALUE, _UNKNOWN, cause).astype(np.int64)


def _called(trace: Trace, is_it: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Return which calls have a name of a kind. Shape (calls,)."""
    code, names = codes_of(trace.api_calls, "api_name")
    known = [name is not None and is_it(name) for name in names]
    found: NDArray[np.bool_] = np.array(known, dtype=bool)[code]
    return found


def _is_waiting(name: str) -> bool:
    # cudaMemcpy waits; cudaMemcpyAsync does not by its name, though a pageable one may.
    return any(word in name for word in _WAITING) or name.partition("_")[0] in _WAITING_COPIES


def _is_launching(name: str) -> bool:
    return any(word in name for word in _LAUNCHING)
