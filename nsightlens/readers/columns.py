"""Columns of text, as the readers make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["category", "constant", "shown_path"]


def shown_path(path: str) -> str:
    r"""Return a path as the tables and messages spell it.

    A path may hold bytes that are not UTF-8, which neither Arrow nor JSON can; they become
    ``\xNN``. Text of a report needs no such care: `nsightlens.ncurep` decodes it that way.
    """
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def category(values: Iterable[str | None]) -> pa.DictionaryArray:
    """Return a dictionary-encoded column of text."""
    return pa.array(values, type=pa.string()).dictionary_encode()


def constant(text: str, count: int) -> pa.DictionaryArray:
    """Return a column that says the same in ``count`` rows."""
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(count, dtype=np.int32)), pa.array([text], type=pa.string())
    )
