"""Which steps were profiled whole: a part of a step has shares of time that say nothing of it.

Every layer of a model has the same number of matrix products for its one attention, whatever the
batch size, so that a step in which that number is another was cut, or is of another model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.sweeps.components import COMPONENTS, is_merging

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

__all__ = ["LeftOut", "batch_words", "chosen_steps", "unlike_notes"]

_ALIKE = 1.1
"""[1] Products per attention so close are the same: the last product of a step stands alone."""

_PART = 2.0
"""[1] So far from the others, it is a part of a step; closer, kernels may be joined or split."""


class LeftOut(NamedTuple):
    """Batch sizes that the verdict does not rest on, and why.

    Parameters
    ----------
    batches
        Ascending.
    why
        What holds there, as the end of a sentence.
    """

    batches: tuple[int, ...]
    why: str


def chosen_steps(
    is_complete: Mapping[int, bool], rows: Sequence[Mapping[str, Any]], *, is_salvaged: bool
) -> tuple[set[int], list[LeftOut]]:
    """Return the batch sizes that can be judged, and what is left out; all where none can be.

    Parameters
    ----------
    is_complete
        By batch size, ascending: whether the time of attention and of matmul is known.
    rows
        Rows of decode, of one GPU.
    is_salvaged
        A report ends in the middle, so that a small difference says as much as a large one.
    """
    reasons = {
        batch: _why_incomplete(batch, rows) for batch, is_it in is_complete.items() if not is_it
    }
    if len(reasons) == len(is_complete):
        return set(is_complete), []
    ratios = {batch: _ratio(batch, rows) for batch in is_complete if batch not in reasons}
    reasons |= _parts(ratios, _ALIKE if is_salvaged else _PART)
    chosen = set(is_complete) - set(reasons)
    return chosen or set(ratios), _joined(reasons)


def unlike_notes(rows: pa.Table) -> list[str]:
    """Say where steps of decode differ in the number of products for each attention.

    Parameters
    ----------
    rows
        With the schema of `nsightlens.tables.SWEEP`.
    """
    decode = [row for row in rows.to_pylist() if row["phase"] == "decode" and row["batch_size"]]
    places = dict.fromkeys((row["origin"], row["device_name"]) for row in decode)
    notes = []
    for place in places:
        mine = [row for row in decode if (row["origin"], row["device_name"]) == place]
        batches = sorted({row["batch_size"] for row in mine})
        found = {batch: ratio for batch in batches if (ratio := _ratio(batch, mine))}
        unlike = _parts(found, _ALIKE)
        if unlike:
            where = f" on {place[1]}" if len(places) > 1 else ""
            counts = _joined({batch: f"{one:.3g}" for batch, one in found.items()})
            told = ", ".join(f"{one.why} at batch {batch_words(one.batches)}" for one in counts)
            notes.append(
                f"Launches of matmul for each of attention in decode{where}: {told}. Where they"
                " differ, a part of a step may be missing; shares of time are of the launches that"
                " are there."
            )
    return notes


def batch_words(batches: Sequence[int]) -> str:
    """Return batch sizes as text: all of a few, the ends and the number of many.

    Examples
    --------
    >>> batch_words((4, 8)), batch_words((1, 2, 4, 8))
    ('4 and 8', '1 to 8 (4 sizes)')
    """
    if len(batches) > 3:
        return f"{batches[0]} to {batches[-1]} ({len(batches)} sizes)"
    *others, last = map(str, batches)
    return f"{', '.join(others)} and {last}" if others else last


def _why_incomplete(batch: int, rows: Iterable[Mapping[str, Any]]) -> str:
    mine = [row for row in rows if row["batch_size"] == batch]
    said = []
    for name in COMPONENTS[:2]:
        of_it = [row for row in mine if row["component"] == name]
        if not any(row["duration_ns"] for row in of_it):
            has_launches = any(row["launch_count"] for row in of_it)
            said.append(f"{'no duration' if has_launches else 'no launch'} of {name} is known")
    return " and ".join(said) or "no time is known"


def _ratio(batch: int, rows: Iterable[Mapping[str, Any]]) -> float:
    """Return launches of matmul for each of attention, merging kernels aside; 0 without any."""
    count = dict.fromkeys(COMPONENTS, 0)
    for row in rows:
        if row["batch_size"] == batch and not is_merging(row["family"], row["subtype"]):
            count[row["component"]] += row["launch_count"] or 0
    return count["matmul"] / count["attention"] if count["attention"] else 0.0


def _parts(ratios: Mapping[int, float], factor: float) -> dict[int, str]:
    """Say of batch sizes which are unlike the most; of all, where no two are alike."""
    usual = max(ratios.values(), key=lambda one: _agreeing(one, ratios), default=0.0)
    is_known = _agreeing(usual, ratios) > len(ratios) / 2
    unlike = {batch: one for batch, one in ratios.items() if _differs(one, usual, factor)}
    if not unlike:
        return {}
    what = "launches of matmul for each of attention are"
    if is_known:
        return {
            batch: f"{what} {one:.3g} instead of {usual:.3g}, so that a part of a step is missing"
            for batch, one in unlike.items()
        }
    return {
        batch: f"{what} {one:.3g}, and nothing says which steps are whole"
        for batch, one in ratios.items()
    }


def _agreeing(one: float, ratios: Mapping[int, float]) -> int:
    return sum(not _differs(one, other, _ALIKE) for other in ratios.values())


def _differs(one: float, other: float, factor: float) -> bool:
    low, high = sorted((one, other))
    return high >= factor * low if low else high > 0.0


def _joined(reasons: Mapping[int, str]) -> list[LeftOut]:
    by_reason: dict[str, list[int]] = {}
    for batch, why in sorted(reasons.items()):
        by_reason.setdefault(why, []).append(batch)
    return [LeftOut(tuple(batches), why) for why, batches in by_reason.items()]
