"""Scaled units of printed values: ``Gbyte/second`` back to bytes per second.

ncu prints values with a unit of readable size unless it is told ``--print-units base``, and spells
the units differently from version to version. A .ncu-rep file has base units only: bytes, ns,
cycles, Hz, and rates per second.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["base_factor"]

_PREFIXES = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}

# A prefix and what is counted: Kbyte, Ghz, Minst, GB. Not SM, which is a word of its own.
_PREFIXED = re.compile(r"([kKMGTPE])(?:[a-z]{2,}|B|Hz)")

_SECOND = 10**9  # [ns]
_TIMES = {
    **dict.fromkeys(("ns", "nsecond", "nsec"), 1),
    **dict.fromkeys(("us", "usecond", "usec", "\u00b5s", "\u03bcs"), 10**3),
    **dict.fromkeys(("ms", "msecond", "msec"), 10**6),
    **dict.fromkeys(("s", "second", "sec"), _SECOND),
}  # fmt: skip


@lru_cache(maxsize=1024)
def base_factor(unit: str) -> int:
    """Return by what a printed value has to be multiplied to be in its base unit.

    Parameters
    ----------
    unit
        The unit as ncu prints it.

    Returns
    -------
    int
        1 for a base unit and for a word that is not known to be scaled.

    Examples
    --------
    >>> base_factor("Gbyte/second"), base_factor("usecond"), base_factor("register/thread")
    (1000000000, 1000, 1)
    >>> base_factor("cycle/nsecond"), base_factor("Kbyte/block")
    (1000000000, 1000)
    """
    counted, _, per = unit.strip().partition("/")
    factor = _TIMES.get(counted)
    if factor is None:
        prefixed = _PREFIXED.fullmatch(counted)
        factor = _PREFIXES[prefixed[1]] if prefixed is not None else 1
    if per in _TIMES:
        # The base is "per second", whatever the printed one is.
        factor *= _SECOND // _TIMES[per]
    return factor
