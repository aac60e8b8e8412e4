"""CSV as RFC 4180 says: a heading, one line per row, CRLF, quotes where needed.

A missing value is an empty cell; a float has all the digits that it takes to read it back.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["csv_pieces"]

_PLAIN = frozenset([str, type(None)])


def csv_pieces(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    r"""Yield the text of a CSV file, one line a piece.

    Parameters
    ----------
    names
        The columns, in order; a row may have further keys.
    rows
        Read once, in order.

    Examples
    --------
    >>> "".join(csv_pieces(["a", "b"], [{"a": 1, "b": None}, {"a": 'x"y', "b": True}]))
    'a,b\r\n1,\r\n"x""y",true\r\n'
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(names)
    yield buffer.getvalue()
    for row in rows:
        buffer.seek(0)
        buffer.truncate()
        cells = map(row.__getitem__, names)
        # Most cells are texts or missing, and stand as they are.
        writer.writerow([cell if cell.__class__ in _PLAIN else _cell(cell) for cell in cells])
        yield buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ";".join(map(str, value))
    return value
