"""What a whole table of labels says: time by bound and family, what is unknown and why.

Works on columns as Python sequences, one entry per row of the table; nothing is printed here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BOUNDS", "BoundShare", "UnknownReason", "bound_shares", "failed_count",
           "launch_total", "total_duration_ns", "unknown_reasons"]  # fmt: skip

BOUNDS = ("memory", "compute", "unknown")


class BoundShare(NamedTuple):
    """How the time of one family divides over the bounds.

    ``duration_ns`` [ns] is that of the launches with a duration; ``share_pct`` [%] of it by
    bound is ``None`` where no launch of the family has one; ``launch_count`` by bound.
    """

    family: str
    duration_ns: float
    share_pct: Mapping[str, float | None]
    launch_count: Mapping[str, int]


class UnknownReason(NamedTuple):
    """One reason for the bound ``unknown`` and the number of launches that have it.

    Numbers in which these launches differ are written N.
    """

    reason: str
    launch_count: int


def launch_total(rows: Mapping[str, Sequence[Any]]) -> int:
    """Return the number of launches behind the rows."""
    return sum(count or 0 for count in rows["launch_count"])


def failed_count(rows: Mapping[str, Sequence[Any]]) -> int:
    """Return the number of launches that failed to be collected."""
    return sum(count or 0 for count in rows["failed_launch_count"])


def total_duration_ns(rows: Mapping[str, Sequence[Any]]) -> float | None:
    """Return the [ns] sum of the durations, ``None`` where no row has one."""
    known = [value for value in rows["duration_ns"] if not numbers.is_missing(value)]
    return sum(known) if known else None


def bound_shares(rows: Mapping[str, Sequence[Any]]) -> list[BoundShare]:
    """Return one entry per family, the one with the most time first."""
    times: dict[str, Counter[str]] = defaultdict(Counter)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for family, bound, duration_ns, count in zip(
        rows["family"], rows["bound"], rows["duration_ns"], rows["launch_count"], strict=True
    ):
        name, side = family or "other", bound or "unknown"
        counts[name][side] += count or 0
        if not numbers.is_missing(duration_ns):
            times[name][side] += duration_ns
    shares = [_share(name, times[name], counts[name]) for name in counts]
    return sorted(shares, key=lambda share: (-share.duration_ns, share.family))


def _share(family: str, times: Counter[str], counts: Counter[str]) -> BoundShare:
    total = float(sum(times.values()))
    return BoundShare(
        family=family,
        duration_ns=total,
        share_pct={b: 100 * times[b] / total if total > 0 else None for b in BOUNDS},
        launch_count={bound: counts[bound] for bound in BOUNDS},
    )


def unknown_reasons(rows: Mapping[str, Sequence[Any]]) -> list[UnknownReason]:
    """Return why rows are unknown, the commonest first."""
    counts: Counter[str] = Counter()
    texts: dict[str, set[str]] = defaultdict(set)
    for bound, reason, count in zip(
        rows["bound"], rows["reason"], rows["launch_count"], strict=True
    ):
        if (bound or "unknown") == "unknown":
            text = reason or "no reason was given"
            # Launches that differ in numbers only are unknown for one reason.
            kind = _NUMBER.sub("N", text)
            counts[kind] += count or 0
            texts[kind].add(text)
    return [
        UnknownReason(kind if len(texts[kind]) > 1 else min(texts[kind]), count)
        for kind, count in counts.most_common()
    ]


_NUMBER = re.compile(r"(?<![\w.:-])\d[\d,]*(\.\d+)?(?![\w.:-]|\.\w)")
"""A number that is no part of a name, such as 39 in ``39 %``."""
