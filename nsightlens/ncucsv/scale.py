"""Printed units to base units: ``Gbyte/second`` is bytes per second, times ten to the ninth.

ncu prints values with a unit of readable size unless it is told ``--print-units base``, and spells
the units differently from version to version. A .ncu-rep file has base units only: bytes, ns,
cycles, Hz, and rates per second. Whether a unit is one of a metric's is for the caller to say.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["BaseUnit", "base_unit"]

_PREFIXES = {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

# A prefix and what is counted: Kbyte, Ghz, Minst, GB. Not SM, which is a word of its own.
_PREFIXED = re.compile(r"([kKMGTPE])([a-z]{2,}|B|Hz)")

# In the base of times, ns.
_TIMES = {
    **dict.fromkeys(("ns", "nsecond", "nsec"), 0),
    **dict.fromkeys(("us", "usecond", "usec", "\u00b5s", "\u03bcs"), 3),
    **dict.fromkeys(("ms", "msecond", "msec"), 6),
    **dict.fromkeys(("s", "second", "sec"), 9),
}

_WORDS = {
    "byte": "B", "bytes": "B", "hz": "Hz", "bits": "bit",
    # NVIDIA's plurals, where there is one.
    "branches": "branch", "sectors": "sector", "cycles": "cycle",
}  # fmt: skip


class BaseUnit(NamedTuple):
    """What a printed unit is in base units.

    ``name`` is the base unit: ``B``, ``ns``, ``Hz``, ``%``, ``inst``, ``B/s``, ``sector/s``; a word
    that is not known is left as it is. ``power`` is the power of ten by which a printed value has
    to be multiplied to be in it.
    """

    name: str
    power: int


@lru_cache(maxsize=1024)
def base_unit(unit: str) -> BaseUnit:
    """Return what a printed unit is in base units.

    Parameters
    ----------
    unit
        The unit as ncu prints it.

    Examples
    --------
    >>> tuple(base_unit("Gbyte/second")), tuple(base_unit("usecond"))
    (('B/s', 9), ('ns', 3))
    >>> tuple(base_unit("cycle/nsecond")), tuple(base_unit("Kbyte/block"))
    (('Hz', 9), ('B/block', 3))
    >>> tuple(base_unit("fortnight"))
    ('fortnight', 0)
    """
    counted, slash, per = unit.strip().partition("/")
    power = _TIMES.get(counted)
    if power is not None:
        counted = "ns"
    else:
        prefixed = _PREFIXED.fullmatch(counted)
        power = _PREFIXES[prefixed[1]] if prefixed is not None else 0
        counted = prefixed[2] if prefixed is not None else counted
        counted = _WORDS.get(counted, counted)
    if per in _TIMES:
        # The base is "per second", whatever the printed one is.
        power += _TIMES["s"] - _TIMES[per]
        per = "s"
    per = _WORDS.get(per, per)
    name = f"{counted}{slash}{per}"
    return BaseUnit("Hz" if name == "cycle/s" else name, power)
