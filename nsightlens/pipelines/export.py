"""export_reports: many reports into one dataset, one at a time."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.analysis import select
from nsightlens.devices import peak_overrides
from nsightlens.errors import FilterError, NsightLensError, OutputError, ReportNotFoundError
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.pipelines.contents import EXPORTED, ExportOptions, found_in
from nsightlens.pipelines.each import map_reports
from nsightlens.pipelines.reading import distinct
from nsightlens.readers.source import lies_on_disk
from nsightlens.steps.rules import compiled
from nsightlens.store import DatasetWriter
from nsightlens.tables import LAUNCHES, empty_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nsightlens.errors import MissingMetricError
    from nsightlens.pipelines.contents import Found
    from nsightlens.store.writer import Outcome

    Progress = Callable[[str, int, int], None]

__all__ = ["ExportSummary", "export_reports"]

_SHOWN = 3
_SHOWN_VALUES = 8
_LONGEST = 60
"""[character] Of a value in an error: a C++ name may have thousands."""


class ExportSummary(NamedTuple):
    """What an export did.

    Parameters
    ----------
    folder
        The dataset.
    added
        Reports that were added, as they were given.
    present
        Reports that the dataset had already, from an export with the same options.
    differing
        Reports that it had from an export with other options, and kept as they were.
    row_counts
        Rows that were added to each table.
    warnings
        What was noticed in the reports that were added, one sentence each.
    """

    folder: str
    added: tuple[str, ...]
    present: tuple[str, ...]
    differing: tuple[str, ...]
    row_counts: dict[str, int]
    warnings: tuple[str, ...]


def export_reports(
    reports: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    options: ExportOptions | None = None,
    force: bool = False,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
    on_error: Callable[[str, NsightLensError], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> ExportSummary:
    """Read and label reports, and add them to a dataset, all together or not at all.

    A report that the dataset has already, under whatever name, is not added again.

    Parameters
    ----------
    reports
        One report or several, as for `nsightlens.open_report`.
    folder
        The dataset. It is made where nothing, or an empty folder, lies there.
    options
        Which tables and launches, and how they are labelled. None for all tables but instances,
        of all launches.
    force
        Replace what the dataset holds, unless no report could be read.
    jobs, dask, progress
        See `nsightlens.pipelines.map_reports`.
    on_error
        Called with the name and the error of each report that cannot be read, and with the folder
        and an error where the dataset has reports from an export with other options; the other
        reports are added. By default the first error is raised, and nothing is added.
    on_wait
        Called once, if another process is writing to the dataset: this one then waits for it.

    Returns
    -------
    ExportSummary

    Raises
    ------
    NsightLensError
        Nothing was added. An option cannot be used, no launch passes the filters, a pattern of
        instances matches no metric, the dataset cannot be written (`OutputError`) or read
        (`DatasetFormatError`), or, without ``on_error``, a report cannot be read.

    Examples
    --------
    >>> import tempfile, nsightlens.example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = export_reports([nsightlens.example.path()], f"{folder}/dataset")
    >>> len(summary.added), summary.row_counts["labels"]
    (1, 113)
    """
    names = distinct([reports] if isinstance(reports, (str, os.PathLike)) else reports)
    if not names:
        raise ReportNotFoundError("no report was given. Name at least one .ncu-rep file.")
    options = _checked(options or ExportOptions())
    run = _Run(on_error)
    writer = DatasetWriter(
        folder,
        options=_told(options),
        force=force,
        inputs=[name for name in names if lies_on_disk(name)],
        on_wait=on_wait,
    )
    with writer:
        argument = (options, frozenset(writer.present))
        outcomes = map_reports(found_in, names, argument, jobs=jobs, dask=dask, progress=progress)
        for name, found in zip(names, outcomes, strict=True):
            if isinstance(found, NsightLensError):
                run.tell(name, found)
            else:
                run.note(name, found, _outcome(writer, found))
        run.check(os.fspath(folder), options)
    return ExportSummary(
        os.fspath(folder),
        tuple(run.names["added"]),
        tuple(run.names["present"]),
        tuple(run.names["differs"]),
        writer.row_counts,
        run.warnings(),
    )


def _outcome(writer: DatasetWriter, found: Found) -> Outcome:
    if found.contents is not None:
        return writer.add(found.contents)
    return writer.outcome_of(found.report_id) or "present"


class _Run:
    """What is known of an export so far."""

    def __init__(self, on_error: Callable[[str, NsightLensError], None] | None) -> None:
        self._on_error = on_error
        self.names: dict[str, list[str]] = {"added": [], "present": [], "differs": []}
        self._noticed: dict[str, list[str]] = {}
        self._launch_count = self._kept_count = 0
        self._unmatched: dict[str, MissingMetricError] | None = None
        self._values: dict[str, Counter[str]] = {}

    def tell(self, name: str, error: NsightLensError) -> None:
        """Tell an error, or raise it where nobody is told."""
        if self._on_error is None:
            raise error
        self._on_error(name, error)

    def note(self, name: str, found: Found, outcome: str) -> None:
        """Note what became of a report."""
        self.names[outcome].append(name)
        if found.contents is None:
            return
        for text in found.contents.warnings if outcome == "added" else ():
            self._noticed.setdefault(text, []).append(name)
        self._launch_count += found.launch_count
        self._kept_count += found.contents.launches.num_rows
        if found.launch_count:
            before = self._unmatched
            self._unmatched = {
                pattern: error
                for pattern, error in found.unmatched.items()
                if before is None or pattern in before
            }
        for filter_name, values in found.values.items():
            self._values.setdefault(filter_name, Counter()).update(values)

    def check(self, folder: str, options: ExportOptions) -> None:
        """See that the options made sense for all reports together, before they are added."""
        is_known = bool(self.names["present"] or self.names["differs"])
        if self._launch_count and not self._kept_count and not is_known:
            raise FilterError(self._nothing_passes(options))
        if self._unmatched:
            raise next(iter(self._unmatched.values()))
        differing = self.names["differs"]
        if differing:
            self.tell(folder, OutputError(_differing(folder, differing)))

    def warnings(self) -> tuple[str, ...]:
        """Return what was noticed, each once, and in how many of the reports."""
        total = len(self.names["added"])
        return tuple(
            text
            if len(names) == total or names[0] in text
            else f"{text} (in {len(names)} of {total} reports, first {names[0]})"
            for text, names in self._noticed.items()
        )

    def _nothing_passes(self, options: ExportOptions) -> str:
        count = self._launch_count
        launches = (
            "the only launch does not pass" if count == 1 else f"none of {count} launches passes"
        )
        said = " ".join(
            f"--{_option(name)} {_quoted(value)}"
            for name, values in options.filters.items()
            for value in values
        )
        there = "; ".join(
            f"{_option(name)}: {_listed(self._values[name])}" for name in options.filters
        )
        return f"{launches} {said}. There is {there}."


def _option(name: str) -> str:
    return "family" if name == "families" else name


def _listed(values: Counter[str]) -> str:
    if not values:
        return "none"
    common = [value for value, _ in values.most_common(_SHOWN_VALUES)]
    more = f" and {len(values) - len(common)} more" if len(values) > len(common) else ""
    return " | ".join(map(_quoted, common)) + more


def _quoted(value: str) -> str:
    if len(value) > _LONGEST:
        half = _LONGEST // 2
        value = f"{value[:half]}...{value[-half:]}"
    return shlex.quote(value)


def _differing(folder: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f", ... ({len(names)})" if len(names) > _SHOWN else "")
    what = "this report" if len(names) == 1 else "these reports"
    return (
        f"{folder} holds {what} from an export with other options and keeps it: {shown}. Choose "
        "another folder, or add --force (in Python: force=True) to replace the whole dataset."
    )


def _checked(options: ExportOptions) -> ExportOptions:
    """Refuse options that cannot be used, before any report is read; make file names absolute."""
    unknown = [name for name in options.tables if name not in EXPORTED]
    if unknown:
        raise FilterError(
            f"{unknown[0]!r} is no table of an export: choose of {', '.join(EXPORTED)}."
        )
    peak_overrides(options.device, options.peaks)
    compiled(options.step_rules)
    rules = as_user_rules(options.kernel_rules)
    if options.filters:
        select(empty_table(LAUNCHES), **options.filters, kernel_rules=rules)
    return options._replace(
        peaks=_absolute(options.peaks), kernel_rules=_absolute(options.kernel_rules)
    )


def _absolute(path: str | None) -> str | None:
    # For workers that run elsewhere.
    return None if path is None else str(Path(path).absolute())


def _told(options: ExportOptions) -> dict[str, Any]:
    """Return the options that decide what the tables say, files by what is in them."""
    said: dict[str, Any] = {name: list(values) for name, values in options.filters.items()}
    said["tables"] = [name for name in EXPORTED if name in options.tables]
    if options.instances:
        said["instances"] = list(options.instances)
    for name in ("peaks", "kernel_rules"):
        path = getattr(options, name)
        if path is not None:
            said[name] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if options.device is not None:
        said["device"] = options.device
    said |= {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.step_rules._asdict().items()
        if value
    }
    return said
