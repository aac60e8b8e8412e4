"""One explained launch as plain Python values for JSON, and the JSON Schema of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nsightlens.analysis.explanation import Explanation
    from nsightlens.tables import Column

__all__ = ["explanation_row", "explanation_schema"]

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_KERNEL_FIELDS = {
    "short_name": "what a person would say",
    "family": "what the kernel computes",
    "subtype": "finer class within the family",
    "phase": "phase that the name settles, n/a outside attention",
    "library": "library the kernel comes from",
    "arch": "architecture the kernel was built for",
    "tile": "tile of a thread block",
    "head_dim": "head size of an attention kernel",
    "rule": "rule that decided",
    "note": "what is missing or uncertain",
}
_OF_SESSION = ("ncu_version", "clock_control", "cache_control", "replay_mode")
_OF_ROW = ("report", "launch_id")


def explanation_row(one: Explanation) -> dict[str, Any]:
    """Return the row of the schema ``nsightlens.explain``."""
    label = one.label
    return {
        "key": label["key"],
        "report": label["report"],
        "launch_id": label["launch_id"],
        "launch": one.launch,
        "kernel": _kernel(one),
        "session": {name: one.session.get(name) for name in _OF_SESSION},
        "label": label,
        "resources": [_without_key(row) for row in one.resources],
        "rooflines": [_without_key(row) for row in one.rooflines],
        "steps": [step._asdict() for step in one.steps],
        "stalls": [asdict(stall) for stall in one.stalls],
        "lacks": [asdict(lack) for lack in one.lacks],
        "advice": [
            {
                "rule": advice.rule,
                "text": advice.text,
                "numbers": [number._asdict() for number in advice.numbers],
            }
            for advice in one.advice
        ],
    }


def _kernel(one: Explanation) -> dict[str, Any] | None:
    if one.kernel is None:
        return None
    fields = {name: getattr(one.kernel, name) for name in _KERNEL_FIELDS}
    return {**fields, "dtypes": list(one.kernel.dtypes), "also": list(one.kernel.also)}


def _without_key(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _OF_ROW}


def explanation_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON Schema of the row.

    Parameters
    ----------
    of_column
        Gives the schema of a value of an Arrow column.
    """
    # Arrow is loaded only where a schema is made, not where a published one is shown.
    from nsightlens import tables  # noqa: PLC0415

    def of_table(columns: Iterable[Column], leaves_out: tuple[str, ...] = ()) -> dict[str, Any]:
        return _object({c.name: of_column(c) for c in columns if c.name not in leaves_out})

    key, report, launch_id = (of_column(c) for c in tables.LABELS[:3])
    return _object(
        {
            "key": key,
            "report": report,
            "launch_id": launch_id,
            "launch": _about(of_table(tables.LAUNCHES), "its row of the table launches"),
            "kernel": _kernel_schema(),
            "session": _about(
                _object({name: {"type": ["string", "null"]} for name in _OF_SESSION}),
                "how it was collected",
            ),
            "label": _about(of_table(tables.LABELS), "its row of the table labels"),
            "resources": _list(of_table(tables.RESOURCES, _OF_ROW), "roofs, the busiest first"),
            "rooflines": _list(of_table(tables.ROOFLINES, _OF_ROW), "by memory level"),
            "steps": _list(
                _object({"name": _about(_TEXT, "kind of step"), "text": _TEXT}),
                "the arithmetic from measured work to the label, in words",
            ),
            "stalls": _list(_stall_schema(), "warp states, the largest first, selected aside"),
            "lacks": _list(_lack_schema(), "what could be collected for a surer answer"),
            "advice": _list(_advice_schema(), "what is worth trying, the most promising first"),
        }
    )


def _kernel_schema() -> dict[str, Any]:
    fields = {name: _about(_TEXT, about) for name, about in _KERNEL_FIELDS.items()}
    fields["dtypes"] = _list(_TEXT, "main operand types")
    fields["also"] = _list(_TEXT, "further families of a fused kernel")
    found = _object(fields)
    return {**found, "type": ["object", "null"], "description": "what the kernel's name says"}


def _stall_schema() -> dict[str, Any]:
    return _object(
        {
            "reason": _about(_TEXT, "name of the warp state, in NVIDIA's words"),
            "share_pct": _about(_NUMBER, "share of warp latency, else of samples [%]"),
            "cycles_per_issue": {
                "description": "cycles per issued instruction [cycle]",
                "type": ["number", "null"],
            },
            "meaning": _about(_TEXT, "what it usually means in this kind of kernel"),
        }
    )


def _lack_schema() -> dict[str, Any]:
    return _object(
        {
            "aspect": _about(_TEXT, "label, counters, stalls, hit_rates or occupancy"),
            "purpose": _about(_TEXT, "what it would be good for"),
            "columns": _list(_TEXT, "columns of launches that are empty"),
            "sections": _list(_TEXT, "sections of ncu that fill them"),
            "metrics": _list(_TEXT, "metrics for ncu --metrics that fill them, instead"),
        }
    )


def _advice_schema() -> dict[str, Any]:
    number = _object(
        {
            "name": _about(_TEXT, "column, metric or derived number"),
            "value": _NUMBER,
            "unit": _TEXT,
        }
    )
    return _object(
        {
            "rule": _about(_TEXT, "name of the rule"),
            "text": _about(_TEXT, "what to try and why, with the numbers in it"),
            "numbers": _list(number, "the measured numbers that speak for it"),
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(item: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": item}


def _about(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}
