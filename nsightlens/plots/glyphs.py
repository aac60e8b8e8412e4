"""Text that the font of a figure can draw."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from nsightlens.plots.words import harmless

__all__ = ["drawable"]

_PLAIN = frozenset(map(chr, range(32, 127)))


def drawable(text: str) -> str:
    """Return a text with "?" for what the font has no sign for; lines stay lines.

    matplotlib would draw a box, and warn of each.

    Examples
    --------
    >>> drawable("gemm µs"), drawable(chr(0x6838))
    ('gemm µs', '?')
    """
    if _PLAIN.issuperset(text):
        return text
    known = _characters(_family())
    return "\n".join(
        "".join(c if ord(c) in known else "?" for c in harmless(line)) for line in text.split("\n")
    )


def _family() -> tuple[str, ...]:
    import matplotlib as mpl

    family: Any = mpl.rcParams["font.family"]
    return tuple([family] if isinstance(family, str) else family)


@lru_cache(maxsize=8)
def _characters(family: tuple[str, ...]) -> frozenset[int]:
    """Return the code points of the font that is used for a family."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=list(family)))).get_charmap())
