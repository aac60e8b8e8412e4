"""Rules of the user's on the columns of launches: `with_rules`.

What a rule finds fills what the labels of a launch leave open, if it does not contradict them.
Launches that belong to no served step are left as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array
from nsightlens.steps.model import LARGEST
from nsightlens.steps.rules import GROUPS, compiled, found_in

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from nsightlens.report import Report
    from nsightlens.steps.rules import StepRules

__all__ = ["with_rules"]

_COLUMNS = tuple(dict.fromkeys(GROUPS.values()))


class _Found(NamedTuple):
    """What one place says of every launch: a column each, and whether it says anything."""

    columns: dict[str, Any]
    is_found: Any


def with_rules(steps: pa.Table, report: Report, rules: StepRules) -> pa.Table:
    """Return the steps of launches with what the user's rules add.

    Parameters
    ----------
    steps
        With `nsightlens.steps.annotation.ANNOTATION_SCHEMA`, one row per launch.
    report
        The report.
    rules
        The rules.

    Raises
    ------
    FilterError
        One of the rules cannot be used.
    """
    expressions = compiled(rules)
    columns = {name: _one_chunk(steps[name]) for name in steps.column_names}
    is_served = pc.is_null(columns["unserved"])
    if expressions:
        _fill(columns, _first_found(report, expressions), is_served)
    if rules.batch_size is not None:
        takes = pc.and_(is_served, pc.is_null(columns["batch_size"]))
        columns["batch_size"] = pc.if_else(
            takes, pa.scalar(rules.batch_size, pa.int64()), columns["batch_size"]
        )
        columns["batch_source"] = pc.if_else(takes, "batch_size", columns["batch_source"])
    _fill_tokens(columns)
    return pa.Table.from_arrays([columns[name] for name in steps.column_names], steps.schema.names)


def _fill(columns: dict[str, Any], found: dict[str, Any], is_served: Any) -> None:
    """Fill what is open in the columns from what was found, where both do not disagree."""
    takes = is_served
    for name in ("phase", "batch_size"):
        differs = pc.fill_null(pc.not_equal(columns[name], found[name]), fill_value=False)
        takes = pc.and_(takes, pc.invert(differs))
    new_batch = pc.and_(
        pc.and_(takes, pc.is_null(columns["batch_size"])), pc.is_valid(found["batch_size"])
    )
    columns["batch_source"] = pc.if_else(new_batch, found["source"], columns["batch_source"])
    for name in _COLUMNS:
        fills = pc.and_(takes, pc.is_null(columns[name]))
        columns[name] = pc.if_else(fills, found[name], columns[name])


def _fill_tokens(columns: dict[str, Any]) -> None:
    """Make sums of what each sequence has, and the other way round for a single sequence."""
    batch = columns["batch_size"]
    for each, total in (("context_length", "kv_tokens"), ("query_length", "query_tokens")):
        columns[total] = pc.coalesce(columns[total], _product(batch, columns[each]))
    is_single = pc.fill_null(pc.equal(batch, 1), fill_value=False)
    own = pc.if_else(is_single, columns["kv_tokens"], pa.scalar(None, pa.int64()))
    columns["context_length"] = pc.coalesce(columns["context_length"], own)


def _product(batch: Any, each: Any) -> Any:
    """Return the product; null where a factor is, or where no column of ours would hold it."""
    factors = [np.asarray(pc.fill_null(one, 0)) for one in (batch, each)]
    fits = factors[0].astype(float) * factors[1] < LARGEST
    known = np.asarray(
        pc.and_(pc.is_valid(batch), pc.is_valid(each)).to_numpy(zero_copy_only=False)
    )
    return number_array(np.where(fits, factors[0] * np.where(fits, factors[1], 0), 0), known & fits)


def _first_found(report: Report, expressions: tuple[re.Pattern[str], ...]) -> dict[str, Any]:
    """Return what the first place that says anything of a launch says of it."""
    count = len(report)
    chosen: dict[str, Any] = {}
    is_found = pa.array(np.zeros(count, dtype=bool))
    for source, texts in _places(report):
        found = _search(texts, expressions)
        columns = {**found.columns, "source": pa.array([source] * count, pa.string())}
        chosen = {
            name: pc.if_else(is_found, chosen[name], columns[name]) if chosen else columns[name]
            for name in columns
        }
        is_found = pc.or_(is_found, found.is_found)
    return chosen


def _search(texts: Any, expressions: tuple[re.Pattern[str], ...]) -> _Found:
    """Search each distinct text once."""
    encoded = texts.dictionary_encode()
    found = [found_in(text, expressions) for text in encoded.dictionary.to_pylist()]
    columns = {
        name: pa.array(
            [one.get(name) for one in found], pa.string() if name == "phase" else pa.int64()
        ).take(encoded.indices)
        for name in _COLUMNS
    }
    is_found = pa.array(list(map(bool, found)), pa.bool_()).take(encoded.indices)
    return _Found(columns, pc.fill_null(is_found, fill_value=False))


def _places(report: Report) -> Iterator[tuple[str, Any]]:
    """Yield where expressions are looked for, with a text or null for each launch."""
    launches = report.launches
    yield "batch_from:nvtx", _text(launches, "nvtx_path")
    yield "batch_from:file", _text(launches, "report")
    yield "batch_from:command", _command_lines(report)


def _command_lines(report: Report) -> Any:
    """Return the command line of the process of each launch.

    A launch of which the process is not known is of the only process that its report has.
    """
    sessions = report.sessions
    rows = zip(
        *(sessions[name].to_pylist() for name in ("report", "process_id", "command_line")),
        strict=True,
    )
    known: dict[str, str | None] = {}
    by_report: dict[str, list[str | None]] = {}
    for path, process_id, command_line in rows:
        known[_process(path, process_id)] = command_line
        by_report.setdefault(path, []).append(command_line)
    for path, lines in by_report.items():
        known[_process(path, None)] = lines[0] if len(lines) == 1 else None
    launches = report.launches
    process = pc.fill_null(_text(launches, "process_id"), "")
    pairs = pc.binary_join_element_wise(
        _text(launches, "report"), process, "\n"
    ).dictionary_encode()
    return pa.array(_each(known, pairs.dictionary.to_pylist()), pa.string()).take(pairs.indices)


def _process(path: str, process_id: int | None) -> str:
    return f"{path}\n{'' if process_id is None else process_id}"


def _each(known: dict[str, str | None], names: Iterable[str | None]) -> list[str | None]:
    return [None if name is None else known.get(name) for name in names]


def _text(table: pa.Table, name: str) -> Any:
    return _one_chunk(table[name].cast(pa.string()))


def _one_chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
