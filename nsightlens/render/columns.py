"""Columns of a table of labels, for the eye: heading, cells, importance and a word of explanation.

One entry of `_COLUMNS` per thing that can be shown; `label_columns` builds those that say
something in the table at hand. `importance` is the order in which columns stay when the terminal
is narrow, documented in ``docs/reference/cli.md``.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "IMPORTANCE_ORDER",
    "LEGEND",
    "REGIMES",
    "family_words",
    "gpu_words",
    "in_report_order",
    "kernel_words",
    "label_columns",
    "limiter_words",
]


_COMFORTABLE_NAME = 26
"""[character] A kernel name cut to less than this is often no longer told from its neighbours."""
_VENDOR = "NVIDIA "
"""Stands in front of the name of a GPU since drivers of 2021."""

_RESOURCE_WORDS = {
    "dram": "DRAM",
    "l2": "L2",
    "l1": "L1",
    "xu": "special func.",
    "issue": "issue slots",
}


def limiter_words(resource: str | None) -> str:
    """Return the name of a resource as a person writes it.

    Examples
    --------
    >>> limiter_words("dram"), limiter_words("tensor_fp16"), limiter_words(None)
    ('DRAM', 'tensor fp16', '-')
    """
    if resource is None:
        return numbers.MISSING
    return _RESOURCE_WORDS.get(resource, resource.replace("_", " "))


class _Spec(NamedTuple):
    """How one column is made; ``needs`` are the columns of the table that it reads."""

    name: str
    header: str
    importance: int
    needs: tuple[str, ...]
    cell: Callable[..., str]
    align: Literal["left", "right"] = "left"
    legend: str = ""
    comfortable: int | None = None
    cut: Literal["middle", "end", "name"] = "middle"
    modes: tuple[str, ...] = ("launch", "kernel", "family")


def _text(value: str | None) -> str:
    return numbers.MISSING if value is None else plain(value)


def _limiter(resource: str | None, fraction: float | None) -> str:
    if resource is None or fraction is None or math.isnan(fraction):
        return limiter_words(resource)
    return f"{limiter_words(resource)} {numbers.percent(100 * fraction)}%"


def _whole(value: int | None) -> str:
    return numbers.MISSING if value is None else str(value)


_NO_SUBTYPE = (None, "", "generic", "unknown")
"""Subtypes that say no more than the family."""


def family_words(family: str | None, subtype: str | None) -> str:
    """Return a family with its subtype, where that says more.

    Examples
    --------
    >>> family_words("attention", "mla"), family_words("norm", "generic")
    ('attention/mla', 'norm')
    """
    if family is None:
        return numbers.MISSING
    return plain(f"{family}/{subtype}" if subtype not in _NO_SUBTYPE else family)


def kernel_words(kernel: str | None, kind: str | None) -> str:
    """Return the name of a kernel, or the kind of a result that is none.

    Examples
    --------
    >>> kernel_words("flash_fwd", "kernel"), kernel_words(None, "range"), kernel_words(" ", None)
    ('flash_fwd', '(range)', '" "')
    """
    if kernel is None:
        return numbers.MISSING if kind in (None, "kernel") else f"({plain(kind or '')})"
    text = plain(kernel)
    return text if text.strip() else f'"{text}"'


def gpu_words(name: str | None) -> str:
    """Return the name of a GPU without its vendor, whom only some drivers name.

    Examples
    --------
    >>> gpu_words("NVIDIA A100-PCIE-40GB"), gpu_words("A100-PCIE-40GB"), gpu_words(None)
    ('A100-PCIE-40GB', 'A100-PCIE-40GB', '-')
    """
    return numbers.MISSING if name is None else plain(name).removeprefix(_VENDOR)


_COLUMNS = (
    _Spec("id", "#", 1000, ("launch_id",), _whole, "right", modes=("launch",)),
    _Spec("kernel", "kernel", 1000, ("kernel", "kind"), kernel_words,
          comfortable=_COMFORTABLE_NAME, cut="name", modes=("launch", "kernel")),
    _Spec("family", "family", 85, ("family",), _text, comfortable=11, cut="end",
          modes=("launch", "kernel")),
    _Spec("group", "family", 1000, ("family", "subtype"), family_words, modes=("family",)),
    _Spec("phase", "phase", 25, ("phase",), _text),
    _Spec("batch", "batch", 84, ("batch_size",), _whole, "right",
          legend="sequences in the step"),
    _Spec("gpu", "GPU", 88, ("device_name",), gpu_words, comfortable=12),
    _Spec("device", "device", 87, ("device_id",), _whole, "right",
          legend="number of the GPU in its process", modes=("launch",)),
    _Spec("process", "process", 86, ("process_id",), _whole, "right",
          legend="number of the process in its system", modes=("launch",)),
    _Spec("launches", "launches", 70, ("launch_count",), _whole, "right",
          modes=("kernel", "family")),
    _Spec("time", "time", 90, ("duration_ns",), numbers.duration, "right",
          legend="duration on the GPU under ncu"),
    _Spec("share", "time\n%", 40, ("duration_share_pct",), numbers.percent, "right",
          modes=("kernel", "family")),
    _Spec("bound", "bound", 1000, ("bound",), _text,
          legend="the side, memory or compute, of what limits the launch"),
    _Spec("limiter", "limited by", 95, ("limiter", "limiter_fraction"), _limiter,
          legend="the busiest resource and how much of its peak rate was used"),
    _Spec("dram", "DRAM\n%", 76, ("dram_throughput_pct",), numbers.percent, "right",
          legend="DRAM throughput, percent of peak"),
    _Spec("sm", "SM\n%", 68, ("sm_throughput_pct",), numbers.percent, "right",
          legend="throughput of the busiest part of the SMs, percent of peak"),
    _Spec("stalled", "data\nstall %", 60, ("stalled_for_data_pct",), numbers.percent, "right",
          legend="share of warp time spent waiting for data (stall reason long_scoreboard)"),
    _Spec("occupancy", "occup.\n%", 55, ("achieved_occupancy_pct",), numbers.percent, "right",
          legend="achieved occupancy: warps active, percent of the maximum"),
    _Spec("intensity", "FLOP\nper B", 77, ("arithmetic_intensity_flop_per_byte",),
          numbers.significant, "right",
          legend="arithmetic intensity: operations per DRAM byte"),
    _Spec("ridge", "ridge\npoint", 66, ("ridge_point_flop_per_byte",), numbers.significant,
          "right", legend="intensity from which on peak compute, not DRAM bandwidth, is the roof"),
    _Spec("regime", "regime", 81, ("regime",), _text),
    _Spec("stall", "top stall", 30, ("top_stall",), _text,
          legend="the warp state in which most warp time passes"),
    _Spec("evidence", "evidence", 28, ("evidence",), _text,
          legend="what the label rests on: counters are best"),
    _Spec("confidence", "confidence", 50, ("confidence",), _text,
          legend="how sure the label is"),
)  # fmt: skip

LEGEND = {spec.header: spec.legend for spec in _COLUMNS if spec.legend}
"""What a heading means, for those that need a word."""

REGIMES = {
    "saturated": "the limiter is busy enough to explain the time",
    "latency": "no resource explains the time: waiting, too few warps or tails do",
    "small_grid": "fewer blocks than fit at once: part of the GPU is idle",
    "balanced": "compute and memory are about equally busy",
    "unknown": "not decided by the metrics of the report",
}
"""What a regime means."""

_ALWAYS_BEST = {"evidence": "counters", "confidence": "high"}
"""Columns that say nothing where every row has the best value."""


def _importance_order() -> tuple[str, ...]:
    # Of two columns of one heading the one of launches counts.
    importance: dict[str, int] = {}
    for spec in _COLUMNS:
        header = " ".join(spec.header.split())
        importance[header] = min(importance.get(header, spec.importance), spec.importance)
    return tuple(sorted(importance, key=lambda header: -importance[header]))


IMPORTANCE_ORDER = _importance_order()
"""Headings, the most important first: where a line is too short the last ones are left out."""


def label_columns(
    rows: Mapping[str, Sequence[Any]], by: str, *, full_names: bool = False
) -> list[GridColumn]:
    """Return the columns that say something about these rows, from left to right.

    Parameters
    ----------
    rows
        Columns of a table of labels (see ``nsightlens.tables.LABELS``) as Python sequences.
    by
        What a row is: ``launch``, ``kernel`` or ``family``.
    full_names
        Show the names with their template arguments.
    """
    if full_names and "kernel_demangled_name" in rows:
        full = [
            long or short
            for long, short in zip(rows["kernel_demangled_name"], rows["kernel"], strict=True)
        ]
        rows = {**rows, "kernel": full}
    return [_grid_column(spec, rows) for spec in _COLUMNS if _says_something(spec, rows, by)]


def _says_something(spec: _Spec, rows: Mapping[str, Sequence[Any]], by: str) -> bool:
    if by not in spec.modes:
        return False
    if spec.importance >= 90:
        return True
    values = rows[spec.needs[0]]
    if spec.name in ("gpu", "device", "process"):
        return _differs(spec, rows, by)
    best = _ALWAYS_BEST.get(spec.name)
    if best is not None:
        return any(value != best for value in values)
    return any(value is not None for value in values)


def _differs(spec: _Spec, rows: Mapping[str, Sequence[Any]], by: str) -> bool:
    """Say whether the rows below one heading, which names a single GPU, are not all of one."""
    cells = [spec.cell(value) for value in rows[spec.needs[0]]]
    # Of a launch whose collection failed it may not be known; that makes no second GPU of it.
    # Launches have a heading per report; groups and sorted launches have one for all.
    has_own = by == "launch" and in_report_order(rows)
    where = rows["report"] if has_own else [None] * len(cells)
    known = {pair for pair in zip(where, cells, strict=True) if pair[1] != numbers.MISSING}
    return len(known) > len({report for report, _ in known})


def in_report_order(rows: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether the rows of each report stand together."""
    runs = [report for report, _ in groupby(rows["report"])]
    return len(runs) == len(set(runs))


def _grid_column(spec: _Spec, rows: Mapping[str, Sequence[Any]]) -> GridColumn:
    inputs = [rows[name] for name in spec.needs]
    cells = [spec.cell(*values) for values in zip(*inputs, strict=True)]
    return GridColumn(
        header=spec.header,
        cells=cells,
        importance=spec.importance,
        align=spec.align,
        comfortable=spec.comfortable,
        cut=spec.cut,
        styles=cells if spec.name == "bound" else None,
    )
