"""Where the tables of ncu are in a text, and their rows.

ncu prints its table between lines of its own (``==PROF==``) and of the profiled application; a file
may hold the tables of several runs. A header row is known by its first names, a row by the number
under "ID"; every other line is somebody else's output.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["RawTable", "Row", "find_tables", "split_line"]

# A header starts where these two names follow each other: in the middle of a line where the
# application's last one had no end; behind the unnamed index column of a pandas export.
_QUOTED_HEADER = re.compile(r'(?:^\ufeff?""[,;\t])?"ID"([,;\t])"Process ID"')
_PLAIN_HEADER = re.compile(r"^\ufeff?(?:[,;\t])?ID([,;\t])Process ID(?=[,;\t])")

# The row of a launch, which may follow output without a line end.
_QUOTED_ROW = re.compile(r'"[0-9]+"[,;\t]"[0-9]+"[,;\t]')

# How a row starts: with the numbers of a launch and its process, or, that of units, without. Lines
# of other programs are left alone, whatever quotes they have.
_QUOTED_START = re.compile(r'"[0-9]*(?:\.0)?"[,;\t]"[0-9]*(?:\.0)?"[,;\t]')
_PLAIN_START = re.compile(r"(?:[0-9]*[,;\t])?[0-9]*(?:\.0)?[,;\t][0-9]*(?:\.0)?[,;\t]")
_QUOTED_STUB = re.compile(r'"[0-9]*(?:"(?:[,;\t](?:"[0-9]*"?)?)?)?')

_MOST_LINES_IN_A_ROW = 1000
_INTEGER = re.compile(r"[0-9]+(?:\.0)?")  # pandas makes 0.0 of an integer beside the row of units


class Row(NamedTuple):
    """One row of a table.

    ``line`` counts from 1. ``is_closed`` is False where a quoted cell has no end, and ``is_last``
    True where the text ends with the row.
    """

    line: int
    cells: list[str]
    is_closed: bool
    is_last: bool


class RawTable(NamedTuple):
    """A header and the lines up to the next header or the end of the text.

    ``line`` is that of the header, counting from 1; ``lines`` are those that follow it.
    """

    header: tuple[str, ...]
    line: int
    delimiter: str
    is_quoted: bool
    lines: Sequence[str]

    def rows(self) -> Iterator[Row]:
        """Yield the rows: of units (no ID), and of launches; other lines are left out."""
        position = 0
        while position < len(self.lines):
            start = position
            text = self._row_start(position)
            position += 1
            if text is None:
                continue
            text, position, is_closed = self._joined(text, position)
            cells = split_line(text, self.delimiter)
            is_last = position == len(self.lines)
            if self._is_row(cells) or (is_last and _QUOTED_STUB.fullmatch(text)):
                yield Row(self.line + 1 + start, cells, is_closed, is_last)

    def _row_start(self, position: int) -> str | None:
        """Return the row that starts in a line, or None where none does."""
        text = self.lines[position]
        if not self.is_quoted:
            return text if _PLAIN_START.match(text) else None
        text = _without_output(text)
        if _QUOTED_START.match(text):
            return text
        is_last = position + 1 == len(self.lines)
        return text if is_last and _QUOTED_STUB.fullmatch(text) else None

    def _joined(self, text: str, position: int) -> tuple[str, int, bool]:
        """Put a row together whose quoted text has line ends in it."""
        if text.count('"') % 2 == 0:
            return text, position, True
        parts = [text]
        for following in range(position, min(position + _MOST_LINES_IN_A_ROW, len(self.lines))):
            line = self.lines[following]
            if self.is_quoted and _QUOTED_ROW.match(line):
                break
            parts.append(line)
            if line.count('"') % 2:
                return "\n".join(parts), following + 1, True
        return text, position, False

    def _is_row(self, cells: list[str]) -> bool:
        first = self.header.index("ID")
        # Output of the application may look like a row, but not for long.
        if len(cells) < min(4, len(self.header)) + first:
            return False
        launch, process = cells[first].strip(), cells[first + 1].strip()
        if not launch:
            return not process and not cells[first + 2].strip()
        return bool(_INTEGER.fullmatch(launch) and _INTEGER.fullmatch(process))


def find_tables(lines: Sequence[str]) -> list[RawTable]:
    """Return the tables of a text, in its order.

    Raises
    ------
    csv.Error
        A header is longer than Python's limit for one field.
    """
    starts = [(i, found) for i, line in enumerate(lines) if (found := _header(line)) is not None]
    tables = []
    end = len(lines)
    for start, (text, delimiter, is_quoted) in reversed(starts):
        header = tuple(split_line(text, delimiter))
        if "ID" not in header:
            continue  # its names stand in one cell with something of another delimiter
        tables.append(RawTable(header, start + 1, delimiter, is_quoted, lines[start + 1 : end]))
        end = start
    return tables[::-1]


def split_line(text: str, delimiter: str) -> list[str]:
    """Split one row into cells.

    Raises
    ------
    csv.Error
        A cell is longer than Python's limit for one field.
    """
    return next(csv.reader([text], delimiter=delimiter), [])


def _header(line: str) -> tuple[str, str, bool] | None:
    """Return the header that a line holds, its delimiter, and whether its names are quoted."""
    if "Process ID" not in line:
        return None
    found = _QUOTED_HEADER.search(line)
    if found is not None:
        return line[found.start() :].lstrip("\ufeff"), found[1], True
    found = _PLAIN_HEADER.match(line)
    if found is not None:
        return line.lstrip("\ufeff"), found[1], False
    return None


def _without_output(text: str) -> str:
    if text.startswith('"'):
        return text
    found = _QUOTED_ROW.search(text)
    return text[found.start() :] if found is not None else text
