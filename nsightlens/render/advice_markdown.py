"""Advice as a Markdown document, with its tables in full and links to its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render.advice_curve import curve_table
from nsightlens.render.advice_sections import advice_parts
from nsightlens.render.advice_table import cost_columns, replica_columns, share_columns
from nsightlens.render.advice_words import headline, setup_words
from nsightlens.render.markdown import code, escaped, markdown_table
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.advisor.answers import Advice
    from nsightlens.render.advice_sections import AdvicePart
    from nsightlens.render.grid import GridColumn

__all__ = ["advice_markdown"]

MOST_FILES = 20
"""Files that are listed; a folder may have thousands."""
_FIGURES = {
    "curve": "Throughput and time between tokens against batch size",
    "kv": "Use of the KV pool against batch size",
    "shares": "Shares of the time of a decode step against batch size",
}
"""Title of a figure by its name, and so the part in which it stands."""
_FIGURE_OF_PART = {"memory": "kv", "why": "shares"}


def advice_markdown(advice: Advice, figures: Mapping[str, str] | None = None) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    figures
        Name of a figure, such as ``curve``, ``kv`` or ``shares``, to its path relative to where
        the document will lie.

    Returns
    -------
    str
        With a line end after each line.
    """
    left = dict(figures or {})
    pieces = [
        "# Which batch size to serve with\n",
        f"{escaped(' · '.join(setup_words(advice)))}\n",
        f"**{escaped(headline(advice))}**\n",
    ]
    if advice.command is not None:
        pieces.append(_fenced(advice.command.splitlines()))
    pieces.append("## The curve\n")
    pieces += _figure("curve", left)
    pieces += _curve(advice)
    for part in advice_parts(advice):
        pieces.append(f"## {part.title}\n")
        pieces.append(_sentences(part))
        if part.commands:
            pieces.append(_fenced(part.commands))
        pieces += _table_of(part, advice)
        pieces += _figure(_FIGURE_OF_PART.get(part.key, ""), left)
    for name in list(left):
        pieces += _figure(name, left)
    if advice.sources:
        pieces.append("## Files\n")
        pieces.append(_files(advice.sources))
    return "\n".join(pieces)


def _files(sources: Sequence[str]) -> str:
    lines = [f"- {code(source)}\n" for source in sources[:MOST_FILES]]
    hidden = len(sources) - MOST_FILES
    if hidden > 0:
        lines.append(f"- and {hidden} more (-f json has all)\n")
    return "".join(lines)


def _sentences(part: AdvicePart) -> str:
    if part.is_list:
        return "".join(f"- {escaped(sentence)}\n" for sentence in part.sentences)
    return f"{escaped(' '.join(part.sentences))}\n"


def _curve(advice: Advice) -> Iterator[str]:
    table = curve_table(advice, mark="choice")
    if table is None:
        yield "No run has both a batch size and a result.\n"
        return
    yield markdown_table(table.columns)
    if table.flags:
        yield f"Flags of every row: {escaped(', '.join(table.flags))}.\n"


def _table_of(part: AdvicePart, advice: Advice) -> Iterator[str]:
    columns: Sequence[GridColumn] = ()
    if part.key == "replicas":
        columns = replica_columns(advice)
    elif part.key == "costs":
        columns = cost_columns(advice.costs)
    elif part.key == "why":
        columns = share_columns(advice.why)
    if columns:
        yield markdown_table(columns)


def _fenced(lines: Sequence[str]) -> str:
    """Return lines as a block of code, whatever they hold."""
    text = "\n".join(plain(line) for line in lines)
    longest = max((len(run) for run in _runs_of_backticks(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{text}\n{fence}\n"


def _runs_of_backticks(text: str) -> list[str]:
    return "".join(sign if sign == "`" else " " for sign in text).split()


def _figure(name: str, left: dict[str, str]) -> Iterator[str]:
    """Yield the link to a figure, once."""
    path = left.pop(name, None)
    if path is not None:
        title = _FIGURES.get(name, name)
        yield f"![{escaped(title)}]({_link(path)})\n"


def _link(path: str) -> str:
    """Return a path as the target of a link, which may not hold spaces or brackets bare."""
    if path.isascii() and not set(path) & set(" ()<>"):
        return plain(path)
    quoted = plain(path).replace("\\", "\\\\").replace("<", "\\<").replace(">", "\\>")
    return f"<{quoted}>"
