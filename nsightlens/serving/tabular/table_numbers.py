"""Cells of a table -> numbers; what cannot be told is refused or left out.

Plain numbers go through Arrow as whole columns. The cells that are left, such as ``"1,234.5"`` or
``12.3 ms``, are understood once per distinct text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.serving.tabular.table_cells import known_text
from nsightlens.serving.tabular.table_units import Unit, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["AmbiguousNumberError", "Numbers", "comma_meaning", "lists_of", "numbers_of"]

_PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DOTTED = r"^[+-]?\d+\.\d+$"
_DOT_GROUPS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"
_COMMA_GROUPS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"
_SURE_THOUSANDS = r"^[+-]?[1-9]\d{0,2}((,\d{3})+\.\d+|(,\d{3}){2,})$"
_SURE_DECIMAL = r"^[+-]?(\d+,\d+([eE][+-]?\d+)?|[1-9]\d{0,2}(\.\d{3})+,\d+)$"
_INFINITE = frozenset({"inf", "+inf", "infinity", "+infinity", "\u221e"})


class AmbiguousNumberError(ValueError):
    """Commas stand in numbers, and nothing says whether for thousands or for decimals."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers.

    Parameters
    ----------
    values
        float64, NaN where a cell has no number.
    unit
        Unit that stands in the cells themselves; None where there is none.
    strange
        Distinct cells that are neither empty nor a number, at most three.
    strange_row
        Row, from 0, of the first of them.
    """

    values: NDArray[Any]
    unit: Unit | None = None
    strange: tuple[str, ...] = ()
    strange_row: int | None = None


def comma_meaning(columns: Iterable[Any], delimiter: str) -> str:
    """Return what commas in the numbers of a table stand for: ``thousands`` or ``decimal``.

    Parameters
    ----------
    columns
        That are to hold numbers.
    delimiter
        Of the table. Where it is a comma, and nothing else decides, commas in quotes are of
        thousands: that is how programs write that use commas as delimiters.

    Raises
    ------
    AmbiguousNumberError
        Numbers contradict each other, or all are like ``1,234``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> comma_meaning([pa.array(["1,5", "2,25"])], ";")
    'decimal'
    """
    columns = list(columns)
    if not any(_has_comma(column) for column in columns):
        return "thousands"
    decimal = thousands = unclear = None
    for column in columns:
        text = known_text(column)
        if text is None:
            continue
        if not _first(text, ","):
            thousands = thousands or _first(text, _DOTTED, but=_DOT_GROUPS)
            continue
        thousands = (
            thousands or _first(text, _SURE_THOUSANDS) or _first(text, _DOTTED, but=_DOT_GROUPS)
        )
        decimal = decimal or _first(text, _SURE_DECIMAL, but=_COMMA_GROUPS)
        unclear = unclear or _first(text, _COMMA_GROUPS)
    if decimal and thousands:
        raise AmbiguousNumberError(
            f"has numbers with a decimal comma ({decimal!r}) and others without ({thousands!r})"
        )
    if unclear and not decimal and not thousands and delimiter != ",":
        raise AmbiguousNumberError(
            f"has numbers such as {unclear!r}, whose comma may be of thousands or of decimals"
        )
    return "decimal" if decimal else "thousands"


def _has_comma(column: Any) -> bool:
    return pa.types.is_string(column.type) and bool(pc.any(pc.match_substring(column, ",")).as_py())


def _first(text: Any, pattern: str, *, but: str = "") -> str | None:
    mask = pc.match_substring_regex(text, pattern)
    if but:
        mask = pc.and_not(mask, pc.match_substring_regex(text, but))
    found = pc.index(mask, True).as_py()
    return str(text[found].as_py()) if found >= 0 else None


def numbers_of(column: Any, comma: str = "thousands") -> Numbers:
    """Return a column as numbers.

    Parameters
    ----------
    column
        Arrow array of text or of numbers.
    comma
        What a comma in a number stands for, see `comma_meaning`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_of(pa.array(["12.5", "", "1,234"])).values
    array([  12.5,    nan, 1234. ])
    """
    if comma == "thousands" and (plain_values := _all_plain(column)) is not None:
        return Numbers(plain_values)
    text = known_text(column)
    if text is None:
        return Numbers(_of_typed(column))
    is_plain = pc.match_substring_regex(text, _PLAIN)
    if comma == "decimal":
        is_plain = pc.and_not(is_plain, pc.match_substring_regex(text, _DOT_GROUPS))
    plain = pc.if_else(is_plain, text, pa.scalar(None, pa.string()))
    values = _float64(pc.cast(plain, pa.float64()))
    rest = pc.indices_nonzero(pc.fill_null(pc.invert(is_plain), False))
    if not len(rest):
        return Numbers(values)
    return _with_rest(values, pc.take(text, rest), rest, comma)


def _all_plain(column: Any) -> NDArray[Any] | None:
    """Return the numbers of text cells that are all plain and finite, else None: most are."""
    if not pa.types.is_string(column.type) or column.null_count:
        return None
    try:
        values = np.array(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None
    return values if np.isfinite(values).all() else None


def _float64(array: Any) -> NDArray[Any]:
    filled = pc.fill_null(array, math.nan)
    return np.array(filled.to_numpy(zero_copy_only=False), dtype=np.float64)


def _of_typed(column: Any) -> NDArray[Any]:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _float64(column.cast(pa.float64(), safe=False))
    if pa.types.is_boolean(kind):
        return _float64(column.cast(pa.int8()).cast(pa.float64()))
    return np.full(len(column), math.nan)


def _with_rest(values: NDArray[Any], texts: Any, rows: Any, comma: str) -> Numbers:
    coded = pc.dictionary_encode(texts)
    distinct = coded.dictionary.to_pylist()
    parsed = [_parsed(one, comma) for one in distinct]
    units = {unit for number, unit in parsed if unit is not None}
    has_plain = bool(np.isfinite(values).any())
    # One unit for the whole column, or none: a number without a unit among others is not known.
    mixed = len(units) > 1 or (units and has_plain)
    bad = [
        index
        for index, (number, unit) in enumerate(parsed)
        if number is None or (mixed and unit is not None)
    ]
    numbers = np.array([math.nan if one is None else one for one, _ in parsed], np.float64)
    numbers[bad] = math.nan
    codes = coded.indices.to_numpy(zero_copy_only=False)
    where = rows.to_numpy(zero_copy_only=False)
    values[where] = numbers[codes]
    strange = tuple(distinct[index] for index in bad[:3])
    first = int(where[np.isin(codes, bad)][0]) if bad else None
    unit = next(iter(units)) if units and not mixed else None
    return Numbers(values, unit, strange, first)


def _parsed(text: str, comma: str) -> tuple[float | None, Unit | None]:
    number = _number(text, comma)
    if number is not None:
        return number, None
    match = re.fullmatch(r"([+-]?[\d.,eE+-]*\d)\s*([^\d\s].{0,20})", text)
    if not match:
        return None, None
    unit = unit_of(match[2])
    number = _number(match[1], comma)
    return (None, None) if unit is None or number is None else (number, unit)


def _number(text: str, comma: str) -> float | None:
    if text.lower() in _INFINITE:
        return math.inf
    cleaned = re.sub(r"(?<=\d)[ '\u00a0\u202f\u2019](?=\d{3}(?!\d))", "", text)
    if comma == "decimal":
        if re.fullmatch(_DOT_GROUPS, cleaned) or re.fullmatch(_SURE_DECIMAL, cleaned):
            cleaned = cleaned.replace(".", "").replace(",", ".")
    elif re.fullmatch(_COMMA_GROUPS, cleaned) or re.fullmatch(_SURE_THOUSANDS, cleaned):
        cleaned = cleaned.replace(",", "")
    return float(cleaned) if re.fullmatch(_PLAIN, cleaned) else None


def lists_of(column: Any) -> list[list[float]]:
    """Return the numbers of cells that hold one per server: ``"8749,8748"``.

    Empty where a cell has none or is no such list.
    """
    text = known_text(column)
    if text is None:
        return [[] if math.isnan(one) else [float(one)] for one in _of_typed(column)]
    found: list[list[float]] = []
    for cell in text.to_pylist():
        parts = re.split(r"[,;|/\s]+", (cell or "").strip("[](){} "))
        numbers = [_number(part, "thousands") for part in parts if part]
        known = [one for one in numbers if one is not None]
        found.append(known if len(known) == len(numbers) else [])
    return found
