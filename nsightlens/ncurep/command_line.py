"""Options of ncu in its command line, which ends with that of the program it profiles.

Only what stands before the program is ncu's: a program may have options of the same name.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["options_of_ncu"]

# https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html, "Command Line Options": all
# others take an argument.
_FLAGS = frozenset(
    {
        "--call-stack", "--check-exit-code", "--csv", "--details-all",
        "--disable-extra-suffixes", "--disable-profiler-start-stop", "--force-overwrite", "--help",
        "--list-chips", "--list-metrics", "--list-rules", "--list-sections", "--list-sets",
        "--null-stdin", "--nvtx", "--open-in-ui", "--print-fp", "--print-rule-details", "--quiet",
        "--query-metrics", "--support-32bit", "--verbose", "--version", "-f", "-h", "-v",
    }
)  # fmt: skip
# These may stand alone or with a word, which is no program.
_BOOLEAN = frozenset({"on", "off", "yes", "no", "true", "false", "0", "1"})
_NCU = re.compile(r"(?:^|[/\\])(?:ncu|nv-nsight-cu-cli)(?:\.exe|\.bat)?$", re.IGNORECASE)
_MOST_WORDS = 1000
"""A line with more of them before a program is none of ncu."""


def options_of_ncu(line: str) -> dict[str, str]:
    """Return the long options that have a value, without their dashes; the last of each counts.

    Examples
    --------
    >>> options_of_ncu("ncu -f --clock-control none python app.py --cache-control all")
    {'clock-control': 'none'}
    >>> options_of_ncu("ncu --set=full -o out --replay-mode application ./app")
    {'set': 'full', 'replay-mode': 'application'}
    """
    found: dict[str, str] = {}
    words = _words_after_ncu(line)
    word = next(words, None)
    while word is not None and word.startswith("-"):
        name, has_value, value = word.partition("=")
        following = next(words, None)
        if not has_value and following is not None and not _stands_alone(word, following):
            value, following = following, next(words, None)
        if value and name.startswith("--"):
            found[name[2:]] = value
        word = following
    return found


def _stands_alone(option: str, following: str) -> bool:
    return option in _FLAGS and following.lower() not in _BOOLEAN


def _words_after_ncu(line: str) -> Iterator[str]:
    """Return the words of a line after the name of ncu, or after the first where that is none."""
    words = _words(line)
    first = []
    for word in words:
        first.append(word)
        if _NCU.search(word):
            return iter(words)
        if word.startswith("-"):
            break
    return iter([*first[1:], *words])


def _words(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    # Paths of Windows have backslashes, and a sharp sign is no comment.
    lexer.escape, lexer.commenters = "", ""
    try:
        for _, word in zip(range(_MOST_WORDS), lexer, strict=False):
            yield word
    except ValueError:  # a quotation that is never closed: what stood before it counts
        return
