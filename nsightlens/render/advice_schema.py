"""The JSON Schema of ``nsightlens advise``: the answers by their types, with meanings and units."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from nsightlens.render.advice_meanings import ANSWERS, MEANINGS
from nsightlens.render.row_schemas import TEXT, TEXT_OR_NULL, about, list_of, object_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.tables import Column

__all__ = ["advice_parts_schema", "advice_row_schema", "advice_source_schema"]

_TYPES: dict[Any, str] = {
    float: "number", int: "integer", bool: "boolean", str: "string", type(None): "null",
}  # fmt: skip
_BINDING = ("slo", "efficiency", "preemption", "thrash", "throughput", "measured_range")
_VERDICTS = ("attention_bandwidth", "compute", "host", "unclear", "no_profile")
_ENUMS = {"binding_constraint": _BINDING, "verdict": _VERDICTS}
_ORIGINS = ("measured", "predicted")


def advice_source_schema() -> dict[str, Any]:
    """Return the schema of what the advice was made from."""
    return object_of(
        {
            "tool": {"const": "nsightlens"},
            "tool_version": TEXT_OR_NULL,
            "files": list_of(TEXT, "files that the answer rests on"),
        },
        "what the advice was made from, and by what",
    )


def advice_row_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a row: a run of the setup.

    Parameters
    ----------
    of_column
        Makes the schema of a value of an Arrow column.
    """
    # Arrow is loaded only where a schema is made, not where a published one is shown.
    from nsightlens import tables  # noqa: PLC0415

    row = _rows_of(tables.SERVING_RUNS, of_column)
    rate = row["properties"]["request_rate_per_s"]
    rate["description"] += "; null also where it is infinite"
    return row


def advice_parts_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of each part that `advice_json` puts beside the rows.

    Parameters
    ----------
    of_column
        Makes the schema of a value of an Arrow column.
    """
    from nsightlens import tables  # noqa: PLC0415
    from nsightlens.advisor import answers  # noqa: PLC0415

    slo = {"column": TEXT, "resolved_ms": about({"type": ["number", "null"]}, MEANINGS["limit_ms"])}
    choice = _record(answers.BatchChoice, slos=_list(_record(answers.Slo, **slo)))
    return {
        **{name: about(_schema(hint), meaning) for name, (hint, meaning) in ANSWERS.items()},
        "setup": about({"type": "object"}, "what the runs have in common"),
        "command": about(TEXT_OR_NULL, "command line of the server; null where nothing fits"),
        "confidence": {"description": "of the choice", "enum": ["high", "medium", "low"]},
        "confidence_text": about(TEXT, "why it is so"),
        "reasons": list_of(TEXT, "why, one sentence with numbers each, the weightiest first"),
        "would_change": list_of(TEXT, "what would change the answer"),
        "warnings": list_of(_record(answers.Warned), "what makes the answer weaker"),
        "lacking": list_of(_record(answers.Lacking), "what is missing, and what it would enable"),
        "throughput": {
            "description": "what throughput_tok_s counts: prompt and generated tokens, or these",
            "enum": ["total", "output"],
        },
        "single_throughput_tok_s": about(
            {"type": ["number", "null"]}, "throughput at batch size 1 [token/s]"
        ),
        "choice": choice,
        "plateau": _record(answers.Plateau),
        "memory": _or_null(_record(answers.MemoryAdvice)),
        "replicas": list_of(
            _rows_of(tables.ADVICE_REPLICAS, of_column), "servers that could share the GPU"
        ),
        "replication": _or_null(_record(answers.ReplicaAdvice, rows=None)),
        "why": _record(answers.Why, shares=_list(_shares())),
        "step_costs": list_of(_record(answers.StepCosts), "what decode steps spend time on"),
        "predictions": list_of(_record(answers.Prediction), "what was predicted, not measured"),
        "sources": list_of(TEXT, "files that the answer rests on"),
        "curve": list_of(
            _rows_of(tables.ADVICE_CURVE, of_column), "one row per batch size, in rising order"
        ),
    }


def _shares() -> dict[str, Any]:
    share = {"type": ["number", "null"]}
    names = ("attention", "matmul", "other", "host")
    return object_of(
        {
            "batch_size": {"type": "number", "description": MEANINGS["batch_size"]},
            **{f"{name}_pct": about(share, f"{name}'s share of a step [%]") for name in names},
        }
    )


def _rows_of(
    columns: tuple[Column, ...], of_column: Callable[[Column], dict[str, Any]]
) -> dict[str, Any]:
    found = {column.name: of_column(column) for column in columns}
    if "origin" in found:
        # Of a row of servers; the word means something else in a sweep of profiles.
        found["origin"]["enum"] = [*_ORIGINS, None]
    return object_of(found)


def _record(kind: Any, **special: dict[str, Any] | None) -> dict[str, Any]:
    """Return the schema of a data class by the types of its fields; None leaves one out."""
    import pyarrow as pa  # noqa: PLC0415 - only a schema that is made anew needs it

    hints = get_type_hints(kind, localns={"pa": pa})
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        name = field.name
        if name in special:
            continue
        schema = {"enum": list(_ENUMS[name])} if name in _ENUMS else _schema(hints[name])
        found[name] = about(schema, MEANINGS[name])
    return object_of(found | {name: one for name, one in special.items() if one is not None})


def _schema(hint: Any) -> dict[str, Any]:
    """Return the schema of a type."""
    if hint in _TYPES:
        return {"type": _TYPES[hint]}
    if dataclasses.is_dataclass(hint):
        return _record(hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        return _list(_schema(parts[0]))
    if origin in {Union, types.UnionType}:
        return _union([_schema(part) for part in parts])
    return {"type": "object"}


def _union(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    if all(set(one) == {"type"} for one in schemas):
        return {"type": [one["type"] for one in schemas]}
    kept = [one for one in schemas if one != {"type": "null"}]
    return _or_null(kept[0]) if len(kept) == 1 else {"anyOf": schemas}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}
