"""What both command lines of a profiler share: words of options, macros in file names, checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.errors import ProfilerOptionError
from nsightlens.patterns import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from nsightlens.harness.options import Target

__all__ = ["check_more", "check_target", "file_word", "names_of"]


def names_of(words: Iterable[str], short: Mapping[str, str]) -> list[str]:
    """Return the long names of the options among words of a command line.

    Parameters
    ----------
    words
        Each an option, alone or with ``=`` and its value, or a value.
    short
        Long names by letter, such as ``{"c": "launch-count"}``.

    Examples
    --------
    >>> names_of(["--launch-count=3", "-c", "3", "-k=gemm"], {"c": "launch-count"})
    ['launch-count', 'launch-count']
    """
    names = []
    for word in words:
        if word.startswith("--") and len(word) > 2:
            names.append(word[2:].partition("=")[0])
        elif word.startswith("-") and word[1:2] in short:
            names.append(short[word[1]])
    return names


def file_word(path: Path) -> str:
    """Return a file name for a profiler, which takes ``%`` for the beginning of a macro.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> file_word(PurePosixPath("run 50%/report"))
    'run 50%%/report'
    """
    return str(path).replace("%", "%%")


def check_target(target: Target, tool: str) -> None:
    """Refuse a target that a profiler would take for an option of its own.

    Raises
    ------
    ProfilerOptionError
        There is no program, or its name begins with a dash.
    """
    if not target.argv or not target.argv[0]:
        raise ProfilerOptionError(f"no program for {tool} to run: give one after --.")
    if target.argv[0].startswith("-"):
        raise ProfilerOptionError(
            f"{quoted(target.argv[0])} would be an option of {tool}, not a program. Give the "
            "program first, as in: -- python decode.py."
        )


def check_more(
    more: Iterable[str],
    short: Mapping[str, str],
    taken: Collection[str],
    tool: str,
    instead: Mapping[str, str],
) -> list[str]:
    """Return the names of options passed as they are, and refuse those that are ours alone.

    Parameters
    ----------
    more, short
        As in `names_of`.
    taken
        Long names that only we may give: where the output goes, and what would profile nothing.
    tool
        ``ncu`` or ``nsys``.
    instead
        What to use in place of one of them, by name.

    Raises
    ------
    ProfilerOptionError
        One of them is taken.
    """
    names = names_of(more, short)
    for name in names:
        if name in taken:
            advice = instead.get(name, "Leave it out")
            raise ProfilerOptionError(
                f"--{tool}-option --{name}: nsightlens gives {tool} this option itself. {advice}."
            )
    return names
