"""Every number of one launch by its name: what advice and explanations may quote.

A name is a column of ``launches`` or ``labels``, a resource with ``_of_peak_pct`` behind it, one of
`DERIVED`, or a raw metric as ncu spells it. What is not measured has no value, and then nothing is
said of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens import tables
from nsightlens.analysis.phrase import percent
from nsightlens.analysis.usage import FLOP_RESOURCES
from nsightlens.devices.rates import rate_of
from nsightlens.metrics.columns import NumberColumns, evaluate_first
from nsightlens.units import format_quantity, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nsightlens.metric_store import MetricStore

__all__ = ["DERIVED", "Number", "Quantities"]

_UNITS = {c.name: c.unit for c in (*tables.LABELS, *tables.LAUNCHES)}
_OF_PEAK = "_of_peak_pct"
_PEAK = "_peak_per_s"
_SPOKEN = frozenset(["%", "B", "B/s", "FLOP", "FLOP/B", "FLOP/s", "Hz", "ns", "op"])
"""Units that stand behind a number in a sentence."""
_LSU = "l1tex__t_{}_pipe_lsu_mem_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
_WRITEBACK = "l1tex__lsu_writeback_active.avg.pct_of_peak_sustained_elapsed"
_REQUESTS = "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed"
_LSU_INSTRUCTIONS = "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed"
_GLOBAL_REQUESTS = " + ".join(
    _LSU.format("requests", f"global_op_{op}") for op in ("ld", "st", "atom", "red")
)


class _Derived(NamedTuple):
    """A number made of raw metrics, by formulas of `nsightlens.metrics.formula`, best first."""

    formulas: tuple[str, ...]
    unit: str


def _share(part: str, whole: str) -> str:
    return f"100 * ({part}) / ({whole})"


def _fused(letter: str) -> _Derived:
    add, mul, fma = (
        f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"
        for op in ("add", "mul", "fma")
    )
    rates = [f"{one}.per_cycle_elapsed" for one in (add, mul, fma)]
    return _Derived(
        (
            _share(f"{add} + {mul}", f"{add} + {mul} + {fma}"),
            _share(f"{rates[0]} + {rates[1]}", " + ".join(rates)),
        ),
        "%",
    )


DERIVED = {
    "sectors_per_load_request": _Derived(
        (f"{_LSU.format('sectors', 'global_op_ld')} / {_LSU.format('requests', 'global_op_ld')}",),
        "sector",
    ),
    "sectors_per_store_request": _Derived(
        (f"{_LSU.format('sectors', 'global_op_st')} / {_LSU.format('requests', 'global_op_st')}",),
        "sector",
    ),
    "excess_sectors_pct": _Derived(
        (
            _share(
                "derived__memory_l2_theoretical_sectors_global_excessive",
                "memory_l2_theoretical_sectors_global",
            ),
            _share(
                "derived__memory_l2_sectors_global_excessive",
                "derived__memory_l2_sectors_global_excessive + memory_l2_sectors_global_ideal",
            ),
        ),
        "%",
    ),
    "bank_conflicts_pct": _Derived(
        (
            _share(
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
            ),
        ),
        "%",
    ),
    "ideal_sector_bytes": _Derived(("32 * memory_l2_theoretical_sectors_global_ideal",), "B"),
    "lsu_wavefronts_pct": _Derived((_WAVEFRONTS,), "%"),
    "lsu_writeback_pct": _Derived((_WRITEBACK,), "%"),
    "wavefronts_per_data_cycle": _Derived((f"{_WAVEFRONTS} / {_WRITEBACK}",), "1"),
    "lsu_requests_pct": _Derived((_REQUESTS, _LSU_INSTRUCTIONS), "%"),
    # Percent over percent: L1 takes a request a cycle at the most, so that this is a lower bound.
    "wavefronts_per_request": _Derived(
        (f"{_WAVEFRONTS} / {_REQUESTS}", f"{_WAVEFRONTS} / {_LSU_INSTRUCTIONS}"), "1"
    ),
    "shared_wavefronts_pct": _Derived(
        (
            _share(
                "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed",
                _WAVEFRONTS,
            ),
        ),
        "%",
    ),
    "sectors_per_l2_request": _Derived(("lts__t_sectors.sum / lts__t_requests.sum",), "sector"),
    "local_load_count": _Derived((_LSU.format("requests", "local_op_ld"),), "request"),
    "local_store_count": _Derived((_LSU.format("requests", "local_op_st"),), "request"),
    "local_memory_pct": _Derived(
        (
            _share(
                f"{_LSU.format('requests', 'local_op_ld')} + "
                f"{_LSU.format('requests', 'local_op_st')}",
                f"{_LSU.format('requests', 'local_op_ld')} + "
                f"{_LSU.format('requests', 'local_op_st')} + {_GLOBAL_REQUESTS}",
            ),
        ),
        "%",
    ),
    "atomics_pct": _Derived(
        (
            _share(
                f"{_LSU.format('requests', 'global_op_atom')} + "
                f"{_LSU.format('requests', 'global_op_red')}",
                _GLOBAL_REQUESTS,
            ),
        ),
        "%",
    ),
    "threads_per_instruction": _Derived(
        ("smsp__thread_inst_executed_per_inst_executed.ratio",), "thread"
    ),
    "unfused_fp32_pct": _fused("f"),
    "unfused_fp64_pct": _fused("d"),
}
"""Numbers that no table has, by name."""


class Number(NamedTuple):
    """A number of a launch: its name, value and unit."""

    name: str
    value: float
    unit: str

    def __str__(self) -> str:
        # What is counted (blocks, threads, warps) is named by the sentence around the number.
        if self.unit == "%":
            text: str = percent(np.array([self.value / 100.0]))[0].as_py()
            return text
        return format_quantity(self.value, self.unit if self.unit in _SPOKEN else "")


class Quantities:
    """The numbers of one launch.

    Parameters
    ----------
    launch, label
        Its rows of ``launches`` and ``labels``.
    resources
        Its rows of ``resources``.
    store
        Its raw metrics: a store of one launch.
    """

    def __init__(
        self,
        launch: Mapping[str, Any],
        label: Mapping[str, Any],
        resources: list[dict[str, Any]],
        store: MetricStore,
    ) -> None:
        self.launch = launch
        self.label = label
        self.resource = {row["resource"]: row for row in resources}
        self._numbers = NumberColumns(store)

    def text(self, name: str) -> str | None:
        """Return a text of the launch or its label, ``None`` where it says nothing."""
        value = self.label.get(name, self.launch.get(name))
        return value if isinstance(value, str) else None

    def busiest_counter(self, resource: str) -> str:
        """Return the counter behind the activity of a resource without its suffix, "" if none."""
        counter = self.resource.get(resource, {}).get("busiest_counter") or ""
        return str(counter).partition(".")[0]

    def value(self, name: str) -> float | None:
        """Return a number, ``None`` where it is not known or is none."""
        value = self._found(name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number and math.isfinite(value) else None

    def __call__(self, name: str) -> float:
        """Return a number, NaN where it is not known: every comparison with it fails."""
        value = self.value(name)
        return math.nan if value is None else value

    def number(self, name: str) -> Number | None:
        """Return a number with its unit, ``None`` where it is not known."""
        value = self.value(name)
        return None if value is None else Number(name, value, self._unit(name))

    def _found(self, name: str) -> Any:
        if name in _COMPUTED:
            return _COMPUTED[name][0](self)
        if name in DERIVED:
            return self._evaluated(DERIVED[name].formulas)
        if name.endswith((_OF_PEAK, _PEAK)):
            # "limiter" stands for the resource that is.
            return self._of_resource(name.replace("limiter", self.text("limiter") or "", 1))
        if name in _UNITS:
            value = self.launch.get(name)
            return self.label.get(name) if value is None else value
        return self._evaluated((name,))

    def _of_resource(self, name: str) -> float | None:
        if name.endswith(_PEAK):
            peak: float | None = self.resource.get(name.removesuffix(_PEAK), {}).get("peak_per_s")
            return peak
        fraction = self.resource.get(name.removesuffix(_OF_PEAK), {}).get("fraction_of_peak")
        return None if fraction is None else 100.0 * fraction

    def _evaluated(self, formulas: tuple[str, ...]) -> float:
        return float(evaluate_first(formulas, self._numbers).values[0])

    def _unit(self, name: str) -> str:
        if name in _COMPUTED:
            return _COMPUTED[name][1]
        if name in DERIVED:
            return DERIVED[name].unit
        if name.endswith(_OF_PEAK):
            return "%"
        return _UNITS[name] if name in _UNITS else unit_of(name) or ""


def _quotient(q: Quantities, above: str, below: str) -> float | None:
    return q(above) / q(below) if q(below) > 0 else None


def _percent(q: Quantities, part: str, whole: str) -> float | None:
    return 100.0 * q(part) / q(whole) if q(whole) > 0 else None


def _scaled(q: Quantities, name: str, above: str, below: str) -> float | None:
    ratio = _quotient(q, above, below)
    return None if ratio is None else q(name) * ratio


def _rows_to_ridge(q: Quantities) -> float | None:
    """Return how many times as many rows of a GEMM bring it to the ridge [1].

    ``ridge / intensity``, where rows of padding do not count as work.
    """
    ratio = _quotient(q, "ridge_point_flop_per_byte", "arithmetic_intensity_flop_per_byte")
    padding = q.value("executed_per_useful_flop")
    return None if ratio is None else ratio * (1.0 if padding is None else padding)


def _tail_loss(waves: float | None) -> float | None:
    """Return the share of the launch in which SMs idle because the last wave is not full [%].

    ``1 - waves / ceil(waves)``: blocks of equal length, a wave at a time.
    """
    if waves is None or waves <= 1.0:
        return None
    return 100.0 * (1.0 - waves / math.ceil(waves))


def _mma_sync(q: Quantities) -> float | None:
    """Return the share of Hopper's 16-bit tensor work that went through mma.sync [%]."""
    if q.text("compute_capability") != "9.0":
        return None
    sync = group = 0.0
    for dtype in ("fp16_dst_fp16", "fp16_dst_fp32", "fp16", "bf16_dst_fp32", "tf32_dst_fp32"):
        for state in ("", "_sparsity_off", "_sparsity_on"):
            sync += q.value(f"sm__ops_path_tensor_op_hmma_src_{dtype}{state}.sum") or 0.0
            group += q.value(f"sm__ops_path_tensor_op_hgmma_src_{dtype}{state}.sum") or 0.0
    return 100.0 * sync / (sync + group) if sync + group > 0 else None


def _fp32_over_fp64(q: Quantities) -> float | None:
    """Return how many times as many FP32 operations as FP64 ones the GPU can do [1]."""
    measured = _quotient(q, "fp32_peak_per_s", "fp64_peak_per_s")
    if measured is not None:
        return measured
    fp32, fp64 = (rate_of(q.text("compute_capability") or "", one) for one in ("fp32", "fp64"))
    return fp32 / fp64 if fp32 and fp64 else None


def _unused_registers(q: Quantities) -> float | None:
    """Return the share of an SM's registers that no whole block fits into any more [%].

    A warp is given registers in pieces of 256.
    """
    threads, registers = q("block_thread_count"), q("registers_per_thread_count")
    whole = q("device__attribute_max_registers_per_multiprocessor")
    if not (threads > 0 and registers > 0 and whole > 0):
        return None
    block = math.ceil(threads / 32) * math.ceil(registers / 8) * 256
    return 100.0 * (1.0 - whole // block * block / whole)


def _idle_lanes(q: Quantities) -> float | None:
    """Return the share of the lanes that idle because blocks are no whole warps [%]."""
    threads = q("block_thread_count")
    return 100.0 * (1.0 - threads / (32 * math.ceil(threads / 32))) if threads > 0 else None


def _flop(q: Quantities) -> float | None:
    """Return how busy the units that do floating-point operations were, the busiest of them [%]."""
    shares = [q.value(f"{name}{_OF_PEAK}") for name in FLOP_RESOURCES]
    return max((share for share in shares if share is not None), default=None)


# From columns of launches and labels alone: formula as Python, and unit.
_COMPUTED: dict[str, tuple[Callable[[Quantities], float | None], str]] = {
    "tail_loss_pct": (lambda q: _tail_loss(q.value("waves_per_multiprocessor")), "%"),
    "rows_to_ridge": (_rows_to_ridge, "1"),
    "boost_clock_hz": (
        lambda q: _scaled(
            q, "sm_clock_hz", "ridge_point_boost_flop_per_byte", "ridge_point_flop_per_byte"
        ),
        "Hz",
    ),
    "dram_write_pct": (lambda q: _percent(q, "dram_write_bytes", "dram_bytes"), "%"),
    "fp32_peak_over_fp64_peak": (_fp32_over_fp64, "1"),
    "mma_sync_pct": (_mma_sync, "%"),
    "flop_of_peak_pct": (_flop, "%"),
    "unused_registers_pct": (_unused_registers, "%"),
    "idle_lanes_pct": (_idle_lanes, "%"),
}
