"""A report read by nsightlens and by NVIDIA's own reader, side by side.

Every comparison counts what it compared, so that a test can tell agreement from having looked at
nothing, and lists each difference with its place. Values are compared by their bits.
"""

from __future__ import annotations

import struct
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.model import ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from nsightlens.ncurep.model import (
        InstanceColumns,
        NcuRepFile,
        NvtxRange,
        Result,
        RuleMessage,
        ScalarColumns,
    )

WORKLOAD_TYPES = ("kernel", "range", "cmdlist", "graph")

# Its numbers of the message types are not those in the file.
MESSAGE_TYPES = {0: 0, 1: 1, 2: 3, 3: 4, 4: 2}

_PACK_DOUBLE = struct.Struct("<d").pack


def import_ncu_report() -> Any:
    """Return NVIDIA's reader, or skip the test where it is not installed."""
    with warnings.catch_warnings():
        # Its generated bindings use what newer Pythons deprecate.
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            "ncu_report", reason="NVIDIA's ncu_report is not installed (nsightlens[ncu])"
        )


@dataclass
class Parity:
    """What was compared, by aspect: how many, and where the two readers differ."""

    compared: Counter[str] = field(default_factory=Counter)
    differences: dict[str, list[str]] = field(default_factory=dict)

    def check(self, aspect: str, where: str, ours: object, theirs: object, count: int = 1) -> None:
        """Count a comparison, and note it where the two are not equal."""
        self.compared[aspect] += count
        if ours != theirs:
            self.differences.setdefault(aspect, []).append(f"{where}: {ours!r} != {theirs!r}")


def compare_report(path: Path, parity: Parity) -> None:
    """Compare one report in every aspect that NVIDIA's reader gives."""
    ncu_report = import_ncu_report()
    ours = read_ncu_rep(path, instances=True)
    context = ncu_report.load_report(str(path))
    actions = [
        action for index in range(context.num_ranges()) for action in context.range_by_idx(index)
    ]
    parity.check("launches", path.name, len(ours.results), len(actions), len(actions))
    rows_by_result = _rows_by_result(ours)
    instances = _instance_extents(ours)
    for index, (result, action) in enumerate(zip(ours.results, actions, strict=False)):
        where = f"{path.name} > {index}"
        _compare_result(where, result, action, parity)
        _compare_metrics(where, ours, rows_by_result[index], instances, action, parity)


def _compare_result(where: str, result: Result, action: Any, parity: Parity) -> None:
    parity.check("kinds", where, result.kind, WORKLOAD_TYPES[action.workload_type()])
    if result.kind == "kernel":
        theirs = tuple(
            action.name(base)
            for base in (
                action.NameBase_FUNCTION,
                action.NameBase_MANGLED,
                action.NameBase_DEMANGLED,
            )
        )
        ours = (result.function_name or "", result.mangled_name or "", result.demangled_name or "")
        parity.check("names", where, ours, theirs, 3)
    parity.check("NVTX states", where, _our_nvtx(result), _their_nvtx(action))
    messages = [rule for rule in action.rule_results() if rule.has_rule_message()]
    parity.check(
        "rule messages",
        where,
        [_our_rule(message) for message in result.rules],
        [_their_rule(message) for message in messages],
        len(messages),
    )
    parity.check(
        "speed-ups",
        where,
        [_our_speedup(message) for message in result.rules],
        [_their_speedup(message) for message in messages],
        sum(message.has_speedup_estimation() for message in messages),
    )


def _our_nvtx(result: Result) -> object:
    if result.nvtx is None:
        return None
    return {
        domain.domain_id: (
            domain.name,
            [_our_range(found) for found in domain.push_pop],
            [_our_range(found) for found in domain.start_end],
        )
        for domain in result.nvtx
    }


def _our_range(found: NvtxRange) -> tuple[object, ...]:
    return found.name, found.category or 0, found.color or 0


def _their_nvtx(action: Any) -> object:
    state = action.nvtx_state()
    if state is None:
        return None
    domains = {identifier: state.domain_by_id(identifier) for identifier in state.domains()}
    return {
        identifier: (
            domain.name(),
            [
                _their_range(domain.push_pop_range(index))
                for index in range(len(domain.push_pop_ranges()))
            ],
            [
                _their_range(domain.start_end_range(index))
                for index in range(len(domain.start_end_ranges()))
            ],
        )
        for identifier, domain in domains.items()
    }


def _their_range(found: Any) -> tuple[object, ...]:
    return found.name(), found.category(), found.color()


def _our_rule(message: RuleMessage) -> tuple[object, ...]:
    return (
        message.rule,
        message.rule_name,
        message.section or "",
        message.title or "",
        message.message,
        MESSAGE_TYPES[message.severity],
    )


def _their_rule(rule: Any) -> tuple[object, ...]:
    said = rule.rule_message()
    return (
        rule.rule_identifier(),
        rule.name(),
        rule.section_identifier(),
        said["title"],
        said["message"],
        said["type"],
    )


def _our_speedup(message: RuleMessage) -> object:
    if message.speedup_pct is None:
        return None
    return message.speedup_scope, _PACK_DOUBLE(message.speedup_pct)


def _their_speedup(rule: Any) -> object:
    if not rule.has_speedup_estimation():
        return None
    said = rule.speedup_estimation()
    return said["type"], _PACK_DOUBLE(said["speedup"])


def _rows_by_result(ours: NcuRepFile) -> list[dict[str, int]]:
    """Return, per result, the row of each metric name; the last row of a name counts."""
    rows: list[dict[str, int]] = [{} for _ in ours.results]
    strings = ours.strings
    for row, (result, name) in enumerate(zip(ours.scalars.result, ours.scalars.name, strict=True)):
        rows[result][strings[name]] = row
    return rows


def _instance_extents(ours: NcuRepFile) -> dict[int, range]:
    """Return the rows of the instances of every scalar row that has any."""
    assert ours.instances is not None
    extents: dict[int, range] = {}
    for row, scalar in enumerate(ours.instances.scalar):
        start = extents[scalar].start if scalar in extents else row
        extents[scalar] = range(start, row + 1)
    return extents


def _compare_metrics(
    where: str,
    ours: NcuRepFile,
    rows: dict[str, int],
    extents: dict[int, range],
    action: Any,
    parity: Parity,
) -> None:
    assert ours.instances is not None
    names = set(action.metric_names())
    parity.check("metric names", where, set(rows) ^ names, set(), len(names))
    scalars = ours.scalars
    for name in rows.keys() & names:
        row, metric, here = rows[name], action.metric_by_name(name), f"{where} > {name}"
        if metric.has_value():
            their_value = _their_value(metric, metric.kind())
        else:
            their_value = (ValueKind.NULL, None)
        parity.check("scalar values", here, _our_scalar(scalars, row), their_value)
        extent = extents.get(row, range(0))
        count = metric.num_instances()
        parity.check(
            "instance counts", here, (scalars.instance_count[row], len(extent)), (count,) * 2
        )
        if count:
            _compare_instances(here, ours.instances, extent, metric, parity)


def _compare_instances(
    where: str, columns: InstanceColumns, extent: range, metric: Any, parity: Parity
) -> None:
    values = list(_our_values(columns.kind, columns.value, columns.integer, columns.text, extent))
    theirs = [_their_value(metric, metric.kind(i), i) for i in range(metric.num_instances())]
    parity.check("instance values", where, values, theirs, len(theirs))
    correlations = list(
        _our_values(
            columns.correlation_kind,
            columns.correlation_value,
            columns.correlation_integer,
            columns.correlation_text,
            extent,
        )
    )
    if not metric.has_correlation_ids():
        none = (ValueKind.NULL, None)
        parity.check("correlation ids", where, correlations, [none] * len(theirs), 0)
        return
    other = metric.correlation_ids()
    theirs = [_their_value(other, other.kind(i), i) for i in range(other.num_instances())]
    parity.check("correlation ids", where, correlations, theirs, len(theirs))


def _our_scalar(scalars: ScalarColumns, row: int) -> tuple[int, object]:
    extent = range(row, row + 1)
    return next(_our_values(scalars.kind, scalars.value, scalars.integer, scalars.text, extent))


def _our_values(
    kinds: Sequence[int],
    values: Sequence[float],
    integers: Sequence[int],
    texts: dict[int, str],
    rows: range,
) -> Iterator[tuple[int, object]]:
    for row in rows:
        kind = kinds[row]
        if kind == ValueKind.DOUBLE:
            yield kind, _PACK_DOUBLE(values[row])
        elif kind == ValueKind.INTEGER:
            yield kind, integers[row]
        else:
            yield kind, texts[row] if kind == ValueKind.TEXT else None


def _their_value(metric: Any, kind: int, *index: int) -> tuple[int, object]:
    if kind in {metric.ValueKind_DOUBLE, metric.ValueKind_FLOAT}:
        return ValueKind.DOUBLE, _PACK_DOUBLE(metric.as_double(*index))
    if kind in {metric.ValueKind_UINT64, metric.ValueKind_UINT32}:
        return ValueKind.INTEGER, metric.as_uint64(*index)
    if kind == metric.ValueKind_STRING:
        return ValueKind.TEXT, metric.as_string(*index)
    return ValueKind.NULL, None
