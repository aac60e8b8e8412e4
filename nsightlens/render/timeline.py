"""A timeline as text and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn, indented
from nsightlens.render.markdown import markdown_table
from nsightlens.render.metric_table import table_lines
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.render.style import Style
    from nsightlens.timelines import Timeline

__all__ = ["timeline_lines", "timeline_markdown"]

MOST_ROWS = 12
"""Rows of steps, families and copies that the text shows of each."""
_TITLES = {
    "cuda_graph": "CUDA graph",
    "fewer_syncs": "fewer synchronisations",
    "host_work": "less host work",
    "pinned_memory": "pinned memory",
    "overlap_copies": "overlap of copies",
}


def timeline_lines(timeline: Timeline, style: Style, top: int = MOST_ROWS) -> Iterator[str]:
    """Yield the lines of the text.

    Parameters
    ----------
    timeline
        A result of `nsightlens.timeline`.
    style
        What the output can show.
    top
        Rows of each table.
    """
    yield from indented(_headline(timeline), style, 0)
    for title, columns, hidden in _tables(timeline, top):
        yield ""
        more = f", {hidden} more not shown (--top)" if hidden else ""
        yield style.paint(f"{title}{more}", "head")
        yield from table_lines(columns, style)
    yield ""
    yield style.paint("What could be gained, at most", "head")
    for row in timeline.advice.to_pylist():
        yield from indented(_advice(row), style, 4, "-")
    for note in timeline.notes:
        yield ""
        yield from indented(f"note: {note.rstrip('.')}.", style, 0, breaks_words=True)


def timeline_markdown(timeline: Timeline, top: int = MOST_ROWS) -> str:
    """Return the same as a Markdown document."""
    pieces = ["# Timeline\n\n", _headline(timeline), "\n\n"]
    for title, columns, hidden in _tables(timeline, top):
        more = f" ({hidden} more)" if hidden else ""
        pieces += [f"## {title}{more}\n\n", markdown_table(columns), "\n"]
    pieces.append("## What could be gained, at most\n\n")
    pieces += [f"- {_advice(row)}\n" for row in timeline.advice.to_pylist()]
    pieces += [f"\nNote: {note.rstrip('.')}.\n" for note in timeline.notes]
    return "".join(pieces)


def _headline(timeline: Timeline) -> str:
    rows = _together(timeline)
    wall, busy = (sum(row[name] or 0 for row in rows) for name in ("wall_ns", "busy_ns"))
    what = numbers.counted(len(rows), "step") if timeline.has_steps else "The whole trace, one step"
    share = f"{numbers.percent(100 * busy / wall)} %" if wall else numbers.MISSING
    kernels = sum(row["kernel_count"] for row in rows)
    return (
        f"{what}: {numbers.duration(wall)} on the devices, busy {share} of it, "
        f"{numbers.counted(kernels, 'kernel')}."
    )


def _together(timeline: Timeline) -> list[dict[str, Any]]:
    return [row for row in timeline.steps.to_pylist() if row["device_id"] is None]


def _tables(timeline: Timeline, top: int) -> Iterator[tuple[str, list[GridColumn], int]]:
    # Before rows become Python objects: a trace may have very many steps.
    yield (
        "Steps",
        _step_columns(timeline.steps.slice(0, top).to_pylist()),
        _hidden(timeline.steps.num_rows, top),
    )
    for title, table, columns in (
        ("Kernels by family", timeline.families, _family_columns),
        ("Copies", timeline.copies, _copy_columns),
        ("Longest gaps", timeline.gaps, _gap_columns),
        ("Runs of short kernels", timeline.runs, _run_columns),
    ):
        if table.num_rows:
            shown = table.slice(0, top).to_pylist()
            yield title, columns(shown), _hidden(table.num_rows, top)


def _hidden(count: int, top: int) -> int:
    return max(count - top, 0)


def _step_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    return [
        _whole("step", rows, "step_id", 1000),
        GridColumn("name", [row["name"] for row in rows], 700, comfortable=16),
        _words("phase", rows, "phase", 500),
        _whole("batch", rows, "batch_size", 900),
        GridColumn("GPU", [_gpu(row) for row in rows], 890, "right"),
        _time("wall", rows, "wall_ns", 990),
        _percent("busy\n%", rows, "busy_pct", 985),
        _time("idle:\nlaunch", rows, "idle_launch_ns", 970),
        _time("\nhost", rows, "idle_host_ns", 969),
        _time("\nsync", rows, "idle_sync_ns", 968),
        _time("\nqueued", rows, "idle_queued_ns", 967),
        _time("\nunknown", rows, "idle_unknown_ns", 600),
        _time("idle\nbefore", rows, "idle_before_ns", 800),
        _whole("kernels", rows, "kernel_count", 880),
        _time("copies\nexposed", rows, "copy_exposed_ns", 870),
        _time("launch to\nbegin", rows, "launch_latency_median_ns", 860),
    ]


def _family_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    return [
        _whole("step", rows, "step_id", 1000),
        _words("family", rows, "family", 990),
        _whole("kernels", rows, "kernel_count", 900),
        _time("time", rows, "duration_ns", 980),
        _percent("%", rows, "duration_share_pct", 970),
    ]


def _copy_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    kinds = [(row["source_memory"], row["destination_memory"]) for row in rows]
    memory = [" > ".join(kind or numbers.MISSING for kind in pair) for pair in kinds]
    rate = [
        numbers.MISSING
        if row["bandwidth_bytes_per_s"] is None
        else format_quantity(row["bandwidth_bytes_per_s"], "B/s")
        for row in rows
    ]
    return [
        _whole("step", rows, "step_id", 1000),
        _words("direction", rows, "direction", 990),
        GridColumn("memory", memory, 900),
        _whole("copies", rows, "copy_count", 800),
        GridColumn(
            "bytes", [numbers.byte_count(row["copied_bytes"]) for row in rows], 890, "right"
        ),
        _time("time", rows, "duration_ns", 980),
        _time("exposed", rows, "exposed_ns", 970),
        GridColumn("bandwidth", rate, 960, "right"),
        _percent("of link\n%", rows, "link_peak_pct", 500),
    ]


def _gap_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    return [
        _whole("step", rows, "step_id", 1000),
        _whole("GPU", rows, "device_id", 800),
        _time("gap", rows, "duration_ns", 990),
        _words("cause", rows, "cause", 980),
        GridColumn(
            "before kernel", [row["next_kernel"] or numbers.MISSING for row in rows], 900,
            comfortable=20, cut="name",
        ),
    ]  # fmt: skip


def _run_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    return [
        _whole("step", rows, "step_id", 1000),
        _whole("GPU", rows, "device_id", 700),
        _whole("stream", rows, "stream_id", 600),
        _whole("kernels", rows, "kernel_count", 990),
        _time("kernels'\ntime", rows, "kernel_duration_ns", 900),
        _time("gaps", rows, "gap_ns", 890),
        _time("waits for\nlaunches", rows, "launch_gap_ns", 980),
        GridColumn(
            "first kernel", [row["first_kernel"] or numbers.MISSING for row in rows], 800,
            comfortable=16, cut="name",
        ),
    ]  # fmt: skip


def _advice(row: Mapping[str, Any]) -> str:
    title, pct = _TITLES[row["advice"]], row["saving_pct"]
    share = numbers.MISSING if pct is None else f"{numbers.percent(pct)} %"
    per_step = numbers.duration(row["saving_per_step_ns"])
    if row["verdict"] == "nothing_to_gain":
        return f"{title}: nothing to gain ({share}, {per_step} a step): {row['reason']}."
    return f"{title}: up to {share} of the time, {per_step} a step: {row['reason']}."


def _gpu(row: Mapping[str, Any]) -> str:
    return "all" if row["device_id"] is None else str(row["device_id"])


def _whole(header: str, rows: Sequence[Mapping[str, Any]], name: str, rank: int) -> GridColumn:
    cells = [numbers.MISSING if row[name] is None else f"{row[name]}" for row in rows]
    return GridColumn(header, cells, rank, "right")


def _words(header: str, rows: Sequence[Mapping[str, Any]], name: str, rank: int) -> GridColumn:
    return GridColumn(header, [row[name] or numbers.MISSING for row in rows], rank)


def _time(header: str, rows: Sequence[Mapping[str, Any]], name: str, rank: int) -> GridColumn:
    return GridColumn(header, [numbers.duration(row[name]) for row in rows], rank, "right")


def _percent(header: str, rows: Sequence[Mapping[str, Any]], name: str, rank: int) -> GridColumn:
    return GridColumn(header, [numbers.percent(row[name]) for row in rows], rank, "right")
