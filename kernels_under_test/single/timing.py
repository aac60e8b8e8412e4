"""Times of a kernel: by CUDA events on a GPU, by the clock of the host on a CPU."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Timing", "time_kernel"]

_LEAST_S = 0.002
"""[s] A measurement lasts at least so long: shorter ones show the launch, not the kernel."""
_LEAST_MEASUREMENTS = 5


class Timing(NamedTuple):
    """Times of one launch, from several measurements of many.

    Parameters
    ----------
    median_ns, best_ns
        [ns] Of a launch.
    spread_pct
        [%] Of the median: distance between the first and the third quartile of the measurements.
    measurement_count, launch_count
        Measurements, and launches in each.
    """

    median_ns: float
    best_ns: float
    spread_pct: float
    measurement_count: int
    launch_count: int


def time_kernel(torch: Any, run: Callable[[], Any], device: Any, *, seconds: float = 1.0) -> Timing:
    """Time a kernel, after a warm-up that takes a fifth of the time.

    Parameters
    ----------
    torch
        PyTorch.
    run
        Launches it once.
    device
        Where it runs.
    seconds
        [s] About how long to measure.
    """
    is_cuda = torch.device(device).type == "cuda"

    def measured_ns(count: int) -> float:
        if not is_cuda:
            begin = time.perf_counter_ns()
            for _ in range(count):
                run()
            return (time.perf_counter_ns() - begin) / count
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(count):
            run()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) * 1e6 / count  # from ms

    with torch.no_grad():
        measured_ns(1)
        once_ns = measured_ns(3)
        count = max(1, round(_LEAST_S * 1e9 / max(once_ns, 1)))
        per_measurement_s = max(count * once_ns * 1e-9, 1e-9)
        warm_up = max(1, round(0.2 * seconds / per_measurement_s))
        for _ in range(min(warm_up, 1000)):
            measured_ns(count)
        number = min(max(_LEAST_MEASUREMENTS, round(seconds / per_measurement_s)), 1000)
        times = sorted(measured_ns(count) for _ in range(number))
    median = statistics.median(times)
    low, _, high = statistics.quantiles(times, n=4)
    return Timing(median, times[0], 100 * (high - low) / median, number, count)
