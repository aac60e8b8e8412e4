"""Which counter of a resource was the busiest: what tells bank conflicts from bandwidth.

The activity of a resource is the largest of its percent-of-peak counters. For a cache that is one
number for very different troubles: `l1` at 98 % may be load/store instructions that are issued as
fast as they can be, wavefronts of accesses that do not coalesce, or data on its way to registers.
The name of the counter says which.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.analysis.activity import counter_fractions, part_of
from nsightlens.analysis.label import MEMORY
from nsightlens.analysis.phrase import choose, concat, percent, sentence, significant, when
from nsightlens.analysis.thresholds import TIE
from nsightlens.analysis.usage import INDEX, TENSOR
from nsightlens.devices.columns import metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.aggregate import Groups
    from nsightlens.analysis.label import Decision
    from nsightlens.analysis.rooflines import LevelIntensity
    from nsightlens.analysis.usage import Usage
    from nsightlens.metric_store import MetricStore

__all__ = ["BusiestCounters", "busiest_counters", "cache_clause", "counter_words"]

# Parts whose activity is given to the work that explains it: see `nsightlens.analysis.pipes` and
# `nsightlens.analysis.mio`.
_SHARED = {
    "tensor": ("tensor", *TENSOR),
    "fma": ("fma", "fp32", "fp16", "integer"),
    "fmaheavy": ("fma", "fp32", "fp16", "integer"),
    "mio": ("issue", "fp64", "xu"),
}

_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts"
_WORDS = (
    (r"sm__inst_executed_pipe_lsu|l1tex__lsuin_requests", "load/store instructions issued"),
    (_WAVEFRONTS, "wavefronts of loads and stores"),
    (r"l1tex__data_pipe_tex_wavefronts", "wavefronts of texture reads"),
    (r"l1tex__f_wavefronts", "texture filter"),
    (r"l1tex__data_bank_reads", "data banks read"),
    (r"l1tex__data_bank_writes", "data banks written"),
    (r"l1tex__lsu_writeback_active", "data returned to registers"),
    (r"l1tex__tex_writeback_active", "texture data returned to registers"),
    (r"l1tex__texin_sm2tex_req_cycles_active", "texture requests"),
    (r"sm__inst_executed_pipe_tex", "texture instructions issued"),
    (r"sm__mio2rf_writeback_active", "MIO results returned to registers"),
    (r"sm__mio_inst_issued", "MIO instructions issued"),
    (r"sm__mio_pq_.*", "MIO queues"),
    (r"sm__pipe_tma_cycles_active", "bulk copies"),
    (r"idc__.*", "indexed constants"),
    (r"l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "shared memory of other SMs"),
    (r"l1tex__m_xbar2l1tex_.*", "sectors returned to L1"),
    (r"l1tex__m_l1tex2xbar_.*", "requests from L1"),
    (r"lts__t_sectors", "sectors looked up"),
    (r"lts__t_tag_requests", "tags looked up"),
    (r"lts__d_sectors", "data sectors"),
    (r"lts__d_sectors_fill_device", "sectors filled from DRAM"),
    (r"lts__d_sectors_fill_sysmem", "sectors filled from system memory"),
    (r"lts__d_atomic_input_cycles_active", "atomics"),
    (r"lts__lts2xbar_cycles_active", "data returned to the SMs"),
    (r"lts__xbar2lts_cycles_active", "requests and stores of the SMs"),
)
_COMPILED = tuple((re.compile(pattern + r"\Z"), words) for pattern, words in _WORDS)


class BusiestCounters(NamedTuple):
    """The counter behind each activity.

    Parameters
    ----------
    code
        Index into ``names``, -1 where work was counted or the part is not known. Shape (R, n).
    names
        Names of counters, as the report stores them.
    shared_wavefronts
        [1] Share of peak that wavefronts in shared memory alone reached; NaN where unknown. Shape
        (n,).
    """

    code: NDArray[np.intp]
    names: tuple[str, ...]
    shared_wavefronts: NDArray[np.float64]

    def grouped(self, groups: Groups, shared_wavefronts: NDArray[np.float64]) -> BusiestCounters:
        """Return the counters that all rows of a group share, -1 where they do not.

        -1 is also what some rows have that share no counter, so that groups can be grouped again.
        """
        largest = groups.largest(self.code)
        is_common = -groups.largest(-self.code) == largest
        return BusiestCounters(np.where(is_common, largest, -1), self.names, shared_wavefronts)

    def of_names(self, names: tuple[str, ...]) -> BusiestCounters:
        """Return the same with codes into other names, which hold all that are in use."""
        index = {name: i for i, name in enumerate(names)}
        new = np.array([index.get(name, -1) for name in self.names] + [-1], dtype=np.intp)
        return BusiestCounters(new[self.code], names, self.shared_wavefronts)

    def used_names(self) -> tuple[str, ...]:
        """Return the names that some code stands for, in their order."""
        used = np.unique(self.code[self.code >= 0])
        return tuple(self.names[i] for i in used)


def busiest_counters(store: MetricStore, usage: Usage) -> BusiestCounters:
    """Find the counter that gave each activity its value.

    Parameters
    ----------
    store
        The raw metrics of n launches.
    usage
        What was made of them.
    """
    fraction = np.where(usage.is_counted | usage.is_analytic, np.nan, usage.fraction())
    values = counter_fractions(store)
    code = np.full(fraction.shape, -1, dtype=np.intp)
    for i, (name, value) in enumerate(values.items()):
        resource = part_of(name).resource
        for row in (INDEX[one] for one in _SHARED.get(resource, (resource,)) if one):
            is_it = np.abs(value - fraction[row]) <= TIE * fraction[row]
            code[row] = np.where((code[row] < 0) & is_it & (value > 0), i, code[row])
    shared = metric(store, f"{_WAVEFRONTS}_mem_shared.sum.pct_of_peak_sustained_elapsed")
    return BusiestCounters(code, tuple(values), shared / 100.0)


def counter_words(counter: str) -> str:
    """Return a counter of a memory level as a person says it, or its name without suffix.

    Examples
    --------
    >>> counter_words("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed")
    'wavefronts of loads and stores'
    """
    name = counter.partition(".")[0]
    return next((words for pattern, words in _COMPILED if pattern.match(name)), name)


def cache_clause(decision: Decision, busiest: BusiestCounters, intensity: LevelIntensity) -> Any:
    """Say of a launch that a cache limits what in it is busy, and its intensity at that level.

    Returns
    -------
    pyarrow.Array
        Such as ``(wavefronts of loads and stores, 92 % of them in shared memory), 0.089 FLOP/B at
        L1, left of its ridge at 0.5``; null where the limiter is no cache.
    """
    rows = np.arange(len(decision.limiter))
    caches = [INDEX[name] for name in ("l2", "l1")]
    is_cache = (decision.bound == MEMORY) & np.isin(decision.limiter, caches)
    code = busiest.code[decision.limiter, rows]
    is_wavefronts = np.array(
        [name.startswith(f"{_WAVEFRONTS}.") for name in busiest.names] + [False]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.fmin(busiest.shared_wavefronts / decision.limiter_fraction, 1.0)
    shared = np.where(is_wavefronts[code] & ~np.isnan(busiest.shared_wavefronts), shared, np.nan)
    words = sentence(
        choose(code, tuple(map(counter_words, busiest.names))),
        concat(percent(shared), " of them in shared memory"),
        separator=", ",
    )
    part = concat("(", words, ")")
    return when(is_cache, lambda: sentence(part, _intensity(decision, intensity), separator=", "))


def _intensity(decision: Decision, intensity: LevelIntensity) -> Any:
    is_l1 = decision.limiter == INDEX["l1"]
    value, ridge = (np.where(is_l1, one["l1"], one["l2"]) for one in intensity)
    # Nothing is left of a ridge that has no operations.
    value = np.where(value > 0, value, np.nan)
    side = choose((value >= ridge).astype(np.int8), ("left", "right"))
    level = choose(is_l1.astype(np.int8), ("L2", "L1"))
    return concat(
        significant(value),
        " FLOP/B at ",
        level,
        ", ",
        side,
        " of its ridge at ",
        significant(ridge),
    )
