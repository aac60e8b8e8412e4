"""Peak rates of every resource of every launch, and where each of them came from.

Work and roof must come from the same report: ncu locks the clocks, so that the roof of a data
sheet does not hold for the duration in the report. What a user says of the device
(`nsightlens.devices.overrides`) wins:

- ``measured_ceiling``: a ceiling that was measured, at the clock of the report;
- ``named_device``: rate x SM count of the product at the clock of the report, else at its boost
  clock, and its DRAM bandwidth. Nothing of the report's own device is used then.

Without that, in order of preference:

1. ``report``: the metric ``*.peak_sustained`` x the same report's cycles per second;
2. ``attributes``: for DRAM, twice the memory clock x bus width / 8, from the device attributes;
3. ``architecture``: rate of the architecture and product (`nsightlens.devices.rates`) x SM count
   and clock of the report;
4. ``data_sheet``: the same with SM count and boost clock of the product, and its DRAM bandwidth
   (`nsightlens.devices.products`);
5. unknown: NaN.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.devices.columns import first_known, metric, number_column
from nsightlens.devices.launched import devices_of
from nsightlens.devices.levels import LEVEL_PATHS, stored_path_peak
from nsightlens.devices.overrides import NO_OVERRIDES
from nsightlens.devices.tensor_peaks import TensorPeak, tensor_peak
from nsightlens.metrics.catalog import UNIFIED_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from nsightlens.devices.ceilings import Ceilings
    from nsightlens.devices.launched import Device, Devices
    from nsightlens.devices.overrides import PeakOverrides
    from nsightlens.metric_store import MetricStore
    from nsightlens.report import Report

__all__ = [
    "CUDA_CORE_PEAKS",
    "PEAK_SOURCES",
    "SHORT_LAUNCH_NS",
    "PeakRates",
    "dram_clock_share",
    "misnamed_devices",
    "peak_rates",
    "unused_ceilings",
]

PEAK_SOURCES = (
    "measured_ceiling", "named_device", "report", "attributes", "architecture", "data_sheet",
)  # fmt: skip
"""Names of the sources, best first; `PeakRates.source` holds indices into it, -1 where nothing is
known."""

SHORT_LAUNCH_NS = 20_000.0
"""[ns] Below it the measured DRAM clock is noise: it is the quotient of two small counts."""

_SASS = "sm__sass_thread_inst_executed_op_{}_pred_on.sum.peak_sustained"
# A fused multiply-add is two operations; hfma works on two lanes. One instruction per thread.
CUDA_CORE_PEAKS = {
    "fp64": (_SASS.format("dfma"), 2.0),
    "fp32": (_SASS.format("ffma"), 2.0),
    "fp16": (_SASS.format("hfma"), 4.0),
}
"""Metric of the peak on CUDA cores [inst/cycle], and how much work one instruction is."""
_DERIVED_PEAKS = {
    "fp64": "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2",
    "fp32": "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
}


class PeakRates(NamedTuple):
    """Peak rates by resource, one value per launch.

    Parameters
    ----------
    rate
        [FLOP/s, op/s or B/s] NaN where unknown. Each of shape (launches,).
    lowest
        The same at the least: below ``rate`` where the report does not say how tensor work was
        done, zero where nothing bounds it (the SM clock is not known). Each of shape (launches,).
    source
        Index into `PEAK_SOURCES`, -1 where unknown. Each of shape (launches,).
    is_assumed
        ``rate`` is that of other products of the architecture: how this one was cut is not known.
        Each of shape (launches,).
    sm_clock_hz
        [Hz] SM clock during the launch; NaN where it was not measured.
    boost_clock_hz
        [Hz] Highest SM clock of the device.
    is_partition
        The device is a part of a GPU (MIG), whose share of the DRAM peak is not known: there is
        none. Shape (launches,).
    """

    rate: dict[str, NDArray[np.float64]]
    lowest: dict[str, NDArray[np.float64]]
    source: dict[str, NDArray[np.int8]]
    is_assumed: dict[str, NDArray[np.bool_]]
    sm_clock_hz: NDArray[np.float64]
    boost_clock_hz: NDArray[np.float64]
    is_partition: NDArray[np.bool_]


def peak_rates(
    report: Report, resources: Iterable[str], overrides: PeakOverrides = NO_OVERRIDES
) -> PeakRates:
    """Find the peak rate of resources for every launch of a report.

    Parameters
    ----------
    report
        The report.
    resources
        Names such as ``fp32``, ``tensor_bf16``, ``l1``, ``l2`` and ``dram``.
    overrides
        What the user says of the device.

    Returns
    -------
    PeakRates
        With exactly these resources.
    """
    devices = devices_of(report, overrides.device)
    attribute = metric(report.store, "device__attribute_clock_rate") * 1e3
    if overrides.device is not None:
        attribute = np.full(len(report), np.nan)
    clocks = _Clocks(
        number_column(report.launches, "sm_clock_hz"),
        number_column(report.launches, "l2_clock_hz"),
        first_known(attribute, devices.spread(_boost_hz)),
    )
    rate: dict[str, NDArray[np.float64]] = {}
    lowest: dict[str, NDArray[np.float64]] = {}
    source: dict[str, NDArray[np.int8]] = {}
    for resource in resources:
        if overrides.device is not None:
            candidates = _peaks_of_named(report, devices, resource, clocks)
        elif resource == "dram":
            candidates = _exactly(_dram_peaks(report, devices))
        elif resource in LEVEL_PATHS:
            candidates = _level_peaks(report, devices, resource, clocks)
        else:
            per_cycle = _sm_peaks_per_cycle(report.store, devices, resource)
            candidates = _at_clocks(per_cycle, clocks)
        measured = _measured_peak(overrides.ceilings, devices, resource, clocks)
        candidates = {"measured_ceiling": measured, **candidates}
        rate[resource], lowest[resource], source[resource] = _choose(candidates, len(report))
    is_assumed = {name: _is_assumed(devices, name, source[name]) for name in source}
    is_part = devices.is_partition
    if "dram" in source:
        is_part &= source["dram"] != PEAK_SOURCES.index("measured_ceiling")
    return PeakRates(rate, lowest, source, is_assumed, clocks.measured, clocks.boost, is_part)


def _is_assumed(devices: Devices, resource: str, source: NDArray[np.int8]) -> NDArray[np.bool_]:
    by_table = [PEAK_SOURCES.index(one) for one in ("named_device", "architecture", "data_sheet")]
    return np.isin(source, by_table) & devices.where(lambda device: device.is_assumed(resource))


_ENTRIES_NAMED = 4


def unused_ceilings(report: Report, overrides: PeakOverrides) -> list[str]:
    """Say that measured ceilings are of no use to a report: none of them fits any launch.

    A file may be for many GPUs, of which a report has one.
    """
    if not (overrides.ceilings and len(report)):
        return []
    kinds = devices_of(report, overrides.device).kinds
    if any(device.fits(one) for device in kinds for one in overrides.ceilings):
        return []
    place = overrides.ceilings[0].place
    if len(overrides.ceilings) > 1:
        place = place.rpartition(", ")[0]
    wanted = " or ".join(one.device for one in overrides.ceilings[:_ENTRIES_NAMED])
    wanted += " or others" if len(overrides.ceilings) > _ENTRIES_NAMED else ""
    if overrides.device is not None:
        where = f"the device that was named is {overrides.device.name!r}, not {wanted}"
    else:
        names = sorted({device.name or "a GPU without a name" for device in kinds})
        where = f"no launch ran on {wanted}, only on {', '.join(names)}"
    return [f"{place}: its ceilings are not used: {where}."]


def misnamed_devices(report: Report, overrides: PeakOverrides) -> list[str]:
    """Say which devices of a report cannot be the one that the user named, one sentence each."""
    named = overrides.device
    if named is None:
        return []
    found = []
    for own, device in zip(devices_of(report).kinds, devices_of(report, named).kinds, strict=True):
        name = own.name or "a GPU without a name"
        if own.counters not in ("", named.compute_capability):
            what = f"compute capability {own.counters}", named.compute_capability
        elif own.sm_count not in (None, device.sm_count):
            what = f"{own.sm_count} SMs", str(named.sm_count)
        else:
            continue
        found.append(
            f"{named.name!r} was named, but launches ran on {name} with {what[0]}, not {what[1]}: "
            "the peaks of another GPU are used."
        )
    return list(dict.fromkeys(found))


class _Clocks(NamedTuple):
    """SM and L2 clock of each launch and the highest SM clock of its device [Hz]."""

    measured: NDArray[np.float64]
    l2: NDArray[np.float64]
    boost: NDArray[np.float64]


def _measured_peak(
    ceilings: Iterable[Ceilings], devices: Devices, resource: str, clocks: _Clocks
) -> TensorPeak:
    """Return the measured ceiling of each launch at its clock, NaN where there is none.

    Where the SM clock of the launch is not known, it may have been any: as a data sheet's, the
    ceiling is one at the most.
    """
    peak = TensorPeak(np.full(len(devices.code), np.nan), np.zeros(len(devices.code)))
    # What a cache can deliver is its ceiling, whatever of it is counted.
    name = resource.removesuffix("_returned")
    for one in ceilings:
        if name in one.peak_per_s:
            value = one.peak_per_s[name]
            scale, is_exact = _clock_scale(one, name, clocks)
            use = devices.where(partial(_fits, one)) & np.isnan(peak.fastest)
            fastest = np.where(use, value * scale, peak.fastest)
            peak = TensorPeak(fastest, np.where(use & is_exact, fastest, peak.slowest))
    return peak


def _fits(ceilings: Ceilings, device: Device) -> bool:
    return device.fits(ceilings)


def _clock_scale(
    ceilings: Ceilings, resource: str, clocks: _Clocks
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the clock of each launch over that of the ceiling, and whether it is known."""
    if resource == "dram" or (resource == "l2" and ceilings.l2_clock_hz is None):
        return np.ones(len(clocks.l2)), np.ones(len(clocks.l2), dtype=bool)
    at, of_launch = (
        (ceilings.l2_clock_hz, clocks.l2)
        if resource == "l2"
        else (ceilings.sm_clock_hz, clocks.measured)
    )
    scale = of_launch / (at or np.nan)
    is_known = ~np.isnan(scale)
    return np.where(is_known, scale, 1.0), is_known


def _peaks_of_named(
    report: Report, devices: Devices, resource: str, clocks: _Clocks
) -> dict[str, TensorPeak]:
    """Peaks of the product that the user named."""
    if resource == "dram":
        bandwidth = devices.spread(_bandwidth)
        return _exactly({"named_device": np.where(devices.is_partition, np.nan, bandwidth)})
    level = LEVEL_PATHS[resource].level if resource in LEVEL_PATHS else ""
    if level == "l2":
        # How many slices the product has, only a report of it says.
        is_same = devices.where(lambda one: one.counters == one.compute_capability)
        l2 = _l2_by_rate(report, devices, resource)
        return _exactly({"named_device": np.where(is_same, l2, np.nan)})
    name, counts = level or resource, {"named_device": _sm_count}
    (peak,) = _peaks_by_rate(report.store, devices, name, counts).values()
    clock = first_known(clocks.measured, clocks.boost)
    slowest = np.where(np.isnan(clocks.measured), 0.0, peak.slowest * clock)
    return {"named_device": TensorPeak(peak.fastest * clock, slowest)}


def _exactly(candidates: dict[str, NDArray[np.float64]]) -> dict[str, TensorPeak]:
    return {name: TensorPeak(value, value) for name, value in candidates.items()}


def _at_clocks(per_cycle: dict[str, TensorPeak], clocks: _Clocks) -> dict[str, TensorPeak]:
    """Turn peaks per cycle into peaks per second; that of a data sheet is one at the most."""
    return {
        name: TensorPeak(peak.fastest * clocks.boost, np.zeros_like(peak.slowest))
        if name == "data_sheet"
        else TensorPeak(peak.fastest * clocks.measured, peak.slowest * clocks.measured)
        for name, peak in per_cycle.items()
    }


def _choose(
    candidates: dict[str, TensorPeak], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int8]]:
    value, lowest = np.full(count, np.nan), np.zeros(count)
    source = np.full(count, -1, dtype=np.int8)
    for code, name in enumerate(PEAK_SOURCES):
        if name in candidates:
            peak = candidates[name]
            use = np.isnan(value) & (peak.fastest > 0)
            value = np.where(use, peak.fastest, value)
            lowest = np.where(use, peak.slowest, lowest)
            source[use] = code
    return value, np.nan_to_num(lowest), source


def _boost_hz(device: Device) -> float | None:
    mhz = device.product.boost_mhz if device.product else None
    return None if mhz is None else mhz * 1e6


def _sm_count(device: Device) -> float | None:
    return device.sm_count or (device.product.sm_count if device.product else None)


def _bandwidth(device: Device) -> float | None:
    bandwidth = device.product.bandwidth_gb_per_s if device.product else None
    return None if bandwidth is None else bandwidth * 1e9


def _sm_peaks_per_cycle(
    store: MetricStore, devices: Devices, resource: str
) -> dict[str, TensorPeak]:
    """Peaks of a part of the SM [operations or bytes per SM cycle, whole GPU], by source."""
    counts = {"architecture": lambda device: device.sm_count, "data_sheet": _sm_count}
    by_rate = _peaks_by_rate(store, devices, resource, counts)
    if not resource.startswith("tensor_"):
        return {**_exactly({"report": _stored_core_peak(store, resource)}), **by_rate}
    nothing = np.full(store.launch_count, np.nan)
    capabilities = [device.counters for device in devices.kinds]
    stored = tensor_peak(store, resource, devices.code, capabilities, lambda _: nothing)
    return {"report": stored, **by_rate}


def _peaks_by_rate(
    store: MetricStore,
    devices: Devices,
    resource: str,
    counts: Mapping[str, Callable[[Device], float | None]],
) -> dict[str, TensorPeak]:
    """Peaks from the rates of the devices, by source; ``counts`` gives the SM count of each."""

    def most(name: str, source: str) -> NDArray[np.float64]:
        return devices.spread(lambda device: device.rate(name)) * devices.spread(counts[source])

    def least(name: str, source: str) -> NDArray[np.float64]:
        rate = devices.spread(lambda device: device.least_rate(name))
        return rate * devices.spread(counts[source])

    def peak(rate: Callable[..., NDArray[np.float64]], source: str) -> TensorPeak:
        if not resource.startswith("tensor_"):
            return TensorPeak(rate(resource, source), rate(resource, source))
        return tensor_peak(
            store,
            resource,
            devices.code,
            [device.counters for device in devices.kinds],
            partial(rate, source=source),
            has_peaks=source != "named_device",
        )

    return {
        source: TensorPeak(peak(most, source).fastest, peak(least, source).slowest)
        for source in counts
    }


def _stored_core_peak(store: MetricStore, resource: str) -> NDArray[np.float64]:
    """Peak on CUDA cores that the report itself stores; NaN where it does not."""
    if resource not in CUDA_CORE_PEAKS:
        return np.full(store.launch_count, np.nan)
    name, factor = CUDA_CORE_PEAKS[resource]
    derived = _DERIVED_PEAKS.get(resource)
    value = metric(store, name) * factor
    return value if derived is None else first_known(value, metric(store, derived))


def _level_peaks(
    report: Report, devices: Devices, resource: str, clocks: _Clocks
) -> dict[str, TensorPeak]:
    """Peaks of a path through a cache; L2 has a clock of its own, of which no table knows."""
    stored = {"report": stored_path_peak(report, resource, _l2_slices(report))}
    if LEVEL_PATHS[resource].level == "l2":
        return _exactly({**stored, "architecture": _l2_by_rate(report, devices, resource)})
    # The return path of L1 is as wide as the look-up.
    per_cycle = _sm_peaks_per_cycle(report.store, devices, "l1")
    del per_cycle["report"]
    return {**_exactly(stored), **_at_clocks(per_cycle, clocks)}


def _l2_by_rate(report: Report, devices: Devices, resource: str) -> NDArray[np.float64]:
    per_slice = devices.spread(lambda device: device.rate(resource))
    return per_slice * _l2_slices(report) * number_column(report.launches, "l2_clock_hz")


def _l2_slices(report: Report) -> NDArray[np.float64]:
    store = report.store
    return first_known(
        metric(store, "device__attribute_l2s_count"),
        metric(store, "device__attribute_fbp_count")
        * metric(store, "device__attribute_num_l2s_per_fbp"),
    )


def dram_clock_share(report: Report) -> NDArray[np.float64]:
    """Return the DRAM clock that a short launch measured over that of the attributes [1].

    A percentage of the DRAM peak is one of the measured clock. In launches shorter than
    `SHORT_LAUNCH_NS` that clock is noise, and the percentage times this is that of the real clock.
    1 where a launch is longer, or one of the clocks is not known. Shape (n,).
    """
    measured, attributes = _measured_dram_peak(report), _attributed_dram_peak(report)
    is_short = number_column(report.launches, "duration_ns") < SHORT_LAUNCH_NS
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(attributes > 0, measured / attributes, np.nan)
    return np.where(is_short & np.isfinite(share) & (share > 0), share, 1.0)


def _measured_dram_peak(report: Report) -> NDArray[np.float64]:
    """[B/s] At the DRAM clock of the launch."""
    peak = metric(report.store, "dram__bytes.sum.peak_sustained")
    return peak * number_column(report.launches, "dram_clock_hz")


def _attributed_dram_peak(report: Report) -> NDArray[np.float64]:
    """[B/s] A DDR bus moves two bits per wire and clock; the attributes are in kHz and bit."""
    store = report.store
    clock_hz = metric(store, "device__attribute_memory_clock_rate") * 1e3
    return 2.0 * clock_hz * metric(store, "device__attribute_global_memory_bus_width") / 8.0


def _dram_peaks(report: Report, devices: Devices) -> dict[str, NDArray[np.float64]]:
    """Peaks of DRAM: measured roof, never above that of the attributes; attributes; data sheet.

    ``dram__bytes.sum.peak_sustained`` x ``dram__cycles_elapsed.avg.per_second`` equals the roof of
    the attributes on HBM parts and is up to 5 % lower on GeForce, which lowers its memory clock
    for compute. Above it, or in launches shorter than `SHORT_LAUNCH_NS`, it is an artefact.
    """
    launches, store = report.launches, report.store
    is_unified = devices.spread(lambda one: one.compute_capability in UNIFIED_MEMORY) > 0
    is_unified |= metric(store, "device__attribute_integrated") == 1
    measured, attributes = _measured_dram_peak(report), _attributed_dram_peak(report)
    attributes = np.where(is_unified | (attributes <= 0), np.nan, attributes)
    is_short = number_column(launches, "duration_ns") < SHORT_LAUNCH_NS
    is_noise = (is_short | (measured > attributes)) & ~np.isnan(attributes)
    peaks = {
        "report": np.where(is_noise, np.nan, measured),
        "attributes": attributes,
        "data_sheet": devices.spread(_bandwidth),
    }
    # Attributes and product are those of the whole GPU.
    return {name: np.where(devices.is_partition, np.nan, peak) for name, peak in peaks.items()}
