"""A file of serving results, looked at once and by every reader: bytes, text, JSON, rows."""

from __future__ import annotations

import json
import stat
from functools import cached_property
from pathlib import Path
from typing import Any

from nsightlens.errors import ReportNotFoundError, ServingFileError

__all__ = ["LARGEST_BYTES", "OpenedFile"]

LARGEST_BYTES = 1 << 30
"""[B] A larger file is refused: results are kilobytes, and logs of a day some hundred megabytes."""

_HEAD_BYTES = 1 << 16


class OpenedFile:
    """One file, read at most once.

    Parameters
    ----------
    path
        Where it lies.
    shown
        How messages and tables name it; the path where not given.

    Raises
    ------
    ReportNotFoundError
        It cannot be read.
    ServingFileError
        It is larger than `LARGEST_BYTES`.
    """

    def __init__(self, path: str | Path, shown: str | None = None) -> None:
        self.path = Path(path)
        self.shown = shown or str(path)
        self.name = self.path.name
        """File name without folders."""
        try:
            status = self.path.stat()
            with self.path.open("rb") as file:
                # A pipe has no size, and can be read once.
                is_file = stat.S_ISREG(status.st_mode)
                self._head = file.read(_HEAD_BYTES if is_file else LARGEST_BYTES + 1)
            self.byte_count = status.st_size if is_file else len(self._head)
            self._is_whole = len(self._head) >= self.byte_count
        except OSError as error:
            reason = error.strerror or str(error)
            raise ReportNotFoundError(f"{self.shown}: cannot be read: {reason}.") from None
        if self.byte_count > LARGEST_BYTES:
            raise ServingFileError(
                self.shown,
                f"has {self.byte_count / 2**30:.1f} GiB, more than a result or log should have",
                "Give the summary that the benchmark wrote, without details of each request.",
            )

    @cached_property
    def data(self) -> bytes:
        """All bytes."""
        if self._is_whole:
            return self._head
        try:
            return self.path.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise ReportNotFoundError(f"{self.shown}: cannot be read: {reason}.") from None

    @cached_property
    def head(self) -> str:
        """Text of the first 64 KiB; what is no text is replaced."""
        return _decoded(self._head[:_HEAD_BYTES])

    @cached_property
    def first_line(self) -> str:
        """The first line of text that is not blank, without spaces around it."""
        return self.head.lstrip().split("\n", 1)[0].strip()

    @cached_property
    def text(self) -> str:
        """All text: UTF-8 or UTF-16 by its mark; what is no text is replaced."""
        return _decoded(self.data)

    @property
    def is_text(self) -> bool:
        """Whether the beginning has no NUL byte, but for UTF-16 with its mark."""
        return self._head[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\0" not in self._head

    @property
    def looks_like_json(self) -> bool:
        """Whether the first character that is no space opens an object or a list."""
        return self.head.lstrip("\ufeff \t\r\n")[:1] in {"{", "["}

    @cached_property
    def json(self) -> Any:
        """The JSON value of the whole file; None where it is none (see `json_problem`).

        Bare ``NaN`` and ``Infinity`` are taken, as Python's writer writes them.
        """
        if not self.looks_like_json:
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def json_lines(self) -> tuple[tuple[int, dict[str, Any]], ...]:
        """Objects of a file with one JSON object a line, with their line numbers from 1.

        Lines that are no objects are left out; see `bad_line_numbers`.
        """
        return self._lines[0]

    @cached_property
    def bad_line_numbers(self) -> tuple[int, ...]:
        """Lines, from 1, that are neither empty nor a JSON object."""
        return self._lines[1]

    @cached_property
    def _lines(self) -> tuple[tuple[tuple[int, dict[str, Any]], ...], tuple[int, ...]]:
        good, bad = [], []
        for number, line in enumerate(self.text.lstrip("\ufeff").split("\n"), 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                good.append((number, value))
            else:
                bad.append(number)
        return tuple(good), tuple(bad)

    @cached_property
    def objects(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Objects of the file, each with its place: of one JSON value, a list, or a line each.

        ``("", {...})`` for a file that is one object, ``("[0]", ...)`` for a list of objects,
        ``("line 2", ...)`` for lines. Empty where the file holds no object.
        """
        value = self.json
        if isinstance(value, dict):
            return (("", value),)
        if isinstance(value, list):
            return tuple((f"[{i}]", one) for i, one in enumerate(value) if isinstance(one, dict))
        if self.looks_like_json:
            return tuple((f"line {number}", one) for number, one in self.json_lines)
        return ()

    def json_problem(self) -> str:
        """Return what is wrong with a file that looks like JSON and is none, in one clause."""
        try:
            json.loads(self.text)
        except RecursionError:
            return "is nested too deeply"
        except json.JSONDecodeError as error:
            unfinished = error.msg.startswith("Unterminated string")
            cut = unfinished or error.pos >= len(self.text.rstrip())
            place = f"line {error.lineno}, column {error.colno}"
            return f"ends early, at {place}" if cut else f"is no JSON from {place}: {error.msg}"
        except ValueError as error:
            return f"is no JSON: {error}"
        return "is no object"


def _decoded(data: bytes) -> str:
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")
