"""Tensor peaks for the instructions, accumulators and sparsity that a launch really used.

One data type has several peaks. On Hopper ``mma.sync`` (hmma, imma) reaches two thirds of ``wgmma``
(hgmma, igmma); on data-centre Blackwell its rate beside ``tcgen05`` is not known; on GeForce cards
an fp32 accumulator halves the rate; 2:4 sparsity doubles it. The peak of a launch is that of its
own mix: the work divided by the time that its parts need at their own peaks. Where the report does
not divide the work, the peak lies between those of the fastest and the slowest way to do it. The
counters are those of `nsightlens.metrics.tensor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.devices.columns import first_known, metric
from nsightlens.metrics.tensor import TENSOR_PATHS, TensorPath

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore

__all__ = ["MMA_SYNC_SHARE", "TensorPeak", "resource_of_column", "tensor_peak"]

MMA_SYNC_SHARE = 2.0 / 3.0
"""Peak of ``mma.sync`` over that of ``wgmma`` on Hopper, from the peaks that ncu stores."""

_SPARSE = 2.0


class TensorPeak(NamedTuple):
    """Peak of one data type [op per SM cycle, whole GPU], one value per launch.

    ``fastest`` and ``slowest`` are equal where the report says how the work was done. ``fastest``
    is NaN where it is unknown, ``slowest`` zero where nothing bounds it.
    """

    fastest: NDArray[np.float64]
    slowest: NDArray[np.float64]


class _Counters(NamedTuple):
    """Counted work of a report, and the peaks that it stores beside it."""

    store: MetricStore
    has_peaks: bool

    def work(self, name: str) -> NDArray[np.float64]:
        """[op] NaN where a launch has none."""
        return metric(self.store, f"{name}.sum")

    def peak(self, name: str) -> NDArray[np.float64]:
        """[op/cycle] NaN where a launch has none."""
        if not self.has_peaks:
            return np.full(self.store.launch_count, np.nan)
        return metric(self.store, f"{name}.sum.peak_sustained")


class _Part(NamedTuple):
    """Work of one counter [op] and its peaks [op/cycle], NaN where unknown."""

    work: NDArray[np.float64]
    fastest: NDArray[np.float64]
    slowest: NDArray[np.float64]


def resource_of_column(column: str) -> str:
    """Return the resource of a work column: ``tensor_bf16_flop_count`` is ``tensor_bf16``."""
    return column.removesuffix("_flop_count").removesuffix("_op_count")


def tensor_peak(
    store: MetricStore,
    resource: str,
    device: NDArray[np.intp],
    compute_capability: Sequence[str],
    rate: Callable[[str], NDArray[np.float64]],
    *,
    has_peaks: bool = True,
) -> TensorPeak:
    """Find the peak of a data type: what the report stores, else the rate of the architecture.

    Parameters
    ----------
    store
        Raw metrics of the launches.
    resource
        Such as ``tensor_fp16``.
    device
        For each launch an index into ``compute_capability``. Shape (launches,).
    compute_capability
        Compute capability of each device.
    rate
        Gives the dense rate of a resource [op per SM cycle, whole GPU] for parts whose peak the
        report does not store; NaN where unknown. Shape (launches,).
    has_peaks
        The peaks that the report stores count; not so where they are those of another device.
    """
    counters = _Counters(store, has_peaks)
    dense = rate(resource)
    # Without counters of its own a type has one rate.
    fastest, slowest = dense, np.nan_to_num(dense)
    for path in TENSOR_PATHS:
        if resource_of_column(path.column) != resource:
            continue
        has_path = np.array([cc in path.compute_capabilities for cc in compute_capability], bool)
        if has_path.any() and _is_present(store, path):
            peak = _mix(_parts(counters, path, rate), _reference(counters, path, dense))
            is_here = has_path[device]
            fastest = np.where(is_here, peak.fastest, fastest)
            slowest = np.where(is_here, peak.slowest, slowest)
    return TensorPeak(fastest, slowest)


def _is_present(store: MetricStore, path: TensorPath) -> bool:
    """Say whether the report holds work or peaks of a path at all."""
    bases = (*path.bases, *(base for one in path.instructions for base in one.bases))
    return any(
        f"{base}{state}.sum{what}" in store.index_of
        for base in bases
        for state in ("", "_sparsity_off", "_sparsity_on")
        for what in ("", ".peak_sustained")
    )


def _mix(parts: list[_Part], unused: NDArray[np.float64]) -> TensorPeak:
    """Return the peak of the mix of parts; where no work was counted, that of ``unused``."""
    work = np.array([np.nan_to_num(part.work) for part in parts])
    total = work.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed = [
            total / np.where(work > 0, work / np.array(peaks), 0.0).sum(axis=0)
            for peaks in ([part.fastest for part in parts], [part.slowest for part in parts])
        ]
    has_work = total > 0
    return TensorPeak(
        np.where(has_work, mixed[0], unused), np.nan_to_num(np.where(has_work, mixed[1], unused))
    )


def _parts(
    counters: _Counters, path: TensorPath, rate: Callable[[str], NDArray[np.float64]]
) -> list[_Part]:
    """Return the work of a path: by instruction where the launch has all of them, else by source.

    Counters of both kinds hold the same work, so that only one kind has some in each launch.
    """
    resource = resource_of_column(path.column)
    split: list[_Part] = []
    for position, instruction in enumerate(path.instructions):
        for base in instruction.bases:
            fast, slow = (r * _share(path, position) for r in _rates(rate, resource, base))
            # The first, fastest instruction has the peak of the total where it has none of its own.
            total = _dense_total_peak(counters, path) * _share(path, position)
            stored = first_known(_dense_peak(counters, base, instruction.has_sparsity), total)
            split += _by_sparsity(
                counters, base, first_known(stored, fast), first_known(stored, slow)
            )
    whole: list[_Part] = []
    for base in path.bases:
        fast, slow = _rates(rate, resource, base)
        stored = _dense_peak(counters, base, path.has_sparsity)
        if path.is_total_peak_sparse:
            stored = _dense_total_peak(counters, path)
        fast = first_known(stored, fast)
        slow = np.fmin(fast, slow) * _share(path, max(0, len(path.instructions) - 1))
        whole += _by_sparsity(counters, base, fast, slow)
    is_split = np.any([part.work > 0 for part in split], axis=0) if split else np.False_
    return [
        *(part._replace(work=np.where(is_split, part.work, 0.0)) for part in split),
        *(part._replace(work=np.where(is_split, 0.0, part.work)) for part in whole),
    ]


def _share(path: TensorPath, position: int) -> float:
    """Rate of an instruction over that of the first, which is the fastest; NaN where unknown."""
    return 1.0 if position == 0 else MMA_SYNC_SHARE if path.is_total_peak_sparse else np.nan


def _rates(
    rate: Callable[[str], NDArray[np.float64]], resource: str, base: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rate with the fastest and the slowest accumulator that a counter includes."""
    if resource not in ("tensor_fp16", "tensor_fp8"):
        return rate(resource), rate(resource)
    if base.endswith("dst_fp32"):
        # Where block scales make a difference, no counter tells whether there were any.
        return first_known(rate(f"{resource}_scaled"), rate(resource)), rate(resource)
    fp16 = rate(f"{resource}_acc16")
    return (fp16, fp16) if base.endswith("dst_fp16") else (fp16, rate(resource))


def _by_sparsity(
    counters: _Counters, base: str, fastest: NDArray[np.float64], slowest: NDArray[np.float64]
) -> list[_Part]:
    """Divide the work of a counter into dense and 2:4 sparse; undivided work is taken as dense."""
    dense = counters.work(f"{base}_sparsity_off")
    sparse = counters.work(f"{base}_sparsity_on")
    dense = np.where(np.isnan(dense), counters.work(base) - np.nan_to_num(sparse), dense)
    stored = counters.peak(f"{base}_sparsity_on")
    return [
        _Part(dense, fastest, slowest),
        _Part(sparse, *(first_known(stored, _SPARSE * peak) for peak in (fastest, slowest))),
    ]


def _reference(
    counters: _Counters, path: TensorPath, rate: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Peak that stands for a type of which a launch did nothing: fastest, fp32 accumulator."""
    total = _dense_total_peak(counters, path)
    if path.instructions:
        first = path.instructions[0]
        total = first_known(_dense_peak(counters, first.bases[-1], first.has_sparsity), total)
    return first_known(total, rate)


def _dense_total_peak(counters: _Counters, path: TensorPath) -> NDArray[np.float64]:
    factor = 1.0 / _SPARSE if path.is_total_peak_sparse else 1.0
    base = path.bases[-1]
    off = counters.peak(f"{base}_sparsity_off")
    return first_known(off, counters.peak(base) * factor)


def _dense_peak(counters: _Counters, base: str, has_sparsity: bool) -> NDArray[np.float64]:
    suffix = "_sparsity_off" if has_sparsity else ""
    return counters.peak(f"{base}{suffix}")
