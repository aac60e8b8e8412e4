"""Patterns that a user writes for names: ``*`` and ``?``, and nothing else.

Brackets stand for themselves, unlike in `fnmatch`: they occur in NVTX ranges such as
``layer[3]``. Imports nothing of ours; used wherever a pattern is taken.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["is_pattern", "matcher_of", "pattern_of"]


def is_pattern(text: str) -> bool:
    """Return whether a text stands for more names than itself.

    Examples
    --------
    >>> is_pattern("dram__*"), is_pattern("layer[3]")
    (True, False)
    """
    return "*" in text or "?" in text


def pattern_of(text: str) -> re.Pattern[str]:
    """Return the expression that matches the whole of each name that a pattern stands for.

    Parameters
    ----------
    text
        ``*`` stands for any characters, also none; ``?`` for exactly one. Case counts.

    Examples
    --------
    >>> bool(pattern_of("layer[?]").match("layer[3]"))
    True
    """
    # fnmatch knows how to match many stars without trying every way; a set of one bracket is it.
    return re.compile(fnmatch.translate(text.replace("[", "[[]")))


def matcher_of(texts: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether any of some patterns stands for a name.

    Examples
    --------
    >>> matches = matcher_of(["dram__*", "launch__waves"])
    >>> matches("dram__bytes.sum"), matches("launch__waves_per")
    (True, False)
    """
    patterns = [pattern_of(text) for text in texts]
    return lambda name: any(pattern.match(name) for pattern in patterns)
