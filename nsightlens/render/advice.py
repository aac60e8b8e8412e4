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
_MOST_OF_LISTS = (3, 2, 1)
"""Sentences of each list, fewer where they would not fit on the page."""
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
    # Narrow lines make more of them: what is said stays the same.
    room = PAGE * max(1.0, 80 / style.width) - len(head) - _AROUND_TABLE
    rest = _rest_lines(advice, style, room - LEAST_ROWS)
    yield from head
    rows = max(LEAST_ROWS, min(MOST_ROWS, int(room) - len(rest)))
    yield from _curve_lines(advice, style, rows)
    yield ""
    yield from rest


_AROUND_TABLE = 4
"""Lines of the table of the curve that are no rows: heading, what is not shown, a blank one."""


def _rest_lines(advice: Advice, style: Style, room: float) -> list[str]:
    """Return all parts, with fewer sentences of each list where there is no room for them."""
    parts = [part for part in advice_parts(advice) if part.most]
    lines: list[str] = []
    for most in _MOST_OF_LISTS:
        short = [
            part._replace(most=min(part.most, most)) if part.is_list else part for part in parts
        ]
        lines = [line for part in short for line in _part_lines(part, style)]
        if len(lines) <= room:
            break
    return lines


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
