"""Annotations of launches: each distinct NVTX path is read once, by the grammars in order.

To add a grammar, write a module with ``read(domain, names)`` (see `nsightlens.steps.model`) and
list it in `GRAMMARS`; nothing else changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from nsightlens.steps import batching_gap, nsightlens_v1
from nsightlens.steps.model import DEFAULT_DOMAIN, StepAnnotation
from nsightlens.steps.rules import NO_STEP_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.report import Report
    from nsightlens.steps.rules import StepRules

__all__ = ["ANNOTATION_SCHEMA", "GRAMMARS", "annotate_launches", "annotate_paths", "read_path"]


class Grammar(Protocol):
    """A way of naming steps; the modules of this package are grammars."""

    def read(self, domain: str, names: Sequence[str]) -> StepAnnotation | None:
        """Read the ranges of one domain, outermost first."""


GRAMMARS: tuple[Any, ...] = (nsightlens_v1, batching_gap)
"""Grammars in the order in which they are asked; what one does not say, the next may."""

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
    ]
)


class _DomainRanges(NamedTuple):
    domain: str
    names: list[str]


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
    """
    _ = rules
    return annotate_paths(report.launches["nvtx_path"])


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


def read_path(path: str) -> StepAnnotation:
    """Read one NVTX path with every grammar.

    Examples
    --------
    >>> read_path("DecodeStep7").phase
    'decode'
    """
    annotation = StepAnnotation()
    domains = _domains(path)
    for grammar in GRAMMARS:
        for ranges in domains:
            found = grammar.read(ranges.domain, ranges.names)
            if found is not None:
                annotation = annotation.filled_from(found)
    return annotation


def _domains(path: str) -> list[_DomainRanges]:
    """Split a path at ';' into domains and start/end ranges, and these at '/' into ranges."""
    found = []
    for part in path.split(";"):
        domain, at, rest = part.partition("@")
        if not at or "/" in domain:
            domain, rest = DEFAULT_DOMAIN, part
        found.append(_DomainRanges(domain, rest.split("/")))
    return found
