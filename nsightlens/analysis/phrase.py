"""Text columns built from number columns: the words of `nsightlens.analysis.reason`.

Every function works on whole columns. Texts are Arrow string arrays; null stands for nothing to
say, and `sentence` leaves it out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "choose",
    "concat",
    "digits",
    "percent",
    "scaled_rate",
    "sentence",
    "significant",
    "when",
]

_MOST_DIGITS = 1e6
_RATE_STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


def significant(values: NDArray[np.float64]) -> Any:
    """Return numbers with three significant digits; null for NaN.

    Examples
    --------
    >>> significant(np.array([0.98765, 295.2, 1234.5, np.nan])).to_pylist()
    ['0.988', '295', '1234', None]
    """
    texts = [
        None if math.isnan(value) else ("%.0f" if 99.95 <= abs(value) < 1e6 else "%.3g") % value
        for value in values.tolist()
    ]
    return pa.array(texts, pa.string())


def percent(fraction: NDArray[np.float64]) -> Any:
    """Return fractions as percentages; null for NaN.

    Examples
    --------
    >>> percent(np.array([0.914, 0.0426, 0.0001, 0.0])).to_pylist()
    ['91 %', '4.3 %', '<0.1 %', '0 %']
    """
    value = np.where(np.isfinite(fraction), fraction, 0.0) * 100.0
    # What is no percentage at all is written as a power of ten.
    is_absurd = np.abs(value) >= _MOST_DIGITS
    given, value = value, np.where(is_absurd, 0.0, value)
    whole, tenths = np.rint(value).astype(np.int64), np.rint(value * 10.0).astype(np.int64)
    is_small = number_array((value > 0) & (value < 0.1))
    decimal = concat(digits(tenths // 10), ".", digits(tenths % 10))
    text = pc.if_else(number_array((value == 0) | (value >= 9.95)), digits(whole), decimal)
    text = pc.if_else(is_small, "<0.1", text)
    if is_absurd.any():
        text = pc.if_else(number_array(is_absurd), significant(given), text)
    text = concat(text, " %")
    return when(~np.isnan(fraction), text)


def digits(values: NDArray[np.int64]) -> Any:
    """Return whole numbers as text."""
    return number_array(values).cast(pa.string())


def scaled_rate(achieved: NDArray[np.float64], peak: NDArray[np.float64], unit: Any) -> Any:
    """Return ``achieved of peak`` in the prefix that suits the peak, such as ``3.1 of 3.35 TB/s``.

    Parameters
    ----------
    achieved, peak
        [unit/s] Shape (n,).
    unit
        Text column of the unit, such as ``B``. Shape (n,).

    Examples
    --------
    >>> scaled_rate(np.array([3.1e12]), np.array([3.35e12]), pa.array(["B"])).to_pylist()
    ['3.1 of 3.35 TB/s']
    """
    steps = [step for step, _ in _RATE_STEPS]
    with np.errstate(invalid="ignore"):
        index = np.select([peak >= step for step in steps], range(len(steps)), len(steps) - 1)
    divisor = np.array(steps)[index]
    prefix = choose(index, tuple(name for _, name in _RATE_STEPS))
    return concat(
        significant(achieved / divisor),
        " of ",
        significant(peak / divisor),
        " ",
        prefix,
        unit,
        "/s",
    )


def choose(code: NDArray[np.integer[Any]], texts: tuple[str, ...]) -> Any:
    """Return the text of each code; null for a negative code."""
    return pa.DictionaryArray.from_arrays(
        number_array(np.maximum(code, 0).astype(np.int32), code >= 0),
        pa.array(texts, pa.string()),
    ).cast(pa.string())


def concat(*parts: Any) -> Any:
    """Join columns and constants of text; null where one of them is null."""
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def when(condition: NDArray[np.bool_], text: Any) -> Any:
    """Return the text where the condition holds, else null.

    Most texts are for a case that most reports do not have: ``text`` may be a function that makes
    the column, which is called only where the condition holds in some row.
    """
    if not condition.any():
        return pa.nulls(len(condition), pa.string())
    if callable(text):
        text = text()
    return pc.if_else(number_array(condition), text, pa.scalar(None, pa.string()))


def sentence(*clauses: Any, separator: str = "; ") -> Any:
    """Join clauses, leaving out what is null; null where all are."""
    # Not binary_join_element_wise(null_handling="skip"): it drops rows in which all are null.
    said = [clause for clause in clauses if clause.null_count < len(clause)]
    joined, *others = said or clauses[:1]
    for clause in others:
        both = pc.binary_join_element_wise(joined, clause, separator, null_handling="emit_null")
        joined = pc.coalesce(both, joined, clause)
    return joined
