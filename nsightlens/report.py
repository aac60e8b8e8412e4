"""Report: the tables of one or more profiler files in memory, and where they came from.

No file access happens here: `nsightlens.readers` builds a Report. Raw metrics are kept once, as
flat columns (`MetricStore`); the long ``metrics`` table and single-metric columns are views made
from them when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables, units
from nsightlens.arrays import number_array
from nsightlens.errors import MissingExtraError, MissingMetricError
from nsightlens.metric_store import MetricKind, MetricStore, concat_stores
from nsightlens.patterns import is_pattern, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Report",
    "concat_reports",
    "matching_metric_names",
    "metric_fields",
    "rows_of_launches",
]


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
        """Long table of every scalar metric, one row per launch and metric.

        Launches are in file order; the metrics of each in the order in which the file first
        stores them.
        """
        store = self.store
        found = store.long()
        rows = number_array(found.row)
        is_number = (found.kind == MetricKind.INTEGER) | (found.kind == MetricKind.DOUBLE)
        return tables.table_of(
            tables.schema_of(tables.METRICS),
            {
                "report": self.launches["report"].combine_chunks().take(rows),
                "launch_id": self.launches["launch_id"].combine_chunks().take(rows),
                "metric": pa.DictionaryArray.from_arrays(
                    number_array(found.name.astype(np.int32)),
                    pa.array(store.names, type=pa.string()),
                ),
                "value": number_array(found.value, is_number),
                "integer": number_array(found.integer, found.kind == MetricKind.INTEGER),
                "text": found.text,
                "unit": _units_of(store.names).take(number_array(found.name)),
                "rounding": number_array(found.rounding, is_number),
            },
            len(found.row),
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
        key = self.launches.select(["report", "launch_id"])
        return pa.Table.from_arrays(
            [*key.columns, *columns],
            schema=pa.schema([*key.schema, *metric_fields(wanted, columns)]),
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
        return matching_metric_names(self.store, names)

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
        kept = number_array(rows)
        launches = self.launches.take(kept)
        return replace(
            self,
            launches=launches,
            stalls=rows_of_launches(self.stalls, launches),
            rules=rows_of_launches(self.rules, launches),
            nvtx=rows_of_launches(self.nvtx, launches),
            instances=rows_of_launches(self.instances, launches),
            store=self.store.take(rows),
            column_origins={
                name: origin.take(kept) for name, origin in self.column_origins.items()
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


def check_report(value: object) -> None:
    """Refuse what is no report, such as the name of its file.

    Raises
    ------
    TypeError
        The message says how to read a file.
    """
    if not isinstance(value, Report):
        raise TypeError(
            f"a Report is needed, not {type(value).__name__}: read a file with "
            "nsightlens.open_report"
        )


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
        store=concat_stores([r.store for r in reports]),
        sources=tuple(path for r in reports for path in r.sources),
        warnings=tuple(text for r in reports for text in r.warnings),
        instances=_concat([r.instances for r in reports]),
        column_origins=_concat_origins(reports),
    )


def matching_metric_names(
    store: MetricStore, names: Iterable[str], *, neighbours: Sequence[str] = ()
) -> list[str]:
    """Return the metrics of a store that names and patterns stand for.

    Parameters
    ----------
    store, names
        See `Report.matching_metric_names`.
    neighbours
        Names that an error may propose, where the store does not have all of them.
    """
    known = neighbours or store.names
    return list(dict.fromkeys(match for name in names for match in _matching(store, name, known)))


def _matching(store: MetricStore, name: str, known: Sequence[str]) -> Sequence[str]:
    if name in store.index_of:
        return [name]
    if is_pattern(name):
        pattern = pattern_of(name)
        matches = sorted(one for one in store.names if pattern.match(one))
        if matches:
            return matches
    import difflib  # as above: only an error needs it

    raise MissingMetricError(
        name,
        nearest=difflib.get_close_matches(name, known, n=3, cutoff=0.6),
        advice="`nsightlens metrics REPORT` lists what the report has.",
    )


def metric_fields(names: Sequence[str], columns: Sequence[pa.Array]) -> list[pa.Field]:
    """Return the Arrow fields of metrics, each with its unit."""
    return [_metric_field(name, column.type) for name, column in zip(names, columns, strict=True)]


@lru_cache(maxsize=16384)
def _metric_field(name: str, kind: pa.DataType) -> pa.Field:
    # Reports have the same hundreds of metrics again and again.
    return pa.field(name, kind, metadata={"unit": units.unit_of(name) or ""})


def _units_of(names: Sequence[str]) -> pa.DictionaryArray:
    """Return the unit of each metric, null where it is not known."""
    return pa.array([units.unit_of(name) for name in names], type=pa.string()).dictionary_encode()


def rows_of_launches(table: pa.Table, launches: pa.Table) -> pa.Table:
    """Keep the rows of ``table`` whose (report, launch_id) is in ``launches``, in their order."""
    if not table.num_rows:
        return table
    paths = pc.unique(launches["report"].cast(pa.string()))
    wanted = _launch_keys(launches, paths)
    return table.filter(number_array(np.isin(_launch_keys(table, paths), wanted)))


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
