"""What ncu and nsys say when they fail, told from what their target says.

ncu marks its own lines with ``==PROF==``, ``==WARNING==`` or ``==ERROR==`` and prints them between
those of the target, which may print anything, the name of an error too. So only marked lines count,
and a pattern must begin where the mark ends; a line that was wrapped on its way is put together
again. nsys marks nothing, and its lines must begin with the words themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Severity = Literal["PROF", "WARNING", "ERROR"]

__all__ = ["Said", "ToolLine", "said_by_ncu", "said_by_nsys", "target_lines", "tool_lines"]

_MARK = re.compile(r"(?<!['\"`])==(PROF|WARNING|ERROR)==[ \t]*")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WRAPPED_LINES = 6
"""Lines behind a mark that may belong to it."""


class ToolLine(NamedTuple):
    """One line of ncu's own."""

    severity: Severity
    text: str
    """To the end of its line."""
    whole: str
    """With the lines behind it, which it may have been wrapped onto, as one line."""


class Said(NamedTuple):
    """A failure that the tool named."""

    cause: str
    text: str
    """As it was said."""


def tool_lines(text: str) -> list[ToolLine]:
    r"""Return the marked lines of a text, in their order.

    Examples
    --------
    >>> tool_lines("step 3\n==ERROR== LaunchFailed\nstep 4\n")[0].text
    'LaunchFailed'
    """
    clean = _lines_of(text)
    marks = list(_MARK.finditer(clean))
    ends = [*(mark.start() for mark in marks[1:]), len(clean)] if marks else []
    lines = []
    for mark, end in zip(marks, ends, strict=True):
        rows = clean[mark.end() : end].split("\n")
        whole = " ".join(" ".join(rows[:_WRAPPED_LINES]).split())
        severity: Severity = mark[1]  # type: ignore[assignment]  # one of the three by the pattern
        lines.append(ToolLine(severity, rows[0].strip(), whole))
    return lines


def target_lines(text: str) -> list[str]:
    """Return the lines that ncu did not mark and that say something."""
    unmarked = (line[: mark.start()] if (mark := _MARK.search(line)) else line
                for line in _lines_of(text).split("\n"))  # fmt: skip
    return [line.rstrip() for line in unmarked if line.strip()]


def _lines_of(text: str) -> str:
    return _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def _words(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in text.split())


_BAD_OPTION = (
    r"unrecogni[sz]ed\s+option\b|the\s+argument\s+\(.*?\)\s+for\s+option\s+.*?\s+is\s+invalid"
    r"|the\s+required\s+argument\s+for\s+option\b|option\s+'.*?'\s+cannot\s+be\s+specified"
    r"|option\s+'.*?'\s+is\s+ambiguous"
)
_OF_NCU: tuple[tuple[str, str], ...] = (
    ("option_refused", _BAD_OPTION),
    ("target_not_found", r"'.*?'\s+does\s+not\s+exist\s+or\s+is\s+not\s+an\s+executable"),
    ("report_exists", r"File\s+.*?\s+already\s+exists\."),
    ("counters_not_permitted", r"ERR_NVGPUCTRPERM\b"),
    ("stub_libcuda", _words("Nsight Compute failed to connect to the CUDA driver")),
    ("driver_not_compatible", _words("Cuda driver is not compatible with Nsight Compute")),
    ("gpu_not_supported", _words("Profiling is not supported on")),
    ("lock_file", _words("Failed to open/create lock file")),
    ("driver_resource_held",
     _words("Profiling failed because a driver resource was unavailable")),
    ("mig", _words("Failed to access the following metrics. When profiling on a MIG")),
    ("metric_not_known", r"Failed\s+to\s+(find\s+metric|access\s+the\s+following\s+metrics)\b"),
    ("disk_full", r".*?No\s+space\s+left\s+on\s+device"),
    ("report_not_written", r"(Could\s+not\s+open|Failed\s+to\s+(create|write))\s+report\s+file"),
    ("report_unreadable", _words("Failed to load report file")),
    ("replay_out_of_memory",
     r"(An\s+error\s+was\s+reported\s+by\s+the\s+driver:?|Failed\s+to\s.{,80}?|)\s*out\s?of\s?memory"),
    ("kernel_not_profiled",
     r"LaunchFailed\b|Failed\s+to\s+(prepare\s+kernel|profile\s)|Unknown\s+Error\s+on\s+device"),
    ("kernel_not_profiled", _words("An error was reported by the driver")),
    ("kernel_not_profiled", _words("An error occurred while trying to profile")),
)  # fmt: skip
"""Cause and how its line of ncu begins; the first of them that is found anywhere counts.

The words are those of ncu 2020 to 2025, from its logs and its documentation. Those for a GPU or a
metric that is not known, and for a full disk, are from memory: nobody wrote them down for us.
"""

_OF_NSYS: tuple[tuple[str, str], ...] = (
    ("option_refused", _BAD_OPTION),
    ("target_not_found", r"'.*?'\s+does\s+not\s+exist\s+or\s+is\s+not\s+an\s+executable"),
    ("target_not_found", r"The\s+target\s+executable\s+'.*?'\s+was\s+not\s+found"),
    ("report_newer_than_tool",
     r"(Exportation\s+error:\s+)?Report\s+was\s+created\s+in\s+Nsight\s+Systems\s+version\b"),
    ("report_exists", r"Failed\s+to\s+create\s+'.*?':\s+File\s+exists"),
    ("report_exists", r"\S+\s+already\s+exists\.\s+Use\s+--force-overwrite"),
    ("report_unreadable", r"Exportation\s+error:"),
    ("disk_full", r".*?No\s+space\s+left\s+on\s+device"),
    ("no_cuda_events", r"(CUDA\s+Profiling:\s+|WARNING:\s+)?No\s+CUDA\s+events\s+collected"),
)  # fmt: skip
"""The same of nsys."""

_NCU_PATTERNS = tuple((cause, re.compile(text, re.IGNORECASE)) for cause, text in _OF_NCU)
_NSYS_PATTERNS = tuple((cause, re.compile(text, re.IGNORECASE)) for cause, text in _OF_NSYS)


def said_by_ncu(lines: Sequence[ToolLine]) -> Said | None:
    """Return the failure that ncu named, the one that explains the others; None for none.

    Parameters
    ----------
    lines
        Its marked lines, of both streams.
    """
    errors = [line for line in lines if line.severity == "ERROR"]
    for cause, pattern in _NCU_PATTERNS:
        for line in errors:
            found = pattern.match(line.whole)
            if found:
                # Where it was wrapped, as much as is needed to see what it was.
                return Said(cause, line.text if found.end() <= len(line.text) else found[0])
    return None


def said_by_nsys(text: str) -> Said | None:
    """Return the failure that nsys named; None for none."""
    rows = [row.strip() for row in _lines_of(text).split("\n")]
    for cause, pattern in _NSYS_PATTERNS:
        for row, whole in zip(rows, _with_next(rows), strict=True):
            found = pattern.match(whole)
            if found and row:
                return Said(cause, row if found.end() <= len(row) else found[0])
    return None


def _with_next(rows: Sequence[str]) -> Iterator[str]:
    for i, row in enumerate(rows):
        yield " ".join(" ".join(rows[i : i + 3]).split()) if row else ""
