"""What one launch lacks for a surer answer, and the options of ncu that would collect it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nsightlens.metrics.coverage import coverage
from nsightlens.metrics.tensor import TENSOR_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.report import Report

__all__ = ["Lack", "lacking"]

_WORK = ("dram_bytes", "fp64_flop_count", "fp32_flop_count", "fp16_flop_count", *TENSOR_COLUMNS)
_ASPECTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "label",
        "to have a label",
        ("duration_ns", "sm_throughput_pct", "memory_throughput_pct", "dram_throughput_pct"),
    ),
    ("counters", "to rest on counted operations and bytes", _WORK),
    ("stalls", "to know what warps wait for", ("top_stall_pct",)),
    (
        "hit_rates",
        "to know how caches are used",
        ("l1_hit_rate_pct", "l2_hit_rate_pct", "l2_bytes", "l1_bytes"),
    ),
    (
        "occupancy",
        "to know how many warps there are",
        ("achieved_occupancy_pct", "eligible_warps_per_scheduler"),
    ),
)
"""What can be asked of a launch: name, what it is good for, and the columns that answer it."""


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that the report does not say of a launch.

    Parameters
    ----------
    aspect
        label, counters, stalls, hit_rates or occupancy.
    purpose
        What it would be good for.
    columns
        Columns of ``launches`` that are empty.
    sections, metrics
        Options of ncu that fill them: its sections, or, with fewer replays, its metrics. Either
        is enough. Empty where the GPU has no such counter.
    """

    aspect: str
    purpose: str
    columns: tuple[str, ...]
    sections: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def is_countable(self) -> bool:
        """Whether something can be collected."""
        return bool(self.sections)


def lacking(report: Report, label: Mapping[str, Any]) -> tuple[Lack, ...]:
    """Return what a launch lacks, what matters most first.

    Parameters
    ----------
    report
        A report of this launch alone.
    label
        Its row of labels.

    Returns
    -------
    tuple of Lack
        Empty for a failed collection: nothing of it can be added, it has to be collected again.
    """
    if label["failed_launch_count"]:
        return ()
    rows = {row["column"]: row for row in coverage(report).to_pylist() if row["missing_count"]}
    # What a label does not need is not asked for: a norm without tensor counters is no worse off.
    answered = set() if label["bound"] == "unknown" else {"label"}
    answered |= {"counters"} if label["evidence"] == "counters" else set()
    found = []
    for aspect, purpose, columns in _ASPECTS:
        if aspect in answered:
            continue
        missing = [rows[name] for name in columns if name in rows]
        if missing:
            found.append(_lack(aspect, purpose, missing))
    return tuple(lack for lack in found if lack.is_countable or lack.aspect == "label")


def _lack(aspect: str, purpose: str, rows: Sequence[Mapping[str, Any]]) -> Lack:
    return Lack(
        aspect,
        purpose,
        tuple(row["column"] for row in rows),
        tuple(dict.fromkeys(row["sections"][0] for row in rows if row["sections"])),
        tuple(dict.fromkeys(_metrics(rows))),
    )


def _metrics(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield from row["metrics"]
