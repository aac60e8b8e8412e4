"""Annotations of launches: each distinct NVTX path is read once, by our grammar and the engines'.

Of the ranges around a launch, the innermost of our own counts, and of the engines' the outermost
step on the thread. What one of them lacks is taken from another that does not contradict it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nsightlens.steps import nsightlens_v1
from nsightlens.steps.engines import read_engines
from nsightlens.steps.model import NOT_SERVED, StepAnnotation
from nsightlens.steps.path import ranges_of
from nsightlens.steps.rule_columns import with_rules
from nsightlens.steps.rules import NO_STEP_RULES

if TYPE_CHECKING:
    from nsightlens.report import Report
    from nsightlens.steps.rules import StepRules

__all__ = ["ANNOTATION_SCHEMA", "annotate_launches", "annotate_paths", "read_path"]

ANNOTATION_SCHEMA = pa.schema(
    [
        ("phase", pa.string()),
        ("batch_size", pa.int64()),
        ("batch_source", pa.string()),
        ("step_engine", pa.string()),
        ("step_index", pa.int64()),
        ("query_tokens", pa.int64()),
        ("kv_tokens", pa.int64()),
        ("context_length", pa.int64()),
        ("query_length", pa.int64()),
        ("operation", pa.string()),
        ("operation_flop", pa.float64()),
        ("operation_bytes", pa.float64()),
        ("unserved", pa.string()),
        ("conflict", pa.string()),
    ]
)


def annotate_launches(report: Report, rules: StepRules = NO_STEP_RULES) -> pa.Table:
    """Say in which step every launch of a report was.

    Parameters
    ----------
    report
        The report.
    rules
        What the user says of the steps.

    Returns
    -------
    pyarrow.Table
        One row per launch with the columns of `ANNOTATION_SCHEMA`; null where nothing is said.

    Raises
    ------
    FilterError
        One of the rules cannot be used.
    """
    steps = annotate_paths(report.launches["nvtx_path"])
    return steps if rules == NO_STEP_RULES else with_rules(steps, report, rules)


def annotate_paths(paths: Any) -> pa.Table:
    """Read a column of NVTX paths, as `nsightlens.tables.LAUNCHES` describes them.

    Parameters
    ----------
    paths
        String or dictionary column, `pyarrow.Array` or `pyarrow.ChunkedArray`.

    Returns
    -------
    pyarrow.Table
        One row per path with the columns of `ANNOTATION_SCHEMA`; null where nothing is said.

    Examples
    --------
    >>> table = annotate_paths(pa.array(["nsightlens@step v1 phase=decode batch_size=8", None]))
    >>> table["batch_size"].to_pylist()
    [8, None]
    """
    plain = paths.cast(pa.string())
    whole = plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain
    encoded = whole.dictionary_encode()
    read = [read_path(path) for path in encoded.dictionary.to_pylist()]
    columns = {
        field.name: pa.array([getattr(one, field.name) for one in read], field.type)
        for field in ANNOTATION_SCHEMA
    }
    distinct = pa.table(columns, schema=ANNOTATION_SCHEMA)
    taken: pa.Table = distinct.take(encoded.indices)
    return taken


@lru_cache(maxsize=1 << 14)
def read_path(path: str) -> StepAnnotation:
    """Read one NVTX path with every grammar.

    Examples
    --------
    >>> read_path("DecodeStep7").phase
    'decode'
    """
    own = StepAnnotation()
    domains = ranges_of(path)
    for ranges in domains:
        own = own.filled_from(nsightlens_v1.read(ranges.domain, ranges.names) or StepAnnotation())
    engines = read_engines(domains)
    if engines.unserved is None and own.phase == "capture":
        engines = engines._replace(unserved="capture")
    if engines.unserved is not None:
        return _unserved(own, engines)
    if own.step_engine is None:
        return own.filled_from(engines)
    if engines.step_engine is None:
        return own
    if _agree(own, engines):
        return own.filled_from(engines)
    return own._replace(conflict=_joined(own.step_engine, engines.conflict or engines.step_engine))


def _unserved(own: StepAnnotation, engines: StepAnnotation) -> StepAnnotation:
    """Return what stays of a launch that belongs to no served step: nothing that counts."""
    return StepAnnotation(
        phase=None if engines.unserved in NOT_SERVED else engines.phase or own.phase,
        step_engine=own.step_engine or engines.step_engine,
        operation=own.operation,
        operation_flop=own.operation_flop,
        operation_bytes=own.operation_bytes,
        unserved=engines.unserved,
        conflict=engines.conflict,
    )


def _agree(one: StepAnnotation, other: StepAnnotation) -> bool:
    """Return whether what both say is the same."""
    return all(
        None in (mine := (getattr(one, name), getattr(other, name))) or mine[0] == mine[1]
        for name in ("phase", "batch_size")
    )


def _joined(engine: str, others: str) -> str:
    return "+".join(dict.fromkeys([engine, *others.split("+")]))
