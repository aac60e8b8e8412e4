"""Scaled units of printed values: ``Gbyte/second`` back to bytes per second.

ncu prints values with a unit of readable size unless it is told ``--print-units base``, and spells
the units differently from version to version. A .ncu-rep file has base units only: bytes, ns,
cycles, Hz, and rates per second.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["base_power"]

_PREFIXES = {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

# A prefix and what is counted: Kbyte, Ghz, Minst, GB. Not SM, which is a word of its own.
_PREFIXED = re.compile(r"([kKMGTPE])(?:[a-z]{2,}|B|Hz)")

# In the base of times, ns.
_TIMES = {
    **dict.fromkeys(("ns", "nsecond", "nsec"), 0),
    **dict.fromkeys(("us", "usecond", "usec", "\u00b5s", "\u03bcs"), 3),
    **dict.fromkeys(("ms", "msecond", "msec"), 6),
    **dict.fromkeys(("s", "second", "sec"), 9),
}


@lru_cache(maxsize=1024)
def base_power(unit: str) -> int:
    """Return the power of ten by which a printed value has to be multiplied to be in base units.

    Parameters
    ----------
    unit
        The unit as ncu prints it.

    Returns
    -------
    int
        0 for a base unit and for a word that is not known to be scaled.

    Examples
    --------
    >>> base_power("Gbyte/second"), base_power("usecond"), base_power("register/thread")
    (9, 3, 0)
    >>> base_power("cycle/nsecond"), base_power("Kbyte/block")
    (9, 3)
    """
    counted, _, per = unit.strip().partition("/")
    power = _TIMES.get(counted)
    if power is None:
        prefixed = _PREFIXED.fullmatch(counted)
        power = _PREFIXES[prefixed[1]] if prefixed is not None else 0
    if per in _TIMES:
        # The base is "per second", whatever the printed one is.
        power += _TIMES["s"] - _TIMES[per]
    return power
