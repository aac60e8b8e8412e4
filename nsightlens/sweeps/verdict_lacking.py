"""What is missing for a verdict on a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.sweeps.components import COMPONENTS
from nsightlens.sweeps.verdict_evidence import decode_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

__all__ = ["lacking"]

Row = dict[str, Any]
_WATCHED = COMPONENTS[:2]


def lacking(rows: pa.Table, steps: pa.Table) -> str:
    """Say what is missing for a verdict, in a sentence; empty where the labels have to say it."""
    if not rows.num_rows:
        return "There is no launch to judge."
    is_analytic = set(rows["origin"].to_pylist()) == {"analytic"}
    return _lacking_steps(steps, is_analytic) or _lacking_components(rows, is_analytic)


def _lacking_steps(steps: pa.Table, is_analytic: bool) -> str:
    phases = set(steps["phase"].to_pylist())
    if "decode" not in phases:
        named = sorted(phase for phase in phases if phase)
        if named and is_analytic:
            return f"The verdict is on decode, and these are steps of {' and '.join(named)}."
        if named:
            return f"No launch belongs to a decode step, only to {' and '.join(named)}."
        return "Nothing says which launches belong to decode steps: a range or --batch-from can."
    if not decode_rows(steps):
        return "Nothing says the batch size of decode launches: --batch-from or --batch-size can."
    return ""


def _lacking_components(rows: pa.Table, is_analytic: bool) -> str:
    decode = decode_rows(rows)
    have = {row["component"] for row in decode}
    absent = [name for name in _WATCHED if name not in have]
    if absent:
        return _absent(absent, rows)
    timed = {row["component"] for row in decode if row["duration_ns"]}
    untimed = [name for name in _WATCHED if name not in timed]
    if untimed:
        return _untimed([row for row in decode if row["component"] in untimed], untimed)
    both = [batch for batch in {row["batch_size"] for row in decode} if _has_both(decode, batch)]
    if not both:
        return "No batch size has both attention and matmul: profile whole steps."
    if len(both) == 1:
        how = "predict" if is_analytic else "profile"
        return f"One batch size, {both[0]}, shows no trend: {how} a second one."
    return ""


def _absent(absent: Sequence[str], rows: pa.Table) -> str:
    names = " nor ".join(absent)
    columns = zip(rows["component"].to_pylist(), rows["phase"].to_pylist(), strict=True)
    if (absent[0], None) in set(columns):
        return (
            f"Launches of {names} have no phase, so that they are in no decode step: a range or"
            " --batch-from with a group 'phase' says it."
        )
    what = "neither " if len(absent) > 1 else "no "
    return (
        f"Decode steps have {what}{names}, so that no share of a step is known: profile whole"
        " steps, without a filter on kernels."
    )


def _untimed(rows: Sequence[Row], names: Sequence[str]) -> str:
    count = sum(row["launch_count"] or 0 for row in rows)
    failed = sum(row["failed_launch_count"] or 0 for row in rows)
    have = f"Decode steps have {count} {'launch' if count == 1 else 'launches'} of"
    have = (
        f"{have} {' and '.join(names)}, none with a duration, so that no share of a step is known"
    )
    if count and failed == count:
        return f"{have}: all failed to be collected."
    return f"{have}: collect gpu__time_duration.sum, which --section SpeedOfLight has."


def _has_both(decode: Sequence[Row], batch: int) -> bool:
    have = {row["component"] for row in decode if row["batch_size"] == batch and row["duration_ns"]}
    return have >= set(_WATCHED)
