"""What the verdict on a sweep rests on: attention and matmul at the batch sizes that have both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from nsightlens.analysis.thresholds import CONTRADICTION
from nsightlens.sweeps.components import COMPONENTS
from nsightlens.sweeps.trends import trends_of
from nsightlens.sweeps.verdict_fitting import fitting_steps
from nsightlens.sweeps.verdict_whole import LeftOut, chosen_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.sweeps.trends import RowName

__all__ = ["ComponentAt", "Evidence", "StepAt", "decode_rows", "evidence_of"]

Row = dict[str, Any]
_WATCHED = COMPONENTS[:2]


class ComponentAt(NamedTuple):
    """A component at a batch size: its share, and its label.

    Parameters
    ----------
    name
        ``attention`` or ``matmul``.
    share
        [1] Of the time of kernels in the step.
    row
        Its sums, labelled; with the columns of `nsightlens.tables.SWEEP`.
    useful, executed
        [FLOP/B] Intensity without padding, and as executed; None where it is not known.
    """

    name: str
    share: float
    row: Row
    useful: float | None
    executed: float | None

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

    @property
    def lacks_dram(self) -> bool:
        """It is memory-bound, and nothing says whether by DRAM."""
        is_memory = self.row["origin"] != "analytic" and self.row["bound"] == "memory"
        return is_memory and self.row["dram_throughput_pct"] is None

    @property
    def busiest_fraction(self) -> float:
        """[1] Of the peak of its limiter or of DRAM; 0 where neither is known."""
        dram = (self.row["dram_throughput_pct"] or 0.0) / 100.0
        return max(self.row["limiter_fraction"] or 0.0, dram)

    @property
    def is_contradicted(self) -> bool:
        """Its counters say more than can be, so that one of them or a peak is wrong."""
        return self.busiest_fraction > CONTRADICTION


class StepAt(NamedTuple):
    """A step of one batch size; a component of which no time is known is None."""

    batch: int
    attention: ComponentAt | None
    matmul: ComponentAt | None
    fits: bool | None = None

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
    steps
        By ascending batch size: those that can be judged, where there are any.
    left_out
        Batch sizes that cannot be, with the reason.
    trends
        Row of the table of trends by component: that with most of the time.
    """

    device: str
    is_one_of_several: bool
    steps: list[StepAt]
    left_out: list[LeftOut]
    trends: dict[str, Row]

    @property
    def small(self) -> StepAt:
        """The smallest batch size."""
        return self.steps[0]

    @property
    def large(self) -> StepAt:
        """The largest batch size."""
        return self.steps[-1]

    @property
    def is_in_doubt(self) -> bool:
        """Nothing says which steps were profiled whole, so that all are shown and none judged."""
        shown = {step.batch for step in self.steps}
        return any(batch in shown for one in self.left_out for batch in one.batches)

    @property
    def has_two_steps(self) -> bool:
        """There is a trend to speak of, over steps of which both components were profiled."""
        is_complete = self.small.is_complete and self.large.is_complete
        return is_complete and self.small.batch != self.large.batch


def evidence_of(
    rows: pa.Table,
    trends: pa.Table,
    steps: pa.Table,
    components: pa.Table | None = None,
    *,
    crossovers: Mapping[RowName, float | None] | None = None,
    is_salvaged: bool = False,
) -> Evidence | None:
    """Return what is known of decode; None where no decode step has a batch size.

    Parameters
    ----------
    rows, trends, steps, components, crossovers, is_salvaged
        As for `nsightlens.sweeps.verdict_of`.
    """
    decode = decode_rows(steps)
    if not decode:
        return None
    total: dict[tuple[str, str | None], float] = {}
    for step in decode:
        place = (step["origin"], step["device_name"])
        total[place] = total.get(place, 0.0) + (step["duration_ns"] or 0.0)
    place = max(total, key=lambda one: (total[one], str(one)))
    members = decode_rows(rows if components is None else components, place)
    found = [_step(step, members) for step in decode_rows(steps, place)]
    found.sort(key=lambda step: step.batch)
    chosen, left_out = chosen_steps(
        {step.batch: step.is_complete for step in found},
        decode_rows(rows, place),
        is_salvaged=is_salvaged,
    )
    chosen, too_large = fitting_steps(chosen, {step.batch: step.fits for step in found})
    return Evidence(
        device=place[1] or "a GPU without a name",
        is_one_of_several=len(total) > 1,
        steps=[step for step in found if step.batch in chosen],
        left_out=[*left_out, *too_large],
        trends=_trends(
            trends if components is None else _trends_at(components, chosen, crossovers), place
        ),
    )


def decode_rows(table: pa.Table, place: tuple[str, str | None] | None = None) -> list[Row]:
    """Return the rows of decode with a batch size, of one origin and GPU where that is given."""
    return [
        row
        for row in table.to_pylist()
        if row["phase"] == "decode"
        and (row["batch_size"] or 0) > 0
        and (place is None or (row["origin"], row["device_name"]) == place)
    ]


def _step(step: Row, components: Sequence[Row]) -> StepAt:
    found: dict[str, ComponentAt | None] = dict.fromkeys(_WATCHED)
    for name in _WATCHED:
        share = step[f"{name}_share_pct"]
        mine = [
            row
            for row in components
            if row["batch_size"] == step["batch_size"]
            and row["component"] == name
            and row["duration_ns"]
        ]
        if mine and share is not None:
            found[name] = ComponentAt(
                name,
                share / 100.0,
                max(mine, key=lambda row: row["duration_ns"]),
                step[f"useful_{name}_intensity_flop_per_byte"],
                step[f"{name}_intensity_flop_per_byte"],
            )
    return StepAt(step["batch_size"], found["attention"], found["matmul"], step["fits_in_memory"])


def _trends_at(
    components: pa.Table,
    batches: set[int],
    crossovers: Mapping[RowName, float | None] | None,
) -> pa.Table:
    """Return the trends over the batch sizes that are judged, and no others."""
    wanted = [batch in batches for batch in components["batch_size"].to_pylist()]
    return trends_of(components.filter(pa.array(wanted, pa.bool_())), crossovers)


def _trends(trends: pa.Table, place: tuple[str, str | None]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in trends.to_pylist():
        is_it = row["phase"] == "decode" and (row["origin"], row["device_name"]) == place
        name = row["component"]
        if is_it and (row["duration_ns"] or 0.0) > (found.get(name, {}).get("duration_ns") or 0.0):
            found[name] = row
    return found
