"""Markdown tables as GitHub shows them: the columns of the text table, all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.render.grid import GridColumn

__all__ = ["code", "escaped", "markdown_table"]


def markdown_table(columns: Sequence[GridColumn], code_columns: Sequence[str] = ()) -> str:
    r"""Return a table, with a line end after each line.

    Parameters
    ----------
    columns
        From left to right; nothing is shortened or left out.
    code_columns
        Headings of the columns whose cells are names, shown as code.

    Examples
    --------
    >>> from nsightlens.render.grid import GridColumn
    >>> columns = [GridColumn("kernel", ["f<a|b>"]), GridColumn("DRAM\n%", ["91"], align="right")]
    >>> print(markdown_table(columns, ["kernel"]), end="")
    | kernel | DRAM % |
    | --- | ---: |
    | `f<a\|b>` | 91 |
    """
    headers = [" ".join(column.header.split()) for column in columns]
    rules = ["---:" if column.align == "right" else "---" for column in columns]
    count = len(columns[0].cells) if columns else 0
    lines = [_line([escaped(header) for header in headers]), _line(rules)]
    for i in range(count):
        cells = [
            code(column.cells[i]) if header in code_columns else escaped(column.cells[i])
            for header, column in zip(headers, columns, strict=True)
        ]
        lines.append(_line(cells))
    return "".join(line + "\n" for line in lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    r"""Return a text as inline code that stands in a table cell.

    Examples
    --------
    >>> code("a|b"), code("-")
    ('`a\\|b`', '-')
    """
    text = plain(text)
    if text in {"", "-"}:
        return text
    # A run of backticks inside is fenced by a longer one.
    longest = max((len(run) for run in _backtick_runs(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


def _backtick_runs(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def escaped(text: str) -> str:
    r"""Return a text without a sign that Markdown would take for markup.

    Examples
    --------
    >>> escaped("a|b <i> *c*")
    'a\\|b \\<i\\> \\*c\\*'
    """
    text = plain(text)
    for sign in ("\\", "|", "<", ">", "*", "`", "[", "]"):
        text = text.replace(sign, "\\" + sign)
    return text
