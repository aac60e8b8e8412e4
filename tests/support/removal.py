"""Real or synthetic reports of which some metrics are taken away or changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.analysis import classify
from nsightlens.analysis.label import EVIDENCES
from nsightlens.metric_store import MetricColumn, MetricKind, MetricStore
from nsightlens.metrics import derive_launch_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest
    from numpy.typing import NDArray

    from nsightlens.metric_store import StorePart
    from nsightlens.report import Report


def without(report: Report, removed: Mapping[str, NDArray[np.bool_]]) -> Report:
    """Return a report as if metrics had not been collected.

    Parameters
    ----------
    report
        The report.
    removed
        For each metric, the launches that lose it. Each of shape (launches,).
    """
    parts, first = [], 0
    for part in report.store.parts:
        rows = slice(first, first + part.launch_count)
        parts.append(_part_without(part, {name: mask[rows] for name, mask in removed.items()}))
        first += part.launch_count
    return _with_store(report, MetricStore(tuple(parts)))


def scaled(report: Report, names: Iterable[str], factor: float) -> Report:
    """Return a report in which some metrics are a multiple of what they were."""
    wanted = set(names)
    parts = []
    for part in report.store.parts:
        one = MetricStore((part,))
        columns = {
            name: _multiple(column, one.number(name)[0] * factor) if name in wanted else column
            for name, column in part.columns.items()
        }
        parts.append(replace(part, columns=columns))
    return _with_store(report, MetricStore(tuple(parts)))


def _multiple(column: MetricColumn, values: NDArray[np.float64]) -> MetricColumn:
    is_number = (column.kind == MetricKind.INTEGER) | (column.kind == MetricKind.DOUBLE)
    raw = np.where(is_number, values.view(np.uint64), column.raw)
    kind = np.where(is_number, MetricKind.DOUBLE, column.kind).astype(np.uint8)
    return MetricColumn(raw, kind)


def _with_store(report: Report, store: MetricStore) -> Report:
    columns, origins = derive_launch_columns(store)
    launches = report.launches
    for name, values in columns.items():
        index = launches.schema.get_field_index(name)
        field = launches.schema.field(index)
        launches = launches.set_column(index, field, values.cast(field.type))
    return replace(report, launches=launches, store=store, column_origins=origins)


def _part_without(part: StorePart, removed: Mapping[str, NDArray[np.bool_]]) -> StorePart:
    columns = {}
    for name, column in part.columns.items():
        lost = removed.get(name)
        if lost is None or not lost.any():
            columns[name] = column
        elif not lost.all():
            kind = np.where(lost, MetricKind.ABSENT, column.kind).astype(np.uint8)
            columns[name] = MetricColumn(column.raw, kind)
    return replace(part, columns=columns)


def metrics_read(report: Report, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the metrics of a report that its labels are made of.

    Whatever is not read cannot change a label. Attributes of the device and of the launch are
    left out: ncu stores them with every kernel.
    """
    read: set[str] = set()
    with monkeypatch.context() as patch:
        for method in ("number", "column", "kind"):
            original = getattr(MetricStore, method)

            def recording(self: MetricStore, name: str, original: object = original) -> object:
                read.add(name)
                return original(self, name)  # type: ignore[operator]

            patch.setattr(MetricStore, method, recording)
        classify(without(report, {}))
    return sorted(name for name in read if name in report.store.index_of)


def broken_by_removal(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Say which promise a label breaks after metrics were taken away; empty if none.

    Parameters
    ----------
    before, after
        ``bound``, ``roofline_bound`` and ``evidence`` with and without the metrics.
    """
    was, is_now = (EVIDENCES.index(one["evidence"]) for one in (before, after))
    if before["bound"] == "unknown" != after["bound"]:
        return f"an unknown bound became {after['bound']}"
    if after["bound"] != before["bound"] and is_now >= was:
        return f"{before['bound']} became {after['bound']} on no less evidence"
    if after["roofline_bound"] not in ("unknown", before["roofline_bound"]):
        return f"roofline: {before['roofline_bound']} became {after['roofline_bound']}"
    return "" if is_now <= was else "there is more evidence than before"
