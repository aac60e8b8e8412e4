"""Report: the tables of one or more profiler files in memory, and where they came from.

No file access happens here: `nsightlens.readers` builds a Report. Raw metrics are kept once, as
flat columns (`MetricStore`); the long ``metrics`` table and single-metric columns are views made
from them when asked for.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables, units
from nsightlens.errors import MissingExtraError, MissingMetricError
from nsightlens.patterns import is_pattern, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["MetricKind", "MetricStore", "Report", "concat_reports"]


class MetricKind:
    """How the report stores the value of a metric."""

    NULL = 0
    INTEGER = 1
    DOUBLE = 2
    TEXT = 3


@dataclass(frozen=True, eq=False)
class MetricStore:
    """Every scalar value of every launch, as parallel columns with one entry per stored value.

    Where a result stores a metric twice, the last one counts, as in NVIDIA's reader.

    Parameters
    ----------
    launch_count
        Number of launches; rows are 0 <= row < launch_count.
    names
        Metric names; ``name[i]`` is an index into it.
    row, name, kind
        Launch row, name index and `MetricKind` of each value. Shape (n,).
    value
        The value as float64; meaningless where kind is NULL or TEXT. Shape (n,).
    integer
        The exact value where kind is INTEGER. Shape (n,).
    text
        Values of kind TEXT by position i.
    """

    launch_count: int
    names: tuple[str, ...]
    row: NDArray[np.uint32]
    name: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    value: NDArray[np.float64]
    integer: NDArray[np.uint64]
    text: dict[int, str] = field(default_factory=dict)

    @cached_property
    def _entries_by_name(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Entries sorted by name (stable), and where each name begins in that order."""
        order = np.argsort(self.name, kind="stable")
        starts = np.searchsorted(self.name[order], np.arange(len(self.names) + 1))
        return order, starts

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Index of each name."""
        return {name: i for i, name in enumerate(self.names)}

    def entries(self, name: str) -> NDArray[np.intp]:
        """Return the positions of a metric's values, at most one per launch, in row order."""
        index = self.index_of.get(name)
        if index is None:
            return np.empty(0, dtype=np.intp)
        order, starts = self._entries_by_name
        found = order[starts[index] : starts[index + 1]]
        if len(found) < 2:
            return found
        rows = self.row[found]
        is_last = np.append(rows[1:] != rows[:-1], True)
        last: NDArray[np.intp] = found[is_last]
        return last

    def column(self, name: str) -> pa.Array:
        """Return one metric as an Arrow array with one element per launch.

        Returns
        -------
        pyarrow.Array
            uint64 where every value is an integer, string where every value is text, else
            float64. Null where the launch has no value. All null (float64) for an unknown name.
        """
        found = self.entries(name)
        kinds = self.kind[found]
        with_value = found[kinds != MetricKind.NULL]
        kinds = kinds[kinds != MetricKind.NULL]
        if len(with_value) and (kinds == MetricKind.TEXT).all():
            texts: list[str | None] = [None] * self.launch_count
            for entry in with_value.tolist():
                texts[int(self.row[entry])] = self.text[entry]
            return pa.array(texts, type=pa.string())
        if len(with_value) and (kinds == MetricKind.INTEGER).all():
            return self._scatter(with_value, self.integer)
        return self._scatter(with_value[kinds != MetricKind.TEXT], self.value)

    def _scatter(self, entries: NDArray[np.intp], source: NDArray[Any]) -> pa.Array:
        values = np.zeros(self.launch_count, dtype=source.dtype)
        missing = np.ones(self.launch_count, dtype=bool)
        rows = self.row[entries]
        values[rows] = source[entries]
        missing[rows] = False
        return pa.array(values, mask=missing)

    def number(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return one metric as float64 and a mask that is true where the launch has a value."""
        values = np.full(self.launch_count, np.nan)
        has_value = np.zeros(self.launch_count, dtype=bool)
        found = self.entries(name)
        kinds = self.kind[found]
        numeric = found[(kinds == MetricKind.INTEGER) | (kinds == MetricKind.DOUBLE)]
        rows = self.row[numeric]
        values[rows] = self.value[numeric]
        has_value[rows] = True
        return values, has_value

    @cached_property
    def _kept(self) -> NDArray[np.intp]:
        """Entries in file order without those that a later one of the same launch replaces."""
        key = self.row.astype(np.uint64) * max(len(self.names), 1) + self.name
        _, first_from_end = np.unique(key[::-1], return_index=True)
        return np.sort(len(key) - 1 - first_from_end)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The tables of one or more reports.

    Parameters
    ----------
    launches, stalls, rules, nvtx, sessions
        Arrow tables with the schemas of `nsightlens.tables`.
    store
        Raw metrics of the launches, in the same row order as ``launches``.
    sources
        Paths of the files, as given.
    warnings
        What was noticed while reading and did not stop it, such as a salvaged cut.
    instances
        Instanced values, where they were asked for; an empty table otherwise.
    column_origins
        For each derived column of ``launches``, which formula gave the value of each launch.
    """

    launches: pa.Table
    stalls: pa.Table
    rules: pa.Table
    nvtx: pa.Table
    sessions: pa.Table
    store: MetricStore
    sources: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    instances: pa.Table = field(default_factory=lambda: tables.empty_table(tables.INSTANCES))
    column_origins: dict[str, pa.Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.launches.num_rows)

    def __repr__(self) -> str:
        names = ", ".join(self.sources[:3]) + (", ..." if len(self.sources) > 3 else "")
        return f"<Report of {len(self)} launches, {len(self.store.names)} metrics: {names}>"

    def _repr_html_(self) -> str:
        # The one import that points right: display, and only when a notebook asks for it.
        from nsightlens.notebook import report_html

        return report_html(self)

    @cached_property
    def metrics(self) -> pa.Table:
        """Long table of every scalar metric, one row per launch and metric, in file order."""
        store = self.store
        kept = store._kept
        kinds = store.kind[kept]
        rows = pa.array(store.row[kept])
        no_number = (kinds == MetricKind.NULL) | (kinds == MetricKind.TEXT)
        texts = pa.nulls(len(kept), pa.string())
        if store.text:
            texts = pa.array([store.text.get(entry) for entry in kept.tolist()], type=pa.string())
        name = pa.DictionaryArray.from_arrays(
            pa.array(store.name[kept].astype(np.int32)), pa.array(store.names, type=pa.string())
        )
        unit_names = [units.unit_of(metric) for metric in store.names]
        known_units = sorted({unit for unit in unit_names if unit is not None})
        unit_index = np.array(
            [-1 if u is None else known_units.index(u) for u in unit_names] or [0], dtype=np.int32
        )
        unit_of_row = unit_index[store.name[kept]] if len(kept) else np.empty(0, dtype=np.int32)
        unit = pa.DictionaryArray.from_arrays(
            pa.array(unit_of_row, mask=unit_of_row < 0), pa.array(known_units, type=pa.string())
        )
        return tables.table_of(
            tables.schema_of(tables.METRICS),
            {
                "report": self.launches["report"].combine_chunks().take(rows),
                "launch_id": self.launches["launch_id"].combine_chunks().take(rows),
                "metric": name,
                "value": pa.array(store.value[kept], mask=no_number),
                "integer": pa.array(store.integer[kept], mask=kinds != MetricKind.INTEGER),
                "text": texts,
                "unit": unit,
            },
            len(kept),
        )

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of all metrics that some launch of the report has, sorted."""
        return tuple(sorted(self.store.names))

    def metric_columns(self, names: Iterable[str]) -> pa.Table:
        """Return raw metrics as one column each, beside ``report`` and ``launch_id``.

        Parameters
        ----------
        names
            Metric names; a pattern with ``*`` or ``?`` stands for every name it matches.

        Returns
        -------
        pyarrow.Table
            One row per launch, in the order of ``launches``. See `MetricStore.column` for the
            type of a column. The unit is in the field metadata.

        Raises
        ------
        MissingMetricError
            A name, or a pattern, that no launch has.
        """
        wanted = self.matching_metric_names(names)
        columns = [self.store.column(name) for name in wanted]
        fields = [
            pa.field(name, column.type, metadata={"unit": units.unit_of(name) or ""})
            for name, column in zip(wanted, columns, strict=True)
        ]
        key = self.launches.select(["report", "launch_id"])
        return pa.Table.from_arrays(
            [*key.columns, *columns], schema=pa.schema([*key.schema, *fields])
        )

    def matching_metric_names(self, names: Iterable[str]) -> list[str]:
        """Return the metrics that names and patterns stand for, once each, in their order.

        Parameters
        ----------
        names
            As for `metric_columns`. The matches of a pattern are sorted.

        Raises
        ------
        MissingMetricError
            A name, or a pattern, that no launch has.
        """
        return list(dict.fromkeys(match for name in names for match in self._matching(name)))

    def _matching(self, name: str) -> Sequence[str]:
        if name in self.store.index_of:
            return [name]
        if is_pattern(name):
            pattern = pattern_of(name)
            matches = sorted(one for one in self.store.names if pattern.match(one))
            if matches:
                return matches
        raise MissingMetricError(
            name,
            nearest=difflib.get_close_matches(name, self.store.names, n=3, cutoff=0.6),
            advice="`nsightlens metrics REPORT` lists what the report has.",
        )

    def filter(self, keep: NDArray[np.bool_]) -> Report:
        """Return the report with only some of its launches, in every table.

        Parameters
        ----------
        keep
            True for each launch to keep. Shape (len(self),).

        Raises
        ------
        ValueError
            ``keep`` is not one truth value per launch.
        """
        keep = np.asarray(keep)
        if keep.shape != (len(self),) or keep.dtype != bool:
            raise ValueError(f"keep must be {len(self)} truth values, one per launch")
        rows = np.flatnonzero(keep)
        new_row = np.full(len(self), -1, dtype=np.int64)
        new_row[rows] = np.arange(len(rows))
        store = self.store
        entries = (
            np.flatnonzero(new_row[store.row] >= 0) if len(store.row) else np.empty(0, np.intp)
        )
        used, name = np.unique(store.name[entries], return_inverse=True)
        kept_store = MetricStore(
            launch_count=len(rows),
            names=tuple(store.names[i] for i in used.tolist()),
            row=new_row[store.row[entries]].astype(np.uint32),
            name=name.astype(np.uint32),
            kind=store.kind[entries],
            value=store.value[entries],
            integer=store.integer[entries],
            text={
                new: store.text[old]
                for new, old in enumerate(entries.tolist())
                if old in store.text
            }
            if store.text
            else {},
        )
        launches = self.launches.take(pa.array(rows))
        return replace(
            self,
            launches=launches,
            stalls=_of_launches(self.stalls, launches),
            rules=_of_launches(self.rules, launches),
            nvtx=_of_launches(self.nvtx, launches),
            instances=_of_launches(self.instances, launches),
            store=kept_store,
            column_origins={
                name: origin.take(pa.array(rows)) for name, origin in self.column_origins.items()
            },
        )

    def to_pandas(self) -> Any:
        """Return ``launches`` as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return data_frame(self.launches, "Report.to_pandas()")


def data_frame(table: pa.Table, purpose: str) -> Any:
    """Return a table as a pandas DataFrame.

    Parameters
    ----------
    table
        The table.
    purpose
        What needs pandas, for the error.

    Raises
    ------
    MissingExtraError
        pandas is not installed.
    """
    try:
        return table.to_pandas()
    except ImportError as error:
        raise MissingExtraError(purpose, package="pandas", extra="notebook") from error


def concat_reports(reports: Sequence[Report]) -> Report:
    """Join reports into one, in the given order; ``report`` and ``launch_id`` name a launch.

    Raises
    ------
    ValueError
        No report was given.
    """
    if not reports:
        raise ValueError("no report to join")
    if len(reports) == 1:
        return reports[0]
    return Report(
        launches=_concat([r.launches for r in reports]),
        stalls=_concat([r.stalls for r in reports]),
        rules=_concat([r.rules for r in reports]),
        nvtx=_concat([r.nvtx for r in reports]),
        sessions=_concat([r.sessions for r in reports]),
        store=_concat_stores([r.store for r in reports]),
        sources=tuple(path for r in reports for path in r.sources),
        warnings=tuple(text for r in reports for text in r.warnings),
        instances=_concat([r.instances for r in reports]),
        column_origins=_concat_origins(reports),
    )


def _of_launches(table: pa.Table, launches: pa.Table) -> pa.Table:
    """Keep the rows of ``table`` whose (report, launch_id) is in ``launches``, in their order."""
    if not table.num_rows:
        return table
    paths = pc.unique(launches["report"].cast(pa.string()))
    wanted = _launch_keys(launches, paths)
    return table.filter(pa.array(np.isin(_launch_keys(table, paths), wanted)))


def _launch_keys(table: pa.Table, paths: pa.Array) -> NDArray[np.int64]:
    """Return one number per row that stands for report and launch; -1 for a report not in paths."""
    report = table["report"].combine_chunks()
    position = pc.fill_null(pc.index_in(report.dictionary.cast(pa.string()), value_set=paths), -1)
    code = np.asarray(position)[np.asarray(report.indices)].astype(np.int64)
    launch_id = np.asarray(table["launch_id"]).astype(np.int64)
    return np.where(code < 0, -1, (code << 32) | launch_id)


def _concat(parts: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


def _concat_origins(reports: Sequence[Report]) -> dict[str, pa.Array]:
    names = dict.fromkeys(name for r in reports for name in r.column_origins)
    joined = {}
    for name in names:
        parts = [
            r.column_origins[name].cast(pa.string())
            if name in r.column_origins
            else pa.nulls(len(r), pa.string())
            for r in reports
        ]
        joined[name] = pa.concat_arrays(parts).dictionary_encode()
    return joined


def _concat_stores(stores: Sequence[MetricStore]) -> MetricStore:
    names = tuple(dict.fromkeys(name for store in stores for name in store.names))
    index_of = {name: i for i, name in enumerate(names)}
    rows, name_ids = [], []
    text: dict[int, str] = {}
    first_row = first_entry = 0
    for store in stores:
        translate = np.array([index_of[name] for name in store.names] or [0], dtype=np.uint32)
        rows.append(store.row + np.uint32(first_row))
        name_ids.append(translate[store.name] if len(store.name) else store.name)
        text.update({entry + first_entry: value for entry, value in store.text.items()})
        first_row += store.launch_count
        first_entry += len(store.row)
    return MetricStore(
        launch_count=first_row,
        names=names,
        row=np.concatenate(rows),
        name=np.concatenate(name_ids),
        kind=np.concatenate([store.kind for store in stores]),
        value=np.concatenate([store.value for store in stores]),
        integer=np.concatenate([store.integer for store in stores]),
        text=text,
    )
