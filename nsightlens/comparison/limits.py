"""Limits of a gate: a number with or without a unit, in the unit of a column."""

from __future__ import annotations

import math
import re

from nsightlens.patterns import nearest

__all__ = ["LimitError", "limit_value", "units_for"]

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")
_TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SCALED = ("B", "B/s", "Hz", "FLOP", "FLOP/s", "op", "inst")


class LimitError(ValueError):
    """A limit cannot be understood; its arguments are a problem and what to do."""


def units_for(unit: str) -> dict[str, float]:
    """Return the units in which a quantity of a unit may be given, and their factors.

    Examples
    --------
    >>> units_for("ns")["ms"], units_for("B")["KiB"], units_for("%")
    (1000000.0, 1024.0, {'%': 1.0})
    """
    if unit == "ns":
        return dict(_TIMES)
    if unit in _SCALED:
        prefixes = _DECIMAL | (_BINARY if unit[0] == "B" else {})
        return {prefix + unit: factor for prefix, factor in prefixes.items()}
    if unit in ("", "1"):
        return {"": 1.0, "1": 1.0, "%": 0.01}
    return {unit: 1.0}


def limit_value(given: object, unit: str) -> float:
    """Return a limit in the unit of a column.

    Parameters
    ----------
    given
        A number, which is in that unit, or a text of a number and a unit.
    unit
        The unit of the column.

    Raises
    ------
    LimitError
        It is neither, or its unit is none of the quantity.

    Examples
    --------
    >>> limit_value("1.5 ms", "ns"), limit_value(80, "%")
    (1500000.0, 80.0)
    """
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        if math.isfinite(given):
            return float(given)
        raise LimitError("is not finite", "Write a number.")
    found = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        advice = f'Write a number in {unit or "1"}, or a text such as "10 {unit}".'
        raise LimitError(f"is {given!r}", advice)
    number, written = found.groups()
    known = units_for(unit)
    if written and written not in known:
        near = nearest(written, list(known))
        told = (
            f"Did you mean {near[0]}?" if near else f"Known are {', '.join(filter(None, known))}."
        )
        raise LimitError(f"has the unit {written!r}, and the metric is in {unit or '1'}", told)
    return float(number) * (known[written] if written else 1.0)
