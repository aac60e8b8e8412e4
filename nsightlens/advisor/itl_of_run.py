"""Which measured time between tokens a law of the batch is fitted to.

A client measures gaps between the pieces that it receives. Where a piece holds several tokens, or
one read takes several pieces, gaps are not times between tokens, and the time per output token
(TPOT), which counts tokens, is. The two differ in more: ITL weighs tokens alike, TPOT requests. So
one of them is used for the whole curve wherever that is possible, rather than each by rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.advisor.run_columns import first_known
from nsightlens.serving.part import ITL_OVER_TPOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["MEAN_OVER_MEDIAN", "ItlOfRuns", "itl_of_runs"]

MEAN_OVER_MEDIAN = 1.3
"""From this mean over median ITL on, steps that process prompts are a good part of the mean."""


class ItlOfRuns(NamedTuple):
    """The time between tokens of each row. Shape (n,) each.

    Parameters
    ----------
    itl_ms
        [ms] NaN where no file says it.
    source
        Column of ``serving_runs`` that it is; empty likewise.
    is_per_chunk
        ITL is of pieces, not of tokens.
    is_interfered
        Steps that process prompts are a good part of the mean. The mean is used all the same:
        throughput follows it (the batch over it is the rate of tokens), the paper fits it with an
        R2 of 0.999 up to a ratio of 1.37, and the median is another quantile of decode steps at
        each batch size. Where prompts rule the mean, the law is refused by its errors.
    """

    itl_ms: NDArray[np.float64]
    source: NDArray[np.str_]
    is_per_chunk: NDArray[np.bool_]
    is_interfered: NDArray[np.bool_]


def itl_of_runs(columns: Mapping[str, NDArray[Any]], counted: NDArray[np.bool_]) -> ItlOfRuns:
    """Choose the time between tokens that fits use.

    Parameters
    ----------
    columns
        Columns of ``serving_runs``; NaN where missing. Shape (n,) each.
    counted
        Rows that decide on one column for all: those that fits use.
    """
    mean, tpot = columns["mean_itl_ms"], columns["mean_tpot_ms"]
    ratio = mean / tpot
    is_per_chunk = (ratio < ITL_OVER_TPOT[0]) | (ratio > ITL_OVER_TPOT[1])
    names = ("mean_itl_ms", "mean_tpot_ms", "median_itl_ms", "median_tpot_ms")
    candidates = {name: columns[name].copy() for name in names}
    candidates["mean_itl_ms"][is_per_chunk] = np.nan
    candidates["median_itl_ms"][is_per_chunk] = np.nan
    itl, source = first_known(
        [(name, candidates[name]) for name in _order(candidates, counted)], len(mean)
    )
    is_interfered = mean >= MEAN_OVER_MEDIAN * columns["median_itl_ms"]
    return ItlOfRuns(itl, source, is_per_chunk, is_interfered & ~is_per_chunk)


def _order(candidates: Mapping[str, NDArray[np.float64]], counted: NDArray[np.bool_]) -> list[str]:
    """Return the columns with the one first that all rows have; means before medians.

    Means of two kinds are nearer to each other than to a median, so that a median comes before
    both only where they leave a row without.
    """
    names = list(candidates)
    known = {name: ~np.isnan(values) for name, values in candidates.items()}
    counted = counted & np.logical_or.reduce(list(known.values()))

    def everywhere(*some: str) -> bool:
        return bool(np.logical_or.reduce([known[name] for name in some])[counted].all())

    for some in (names[:1], names[1:2], names[:2], names[2:3], names[3:]):
        if everywhere(*some):
            return [*some, *(name for name in names if name not in some)]
    return names
