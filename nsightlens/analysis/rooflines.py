"""The long table ``rooflines``: each launch against the roofs of DRAM, L2 and L1.

A hierarchical roofline (Yang, Kurth and Williams, 2019) has one flat roof, the peak of the data
type that needs most time, and one slanted roof per memory level. The bytes of a level and its roof
are those of one path (`nsightlens.devices.levels`): what NVIDIA's own charts count where that was
collected, else what was looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens import tables
from nsightlens.analysis.label import BOUNDS, classical_bound, counted_flop, flat_roof, largest_flop
from nsightlens.analysis.phrase import choose
from nsightlens.analysis.usage import INDEX, RESOURCES
from nsightlens.arrays import category_array, known_numbers, number_array
from nsightlens.devices import PEAK_SOURCES, peak_rates
from nsightlens.devices.columns import number_column
from nsightlens.devices.levels import path_bytes
from nsightlens.devices.overrides import NO_OVERRIDES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.analysis.sums import Adder, Sums
    from nsightlens.analysis.usage import Usage
    from nsightlens.devices import PeakOverrides
    from nsightlens.report import Report

__all__ = [
    "LEVELS",
    "LevelIntensity",
    "LevelRoofs",
    "add_levels",
    "level_intensity",
    "level_roofs",
    "levels_of_sums",
    "rooflines_table",
]

LEVELS = ("dram", "l2", "l1")
_COUNTED = ("transferred", "returned", "looked_up", "missed", "annotated")
# Best first. A level that returned nothing is better described by what was looked up.
_PATHS = {level: (f"{level}_returned", level) for level in LEVELS[1:]}


class LevelRoofs(NamedTuple):
    """Bytes of a level and the roof of their path, NaN where unknown.

    Parameters
    ----------
    bytes
        [B]
    counted
        Index into the values of ``bytes_counted``.
    peak
        [B/s]
    source
        Index into `nsightlens.devices.PEAK_SOURCES`, -1 where unknown.
    time_ns
        [ns] Roofline time of the bytes.
    """

    bytes: NDArray[Any]
    counted: NDArray[Any]
    peak: NDArray[Any]
    source: NDArray[Any]
    time_ns: NDArray[Any]

    def only(self, where: NDArray[np.bool_]) -> LevelRoofs:
        """Return the level with nothing known elsewhere."""
        nothing = (np.nan, 0, np.nan, -1, np.nan)
        return LevelRoofs(*(np.where(where, a, b) for a, b in zip(self, nothing, strict=True)))

    def filled(self, other: LevelRoofs) -> LevelRoofs:
        """Return the level with another one where no bytes are known."""
        has_bytes = ~np.isnan(self.bytes)
        return LevelRoofs(*(np.where(has_bytes, a, b) for a, b in zip(self, other, strict=True)))


class LevelIntensity(NamedTuple):
    """Arithmetic intensity and ridge point [FLOP/B] by level, NaN where unknown."""

    value: dict[str, NDArray[np.float64]]
    ridge: dict[str, NDArray[np.float64]]


def level_roofs(
    report: Report, usage: Usage, overrides: PeakOverrides = NO_OVERRIDES
) -> dict[str, LevelRoofs]:
    """Find the bytes and roofs of every level.

    Parameters
    ----------
    report
        The report. n launches.
    usage
        Their roofline times.
    overrides
        What the user says of the device, as in ``usage``.

    Returns
    -------
    dict
        By level, with arrays of shape (n,).
    """
    return {
        "dram": _dram(report, usage),
        **{name: _cache(report, usage, name, overrides) for name in LEVELS[1:]},
    }


def add_levels(
    adder: Adder, levels: Mapping[str, LevelRoofs], duration_ns: NDArray[np.float64]
) -> None:
    """Add up the bytes and times of launches."""
    counts = ~np.isnan(duration_ns)
    for name, one in levels.items():
        for what, values in (("bytes", one.bytes), ("time_ns", one.time_ns)):
            # NaN of one launch is NaN of the sum.
            adder.add(f"{name} {what}", np.where(counts, values, 0.0))
        adder.most(f"{name} counted", one.counted)
        adder.most(f"{name} last counted", np.where(counts, one.counted, -1))
        adder.most(f"{name} first counted", np.where(counts, -one.counted, -len(_COUNTED)))
        adder.most(f"{name} source", one.source)
        adder.peak(f"{name} peak", one.peak, one.bytes, duration_ns)


def levels_of_sums(sums: Sums) -> dict[str, LevelRoofs]:
    """Return the bytes and times of groups, and their roofs.

    A sum is known where that of every launch with a duration is, and where all of their bytes were
    counted in one place.
    """
    return {name: _level_of_sums(sums, name) for name in LEVELS}


def _level_of_sums(sums: Sums, name: str) -> LevelRoofs:
    is_one = sums.most[f"{name} last counted"] == -sums.most[f"{name} first counted"]
    total, time_ns = (
        np.where(is_one, sums.added[f"{name} {what}"], np.nan) for what in ("bytes", "time_ns")
    )
    counted, source = (sums.most[f"{name} {what}"] for what in ("counted", "source"))
    return LevelRoofs(total, counted, sums.peak(f"{name} peak"), source, time_ns)


def level_intensity(usage: Usage, levels: Mapping[str, LevelRoofs]) -> LevelIntensity:
    """Return the intensity of each launch at each level, and the ridge there.

    With F operations, B_l bytes at level l, flat roof P and slanted roof S_l: ``I_l = F / B_l``,
    and the ridge is ``P / S_l``.
    """
    flop, roof = counted_flop(usage), flat_roof(usage, largest_flop(usage))
    return LevelIntensity(
        {name: _quotient(flop, one.bytes) for name, one in levels.items()},
        {name: _quotient(roof, one.peak) for name, one in levels.items()},
    )


def rooflines_table(report: Report, usage: Usage, levels: Mapping[str, LevelRoofs]) -> pa.Table:
    """Build the table of rooflines.

    Parameters
    ----------
    report, usage
        As in `level_roofs`.
    levels
        Bytes and roofs, from there.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.ROOFLINES`: a row for each launch and level of which
        bytes or a fraction of the bandwidth are known, launches in the order of the report.

    Notes
    -----
    ``attainable = min(P, I_l S_l) = F / max(F/P, B_l/S_l)`` in the symbols of `level_intensity`.
    With several data types ``F/P`` is the largest time of one of them, as in ``roofline_bound`` of
    the labels, and the second form holds.
    """
    stacked = LevelRoofs(*(np.stack(values) for values in zip(*levels.values(), strict=True)))
    # Transposed, so that the levels of one launch stand together.
    row, level = np.nonzero(~np.isnan(stacked.bytes.T) | ~np.isnan(stacked.time_ns.T))
    chosen = LevelRoofs(*(values[level, row] for values in stacked))
    rows = number_array(row)
    intensity = level_intensity(usage, levels)
    value, ridge = (np.stack(list(one.values()))[level, row] for one in intensity)
    return tables.table_of(
        tables.schema_of(tables.ROOFLINES),
        {
            "report": report.launches["report"].combine_chunks().take(rows),
            "launch_id": report.launches["launch_id"].combine_chunks().take(rows),
            "level": category_array(level, LEVELS),
            "level_bytes": known_numbers(chosen.bytes),
            "bytes_counted": choose(np.where(np.isnan(chosen.bytes), -1, chosen.counted), _COUNTED),
            "arithmetic_intensity_flop_per_byte": known_numbers(value),
            "ridge_point_flop_per_byte": known_numbers(ridge),
            "peak_bytes_per_s": known_numbers(chosen.peak),
            "peak_bytes_source": choose(chosen.source, PEAK_SOURCES),
            **_against_the_roofs(usage, row, chosen),
        },
        len(row),
    )


def _dram(report: Report, usage: Usage) -> LevelRoofs:
    row = INDEX["dram"]
    # Without DRAM counters, what L2 missed stands in for what DRAM transferred.
    is_stand_in = np.isnan(number_column(report.launches, "dram_bytes"))
    conditions = [usage.is_analytic, is_stand_in]
    counted = np.select(conditions, [_COUNTED.index("annotated"), _COUNTED.index("missed")], 0)
    peak, source = usage.peak_per_s[row], usage.peak_source[row]
    return LevelRoofs(usage.work[row], counted, peak, source, usage.dram_ns)


def _cache(report: Report, usage: Usage, level: str, overrides: PeakOverrides) -> LevelRoofs:
    """Take, per launch, the first path of which bytes and roof are known, else the first bytes."""
    peaks = peak_rates(report, _PATHS[level], overrides)
    paths = []
    for code, name in enumerate(_PATHS[level], start=1):
        counted, peak = path_bytes(report, name), peaks.rate[name]
        # An annotated shape says nothing of caches, and what returned nothing only stored.
        is_used = ~usage.is_analytic & ((counted > 0) | (name == level))
        path = LevelRoofs(
            counted, np.full(len(report), code), peak, peaks.source[name], _time_ns(counted, peak)
        )
        paths.append(path.only(is_used))
    first, *others = (*(path.only(~np.isnan(path.peak)) for path in paths), *paths)
    for path in others:
        first = first.filled(path)
    return first


def _time_ns(work: NDArray[np.float64], peak: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(peak > 0, _quotient(work, peak) * 1e9, np.nan)


def _quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = a / b
    return np.where(np.isfinite(quotient), quotient, np.nan)


def _against_the_roofs(usage: Usage, row: NDArray[np.intp], level: LevelRoofs) -> dict[str, Any]:
    resource = largest_flop(usage)
    flop, roof = counted_flop(usage)[row], flat_roof(usage, resource)[row]
    low, high = usage.flop_low_ns.max(axis=0)[row], usage.flop_high_ns.max(axis=0)[row]
    duration = usage.duration_ns[row]
    bound = classical_bound(low, high, level.time_ns)
    # Where the time for operations is not known, it matters only where it is the larger one.
    is_known = (
        ~np.isnan(flop) & (bound != 0) & ((bound == BOUNDS.index("memory")) | ~np.isnan(roof))
    )
    slowest = np.where(is_known, np.fmax(low, level.time_ns), np.nan)
    source = np.where(np.isnan(roof), -1, usage.peak_source[resource, np.arange(len(usage))][row])
    return {
        "resource": choose(resource[row], RESOURCES),
        "flop_count": known_numbers(flop),
        "peak_flop_per_s": known_numbers(roof),
        "peak_flop_source": choose(source, PEAK_SOURCES),
        "attainable_flop_per_s": known_numbers(_quotient(flop, slowest) * 1e9),
        "achieved_flop_per_s": known_numbers(_quotient(flop, duration) * 1e9),
        "fraction_of_roof": known_numbers(_quotient(slowest, duration)),
        "fraction_of_bandwidth": known_numbers(_quotient(level.time_ns, duration)),
        "roofline_bound": choose(bound, BOUNDS),
    }
