"""The tables of a Report, too, say what NVIDIA's own reader says, to the last bit.

`test_parity_with_ncu_report.py` compares what the file reader found; here it is what a user sees.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from support.parity import import_ncu_report

import nsightlens

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

pytestmark = [pytest.mark.corpus, pytest.mark.ncu_report]


def bits(value: Any) -> object:
    """Return a value so that two are equal only if they are stored alike."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def by_launch(table: pa.Table, columns: list[str]) -> dict[int, list[tuple[Any, ...]]]:
    """Return the rows of each launch, as tuples of these columns."""
    rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    launch_ids = table["launch_id"].to_pylist()
    values = zip(*(table[name].to_pylist() for name in columns), strict=True)
    for launch_id, row in zip(launch_ids, values, strict=True):
        rows[launch_id].append(row)
    return rows


def stored(value: float | None, integer: int | None, text: str | None) -> object:
    """Return the value of a row: text, else the exact integer, else the float64."""
    if text is not None:
        return text
    return integer if integer is not None else bits(value)


def their_value(ncu_report: Any, metric: Any, *instance: int) -> object:
    """Return a value, or that of an instance, as NVIDIA's reader gives it."""
    if not instance and not metric.has_value():
        return None
    value = metric.value(*instance)
    kind = metric.kind(*instance)
    is_integer = kind in {ncu_report.IMetric.ValueKind_UINT32, ncu_report.IMetric.ValueKind_UINT64}
    return int(value) if is_integer else bits(value)


@pytest.mark.usefixtures("scanner")
def test_metrics_and_instances_of_every_real_report(corpus_reports: list[Path]) -> None:
    """Every scalar, every instance and every correlation id of every launch."""
    ncu_report = import_ncu_report()
    scalar_count = instance_count = 0
    for path in corpus_reports:
        report = nsightlens.open_report(path, instances=True)
        metrics = by_launch(report.metrics, ["metric", "value", "integer", "text"])
        instances = by_launch(
            report.instances,
            ["metric", "instance", "value", "integer", "text",
             "correlation_value", "correlation_integer", "correlation_text"],
        )  # fmt: skip
        context = ncu_report.load_report(str(path))
        actions = [
            action for i in range(context.num_ranges()) for action in context.range_by_idx(i)
        ]
        assert len(actions) == len(report)
        for launch_id, action in enumerate(actions):
            theirs = {name: action.metric_by_name(name) for name in action.metric_names()}
            ours = {name: stored(*row) for name, *row in metrics[launch_id]}
            assert len(ours) == len(metrics[launch_id]), "a metric has two rows"
            assert ours == {name: their_value(ncu_report, m) for name, m in theirs.items()}
            found = {(row[0], row[1]): row[2:] for row in instances[launch_id]}
            assert len(found) == len(instances[launch_id]), "an instance has two rows"
            expected = [(name, i) for name, m in theirs.items() for i in range(m.num_instances())]
            assert found.keys() == set(expected)
            for name, i in expected:
                row, metric = found[name, i], theirs[name]
                assert stored(*row[:3]) == their_value(ncu_report, metric, i)
                if metric.has_correlation_ids():
                    assert stored(*row[3:]) == their_value(ncu_report, metric.correlation_ids(), i)
                else:
                    assert row[3:] == (None, None, None)
            scalar_count += len(ours)
            instance_count += len(found)
    assert scalar_count > 90_000
    assert instance_count > 500_000


def names_of(action: Any) -> tuple[str | None, ...]:
    """Return the three names of a launch; none for a range, which has none in our tables."""
    if action.workload_type() != 0:
        return (None, None, None)
    bases = (action.NameBase_FUNCTION, action.NameBase_DEMANGLED, action.NameBase_MANGLED)
    return tuple(action.name(base) or None for base in bases)


def ranges_of(action: Any) -> list[tuple[str, str]]:
    """Return domain and name of every open NVTX range, sorted."""
    state = action.nvtx_state()
    found = []
    for identifier in state.domains() if state is not None else ():
        domain = state.domain_by_id(identifier)
        found += [
            (domain.name(), domain.push_pop_range(i).name())
            for i in range(len(domain.push_pop_ranges()))
        ]
        found += [
            (domain.name(), domain.start_end_range(i).name())
            for i in range(len(domain.start_end_ranges()))
        ]
    return sorted(found)


@pytest.mark.usefixtures("scanner")
def test_names_rules_and_ranges_of_every_real_report(corpus_reports: list[Path]) -> None:
    """Names, rules and NVTX states, none of which has an open range in these reports."""
    ncu_report = import_ncu_report()
    launch_count = rule_count = 0
    for path in corpus_reports:
        report = nsightlens.open_report(path)
        names = ("kernel_name", "kernel_demangled_name", "kernel_mangled_name")
        called = list(zip(*(report.launches[name].to_pylist() for name in names), strict=True))
        rules = by_launch(report.rules, ["rule", "rule_name", "title", "message"])
        ranges = by_launch(report.nvtx, ["domain", "name"])
        context = ncu_report.load_report(str(path))
        actions = [
            action for i in range(context.num_ranges()) for action in context.range_by_idx(i)
        ]
        assert [names_of(action) for action in actions] == called
        for launch_id, action in enumerate(actions):
            messages = [rule for rule in action.rule_results() if rule.has_rule_message()]
            assert [
                (
                    rule.rule_identifier(),
                    rule.name(),
                    rule.rule_message()["title"] or None,
                    rule.rule_message()["message"],
                )
                for rule in messages
            ] == [(rule, name, title or None, text) for rule, name, title, text in rules[launch_id]]
            assert ranges_of(action) == sorted(ranges[launch_id])
            rule_count += len(messages)
        launch_count += len(actions)
    assert launch_count == 261
    assert rule_count == 847
