"""The pure-Python scanner: results as objects and flat columns, entry by entry.

The twin of the compiled one (`nsightlens.ncurep.compiled`), and the one that says what is wrong:
where the compiled scanner stops, this one reads the entry and finds it sound or raises the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.errors import ReportFormatError, StringIndexError
from nsightlens.ncurep.faults import READER_SLIPS, SALVAGE, reader_error, wire_error
from nsightlens.ncurep.model import InstanceColumns, Result, ScalarColumns
from nsightlens.ncurep.pages import PageReleaser
from nsightlens.ncurep.results import layout_of, read_result
from nsightlens.ncurep.scan import scan_instances, scan_result
from nsightlens.ncurep.wire import Message, WireFault, padded

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable, Sequence
    from mmap import mmap

    from nsightlens.ncurep.container import Container, Entry

__all__ = ["ResultReader"]


class ResultReader:
    """Reads indexed entries into results and columns, until one is damaged.

    Parameters
    ----------
    buffer
        The whole file.
    path
        The file, as errors name it.
    container
        Its index.
    wanted
        By name id, whether to read instanced values:
        `nsightlens.ncurep.scanner.wanted_instances`; None for none.
    has_side_tables
        Read rules and NVTX ranges; without, they are stepped over.
    """

    def __init__(
        self,
        buffer: mmap | bytes,
        path: str,
        container: Container,
        wanted: Sequence[bool] | None,
        *,
        has_side_tables: bool = True,
    ) -> None:
        self.results: list[Result] = []
        self.scalars = ScalarColumns()
        self.instances: InstanceColumns | None = InstanceColumns() if wanted is not None else None
        self._buffer = buffer
        self._path = path
        self._string_count = len(container.strings)
        # With the end of the file gone, so may be the string table that a metric refers to.
        self._may_lack_strings = container.damage is not None
        self._wanted = wanted or ()
        self._has_side_tables = has_side_tables

    def read_all(
        self, entries: Iterable[Entry], tick: Callable[[int], None] | None = None
    ) -> ReportFormatError | None:
        """Read the entries; return the error that ended it, or None.

        ``tick`` is called now and then with the number of entries read.
        """
        pages = None
        for done, entry in enumerate(entries):
            pages = pages or PageReleaser(self._buffer, entry.start)
            if tick is not None and done % 64 == 0:
                tick(done)
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
            pages.read_up_to(entry.stop)
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
            result = read_result(
                Message(data, fields, 0), entry.kind, layout, has_side_tables=self._has_side_tables
            )
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
