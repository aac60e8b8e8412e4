"""What every target needs: how a promise is said, a file to read, and values that compare."""

from __future__ import annotations

import struct
import tempfile
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from nsightlens.errors import NsightLensError
from nsightlens.ncurep import NcuRepFile, read_ncu_rep

__all__ = ["Finding", "OnError", "check_error", "check_same", "plain", "promise", "read", "written"]

OnError = Literal["raise", "salvage"]


class Finding(AssertionError):  # noqa: N818 - what is searched for, not only an error
    """A promise that was broken; the text is the same for every input that breaks it alike."""


def promise(holds: bool, text: str) -> None:
    """Raise where something does not hold."""
    if not holds:
        raise Finding(text)


@cache
def folder() -> Path:
    """Return a folder for the files of this process."""
    # Removed by whoever started the search, which ends its process from within the C library.
    return Path(tempfile.mkdtemp(prefix="nsightlens-fuzz-"))


def written(data: bytes, name: str = "report.ncu-rep") -> Path:
    """Return the path of a file that holds the bytes, until the next of the same name."""
    path = folder() / name
    path.write_bytes(data)
    return path


def read(path: Path, on_error: OnError = "salvage") -> NcuRepFile | NsightLensError:
    """Read a report with all instances; return the error where it is refused."""
    try:
        return read_ncu_rep(path, instances=True, on_error=on_error)
    except NsightLensError as error:
        check_error(error)
        return error


def check_error(error: NsightLensError) -> None:
    """Check that an error is not a slip of the reader, which it turns into one that says so."""
    if "the reader failed on it" in str(error):
        raise Finding("the reader slipped") from error
    promise("\n" not in str(error), "an error takes more than one line")


def check_same(one: Any, other: Any) -> None:
    """Compare two records of the same class field by field, so that the finding names the field."""
    for slot in fields(one):
        before, after = getattr(one, slot.name), getattr(other, slot.name)
        if slot.name != "offset" and plain(before) != plain(after):
            raise Finding(f"writing changes {type(one).__name__}.{slot.name}")


def plain(value: Any) -> Any:
    """Return a value so that NaN equals NaN and -0.0 does not equal 0.0, however deep it lies."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if is_dataclass(value):
        return [type(value).__name__, *(plain(getattr(value, f.name)) for f in fields(value))]
    return value
