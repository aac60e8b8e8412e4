"""Whole steps along the batch size: who takes the time, what DRAM does, how many warps there are.

The view of the paper ("Mind the Memory Gap", arXiv 2503.08311) on a decode step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn, arrange
from nsightlens.render.style import plain
from nsightlens.render.sweep_series import NOT_FITTING, has_not_fitting, thinned
from nsightlens.render.sweep_table import Shown, SweepColumn, column_cells, legend_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Row

__all__ = ["STEP_COLUMNS", "step_columns", "steps_table"]


def _word(value: str | None) -> str:
    return numbers.MISSING if value is None else plain(value)


def _batch(value: int | None) -> str:
    return numbers.MISSING if value is None else str(value)


STEP_COLUMNS = (
    SweepColumn("batch_size", "batch", 1000, _batch),
    SweepColumn("duration_ns", "time", 90, numbers.duration,
                "sum over the launches; host time is not in it"),
    SweepColumn("attention_share_pct", "attn.\n%", 1000, numbers.percent,
                "share of attention, of GEMM and GEMV and of the rest in that time",
                label="attn., matmul, other %"),
    SweepColumn("matmul_share_pct", "matmul\n%", 1000, numbers.percent),
    SweepColumn("other_share_pct", "other\n%", 1000, numbers.percent),
    SweepColumn("dram_read_pct", "read\n%", 95, numbers.percent,
                "bytes read from and written to DRAM per second, percent of peak bandwidth",
                label="read, write %"),
    SweepColumn("dram_write_pct", "write\n%", 94, numbers.percent),
    SweepColumn("attention_intensity_flop_per_byte", "attn.\nFLOP/B", 85, numbers.significant,
                "arithmetic intensity of either", label="attn., matmul FLOP/B"),
    SweepColumn("matmul_intensity_flop_per_byte", "matmul\nFLOP/B", 84, numbers.significant),
    SweepColumn("active_warps_per_scheduler", "warps", 80, numbers.significant,
                "warps in flight per scheduler and active cycle"),
    SweepColumn("achieved_occupancy_pct", "occup.\n%", 60, numbers.percent,
                "achieved occupancy: warps active, percent of the maximum"),
    SweepColumn("stalled_for_data_pct", "data\nstall %", 75, numbers.percent,
                "share of warp time spent waiting for data (stall reason long_scoreboard)"),
    SweepColumn("bound", "bound", 70, _word,
                "the side, memory or compute, of what limits the launches", align="left"),
    SweepColumn("regime", "regime", 65, _word, align="left"),
)  # fmt: skip
"""Columns of a step, from left to right."""

_USEFUL = {
    "attention_intensity_flop_per_byte": "useful_attention_intensity_flop_per_byte",
    "matmul_intensity_flop_per_byte": "useful_matmul_intensity_flop_per_byte",
}
"""Shown in place of what was executed where both sides are known at some step."""


def steps_table(steps: Sequence[Row], style: Style) -> Shown:
    """Return one line per batch size.

    Parameters
    ----------
    steps
        Rows with the names of `nsightlens.tables.SWEEP_STEPS`, of one GPU and phase.
    style
        What the output can show.
    """
    kept = set(thinned(range(len(steps))))
    shown = [step for i, step in enumerate(steps) if i in kept]
    columns = step_columns(steps)
    layout = arrange([_grid_column(column, shown) for column in columns], style.width)
    lines = [*layout.header(style), *(layout.row(i, style) for i in range(len(shown)))]
    headers = {column.header for column in layout.columns}
    legend = legend_of(column for column in columns if column.header in headers)
    if has_not_fitting(steps):
        legend.update([NOT_FITTING])
    return Shown(lines, legend, [" ".join(column.header.split()) for column in layout.left_out])


def step_columns(steps: Sequence[Row]) -> list[SweepColumn]:
    """Return the columns that some step can fill; intensities without padding where known."""
    is_useful = all(any(step[name] is not None for step in steps) for name in _USEFUL.values())
    found = []
    for column in STEP_COLUMNS:
        one = column
        if is_useful and column.name in _USEFUL:
            legend = f"{column.legend}, of what the shapes need" if column.legend else ""
            one = column._replace(name=_USEFUL[column.name], legend=legend)
        if column.importance >= 1000 or any(step[one.name] is not None for step in steps):
            found.append(one)
    return found


def _grid_column(column: SweepColumn, steps: Sequence[Row]) -> GridColumn:
    cells: list[Any] = column_cells(column, steps)
    styles = cells if column.name == "bound" else None
    return GridColumn(column.header, cells, column.importance, column.align, styles=styles)
