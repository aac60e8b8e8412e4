"""Units as people write them into headers and cells -> what to multiply by.

Nothing is guessed: a text that is no unit here is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Unit", "is_unit_row", "unit_of"]


class Unit(NamedTuple):
    """What kind of quantity a unit is of, and its size.

    Parameters
    ----------
    kind
        ``time``, ``share``, ``memory``, ``frequency``, ``power``, ``tokens_per_s``,
        ``requests_per_s``, or ``other``: known, of no use here.
    size
        [ms], [%], [GiB], [MHz], [W], [1/s] that one of the unit is.
    is_decimal_by_name
        True for GB and MB, which servers of LLMs write for powers of two.
    is_per_token
        True for ``ms/token``.
    """

    kind: str
    size: float
    is_decimal_by_name: bool = False
    is_per_token: bool = False


_TIMES = {
    "s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3,
    "ms": 1.0, "msec": 1.0, "msecs": 1.0, "millis": 1.0, "millisecond": 1.0, "milliseconds": 1.0,
    "us": 1e-3, "usec": 1e-3, "usecs": 1e-3, "\u00b5s": 1e-3, "\u03bcs": 1e-3,
    "microsecond": 1e-3, "microseconds": 1e-3,
    "ns": 1e-6, "nsec": 1e-6, "nsecs": 1e-6, "nanosecond": 1e-6, "nanoseconds": 1e-6,
    "minute": 6e4, "minutes": 6e4,  # "min" in a header is a minimum
}  # fmt: skip
_MEMORY = {
    "gib": 1.0, "mib": 2**-10, "kib": 2**-20, "b": 2**-30, "byte": 2**-30, "bytes": 2**-30,
    "tib": 2.0**10,
}  # fmt: skip
_MEMORY_AS_WRITTEN = {"gb": 1.0, "mb": 2**-10, "tb": 2.0**10}
_SHARES = {
    "%": 1.0, "pct": 1.0, "percent": 1.0, "percentage": 1.0,
    "fraction": 100.0, "frac": 100.0, "ratio": 100.0,
}  # fmt: skip
_FREQUENCIES = {"hz": 1e-6, "khz": 1e-3, "mhz": 1.0, "ghz": 1e3}
_POWERS = {"w": 1.0, "mw": 1e-3, "kw": 1e3, "watt": 1.0, "watts": 1.0}
_COUNTED = {
    **dict.fromkeys(("tok", "toks", "token", "tokens", "t"), "tokens_per_s"),
    **dict.fromkeys(("req", "reqs", "request", "requests", "query", "queries"), "requests_per_s"),
}
_OTHER = frozenset(
    {
        "c", "idx", "bool", "mb/s", "gb/s", "gib/s", "tb/s", "flop/s", "tflop/s", "token",
        "tokens", "tok", "req", "reqs", "request", "requests", "count", "counts", "#", "-",
        "seq", "seqs", "sequences", "block", "blocks", "gpu", "gpus", "1",
    }
)  # fmt: skip


def unit_of(text: str) -> Unit | None:
    """Return the unit that a text is; None where it is none that is known.

    Examples
    --------
    >>> unit_of("us").size, unit_of("tokens/sec").kind, unit_of("furlong")
    (0.001, 'tokens_per_s', None)
    """
    word = text.strip().lower()
    for kind, sizes in (
        ("time", _TIMES),
        ("memory", _MEMORY),
        ("share", _SHARES),
        ("frequency", _FREQUENCIES),
        ("power", _POWERS),
    ):
        if word in sizes:
            return Unit(kind, sizes[word])
    if word in _MEMORY_AS_WRITTEN:
        return Unit("memory", _MEMORY_AS_WRITTEN[word], is_decimal_by_name=True)
    return _rate(word) or (Unit("other", 1.0) if word in _OTHER else None)


def _rate(word: str) -> Unit | None:
    """Return the unit of a rate: ``tok/s``, ``requests per second``, ``ms/token``."""
    above, slash, below = word.replace(" per ", "/").replace(" / ", "/").partition("/")
    if not slash:
        return None
    if above in _COUNTED and below in _TIMES:
        return Unit(_COUNTED[above], 1e3 / _TIMES[below])
    if above in _TIMES and _COUNTED.get(below) == "tokens_per_s":
        return Unit("time", _TIMES[above], is_per_token=True)
    if above == "1" and below in _TIMES:
        return Unit("requests_per_s", 1e3 / _TIMES[below])
    return None


def is_unit_row(cells: Sequence[str], wanted: int) -> bool:
    """Return whether a row under the header is of nothing but units, at least one of them.

    Examples
    --------
    >>> is_unit_row(["", "ms", "[tok/s]"], 3), is_unit_row(["1", "3.5", "300"], 3)
    (True, False)
    """
    if len(cells) != wanted:
        return False
    texts = [one.strip().strip("[]()").strip() for one in cells]
    known = [one for one in texts if one]
    return (
        bool(known)
        and all(unit_of(one) is not None for one in known)
        and any(not one.isdecimal() and one != "-" for one in known)
    )
