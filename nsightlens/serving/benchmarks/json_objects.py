"""JSON objects of a file however they were written: one, a list, one a line, or one after another.

Also the rows of a CSV as such objects, for tables that were made of them.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile

__all__ = ["Objects", "objects_of", "rows_of"]


class Objects(NamedTuple):
    """Objects with their places in the file, and the places that hold none."""

    found: tuple[tuple[str, dict[str, Any]], ...]
    bad: tuple[str, ...]


def objects_of(file: OpenedFile) -> Objects:
    """Return the objects of a file that looks like JSON.

    Parameters
    ----------
    file
        One object or list, an object a line, or objects that were appended with line breaks
        inside them.

    Returns
    -------
    Objects
        Without any where the file is no JSON at all.
    """
    if not file.looks_like_json:
        return Objects((), ())
    if file.json is not None:
        return Objects(file.objects, ())
    first = file.text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if _is_object(first):
        bad = tuple(f"line {number}" for number in file.bad_line_numbers)
        return Objects(file.objects, bad)
    return _one_after_another(file.text.lstrip("\ufeff"))


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _one_after_another(text: str) -> Objects:
    decoder = json.JSONDecoder()
    found: list[tuple[str, dict[str, Any]]] = []
    position = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if position == len(text):
            return Objects(tuple(found), ())
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            line = text.count("\n", 0, position) + 1
            return Objects(tuple(found), (f"what begins at line {line}",) if found else ())
        if isinstance(value, dict):
            found.append((f"object {len(found) + 1}", value))
        position = end


def rows_of(file: OpenedFile) -> Objects:
    """Return the rows of a CSV as objects, with numbers and truth values read.

    Raises
    ------
    ServingFileError
        It is no CSV that can be read.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(file.text, newline="")))
    except csv.Error as error:
        raise ServingFileError(
            file.shown, f"is no CSV that can be read: {error}", "Write it again, without details."
        ) from None
    return Objects(
        tuple(
            (
                f"row {number}",
                {key: _cell(cell) for key, cell in row.items() if isinstance(key, str)},
            )
            for number, row in enumerate(rows, 1)
        ),
        (),
    )


def _cell(text: Any) -> Any:
    """Return a cell as JSON would have it; empty ones, and those that are missing, as None."""
    if not isinstance(text, str) or not text.strip():
        return None
    if text in {"True", "False"}:
        return text == "True"
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and text.strip().isdecimal() else number
