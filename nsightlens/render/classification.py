"""The answer of ``nsightlens classify`` as text: a heading per report, a table, what it adds up to.

Takes tables and returns a string (`classification_text`); the columns are those of
`nsightlens.render.columns`, the layout is that of `nsightlens.render.grid`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import columns, facts, numbers, summary, sweep
from nsightlens.render.grid import GridColumn, Layout, arrange, indented
from nsightlens.render.style import plain, shorten_middle
from nsightlens.render.sweep_series import series_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from nsightlens.render.style import Style

__all__ = ["ClassificationView", "classification_text"]

REASONS_UP_TO = 12
"""Rows up to which the reasons stand below them without being asked for: they fill one screen."""
_FAMILIES_SHOWN = 8
_REASONS_SHOWN = 3
_SERIES_SHOWN = 4


class ClassificationView(NamedTuple):
    """What is shown, besides the style.

    Parameters
    ----------
    labels
        Table of labels of every row.
    by
        What a row is: ``launch``, ``kernel`` or ``family``.
    reports
        Facts of each report, in order.
    shown
        Positions of the rows to show, in order; ``None`` for all of them.
    full_names
        Show the name with its template arguments below each row.
    reasons
        Show the reason below each row; ``None`` to show it where the rows are few.
    warnings
        What was noticed while reading.
    remedy
        Where to read what to do about rows whose bound is unknown; "" for nowhere.
    next_commands
        What a reader may want to run next, as (command, what it does).
    named_device
        The product whose peaks were taken in place of the GPUs of the reports; "" for none.
    """

    labels: pa.Table
    by: str
    reports: Sequence[facts.ReportFacts]
    shown: Sequence[int] | None = None
    full_names: bool = False
    reasons: bool | None = None
    warnings: Sequence[str] = ()
    remedy: str = ""
    next_commands: Sequence[tuple[str, str]] = ()
    named_device: str = ""


def classification_text(view: ClassificationView, style: Style) -> str:
    """Return the table, what it adds up to, and how to read it.

    Parameters
    ----------
    view
        What to show.
    style
        What the output can show. No line of the table is wider than ``style.width``.

    Returns
    -------
    str
        Lines, each with its line end.
    """
    every = view.labels.to_pydict()
    rows = _taken(every, view.shown)
    parts = [
        list(_table_lines(view, every, rows, style)),
        _bound_lines(every, style),
        _unknown_lines(view, every, style),
        list(_note_lines(view, every, style)),
    ]
    if view.by == "family":
        parts.insert(1, _sweep_lines(every, style))
    if rows["key"]:
        parts.append(_legend_lines(view, rows, style))
    parts.append(_next_lines(view, style))
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _sweep_lines(rows: Mapping[str, Sequence[Any]], style: Style) -> list[str]:
    series = series_of(rows)[:_SERIES_SHOWN]
    lines = sweep.sweep_lines(series, style)
    if lines:
        lines.append("")
    for finding in sweep.sweep_findings(series):
        lines += indented(finding, style, 2, "- ")
    return lines


def _taken(rows: Mapping[str, list[Any]], shown: Sequence[int] | None) -> dict[str, list[Any]]:
    if shown is None:
        return dict(rows)
    return {name: [values[i] for i in shown] for name, values in rows.items()}


def _table_lines(
    view: ClassificationView,
    every: Mapping[str, Sequence[Any]],
    rows: Mapping[str, Sequence[Any]],
    style: Style,
) -> Iterator[str]:
    count = len(rows["key"])
    layout = _layout(view, rows, style)
    with_reasons = count <= REASONS_UP_TO if view.reasons is None else view.reasons
    sections = _sections(view, every, rows)
    for position, (heading, indexes) in enumerate(sections):
        if position:
            yield ""
        yield from _heading_lines(heading, style)
        if position == 0 and count:
            yield ""
            yield from layout.header(style)
        for index in indexes:
            yield layout.row(index, style)
            if view.full_names:
                yield from _full_name_lines(rows, index, layout, style)
            if with_reasons and rows["reason"][index]:
                yield from _reason_lines(rows["reason"][index], layout, style)
    hidden = len(every["key"]) - count
    if hidden > 0:
        yield style.paint(f"... and {numbers.counted(hidden, 'row')} more", "dim")


def _layout(view: ClassificationView, rows: Mapping[str, Sequence[Any]], style: Style) -> Layout:
    shown = columns.label_columns(rows, view.by)
    if view.by == "launch" and not columns.in_report_order(rows) and len(view.reports) > 1:
        names = [plain(path or numbers.MISSING) for path in rows["report"]]
        shown.insert(0, GridColumn("report", names, importance=995, comfortable=16))
    return arrange(shown, style.width)


def _sections(
    view: ClassificationView,
    every: Mapping[str, Sequence[Any]],
    rows: Mapping[str, Sequence[Any]],
) -> list[tuple[list[str], list[int]]]:
    """Return each heading with the rows below it."""
    if len(view.reports) == 1:
        return [(_report_heading(view, view.reports[0], every), list(range(len(rows["key"]))))]
    if view.by != "launch" or not columns.in_report_order(rows):
        return [(_common_heading(view, every), list(range(len(rows["key"]))))]
    of_report: dict[str, list[int]] = {}
    for i, report in enumerate(rows["report"]):
        of_report.setdefault(report, []).append(i)
    counts = _rows_of_report(every)
    sections = []
    for fact in view.reports:
        if fact.report in of_report or view.shown is None:
            part = {name: [v[i] for i in counts.get(fact.report, [])] for name, v in every.items()}
            sections.append((_report_heading(view, fact, part), of_report.get(fact.report, [])))
    return sections


def _rows_of_report(rows: Mapping[str, Sequence[Any]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, report in enumerate(rows["report"]):
        found.setdefault(report, []).append(i)
    return found


def _report_heading(
    view: ClassificationView, fact: facts.ReportFacts, rows: Mapping[str, Sequence[Any]]
) -> list[str]:
    parts = [plain(fact.report), _names(fact.device_names), *_peaks_of(view)]
    if fact.ncu_version:
        parts.append(f"ncu {plain(fact.ncu_version)}")
    return [*parts, *_amounts(rows)]


def _common_heading(view: ClassificationView, rows: Mapping[str, Sequence[Any]]) -> list[str]:
    devices = dict.fromkeys(name for fact in view.reports for name in fact.device_names)
    named = _names(list(devices))
    reports = numbers.counted(len(view.reports), "report")
    return [reports, named, *_peaks_of(view), *_amounts(rows)]


def _peaks_of(view: ClassificationView) -> list[str]:
    return [f"peaks of {view.named_device}"] if view.named_device else []


def _names(devices: Sequence[str]) -> str:
    # Of two spellings of one GPU, the first.
    devices = list({columns.gpu_words(name): name for name in reversed(devices)}.values())[::-1]
    if len(devices) > 3:
        return f"{len(devices)} kinds of GPUs"
    return plain(", ".join(devices)) or "GPU not stated"


def _amounts(rows: Mapping[str, Sequence[Any]]) -> list[str]:
    count = summary.launch_total(rows)
    if not count:
        return ["no launches"]
    total = summary.total_duration_ns(rows)
    words = numbers.counted(count, "launch", "launches")
    return [words] if total is None else [words, numbers.duration(total)]


def _heading_lines(heading: Sequence[str], style: Style) -> Iterator[str]:
    name, *rest = heading
    dot = f" {style.sign('·')} "
    tail = dot.join(rest)
    line = f"{name}{dot}{tail}"
    if len(line) <= style.width:
        yield style.paint(name, "head") + dot + tail
        return
    yield style.paint(shorten_middle(name, style.width, style.sign("…")), "head")
    yield from indented(tail, style, 2)


def _full_name_lines(
    rows: Mapping[str, Sequence[Any]], index: int, layout: Layout, style: Style
) -> list[str]:
    name = rows["kernel_demangled_name"][index]
    if name is None or name == rows["kernel"][index]:
        return []
    # It may have no blank to break at, and has to be whole.
    return indented(plain(name), style, layout.indent + 4, breaks_words=True)


def _reason_lines(reason: str, layout: Layout, style: Style) -> list[str]:
    indent = layout.indent + 4
    return [style.paint(line, "dim") for line in indented(plain(reason), style, indent)]


def _bound_lines(rows: Mapping[str, Sequence[Any]], style: Style) -> list[str]:
    """Return the share of time by bound, one line per family."""
    shares = summary.bound_shares(rows)
    if len(rows["key"]) < 2 or not shares:
        return []
    listed = shares[:_FAMILIES_SHOWN]
    total = summary.bound_shares({**rows, "family": ["all"] * len(rows["family"])})
    if len(shares) > 1:
        listed = [*listed, *total]
    grid = [
        GridColumn("share of time", [plain(share.family) for share in listed], 1000),
        *(
            GridColumn(
                bound,
                [_share_cell(share, bound) for share in listed],
                100,
                "right",
                styles=[bound if share.launch_count[bound] else None for share in listed],
            )
            for bound in summary.BOUNDS
        ),
        GridColumn("launches", [str(sum(s.launch_count.values())) for s in listed], 90, "right"),
        GridColumn("time", [_time_cell(share) for share in listed], 80, "right"),
    ]
    layout = arrange(grid, style.width)
    lines = [*layout.header(style), *(layout.row(i, style) for i in range(len(listed)))]
    hidden = len(shares) - _FAMILIES_SHOWN
    if hidden > 0:
        more = f"(all: {numbers.counted(hidden, 'further family', 'further families')} included)"
        lines.append(style.paint(more, "dim"))
    return lines


def _share_cell(share: summary.BoundShare, bound: str) -> str:
    value = share.share_pct[bound]
    if not share.launch_count[bound]:
        return numbers.MISSING
    return numbers.whole_percent(value) if value is not None else "no time"


def _time_cell(share: summary.BoundShare) -> str:
    return numbers.duration(share.duration_ns) if share.duration_ns > 0 else numbers.MISSING


def _unknown_lines(
    view: ClassificationView, rows: Mapping[str, Sequence[Any]], style: Style
) -> list[str]:
    reasons = summary.unknown_reasons(rows)
    if not reasons:
        return []
    count = sum(reason.launch_count for reason in reasons)
    total = summary.launch_total(rows)
    lines = [style.paint(f"unknown: {count} of {total} launches, because", "unknown")]
    for reason in reasons[:_REASONS_SHOWN]:
        lines += indented(plain(reason.reason), style, 8, f"{reason.launch_count:>6}  ")
    if len(reasons) > _REASONS_SHOWN:
        hidden = len(reasons) - _REASONS_SHOWN
        more = f"{numbers.counted(hidden, 'further reason')}: --reasons shows the one of each row"
        lines += indented(more, style, 8)
    if view.remedy:
        lines += indented(plain(view.remedy), style, 8)
    return lines


def _note_lines(
    view: ClassificationView, rows: Mapping[str, Sequence[Any]], style: Style
) -> Iterator[str]:
    for note in facts.notes(rows, view.reports, view.warnings):
        yield from indented(plain(note), style, 6, "note: ")


def _legend_lines(
    view: ClassificationView, rows: Mapping[str, Sequence[Any]], style: Style
) -> list[str]:
    layout = _layout(view, rows, style)
    headers = [column.header for column in layout.columns]
    words = [(_one_line(h), columns.LEGEND[h]) for h in headers if h in columns.LEGEND]
    if "regime" in headers:
        words += [
            (name, text) for name, text in columns.REGIMES.items() if name in set(rows["regime"])
        ]
    if layout.left_out:
        left_out = ", ".join(_one_line(column.header) for column in layout.left_out)
        words.append(("not shown", f"{left_out}: for want of width (see --width)"))
    indent = max(len(word) for word, _ in words) + 2
    lines = [line for word, text in words for line in indented(text, style, indent, word)]
    return [style.paint(line, "dim") for line in lines]


def _one_line(header: str) -> str:
    return " ".join(header.split())


def _next_lines(view: ClassificationView, style: Style) -> list[str]:
    commands = [(plain(command), purpose) for command, purpose in view.next_commands]
    width = max((len(command) for command, _ in commands), default=0)
    lines: list[str] = []
    for command, purpose in commands:
        head = "      " if lines else "next: "
        line = f"{head}{command:<{width}}  # {purpose}"
        # A command is never broken: it is there to be copied.
        lines.append(line if len(line) <= style.width else f"{head}{command}")
    return lines
