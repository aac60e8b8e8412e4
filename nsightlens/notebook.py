"""Rich display in a notebook: a report, its labels and a sweep as HTML tables, a launch explained.

``_repr_html_`` of `Report`, `Classification`, `Sweep` and `Explanation` call these; IPython is not
needed. Every text from a report is escaped. The bounds are told apart by word, sign and
colour, in colours that colour-blind readers can tell apart on light and dark ground (Okabe and
Ito's blue and orange).
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from nsightlens.render import facts, numbers
from nsightlens.render.columns import label_columns
from nsightlens.render.explanation import ExplanationView, explanation_text
from nsightlens.render.grid import GridColumn
from nsightlens.render.style import Style
from nsightlens.render.sweep_sections import sections_of
from nsightlens.render.sweep_series import NOT_FITTING, batch_cells, has_not_fitting
from nsightlens.render.sweep_table import column_cells, telling_columns
from nsightlens.render.sweep_text import EXPLANATIONS, large_batch_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.analysis import Classification
    from nsightlens.analysis.explanation import Explanation
    from nsightlens.render.sweep_sections import Section
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

__all__ = [
    "classification_html",
    "explanation_html",
    "explanation_page",
    "report_html",
    "sweep_html",
]

ROWS_SHOWN = 50
"""Rows of a table in a notebook; more would push everything else off the screen."""

# Scoped by the class, so that other output of the notebook keeps its look; the text colour is
# inherited, so that a dark theme stays dark.
_STYLE = """\
<style>
.nsightlens { font-size: 90%; }
.nsightlens table { border-collapse: collapse; }
.nsightlens th, .nsightlens td { padding: 2px 8px; text-align: left; white-space: nowrap; }
.nsightlens th { border-bottom: 1px solid rgba(128, 128, 128, .6); }
.nsightlens .right { text-align: right; }
.nsightlens .memory, .nsightlens .compute { border-radius: 3px; padding: 1px 6px; color: #000; }
.nsightlens .memory { background: #56b4e9; }
.nsightlens .compute { background: #e69f00; }
.nsightlens .unknown { border: 1px dashed rgba(128, 128, 128, .8); padding: 0 5px; }
.nsightlens .quiet { opacity: .7; }
</style>
"""


def classification_html(classification: Classification) -> str:
    """Return the labels as an HTML table with the reason of each row as its tool tip.

    Parameters
    ----------
    classification
        A result of `nsightlens.classify`.
    """
    labels = classification.labels
    rows = labels.slice(0, ROWS_SHOWN).to_pydict()
    columns = label_columns(rows, classification.by)
    hidden = labels.num_rows - len(rows["key"])
    noun = {"launch": "launch", "kernel": "kernel", "family": "group"}[classification.by]
    title = numbers.counted(labels.num_rows, noun, "launches" if noun == "launch" else None)
    body = _table(columns, rows["reason"]) if rows["key"] else ""
    return _framed(f"<b>{title}</b>", body, _notes(labels.to_pydict(), hidden))


def _notes(rows: Mapping[str, Sequence[Any]], hidden: int) -> list[str]:
    found = [f"... and {numbers.counted(hidden, 'row')} more: .labels holds all."] if hidden else []
    return found + facts.notes(rows, ())


def report_html(report: Report) -> str:
    """Return what a report holds as an HTML table, one row per file.

    Parameters
    ----------
    report
        A result of `nsightlens.open_report`.
    """
    paths = report.launches["report"].to_pylist()
    devices = report.launches["device_name"].to_pylist()
    of_report = facts.report_facts(
        report.sources, report.sessions, list(dict.fromkeys(zip(paths, devices, strict=True)))
    )
    durations: dict[str | None, float] = {}
    counts: dict[str | None, int] = {}
    for path, value in zip(paths, report.launches["duration_ns"].to_pylist(), strict=True):
        counts[path] = counts.get(path, 0) + 1
        if not numbers.is_missing(value):
            durations[path] = durations.get(path, 0.0) + value
    shown = list(of_report.values())[:ROWS_SHOWN]
    columns = [
        GridColumn("report", [fact.report for fact in shown]),
        GridColumn("GPU", [", ".join(fact.device_names) or numbers.MISSING for fact in shown]),
        GridColumn("ncu", [fact.ncu_version or numbers.MISSING for fact in shown]),
        GridColumn("launches", [str(counts.get(f.report, 0)) for f in shown], align="right"),
        GridColumn(
            "time", [numbers.duration(durations.get(f.report)) for f in shown], align="right"
        ),
    ]
    names = len(report.store.names)
    title = (
        f"<b>{numbers.counted(len(report), 'launch', 'launches')}</b>, "
        f"{numbers.counted(names, 'metric')}"
    )
    hidden = len(of_report) - len(shown)
    more = [f"... and {numbers.counted(hidden, 'report')} more."] if hidden else []
    hint = "nsightlens.classify(report) labels the launches; .launches is the table of them."
    return _framed(title, _table(columns), [*more, *report.warnings, hint])


def sweep_html(sweep: Sweep) -> str:
    """Return the verdict and, for attention and the GEMMs, a row per batch size.

    Parameters
    ----------
    sweep
        A result of `nsightlens.sweep` or `nsightlens.predict`.
    """
    explanation, paragraph = sweep.verdict
    at_large = f"<b>{large_batch_words(sweep)}: {escape(EXPLANATIONS[explanation])}.</b> "
    title = f"{at_large if explanation != 'undecided' else ''}{escape(paragraph)}"
    if "analytic" in sweep.rows["origin"].to_pylist():
        title = f"Analytic, nothing was measured. {title}"
    sections = sections_of(sweep)
    tables = "".join(_section_html(one, is_only=len(sections) == 1) for one in sections)
    hint = ".rows, .trends and .steps are the tables with every number."
    signs = [" ".join(NOT_FITTING)] if has_not_fitting(sweep.steps.to_pylist()) else []
    return _framed(title, tables, [*signs, *sweep.notes, *sweep.warnings, hint])


def _section_html(section: Section, *, is_only: bool) -> str:
    """Return the rows of a section; where no batch size is known, the one of every family."""
    series = section.main or section.others
    every = [(one, row) for one in series for row in one.rows.values()]
    pairs = every[:ROWS_SHOWN]
    rows = [row for _, row in pairs]
    columns = [
        GridColumn("family", [one.title for one, _ in pairs]),
        GridColumn("batch", batch_cells(rows), align="right"),
    ]
    for column in telling_columns(series):
        cells = column_cells(column, rows)
        styles = cells if column.name == "bound" else None
        columns.append(GridColumn(column.header, cells, 0, column.align, styles=styles))
    place = f"{section.phase or 'phase not known'} on {section.device}"
    head = "" if is_only else f"<div><b>{escape(place)}</b></div>\n"
    hidden = len(every) - len(pairs)
    more = f'<div class="quiet">... and {numbers.counted(hidden, "row")} more</div>\n'
    return head + _table(columns, [row["reason"] for row in rows]) + (more if hidden else "")


def _framed(title: str, table: str, notes: Sequence[str]) -> str:
    below = "".join(f'<div class="quiet">{escape(note)}</div>\n' for note in notes)
    return f'{_STYLE}<div class="nsightlens">\n<div>{title}</div>\n{table}{below}</div>\n'


def _table(columns: Sequence[GridColumn], tips: Sequence[str | None] | None = None) -> str:
    head = "".join(
        f"<th{_align(column)}>{escape(' '.join(column.header.split()))}</th>" for column in columns
    )
    lines = [f"<thead><tr>{head}</tr></thead>"]
    for i in range(len(columns[0].cells)):
        tip = f' title="{escape(tips[i] or "")}"' if tips is not None else ""
        cells = "".join(_cell(column, i) for column in columns)
        lines.append(f"<tr{tip}>{cells}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>\n"


def _cell(column: GridColumn, index: int) -> str:
    text = escape(column.cells[index])
    name = column.styles[index] if column.styles is not None else None
    shown = f'<span class="{escape(name)}">{text}</span>' if name else text
    return f"<td{_align(column)}>{shown}</td>"


def _align(column: GridColumn) -> str:
    return ' class="right"' if column.align == "right" else ""


def explanation_html(explanation: Explanation) -> str:
    """Return the page about one launch, as it stands in a terminal.

    Parameters
    ----------
    explanation
        A result of `nsightlens.explain`.
    """
    return f'<pre class="nsightlens">{escape(explanation_page(explanation, 100))}</pre>\n'


def explanation_page(explanation: Explanation, width: int) -> str:
    """Return the page about one launch as text.

    Parameters
    ----------
    explanation
        A result of `nsightlens.explain`.
    width
        [character] Columns of a line.
    """
    return explanation_text(ExplanationView(explanation), Style(width=width))
