"""Names that a user gives, on the command line or one a line in a file, whatever their bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nsightlens.cli.talk import say
from nsightlens.errors import ReportNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lines_of", "typed"]


def lines_of(path: str) -> Iterator[str]:
    r"""Open a file and return its lines without their ends.

    Bytes that are not UTF-8 stand as ``\xff``, so that one of them costs no row; the first line
    that has one is told.

    Parameters
    ----------
    path
        The file; ``-`` for standard input.

    Raises
    ------
    ReportNotFoundError
        There is no such file, or it cannot be read.
    """
    try:
        if path != "-":
            return _decoded(path, Path(path).open("rb"))
        if sys.stdin is None:
            raise ReportNotFoundError("-: standard input is closed.")
        return _decoded(path, sys.stdin.buffer)
    except OSError as error:
        if isinstance(error, ReportNotFoundError):
            raise
        raise ReportNotFoundError(f"{path}: {error.strerror or error}.") from error


def typed(name: str) -> str:
    """Return a name from the command line; bytes that are not UTF-8 stand there as in a file."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(name)
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            say("warning", _not_utf8("the command line", 0, raw[error.start]))
        return raw.decode(errors="backslashreplace")
    return name


def _decoded(path: str, file: IO[bytes]) -> Iterator[str]:
    is_told = False
    try:
        for number, line in enumerate(file, 1):
            bare = line.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                bare = bare.removeprefix(b"\xef\xbb\xbf")
            try:
                yield bare.decode()
            except UnicodeDecodeError as error:
                if not is_told:
                    is_told = True
                    say("warning", _not_utf8(path, number, bare[error.start]))
                yield bare.decode(errors="backslashreplace")
    except OSError as error:
        raise ReportNotFoundError(f"{path}: {error.strerror or error}.") from error
    finally:
        if path != "-":
            file.close()


def _not_utf8(path: str, number: int, byte: int) -> str:
    place = f"{path}: line {number}" if number else path
    return (
        f"{place}: the byte \\x{byte:02x} is not UTF-8. "
        r"Bytes that are not are shown as \xNN."
    )
