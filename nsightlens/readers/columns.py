"""Columns of text, as the readers make them.

Text of a report may hold bytes that are not UTF-8. Arrow strings may not: see `clean`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["category", "clean", "constant"]


def clean(text: str | None) -> str | None:
    r"""Return text that Arrow accepts: bytes that were no UTF-8 become ``\xNN``."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def category(values: Iterable[str | None]) -> pa.DictionaryArray:
    """Return a dictionary-encoded column of text."""
    return pa.array(map(clean, values), type=pa.string()).dictionary_encode()


def constant(text: str, count: int) -> pa.DictionaryArray:
    """Return a column that says the same in ``count`` rows."""
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(count, dtype=np.int32)), pa.array([clean(text)], type=pa.string())
    )
