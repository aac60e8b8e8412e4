"""The catalog: for each measured column, the formulas that can fill it and how to collect them.

Formulas are in order of preference; the spellings differ by architecture (compute capability 7.0
to 12.1) and by version of ncu (2020.3 to 2025.2). All of a formula's metrics must have a value.
Read by `nsightlens.metrics.derive` (values) and `nsightlens.metrics.coverage` (what is missing).
"""

from __future__ import annotations

from typing import NamedTuple

from nsightlens.metrics.formula import formula, metrics_of
from nsightlens.metrics.tensor import (
    TENSOR_COLUMNS,
    dense_peak_formula,
    tensor_paths_of,
    work_formulas,
)

__all__ = [
    "CATALOG", "MEASURED", "UNIFIED_MEMORY", "VOLTA", "Measured", "is_countable",
    "minimal_metrics", "peak_metrics",
]  # fmt: skip


class Measured(NamedTuple):
    """How one column is measured.

    Parameters
    ----------
    column
        Name of the column.
    formulas
        Formulas over raw metrics, best first; see `nsightlens.metrics.formula`.
    sections
        Sections of ncu that collect one of the formulas.
    ask
        The shortest list for ``ncu --metrics`` that fills the column, on architectures without
        a list of their own in `minimal_metrics`. Empty where ncu always stores it.
    beside
        What a label needs beside the value: the roof of counted work, the parts of a maximum.
        Also in `minimal_metrics`.
    """

    column: str
    formulas: tuple[str, ...]
    sections: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


_DURATION = "gpu__time_duration.sum"
_SPEED_OF_LIGHT = "SpeedOfLight"
_ROOFLINE = "SpeedOfLight_RooflineChart"
_HALF_ROOFLINE = "SpeedOfLight_HierarchicalHalfRooflineChart"
_TENSOR_ROOFLINE = "SpeedOfLight_HierarchicalTensorRooflineChart"
_MEMORY = "MemoryWorkloadAnalysis"
_MEMORY_CHART = "MemoryWorkloadAnalysis_Chart"
_MEMORY_TABLES = "MemoryWorkloadAnalysis_Tables"

# Spellings of bytes read from and written to DRAM. dram__bytes_op_* is that of GB20x (cc 12.x).
_DRAM_SPELLINGS = (
    ("dram__bytes_read.sum", "dram__bytes_write.sum"),
    ("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
    ("fbpa__dram_read_bytes.sum", "fbpa__dram_write_bytes.sum"),
)
_DRAM_SECTORS = (
    ("dram__sectors_read.sum", "dram__sectors_write.sum"),
    ("dram__sectors_op_read.sum", "dram__sectors_op_write.sum"),
)
_SECTOR_BYTES = 32

# Between L2 and the memory that a unified chip shares with its CPU. What misses is read, or is
# written back later; of the fills alone, writes are not part.
_TO_SYSMEM = "lts__t_sectors_aperture_sysmem{}_lookup_miss"
_FILLS = "lts__d_sectors_fill_sysmem"
_L2_MEMORY_SECTORS = (
    f"{_TO_SYSMEM.format('')}.sum",
    f"{_TO_SYSMEM.format('_op_read')}.sum + {_TO_SYSMEM.format('_op_write')}.sum",
    f"{_FILLS}.sum + {_TO_SYSMEM.format('_op_write')}.sum",
    f"{_FILLS}.sum",
)
_DRAM_RATE = "dram__bytes.sum.per_second"
_SECONDS = f"{_DURATION} / 1e9"
_INTEGER = "sass_thread_inst_executed_op_integer_pred_on"

# Every L1 sector goes through one of these; together they give NVIDIA's L1 hit rate.
_L1_SECTORS = tuple(
    f"l1tex__t_sectors_pipe_{path}.sum"
    for path in (
        "lsu_mem_global_op_ld", "lsu_mem_global_op_st", "lsu_mem_global_op_atom",
        "lsu_mem_global_op_red", "lsu_mem_local_op_ld", "lsu_mem_local_op_st",
        "tex_mem_surface_op_ld", "tex_mem_surface_op_st", "tex_mem_surface_op_atom",
        "tex_mem_surface_op_red", "tex_mem_texture",
    )
)  # fmt: skip


def _plain(column: str, *metrics: str, section: str = "", ask: bool = True) -> Measured:
    """One metric under one or more names; asked for by the first."""
    return Measured(
        column, metrics, (section,) if section else (), (metrics[0],) if ask and section else ()
    )


def _maximum(column: str, metric: str) -> Measured:
    """Build the entry of a maximum over counters: ncu collects all of them by its breakdown."""
    return Measured(column, (metric,), (_SPEED_OF_LIGHT,), (metric,), (f"breakdown:{metric}",))


def _always(column: str, *formulas: str) -> Measured:
    """Build the entry of what ncu stores with every kernel, asked for or not."""
    return Measured(column, formulas)


def _dram_bytes(column: str, side: slice, sections: tuple[str, ...], *others: str) -> Measured:
    """Bytes over the DRAM pins; ``side`` picks reads, writes or both from each spelling."""
    return Measured(
        column,
        (
            *(" + ".join(pair[side]) for pair in _DRAM_SPELLINGS),
            *(f"({' + '.join(pair[side])}) * {_SECTOR_BYTES}" for pair in _DRAM_SECTORS),
            *others,
        ),
        sections,
        # The one spelling that every chip with DRAM counters has.
        tuple(_DRAM_SPELLINGS[2][side]),
        ("dram__bytes.sum.peak_sustained", "dram__cycles_elapsed.avg.per_second"),
    )


def _dram_rates(side: int) -> tuple[str, ...]:
    return tuple(f"{pair[side]}.per_second * {_SECONDS}" for pair in _DRAM_SPELLINGS)


def _flops(column: str, letter: str, lanes: int, section: str) -> Measured:
    """Count add, mul and fma of one type; an fma is two operations, and half2 has two lanes."""
    lane, twice = f"{lanes} * " if lanes > 1 else "", f"{2 * lanes} * "

    def total(unit: str, suffix: str) -> str:
        add, mul, fma = (
            f"{unit}__sass_thread_inst_executed_op_{letter}{op}_pred_on{suffix}"
            for op in ("add", "mul", "fma")
        )
        return f"{lane}{add} + {lane}{mul} + {twice}{fma}"

    per_cycle = total("smsp", ".sum.per_cycle_elapsed")
    roof = f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained"

    return Measured(
        column,
        (
            total("smsp", ".sum"),
            total("sm", ".sum"),
            # What NVIDIA's roofline sections collect: a rate per cycle and the clock.
            f"({per_cycle}) * smsp__cycles_elapsed.avg.per_second * {_SECONDS}",
            f"({total('smsp', '.sum.per_second')}) * {_SECONDS}",
        ),
        (section,),
        formula(total("smsp", ".sum")).metrics,
        (roof,),
    )


_DRAM_BANDWIDTH = Measured(
    "dram_bandwidth_bytes_per_s",
    (
        _DRAM_RATE,
        *(f"{read}.per_second + {write}.per_second" for read, write in _DRAM_SPELLINGS),
        *(f"({read} + {write}) / {_DURATION} * 1e9" for read, write in _DRAM_SPELLINGS),
        *(
            f"({read} + {write}) * {_SECTOR_BYTES} / {_DURATION} * 1e9"
            for read, write in _DRAM_SECTORS
        ),
    ),
    (_MEMORY, _MEMORY_CHART, _ROOFLINE),
    (_DRAM_RATE,),
)

CATALOG: tuple[Measured, ...] = (
    _always("device_id", "launch__device_id"),
    _always("context_id", "launch__context_id"),
    _always("stream_id", "launch__stream_id"),
    _always("grid_x", "launch__grid_dim_x"),
    _always("grid_y", "launch__grid_dim_y"),
    _always("grid_z", "launch__grid_dim_z"),
    _always("block_x", "launch__block_dim_x"),
    _always("block_y", "launch__block_dim_y"),
    _always("block_z", "launch__block_dim_z"),
    _always(
        "grid_block_count",
        "launch__grid_size",
        "launch__grid_dim_x * launch__grid_dim_y * launch__grid_dim_z",
    ),
    _always(
        "block_thread_count",
        "launch__block_size",
        "launch__block_dim_x * launch__block_dim_y * launch__block_dim_z",
    ),
    _always("registers_per_thread_count", "launch__registers_per_thread"),
    _always(
        "shared_memory_per_block_bytes",
        "launch__shared_mem_per_block",
        "launch__shared_mem_per_block_static + launch__shared_mem_per_block_dynamic"
        " + launch__shared_mem_per_block_driver",
    ),
    _always("shared_memory_static_bytes", "launch__shared_mem_per_block_static"),
    _always("shared_memory_dynamic_bytes", "launch__shared_mem_per_block_dynamic"),
    _always("waves_per_multiprocessor", "launch__waves_per_multiprocessor"),
    _always("sm_count", "device__attribute_multiprocessor_count", "launch__sm_count"),
    _plain("duration_ns", _DURATION, "gpu__time_duration.avg", section=_SPEED_OF_LIGHT),
    _plain(
        "sm_clock_hz",
        "sm__cycles_elapsed.avg.per_second",
        "smsp__cycles_elapsed.avg.per_second",
        "gpc__cycles_elapsed.avg.per_second",
        section=_SPEED_OF_LIGHT,
    ),
    Measured(
        "l2_clock_hz",
        (
            "lts__cycles_elapsed.avg.per_second",
            f"lts__cycles_elapsed.avg / {_DURATION} * 1e9",
        ),
        (_HALF_ROOFLINE, _TENSOR_ROOFLINE),
        ("lts__cycles_elapsed.avg.per_second",),
    ),
    _plain("dram_clock_hz", "dram__cycles_elapsed.avg.per_second", section=_SPEED_OF_LIGHT),
    # Reads and writes apart are in groups of metrics (memory__chart, memory__dram_table).
    _dram_bytes("dram_read_bytes", slice(0, 1), (_MEMORY_CHART, _MEMORY_TABLES), *_dram_rates(0)),
    _dram_bytes("dram_write_bytes", slice(1, 2), (_MEMORY_CHART, _MEMORY_TABLES), *_dram_rates(1)),
    _dram_bytes(
        "dram_bytes",
        slice(0, 2),
        (_MEMORY,),
        "dram__bytes.sum",
        f"{_DRAM_RATE} * {_SECONDS}",
    ),
    _DRAM_BANDWIDTH,
    _plain(
        "dram_throughput_pct",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        f"100 * {_DRAM_RATE} / (dram__bytes.sum.peak_sustained"
        " * dram__cycles_elapsed.avg.per_second)",
        section=_SPEED_OF_LIGHT,
    ),
    Measured(
        "l2_bytes",
        (
            "lts__t_bytes.sum",
            f"lts__t_sectors.sum * {_SECTOR_BYTES}",
            f"lts__t_bytes.sum.per_second * {_SECONDS}",
            f"lts__t_sectors.sum.per_second * {_SECTOR_BYTES} * {_SECONDS}",
        ),
        (_MEMORY_CHART, _MEMORY_TABLES),
        ("lts__t_bytes.sum",),
    ),
    _plain(
        "l2_hit_rate_pct",
        "lts__t_sector_hit_rate.pct",
        "100 * lts__t_sectors_lookup_hit.sum / lts__t_sectors.sum",
        section=_MEMORY,
    ),
    _plain(
        "l2_throughput_pct",
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        section=_SPEED_OF_LIGHT,
    ),
    Measured(
        "l2_memory_bytes",
        (
            *(f"({sectors}) * {_SECTOR_BYTES}" for sectors in _L2_MEMORY_SECTORS),
            f"{_TO_SYSMEM.format('')}.sum.per_second * {_SECTOR_BYTES} * {_SECONDS}",
        ),
        (_MEMORY_TABLES,),
        (_L2_MEMORY_SECTORS[0],),
    ),
    Measured(
        "l1_bytes",
        (
            "l1tex__t_bytes.sum",
            f"l1tex__t_sectors.sum * {_SECTOR_BYTES}",
            f"l1tex__t_bytes.sum.per_second * {_SECONDS}",
            f"({' + '.join(_L1_SECTORS)}) * {_SECTOR_BYTES}",
        ),
        (_MEMORY_TABLES,),
        ("l1tex__t_bytes.sum",),
    ),
    _plain("l1_hit_rate_pct", "l1tex__t_sector_hit_rate.pct", section=_MEMORY),
    _plain(
        "l1_throughput_pct",
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
        section=_SPEED_OF_LIGHT,
    ),
    _maximum(
        "memory_throughput_pct", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    ),
    _maximum("sm_throughput_pct", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    _flops("fp64_flop_count", "d", 1, _ROOFLINE),
    _flops("fp32_flop_count", "f", 1, _ROOFLINE),
    _flops("fp16_flop_count", "h", 2, _HALF_ROOFLINE),
    *(Measured(column, work_formulas(column), (_TENSOR_ROOFLINE,)) for column in TENSOR_COLUMNS),
    # No section of ncu's own collects it.
    Measured(
        "integer_op_count",
        (
            f"smsp__{_INTEGER}.sum",
            f"sm__{_INTEGER}.sum",
            f"smsp__{_INTEGER}.sum.per_second * {_SECONDS}",
        ),
        ask=(f"smsp__{_INTEGER}.sum",),
    ),
    # Of elapsed cycles first: the fraction of the launch, and in every set (the breakdown of
    # sm__throughput), where the share of active cycles is only in the larger ones.
    _plain(
        "tensor_pipe_active_pct",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active * sm__cycles_active.avg"
        f" / (sm__cycles_elapsed.avg.per_second * {_SECONDS})",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        section=_SPEED_OF_LIGHT,
    ),
    _plain(
        "achieved_occupancy_pct",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "100 * sm__warps_active.avg.per_cycle_active"
        " / device__attribute_max_warps_per_multiprocessor",
        section="Occupancy",
    ),
    _always(
        "theoretical_occupancy_pct",
        "sm__maximum_warps_per_active_cycle_pct",
        "100 * sm__maximum_warps_avg_per_active_cycle"
        " / device__attribute_max_warps_per_multiprocessor",
    ),
    _plain(
        "issue_active_pct",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "100 * smsp__issue_active.avg.per_cycle_active",
        "100 - smsp__issue_inst0.avg.pct_of_peak_sustained_active",
        section="SchedulerStats",
    ),
    _plain(
        "eligible_warps_per_scheduler",
        "smsp__warps_eligible.avg.per_cycle_active",
        section="SchedulerStats",
    ),
    _plain(
        "active_warps_per_scheduler",
        "smsp__warps_active.avg.per_cycle_active",
        section="SchedulerStats",
    ),
    _plain(
        "warp_cycles_per_issue",
        "smsp__average_warp_latency_per_inst_issued.ratio",
        "smsp__warps_active.avg.per_cycle_active / smsp__issue_active.avg.per_cycle_active",
        section="WarpStateStats",
    ),
    _always("replay_pass_count", "profiler__replayer_passes"),
)
"""Every column of ``launches`` that a formula fills, in the order of the table."""

MEASURED = {entry.column: entry for entry in CATALOG}
"""The same by column."""

UNIFIED_MEMORY = frozenset({"7.2", "8.7", "10.1", "11.0", "12.1"})
"""Compute capabilities whose GPU shares its DRAM with the CPU (Xavier, Orin, Thor, DGX Spark): no
counters of ``dram__*`` and ``fbpa__*``, and attributes from which no DRAM bandwidth follows."""

VOLTA = frozenset({"7.0", "7.2"})
"""Compute capabilities with a load/store pipe that the memory throughput does not see whole."""


def is_countable(column: str, compute_capability: str | None) -> bool:
    """Say whether an architecture has counters for a column; True where it is not known.

    The traffic between L2 and system memory stands in for DRAM bytes where those cannot be counted;
    elsewhere it says nothing of the device's memory, and counts as not there.

    Parameters
    ----------
    column
        A column of ``launches``.
    compute_capability
        Such as ``"9.0"``.

    Examples
    --------
    >>> is_countable("tensor_fp8_flop_count", "8.0"), is_countable("dram_bytes", "8.7")
    (False, False)
    """
    if compute_capability is None:
        return True
    if column in TENSOR_COLUMNS:
        # An architecture without any path is newer than this table.
        paths = tensor_paths_of(compute_capability)
        return not paths or any(path.column == column for path in paths)
    has_dram_counters = compute_capability not in UNIFIED_MEMORY
    if column == "l2_memory_bytes":
        return not has_dram_counters
    return has_dram_counters or not column.startswith("dram_")


def peak_metrics(compute_capability: str | None) -> tuple[str, ...]:
    """Return the metrics from which `nsightlens.devices` takes the peak rates of a launch.

    Work and roof must come from the same report, for ncu locks the clocks.

    Parameters
    ----------
    compute_capability
        Such as ``"9.0"``; ``None`` where the report does not say.
    """
    columns = ("dram_bytes", "fp64_flop_count", "fp32_flop_count", "fp16_flop_count")
    cores = (name for one in columns for name in _beside(one, compute_capability))
    tensor = (name for one in TENSOR_COLUMNS for name in _beside(one, compute_capability))
    return tuple(dict.fromkeys((*cores, "sm__cycles_elapsed.avg.per_second", *tensor)))


def _beside(column: str, compute_capability: str | None) -> tuple[str, ...]:
    """Return what a label needs beside a column on an architecture."""
    if column not in TENSOR_COLUMNS:
        is_there = is_countable(column, compute_capability)
        return MEASURED[column].beside if is_there else ()
    formulas: list[str | None] = []
    for path in tensor_paths_of(compute_capability or ""):
        if path.column == column:
            split = [one.dense_peak_formula for one in path.instructions]
            formulas += split or [dense_peak_formula(path)]
    return metrics_of(text for text in formulas if text)


def minimal_metrics(column: str, compute_capability: str | None) -> tuple[str, ...]:
    """Return the shortest ``ncu --metrics`` that fills a column, with the roof of its work.

    A metric that the GPU does not have is an error of ncu's for the whole kernel, so that the list
    holds only names that the architecture is known to have.

    Parameters
    ----------
    column
        A column of ``launches``.
    compute_capability
        Such as ``"9.0"``; ``None`` where the report does not say.

    Returns
    -------
    tuple of str
        Empty where ncu always stores what the column needs, and where the architecture has no such
        counter.

    Examples
    --------
    >>> minimal_metrics("l2_bytes", "9.0")
    ('lts__t_bytes.sum',)
    >>> minimal_metrics("dram_read_bytes", "8.7")
    ()
    """
    if column in TENSOR_COLUMNS:
        work = (
            name
            for path in tensor_paths_of(compute_capability or "")
            if path.column == column
            for name in path.minimal_metrics
        )
        return (*work, *_beside(column, compute_capability))
    if column not in MEASURED or not is_countable(column, compute_capability):
        return ()
    return (*MEASURED[column].ask, *MEASURED[column].beside)
