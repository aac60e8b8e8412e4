"""What the text of ``ncu --csv`` holds, as plain Python data: launches, columns of cells, rules.

`nsightlens.ncucsv.read` fills these. Values are in base units, as a .ncu-rep file stores them, and
each knows how far the true value may lie from what was printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nsightlens.errors import ReportFormatError

__all__ = ["Cell", "CsvLaunch", "CsvNvtxRange", "CsvRule", "NcuCsvFile"]


class Cell(NamedTuple):
    """One printed value.

    Parameters
    ----------
    value
        The number in its base unit, or text; None where ncu printed that there is none (``n/a``).
        An integer that was printed without a scaled unit is an int, any other number a float.
    rounding
        Half a unit of the last printed digit, in the base unit: how far the true value may lie
        from ``value``. 0 where the value is exact, and for text.
    """

    value: int | float | str | None
    rounding: float = 0.0


class CsvNvtxRange(NamedTuple):
    """One NVTX range that was open at a launch.

    ``is_push_pop`` tells the stack of thread ``thread_id`` from the start/end ranges of the
    process, which have a ``range_id``.
    """

    domain: str
    name: str
    is_push_pop: bool
    thread_id: int | None = None
    range_id: int | None = None
    payload: str | None = None
    message: str | None = None


class CsvRule(NamedTuple):
    """One message of one of NVIDIA's rules, as the details page prints it.

    ``launch`` is the position of the launch; ``kind`` is ncu's word: INF, OPT, WRN or ERR.
    """

    launch: int
    section: str | None
    rule: str
    kind: str
    message: str
    speedup_scope: str | None
    speedup_pct: float | None


@dataclass(frozen=True, slots=True)
class CsvLaunch:
    """What the rows of one launch say of it beside its metrics; None where they do not.

    ``key`` names the launch in its file: ID, process, host and kernel as printed. ``nvtx_text`` is
    what the NVTX columns hold where it could not be taken apart.
    """

    key: tuple[str, ...]
    process_id: int | None = None
    process_name: str | None = None
    host_name: str | None = None
    kernel_name: str | None = None
    context_id: int | None = None
    stream_id: int | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    device_id: int | None = None
    compute_capability: str | None = None
    nvtx: tuple[CsvNvtxRange, ...] = ()
    nvtx_text: str | None = None


@dataclass(slots=True)
class NcuCsvFile:
    """Everything that was read from one text.

    Parameters
    ----------
    path
        The file, as the caller named it.
    launches
        In the order in which they are first printed.
    metrics
        Per metric one cell for each launch; None where the launch does not have the metric.
    rules
        Messages of rules, in the order of the text.
    warnings
        What was left out or had to be concluded, each in one clause.
    damage
        The error that reading stopped at, when the caller asked for what comes before it.
    """

    path: str
    launches: list[CsvLaunch] = field(default_factory=list)
    metrics: dict[str, list[Cell | None]] = field(default_factory=dict)
    rules: list[CsvRule] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    damage: ReportFormatError | None = None
