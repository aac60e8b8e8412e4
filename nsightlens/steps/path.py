"""NVTX paths as text become ranges again: `ranges_of`.

A path joins domains and start/end ranges by ``;`` and the ranges of a stack by ``/``. A name may
hold a ``/`` itself, as in ``decode[bs=3/8 tok=3 d=3]``: neighbours that are a label only together
are put together again.
"""

from __future__ import annotations

from typing import NamedTuple

from nsightlens.steps.label import may_hold_slashes
from nsightlens.steps.model import DEFAULT_DOMAIN
from nsightlens.steps.nsightlens_v1 import DOMAIN as OWN_DOMAIN

__all__ = ["DomainRanges", "ranges_of"]

_MOST_SLASHES = 2
"""Of a label that a grammar knows."""


class DomainRanges(NamedTuple):
    """Ranges of one domain, outermost first; of start/end ranges, one at a time."""

    domain: str
    names: list[str]


def ranges_of(path: str) -> list[DomainRanges]:
    """Split a path into the ranges of each domain.

    Examples
    --------
    >>> ranges_of("layer/decode[bs=3/8 tok=3 d=3];NCCL@ncclAllReduce")[0].names
    ['layer', 'decode[bs=3/8 tok=3 d=3]']
    """
    found = []
    for part in path.split(";"):
        domain, at, rest = part.partition("@")
        if not at or "/" in domain:
            domain, rest = DEFAULT_DOMAIN, part
        found.append(DomainRanges(domain, _names(domain, rest.split("/"))))
    return found


def _names(domain: str, pieces: list[str]) -> list[str]:
    if domain == OWN_DOMAIN:
        return pieces  # whose names hold no slash
    names = []
    start = 0
    while start < len(pieces):
        end = start + 1
        for longer in range(min(start + 1 + _MOST_SLASHES, len(pieces)), start + 1, -1):
            if may_hold_slashes("/".join(pieces[start:longer])):
                end = longer
                break
        names.append("/".join(pieces[start:end]))
        start = end
    return names
