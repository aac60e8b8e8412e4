"""Advice as one page of text: the batch size, the command line, the curve, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.advice_curve import curve_table
from nsightlens.render.advice_sections import advice_parts
from nsightlens.render.advice_words import headline, setup_words
from nsightlens.render.grid import indented
from nsightlens.render.metric_table import table_lines
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.advisor.answers import Advice
    from nsightlens.render.advice_sections import AdvicePart
    from nsightlens.render.style import Style

__all__ = ["advice_lines"]

PAGE = 60
"""[line] What a page should not exceed at 80 columns: the table of the curve gives way."""
MOST_ROWS, LEAST_ROWS = 12, 8
"""Rows of the curve that are shown, at most and at least."""
_INDENT = 12
"""[character] Room for the word before a part."""
_NARROW = 60
"""[character] Below this width, the word has a line of its own."""


def advice_lines(advice: Advice, style: Style, width: int | None = None) -> Iterator[str]:
    """Yield the lines of the page, without line ends.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    style
        What the output can show.
    width
        [character] Columns that a line may take, in place of those of the style. Only a command,
        which is there to be copied, may be longer.
    """
    if width is not None:
        style = style._replace(width=width)
    head = list(_head_lines(advice, style))
    parts = [part for part in advice_parts(advice) if part.most]
    rest = [line for part in parts for line in _part_lines(part, style)]
    yield from head
    room = PAGE - len(head) - len(rest) - _AROUND_TABLE
    yield from _curve_lines(advice, style, max(LEAST_ROWS, min(MOST_ROWS, room)))
    yield ""
    yield from rest


_AROUND_TABLE = 4
"""Lines of the table of the curve that are no rows: heading, what is not shown, a blank one."""


def _head_lines(advice: Advice, style: Style) -> Iterator[str]:
    dot = f" {style.sign('·')} "
    setup = dot.join(plain(word) for word in setup_words(advice))
    yield from (style.paint(line, "dim") for line in indented(setup, style, 0, breaks_words=True))
    for line in indented(plain(headline(advice)), style, 0, breaks_words=True):
        yield style.paint(line, "head")
    if advice.command is not None:
        yield ""
        # A command is never broken: it is there to be copied.
        yield from (f"  {plain(line)}" for line in advice.command.splitlines())
    yield ""


def _curve_lines(advice: Advice, style: Style, most: int) -> Iterator[str]:
    table = curve_table(advice, most)
    if table is None:
        yield "No run has both a batch size and a result."
        return
    yield from table_lines(table.columns, style)
    notes = []
    if table.flags:
        notes.append(f"flags of every row: {', '.join(table.flags)}")
    if table.hidden:
        count = numbers.counted(table.hidden, "more batch size")
        notes.append(f"{count} not shown (-f csv has all)")
    if notes:
        text = plain("; ".join(notes))
        yield from (style.paint(line, "dim") for line in indented(text, style, 0))


def _part_lines(part: AdvicePart, style: Style) -> Iterator[str]:
    is_narrow = style.width < _NARROW
    indent = 2 if is_narrow else _INDENT
    if is_narrow:
        yield style.paint(part.word, "head")
    word = None if is_narrow else part.word
    for text, bullet in _texts(part):
        lines = indented(
            plain(text), style, indent + len(bullet), " " * indent + bullet, breaks_words=True
        )
        if word is not None and lines:
            lines[0] = style.paint(word, "head") + lines[0][len(word) :]
            word = None
        yield from lines
    for line in part.commands:
        yield " " * indent + plain(line)


def _texts(part: AdvicePart) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of a part, each with what stands before it."""
    if not part.is_list:
        yield " ".join(part.sentences[: part.most]), ""
        return
    bullet = "- " if len(part.sentences) > 1 else ""
    yield from ((sentence, bullet) for sentence in part.sentences[: part.most])
    hidden = len(part.sentences) - part.most
    if hidden > 0:
        yield f"and {hidden} more (-f json has all)", bullet
