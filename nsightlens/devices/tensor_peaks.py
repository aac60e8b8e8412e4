"""Dense tensor peaks that a report stores, for the instructions that a launch really used.

On Hopper one data type has two dense peaks: ``mma.sync`` (hmma, imma) reaches two thirds of
``wgmma`` (hgmma, igmma), and the peak of the undivided counter is that of sparse matrices. The peak
of a launch is therefore that of its own mix: the work divided by the time that its parts need at
their own peaks. The counters are those of `nsightlens.metrics.tensor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.devices.columns import first_known, metric
from nsightlens.metrics.tensor import TENSOR_PATHS, TensorPath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.report import MetricStore

__all__ = ["MMA_SYNC_SHARE", "resource_of_column", "tensor_peaks_per_cycle"]

MMA_SYNC_SHARE = 2.0 / 3.0
"""Peak of ``mma.sync`` over that of ``wgmma`` on Hopper, from the peaks that ncu stores."""


def resource_of_column(column: str) -> str:
    """Return the resource of a work column: ``tensor_bf16_flop_count`` is ``tensor_bf16``."""
    return column.removesuffix("_flop_count").removesuffix("_op_count")


def tensor_peaks_per_cycle(
    store: MetricStore, device: NDArray[np.intp], compute_capability: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Find the dense tensor peaks that the report stores.

    Parameters
    ----------
    store
        Raw metrics of the launches.
    device
        For each launch an index into ``compute_capability``. Shape (launches,).
    compute_capability
        Compute capability of each device.

    Returns
    -------
    dict
        By resource: [op per SM cycle, whole GPU] NaN where the report stores no peak. Each of
        shape (launches,). Resources without any stored peak are left out.
    """
    peaks: dict[str, NDArray[np.float64]] = {}
    for path in TENSOR_PATHS:
        has_path = np.array([cc in path.compute_capabilities for cc in compute_capability], bool)
        if not has_path.any() or not _is_stored(store, path):
            continue
        found = np.where(has_path[device], _path_peak(store, path), np.nan)
        resource = resource_of_column(path.column)
        peaks[resource] = first_known(peaks[resource], found) if resource in peaks else found
    return peaks


def _is_stored(store: MetricStore, path: TensorPath) -> bool:
    bases = [*path.bases, *(base for one in path.instructions for base in one.bases)]
    return any(
        f"{base}{suffix}.sum.peak_sustained" in store.index_of
        for base in bases
        for suffix in ("", "_sparsity_off")
    )


def _path_peak(store: MetricStore, path: TensorPath) -> NDArray[np.float64]:
    """Peak of the mix of a launch; where the mix is not known, that of the fastest part."""
    parts = _parts(store, path)
    work = np.array([work for work, _ in parts])
    peak = np.array([peak for _, peak in parts])
    fastest = np.where(np.isnan(peak), -np.inf, peak).max(axis=0)
    fastest = np.where(np.isfinite(fastest), fastest, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        cycles = np.where(work > 0, work / peak, 0.0).sum(axis=0)
    total = np.where(work > 0, work, 0.0).sum(axis=0)
    return np.where((total > 0) & (cycles > 0), total / np.where(cycles > 0, cycles, 1.0), fastest)


def _parts(
    store: MetricStore, path: TensorPath
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Work and dense peak of each part of a path that has its own peak."""
    total_peak = _dense_total_peak(store, path)
    if not path.instructions:
        return [
            (
                _work(store, base),
                first_known(_dense_peak(store, base, path.has_sparsity), total_peak),
            )
            for base in path.bases
        ]
    parts = []
    for position, instruction in enumerate(path.instructions):
        # Without a stored peak of its own, the first (fastest) part has the dense peak of the
        # total, and mma.sync its known share of that on Hopper.
        share = 1.0 if position == 0 else MMA_SYNC_SHARE if path.is_total_peak_sparse else np.nan
        parts += [
            (
                _work(store, base),
                first_known(_dense_peak(store, base, instruction.has_sparsity), total_peak * share),
            )
            for base in instruction.bases
        ]
    return parts


def _dense_total_peak(store: MetricStore, path: TensorPath) -> NDArray[np.float64]:
    factor = 0.5 if path.is_total_peak_sparse else 1.0
    base = path.bases[-1]
    off = metric(store, f"{base}_sparsity_off.sum.peak_sustained")
    return first_known(off, metric(store, f"{base}.sum.peak_sustained") * factor)


def _dense_peak(store: MetricStore, base: str, has_sparsity: bool) -> NDArray[np.float64]:
    suffix = "_sparsity_off" if has_sparsity else ""
    return metric(store, f"{base}{suffix}.sum.peak_sustained")


def _work(store: MetricStore, base: str) -> NDArray[np.float64]:
    """Operations of one counter: the total, or the sum of its sparsity pair."""
    pair = metric(store, f"{base}_sparsity_off.sum") + np.nan_to_num(
        metric(store, f"{base}_sparsity_on.sum")
    )
    return first_known(metric(store, f"{base}.sum"), pair)
