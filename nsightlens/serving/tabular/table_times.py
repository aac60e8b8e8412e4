"""A column of times -> seconds: of a clock, or from the begin of a run."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.serving.tabular.table_cells import known_text
from nsightlens.serving.tabular.table_numbers import numbers_of
from nsightlens.serving.tabular.table_units import unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Times", "is_time_name", "times_of"]

_NAME = re.compile(
    r"(?:time|timestamp|time_?stamp|ts|date|datetime|elapsed|elapsed_time|relative_time|t|unix_time"
    r"|epoch|scrape_time)(?:_?(s|sec|secs|seconds|ms|us|ns|utc))?"
)
_EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (1e8, 1.0))
"""Least number of a clock since 1970, and its unit [s]: no run lasts three years of seconds."""


class Times(NamedTuple):
    """When each row was taken.

    Parameters
    ----------
    seconds
        [s] NaN where a cell holds no time.
    is_clock
        Whether they are of a clock, such as seconds since 1970.
    is_unit_assumed
        Whether nothing says that they are seconds.
    """

    seconds: NDArray[Any]
    is_clock: bool
    is_unit_assumed: bool = False


def _split(name: str) -> tuple[str, str]:
    base, unit = name.strip().lower(), ""
    match = re.fullmatch(r"(.*?)\s*[\[(]([^\])]*)[\])]", base)
    if match:
        base, unit = match[1], match[2]
    return re.sub(r"[\s.-]+", "_", base.strip(" #")), unit


def is_time_name(name: str) -> bool:
    """Return whether a header names a column of times.

    Examples
    --------
    >>> [is_time_name(one) for one in ("time [s]", "timestamp_ns", "Time", "duration_s")]
    [True, True, True, False]
    """
    base, unit = _split(name)
    known = not unit or unit in {"utc", "local"} or unit_of(unit) is not None
    return bool(_NAME.fullmatch(base)) and known


def times_of(column: Any, name: str, row_unit: str = "") -> Times | None:
    """Return a column of times in seconds; None where its cells are no times.

    Parameters
    ----------
    column
        Arrow array of text, numbers or timestamps.
    name
        Header, which may have a unit.
    row_unit
        Unit of a second row of header.

    Examples
    --------
    >>> import pyarrow as pa
    >>> times_of(pa.array(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01.5Z"]), "time").seconds % 60
    array([0. , 1.5])
    """
    if pa.types.is_timestamp(column.type):
        seconds = _of_timestamps(column)
        return Times(seconds, is_clock=True)
    numbers = numbers_of(column)
    if np.isfinite(numbers.values).any():
        return _of_numbers(numbers.values, name, row_unit)
    return _of_text(column)


def _of_timestamps(column: Any) -> NDArray[Any]:
    whole = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())
    filled = pc.fill_null(whole.cast(pa.float64(), safe=False), math.nan)
    return np.array(filled.to_numpy(zero_copy_only=False), dtype=np.float64) * 1e-6


def _of_numbers(values: NDArray[Any], name: str, row_unit: str) -> Times:
    values = np.where(np.isfinite(values), values, math.nan)
    base, unit = _split(name)
    match = _NAME.fullmatch(base)
    unit = unit or row_unit.strip("[]() ") or (match[1] if match and match[1] else "")
    known = unit_of(unit) if unit else None
    largest = float(np.nanmax(np.abs(values)))
    if known is not None and known.kind == "time":
        seconds = values * (known.size * 1e-3)
        return Times(seconds, is_clock=float(np.nanmax(seconds)) > 1e8)
    for least, size in _EPOCHS:
        if largest >= least:
            return Times(values * size, is_clock=True)
    return Times(values, is_clock=False, is_unit_assumed=True)


def _of_text(column: Any) -> Times | None:
    text = known_text(column)
    if text is None:
        return None
    text = pc.replace_substring_regex(text, r"^(\d{4})[/.](\d\d)[/.](\d\d)", r"\1-\2-\3")
    text = pc.replace_substring_regex(text, r"(\d)T(\d)", r"\1 \2")
    text = pc.replace_substring_regex(text, r" ?(Z|UTC|[+-]\d\d:?\d\d)$", "")
    # Arrow reads a fraction of a second as numpy does, of at most nine digits.
    text = pc.replace_substring_regex(text, r"(\.\d{9})\d+$", r"\1")
    is_time = pc.match_substring_regex(text, r"^\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d+)?)?)?$")
    kept = pc.if_else(is_time, text, pa.scalar(None, pa.string()))
    if kept.null_count == len(kept):
        return None
    try:
        stamps = pc.cast(kept, pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return None
    whole = stamps.cast(pa.int64()).cast(pa.float64(), safe=False)
    seconds = np.array(pc.fill_null(whole, math.nan).to_numpy(zero_copy_only=False), np.float64)
    return Times(seconds * 1e-9, is_clock=True)
