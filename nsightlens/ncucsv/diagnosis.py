"""What a text is that holds no table of ncu: a console log, another page, another tool's table.

Every answer says what was found and what to do next, for people give the file that their shell
wrote, whatever came out of the profiler.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import NotAReportError
from nsightlens.ncucsv.layout import split_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["not_a_table"]

_GIVE_TABLE = (
    "Give the .ncu-rep that ncu wrote, or what"
    " `ncu --import REPORT.ncu-rep --csv --page raw --print-units base` prints."
)
_GIVE_REPORT = "Give the .ncu-rep that ncu wrote with -o."

_LOG_LINE = re.compile(r"==(PROF|ERROR|WARNING)==\s*(.*)")
_REPORT_LINE = re.compile(r"Report: (.+\S)")
_DETAILS_TEXT = re.compile(r", Context \d+, Stream \d+|^\s+Section: \S")
_NVPROF = re.compile(r"^==\d+== (?:NVPROF is profiling|Profiling |.*nvprof)", re.IGNORECASE)
_NSYS_TEXT = re.compile(r"^\s*(?:\*\* .*\(\w+\):|Generating .*\.qdstrm|Processing \[.*\.sqlite\])")
_NSYS_COLUMNS = {
    "Time (%)", "Total Time (ns)", "Avg (ns)", "Med (ns)", "Start (ns)", "Duration (ns)", "CorrId",
    "Total Time", "Time(%)", "Total Time(ns)",
}  # fmt: skip

# Headings of the session page.
_SESSION_PARTS = frozenset({
    "Session", "Session Details", "Session Information", "Launch Details", "Launch Settings",
    "Device Attributes", "Executable Settings", "Profiler Settings",
})  # fmt: skip

_MOST_SHOWN = 120
_MOST_COLUMNS = 6
_DELIMITERS = (",", ";", "\t")


class _Cause(NamedTuple):
    """What a line of ncu says where there is no table, and what helps."""

    pattern: str
    advice: str


# The most telling first.
_CAUSES = (
    _Cause(
        r"ERR_NVGPUCTRPERM",
        "Let ncu read the GPU's counters: run it as root or with CAP_SYS_ADMIN, or have the driver"
        " loaded with NVreg_RestrictProfilingToAdminUsers=0; then profile again.",
    ),
    _Cause(
        r"already exists",
        "Profile again with -f or under another name, or give the report that is there.",
    ),
    _Cause(
        r"driver resource was unavailable|lock file",
        "End the other profiler on this GPU (DCGM: dcgmi profile --pause) and profile again.",
    ),
    _Cause(
        r"failed to connect to the CUDA driver|not compatible with Nsight Compute",
        "Profile on a machine whose driver this Nsight Compute supports.",
    ),
    _Cause(
        r"unrecogni[sz]ed option|is not an executable|[Ff]ailed to load report",
        "Correct the command line of ncu and run it again.",
    ),
    _Cause(
        r"LaunchFailed|[Ff]ailed to (prepare kernel|profile)|trying to profile",
        "See that the program runs without ncu, then profile again, with fewer metrics or"
        " --replay-mode application.",
    ),
    _Cause(
        r"application returned an error code",
        "See that the program ends with 0 without ncu, then profile again.",
    ),
    _Cause(
        r"No kernels were profiled",
        "See that the filters of ncu (-k, --launch-skip, --nvtx-include, --target-processes) let a"
        " kernel through, then profile again.",
    ),
)


def not_a_table(path: str, lines: Sequence[str]) -> NotAReportError:
    """Return the error of a text without a table of ncu."""
    texts = [line.strip("\ufeff") for line in lines]
    first = next((i for i, line in enumerate(texts) if line.strip()), None)
    if first is None:
        return NotAReportError(path, "the text is empty", _GIVE_TABLE)
    for tell in (_of_text_page, _of_log, _of_other_profiler, _of_session_page, _of_table):
        told = tell(texts, first)
        if told is not None:
            problem, advice, line = told
            where = () if line is None else (f"line {line + 1}",)
            return NotAReportError(path, problem, advice, where=where)
    problem = f"this is text without a table of ncu; it begins with {_shown(texts[first])!r}"
    return NotAReportError(path, problem, _GIVE_TABLE)


_Told = tuple[str, str, int | None]


def _of_text_page(lines: Sequence[str], first: int) -> _Told | None:  # noqa: ARG001
    """Recognise what ncu prints for people: tables drawn with dashes."""
    for i, line in enumerate(lines):
        if _DETAILS_TEXT.search(line):
            return "this is the text that ncu prints without --csv", _GIVE_TABLE, i
    return None


def _of_log(lines: Sequence[str], first: int) -> _Told | None:  # noqa: ARG001
    """Recognise a console log, and find the line that tells most."""
    log = [
        (i, found[1], found[2].strip())
        for i, line in enumerate(lines)
        if (found := _LOG_LINE.search(line)) is not None
    ]
    if not log:
        return None
    what = "this is a console log of ncu, not a table"
    report = next((found[1] for _, _, text in log if (found := _REPORT_LINE.match(text))), None)
    give = f"Give the report that it names, {_shown(report)}." if report is not None else None
    for cause in _CAUSES:
        for i, _, text in log:
            if re.search(cause.pattern, text):
                advice = f"{give} If it holds too few launches: {cause.advice}" if give else ""
                return what + _said(text, log), advice or cause.advice, i
    failure = next(((i, text) for i, kind, text in log if kind == "ERROR"), None)
    if failure is not None:
        i, text = failure
        return what + _said(text, log), give or "Mend that and profile again.", i
    return what, give or _GIVE_TABLE, log[0][0]


def _said(text: str, log: Sequence[tuple[int, str, str]]) -> str:
    """Quote the line that tells most, and that nothing was profiled where the log says so."""
    nothing = next((other for _, _, other in log if other.startswith("No kernels were")), text)
    return "; it says " + " and ".join(
        repr(_shown(one).rstrip(".")) for one in dict.fromkeys((text, nothing))
    )


def _of_other_profiler(lines: Sequence[str], first: int) -> _Told | None:
    for i, line in enumerate(lines):
        if _NVPROF.search(line):
            return "this is output of nvprof, not of ncu", _GIVE_REPORT, i
        if _NSYS_TEXT.search(line) or re.search(r"\bnsys (nvprof|profile|stats)\b", line):
            return _NSYS, _GIVE_REPORT, i
    cells = _cells(lines[first])
    if cells is not None and _NSYS_COLUMNS & set(cells):
        return _NSYS, _GIVE_REPORT, first
    return None


_NSYS = "this is output of nsys (Nsight Systems), which has times but no metrics of kernels"


def _of_session_page(lines: Sequence[str], first: int) -> _Told | None:
    """Recognise what ncu says of the machine and its settings, printed as a table or as text."""
    for i in range(first, len(lines)):
        cells = _cells(lines[i]) or [lines[i].strip().strip('"')]
        if not _SESSION_PARTS.isdisjoint(cells):
            problem = "this is the session page of ncu (--page session), which has no launches"
            return problem, _GIVE_TABLE, i
    return None


def _of_table(lines: Sequence[str], first: int) -> _Told | None:
    """Recognise a table of something else, and name its columns."""
    if lines[first].lstrip()[:1] in ("{", "["):
        return "this is JSON, not a table of ncu", _GIVE_TABLE, None
    for i in range(first, len(lines)):
        cells = _cells(lines[i])
        after = _cells(lines[i + 1]) if i + 1 < len(lines) else None
        if cells is None or after is None or len(after) != len(cells):
            continue
        if "Source" in cells and {"#", "Address"} & set(cells):
            return (
                "this is the source page of ncu (--page source), which has no launches",
                _GIVE_TABLE,
                i,
            )
        columns = ", ".join(_quoted(cells[:_MOST_COLUMNS]))
        more = f" and {len(cells) - _MOST_COLUMNS} more" if len(cells) > _MOST_COLUMNS else ""
        problem = (
            f"this is a table with the columns {columns}{more}: neither the raw nor the details"
            " page of ncu, but another page or made from one by another program"
        )
        return problem, _GIVE_TABLE, i
    return None


def _cells(line: str) -> list[str] | None:
    """Split a line that looks like a row of a table: two cells or more, by the best delimiter."""
    if not any(delimiter in line for delimiter in _DELIMITERS):
        return None
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        cells = [cell.strip() for cell in split_line(line, delimiter)]
    except csv.Error:
        return None
    return cells if len(cells) > 1 else None


def _quoted(names: Iterable[str]) -> list[str]:
    return [repr(_shown(name, 40)) for name in names]


def _shown(text: str, longest: int = _MOST_SHOWN) -> str:
    """Return a text as part of a message of one line."""
    text = " ".join(text.split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= longest else f"{text[: longest - 1]}\u2026"
