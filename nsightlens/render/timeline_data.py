"""A timeline as plain Python values for JSON, and the JSON Schema of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render.row_schemas import TEXT, about, object_of
from nsightlens.render.rows import plain_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.tables import Column
    from nsightlens.timelines import Timeline

__all__ = ["timeline_parts", "timeline_parts_schema", "timeline_row", "timeline_source"]

_PARTS = ("families", "copies", "gaps", "runs", "advice")
_MOST_GAPS = 100
"""Longest gaps that are listed; a trace may have a million."""


def timeline_parts(timeline: Timeline) -> dict[str, Any]:
    """Return what stands beside the rows of the schema ``nsightlens.timeline``.

    Parameters
    ----------
    timeline
        A result of `nsightlens.timeline`. Of its gaps the longest hundred are listed.
    """
    parts: dict[str, Any] = {"notes": list(timeline.notes), "gap_count": timeline.gaps.num_rows}
    for name in _PARTS:
        table = getattr(timeline, name)
        parts[name] = list(plain_rows(table.slice(0, _MOST_GAPS) if name == "gaps" else table))
    return parts


def timeline_parts_schema(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of each part that `timeline_parts` returns.

    Parameters
    ----------
    of_column
        Makes the schema of a value of an Arrow column.
    """
    # Arrow is loaded only where a schema is made, not where a published one is shown.
    from nsightlens import tables  # noqa: PLC0415

    columns = {
        "families": tables.TIMELINE_FAMILIES,
        "copies": tables.TIMELINE_COPIES,
        "gaps": tables.TIMELINE_GAPS,
        "runs": tables.TIMELINE_RUNS,
        "advice": tables.TIMELINE_ADVICE,
    }
    return {
        "notes": {
            "description": "what a person must know, one sentence each",
            "type": "array",
            "items": {"type": "string"},
        },
        "gap_count": {
            "description": "gaps of the trace, of which the longest are listed",
            "type": "integer",
            "minimum": 0,
        },
        **{
            name: {"type": "array", "items": _object(of, of_column)} for name, of in columns.items()
        },
    }


def timeline_row(of_column: Callable[[Column], dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a row of steps."""
    from nsightlens import tables  # noqa: PLC0415

    return _object(tables.TIMELINE_STEPS, of_column)


def _object(
    columns: Sequence[Column], of_column: Callable[[Column], dict[str, Any]]
) -> dict[str, Any]:
    return object_of({column.name: of_column(column) for column in columns})


def timeline_source() -> dict[str, Any]:
    """Return the schema of what a timeline was made from."""
    return object_of(
        {
            "tool": {"const": "nsightlens"},
            "tool_version": TEXT,
            "trace": about(TEXT, "path of the trace, as it was given"),
            "has_steps": {
                "type": "boolean",
                "description": "false where no range is a step, so that the whole trace is one",
            },
            "options": {"type": "object", "description": "the options that decide what is said"},
        },
        "what the rows were made from, and by what",
    )
