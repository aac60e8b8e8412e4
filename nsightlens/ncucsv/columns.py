"""What the columns of a table are: of a launch, of a metric, of a rule; and which page it is.

Two forms: wide (``--page raw``: a column for each metric, their units in the first row) and long
(``--page details``: a row for each metric and each rule message).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncucsv.model import CsvLaunch, CsvNvtxRange

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Columns", "columns_of", "launch_of", "problem_of"]

# Columns that say what a row belongs to.
_KEY = ("ID", "Process ID", "Host Name", "Kernel Name")
_LAUNCH = (
    *_KEY, "Process Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
    "Kernel Time", "Thread ID",
)  # fmt: skip

# Columns of the long form.
SECTION, ITEM, METRIC, UNIT, VALUE = (
    "Section Name", "Body Item Label", "Metric Name", "Metric Unit", "Metric Value",
)  # fmt: skip
RULE, RULE_KIND, RULE_TEXT, SPEEDUP_SCOPE, SPEEDUP = (
    "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup",
)  # fmt: skip
_LONG = (
    SECTION, ITEM, METRIC, UNIT, VALUE, RULE, RULE_KIND, RULE_TEXT, SPEEDUP_SCOPE, SPEEDUP,
)  # fmt: skip

# Within the names of the two NVTX columns, which list the fields of a range in their order.
_PUSH_POP, _START_STOP = "Push/Pop_Range", "Start/Stop_Range"

_EXTENT = re.compile(r"\(?\s*(\d{1,19})\s*,\s*(\d{1,19})\s*,\s*(\d{1,19})\s*\)?")
_INTEGER = re.compile(r"(\d{1,19})(?:\.0)?")


class Columns(NamedTuple):
    """Where the columns of a table are.

    ``place`` has the position of each column that is not a metric's; ``metrics`` those of metrics,
    empty in the long form.
    """

    place: dict[str, int]
    metrics: dict[int, str]
    is_long: bool

    def cell(self, cells: Sequence[str], name: str) -> str:
        """Return what a row says in a column; empty where either lacks it."""
        index = self.place.get(name)
        return cells[index].strip() if index is not None and index < len(cells) else ""

    def key(self, cells: Sequence[str]) -> tuple[str, ...]:
        """Return what names the launch of a row within its file."""
        return tuple(self.cell(cells, name) for name in _KEY)


def columns_of(header: Sequence[str]) -> Columns:
    """Sort the columns of a header."""
    names = [name.strip() for name in header]
    is_long = METRIC in names
    known = {*_LAUNCH, *_LONG} if is_long else set(_LAUNCH)
    place: dict[str, int] = {}
    metrics: dict[int, str] = {}
    for index, name in enumerate(names):
        if name in known or _PUSH_POP in name or _START_STOP in name or is_long:
            place.setdefault(name, index)
        elif name:
            metrics[index] = name
    return Columns(place, metrics, is_long)


def problem_of(columns: Columns) -> tuple[str, str] | None:
    """Say why a table of ncu cannot be read, and what to do; None where it can."""
    if "Kernel Name" not in columns.place:
        return "the table has no column 'Kernel Name'", "Give the CSV as ncu printed it."
    if columns.is_long and VALUE not in columns.place:
        if "Average" in columns.place:
            problem = "this is a summary over launches (--print-summary), not the launches"
            return problem, "Print it again without --print-summary."
        return f"the table has no column {VALUE!r}", "Give the CSV as ncu printed it."
    if columns.is_long and UNIT not in columns.place:
        problem = f"the table has no column {UNIT!r}, and values may be scaled"
        return problem, "Give the CSV as ncu printed it."
    if not columns.is_long and not columns.metrics:
        problem = "the table lists launches without a metric"
        return problem, "Print it with --page raw or --page details."
    return None


def launch_of(columns: Columns, cells: Sequence[str]) -> CsvLaunch:
    """Return what a row says of its launch."""

    def text(name: str) -> str | None:
        return columns.cell(cells, name) or None

    nvtx_cells = {
        name: columns.cell(cells, name)
        for name in columns.place
        if (_PUSH_POP in name or _START_STOP in name) and columns.cell(cells, name)
    }
    ranges, rest = _nvtx_of(nvtx_cells)
    return CsvLaunch(
        key=columns.key(cells),
        process_id=_integer(text("Process ID")),
        process_name=text("Process Name"),
        host_name=text("Host Name"),
        kernel_name=text("Kernel Name"),
        context_id=_integer(text("Context")),
        stream_id=_integer(text("Stream")),
        grid=_extent(text("Grid Size")),
        block=_extent(text("Block Size")),
        device_id=_integer(text("Device")),
        compute_capability=_capability(text("CC")),
        nvtx=ranges,
        nvtx_text=rest,
    )


def _integer(text: str | None) -> int | None:
    found = _INTEGER.fullmatch(text) if text else None
    return int(found[1]) if found is not None else None


def _extent(text: str | None) -> tuple[int, int, int] | None:
    found = _EXTENT.fullmatch(text) if text else None
    if found is None:
        return None
    x, y, z = (int(size) for size in found.groups())
    # A collection that failed is printed with (0, 0, 0).
    return (x, y, z) if x and y and z else None


def _capability(text: str | None) -> str | None:
    return text if text and re.fullmatch(r"\d{1,2}\.\d{1,2}", text) else None


# Domain, name, then six attributes that hold no colon but for the message, the last.
_NVTX_ENTRY = re.compile(
    r"(?P<domain><[^>]*>|[^:]*):(?P<name>.*):(?P<payload_type>\w+):(?P<payload>[^:]*)"
    r":(?P<color_type>\w+):(?P<color>[^:]*):(?P<message_type>\w+):(?P<message>[^:]*)"
)


def _nvtx_of(cells: dict[str, str]) -> tuple[tuple[CsvNvtxRange, ...], str | None]:
    """Take the NVTX columns apart; what cannot be is returned as it is."""
    ranges: list[CsvNvtxRange] = []
    for name, text in cells.items():
        for line in text.splitlines():
            one = _nvtx_range(line.strip().replace('"', ""), is_push_pop=_PUSH_POP in name)
            if one is None:
                return (), "; ".join(cells.values())
            ranges.append(one)
    return tuple(ranges), None


def _nvtx_range(text: str, *, is_push_pop: bool) -> CsvNvtxRange | None:
    number, separator, rest = text.partition(" " if is_push_pop else ":")
    if separator and number.isdecimal() and len(number) < 20:
        text = rest
    else:
        number = ""
    found = _NVTX_ENTRY.fullmatch(text.strip())
    if found is None:
        return None
    own = int(number) if number else None
    return CsvNvtxRange(
        domain=found["domain"],
        name=found["name"],
        is_push_pop=is_push_pop,
        thread_id=own if is_push_pop else None,
        range_id=None if is_push_pop else own,
        payload=_told(found["payload"]),
        message=_told(found["message"]),
    )


def _told(text: str) -> str | None:
    return text if text and text != "none" else None
