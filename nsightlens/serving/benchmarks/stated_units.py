"""Units as result files state them beside a number -> the units of ``serving_runs``.

One reader says ``ms``, the next ``s/token`` or ``(per sec)``: what is not known is None, so that no
reader guesses a factor of a thousand.
"""

from __future__ import annotations

__all__ = ["ms_of", "pct_of", "per_second_of"]

_MS = {
    "s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3,
    "ms": 1.0, "msec": 1.0, "millisecond": 1.0, "milliseconds": 1.0,
    "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "usec": 1e-3, "microsecond": 1e-3, "microseconds": 1e-3,
    "ns": 1e-6, "nsec": 1e-6, "nanosecond": 1e-6, "nanoseconds": 1e-6,
    "min": 6e4, "minute": 6e4, "minutes": 6e4,
}  # fmt: skip
_PCT = {
    "%": 1.0, "percent": 1.0, "percentage": 1.0, "pct": 1.0,
    "1": 100.0, "ratio": 100.0, "fraction": 100.0,
}  # fmt: skip


def _word(unit: object) -> str:
    return unit.strip().lower() if isinstance(unit, str) else ""


def ms_of(unit: object) -> float | None:
    """Return how many milliseconds a unit of time is, ``/token`` or not; None where unknown.

    Examples
    --------
    >>> ms_of("s/token"), ms_of("us"), ms_of("furlong")
    (1000.0, 0.001, None)
    """
    return _MS.get(_word(unit).removesuffix("/token").removesuffix(" per token"))


def per_second_of(unit: object) -> float | None:
    """Return what to multiply a rate by to have it per second; None where its unit is unknown.

    Examples
    --------
    >>> per_second_of("tokens/sec"), per_second_of("per sec"), per_second_of("queries/min")
    (1.0, 1.0, 0.016666666666666666)
    """
    word = _word(unit).replace("per ", "/")
    if "/" not in word:
        return None
    scale = _MS.get(word.split("/")[1].strip())
    return None if scale is None or word.count("/") > 1 else 1e3 / scale


def pct_of(unit: object) -> float | None:
    """Return what to multiply a share by to have it in percent; None where its unit is unknown.

    Examples
    --------
    >>> pct_of("percent"), pct_of("ratio"), pct_of("GiB")
    (1.0, 100.0, None)
    """
    return _PCT.get(_word(unit))
