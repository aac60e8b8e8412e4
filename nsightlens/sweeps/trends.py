"""The table ``sweep_trends``: how a family changes along the batch size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens import tables
from nsightlens.analysis.thresholds import SATURATED
from nsightlens.sweeps.crossover import analytic_crossing, crossing, flips_of, lasting_change
from nsightlens.sweeps.series import SERIES_KEYS, series_of
from nsightlens.sweeps.slopes import growth_of, growth_of_law, slope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.sweeps.series import Series
    from nsightlens.sweeps.slopes import Slope

__all__ = ["RowName", "flip_notes", "trends_of"]

RowName = tuple[str | None, str | None, str | None]
"""Family, subtype and kernel of a row."""

_SIDES = ("memory", "compute")
_INTENSITY = "arithmetic_intensity_flop_per_byte"


def trends_of(rows: pa.Table, crossovers: Mapping[RowName, float | None] | None = None) -> pa.Table:
    """Return the trend of every family of a table of rows.

    Parameters
    ----------
    rows
        With the schema of `nsightlens.tables.SWEEP`.
    crossovers
        Batch size at which the law of a row's family meets the ridge point, where the law itself is
        at hand and need not be found from the rows; ``None`` where it never does.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.SWEEP_TRENDS`, a row per origin, GPU, phase, family
        and subtype (and kernel), in the order of ``rows``. Rows without a batch size count in none
        of its columns.

    Examples
    --------
    >>> from nsightlens import open_report, sweep
    >>> from nsightlens.example import path
    >>> trends = sweep(open_report(path())).trends
    >>> gemm = trends["family"].to_pylist().index("gemm")
    >>> trends["flip"].to_pylist()[gemm], trends["flip_batch_size"].to_pylist()[gemm]
    ('memory_to_compute', 512)
    """
    found = [_trend(one, crossovers) for one in series_of(rows)]
    names = [column.name for column in tables.SWEEP_TRENDS]
    data = {name: [_known(one.get(name)) for one in found] for name in names}
    return tables.table_of(tables.schema_of(tables.SWEEP_TRENDS), data, len(found))


def flip_notes(rows: pa.Table) -> list[str]:
    """Say of families that change sides more than once at which batch sizes they do."""
    notes = []
    found = series_of(rows)
    has_several = len({one.key["device_name"] for one in found}) > 1
    for one in found:
        flips = flips_of(one.texts("roofline_bound"), _SIDES) or []
        if len(flips) > 1:
            batches = one.rows["batch_size"].to_pylist()
            changes = ", ".join(f"{flip.side_after} at {batches[flip.after]}" for flip in flips)
            phase = f" in {one.key['phase']}" if one.key["phase"] else ""
            gpu = one.key["device_name"] or "a GPU without a name"
            where = f"{phase} on {gpu}" if has_several else phase
            notes.append(
                f"{one.words}{where} changes sides of the ridge {len(flips)} times along the batch"
                f" size: {changes}."
            )
    return notes


def _trend(series: Series, crossovers: Mapping[RowName, float | None] | None) -> dict[str, Any]:
    durations = series.number("duration_ns")
    batches: list[int] = series.rows["batch_size"].to_pylist()
    return {
        **{name: series.key[name] for name in SERIES_KEYS},
        "batch_size_count": len(set(batches)),
        "batch_size_min": batches[0] if batches else None,
        "batch_size_max": batches[-1] if batches else None,
        "duration_ns": np.nan if np.isnan(durations).all() else float(np.nansum(durations)),
        **_growth(series, "", _INTENSITY, growth_of),
        **_growth(series, "useful_", f"useful_{_INTENSITY}", growth_of_law),
        **_flip(series, batches),
        **_by_shapes(series),
        **_by_law(series, crossovers),
        "bound_flip_batch_size": _at(batches, lasting_change(series.texts("bound"), _SIDES)),
        **_saturation(series, batches),
    }


def _growth(
    series: Series, prefix: str, column: str, growth: Callable[[Slope], str | None]
) -> dict[str, Any]:
    slope = slope_of(series.batch, series.number(column))
    name = f"{prefix}intensity"
    return {
        f"{name}_slope": slope.value,
        f"{name}_slope_stderr": slope.stderr,
        f"{name}_slope_min": slope.low,
        f"{name}_slope_max": slope.high,
        f"{name}_growth": growth(slope),
    }


def _flip(series: Series, batches: list[int]) -> dict[str, Any]:
    """Return where the classical answer flips: for good, where it does so several times.

    Where a batch size without an answer comes after the last flip, or no flip was seen, another may
    be there.
    """
    sides = series.texts("roofline_bound")
    flips = flips_of(sides, _SIDES)
    if flips is None:
        return {}
    if not all(side in _SIDES for side in sides[flips[-1].after if flips else 0 :]):
        return {"flip": "several"} if len(flips) > 1 else {}
    if not flips:
        return {"flip": "none"}
    last, ratio = flips[-1], series.number("bound_ratio")
    neighbours = [last.before, last.after]
    return {
        "flip": f"{last.side_before}_to_{last.side_after}" if len(flips) == 1 else "several",
        "flip_batch_size_before": batches[last.before],
        "flip_batch_size": batches[last.after],
        "flip_batch_size_interpolated": _crossing(series.batch, ratio, neighbours),
    }


def _by_shapes(series: Series) -> dict[str, Any]:
    """Return where the intensity of the shapes meets the ridge: interpolated, and by its law."""
    intensity, ridge = (
        series.number(name) for name in (f"useful_{_INTENSITY}", "ridge_point_flop_per_byte")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = intensity / ridge
    at = np.flatnonzero(np.isfinite(ratio) & (ratio > 0))
    sides = [_SIDES[int(ratio[i] >= 1.0)] for i in at]
    flips = flips_of(sides, _SIDES) or []
    neighbours = [int(at[i]) for i in (flips[-1].before, flips[-1].after)] if flips else []
    known = ridge[~np.isnan(ridge)]
    # Small batches may run on other instructions: the ridge is that of the largest.
    return {
        "useful_flip_batch_size": _crossing(series.batch, ratio, neighbours),
        "analytic_flip_batch_size": (
            analytic_crossing(series.batch, intensity, float(known[-1])) if len(known) else None
        ),
    }


def _by_law(series: Series, crossovers: Mapping[RowName, float | None] | None) -> dict[str, Any]:
    """Return the crossover of a law that is at hand: a line between batch sizes adds nothing."""
    if crossovers is None:
        return {}
    key = series.key
    return {
        "flip_batch_size_interpolated": None,
        "useful_flip_batch_size": None,
        "analytic_flip_batch_size": crossovers.get((key["family"], key["subtype"], key["kernel"])),
    }


def _crossing(
    batch: NDArray[np.float64], ratio: NDArray[np.float64], neighbours: list[int]
) -> float:
    if not neighbours:
        return math.nan
    i, j = neighbours
    return crossing((float(batch[i]), float(batch[j])), (float(ratio[i]), float(ratio[j])))


def _saturation(series: Series, batches: list[int]) -> dict[str, Any]:
    percent = series.number("dram_throughput_pct")
    if np.isnan(percent).all():
        return {}
    # What is not known at a batch size is not taken to stay.
    is_used_up = np.nan_to_num(percent, nan=-1.0) >= 100.0 * SATURATED
    first = next((i for i in range(len(batches)) if is_used_up[i:].all()), None)
    return {
        "dram_saturated_batch_size": _at(batches, first),
        "dram_throughput_max_pct": float(np.nanmax(percent)),
    }


def _at(batches: list[int], position: int | None) -> int | None:
    return None if position is None else batches[position]


def _known(value: Any) -> Any:
    """Return a value, None where it is no number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
