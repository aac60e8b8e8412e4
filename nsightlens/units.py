"""Units: what a raw metric is measured in, by its name, and how a number is said to a person.

Reports store values in base units and do not store the units themselves; NVIDIA's tools look them
up in a library, whose answers depend on which report was opened first. `unit_of` reads the name
instead: its base (what is counted), then its suffix (per second, per cycle, percent of peak).
`format_quantity` is for people only; machines get plain numbers.

The words: ``ns``, ``B``, ``%``, ``cycle``, ``Hz``, ``inst``, ``warp``, ``thread``, ``block``,
``sector``, ``request``, ``wavefront``, ``sample``, ``op``, quotients of them such as ``B/s``, and
``""`` for a number that has none.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache

__all__ = ["format_quantity", "unit_of"]

# What a whole name means, where no pattern below tells.
_BY_NAME = {
    "device__attribute_clock_rate": "kHz",
    "device__attribute_memory_clock_rate": "kHz",
    "device__attribute_max_gpu_frequency_khz": "kHz",
    "device__attribute_max_mem_frequency_khz": "kHz",
    "device__attribute_global_memory_bus_width": "bit",
    "device__attribute_fb_bus_width": "bit",
    "device__attribute_l2_cache_size": "B",
    "device__attribute_total_memory": "B",
    "device__attribute_multiprocessor_count": "SM",
    "device__attribute_max_warps_per_multiprocessor": "warp",
    "launch__thread_count": "thread",
    "launch__stack_size": "B",
    "launch__sm_count": "SM",
    "launch__shared_mem_config_size": "B",
    "launch__cluster_max_active": "cluster",
    "launch__waves_per_multiprocessor": "",
    "smsp__pcsamp_interval": "",
    "smsp__pcsamp_interval_cycles": "cycle",
    "smsp__pcsamp_sample_count": "sample",
    "derived__avg_thread_executed": "thread",
    "derived__avg_thread_executed_true": "thread",
    "smsp__branch_targets_threads_divergent": "branch",
}  # fmt: skip

# What the base of a name counts: the first pattern found in it decides.
_BY_BASE = (
    (r"(^|__|_)pct($|_)|_(hit|success)_rate$|throughput", "%"),
    (r"^launch__(grid|cluster)_(size|dim)|^launch__occupancy_limit", "block"),
    (r"^launch__cluster_max_potential", "block"),
    (r"^launch__block_(size|dim)", "thread"),
    (r"^launch__registers", "register/thread"),
    (r"^launch__shared_mem", "B/block"),
    (r"^launch__occupancy_per_|_achieved_rate$", ""),
    (r"^launch__(context|stream|device)_id$", ""),
    (r"data_bytes_per_sector", "B/sector"),
    (r"average_warps_issue_stalled|average_warp_latency|warps_active_per_inst", "cycle"),
    (r"per_inst_executed$", "thread"),
    (r"pcsamp_warps_issue_stalled|_samples$", "sample"),
    (r"(^|_)bytes(_|$)", "B"),
    (r"sectors|^fbpa__dram_", "sector"),
    (r"wavefronts|bank_conflicts", "wavefront"),
    (r"_requests(_|$)", "request"),
    (r"ops_path_tensor", "op"),
    (r"branch_targets", "branch"),
    # NVIDIA's sections derive these from a rate per cycle.
    (r"^derived__.*_pred_on_x2$", "inst/cycle"),
    (r"inst(ructions)?_?(executed|issued)|sass_thread_inst|_inst0$", "inst"),
    (r"(maximum_)?warps_(active|eligible|launched|avg)", "warp"),
    (r"ctas_launched", "block"),
    (r"(replayer|aggregated)_passes|_pass_groups", "pass"),
    (r"time_duration|interval_time", "ns"),
    (r"cycles?_|_cycles|(writeback|issue|bank)_(active|reads|writes)|_realtime$", "cycle"),
)

_PER_CYCLE = re.compile(r"(^|\.)(peak_sustained|per_cycle_\w+)$")
_PERCENT = re.compile(r"(^|\.)pct(_|$)")
_PREFIX = re.compile(r"^(pmsampling|breakdown):")
# Stored under the text of a request, which names no metric.
_REQUEST = ("regex:", "group:")


@cache
def _by_base() -> list[tuple[re.Pattern[str], str]]:
    # Compiled when first asked for: a classification asks for no unit.
    return [(re.compile(pattern), unit) for pattern, unit in _BY_BASE]


@lru_cache(maxsize=8192)
def unit_of(metric: str) -> str | None:
    """Return the unit of a metric, or ``None`` where its name does not tell.

    Parameters
    ----------
    metric
        Name of a raw metric, as ncu stores it.

    Returns
    -------
    str or None
        ``""`` for a number that has no unit.

    Examples
    --------
    >>> unit_of("dram__bytes_read.sum.per_second")
    'B/s'
    >>> unit_of("smsp__cycles_elapsed.avg.per_second")
    'Hz'
    >>> unit_of("numa__cpu_affinity") is None
    True
    """
    if metric.startswith(_REQUEST):
        return None
    name = _PREFIX.sub("", metric)
    base, _, rollup = name.partition(".")
    if _PERCENT.search(rollup):
        return "%"
    counted = _BY_NAME.get(base) if base in _BY_NAME else _counted_by(base)
    if counted is None or not rollup:
        return counted
    if rollup.endswith("per_second"):
        return "Hz" if counted == "cycle" else f"{counted}/s"
    if _PER_CYCLE.search(rollup):
        # A counter of active warps adds up warps over cycles, so that per cycle it is warps;
        # cycles per cycle are a bare fraction.
        return {"warp": "warp", "cycle": ""}.get(counted, f"{counted}/cycle")
    return counted


@lru_cache(maxsize=8192)
def _counted_by(base: str) -> str | None:
    return next((unit for pattern, unit in _by_base() if pattern.search(base)), None)


_SCALED = {"B", "B/s", "FLOP", "FLOP/s", "op", "op/s", "Hz"}
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_TIMES = ("ns", "us", "ms", "s")


def format_quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """Say a number to a person: three significant digits and a scaled unit.

    Never for machines: what it leaves out cannot be read back.

    Parameters
    ----------
    value
        The number in ``unit``; ``None`` and NaN are missing.
    unit
        A unit of this module. Times, bytes, operations and frequencies are scaled.
    digits
        Significant digits, at least 3.

    Examples
    --------
    >>> format_quantity(1_240_000, "ns"), format_quantity(3.35e12, "B/s")
    ('1.24 ms', '3.35 TB/s')
    >>> format_quantity(87.52, "%"), format_quantity(None, "B"), format_quantity(132, "SM")
    ('87.5 %', '-', '132 SM')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        text, scaled_unit = ("inf" if value > 0 else "-inf"), unit
    elif unit == "%":
        # What is rounded to zero has no minus.
        decimals = digits - 2
        text, scaled_unit = f"{round(value, decimals) + 0.0:.{decimals}f}", unit
    elif unit == "ns":
        text, scaled_unit = _scale(value, _TIMES, digits)
    elif unit in _SCALED:
        text, prefix = _scale(value, _PREFIXES, digits)
        scaled_unit = prefix + unit
    else:
        text, scaled_unit = _digits(value, digits), "" if unit == "1" else unit
    return f"{text} {scaled_unit}".rstrip()


def _scale(value: float, steps: tuple[str, ...], digits: int) -> tuple[str, str]:
    """Divide by 1000 until the number, as it will be shown, has at most three digits."""
    index = 0
    # 999.5 would be shown as 1000: it belongs to the next step.
    while abs(value) >= 999.5 and index + 1 < len(steps):
        value /= 1000
        index += 1
    return _digits(value, digits), steps[index]


def _digits(value: float, digits: int) -> str:
    """Show significant digits, all digits of a large whole number, and no trailing zeros."""
    if value == 0:
        return "0"
    if abs(value) >= 999.5:
        text = f"{value:,.{max(0, digits - 4)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits}g}"
