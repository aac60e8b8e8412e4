"""Read a .ncu-rep file: open it, index it, read its results, and say what is wrong with it.

The only door to the reader modules. First `nsightlens.ncurep.container` indexes every block and
string, then `nsightlens.ncurep.results` reads entry by entry. Damage becomes a typed error that
names the file, the byte and the structure; with ``on_error="salvage"`` it ends the reading
instead.
"""

from __future__ import annotations

import mmap
import os
import stat
from typing import TYPE_CHECKING, Any, Literal

from nsightlens.errors import (
    NotAReportError,
    ReportFormatError,
    ReportNotFoundError,
    StringIndexError,
)
from nsightlens.ncurep.container import Container, Entry, read_file_header
from nsightlens.ncurep.faults import (
    NOTHING_TO_SALVAGE,
    PROFILE_AGAIN,
    READER_SLIPS,
    SALVAGE,
    reader_error,
    wire_error,
)
from nsightlens.ncurep.model import InstanceColumns, NcuRepFile, Result, ScalarColumns
from nsightlens.ncurep.results import layout_of, read_result
from nsightlens.ncurep.scan import scan_instances, scan_result
from nsightlens.ncurep.wire import Message, WireFault, padded

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable

__all__ = ["read_ncu_rep"]


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
    with _open(path) as buffer:
        version, start = read_file_header(buffer, path)
        container = Container(buffer, path, start)
        if container.damage is not None and on_error == "raise":
            raise container.damage
        reader = _ResultReader(buffer, path, container, instances)
        damage = reader.read_all(container.entries, progress) or container.damage
        size = len(buffer)
    if damage is not None and on_error == "raise":
        raise damage
    if damage is not None and not reader.results:
        raise _beyond_salvage(damage)
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


def _open(path: str) -> mmap.mmap:
    """Return the file mapped into memory, not yet known to be a report."""
    try:
        # Before it is opened: opening a pipe waits for its writer.
        _check_kind(path, os.stat(path))  # noqa: PTH116 - also takes what pathlib cannot hold
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            status = os.fstat(file.fileno())
            _check_kind(path, status)
            if status.st_size:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, NotADirectoryError):
        raise ReportNotFoundError(f"{path}: there is no such file.") from None
    except NotAReportError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReportNotFoundError(f"{path}: the file cannot be read ({reason}).") from error
    raise NotAReportError(path, "the file is empty", PROFILE_AGAIN)


def _check_kind(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise NotAReportError(path, "this is a directory", "Give the .ncu-rep file inside it.")
    if not stat.S_ISREG(status.st_mode):
        advice = "Give a .ncu-rep file on a disk."
        raise NotAReportError(path, "this is a device or a pipe, not a file", advice)


def _beyond_salvage(damage: ReportFormatError) -> ReportFormatError:
    """Return the damage without the advice to salvage, which was tried."""
    return type(damage)(
        damage.path, damage.problem, NOTHING_TO_SALVAGE, offset=damage.offset, where=damage.where
    )


class _ResultReader:
    """Second pass: reads the indexed entries into results and columns, until one is damaged."""

    def __init__(
        self,
        buffer: mmap.mmap,
        path: str,
        container: Container,
        instances: bool | Callable[[str], bool] | None,
    ) -> None:
        self.results: list[Result] = []
        self.scalars = ScalarColumns()
        self.instances: InstanceColumns | None = InstanceColumns() if instances else None
        self._buffer = buffer
        self._path = path
        self._string_count = len(container.strings)
        # With the end of the file gone, so may be the string table that a metric refers to.
        self._may_lack_strings = container.damage is not None
        self._wanted = _wanted(container.strings, instances)

    def read_all(
        self, entries: list[Entry], progress: Callable[[int, int], None] | None
    ) -> ReportFormatError | None:
        """Read the entries; return the error that ended it, or None."""
        for done, entry in enumerate(entries):
            if progress is not None and done % 64 == 0:
                progress(done, len(entries))
            scalar_count = len(self.scalars.result)
            instance_count = len(self.instances.scalar) if self.instances is not None else 0
            try:
                self._read_entry(entry)
            except ReportFormatError as error:
                self._roll_back(scalar_count, instance_count)
                return error
            except READER_SLIPS as slip:
                self._roll_back(scalar_count, instance_count)
                return reader_error(self._path, slip, entry.start, entry.where())
        if progress is not None:
            progress(len(entries), len(entries))
        return None

    def _read_entry(self, entry: Entry) -> None:
        layout = layout_of(entry.kind)
        size = entry.stop - entry.start
        data = padded(self._buffer[entry.start : entry.stop])
        first = len(self.scalars.result)
        try:
            fields, extents = scan_result(
                data, size, layout.metrics, len(self.results), self.scalars
            )
            result = read_result(Message(data, fields, 0), entry.kind, layout)
            self._check_names(entry, first, extents)
            if self.instances is not None:
                self._read_instances(data, first, extents, self.instances)
        except WireFault as fault:
            raise wire_error(self._path, fault, entry.start, entry.where()) from fault
        result.offset = entry.start
        result.process = entry.process
        self.results.append(result)

    def _check_names(self, entry: Entry, first: int, extents: list[tuple[int, int]]) -> None:
        """Drop the metrics that nothing names, or raise where something should."""
        names = self.scalars.name
        known = self._string_count
        lost = [row for row in range(first, len(names)) if names[row] >= known]
        if not lost:
            return
        if not self._may_lack_strings:
            problem = f"a metric has the name id {names[lost[0]]} and the file has {known} strings"
            offset = entry.start + extents[lost[0] - first][0]
            raise StringIndexError(self._path, problem, SALVAGE, offset=offset, where=entry.where())
        kept = [row for row in range(first, len(names)) if names[row] < known]
        extents[:] = [extents[row - first] for row in kept]
        _keep_rows(self.scalars, first, kept)

    def _read_instances(
        self, data: bytes, first: int, extents: list[tuple[int, int]], columns: InstanceColumns
    ) -> None:
        names, wanted = self.scalars.name, self._wanted
        counts = self.scalars.instance_count
        for row, (start, stop) in enumerate(extents, first):
            if counts[row] and wanted[names[row]]:
                scan_instances(data, start, stop, row, columns)

    def _roll_back(self, scalar_count: int, instance_count: int) -> None:
        """Forget the rows that a damaged result had added."""
        _keep_rows(self.scalars, scalar_count, [])
        instances = self.instances
        if instances is None:
            return
        for column in (
            instances.scalar, instances.correlation_kind, instances.correlation_value,
            instances.correlation_integer, instances.kind, instances.value, instances.integer,
        ):  # fmt: skip
            del column[instance_count:]
        for texts in (instances.text, instances.correlation_text):
            for row in [row for row in texts if row >= instance_count]:
                del texts[row]


def _wanted(strings: list[str], instances: bool | Callable[[str], bool] | None) -> list[bool]:
    """Return, by name id, whether the instances of a metric are to be read."""
    if callable(instances):
        return [bool(instances(name)) for name in strings]
    return [bool(instances)] * len(strings)


def _keep_rows(scalars: ScalarColumns, first: int, kept: list[int]) -> None:
    """Leave of the rows from ``first`` on only the given ones."""
    texts = [(new, scalars.text[row]) for new, row in enumerate(kept, first) if row in scalars.text]
    for row in range(first, len(scalars.result)):
        scalars.text.pop(row, None)
    scalars.text.update(texts)
    columns: tuple[array[Any], ...] = (
        scalars.result, scalars.name, scalars.kind, scalars.value, scalars.integer,
        scalars.instance_count,
    )  # fmt: skip
    for column in columns:
        for new, row in enumerate(kept, first):
            column[new] = column[row]
        del column[first + len(kept) :]
