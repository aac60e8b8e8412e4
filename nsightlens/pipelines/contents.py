"""One report of an export: read, labelled and filtered where a worker runs."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.analysis import classify, select
from nsightlens.analysis.shares import with_shares
from nsightlens.arrays import number_array
from nsightlens.errors import MissingMetricError, PeaksWarning, ReportNotFoundError
from nsightlens.pipelines.reading import file_of
from nsightlens.readers.columns import shown_path
from nsightlens.readers.read import ReadOptions, report_of
from nsightlens.readers.source import plain_file
from nsightlens.report import rows_of_launches
from nsightlens.steps import NO_STEP_RULES, StepRules
from nsightlens.store import ReportContents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from nsightlens.analysis import Classification
    from nsightlens.readers.read import OnError, Reader
    from nsightlens.report import Report

__all__ = ["EXPORTED", "FILTERS", "ExportOptions", "Found", "found_in", "kept_by"]

EXPORTED = (
    "launches", "labels", "resources", "rooflines", "stalls", "metrics", "rules", "nvtx",
    "sessions",
)  # fmt: skip
"""Tables of an export, where nothing else is asked for."""

FILTERS = {"kernel": "kernel", "families": "family", "nvtx": "nvtx_path", "grid": "grid"}
"""Each filter of the options, and the column of labels whose values it could have found."""

_CHUNK = 1 << 20  # [byte]


class ExportOptions(NamedTuple):
    """What an export takes of its reports, and how they are read and labelled; can be pickled.

    Parameters
    ----------
    tables
        Tables to write; see `EXPORTED`. The table ``reports`` is always written.
    instances
        Names and patterns of metrics whose instanced values are written too, as a table.
    kernel, families, nvtx, grid
        Filters: a launch is kept that passes all of them; see `nsightlens.analysis.select`.
    device, peaks, kernel_rules, step_rules
        See `nsightlens.classify`; peaks and rules are names of files.
    on_error, reader
        See `nsightlens.open_report`.
    """

    tables: tuple[str, ...] = EXPORTED
    instances: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    nvtx: tuple[str, ...] = ()
    grid: tuple[str, ...] = ()
    device: str | None = None
    peaks: str | None = None
    kernel_rules: str | None = None
    step_rules: StepRules = NO_STEP_RULES
    on_error: OnError = "raise"
    reader: Reader = "auto"

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """The filters that are given."""
        return {name: getattr(self, name) for name in FILTERS if getattr(self, name)}


class Found(NamedTuple):
    """What a worker found in a report.

    Parameters
    ----------
    report_id
        See `nsightlens.tables.REPORT_ID`.
    contents
        Its tables; None where the dataset has the report already.
    launch_count
        Launches in the report, before the filters.
    unmatched
        For each pattern of instances that no metric matches, the error that says so.
    values
        For each filter, what it could have found and how often, where no launch passes.
    """

    report_id: str
    contents: ReportContents | None = None
    launch_count: int = 0
    unmatched: Mapping[str, MissingMetricError] = {}
    values: Mapping[str, Counter[str]] = {}


def found_in(name: str, argument: tuple[ExportOptions, frozenset[str]]) -> Found:
    """Read and label a report, unless it is one of those that are known.

    Parameters
    ----------
    name
        As `nsightlens.pipelines.map_reports` gives it.
    argument
        The options, and the ids of reports that need not be read.

    Raises
    ------
    NsightLensError
        The report cannot be read.
    """
    options, known = argument
    how = ReadOptions(
        bool(options.instances) and options.instances, options.on_error, options.reader
    )
    try:
        with plain_file(file_of(name), salvage=options.on_error == "salvage") as file:
            report_id, size_bytes = _digest(file.path) if file.head else ("", 0)
            if report_id in known:
                return Found(report_id)
            report = report_of(file, name, how)
    except OSError as error:
        if isinstance(error, ReportNotFoundError):
            raise
        problem = f"cannot be read: {error.strerror or error}"
        raise ReportNotFoundError(f"{shown_path(name)}: {problem}.") from error
    return _labelled(report, (report_id, shown_path(name), size_bytes), options)


def _digest(path: str) -> tuple[str, int]:
    """Return the SHA-256 of a file and its size [B]."""
    digest, size = hashlib.sha256(), 0
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def _labelled(report: Report, head: tuple[str, str, int], options: ExportOptions) -> Found:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PeaksWarning)  # they are in the result too
        result = classify(
            report,
            device=options.device,
            peaks=options.peaks,
            kernel_rules=options.kernel_rules,
            step_rules=options.step_rules,
        )
    # Filtered after: the key of a launch counts those of its kind in the whole report.
    kept, labels = kept_by(report, result.labels, options)
    sessions = report.sessions
    contents = ReportContents(
        *head,
        kept.launches.select(["launch_id", "device_name"]),
        _tables(kept, labels, result, options),
        sessions["ncu_version"][0].as_py() if sessions.num_rows else None,
        (*report.warnings, *_of_no_launch(report, head[1]), *result.warnings),
    )
    values = {} if len(kept) or not len(report) else _values(result.labels, options)
    return Found(head[0], contents, len(report), _unmatched(report, options.instances), values)


def kept_by(report: Report, labels: pa.Table, options: ExportOptions) -> tuple[Report, pa.Table]:
    """Return the launches of a report that pass the filters, and their labels."""
    if not options.filters:
        return report, labels
    keep = select(report, **options.filters, kernel_rules=options.kernel_rules)
    return report.filter(keep), with_shares(labels.filter(number_array(keep)))


def _tables(
    report: Report, labels: pa.Table, result: Classification, options: ExportOptions
) -> dict[str, pa.Table]:
    wanted = (*options.tables, *(["instances"] if options.instances else []))
    beside = {"labels": labels}
    for name in ("resources", "rooflines"):
        if name in wanted:
            beside[name] = rows_of_launches(getattr(result, name), report.launches)
    return {name: beside[name] if name in beside else getattr(report, name) for name in wanted}


def _of_no_launch(report: Report, shown: str) -> list[str]:
    if len(report):
        return []
    told = (
        f"{shown}: the file is sound and holds no launch: ncu profiled nothing. "
        "Check its filters (-k, --nvtx-include, -c) and that the program ran kernels."
    )
    return [told]


def _unmatched(report: Report, patterns: Sequence[str]) -> dict[str, MissingMetricError]:
    errors = {pattern: _mismatch(report, pattern) for pattern in patterns}
    return {pattern: error for pattern, error in errors.items() if error is not None}


def _mismatch(report: Report, pattern: str) -> MissingMetricError | None:
    try:
        report.matching_metric_names([pattern])
    except MissingMetricError as error:
        return error
    return None


def _values(labels: pa.Table, options: ExportOptions) -> dict[str, Counter[str]]:
    found: dict[str, Counter[Any]] = {}
    for name in options.filters:
        values = labels[FILTERS[name]].to_pylist()
        found[name] = Counter(value for value in values if value)
    return found
