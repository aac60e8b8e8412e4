"""A sweep as plain Python values for JSON, and the JSON Schema of them; its tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render.rows import plain_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.sweeps import Sweep
    from nsightlens.tables import Column

__all__ = ["sweep_parts", "sweep_parts_schema"]

_TEXT = {"type": "string"}
_EXPLANATIONS = (
    "bandwidth_saturated_attention",
    "compute_bound_plateau",
    "mixed",
    "undecided",
)


def sweep_parts(sweep: Sweep) -> dict[str, Any]:
    """Return what stands beside the rows of the schema ``nsightlens.sweep``.

    Parameters
    ----------
    sweep
        A result of `nsightlens.sweep` or `nsightlens.predict`.
    """
    return {
        "verdict": sweep.verdict._asdict(),
        "notes": [*sweep.notes, *sweep.warnings],
        "trends": list(plain_rows(sweep.trends)),
        "steps": list(plain_rows(sweep.steps)),
    }


def sweep_parts_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of each part that `sweep_parts` returns.

    Parameters
    ----------
    of_column
        Makes the schema of a value of an Arrow column.
    """
    # Arrow is loaded only where a schema is made, not where a published one is shown.
    from nsightlens import tables  # noqa: PLC0415

    return {
        "verdict": {
            "description": "what limits decode at the smallest and at the largest batch size",
            "type": "object",
            "required": ["explanation", "paragraph"],
            "properties": {
                "explanation": {
                    "description": "what explains that larger batches stop paying",
                    "enum": list(_EXPLANATIONS),
                },
                "paragraph": {**_TEXT, "description": "the same in words, with the numbers"},
            },
        },
        "notes": {
            "description": "what a reader of the numbers has to know, one sentence each",
            "type": "array",
            "items": _TEXT,
        },
        "trends": _rows_schema("how each family changes", tables.SWEEP_TRENDS, of_column),
        "steps": _rows_schema("all kernels of each batch size", tables.SWEEP_STEPS, of_column),
    }


def _rows_schema(
    description: str,
    columns: tuple[Column, ...],
    of_column: Callable[[Column], dict[str, Any]],
) -> dict[str, Any]:
    properties = {column.name: of_column(column) for column in columns}
    items = {"type": "object", "required": list(properties), "properties": properties}
    return {"description": description, "type": "array", "items": items}
