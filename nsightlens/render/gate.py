"""The answer of ``nsightlens gate`` as text and Markdown: what failed first, then every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn, indented
from nsightlens.render.markdown import markdown_table
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from nsightlens.render.style import Style

__all__ = ["gate_markdown", "gate_text", "headline"]

_SIGNS = {"passed": "ok", "failed": "FAILED"}


def headline(statuses: Sequence[str], unread_count: int = 0) -> str:
    """Say how many rules hold, and of how many reports nothing is known.

    Examples
    --------
    >>> headline(["passed", "failed"]), headline(["passed"])
    ('1 of 2 rules failed', '1 rule holds')
    >>> headline(["passed"], unread_count=1)
    '1 rule holds, but 1 report could not be read'
    """
    failed = statuses.count("failed")
    holds = "hold" if len(statuses) > 1 else "holds"
    said = f"{numbers.counted(len(statuses), 'rule')} {holds}"
    if failed:
        said = f"{failed} of {numbers.counted(len(statuses), 'rule')} failed"
    if unread_count:
        joint = "and" if failed else "but"
        said += f", {joint} {numbers.counted(unread_count, 'report')} could not be read"
    return said


def gate_text(rows: pa.Table, style: Style, unread_count: int = 0) -> str:
    """Return one paragraph per rule, those that failed first.

    Parameters
    ----------
    rows
        With the schema of `nsightlens.tables.GATE`.
    style
        What the output can show.
    unread_count
        Reports that could not be read.
    """
    table = rows.to_pydict()
    order = _failed_first(table)
    lines = [style.paint(headline(table["status"], unread_count), "head")]
    for i in order:
        status = table["status"][i]
        sign = f"{_SIGNS[status]:<6}  "
        first = style.paint(sign, "unknown" if status == "failed" else None)
        name = plain(table["rule"][i])
        told = indented(
            f"{name}: {plain(table['message'][i])}", style, len(sign), breaks_words=True
        )
        lines += [first + told[0].lstrip(), *told[1:]]
        if status == "failed":
            allowed = f"allowed: {table['metric'][i]} {plain(table['limit'][i])}"
            lines += [style.paint(x, "dim") for x in indented(allowed, style, len(sign))]
    return "\n".join(lines) + "\n"


def gate_markdown(rows: pa.Table, unread_count: int = 0) -> str:
    """Return the rules as a Markdown table, those that failed first."""
    table = rows.to_pydict()
    order = _failed_first(table)

    def column(header: str, name: str) -> GridColumn:
        return GridColumn(header, [table[name][i] or "" for i in order])

    shown = [
        GridColumn("", [_SIGNS[table["status"][i]] for i in order]),
        column("rule", "rule"),
        column("metric", "metric"),
        column("allowed", "limit"),
        column("scope", "scope"),
        column("found", "message"),
    ]
    first = f"**{headline(table['status'], unread_count)}**"
    return f"{first}\n\n{markdown_table(shown, code_columns=('metric',))}"


def _failed_first(table: Mapping[str, Sequence[Any]]) -> list[int]:
    statuses = table["status"]
    return sorted(range(len(statuses)), key=lambda i: statuses[i] != "failed")
