"""The JSON Schemas of what ``nsightlens compare`` and ``nsightlens gate`` write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.tables import Column

__all__ = [
    "comparison_parts_schema",
    "comparison_row_schema",
    "gate_parts_schema",
    "gate_row_schema",
]

VERDICTS = ("improved", "regressed", "indistinguishable", "not_comparable", "added", "removed")
_NOISE_SOURCES = ("repeats", "equal_launches", "default", None)
_ENUMS: dict[str, tuple[str | None, ...]] = {
    "matched_by": ("launch", "work", "kernel", "operation", "family", None),
    "noise_source": _NOISE_SOURCES,
    **{
        f"{side}_{name}": (*values, None)
        for side in ("base", "new")
        for name, values in {
            "bound": ("memory", "compute", "unknown"),
            "regime": ("saturated", "latency", "small_grid", "balanced", "unknown"),
        }.items()
    },
}
_NEVER_NULL = {"verdict": VERDICTS, "status": ("passed", "failed")}
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_NUMBER_OR_NULL = {"type": ["number", "null"]}


def comparison_row_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a row of a comparison; ``of_column`` is that of a value of a column."""
    # Arrow is loaded only where a schema is made, not where a published one is shown.
    from nsightlens import tables  # noqa: PLC0415

    return _rows(tables.COMPARISON, of_column)


def comparison_parts_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schemas of what stands beside the rows of a comparison."""
    from nsightlens import tables  # noqa: PLC0415

    total = {
        "verdict": {"enum": list(VERDICTS)},
        "base_duration_ns": _about(_NUMBER_OR_NULL, "sum over the rows that can be compared [ns]"),
        "new_duration_ns": _about(_NUMBER_OR_NULL, "the same of the new side [ns]"),
        "duration_change_pct": _about(_NUMBER_OR_NULL, "new over base, less 1 [%]"),
        "duration_noise_pct": _about(_NUMBER_OR_NULL, "largest increase that is noise [%]"),
        "noise_source": {"enum": list(_NOISE_SOURCES)},
        "row_counts": {
            **_object({name: {"type": "integer", "minimum": 0} for name in VERDICTS}),
            "description": "rows by verdict",
        },
        "added_duration_ns": _about(_NUMBER, "of rows without counterpart in the base [ns]"),
        "removed_duration_ns": _about(_NUMBER, "of rows without counterpart in the new side [ns]"),
        "headline": _about(_TEXT, "the answer in one sentence"),
    }
    families = _rows(tables.COMPARISON_FAMILIES, of_column)
    noise = {
        "confidence_pct": _about(_NUMBER, "of the interval that repeats give [%]"),
        "unrepeated_pct": _about(_NUMBER, "noise of a duration without repeats [%]"),
        "least_pct": _about(_NUMBER, "least noise of a duration with repeats [%]"),
        "timer_tick_ns": _about(_NUMBER, "durations are multiples of it [ns]"),
        "clock_pct": _about(_NUMBER, "how far apart SM clocks may be [%]"),
        "dram_clock_pct": _about(_NUMBER, "how far apart DRAM clocks may be [%]"),
        "short_clock_pct": _about(_NUMBER, "the same where all launches are short [%]"),
    }
    return {
        **_sides(),
        "total": _object(total),
        "families": {"type": "array", "items": families},
        "noise": _object(noise),
    }


def gate_row_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a row of a gate: one rule."""
    from nsightlens import tables  # noqa: PLC0415

    return _rows(tables.GATE, of_column)


def gate_parts_schema(_of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schemas of what stands beside the rows of a gate."""
    return {
        **_sides(),
        "passed": _about(
            {"type": "boolean"}, "whether every rule holds and every report could be read"
        ),
    }


def _sides() -> dict[str, Any]:
    paths = {"type": "array", "items": _TEXT}
    return {"base": _about(paths, "reports of the base"), "new": _about(paths, "those compared")}


def _rows(
    columns: tuple[Column, ...], of_column: Callable[[Column], dict[str, Any]]
) -> dict[str, Any]:
    properties = {column.name: of_column(column) for column in columns}
    for name, schema in properties.items():
        if name in _ENUMS:
            schema["enum"] = list(_ENUMS[name])
        if name in _NEVER_NULL:
            schema.update(type="string", enum=list(_NEVER_NULL[name]))
    return _object(properties)


def _about(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}
