"""Read a .ncu-rep file: open it, index it, read its results, and say what is wrong with it.

The only door to the reader modules: `read_columns` for tables, by the compiled scanner where there
is one, and `read_ncu_rep` for Python objects. First `nsightlens.ncurep.container` indexes every
block and string, then a scanner reads the entries. Damage becomes a typed error that names the
file, the byte and the structure; with ``on_error="salvage"`` it ends the reading instead.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Literal

from nsightlens.ncurep.columns import FileColumns
from nsightlens.ncurep.compiled import scan_compiled, skim_blocks
from nsightlens.ncurep.container import Container, read_file_header
from nsightlens.ncurep.faults import NOTHING_TO_SALVAGE, within_memory
from nsightlens.ncurep.mapped import open_mapped
from nsightlens.ncurep.model import NcuRepFile
from nsightlens.ncurep.pure import ResultReader
from nsightlens.ncurep.scanner import (
    ScanJob,
    ScannerName,
    compiled_scanner,
    scan_pure,
    wanted_instances,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.errors import ReportFormatError

__all__ = ["read_columns", "read_ncu_rep"]


def read_ncu_rep(
    path: str | os.PathLike[str],
    *,
    instances: bool | Callable[[str], bool] | None = None,
    on_error: Literal["raise", "salvage"] = "raise",
    progress: Callable[[int, int], None] | None = None,
) -> NcuRepFile:
    """Read everything that a report stores.

    Parameters
    ----------
    path
        A .ncu-rep file.
    instances
        Whose instanced values to read beside the scalar ones: of no metric (None), of every
        metric (True), or of the metrics for whose name the function returns True.
    on_error
        ``"raise"`` fails on any damage. ``"salvage"`` returns the results that lie wholly before
        the damage, and the error as ``NcuRepFile.damage``. A file that was cut may lack the
        string table that names some metrics; those metrics are left out of a salvaged file.
        Where nothing lies before the damage, the error is raised all the same.
    progress
        Called now and then with the number of results read and of all results.

    Returns
    -------
    NcuRepFile
        The contents. A sound file without results gives an empty list of them.

    Raises
    ------
    ReportNotFoundError
        Where there is no such file, or it cannot be read.
    NotAReportError, UnsupportedVersionError
        Where it is not a report, or one of an unknown container version.
    ReportFormatError
        Where it is damaged; the subclass says how.
    ValueError
        ``on_error`` is neither of the two.

    Examples
    --------
    >>> from nsightlens.ncurep import read_ncu_rep
    >>> read_ncu_rep("no-such.ncu-rep")
    Traceback (most recent call last):
    nsightlens.errors.ReportNotFoundError: no-such.ncu-rep: there is no such file.
    """
    if on_error not in ("raise", "salvage"):
        raise ValueError(f"on_error must be 'raise' or 'salvage', not {on_error!r}")
    path = os.fspath(path)
    with within_memory(path), open_mapped(path) as buffer:
        version, start = read_file_header(buffer, path)
        container = Container(buffer, path, start)
        if container.damage is not None and on_error == "raise":
            raise container.damage
        wanted = wanted_instances(container.strings, instances)
        reader = ResultReader(buffer, path, container, wanted)
        entries = container.entries
        tick = None if progress is None else lambda done: progress(done, len(entries))
        damage = reader.read_all(entries, tick) or container.damage
        size = len(buffer)
    if tick is not None:
        tick(len(entries))
    _check_damage(damage, on_error, len(reader.results))
    return NcuRepFile(
        path=path,
        size_bytes=size,
        version=version,
        strings=container.strings,
        results=reader.results,
        scalars=reader.scalars,
        instances=reader.instances,
        sessions=container.sessions(),
        damage=damage,
        block_count=container.block_count,
        source_count=container.source_count,
    )


def read_columns(
    path: str | os.PathLike[str],
    *,
    instances: bool | Callable[[str], bool] | None = None,
    metrics: Callable[[str], bool] | None = None,
    has_side_tables: bool = True,
    on_error: Literal["raise", "salvage"] = "raise",
    progress: Callable[[int, int], None] | None = None,
    shown: str | None = None,
    scanner: ScannerName | None = None,
) -> FileColumns:
    """Read a report into columns.

    Parameters
    ----------
    path
        A .ncu-rep file.
    instances, on_error, progress
        See `read_ncu_rep`.
    metrics
        Which metrics to read: those for whose name the function returns True; None for all.
    has_side_tables
        Read rules and NVTX ranges too.
    shown
        What errors and the result call the file, where it is the temporary copy of another.
    scanner
        "c" or "python"; None for the compiled one if this installation has it.

    Returns
    -------
    FileColumns
        The contents, the same whichever scanner read them.

    Raises
    ------
    ScannerError
        ``scanner`` is "c" and this installation has no compiled scanner.
    ReportNotFoundError, ReportFormatError, ValueError
        See `read_ncu_rep`.
    """
    if on_error not in ("raise", "salvage"):
        raise ValueError(f"on_error must be 'raise' or 'salvage', not {on_error!r}")
    compiled = compiled_scanner(scanner)
    path = os.fspath(path)
    shown = path if shown is None else shown
    with within_memory(shown), open_mapped(path, shown) as buffer:
        version, start = read_file_header(buffer, shown)
        skim = None if compiled is None else partial(skim_blocks, compiled)
        container = Container(buffer, shown, start, skim)
        if container.damage is not None and on_error == "raise":
            raise container.damage
        wanted = wanted_instances(container.strings, instances)
        job = ScanJob(buffer, shown, container, wanted, metrics, has_side_tables, progress)
        scanned = scan_pure(job) if compiled is None else scan_compiled(compiled, job)
        size = len(buffer)
    damage = scanned.damage or container.damage
    _check_damage(damage, on_error, scanned.launches.num_rows)
    return FileColumns(
        path=shown,
        size_bytes=size,
        version=version,
        processes=tuple(container.index.processes),
        sessions=container.sessions(),
        launches=scanned.launches,
        rules=scanned.rules,
        nvtx=scanned.nvtx,
        instances=scanned.instances,
        store=scanned.store,
        metric_names=tuple(container.strings),
        damage=damage,
    )


def _check_damage(damage: ReportFormatError | None, on_error: str, result_count: int) -> None:
    """Raise damage that cannot be, or was not asked to be, worked around."""
    if damage is None:
        return
    if on_error == "raise":
        raise damage
    if not result_count:
        raise _beyond_salvage(damage)


def _beyond_salvage(damage: ReportFormatError) -> ReportFormatError:
    """Return the damage without the advice to salvage, which was tried."""
    return type(damage)(
        damage.path, damage.problem, NOTHING_TO_SALVAGE, offset=damage.offset, where=damage.where
    )
