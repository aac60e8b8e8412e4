"""A sweep over many reports, of which only the sums are kept."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from nsightlens import tables
from nsightlens.analysis import select
from nsightlens.devices import peak_overrides
from nsightlens.errors import FilterError, NsightLensError
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.models import read_model
from nsightlens.pipelines.each import map_reports
from nsightlens.pipelines.reading import distinct, read_one
from nsightlens.readers.read import READERS, ReadOptions
from nsightlens.steps.rules import compiled
from nsightlens.sweeps import SweepOptions, part_of, sweep_of_parts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from nsightlens.kernels import KernelRules
    from nsightlens.pipelines.each import Progress
    from nsightlens.readers.read import OnError, Reader
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep, SweepPart

__all__ = ["NO_FILTERS", "Filters", "SweptReports", "Unread", "sweep_reports"]

_OF_SESSION = ("report", "device_names", "ncu_version", "clock_control")


class Filters(NamedTuple):
    """Which launches to keep: those that pass all that is given; see `nsightlens.analysis.select`.

    Examples
    --------
    >>> Filters(families=("attention",)).is_any
    True
    """

    kernel: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None
    nvtx: tuple[str, ...] | None = None
    grid: tuple[str, ...] | None = None

    @property
    def is_any(self) -> bool:
        """Whether there is any filter."""
        return any(self)

    def applied_to(self, report: Report, kernel_rules: KernelRules | None) -> Report:
        """Return the launches of a report that pass."""
        if not self.is_any:
            return report
        return report.filter(select(report, **self._asdict(), kernel_rules=kernel_rules))

    def told(self) -> str:
        """Return what is given as text.

        Examples
        --------
        >>> Filters(families=("attention", "gemm"), nvtx=("Decode*",)).told()
        'families attention, gemm; nvtx Decode*'
        """
        given = ((name, values) for name, values in self._asdict().items() if values)
        return "; ".join(f"{name} {', '.join(values)}" for name, values in given)


NO_FILTERS = Filters()


class Unread(NamedTuple):
    """A report that could not be read, and why."""

    report: str
    error: NsightLensError


class SweptReports(NamedTuple):
    """A sweep, and what is to be known of the reports that it was made of.

    Parameters
    ----------
    sweep
        The sweep of all reports that could be read.
    sources
        Their names, in order.
    empty
        Those without a launch.
    launch_count, kept_count
        How many launches they have, and how many passed the filters.
    sessions
        Columns ``report``, ``device_names``, ``ncu_version`` and ``clock_control`` of their
        sessions.
    devices
        Each distinct pair of report and GPU of their launches.
    warnings
        What stands in ``Report.warnings`` of each.
    unread
        What could not be read.
    """

    sweep: Sweep
    sources: tuple[str, ...]
    empty: tuple[str, ...]
    launch_count: int
    kept_count: int
    sessions: pa.Table
    devices: tuple[tuple[str | None, str | None], ...]
    warnings: tuple[str, ...]
    unread: tuple[Unread, ...]


class _How(NamedTuple):
    read: ReadOptions
    filters: Filters
    sweep: SweepOptions


class _Facts(NamedTuple):
    """What is told of one report."""

    name: str
    launch_count: int
    kept_count: int
    sessions: tuple[dict[str, Any], ...]
    devices: tuple[tuple[str | None, str | None], ...]
    warnings: tuple[str, ...]


class _Share(NamedTuple):
    """What the task returns for one report."""

    part: SweepPart
    facts: _Facts


class _Seen(NamedTuple):
    """What was noted of the reports so far."""

    read: list[_Facts]
    unread: list[Unread]


def sweep_reports(
    reports: Iterable[str | os.PathLike[str]],
    options: SweepOptions | None = None,
    *,
    filters: Filters = NO_FILTERS,
    on_error: OnError = "raise",
    reader: Reader = "auto",
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> SweptReports:
    """Make the sweep of many reports, of which a few at a time are in memory.

    The same as `nsightlens.sweep` of all of them together.

    Parameters
    ----------
    reports
        As for `nsightlens.open_report`: one that is named twice is read once.
    options
        As for `nsightlens.sweep`; None for its defaults.
    filters
        Which launches to keep.
    on_error, reader
        As for `nsightlens.open_report`; a report that cannot be read does not stop the rest.
    jobs, dask, progress
        As for `map_reports`.

    Raises
    ------
    FilterError
        A filter cannot be understood, or there are launches and none passes.
    UnknownDeviceError, UnknownModelError, SettingsFileError
        As for `nsightlens.sweep`.
    ValueError
        ``on_error`` or ``reader`` is none of those named, or ``jobs`` is negative.
    ClusterError, MissingExtraError
        As for `map_reports`.

    Examples
    --------
    >>> import nsightlens.example
    >>> swept = sweep_reports([nsightlens.example.path()])
    >>> swept.launch_count, swept.unread
    (113, ())
    """
    if on_error not in ("raise", "salvage"):
        raise ValueError(f"on_error must be 'raise' or 'salvage', not {on_error!r}")
    if reader not in READERS:
        raise ValueError(f"reader must be one of {', '.join(READERS)}, not {reader!r}")
    options = _read_once(options or SweepOptions())
    _check(options, filters)
    options = options._replace(selection=filters.told())
    # The model is for the whole.
    how = _How(ReadOptions(on_error=on_error, reader=reader), filters, options._replace(model=None))
    names = distinct(reports)
    seen = _Seen([], [])
    with closing(
        map_reports(_share_of, names, how, jobs=jobs, dask=dask, progress=progress)
    ) as outcomes:
        sweep = sweep_of_parts(_noted(names, outcomes, seen), options)
    swept = _swept(sweep, seen)
    if swept.launch_count and not swept.kept_count:
        raise FilterError(
            f"none of {swept.launch_count} launches passes the filters: {filters.told()}."
        )
    return swept


def _read_once(options: SweepOptions) -> SweepOptions:
    """Return the options with files read, or named so that every process finds them."""
    peaks, model = options.peaks, options.model
    return options._replace(
        kernel_rules=as_user_rules(options.kernel_rules),
        peaks=None if peaks is None else str(Path(peaks).absolute()),
        model=None if model is None else read_model(model),
    )


def _check(options: SweepOptions, filters: Filters) -> None:
    """Raise what would be wrong for every report."""
    peak_overrides(options.device, options.peaks)
    compiled(options.step_rules)
    select(tables.empty_table(tables.LAUNCHES), **filters._asdict())


def _share_of(name: str, how: _How) -> _Share:
    """Read one report and add its launches up: the task."""
    report = read_one(name, how.read)
    kept = how.filters.applied_to(report, how.sweep.kernel_rules)
    launches = report.launches.select(["report", "device_name"]).group_by(
        ["report", "device_name"], use_threads=False
    )
    return _Share(
        part=part_of(kept, how.sweep),
        facts=_Facts(
            name=name,
            launch_count=len(report),
            kept_count=len(kept),
            sessions=tuple(report.sessions.select(list(_OF_SESSION)).to_pylist()),
            devices=tuple(tuple(row.values()) for row in launches.aggregate([]).to_pylist()),
            warnings=report.warnings,
        ),
    )


def _noted(
    names: Iterable[str], outcomes: Iterable[_Share | NsightLensError], seen: _Seen
) -> Iterator[SweepPart]:
    """Yield the parts one by one, and note everything else."""
    for name, outcome in zip(names, outcomes, strict=True):
        if isinstance(outcome, NsightLensError):
            seen.unread.append(Unread(name, outcome))
        else:
            seen.read.append(outcome.facts)
            yield outcome.part


def _swept(sweep: Sweep, seen: _Seen) -> SweptReports:
    sessions = [session for one in seen.read for session in one.sessions]
    schema = tables.schema_of(tables.SESSIONS)
    return SweptReports(
        sweep=sweep,
        sources=tuple(one.name for one in seen.read),
        empty=tuple(one.name for one in seen.read if not one.launch_count),
        launch_count=sum(one.launch_count for one in seen.read),
        kept_count=sum(one.kept_count for one in seen.read),
        sessions=pa.Table.from_pylist(
            sessions, schema=pa.schema([schema.field(name) for name in _OF_SESSION])
        ),
        devices=tuple(pair for one in seen.read for pair in one.devices),
        warnings=tuple(text for one in seen.read for text in one.warnings),
        unread=tuple(seen.unread),
    )
