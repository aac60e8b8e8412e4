"""What every table of points has: its schema, what it leaves out, one GPU and one phase.

A table of points holds what a figure draws and nothing else, so that the figure can be checked
or drawn again by other means. What was left out of it is told in sentences: `notes_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.errors import FilterError, NothingToPlotError
from nsightlens.tables.column import category, count, real, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from nsightlens.analysis.aggregate import Groups
    from nsightlens.report import Report
    from nsightlens.tables import Column

__all__ = [
    "DURATION",
    "GROUP",
    "LAUNCH_COUNT",
    "NO_PHASE",
    "PLACE",
    "counted_launches",
    "in_batch_steps",
    "launch_rows",
    "mean_of",
    "notes_of",
    "of_one_device",
    "of_one_phase",
    "origin_of",
    "points_for",
    "points_table",
    "time_of",
]

PLACE: tuple[Column, ...] = (
    category(
        "origin",
        "measured; synthetic (a report that a model wrote) or analytic (a model, without a report)",
    ),
    category("device_name", "name of the GPU"),
)
GROUP: tuple[Column, ...] = (
    category("family", "what the kernels compute: attention, gemm, norm, ..."),
    category("subtype", "finer class within the family"),
    category("kernel", "the kernel's name; null for a family"),
    category("phase", "prefill, decode or mixed; null where nothing says so"),
    whole("batch_size", "sequences in the step; null where nothing says so"),
)
LAUNCH_COUNT = count("launch_count", "launches in the point")
DURATION = real("duration_ns", "ns", "sum over the launches")

NO_PHASE = "none"
"""Stands for launches of which nothing says the phase."""

_KIND, _NOTES = b"kind", b"notes"


def points_table(
    kind: str,
    columns: Sequence[Column],
    data: Mapping[str, Any],
    row_count: int,
    notes: Iterable[str] = (),
) -> pa.Table:
    """Return a table of points, with its kind and its notes in the metadata of the schema."""
    schema = tables.schema_of(columns)
    said = "\n".join(dict.fromkeys(note for note in notes if note))
    found = tables.table_of(schema, data, row_count)
    return found.replace_schema_metadata(
        {**(schema.metadata or {}), _KIND: kind.encode(), _NOTES: said.encode()}
    )


def points_for(data: Any, kind: str, make: Callable[..., pa.Table], **options: Any) -> pa.Table:
    """Return the points of a figure: the data themselves where they are its points already.

    Parameters
    ----------
    data
        What the function that draws was given.
    kind
        The figure, such as ``shares``.
    make
        Makes points of anything that is no table.
    **options
        What ``make`` takes beside the data.

    Raises
    ------
    ValueError
        The data are a table, but not of the points of this figure.
    """
    if not isinstance(data, pa.Table):
        return make(data, **options)
    if (data.schema.metadata or {}).get(_KIND) != kind.encode():
        raise ValueError(f"a table of points is needed, as {kind}_points makes it")
    return data


def notes_of(points: pa.Table) -> list[str]:
    """Return what the points leave out, and why, one sentence each.

    Parameters
    ----------
    points
        A table of points of this package.

    Examples
    --------
    >>> notes_of(points_table("shares", PLACE, {}, 0, ["3 launches have no batch size."]))
    ['3 launches have no batch size.']
    """
    said = (points.schema.metadata or {}).get(_NOTES, b"").decode()
    return said.split("\n") if said else []


def counted_launches(count: float) -> str:
    """Return a number of launches with its noun."""
    return f"{count:.0f} launch" if count == 1 else f"{count:.0f} launches"


def time_of(table: pa.Table) -> NDArray[np.float64]:
    """Return [ns] the duration of each row, 0 where it is not known. Shape (rows,)."""
    values = np.asarray(table["duration_ns"].cast(pa.float64()).fill_null(0.0))
    known: NDArray[np.float64] = np.nan_to_num(values)
    return known


def launch_rows(table: pa.Table, labels: pa.Table) -> NDArray[np.intp]:
    """Return the row of its launch in the labels for each row of another table of launches."""
    names = ("report", "launch_id")
    keys = zip(*(labels[name].to_pylist() for name in names), strict=True)
    rows = {key: row for row, key in enumerate(keys)}
    wanted = zip(*(table[name].to_pylist() for name in names), strict=True)
    return np.fromiter((rows[key] for key in wanted), np.intp, table.num_rows)


def mean_of(
    groups: Groups, values: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weighted mean of what is known in each group; NaN where nothing is.

    Parameters
    ----------
    groups
        Which launches belong together.
    values
        NaN where not known; the last axis is launches.
    weight
        Of each launch. Shape (launches,).
    """
    counts = ~np.isnan(values) & (weight > 0)
    total = groups.sum(np.where(counts, weight, 0.0))
    weighted = groups.sum(np.where(counts, values, 0.0) * np.where(counts, weight, 0.0))
    return np.where(total > 0, weighted / np.where(total > 0, total, 1.0), np.nan)


def origin_of(report: Report) -> str:
    """Return ``synthetic`` where a report says that a model wrote it, else ``measured``.

    Only what says so of itself, as the bundled example does, is known to be synthetic.
    """
    said = report.sessions["profiler_command_line"].to_pylist()
    is_said = [(text or "").startswith("synthetic:") for text in said]
    return "synthetic" if is_said and all(is_said) else "measured"


def of_one_device(table: pa.Table, device_name: str | None) -> pa.Table:
    """Return the rows of one GPU.

    Parameters
    ----------
    table
        With the column ``device_name``.
    device_name
        Its name, or a part of it; may be None where there is only one.

    Raises
    ------
    FilterError
        There are several to choose from, or none of that name.
    """
    names = [name or "" for name in pc.unique(table["device_name"].cast(pa.string())).to_pylist()]
    wanted = names if device_name is None else _named(names, device_name)
    if len(wanted) > 1:
        raise FilterError(
            f"the launches ran on {len(wanted)} GPUs: {', '.join(wanted)}. A figure shows one: "
            "choose it with --device-name (in Python: device_name=)."
        )
    if len(wanted) == len(names):
        return table
    column = pc.fill_null(table["device_name"].cast(pa.string()), "")
    return table.filter(pc.equal(column, wanted[0]))


def _named(names: Sequence[str], wanted: str) -> list[str]:
    """Return the names that are meant: the one that is equal, else those with that part."""
    if wanted in names:
        return [wanted]
    found = [name for name in names if wanted.casefold() in name.casefold()]
    if not found:
        raise FilterError(
            f"no launch ran on a GPU named {wanted!r}. There are: {', '.join(names) or 'none'}."
        )
    return found


def of_one_phase(table: pa.Table, phase: str | None, *, is_needed: bool) -> pa.Table:
    """Return the rows of a phase.

    Parameters
    ----------
    table
        With the column ``phase``.
    phase
        Its name, ``none`` for launches without one; None for every phase.
    is_needed
        Whether the figure can show one only.

    Raises
    ------
    FilterError
        There are several to choose from, or none of that name.
    """
    names = pc.unique(table["phase"].cast(pa.string())).to_pylist()
    said = ", ".join(name or NO_PHASE for name in names) or "no launch"
    if phase is None:
        if is_needed and len(names) > 1:
            raise FilterError(
                f"the launches are of {len(names)} phases: {said}. This figure shows one: choose "
                "it with --phase (in Python: phase=)."
            )
        return table
    if phase not in [name or NO_PHASE for name in names]:
        raise FilterError(f"no launch is of the phase {phase!r}. There is: {said}.")
    column = pc.fill_null(table["phase"].cast(pa.string()), NO_PHASE)
    return table.filter(pc.equal(column, phase))


def in_batch_steps(table: pa.Table) -> tuple[pa.Table, str]:
    """Return the rows with a batch size, and a sentence about those without, "" for none.

    Raises
    ------
    NothingToPlotError
        No row has one.
    """
    has_batch = np.asarray(pc.is_valid(table["batch_size"]))
    kept = table.filter(number_array(has_batch))
    left = table.filter(number_array(~has_batch))
    if not kept.num_rows:
        raise NothingToPlotError(
            "no launch has a batch size, and this figure is drawn along it. Annotate the steps, or "
            "say it with --batch-from or --batch-size (in Python: step_rules=)."
        )
    launches = counted_launches(pc.sum(left["launch_count"]).as_py() or 0)
    return kept, f"Not shown: {launches} without a batch size." if left.num_rows else ""
