"""Usage of launches as sums, and sums as the usage of groups.

A launch without a duration, such as a failed collection, is left out of every sum. A launch whose
sides were not measured is not left out: it may have been anything from idle to busy for all of its
duration, and the label of the group has to hold whichever it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.analysis import thresholds
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, IS_COMPUTE, IS_MEMORY, TENSOR, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.sums import Adder, Sums

__all__ = ["add_usage", "usage_of_sums"]

_SIDES = {"compute": IS_COMPUTE, "memory": IS_MEMORY}
_COUNTING = ("flop_low_ns", "flop_high_ns", "flop_most_ns", "uncounted_flop")
_DRAM = ("dram_ns", "dram_percent_ns")
_OF_ALL = ("is_compute_complete", "is_memory_complete", "has_flop_counts", "is_dram_counted")


def add_usage(adder: Adder, usage: Usage) -> None:
    """Add the usage of launches up.

    A side of a group is complete where it is in every launch: then its ceiling is that of the sums
    of its parts. Else it is the sum of the ceilings, which is at least that: launches that are busy
    with different parts have it too large. A launch without a ceiling adds all of its duration to
    that of its group; a group of such launches alone has none either.
    """
    counts = ~np.isnan(usage.duration_ns)
    known = ~np.isnan(usage.time_ns)
    adder.any("counts", counts)
    adder.add("duration_ns", np.where(counts, usage.duration_ns, 0.0))
    _add_known(adder, "time_ns", usage.time_ns)
    adder.all("is_counted", usage.is_counted | ~known)
    adder.any("is_of_active_cycles", usage.is_of_active_cycles & known)
    _add_known(adder, "work", np.where(counts, usage.work, np.nan))
    adder.all("has_work", ~np.isnan(usage.work) | ~counts)
    adder.peak("peak_per_s", usage.peak_per_s, usage.work, usage.duration_ns)
    adder.most("peak_source", np.where(counts, usage.peak_source, np.int8(-1)))
    adder.any("is_peak_assumed", usage.is_peak_assumed & counts & (usage.work > 0))
    for side in _SIDES:
        _add_ceiling(adder, side, usage)
    _add_known(adder, "flop_ns", usage.flop_ns)
    for name in _COUNTING:
        values = getattr(usage, name)
        # What is not known of one launch is not bounded in its group.
        adder.add(name, np.where(counts, np.where(np.isnan(values), np.inf, values), 0.0))
    for name in _DRAM:
        # NaN of one launch is NaN of the sum.
        adder.add(name, np.where(counts, getattr(usage, name), 0.0))
    for name in _OF_ALL:
        adder.all(name, getattr(usage, name) | ~counts)
    adder.any("is_partition", usage.is_partition)
    adder.any("is_analytic", usage.is_analytic)
    adder.mean("boost_ratio", usage.boost_ratio, usage.duration_ns)


def usage_of_sums(sums: Sums) -> Usage:
    """Return the usage of groups."""
    counts = sums.most["counts"]
    work, has_all = _known(sums, "work"), sums.all("has_work")
    # Bytes of a level are known only where every launch that counts has them.
    has_all[: len(FLOP_RESOURCES)] = True
    return Usage(
        duration_ns=np.where(counts, sums.added["duration_ns"], np.nan),
        time_ns=_known(sums, "time_ns"),
        is_counted=sums.all("is_counted") & sums.most["has time_ns"],
        is_of_active_cycles=sums.most["is_of_active_cycles"],
        work=np.where(has_all, work, np.nan),
        peak_per_s=sums.peak("peak_per_s"),
        peak_source=sums.most["peak_source"],
        is_peak_assumed=sums.most["is_peak_assumed"],
        compute_ceiling_ns=_ceiling(sums, "compute"),
        memory_ceiling_ns=_ceiling(sums, "memory"),
        is_compute_complete=sums.all("is_compute_complete"),
        is_memory_complete=sums.all("is_memory_complete"),
        flop_ns=_known(sums, "flop_ns"),
        flop_low_ns=sums.added["flop_low_ns"],
        flop_high_ns=sums.added["flop_high_ns"],
        flop_most_ns=sums.added["flop_most_ns"],
        has_flop_counts=sums.all("has_flop_counts") & counts,
        uncounted_flop=sums.added["uncounted_flop"],
        dram_ns=np.where(counts, sums.added["dram_ns"], np.nan),
        dram_percent_ns=np.where(counts, sums.added["dram_percent_ns"], np.nan),
        is_dram_counted=sums.all("is_dram_counted") & counts,
        is_partition=sums.most["is_partition"],
        is_analytic=sums.most["is_analytic"],
        boost_ratio=sums.mean("boost_ratio"),
    )


def _add_known(adder: Adder, name: str, values: NDArray[np.float64]) -> None:
    """Add up what is known."""
    known = ~np.isnan(values)
    adder.any(f"has {name}", known)
    adder.add(name, np.where(known, values, 0.0))


def _known(sums: Sums, name: str) -> NDArray[np.float64]:
    return np.where(sums.most[f"has {name}"], sums.added[name], np.nan)


def _add_ceiling(adder: Adder, side: str, usage: Usage) -> None:
    ceiling_ns = getattr(usage, f"{side}_ceiling_ns")
    counts = ~np.isnan(usage.duration_ns)
    is_open = ~np.isfinite(ceiling_ns)
    # Percentages a little above 100 are real: passes differ.
    most = np.where(is_open, thresholds.CONTRADICTION * usage.duration_ns, ceiling_ns)
    adder.add(f"{side}_ceiling_ns", np.where(counts, most, 0.0))
    adder.all(f"open {side}", is_open | ~counts)
    # What may belong to the side besides its parts.
    known = np.nan_to_num(usage.time_ns[_SIDES[side]]).max(axis=0)
    adder.add(f"{side}_beside_parts_ns", np.where(counts, np.maximum(most - known, 0.0), 0.0))


def _ceiling(sums: Sums, side: str) -> NDArray[np.float64]:
    ceiling_ns = sums.added[f"{side}_ceiling_ns"]
    busiest = _busiest_part(_known(sums, "time_ns"), side) + sums.added[f"{side}_beside_parts_ns"]
    is_complete = sums.all(f"is_{side}_complete")
    found = np.where(is_complete, np.minimum(ceiling_ns, busiest), ceiling_ns)
    return np.where(sums.all(f"open {side}"), np.inf, found)


def _busiest_part(time_ns: NDArray[np.float64], side: str) -> NDArray[np.float64]:
    """Return the most that one part of a side can have been busy [ns]. Shape (n,).

    Time of a part whose kind is not known counts for each kind that it can be of.
    """
    time = dict(zip(INDEX, np.nan_to_num(time_ns), strict=True))
    busiest: NDArray[np.float64]
    if side == "memory":
        busiest = _largest(time, "dram", "l2", "l1") + time["memory"]
        return busiest
    tensor = _largest(time, *TENSOR) + time["tensor"]
    shared = _largest(time, "fp32", "fp16", "integer") + time["fma"]
    busiest = np.fmax(np.fmax(tensor, shared), _largest(time, "fp64", "xu", "issue")) + time["sm"]
    return busiest


def _largest(time: dict[str, NDArray[np.float64]], *names: str) -> NDArray[np.float64]:
    largest: NDArray[np.float64] = np.max([time[name] for name in names], axis=0)
    return largest
