"""DatasetWriter: the reports of one run, added to a dataset together or not at all."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from nsightlens import tables
from nsightlens._version import __version__
from nsightlens.errors import DatasetFormatError, OutputError
from nsightlens.store.layout import EXPORT, MANIFEST, TABLES, schema_of_table
from nsightlens.store.manifest import Export, export_names, read_exports
from nsightlens.store.merge import merge, runs_to_merge
from nsightlens.store.parts import Parts
from nsightlens.store.place import check_dataset_place, check_only_ours
from nsightlens.store.rows import Gpus, with_report_id
from nsightlens.store.staging import (
    add_run,
    can_replace_at_once,
    place_of,
    replace_runs,
    staging,
    told_as_output_error,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

__all__ = ["DatasetWriter", "Outcome", "ReportContents", "options_id_of"]

_REWRITTEN = "not rewritten"
Outcome = Literal["added", "present", "differs"]


class ReportContents(NamedTuple):
    """What a dataset is given of one report.

    Parameters
    ----------
    report_id
        See `nsightlens.tables.REPORT_ID`.
    report
        Path of the report, as it was given.
    size_bytes
        [B] Of the report, decompressed.
    launches
        Its launches: ``launch_id`` and ``device_name``, by which the tables are partitioned.
    contents
        Name of each table to the table, as `nsightlens.report.Report` and `nsightlens.classify`
        give it, of this report alone.
    ncu_version
        Version of Nsight Compute that collected it.
    warnings
        What was noticed, one sentence each.
    """

    report_id: str
    report: str
    size_bytes: int
    launches: pa.Table
    contents: Mapping[str, pa.Table]
    ncu_version: str | None = None
    warnings: tuple[str, ...] = ()


class DatasetWriter:
    """Add reports to a dataset, all together when the block ends without an error.

    Use as a context manager. Until then nothing of the dataset changes; if the block ends with an
    error, or the process is killed, nothing ever does. While it lasts no other process can write
    to the same dataset: a second one waits.

    Parameters
    ----------
    folder
        The dataset; it need not exist, but its parent does.
    options
        What the reports are read and labelled with, for people to see and to tell whether two
        exports mean the same; values that JSON knows.
    force
        Replace what the dataset holds, if any report is added.
    inputs
        Files that are read: a dataset that holds one of them is not replaced.
    on_wait
        Called once, if another process is writing.

    Raises
    ------
    OutputError
        When the block begins: see `check_dataset_place`. By every method and at the end: the
        dataset could not be written, and is as it was.
    DatasetFormatError
        The dataset has another version, or is damaged, and is not to be replaced.

    Examples
    --------
    >>> import tempfile, nsightlens
    >>> from nsightlens.example import path
    >>> report = nsightlens.open_report(path())
    >>> launches = report.launches
    >>> contents = ReportContents("5e1f", str(path()), 1, launches, {"launches": launches})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with DatasetWriter(f"{folder}/dataset") as writer:
    ...         writer.add(contents)
    ...     nsightlens.open_dataset(f"{folder}/dataset").table("launches").num_rows
    'added'
    113
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        options: Mapping[str, Any] | None = None,
        force: bool = False,
        inputs: Iterable[str | os.PathLike[str]] = (),
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._folder = folder
        self._options = _as_json(options or {})
        self._options_id = _digest(self._options)
        self._force = force
        self._inputs = tuple(inputs)
        self._on_wait = on_wait
        self._place = place_of(folder)
        self._opened = ExitStack()
        self._runs: list[Export] = []
        self._added: dict[str, str] = {}
        self._row_count = dict.fromkeys(TABLES, 0)
        self.present: dict[str, str] = {}
        """``report_id`` of each report that the dataset holds to the ``options_id`` of its export;
        empty where it is replaced."""

    def __enter__(self) -> DatasetWriter:
        check_dataset_place(self._folder, force=self._force, inputs=self._inputs)
        with ExitStack() as opened:
            work = opened.enter_context(staging(self._place, self._on_wait))
            # Again: another process may have been there until now.
            check_dataset_place(self._folder, force=self._force, inputs=self._inputs)
            if not self._force and self._place.exists():
                self._runs = read_exports(self._place, export_names(self._place))
                self.present = {k: v for run in self._runs for k, v in run.reports.items()}
            self._begun = datetime.now(timezone.utc)
            with told_as_output_error(self._place):
                self._parts = opened.enter_context(Parts(work / "run"))
            self._run = work / "run"
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _: BaseException | None,
        __: TracebackType | None,
    ) -> None:
        with self._opened:
            if kind is None and self._added:
                self._commit()

    @property
    def row_counts(self) -> dict[str, int]:
        """Rows that were added, for each table that was given."""
        return {name: count for name, count in self._row_count.items() if count}

    def add(self, report: ReportContents) -> Outcome:
        """Add the tables of a report, unless the dataset has the report.

        Parameters
        ----------
        report
            The report. Every call of a run has the same tables.

        Returns
        -------
        str
            ``added``; ``present`` where the dataset or the run has it already; ``differs`` where
            the dataset has it from an export with other options, and keeps that one.

        Raises
        ------
        OutputError
            It could not be written.
        """
        known = self.outcome_of(report.report_id)
        if known is not None:
            return known
        with told_as_output_error(self._place):
            self._write(report)
        self._added[report.report_id] = self._options_id
        return "added"

    def outcome_of(self, report_id: str) -> Outcome | None:
        """Return what `add` would say of a report that need not be added; None where it does."""
        if report_id in self._added:
            return "present"
        if report_id in self.present:
            return "present" if self.present[report_id] == self._options_id else "differs"
        return None

    def _write(self, report: ReportContents) -> None:
        gpus = Gpus(report.launches)
        for name, table in report.contents.items():
            rows = with_report_id(name, table, report.report_id)
            self._row_count[name] += rows.num_rows
            for gpu, part in gpus.split(name, rows):
                self._parts.append(name, gpu, part)
        self._parts.append("reports", None, self._row_of(report))
        self._row_count["reports"] += 1

    def _row_of(self, report: ReportContents) -> pa.Table:
        data = {
            "report_id": report.report_id,
            "report": report.report,
            "size_bytes": report.size_bytes,
            "launch_count": report.launches.num_rows,
            "ncu_version": report.ncu_version,
            "tool_version": __version__,
            "schema_version": tables.SCHEMA_VERSION,
            "options": self._options,
            "options_id": self._options_id,
            "exported_at": self._begun,
            "warnings": list(report.warnings),
        }
        columns = {name: [value] for name, value in data.items()}
        return tables.table_of(schema_of_table("reports"), columns, 1)

    def _commit(self) -> None:
        with told_as_output_error(self._place):
            files = self._parts.close()
            folder = self._run.with_name(self._name())
            export = Export(folder, files, self._added, __version__)
            (self._run / MANIFEST).write_text(export.text(), encoding="utf-8", newline="\n")
            self._run.rename(folder)
        if self._force and self._place.exists() and any(self._place.iterdir()):
            replace_runs(self._place, export)
        elif not self._merged(export):
            add_run(self._place, export)

    def _merged(self, export: Export) -> bool:
        """Add a run merged with others, where there are many small ones; return whether it was."""
        merged = runs_to_merge(self._runs, export)
        if not merged or not can_replace_at_once(self._run.parent):
            return False
        names = {run.folder.name for run in merged}
        kept = [run.folder for run in self._runs if run.folder.name not in names]
        try:
            check_only_ours(self._place, _REWRITTEN)  # before anything is done for it
            folder = self._run.parent / "merged" / export.folder.name
            folder.parent.mkdir()
            one = merge([*merged, export], folder)
            replace_runs(self._place, one, kept=kept, what=_REWRITTEN)
        except (OutputError, DatasetFormatError, OSError, pa.ArrowException):
            # What keeps it from being merged need not keep it from being added.
            return False
        return True

    def _name(self) -> str:
        """Return the name of the folder of the run: by time, and told apart by what is in it."""
        moment = self._begun.strftime("%Y%m%dT%H%M%S") + f"{self._begun.microsecond // 1000:03d}Z"
        return f"{EXPORT}{moment}-{_digest(json.dumps(sorted(self._added)))[:8]}"


def options_id_of(options: Mapping[str, Any]) -> str:
    """Return the ``options_id`` of a mapping of options.

    Examples
    --------
    >>> options_id_of({"a": 1, "b": None}) == options_id_of({"b": None, "a": 1})
    True
    """
    return _digest(_as_json(options))


def _as_json(options: Mapping[str, Any]) -> str:
    return json.dumps(dict(options), sort_keys=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
