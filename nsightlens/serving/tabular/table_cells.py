"""Cells of a table -> texts, statements and codes; empty ones are null.

Numbers are read by `table_numbers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EMPTY", "codes_of", "flags_of", "known_text", "texts_of"]

EMPTY = (
    "", "-", "--", "na", "n/a", "[n/a]", "nan", "null", "none", "nil", "?", "[not supported]",
    "not supported", "unknown",
)  # fmt: skip
"""Cells that say that there is no value, in lower case."""

_TRUE = ("true", "yes", "y", "on", "1", "1.0", "enabled")
_FALSE = ("false", "no", "n", "off", "0", "0.0", "disabled")
_BY_NUMBER: dict[float, bool] = {0.0: False, 1.0: True}


def _trimmed(column: Any) -> Any:
    """Return text without spaces around it; None where the column is no text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    return pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else None


def known_text(column: Any) -> Any:
    """Return text without spaces around it, null where a cell says that there is no value."""
    text = _trimmed(column)
    if text is None:
        return None
    is_empty = pc.is_in(pc.utf8_lower(text), value_set=pa.array(EMPTY))
    return pc.if_else(is_empty, pa.scalar(None, pa.string()), text)


def flags_of(column: Any) -> list[bool | None]:
    """Return statements: true and false, yes and no, on and off, 1 and 0; None otherwise."""
    if pa.types.is_boolean(column.type):
        return list(column.to_pylist())
    text = known_text(column)
    if text is None:
        return [
            _BY_NUMBER.get(one) if isinstance(one, (int, float)) else None
            for one in column.to_pylist()
        ]
    meanings = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
    return [meanings.get(one.lower()) if one else None for one in text.to_pylist()]


def texts_of(column: Any) -> list[str | None]:
    """Return texts, None where a cell says that there is none."""
    if _trimmed(column) is None:
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            return [None] * len(column)
    return list(known_text(column).to_pylist())


def codes_of(column: Any) -> tuple[NDArray[Any], list[str]]:
    """Return for each cell which of the distinct texts it is, and these in their order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes_of(pa.array(["b", "a", "b"]))
    (array([1, 0, 1]), ['a', 'b'])
    """
    text = _trimmed(column)
    if text is None:
        text = pa.array([str(one) for one in column.to_pylist()], pa.string())
    coded = pc.dictionary_encode(pc.fill_null(text, ""))
    distinct = np.array(coded.dictionary.to_pylist(), dtype=object)
    order = np.argsort(distinct, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return place[codes], [str(one) for one in distinct[order]]
