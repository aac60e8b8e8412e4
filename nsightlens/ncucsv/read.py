"""Read the text that ncu prints with ``--csv``: the only door to the modules of this package.

First `nsightlens.ncucsv.layout` finds the tables between all other output, then their rows are put
together to launches, whether a row is a launch (``--page raw``) or one metric of it (``--page
details``). A text without such a table is told what it is by `nsightlens.ncucsv.diagnosis`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from nsightlens.errors import ReportFormatError, TruncatedReportError
from nsightlens.ncucsv import columns as names
from nsightlens.ncucsv.cells import CellReader, better, differ, unmarked
from nsightlens.ncucsv.columns import Columns, columns_of, launch_of, problem_of
from nsightlens.ncucsv.diagnosis import not_a_table
from nsightlens.ncucsv.labels import metric_of
from nsightlens.ncucsv.layout import RawTable, Row, find_tables
from nsightlens.ncucsv.model import Cell, CsvLaunch, CsvRule, NcuCsvFile
from nsightlens.ncucsv.number import FormatFound, format_of
from nsightlens.ncucsv.text import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["read_ncu_csv"]

_SALVAGE = (
    "Print it again, or read the launches before the cut with on_error='salvage' (--salvage)."
)
_AS_PRINTED = "Give the CSV as ncu printed it."

# [character] A sector of zeros is a stretch that was not written; fewer may be a program's output.
_UNWRITTEN = "\0" * 512

_LONGEST_NAME = 120  # [character] in a message


def _fits_any(base: str, metric: str) -> bool:  # noqa: ARG001
    return True


def read_ncu_csv(
    path: str,
    content: bytes | str,
    *,
    on_error: Literal["raise", "salvage"] = "raise",
    is_unit_of: Callable[[str, str], bool] = _fits_any,
) -> NcuCsvFile:
    """Read a text that ncu printed with ``--csv``.

    Parameters
    ----------
    path
        The file, for errors.
    content
        What it holds: bytes of any encoding that `nsightlens.ncucsv.text` knows, or text.
    on_error
        ``"raise"`` fails where the text was cut. ``"salvage"`` returns the launches before the
        cut, and the error as ``NcuCsvFile.damage``; where none lies before it, it is raised.
    is_unit_of
        Says whether a base unit, such as ``B/s``, is one of a metric, both by name. A number
        printed in any other is left out, and ``NcuCsvFile.warnings`` says so. By default every
        unit is taken.

    Returns
    -------
    NcuCsvFile
        With at least one launch.

    Raises
    ------
    NotAReportError
        The text is no table of launches; the message says what it is instead.
    TruncatedReportError
        It ends inside a row, or in NUL bytes.
    ReportFormatError
        A table lacks what is needed to read it, or contradicts itself.

    Examples
    --------
    >>> text = '''"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
    ... "0","42","axpy(int)","gpu__time_duration.sum","usecond","6.75"'''
    >>> read_ncu_csv("axpy.csv", text).metrics
    {'gpu__time_duration.sum': [Cell(value=6750.0, rounding=5.0)]}
    """
    if isinstance(content, str):
        # Halves of a pair, which UTF-8 does not have, cannot become Arrow text.
        content = content.encode("utf-8", "backslashreplace")
    text = decoded(content).replace("\r\n", "\n").replace("\r", "\n")
    text, unwritten = _written(path, text)
    if unwritten is not None and on_error == "raise":
        raise unwritten
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        return _read(path, lines, unwritten, on_error, is_unit_of)
    except csv.Error as error:
        problem = f"a row cannot be split into cells ({error})"
        raise ReportFormatError(path, problem, _AS_PRINTED) from error


def _written(path: str, text: str) -> tuple[str, ReportFormatError | None]:
    """Return a text up to where NUL bytes stand for the rest, and the error that they are."""
    written = text.rstrip()
    end = text.find(_UNWRITTEN)
    if end < 0 and written.endswith("\0"):
        end = len(written.rstrip("\0"))
    if end < 0:
        return text, None
    text = text[:end]
    line = text.count("\n") + 1
    problem = "NUL bytes follow instead of text: the file was not written whole"
    return text, TruncatedReportError(path, problem, _SALVAGE, where=(f"line {line}",))


def _read(
    path: str,
    lines: Sequence[str],
    unwritten: ReportFormatError | None,
    on_error: str,
    is_unit_of: Callable[[str, str], bool],
) -> NcuCsvFile:
    tables = [(table, columns_of(table.header)) for table in find_tables(lines)]
    if not tables:
        raise unwritten or not_a_table(path, lines)
    for table, columns in tables:
        problem = problem_of(columns)
        if problem is not None:
            raise ReportFormatError(path, *problem, where=(f"line {table.line}",))
    style = format_of(_printed_values(tables))
    file = NcuCsvFile(path, warnings=_conclusions(path, style))
    reader = CellReader(path, style.format, is_unit_of)
    for table, columns in tables:
        contents = _Contents(reader, table, columns)
        contents.read()
        if unwritten is not None and table is tables[-1][0]:
            contents.end_with(unwritten)
        _join(file, contents)
        if contents.damage is not None:
            file.damage = contents.damage
    if file.damage is not None and (on_error == "raise" or not file.launches):
        raise file.damage
    if not file.launches:
        where = (f"line {tables[0][0].line}",)
        advice = "Print it again; if it is empty again, ncu profiled no kernel."
        raise ReportFormatError(path, "the table has no row of a launch", advice, where=where)
    file.warnings.extend(
        f"{_shown(metric)} is printed in {_shown(unit)} (line {line}), which is no known unit of"
        " it: these values are left out"
        for (metric, unit), line in reader.misfits.items()
    )
    return file


def _printed_values(tables: Sequence[tuple[RawTable, Columns]]) -> Iterator[tuple[str, str]]:
    """Yield every printed value of a metric with its unit."""
    for table, columns in tables:
        units: list[str] = []
        for row in table.rows():
            cells = row.cells
            if columns.is_long:
                unit = columns.cell(cells, names.UNIT)
                yield unmarked(columns.cell(cells, names.VALUE)), unit
            elif columns.key(cells)[0]:
                for i in columns.metrics:
                    if i < len(cells):
                        yield unmarked(cells[i]), units[i].strip() if i < len(units) else ""
            else:
                units = cells


def _conclusions(path: str, style: FormatFound) -> list[str]:
    """Return what has to be said of how numbers are read.

    Raises
    ------
    ReportFormatError
        Whichever way they are read, some of them cannot be.
    """
    if style.percentage is None:
        return []
    if style.against is not None:
        problem = (
            f"{style.percentage!r} is a percentage with a decimal comma, or one above 1000, and"
            f" {style.against!r} speaks against a decimal comma: no number tells which it is"
        )
        raise ReportFormatError(path, problem, "Print the file again, under LC_ALL=C.")
    conclusion = (
        f"numbers are read with a decimal comma, because of the percentage {style.percentage!r};"
        " no number tells it for certain"
    )
    return [conclusion]


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}\u2026")


@dataclass
class _Contents:
    """The launches of one table, while its rows are read."""

    reader: CellReader
    table: RawTable
    columns: Columns
    launches: list[CsvLaunch] = field(default_factory=list)
    metrics: dict[str, list[Cell | None]] = field(default_factory=dict)
    rules: list[CsvRule] = field(default_factory=list)
    damage: ReportFormatError | None = None
    _position: dict[tuple[str, ...], int] = field(default_factory=dict)
    _label_of: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def read(self) -> None:
        units: list[str] | None = None
        for row in self.table.rows():
            if self._is_cut(row):
                self._end_at(row)
                break
            self._check(row)
            if not self.columns.key(row.cells)[0]:
                units = row.cells
            elif self.columns.is_long:
                self._add_line(row)
            elif units is None:
                problem = "the row of units is missing, and values may be scaled"
                raise self._error(row.line, problem)
            else:
                self._add_launch(row, units)
        for column in self.metrics.values():
            column.extend([None] * (len(self.launches) - len(column)))

    def _is_cut(self, row: Row) -> bool:
        needed = self.columns.place[names.VALUE] + 1 if self.columns.is_long else self._width
        return not row.is_closed or (row.is_last and len(row.cells) < needed)

    @property
    def _width(self) -> int:
        return len(self.table.header)

    def _end_at(self, row: Row) -> None:
        """End before a row that was cut, and before the launch that it belongs to."""
        place = f"line {row.line}"
        self.damage = TruncatedReportError(
            self.reader.path, "the text ends inside a row", _SALVAGE, where=(place,)
        )
        if not self.columns.is_long or not self.launches:
            return
        complete = row.cells[:-1]
        at = self.columns.place["ID"]
        if at >= len(complete) or complete[at].strip() == self.launches[-1].key[0]:
            self._drop_last()

    def end_with(self, damage: ReportFormatError) -> None:
        """End with the text: of the last launch of the long form, rows may be missing."""
        if self.damage is None and self.columns.is_long and self.launches:
            self._drop_last()
        self.damage = damage

    def _drop_last(self) -> None:
        last = len(self.launches) - 1
        del self.launches[last]
        self.metrics = {name: column[:last] for name, column in self.metrics.items()}
        self.metrics = {
            name: column
            for name, column in self.metrics.items()
            if any(cell is not None for cell in column)
        }
        self.rules = [rule for rule in self.rules if rule.launch < last]

    def _check(self, row: Row) -> None:
        if len(row.cells) > self._width and any(cell.strip() for cell in row.cells[self._width :]):
            problem = f"the row has {len(row.cells)} cells under {self._width} names"
            raise self._error(row.line, problem)

    def _error(self, line: int, problem: str) -> ReportFormatError:
        return ReportFormatError(self.reader.path, problem, _AS_PRINTED, where=(f"line {line}",))

    def _add_launch(self, row: Row, units: Sequence[str]) -> None:
        """Add a row of the wide form: one launch."""
        launch, cells = len(self.launches), row.cells
        self.launches.append(launch_of(self.columns, cells))
        read, count, unit_count = self.reader.cell, len(cells), len(units)
        for index, name in self.columns.metrics.items():
            text = cells[index] if index < count else ""
            if text and not text.isspace():
                unit = units[index] if index < unit_count else ""
                self._set(name, launch, read(name, text, unit, row.line))

    def _add_line(self, row: Row) -> None:
        """Add a row of the long form: a metric or a rule of a launch."""
        cells, cell = row.cells, self.columns.cell
        key = self.columns.key(cells)
        launch = self._position.get(key)
        if launch is None:
            launch = self._position[key] = len(self.launches)
            self.launches.append(launch_of(self.columns, cells))
        label = cell(cells, names.METRIC)
        if label:
            name = self._name(cell(cells, names.SECTION), cell(cells, names.ITEM), label)
            text, unit = cell(cells, names.VALUE), cell(cells, names.UNIT)
            self._set(name, launch, self.reader.cell(name, text, unit, row.line))
        elif len(cells) <= self.columns.place[names.VALUE]:
            problem = f"the row ends before {names.VALUE!r}"
            raise self._error(row.line, problem)
        if cell(cells, names.RULE):
            self._add_rule(launch, cells)

    def _name(self, section: str, item: str, label: str) -> str:
        """Return the metric of a label; a label of several sections keeps them apart."""
        metric = metric_of(section, item, label)
        if metric is not None:
            return metric
        return self._label_of.setdefault(
            (section, item, label),
            label
            if label not in self._label_of.values()
            else ": ".join(part for part in (section, item, label) if part),
        )

    def _add_rule(self, launch: int, cells: Sequence[str]) -> None:
        cell = self.columns.cell
        self.rules.append(
            CsvRule(
                launch=launch,
                section=cell(cells, names.SECTION) or None,
                rule=cell(cells, names.RULE),
                kind=cell(cells, names.RULE_KIND),
                message=cell(cells, names.RULE_TEXT),
                speedup_scope=cell(cells, names.SPEEDUP_SCOPE) or None,
                speedup_pct=self.reader.percentage(cell(cells, names.SPEEDUP)),
            )
        )

    def _set(self, name: str, launch: int, cell: Cell) -> None:
        column = self.metrics.setdefault(name, [])
        column.extend([None] * (launch + 1 - len(column)))
        column[launch] = better(column[launch], cell)


def _join(file: NcuCsvFile, table: _Contents) -> None:
    """Add the launches of a table; those that the file has already get its metrics.

    ncu prints a report in parts if it is asked to (a page, a section at a time), and parts name
    their launches alike. So do two runs in two containers: where the values of a launch are others,
    the table is of other launches.
    """
    if not file.launches:
        file.launches, file.metrics, file.rules = table.launches, table.metrics, table.rules
        return
    known = {launch.key: i for i, launch in enumerate(file.launches)}
    rows = [known.get(launch.key) for launch in table.launches]
    again = [row for row in rows if row is not None]
    if len(set(again)) < len(again) or _contradict(file, table, rows):
        rows = [None] * len(rows)
    positions = []
    for launch, row in zip(table.launches, rows, strict=True):
        positions.append(len(file.launches) if row is None else row)
        if row is None:
            file.launches.append(launch)
    for name, column in table.metrics.items():
        joined = file.metrics.setdefault(name, [])
        joined.extend([None] * (len(file.launches) - len(joined)))
        for position, cell in zip(positions, column, strict=True):
            if cell is not None:
                joined[position] = better(joined[position], cell)
    for column in file.metrics.values():
        column.extend([None] * (len(file.launches) - len(column)))
    file.rules.extend(rule._replace(launch=positions[rule.launch]) for rule in table.rules)


def _contradict(file: NcuCsvFile, table: _Contents, rows: Sequence[int | None]) -> bool:
    return any(
        (before := file.metrics[name][row]) is not None and differ(before, cell)
        for name, column in table.metrics.items()
        if name in file.metrics
        for row, cell in zip(rows, column, strict=True)
        if row is not None and cell is not None
    )
