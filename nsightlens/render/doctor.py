"""The answer of ``nsightlens doctor`` as text and Markdown: the verdict, then every check.

Takes rows as dictionaries, as the machine formats have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render.grid import GridColumn, indented
from nsightlens.render.markdown import markdown_table
from nsightlens.render.numbers import counted
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nsightlens.harness.doctor_check import Check
    from nsightlens.render.style import Style

__all__ = ["doctor_headline", "doctor_markdown", "doctor_rows", "doctor_text"]

_COLOURS = {"problem": "unknown", "warning": "compute"}
_OFFLINE = "Reading, classifying and comparing reports needs none of this."


def doctor_rows(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """Return one row for each check."""
    return [{**check._asdict(), "remedies": list(check.remedies)} for check in checks]


def doctor_headline(statuses: Sequence[str]) -> str:
    """Say whether profiling will work.

    Examples
    --------
    >>> doctor_headline(["ok", "problem", "warning"])
    'profiling will not work here: 1 problem, 1 warning'
    >>> doctor_headline(["ok", "ok"]), doctor_headline(["ok", "unknown"])
    ('nothing speaks against profiling here', 'nothing speaks against profiling here: 1 unknown')
    """
    kinds = (("problem", "problem", None), ("warning", "warning", None), ("unknown", "unknown", ""))
    told = [
        counted(statuses.count(status), noun, "unknown" if plural == "" else plural)
        for status, noun, plural in kinds
        if status in statuses
    ]
    verdict = "nothing speaks against profiling here"
    if "problem" in statuses:
        verdict = "profiling will not work here"
    return f"{verdict}: {', '.join(told)}" if told else verdict


def doctor_text(rows: Sequence[Mapping[str, Any]], style: Style) -> str:
    """Return the verdict, then a line for each check, with its remedies below it.

    Parameters
    ----------
    rows
        As `doctor_rows` makes them.
    style
        What the output can show.
    """
    statuses = [row["status"] for row in rows]
    lines = [style.paint(doctor_headline(statuses), "head")]
    if "problem" in statuses:
        lines.append(_OFFLINE)
    lines.append("")
    names = [_name(row) for row in rows]
    wide = max(map(len, names))
    state = max(map(len, statuses))
    for name, row in zip(names, rows, strict=True):
        first = f"{row['status']:<{state}}  {name:<{wide}}  "
        told = indented(plain(row["message"]), style, len(first), first, breaks_words=True)
        status = style.paint(row["status"], _COLOURS.get(row["status"]))
        lines += [status + told[0][len(row["status"]) :], *told[1:]]
        sign = f"{style.sign('→')} "
        for remedy in row["remedies"]:
            pad = " " * len(first)
            lines += indented(
                plain(remedy), style, len(pad) + len(sign), pad + sign, breaks_words=True
            )
    return "\n".join(lines) + "\n"


def _name(row: Mapping[str, Any]) -> str:
    return str(row["key"]).replace("_", " ")


def doctor_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict and the checks as a Markdown table."""
    table = markdown_table(
        [
            GridColumn("status", [row["status"] for row in rows], 1000),
            GridColumn("check", [_name(row) for row in rows], 990),
            GridColumn("found", [plain(row["message"]) for row in rows], 980),
            GridColumn("what to do", [plain(" ".join(row["remedies"])) for row in rows], 970),
        ]
    )
    return f"{doctor_headline([row['status'] for row in rows])}\n\n{table}"
