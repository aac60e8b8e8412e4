"""The tables of a run: what its reports and traces say, as files for whatever comes next.

``labels``, ``launches`` and the three tables of the sweep come from the reports; ``trace_kernels``
from the traces; ``joined`` and ``joined_families`` from both. They are made anew whenever a part
was finished, from everything that is finished.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nsightlens.analysis import classify
from nsightlens.errors import PeaksWarning
from nsightlens.files import write_bytes
from nsightlens.harness.run_folder import TABLES
from nsightlens.joining import join
from nsightlens.readers import open_report, open_trace
from nsightlens.sweeps import sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from nsightlens.harness.manifest import RunManifest
    from nsightlens.report import Report
    from nsightlens.trace import Trace

__all__ = ["Tables", "make_tables"]

SUFFIX = ".parquet"


class Tables(NamedTuple):
    """What was made.

    Parameters
    ----------
    row_counts
        Rows of each file, by its name.
    notes
        What a person must know of traces and of what was joined, one sentence each.
    """

    row_counts: dict[str, int]
    notes: tuple[str, ...]


def make_tables(folder: Path, manifest: RunManifest) -> Tables:
    """Make the tables of a run folder from its finished parts.

    Parameters
    ----------
    folder
        The run folder.
    manifest
        What is finished.

    Raises
    ------
    NsightLensError
        A report or a trace cannot be read.
    OutputError
        A table could not be written; the former one is as it was.
    """
    reports = _finished(manifest, "ncu")
    traces = [path for path in _finished(manifest, "nsys") if not path.endswith(".nsys-rep")]
    report = open_report([folder / path for path in reports]) if reports else None
    opened = [open_trace(folder / path) for path in traces]
    notes: list[str] = []
    row_counts = {}
    for name, table in _tables(report, opened, notes):
        file = f"{name}{SUFFIX}"
        _write(folder / "tables" / file, _below(folder, table))
        row_counts[file] = table.num_rows
    for name in TABLES:
        if f"{name}{SUFFIX}" not in row_counts:  # of a run that had more
            (folder / "tables" / f"{name}{SUFFIX}").unlink(missing_ok=True)
    return Tables(row_counts, tuple(dict.fromkeys(notes)))


def _finished(manifest: RunManifest, tool: str) -> list[str]:
    return [
        output.path
        for record in manifest.parts
        if record.is_finished and record.tool == tool
        for output in record.outputs
    ]


def _tables(
    report: Report | None, traces: Sequence[Trace], notes: list[str]
) -> Iterator[tuple[str, pa.Table]]:
    if report is not None:
        with warnings.catch_warnings():
            # They are in the results too.
            warnings.simplefilter("ignore", PeaksWarning)
            labels, swept = classify(report).labels, sweep(report)
        yield "launches", report.launches
        yield "labels", labels
        yield "sweep", swept.rows
        yield "sweep_trends", swept.trends
        yield "sweep_steps", swept.steps
    if traces:
        notes += [text for trace in traces for text in trace.warnings]
        yield "trace_kernels", pa.concat_tables([trace.kernels for trace in traces])
    if report is not None and traces:
        joined = join(report, traces)
        notes += joined.notes
        yield "joined", joined.rows
        yield "joined_families", joined.families


def _below(folder: Path, table: pa.Table) -> pa.Table:
    """Name files as they lie below the run folder, which may be moved."""
    for name in ("report", "trace"):
        position = table.schema.get_field_index(name)
        if position >= 0:
            field = table.schema.field(position)
            names = table[name].cast(pa.string())
            names = pc.replace_substring(names, f"{folder}/", "", max_replacements=1)
            if pa.types.is_dictionary(field.type):
                names = names.dictionary_encode().cast(field.type)
            table = table.set_column(position, field, names)
    return table


def _write(path: Path, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, [sink.getvalue()], force=True, remedy="")
