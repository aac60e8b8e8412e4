"""One rule of a gate: which launches it is about, what is checked and what is allowed."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from nsightlens import tables
from nsightlens.comparison.gate_words import limit_words

__all__ = [
    "AGGREGATES", "BY", "CHANGES", "EXPECTED", "LIMITS", "MISSING", "PHASES", "GateRule",
    "metric_units",
]  # fmt: skip

BY = ("launch", "kernel", "family")
AGGREGATES = ("each", "max", "min", "mean", "sum")
MISSING = ("fail", "ignore")
PHASES = ("prefill", "decode", "mixed", "capture")
EXPECTED: dict[str, tuple[str, ...]] = {
    "bound": ("memory", "compute", "unknown"),
    "roofline_bound": ("memory", "compute", "unknown"),
    "regime": ("saturated", "latency", "small_grid", "balanced", "unknown"),
    "evidence": ("counters", "throughput", "analytic", "none"),
    "confidence": ("high", "medium", "low", "none"),
}
"""What may be expected of a label, and the values that it has."""
CHANGES = ("max_increase_pct", "max_decrease_pct")
LIMITS = ("max", "min")
_ADDS_UP = frozenset(["ns", "B", "FLOP", "op", "inst"])
_COUNTED = frozenset(["launch_count", "failed_launch_count"])
_NO_METRIC = frozenset(["launch_id", "process_id", "device_id", "context_id", "stream_id",
                        "thread_id", "api_call_id", "step_index"])  # fmt: skip


class GateRule(NamedTuple):
    """One rule.

    Parameters
    ----------
    name
        What results call it.
    metric
        The column that is checked.
    unit
        Its unit.
    by
        What a value belongs to: ``launch``, ``kernel`` or ``family``.
    families, kernel, phases, batch_sizes, nvtx
        The launches that it is about; empty, or "" for ``kernel``, for all of them.
    aggregate
        What becomes of the values of a rule; ``each`` checks them one by one.
    most, least
        Limits in ``unit``; None for none.
    increase_pct, decrease_pct
        [%] Limits of the change against the base; None for none.
    expected
        Allowed values, of a metric that is a word.
    missing
        ``fail`` or ``ignore``: what a value that is not known stands for.
    """

    name: str
    metric: str
    unit: str = ""
    by: str = "launch"
    families: tuple[str, ...] = ()
    kernel: str = ""
    phases: tuple[str, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    nvtx: tuple[str, ...] = ()
    aggregate: str = "each"
    most: float | None = None
    least: float | None = None
    increase_pct: float | None = None
    decrease_pct: float | None = None
    expected: tuple[str, ...] = ()
    missing: str = "fail"

    @property
    def is_change(self) -> bool:
        """Whether it needs a base."""
        return self.increase_pct is not None or self.decrease_pct is not None

    @property
    def adds_up(self) -> bool:
        """Whether the values of launches add up to that of a group."""
        return self.unit in _ADDS_UP or self.metric in _COUNTED

    @property
    def scope(self) -> str:
        """The launches that it is about, in words; "" for all of them."""
        said = {
            "family": self.families,
            "kernel": (self.kernel,) if self.kernel else (),
            "phase": self.phases,
            "batch size": tuple(map(str, self.batch_sizes)),
            "nvtx": self.nvtx,
        }
        return ", ".join(f"{name} {' or '.join(values)}" for name, values in said.items() if values)

    @property
    def limit(self) -> str:
        """What is allowed, in words."""
        said = []
        if self.least is not None:
            said.append(f"at least {limit_words(self.least, self.unit)}")
        if self.most is not None:
            said.append(f"at most {limit_words(self.most, self.unit)}")
        if self.increase_pct is not None:
            said.append(f"at most {limit_words(self.increase_pct, '%')} more")
        if self.decrease_pct is not None:
            said.append(f"at most {limit_words(self.decrease_pct, '%')} less")
        return " and ".join(said) or " or ".join(self.expected)


def metric_units(by: str = "launch") -> dict[str, str]:
    """Return every column that a rule may limit, and its unit.

    Examples
    --------
    >>> metric_units()["dram_throughput_pct"], "l2_hit_rate_pct" in metric_units("family")
    ('%', False)
    """
    columns = [*tables.LABELS, *tables.COMPARED, *(tables.LAUNCHES if by == "launch" else ())]
    return {
        column.name: column.unit
        for column in reversed(columns)
        if (pa.types.is_floating(column.type) or pa.types.is_integer(column.type))
        and column.name not in _NO_METRIC
    }
