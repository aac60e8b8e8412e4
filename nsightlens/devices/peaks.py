"""Peak rates of every resource of every launch, and where each of them came from.

Work and roof must come from the same report: ncu locks the clocks, so that the roof of a data
sheet does not hold for the duration in the report. In order of preference:

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

from nsightlens.devices.columns import first_known, metric, number_column, text_column
from nsightlens.devices.products import (
    UNIFIED_MEMORY,
    Product,
    is_partition,
    product_class_of,
    product_of,
)
from nsightlens.devices.rates import rate_of
from nsightlens.devices.tensor_peaks import TensorPeak, tensor_peak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore
    from nsightlens.report import Report

__all__ = ["PEAK_SOURCES", "SHORT_LAUNCH_NS", "PeakRates", "peak_rates"]

PEAK_SOURCES = ("report", "attributes", "architecture", "data_sheet")
"""Names of the sources; `PeakRates.source` holds indices into it, -1 where nothing is known."""

_MOST_SMS = 100_000

SHORT_LAUNCH_NS = 20_000.0
"""[ns] Below it the measured DRAM clock is noise: it is the quotient of two small counts."""

_SASS = "sm__sass_thread_inst_executed_op_{}_pred_on.sum.peak_sustained"
# A fused multiply-add is two operations; hfma works on two lanes. One instruction per thread.
_CUDA_CORE_PEAKS = {
    "fp64": (_SASS.format("dfma"), 2.0),
    "fp32": (_SASS.format("ffma"), 2.0),
    "fp16": (_SASS.format("hfma"), 4.0),
}
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
    sm_clock_hz: NDArray[np.float64]
    boost_clock_hz: NDArray[np.float64]
    is_partition: NDArray[np.bool_]


class _Device(NamedTuple):
    """One kind of device in a report."""

    compute_capability: str
    name: str | None
    sm_count: int | None
    product: Product | None

    def rate(self, resource: str) -> float | None:
        product_class = product_class_of(self.name, self.sm_count)
        return rate_of(self.compute_capability, resource, product_class)


class _Devices(NamedTuple):
    """The devices of a report, and for each launch an index into them."""

    kinds: list[_Device]
    code: NDArray[np.intp]

    @property
    def is_partition(self) -> NDArray[np.bool_]:
        """Say of each launch whether it ran on a part of a GPU."""
        are = [is_partition(device.name, device.sm_count) for device in self.kinds]
        return np.array(are, dtype=bool)[self.code]

    def spread(self, of_device: Callable[[_Device], float | None]) -> NDArray[np.float64]:
        """Return one value per launch from one per device, NaN where there is none."""
        values = [of_device(device) for device in self.kinds]
        known = [np.nan if value is None else float(value) for value in values]
        return np.array(known, dtype=np.float64)[self.code]


def peak_rates(report: Report, resources: Iterable[str]) -> PeakRates:
    """Find the peak rate of resources for every launch of a report.

    Parameters
    ----------
    report
        The report.
    resources
        Names such as ``fp32``, ``tensor_bf16``, ``l1``, ``l2`` and ``dram``.

    Returns
    -------
    PeakRates
        With exactly these resources.
    """
    launches, store = report.launches, report.store
    devices = _devices(report)
    sm_clock = number_column(launches, "sm_clock_hz")
    boost = first_known(
        metric(store, "device__attribute_clock_rate") * 1e3, devices.spread(_boost_hz)
    )
    clocks = _Clocks(sm_clock, boost)
    rate: dict[str, NDArray[np.float64]] = {}
    lowest: dict[str, NDArray[np.float64]] = {}
    source: dict[str, NDArray[np.int8]] = {}
    for resource in resources:
        if resource == "dram":
            candidates = _exactly(_dram_peaks(report, devices))
        elif resource == "l2":
            candidates = _exactly({"architecture": _l2_peak(report, devices)})
        else:
            per_cycle = _sm_peaks_per_cycle(store, devices, resource)
            candidates = _at_clocks(per_cycle, clocks)
        rate[resource], lowest[resource], source[resource] = _choose(candidates, len(report))
    return PeakRates(rate, lowest, source, sm_clock, boost, devices.is_partition)


class _Clocks(NamedTuple):
    """SM clock of each launch and highest SM clock of its device [Hz]."""

    measured: NDArray[np.float64]
    boost: NDArray[np.float64]


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


def _devices(report: Report) -> _Devices:
    launches = report.launches
    cc_code, cc_texts = text_column(launches, "compute_capability")
    name_code, name_texts = text_column(launches, "device_name")
    sm_count = first_known(
        number_column(launches, "sm_count"),
        metric(report.store, "device__attribute_multiprocessor_count"),
    )
    # A number of SMs that cannot be is not known.
    counts = np.where(sm_count < _MOST_SMS, sm_count, 0.0).astype(np.intp)
    keys = np.stack([cc_code, name_code, counts])
    distinct, code = np.unique(keys, axis=1, return_inverse=True)
    kinds = [
        _device(cc_texts[cc], name_texts[name], count or None)
        for cc, name, count in distinct.T.tolist()
    ]
    return _Devices(kinds, code.reshape(-1))


def _device(compute_capability: str | None, name: str | None, sm_count: int | None) -> _Device:
    product = product_of(name, sm_count)
    return _Device(compute_capability or "", name, sm_count, product)


def _boost_hz(device: _Device) -> float | None:
    mhz = device.product.boost_mhz if device.product else None
    return None if mhz is None else mhz * 1e6


def _sm_count(device: _Device) -> float | None:
    return device.sm_count or (device.product.sm_count if device.product else None)


def _bandwidth(device: _Device) -> float | None:
    bandwidth = device.product.bandwidth_gb_per_s if device.product else None
    return None if bandwidth is None else bandwidth * 1e9


def _sm_peaks_per_cycle(
    store: MetricStore, devices: _Devices, resource: str
) -> dict[str, TensorPeak]:
    """Peaks of a part of the SM [operations or bytes per SM cycle, whole GPU], by source."""
    attribute = devices.spread(lambda device: device.sm_count)
    counts = {"architecture": attribute, "data_sheet": devices.spread(_sm_count)}

    def rate(name: str, source: str) -> NDArray[np.float64]:
        return devices.spread(lambda device: device.rate(name)) * counts[source]

    if not resource.startswith("tensor_"):
        rates = {source: rate(resource, source) for source in counts}
        return _exactly({"report": _stored_core_peak(store, resource), **rates})
    names = [device.compute_capability for device in devices.kinds]
    nothing = np.full(store.launch_count, np.nan)
    return {
        "report": tensor_peak(store, resource, devices.code, names, lambda _: nothing),
        **{
            source: tensor_peak(store, resource, devices.code, names, partial(rate, source=source))
            for source in counts
        },
    }


def _stored_core_peak(store: MetricStore, resource: str) -> NDArray[np.float64]:
    """Peak on CUDA cores that the report itself stores; NaN where it does not."""
    if resource not in _CUDA_CORE_PEAKS:
        return np.full(store.launch_count, np.nan)
    name, factor = _CUDA_CORE_PEAKS[resource]
    derived = _DERIVED_PEAKS.get(resource)
    value = metric(store, name) * factor
    return value if derived is None else first_known(value, metric(store, derived))


def _l2_peak(report: Report, devices: _Devices) -> NDArray[np.float64]:
    per_slice = devices.spread(lambda device: device.rate("l2"))
    return per_slice * _l2_slices(report) * number_column(report.launches, "l2_clock_hz")


def _l2_slices(report: Report) -> NDArray[np.float64]:
    store = report.store
    return first_known(
        metric(store, "device__attribute_l2s_count"),
        metric(store, "device__attribute_fbp_count")
        * metric(store, "device__attribute_num_l2s_per_fbp"),
    )


def _dram_peaks(report: Report, devices: _Devices) -> dict[str, NDArray[np.float64]]:
    """Peaks of DRAM: measured roof, never above that of the attributes; attributes; data sheet.

    ``dram__bytes.sum.peak_sustained`` x ``dram__cycles_elapsed.avg.per_second`` equals the roof of
    the attributes on HBM parts and is up to 5 % lower on GeForce, which lowers its memory clock
    for compute. Above it, or in launches shorter than `SHORT_LAUNCH_NS`, it is an artefact.
    """
    launches, store = report.launches, report.store
    is_unified = devices.spread(lambda one: one.compute_capability in UNIFIED_MEMORY) > 0
    is_unified |= metric(store, "device__attribute_integrated") == 1
    measured = metric(store, "dram__bytes.sum.peak_sustained") * number_column(
        launches, "dram_clock_hz"
    )
    # A DDR bus moves two bits per wire and clock; the attributes are in kHz and bit.
    attributes = (
        2.0
        * metric(store, "device__attribute_memory_clock_rate")
        * 1e3
        * metric(store, "device__attribute_global_memory_bus_width")
        / 8.0
    )
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
