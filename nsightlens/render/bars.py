"""Fractions as bars, in eighths of a character where the output has the signs for it."""

from __future__ import annotations

__all__ = ["bar"]

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(fraction: float | None, width: int, *, unicode: bool = True) -> str:
    """Return a bar whose length shows a fraction of the width.

    Parameters
    ----------
    fraction
        [1] What is beyond 0 to 1 is drawn as 0 or 1; ``None`` as nothing at all.
    width
        [character] Of the whole.
    unicode
        Whether block signs may be used; else ``#`` and ``.``.

    Examples
    --------
    >>> bar(0.5, 4, unicode=False), bar(0.01, 4, unicode=False), bar(2.0, 4, unicode=False)
    ('##..', '....', '####')
    >>> len(bar(0.3, 10))
    10
    """
    if fraction is None:
        return " " * width
    share = min(max(fraction, 0.0), 1.0)
    if not unicode:
        full = round(share * width)
        return "#" * full + "." * (width - full)
    eighths = round(share * width * 8)
    if share > 0 and eighths == 0:
        eighths = 1  # a trace is not nothing
    full, rest = divmod(eighths, 8)
    drawn = _EIGHTHS[8] * full + (_EIGHTHS[rest] if rest else "")
    return drawn.ljust(width)
