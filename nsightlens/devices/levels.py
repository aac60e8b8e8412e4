"""Two ways to count what passes a cache, each with the roof of the same path.

*Looked up* are the sectors of 32 B whose tag was looked up: loads and stores, and in L2 also what
comes from DRAM and from the other partition. *Returned* is what the cache sent back towards the
registers, in cycles of its return path: this is what the hierarchical rooflines of Nsight Compute
count. Stores return nothing, and a load that uses a part of a cycle counts as a whole one.

The two have different roofs. On GH100 a slice of L2 looks up 96 B a cycle and returns 64 B, so that
bytes of one path over the roof of the other is no fraction of anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.devices.columns import first_known, metric, number_column, text_column
from nsightlens.metrics.catalog import VOLTA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore
    from nsightlens.report import Report

__all__ = ["LEVEL_PATHS", "LevelPath", "path_bytes", "stored_path_peak"]

_MOST_ROUNDING = 0.005
_PCT = "pct_of_peak_sustained_elapsed"


class LevelPath(NamedTuple):
    """One path through a cache.

    Parameters
    ----------
    level
        ``l2`` or ``l1``.
    counters
        Names of what is counted on the path, without suffix, in the spellings of the
        architectures; the first that a launch has counts.
    bytes_per_count
        [B]
    clock
        The metric of the path's clock.
    column
        Column of ``launches`` with the bytes, where the catalog has one.
    """

    level: str
    counters: tuple[str, ...]
    bytes_per_count: tuple[float, ...]
    clock: str
    column: str = ""


# All that Volta has: it counts loads from shared memory as well.
_WITH_SHARED_MEMORY = "l1tex__lsu_writeback_active"
_L2_CLOCK = "lts__cycles_elapsed.avg.per_second"
_L1_CLOCK = "l1tex__cycles_elapsed.avg.per_second"

LEVEL_PATHS: Mapping[str, LevelPath] = {
    "l2": LevelPath("l2", ("lts__t_bytes", "lts__t_sectors"), (1.0, 32.0), _L2_CLOCK, "l2_bytes"),
    "l1": LevelPath(
        "l1", ("l1tex__t_bytes", "l1tex__t_sectors"), (1.0, 32.0), _L1_CLOCK, "l1_bytes"
    ),
    "l2_returned": LevelPath("l2", ("lts__lts2xbar_cycles_active",), (32.0,), _L2_CLOCK),
    # From 9.0 on, from 7.5 on, before.
    "l1_returned": LevelPath(
        "l1",
        (
            "l1tex__lsu_writeback_active_mem_lgds",
            "l1tex__lsu_writeback_active_mem_lg",
            _WITH_SHARED_MEMORY,
        ),
        (128.0, 128.0, 128.0),
        _L1_CLOCK,
    ),
}
"""By the name of the resource in `nsightlens.devices.peak_rates`; the plain name is looked up."""


def path_bytes(report: Report, resource: str) -> NDArray[np.float64]:
    """Return the bytes [B] that took a path of `LEVEL_PATHS`, NaN where not counted. Shape (n,)."""
    path = LEVEL_PATHS[resource]
    if path.column:
        return number_column(report.launches, path.column)
    seconds = number_column(report.launches, "duration_ns") * 1e-9
    store = report.store
    counts = [
        size
        * _of_spelling(report, name, first_known(
            metric(store, f"{name}.sum"), metric(store, f"{name}.sum.per_second") * seconds
        ))
        for name, size in zip(path.counters, path.bytes_per_count, strict=True)
    ]  # fmt: skip
    return first_known(*counts)


def _of_spelling(report: Report, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop what a counter says on architectures on which it stands for more than its path."""
    if name != _WITH_SHARED_MEMORY:
        return values
    code, texts = text_column(report.launches, "compute_capability")
    is_volta = np.array([text in VOLTA for text in texts])[code]
    return np.where(is_volta, values, np.nan)


def stored_path_peak(
    report: Report, resource: str, slices: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the roof of a path by the report's own metrics. Shape (n,).

    Parameters
    ----------
    report
        The report.
    resource
        Name of the path in `LEVEL_PATHS`.
    slices
        [1] L2 slices, of which an average is one, NaN where unknown. Shape (n,).

    Returns
    -------
    numpy.ndarray
        [B/s] ``X.sum.peak_sustained`` x clock; else the rate of X over its own percentage of peak,
        which is the same by definition; else ``X.avg.peak_sustained`` x slices x clock. NaN where
        none of them is stored.
    """
    path, store, launches = LEVEL_PATHS[resource], report.store, report.launches
    is_l2 = path.level == "l2"
    clock = first_known(
        metric(store, path.clock),
        number_column(launches, "l2_clock_hz" if is_l2 else "sm_clock_hz"),
    )
    seconds = number_column(launches, "duration_ns") * 1e-9
    candidates = []
    for name, size in zip(path.counters, path.bytes_per_count, strict=True):
        peak = metric(store, f"{name}.sum.peak_sustained") * clock
        candidates += [size * peak, size * _rate(store, name, seconds) / _share(store, name)]
        if is_l2:
            candidates.append(size * metric(store, f"{name}.avg.peak_sustained") * slices * clock)
    known = first_known(*(np.where(one > 0, one, np.nan) for one in candidates))
    return np.where(np.isfinite(known), known, np.nan)


def _rate(store: MetricStore, name: str, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return first_known(
            metric(store, f"{name}.sum.per_second"), metric(store, f"{name}.sum") / seconds
        )


def _share(store: MetricStore, name: str) -> NDArray[np.float64]:
    """Return a percentage of peak as a fraction, NaN where it was printed with too few digits."""
    spellings = [f"{name}.{rollup}.{_PCT}" for rollup in ("sum", "avg")]
    values = [
        np.where(
            store.rounding(one) <= _MOST_ROUNDING * metric(store, one), metric(store, one), np.nan
        )
        for one in spellings
    ]
    share = first_known(*values) / 100.0
    return np.where(share > 0, share, np.nan)
