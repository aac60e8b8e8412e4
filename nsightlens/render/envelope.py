"""JSON: a versioned envelope around rows, written piece by piece.

``{"schema": ..., "schema_version": ..., "source": {...}, "rows": [...]}``. The schema names are
those of `nsightlens.render.json_schema`, whose JSON Schemas describe ``source`` and every row.
The text is strict JSON: it has no NaN and no Infinity.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["ENVELOPE_VERSION", "envelope_pieces", "json_number"]

ENVELOPE_VERSION = 1
"""Rises when a key of the envelope or of a row changes its name, type or meaning."""


def envelope_pieces(
    schema: str,
    source: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    parts: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """Yield the text of an envelope, one row a line.

    Parameters
    ----------
    schema
        Name of the schema, such as ``nsightlens.classify``.
    source
        What the rows were made from, and by what.
    rows
        Read once, in order.
    parts
        What stands beside the rows, such as a verdict; written before them, by their names.

    Examples
    --------
    >>> print("".join(envelope_pieces("nsightlens.classify", {}, [{"key": "a"}])), end="")
    {
    "schema": "nsightlens.classify",
    "schema_version": 1,
    "source": {},
    "rows": [
    {"key": "a"}
    ]
    }
    """
    yield f'{{\n"schema": {_text(schema)},\n"schema_version": {ENVELOPE_VERSION},\n'
    yield f'"source": {_text(source)},\n'
    for name, value in (parts or {}).items():
        yield f"{_text(name)}: {_text(value)},\n"
    yield '"rows": ['
    separator = "\n"
    for row in rows:
        yield separator + _text(row)
        separator = ",\n"
    yield "]\n}\n" if separator == "\n" else "\n]\n}\n"


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def json_number(value: float) -> float | str:
    """Return a float as JSON can hold it: NaN and infinities by their names.

    Examples
    --------
    >>> json_number(0.5), json_number(float("nan")), json_number(float("-inf"))
    (0.5, 'nan', '-inf')
    """
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value
