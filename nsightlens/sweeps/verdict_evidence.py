"""What the verdict on a sweep rests on: attention and matmul at two batch sizes, their trends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.sweeps.components import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

__all__ = ["ComponentAt", "Evidence", "StepAt", "evidence_of", "lacking"]

Row = dict[str, Any]
_WATCHED = COMPONENTS[:2]


class ComponentAt(NamedTuple):
    """A component at a batch size: its share, and the label of its row with most of the time.

    Parameters
    ----------
    name
        ``attention`` or ``matmul``.
    share
        [1] Of the time of kernels in the step.
    row
        Of the table of rows.
    intensity
        [FLOP/B] Without padding where that is known, else as executed.
    """

    name: str
    share: float
    row: Row
    intensity: float | None

    @property
    def is_bandwidth_saturated(self) -> bool:
        """DRAM is what limits it, and is used up; by its shapes where nothing was measured."""
        if self.row["origin"] == "analytic":
            return bool(self.row["roofline_bound"] == "memory")
        label = (self.row["bound"], self.row["limiter"], self.row["regime"])
        return label == ("memory", "dram", "saturated")

    @property
    def is_compute_bound(self) -> bool:
        """Compute is what limits it, by the label and by the roofline, and it does not wait."""
        if self.row["origin"] == "analytic":
            return bool(self.row["roofline_bound"] == "compute")
        is_compute = self.row["bound"] == "compute" and self.row["roofline_bound"] != "memory"
        return is_compute and self.row["regime"] in ("saturated", "balanced")

    @property
    def waits(self) -> bool:
        """No resource explains its time."""
        return self.row["regime"] in ("latency", "small_grid")


class StepAt(NamedTuple):
    """A step of one batch size; a component that was not profiled is None."""

    batch: int
    attention: ComponentAt | None
    matmul: ComponentAt | None

    @property
    def components(self) -> list[ComponentAt]:
        """Those that were profiled, the largest share first."""
        found = [one for one in (self.attention, self.matmul) if one is not None]
        return sorted(found, key=lambda one: -one.share)

    @property
    def is_complete(self) -> bool:
        """Both were profiled."""
        return len(self.components) == len(_WATCHED)


class Evidence(NamedTuple):
    """What the verdict rests on.

    Parameters
    ----------
    device
        Name of the GPU with the most time in decode.
    is_one_of_several
        Other GPUs have decode steps too.
    small, large
        The smallest and the largest batch size, of those with both components where there are any.
    trends
        Row of the table of trends by component: that with most of the time.
    """

    device: str
    is_one_of_several: bool
    small: StepAt
    large: StepAt
    trends: dict[str, Row]

    @property
    def has_two_steps(self) -> bool:
        """There is a trend to speak of, over steps of which both components were profiled."""
        is_complete = self.small.is_complete and self.large.is_complete
        return is_complete and self.small.batch != self.large.batch


def evidence_of(rows: pa.Table, trends: pa.Table, steps: pa.Table) -> Evidence | None:
    """Return what is known of decode; None where no decode step has a batch size.

    Parameters
    ----------
    rows, trends, steps
        As for `nsightlens.sweeps.verdict_of`.
    """
    decode = _decode(steps)
    if not decode:
        return None
    total: dict[tuple[str, str | None], float] = {}
    for step in decode:
        place = (step["origin"], step["device_name"])
        total[place] = total.get(place, 0.0) + (step["duration_ns"] or 0.0)
    place = max(total, key=lambda one: (total[one], str(one)))
    members = _decode(rows, place)
    found = [_step(step, members) for step in _decode(steps, place)]
    found.sort(key=lambda step: step.batch)
    chosen = [step for step in found if step.is_complete] or found
    return Evidence(
        device=place[1] or "a GPU without a name",
        is_one_of_several=len(total) > 1,
        small=chosen[0],
        large=chosen[-1],
        trends=_trends(trends, place),
    )


def lacking(rows: pa.Table, steps: pa.Table) -> str:
    """Say what is missing for a verdict, in a sentence; empty where the labels have to say it."""
    if not rows.num_rows:
        return "There is no launch to judge."
    return _lacking_steps(steps) or _lacking_components(rows)


def _lacking_steps(steps: pa.Table) -> str:
    phases = set(steps["phase"].to_pylist())
    if "decode" not in phases:
        named = sorted(phase for phase in phases if phase)
        if named:
            return f"No launch belongs to a decode step, only to {' and '.join(named)}."
        return "Nothing says which launches belong to decode steps: a range or --batch-from can."
    if not _decode(steps):
        return "Nothing says the batch size of decode launches: --batch-from or --batch-size can."
    return ""


def _lacking_components(rows: pa.Table) -> str:
    decode = _decode(rows)
    have = {row["component"] for row in decode if row["duration_ns"]}
    absent = [name for name in _WATCHED if name not in have]
    if absent:
        return _absent(absent, rows)
    both = [batch for batch in {row["batch_size"] for row in decode} if _has_both(decode, batch)]
    if not both:
        return "No batch size has both attention and matmul: profile whole steps."
    if len(both) == 1:
        return f"One batch size, {both[0]}, shows no trend: profile a second one."
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


def _has_both(decode: Sequence[Row], batch: int) -> bool:
    have = {row["component"] for row in decode if row["batch_size"] == batch and row["duration_ns"]}
    return have >= set(_WATCHED)


def _decode(table: pa.Table, place: tuple[str, str | None] | None = None) -> list[Row]:
    """Return the rows of decode with a batch size, of one origin and GPU where that is given."""
    return [
        row
        for row in table.to_pylist()
        if row["phase"] == "decode"
        and (row["batch_size"] or 0) > 0
        and (place is None or (row["origin"], row["device_name"]) == place)
    ]


def _step(step: Row, rows: Sequence[Row]) -> StepAt:
    found: dict[str, ComponentAt | None] = dict.fromkeys(_WATCHED)
    for name in _WATCHED:
        share = step[f"{name}_share_pct"]
        mine = [
            row
            for row in rows
            if row["batch_size"] == step["batch_size"]
            and row["component"] == name
            and row["duration_ns"]
        ]
        if mine and share is not None:
            longest = max(mine, key=lambda row: row["duration_ns"])
            useful = step[f"useful_{name}_intensity_flop_per_byte"]
            executed = step[f"{name}_intensity_flop_per_byte"]
            intensity = executed if useful is None else useful
            found[name] = ComponentAt(name, share / 100.0, longest, intensity)
    return StepAt(step["batch_size"], found["attention"], found["matmul"])


def _trends(trends: pa.Table, place: tuple[str, str | None]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in trends.to_pylist():
        is_it = row["phase"] == "decode" and (row["origin"], row["device_name"]) == place
        name = row["component"]
        if is_it and (row["duration_ns"] or 0.0) > (found.get(name, {}).get("duration_ns") or 0.0):
            found[name] = row
    return found
