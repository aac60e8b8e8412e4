"""Rich display: a report and its labels as HTML tables in a notebook, and a launch explained.

`Report._repr_html_`, `Classification._repr_html_` and `Explanation._repr_html_` call these; IPython
is not needed. Every text from a report is escaped. The bounds are told apart by word, sign and
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.analysis import Classification
    from nsightlens.analysis.explanation import Explanation
    from nsightlens.report import Report

__all__ = ["classification_html", "explanation_html", "explanation_page", "report_html"]

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
