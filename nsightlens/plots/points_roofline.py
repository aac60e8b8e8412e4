"""The points of a roofline: operations and bytes of groups of launches, with the roofs over them.

One data type and one memory level at a time (or all three levels of the hierarchy): a roof of
another data type says nothing of a point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis import Classification, classify
from nsightlens.analysis.aggregate import group_by
from nsightlens.analysis.rooflines import LEVELS
from nsightlens.arrays import known_numbers, number_array
from nsightlens.devices.columns import number_column, text_column
from nsightlens.errors import FilterError, NothingToPlotError
from nsightlens.plots.points import (
    DURATION,
    GROUP,
    LAUNCH_COUNT,
    PLACE,
    counted_launches,
    launch_rows,
    mean_of,
    of_one_device,
    of_one_phase,
    origin_of,
    points_table,
)
from nsightlens.report import Report, rows_of_launches
from nsightlens.tables.column import Column, category, real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.analysis.aggregate import Groups

__all__ = ["ROOFLINE_POINTS", "roofline_points"]

ROOFLINE_POINTS: tuple[Column, ...] = (
    *PLACE,
    *GROUP,
    category("level", "memory level that the bytes passed: dram, l2 or l1"),
    category("resource", "data type whose peak is the flat roof"),
    LAUNCH_COUNT,
    DURATION,
    real("flop_count", "FLOP", "operations of every data type"),
    real("level_bytes", "B", "bytes at this level"),
    real("arithmetic_intensity_flop_per_byte", "FLOP/B", "flop_count over level_bytes: across"),
    real("achieved_flop_per_s", "FLOP/s", "flop_count over duration_ns: upwards"),
    real("peak_flop_per_s", "FLOP/s", "flat roof over the point"),
    real("peak_bytes_per_s", "B/s", "slanted roof over the point"),
    real("ridge_point_flop_per_byte", "FLOP/B", "where the two roofs meet"),
    real("fraction_of_roof", "1", "see rooflines; mean over the duration"),
    real("sm_clock_hz", "Hz", "SM clock, mean over the duration; null where it is not known"),
)

_KEYS = ("device_name", "family", "subtype", "kernel", "phase", "batch_size")
_NUMBERS = {
    "flop": "flop_count",
    "bytes": "level_bytes",
    "peak_flop": "peak_flop_per_s",
    "peak_bytes": "peak_bytes_per_s",
    "fraction": "fraction_of_roof",
}


def roofline_points(
    data: Report | Classification,
    classification: Classification | None = None,
    *,
    by: Literal["family", "kernel"] = "family",
    levels: Sequence[str] = ("dram",),
    resource: str | None = None,
    phase: str | None = None,
    device_name: str | None = None,
) -> pa.Table:
    """Return the points of a roofline.

    Parameters
    ----------
    data
        A report, or the labels of its launches (``classify(report)``); of labels alone the SM
        clock is not known.
    classification
        Labels of the launches of the report, where they were made already, as with other peaks.
    by
        One point per family or per kernel, at each phase and batch size.
    levels
        Memory levels whose bytes count: ``dram``, ``l2``, ``l1``.
    resource
        Data type of the flat roof, such as ``tensor_fp16``; None for the one with the most time.
    phase
        Launches of this phase only.
    device_name
        GPU, or a part of its name; needed where there are several.

    Returns
    -------
    pyarrow.Table
        Columns `ROOFLINE_POINTS`, by time, the most first; what is left out is in
        `nsightlens.plots.notes_of`.

    Raises
    ------
    NothingToPlotError
        No launch has operations of that data type, bytes and a duration.
    FilterError
        There are several GPUs, or nothing of that name.

    Examples
    --------
    >>> from nsightlens import open_report
    >>> from nsightlens.example import path
    >>> points = roofline_points(open_report(path()))
    >>> points["family"][0].as_py(), points["resource"][0].as_py()
    ('attention', 'tensor_fp16')
    """
    result, labels = _labels(data, classification)
    labels = of_one_phase(of_one_device(labels, device_name), phase, is_needed=False)
    at_level = {level: _launches(result, labels, level) for level in levels}
    chosen, notes = _of_one_resource(at_level[levels[0]], resource)
    tables = []
    for level, launches in at_level.items():
        kept = _usable(launches) & (launches.resource == chosen)
        if kept.any():
            tables.append(_points(launches.take(kept), by, level, chosen))
    joined = pa.concat_tables([table.cast(tables[0].schema) for table in tables])
    names = joined.schema.names
    return points_table(
        "roofline",
        ROOFLINE_POINTS,
        {name: joined[name] for name in names} | {"origin": _origins(data, joined.num_rows)},
        joined.num_rows,
        notes,
    )


def _origins(data: Report | Classification, count: int) -> list[str]:
    return [origin_of(data) if isinstance(data, Report) else "measured"] * count


class _Launches(NamedTuple):
    """Launches against the roofs of one level; NaN where a number is not known. Shape (n,)."""

    labels: pa.Table
    resource: NDArray[Any]
    numbers: dict[str, NDArray[np.float64]]

    def take(self, where: NDArray[np.bool_]) -> _Launches:
        """Return some of them."""
        numbers = {name: values[where] for name, values in self.numbers.items()}
        return _Launches(self.labels.filter(number_array(where)), self.resource[where], numbers)


def _labels(
    data: Report | Classification, classification: Classification | None
) -> tuple[Classification, pa.Table]:
    """Return the labels of launches, and their table with the SM clock beside it."""
    result = classification or (classify(data) if isinstance(data, Report) else data)
    if result.by != "launch":
        raise ValueError(f"labels of launches are needed (by='launch'), not by={result.by!r}")
    if not len(result):
        raise NothingToPlotError("there is no launch to show.")
    clock = np.full(len(result), np.nan)
    if isinstance(data, Report):
        clock = number_column(data.launches, "sm_clock_hz")
    return result, result.labels.append_column("sm_clock_hz", known_numbers(clock))


def _launches(result: Classification, labels: pa.Table, level: str) -> _Launches:
    """Join the labels of launches with their rooflines at a level."""
    if level not in LEVELS:
        raise FilterError(f"there is no memory level {level!r}, only {', '.join(LEVELS)}.")
    roofs = rows_of_launches(result.rooflines, labels)
    roofs = roofs.filter(pc.equal(roofs["level"].cast(pa.string()), level))
    codes, texts = text_column(roofs, "resource")
    # A launch of whose bytes at the level nothing is known has no row there.
    rows = launch_rows(roofs, labels)
    numbers = {name: np.full(labels.num_rows, np.nan) for name in _NUMBERS}
    for name, column in _NUMBERS.items():
        numbers[name][rows] = number_column(roofs, column)
    resource = np.full(labels.num_rows, "", dtype=object)
    resource[rows] = np.array([text or "" for text in texts], dtype=object)[codes]
    numbers["duration"] = number_column(labels, "duration_ns")
    numbers["clock"] = number_column(labels, "sm_clock_hz")
    return _Launches(labels, resource, numbers)


def _usable(launches: _Launches) -> NDArray[np.bool_]:
    """Say which launches have a place on logarithmic axes."""
    needed = ("flop", "bytes", "duration")
    with np.errstate(invalid="ignore"):
        is_there = [launches.numbers[name] > 0 for name in needed]
    found: NDArray[np.bool_] = np.logical_and.reduce(is_there)
    return found


def _of_one_resource(launches: _Launches, resource: str | None) -> tuple[str, list[str]]:
    """Return the data type that is shown, and a sentence per reason why a launch is not."""
    usable = _usable(launches)
    duration = launches.numbers["duration"]
    times = {
        name: float(duration[usable & (launches.resource == name)].sum())
        for name in sorted(set(launches.resource[usable]))
        if name
    }
    if not times:
        raise NothingToPlotError(_nothing(""))
    if resource is not None and resource not in times:
        raise FilterError(
            f"no launch that can be shown uses {resource} most. There is: "
            f"{', '.join(sorted(times, key=lambda name: -times[name]))}."
        )
    chosen = resource or max(sorted(times), key=lambda name: times[name])
    return chosen, _left_out(launches, usable, chosen, times)


def _left_out(
    launches: _Launches, usable: NDArray[np.bool_], chosen: str, times: dict[str, float]
) -> list[str]:
    flop = launches.numbers["flop"]
    none = ~usable & (flop == 0)
    others = [name for name in times if name != chosen]
    counts = {
        "without the counters needed": int((~usable & ~none).sum()),
        "without floating-point operations": int(none.sum()),
        f"of other data types ({', '.join(sorted(others))})": int(
            (usable & (launches.resource != chosen)).sum()
        ),
    }
    said = [f"{counted_launches(count)} {why}" for why, count in counts.items() if count]
    return [f"Not shown: {', '.join(said)}."] if said else []


def _nothing(level: str) -> str:
    what = f"bytes at {level}" if level else "bytes"
    return (
        f"no launch has operations, {what} and a duration, which a roofline needs. Collect them "
        "with the sections that nsightlens info REPORT names."
    )


def _points(launches: _Launches, by: str, level: str, resource: str) -> pa.Table:
    """Add up launches to points, by time."""
    labels = launches.labels
    keys = [name for name in _KEYS if by == "kernel" or name != "kernel"]
    groups = group_by([labels[name].cast(pa.string()) for name in keys])
    first = number_array(groups.first)
    numbers = _sums(launches.numbers, groups)
    data = {name: labels[name].take(first).cast(pa.string()) for name in keys}
    data["batch_size"] = labels["batch_size"].take(first)
    data |= {name: known_numbers(values) for name, values in numbers.items()}
    count = len(groups.starts)
    data |= {"level": [level] * count, "resource": [resource] * count}
    ones = groups.sum(np.ones(len(launches.resource)))
    data["launch_count"] = number_array(ones.astype(np.uint64))
    table = points_table("roofline", ROOFLINE_POINTS, data, count)
    return table.take(number_array(np.argsort(-numbers["duration_ns"], kind="stable")))


def _sums(
    launches: dict[str, NDArray[np.float64]], groups: Groups
) -> dict[str, NDArray[np.float64]]:
    duration = launches["duration"]
    sums = {name: groups.sum(launches[name]) for name in ("flop", "bytes", "duration")}
    # Work over the time that it needs, so that the roofs of a point are those of its launches.
    peak_flop = _peak(groups, launches["flop"], launches["peak_flop"])
    peak_bytes = _peak(groups, launches["bytes"], launches["peak_bytes"])
    intensity, achieved = sums["flop"] / sums["bytes"], sums["flop"] / sums["duration"] * 1e9
    return {
        "duration_ns": sums["duration"],
        "flop_count": sums["flop"],
        "level_bytes": sums["bytes"],
        "arithmetic_intensity_flop_per_byte": intensity,
        "achieved_flop_per_s": achieved,
        "peak_flop_per_s": peak_flop,
        "peak_bytes_per_s": peak_bytes,
        "ridge_point_flop_per_byte": peak_flop / peak_bytes,
        "fraction_of_roof": mean_of(groups, launches["fraction"], duration),
        "sm_clock_hz": mean_of(groups, launches["clock"], duration),
    }


def _peak(
    groups: Groups, work: NDArray[np.float64], peak: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the work of groups over the time that it needs at its own peaks, NaN where unknown."""
    counts = peak > 0
    done = groups.sum(np.where(counts, work, 0.0))
    needed = groups.sum(np.where(counts, work / np.where(counts, peak, 1.0), 0.0))
    return np.where(needed > 0, done / np.where(needed > 0, needed, 1.0), np.nan)
