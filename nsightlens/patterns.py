"""Patterns that a user writes for names: those of ``*`` and ``?``, and regular expressions.

Brackets stand for themselves beside ``*`` and ``?``, unlike in `fnmatch`: they occur in NVTX ranges
such as ``layer[3]``. Imports nothing of ours; used wherever a pattern is taken.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["expression_of", "is_pattern", "matcher_of", "nearest", "pattern_of", "quoted"]

_LONGEST = 60
"""[character] Of what a message repeats: a C++ name may have thousands."""


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


def expression_of(text: str) -> re.Pattern[str]:
    """Compile a regular expression that a user wrote.

    Parameters
    ----------
    text
        As Python's `re` takes it.

    Raises
    ------
    ValueError
        It is none. The message says why, without the expression and without a full stop.

    Examples
    --------
    >>> bool(expression_of("gemm|gemv").search("a_gemv"))
    True
    """
    try:
        return re.compile(text)
    except re.error as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"{error.msg}{place}") from error
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    except OverflowError as error:
        raise ValueError(str(error)) from error


def quoted(text: str) -> str:
    """Return a text in quotes as a message repeats it, cut in the middle where it is long.

    Examples
    --------
    >>> quoted("gemm"), len(quoted("a" * 10_000))
    ("'gemm'", 65)
    """
    half = _LONGEST // 2
    return repr(text if len(text) <= _LONGEST else f"{text[:half]}...{text[-half:]}")


def nearest(text: str, known: Collection[str], most: int = 1) -> list[str]:
    """Return the known texts that somebody may have meant, the nearest first.

    Examples
    --------
    >>> nearest("nome", ["name", "source"])
    ['name']
    """
    import difflib  # noqa: PLC0415 - only an error needs it

    return difflib.get_close_matches(text, known, n=most)
