"""Which version of ncu knows which GPU, as far as reports and chip lists were seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.programs import run_quietly

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["chips_of", "is_gpu_known", "known_since"]

_CHIPS_TIMEOUT_S = 60.0

# The oldest version of which a report of this GPU was seen or whose chip list has it.
_KNOWN_SINCE = {
    "7.0": (2020, 3), "7.2": (2024, 1), "7.5": (2022, 3), "8.0": (2020, 3), "8.6": (2020, 3),
    "8.7": (2024, 1), "8.9": (2024, 1), "9.0": (2024, 1),
}  # fmt: skip
# The chip list of this version ends with Hopper.
_NEWEST_WITHOUT_BLACKWELL = (2024, 1)
_LEAST = (7, 0)
"""Compute capability of Volta; older GPUs have the counters of nvprof, not those of ncu."""

_CHIPS = {
    "7.0": r"gv100", "7.2": r"gv11b", "7.5": r"tu1\w+", "8.0": r"ga100", "8.6": r"ga10[2-7]",
    "8.7": r"ga10b", "8.9": r"ad10\d", "9.0": r"gh100",
}  # fmt: skip
"""Names in ``ncu --list-chips``; those of Blackwell are not settled."""


def chips_of(ncu: str) -> tuple[str, ...]:
    """Return the chips that an ncu names as those that it knows; empty where it does not say.

    Parameters
    ----------
    ncu
        Path of the program; no GPU is needed.
    """
    try:
        said = run_quietly([ncu, "--list-chips"], timeout_s=_CHIPS_TIMEOUT_S)
    except OSError:
        return ()
    if said.return_code or said.has_timed_out:
        return ()
    return tuple(re.findall(r"\b(?:g[vahb]|tu|ad)\d[0-9a-z]{2,3}\b", said.stdout.lower()))


def known_since(compute_capability: str) -> tuple[int, ...] | None:
    """Return the oldest version of ncu that was seen to know a GPU; None where none was."""
    return _KNOWN_SINCE.get(compute_capability)


def is_gpu_known(
    version: Sequence[int], compute_capability: str | None, chips: Iterable[str] = ()
) -> bool | None:
    """Return whether a version of ncu knows a GPU; None where only trying will tell.

    Parameters
    ----------
    version
        Of ncu, such as ``(2024, 1, 1, 0)``.
    compute_capability
        Of the GPU, such as ``9.0``.
    chips
        What this ncu lists, if it was asked.

    Examples
    --------
    >>> is_gpu_known((2024, 1, 1), "9.0"), is_gpu_known((2024, 1, 1), "12.0")
    (True, False)
    >>> print(is_gpu_known((2025, 1), "10.0"))
    None
    """
    found = re.fullmatch(r"(\d+)\.(\d+)", compute_capability or "")
    if found is None or not version:
        return None
    capability = (int(found[1]), int(found[2]))
    if capability < _LEAST:
        return False
    release = tuple(version[:2])
    listed = tuple(chips)
    pattern = _CHIPS.get(found[0])
    if listed and pattern:
        return any(re.fullmatch(pattern, chip) for chip in listed)
    if found[0] in _KNOWN_SINCE:
        return True if release >= _KNOWN_SINCE[found[0]] else None
    return False if release <= _NEWEST_WITHOUT_BLACKWELL else None
