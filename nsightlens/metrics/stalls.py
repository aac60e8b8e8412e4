"""Warp states: cycles per issued instruction, shares of warp latency, samples.

NVIDIA spells some states differently in the hardware counters and in the sampler; here each has
one name, that of the counters (`nsightlens.tables.STALL_REASONS`). A state that the architecture
does not have is absent, not zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.metrics.catalog import MEASURED
from nsightlens.metrics.columns import NumberColumns, count_array, evaluate_first
from nsightlens.tables import STALL_REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore

__all__ = [
    "LATENCY_FORMULAS",
    "StallProfile",
    "cycles_metric",
    "sample_metric",
    "stall_profile",
    "stall_table",
]

# States that every architecture from 7.0 on counts. With all of them known, their sum is the
# whole warp latency, and the largest is the top stall; with fewer, nobody can tell.
_ALWAYS_COUNTED = tuple(set(STALL_REASONS) - {"gmma", "imc_miss", "tex_throttle"})

_SAMPLER_SPELLING = {"no_instruction": "no_instructions", "gmma": "warpgroup_arrive"}

_SUM_OF_STATES = "sum of all warp states"

LATENCY_FORMULAS = (*MEASURED["warp_cycles_per_issue"].formulas, _SUM_OF_STATES)
"""What can give the latency of a warp per issued instruction, best first."""


def cycles_metric(reason: str) -> str:
    """Return the metric with the cycles that a warp spends in a state per issued instruction."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def sample_metric(reason: str, *, not_issued: bool = False) -> str:
    """Return the metric with the samples of a state, in the sampler's spelling."""
    name = _SAMPLER_SPELLING.get(reason, reason)
    return f"smsp__pcsamp_warps_issue_stalled_{name}{'_not_issued' if not_issued else ''}"


class StallProfile(NamedTuple):
    """The warp states of every launch.

    ``cycles``, ``samples``, ``samples_not_issued`` have one row per name of `STALL_REASONS` and
    one column per launch, shape (reasons, n); NaN where a launch has no value. ``latency`` is
    [cycle] the latency of a warp per issued instruction and ``latency_choice`` the index into
    `LATENCY_FORMULAS` of what gave it, shape (n,).
    """

    cycles: NDArray[np.float64]
    samples: NDArray[np.float64]
    samples_not_issued: NDArray[np.float64]
    latency: NDArray[np.float64]
    latency_choice: NDArray[np.int32]

    @property
    def share_pct(self) -> NDArray[np.float64]:
        """[%] Cycles of each state over the warp latency, as NVIDIA's CPIStall rule prints it.

        The two come from different replays of the launch: a share may exceed 100.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            share = 100 * self.cycles / self.latency
        return np.where(np.isfinite(share), share, np.nan)

    @property
    def is_complete(self) -> NDArray[np.bool_]:
        """True where every state that all architectures count is known. Shape (n,)."""
        rows = [STALL_REASONS.index(reason) for reason in _ALWAYS_COUNTED]
        return np.logical_not(np.isnan(self.cycles[rows]).any(axis=0))


def stall_profile(numbers: NumberColumns) -> StallProfile:
    """Read the warp states of every launch."""
    measured = evaluate_first(MEASURED["warp_cycles_per_issue"].formulas, numbers)
    profile = StallProfile(
        cycles=_by_reason(numbers, [cycles_metric(r) for r in STALL_REASONS]),
        samples=_by_reason(numbers, [sample_metric(r) for r in STALL_REASONS]),
        samples_not_issued=_by_reason(
            numbers, [sample_metric(r, not_issued=True) for r in STALL_REASONS]
        ),
        latency=measured.values.copy(),
        latency_choice=measured.choice.copy(),
    )
    is_summed = np.isnan(profile.latency) & profile.is_complete
    profile.latency[is_summed] = np.nansum(profile.cycles[:, is_summed], axis=0)
    profile.latency_choice[is_summed] = len(LATENCY_FORMULAS) - 1
    return profile


def _by_reason(numbers: NumberColumns, metrics: Sequence[str]) -> NDArray[np.float64]:
    columns = [numbers(metric) for metric in metrics]
    if not any(metric in numbers for metric in metrics):  # one column stands for all, unwritten
        return np.broadcast_to(columns[0], (len(columns), numbers.launch_count))
    return np.stack(columns)


def stall_table(store: MetricStore, report: pa.Array, launch_id: pa.Array) -> pa.Table:
    """Build the ``stalls`` table: one row per launch and warp state that the report knows.

    Parameters
    ----------
    store
        Raw metrics of the launches.
    report, launch_id
        The key of each launch, as in ``launches``. Shape (n,).

    Returns
    -------
    pyarrow.Table
        Schema `stalls_schema`; rows by launch, states in alphabetical order.
    """
    profile = stall_profile(NumberColumns(store))
    is_known = ~(np.isnan(profile.cycles) & np.isnan(profile.samples))
    launch, reason = np.nonzero(is_known.T)

    def number(values: NDArray[np.float64]) -> pa.Array:
        kept = values[reason, launch]
        return number_array(kept, ~np.isnan(kept))

    rows = number_array(launch)
    return tables.table_of(
        stalls_schema(),
        {
            "report": report.take(rows),
            "launch_id": launch_id.take(rows),
            "stall_reason": pa.DictionaryArray.from_arrays(
                number_array(reason.astype(np.int32)), pa.array(STALL_REASONS)
            ),
            "cycles_per_issue": number(profile.cycles),
            "share_of_warp_latency_pct": number(profile.share_pct),
            "sample_count": count_array(profile.samples[reason, launch]),
            "sample_not_issued_count": count_array(profile.samples_not_issued[reason, launch]),
        },
        len(launch),
    )


def stalls_schema() -> pa.Schema:
    """Return the schema of ``stalls`` with the metrics of each column under ``source``."""
    return tables.schema_of(
        tables.STALLS,
        {
            "cycles_per_issue": cycles_metric("<stall_reason>"),
            "share_of_warp_latency_pct": " | ".join(
                f"100 * cycles_per_issue / ({text})" for text in LATENCY_FORMULAS
            ),
            "sample_count": sample_metric("<stall_reason>"),
            "sample_not_issued_count": sample_metric("<stall_reason>", not_issued=True),
        },
    )
