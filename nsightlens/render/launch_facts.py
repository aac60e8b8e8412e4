"""What one launch is and what was measured of it, as pairs of a heading and a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import facts, numbers
from nsightlens.tables import FLOP_COUNT_COLUMNS
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.analysis.explanation import Explanation

__all__ = ["identity_facts", "measured_facts"]

Pair = tuple[str, str]
_LIMITS = {"shared_mem": "shared memory", "blocks": "blocks per SM"}


def identity_facts(one: Explanation) -> list[Pair]:
    """Return what the launch is, and where it ran."""
    found = [
        ("kernel", _kernel(one)),
        ("step", _step(one)),
        ("launch", _configuration(one.launch)),
        ("GPU", _gpu(one)),
        ("report", _report(one)),
    ]
    return [(label, text) for label, text in found if text]


def _kernel(one: Explanation) -> str:
    label, kernel = one.label, one.kernel
    words = [label["family"], label["subtype"], label["phase"]]
    if kernel is not None:
        words += [
            " x ".join(dict.fromkeys(kernel.dtypes)),
            f"tile {kernel.tile}" if kernel.tile else "",
            f"head {kernel.head_dim}" if kernel.head_dim else "",
            f"library {kernel.library}" if kernel.library else "",
            f"built for {kernel.arch}" if kernel.arch else "",
        ]
    said = ", ".join(word for word in words if word)
    # Labels may follow rules of the user's that this explanation was not given.
    if kernel is not None and kernel.note and kernel.family == label["family"] == "other":
        said += f" ({kernel.note})"
    return said


def _step(one: Explanation) -> str:
    parts = [one.label["nvtx_path"] or ""]
    if one.label["batch_size"] is not None:
        parts.append(f"batch {one.label['batch_size']}")
    return ", ".join(part for part in parts if part)


def _configuration(launch: dict[str, Any]) -> str:
    grid, block = (_extent(launch, name) for name in ("grid", "block"))
    parts = []
    if grid:
        parts.append(f"grid {grid} = {_count(launch['grid_block_count'], 'block')}")
    if block:
        parts.append(f"block {block} = {_count(launch['block_thread_count'], 'thread')}")
    if launch["registers_per_thread_count"] is not None:
        parts.append(f"{launch['registers_per_thread_count']} registers a thread")
    if launch["shared_memory_per_block_bytes"]:
        shared = format_quantity(launch["shared_memory_per_block_bytes"], "B")
        parts.append(f"{shared} shared memory a block")
    if launch["waves_per_multiprocessor"] is not None:
        parts.append(f"{numbers.significant(launch['waves_per_multiprocessor'])} waves")
    return ", ".join(parts)


def _extent(launch: dict[str, Any], name: str) -> str:
    axes = [launch[f"{name}_{axis}"] for axis in "xyz"]
    return "" if None in axes else ",".join(map(str, axes))


def _count(value: int | None, noun: str) -> str:
    if value is None:
        return numbers.MISSING
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def _gpu(one: Explanation) -> str:
    launch = one.launch
    parts = [launch["device_name"] or "not stated"]
    if launch["compute_capability"]:
        parts.append(f"compute capability {launch['compute_capability']}")
    if launch["sm_count"] is not None:
        parts.append(f"{launch['sm_count']} SMs")
    parts += _clocks(one)
    if launch["is_unsupported_device"]:
        parts.append("not supported by this ncu")
    return ", ".join(parts)


def _clocks(one: Explanation) -> Iterator[str]:
    launch, locked = one.launch, one.launch["is_clock_locked"]
    if locked is None and one.session:
        control = one.session.get("clock_control")
        locked = None if control is None else facts.is_locked(control)
    held = {True: " (held by ncu)", False: " (not held)", None: ""}[locked]
    if launch["sm_clock_hz"] is not None:
        yield f"SM at {format_quantity(launch['sm_clock_hz'], 'Hz')}{held}"
    elif held:
        yield f"clocks{held}"
    if launch["dram_clock_hz"] is not None:
        yield f"DRAM at {format_quantity(launch['dram_clock_hz'], 'Hz')}"


def _report(one: Explanation) -> str:
    parts = [f"{one.label['report']}, launch {one.label['launch_id']}"]
    version = facts.short_version(one.session.get("ncu_version"))
    if version:
        parts.append(f"ncu {version}")
    passes = one.launch["replay_pass_count"]
    if passes is not None:
        parts.append(numbers.counted(passes, "pass", "passes"))
    return ", ".join(parts)


def measured_facts(one: Explanation) -> list[Pair]:
    """Return what was measured; what was not is left out."""
    found = [
        ("time", _time(one.label)),
        ("DRAM", _dram(one.launch)),
        ("work", _work(one)),
        ("caches", _caches(one.launch)),
        ("warps", _warps(one.launch)),
    ]
    return [(label, text) for label, text in found if text]


def _time(label: dict[str, Any]) -> str:
    if label["duration_ns"] is None:
        return ""
    share = label["duration_share_pct"]
    of_all = f", {numbers.whole_percent(share)} of all launches" if share is not None else ""
    return format_quantity(label["duration_ns"], "ns") + (of_all if share != 100 else "")


def _dram(launch: dict[str, Any]) -> str:
    parts = []
    for name in ("read", "write"):
        value = launch[f"dram_{name}_bytes"]
        if value is not None:
            parts.append(f"{format_quantity(value, 'B')} {'read' if name == 'read' else 'written'}")
    if not parts and launch["dram_bytes"] is not None:
        parts.append(format_quantity(launch["dram_bytes"], "B"))
    if launch["dram_bandwidth_bytes_per_s"] is not None:
        parts.append(format_quantity(launch["dram_bandwidth_bytes_per_s"], "B/s"))
    if launch["dram_throughput_pct"] is not None:
        parts.append(f"{numbers.percent(launch['dram_throughput_pct'])} % of peak")
    return ", ".join(parts)


def _work(one: Explanation) -> str:
    parts = []
    for column in FLOP_COUNT_COLUMNS:
        value = one.launch[column]
        if value:
            name, unit = column.rsplit("_", 2)[0], "op" if "_op_" in column else "FLOP"
            words = name.replace("tensor_", "tensor ").upper().replace("TENSOR", "tensor")
            parts.append(f"{words} {format_quantity(value, unit)}")
    intensity = one.label["arithmetic_intensity_flop_per_byte"]
    if intensity:
        parts.append(f"{format_quantity(intensity, 'FLOP/B')} of DRAM")
    padding = one.label["executed_per_useful_flop"]
    if padding is not None:
        parts.append(f"{numbers.significant(padding)} executed for each that the shape needs")
    return ", ".join(parts)


def _caches(launch: dict[str, Any]) -> str:
    parts = [
        f"{level.upper()} hit rate {numbers.percent(launch[f'{level}_hit_rate_pct'])} %"
        for level in ("l1", "l2")
        if launch[f"{level}_hit_rate_pct"] is not None
    ]
    return ", ".join(parts)


def _warps(launch: dict[str, Any]) -> str:
    achieved, theoretical = (
        launch[f"{name}_occupancy_pct"] for name in ("achieved", "theoretical")
    )
    possible = "" if theoretical is None else f"{numbers.percent(theoretical)} % possible"
    reached = "" if achieved is None else f"{numbers.percent(achieved)} %"
    both = " of ".join(text for text in (reached, possible) if text)
    parts = [f"occupancy {both}{_limit(launch)}"] if both else []
    if launch["eligible_warps_per_scheduler"] is not None:
        eligible = numbers.significant(launch["eligible_warps_per_scheduler"])
        parts.append(f"{eligible} warps ready per scheduler")
    if launch["issue_active_pct"] is not None:
        parts.append(f"issue active {numbers.percent(launch['issue_active_pct'])} %")
    return ", ".join(parts)


def _limit(launch: dict[str, Any]) -> str:
    limiter = launch["occupancy_limiter"]
    if limiter in (None, "none"):
        return ""
    names = [_LIMITS.get(name, name) for name in limiter.split("+")]
    return f" (limit: {' and '.join(names)})"
