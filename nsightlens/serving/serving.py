"""`open_serving`: files and folders of serving results -> `Serving`, the tables of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import ServingFileError
from nsightlens.serving.assembly import put_batch_of_name, run_of_group
from nsightlens.serving.folder import find_files, natural_key, shown_path
from nsightlens.serving.grouping import Located, groups_of
from nsightlens.serving.path_hints import varying_numbers
from nsightlens.serving.reading import FileRow, read_files
from nsightlens.serving.run import Origin
from nsightlens.tables import (
    SERVING_FILES,
    SERVING_ORIGINS,
    SERVING_RUNS,
    schema_of,
    table_of,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa

    from nsightlens.serving.grouping import Group
    from nsightlens.serving.run import Run

__all__ = ["RunNote", "Serving", "open_serving"]

_BATCH_COLUMNS = ("max_num_seqs", "static_batch_size", "max_concurrency")


class RunNote(NamedTuple):
    """Something a person must know of a run: its name, a key for programs, and a sentence."""

    run: str
    key: str
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Serving:
    """The runs that files and folders of serving results hold.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``: a row per run.
    origins
        With the schema ``SERVING_ORIGINS``: for each value of ``runs``, its file.
    files
        With the schema ``SERVING_FILES``: every file that was found, and what became of it.
    notes
        What a person must know.
    profiles
        Reports and traces of profilers that lay among the files.
    source
        What was opened, as given.
    """

    runs: pa.Table
    origins: pa.Table
    files: pa.Table
    notes: tuple[RunNote, ...]
    profiles: tuple[str, ...]
    source: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Serving of {self.runs.num_rows} runs: {', '.join(self.source)}>"


def open_serving(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> Serving:
    """Read results of serving benchmarks, server logs and telemetry.

    Parameters
    ----------
    paths
        Files and folders; folders are searched to the bottom. Files that lie together are taken
        together: a log and samples belong to the result in their folder.
    progress
        Called with each file, how many are done, and how many there are.

    Returns
    -------
    Serving
        At least one run. A file that is known and of no use is in ``files`` with the reason.

    Raises
    ------
    ReportNotFoundError
        A path does not exist or cannot be read.
    ServingFileError
        A file that was named cannot be used; or no file of a folder holds a run.

    Examples
    --------
    >>> import nsightlens
    >>> nsightlens.open_serving("results/").runs  # doctest: +SKIP
    """
    given: Sequence[Any] = (
        [paths] if isinstance(paths, str) or hasattr(paths, "__fspath__") else paths
    )
    found, profiles = find_files(given)
    located: list[Located] = []
    rows: list[FileRow] = []
    for read in read_files(found, progress):
        located += read.located
        rows.append(read.row)
    groups, unused = groups_of(located)
    runs = _runs(groups, several=len(given) > 1)
    notes = [RunNote(run.name, *note) for run in runs for note in run.notes]
    notes += [
        RunNote("", "unused_file", f"{one.part.path} {reason}: not used.") for one, reason in unused
    ]
    if not runs:
        raise _no_runs([str(one) for one in given], rows, located, profiles)
    return Serving(
        _runs_table(runs),
        _origins_table(runs),
        _files_table(rows, runs),
        tuple(notes),
        tuple(profiles),
        tuple(str(one) for one in given),
    )


def _no_runs(
    given: list[str], rows: list[FileRow], located: list[Located], profiles: list[str]
) -> ServingFileError:
    refused = [row for row in rows if row.state == "refused"]
    shown = ", ".join(given)
    if refused:
        more = f" ({len(refused) - 1} more were refused)" if len(refused) > 1 else ""
        problem = f"holds no run; {refused[0].path}: {refused[0].reason}{more}"
        return ServingFileError(shown, problem.rstrip("."), "")
    if located:
        formats = ", ".join(sorted({one.part.format for one in located}))
        return ServingFileError(
            shown,
            f"holds no result of a benchmark, only {formats}",
            "Add the JSON that the benchmark wrote (vllm bench serve --save-result).",
        )
    if profiles:
        return ServingFileError(
            shown,
            f"holds no serving results, but {len(profiles)} files of profilers",
            "Give the folder of the benchmark's results, and these by --profile.",
        )
    return ServingFileError(
        shown,
        f"holds no result, log or telemetry that is known, among {len(rows)} files",
        "docs/serving-formats.md lists what is read; a CSV with named columns always is.",
    )


def _runs(groups: Iterable[Group], *, several: bool) -> list[Run]:
    """Return the runs, named by their paths below what was given; with it, where it is several."""
    runs: list[Run] = []
    paths: list[Path] = []
    shown: list[str] = []
    names: dict[str, int] = {}
    for group in groups:
        first = (group.results or group.own or group.shared)[0]
        parts = first.relative.parts
        relative = first.relative if several or len(parts) == 1 else Path(*parts[1:])
        key = first.part.where or first.part.run_key
        name = shown_path(relative.as_posix())
        name = f"{name}: {key}" if key else name
        count = names.get(name, 0)
        names[name] = count + 1
        run = run_of_group(group, f"{name} ({count + 1})" if count else name)
        if run is not None:
            runs.append(run)
            paths.append(first.relative)
            shown.append(first.part.path)
    _name_batches(runs, paths, shown)
    order = sorted(range(len(runs)), key=lambda index: natural_key(runs[index].name))
    return [runs[index] for index in order]


def _name_batches(runs: list[Run], paths: list[Path], shown: list[str]) -> None:
    """Give runs without a batch size the one number in which their names differ."""
    without = [
        index
        for index, run in enumerate(runs)
        if not any(run.values.get(name) for name in _BATCH_COLUMNS)
        or (run.is_limit_shared and not any(run.values.get(name) for name in _BATCH_COLUMNS[1:]))
    ]
    numbers = varying_numbers([paths[index] for index in without])
    for index, number in zip(without, numbers, strict=True):
        if number is None:
            continue
        run = runs[index]
        origin = Origin(shown[index], f"name {number[1]!r}", "name", "by the name")
        put_batch_of_name(run, number[0], origin)
        run.note(
            "batch_by_name",
            f"The batch size {number[0]} of {run.name} is the one number in which the names of the "
            "runs differ: no file says it.",
        )


def _runs_table(runs: Sequence[Run]) -> pa.Table:
    schema = schema_of(SERVING_RUNS)
    columns = {
        name: [run.values.get(name) for run in runs] for name in schema.names if name != "run"
    }
    return table_of(schema, {"run": [run.name for run in runs], **columns}, len(runs))


def _origins_table(runs: Sequence[Run]) -> pa.Table:
    rows = [(run.name, column, origin) for run in runs for column, origin in run.origins.items()]
    data = {
        "run": [row[0] for row in rows],
        "column": [row[1] for row in rows],
        "path": [row[2].path for row in rows],
        "where": [row[2].where for row in rows],
        "format": [row[2].format for row in rows],
        "derived": [row[2].derived for row in rows],
    }
    return table_of(schema_of(SERVING_ORIGINS), data, len(rows))


def _files_table(rows: Sequence[FileRow], runs: Sequence[Run]) -> pa.Table:
    counts: dict[str, int] = {}
    for run in runs:
        for path in {origin.path for origin in run.origins.values()}:
            counts[path] = counts.get(path, 0) + 1
    data = {
        "path": [row.path for row in rows],
        "format": [row.format for row in rows],
        "state": [row.state for row in rows],
        "run_count": [counts.get(row.path, 0) for row in rows],
        "reason": [row.reason for row in rows],
    }
    return table_of(schema_of(SERVING_FILES), data, len(rows))
