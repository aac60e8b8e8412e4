"""JSON Schemas of the rows of ``nsightlens step-label``."""

from __future__ import annotations

from typing import Any

__all__ = ["step_label_row", "step_measure_row"]

_NUMBERS = {
    "batch_size": "requests in the step, real ones, without padding",
    "query_tokens": "tokens that run through the model, of all requests",
    "kv_tokens": "keys and values that are attended to, summed over the requests",
    "step_index": "number of the step as the label gives it",
}


def step_label_row() -> dict[str, Any]:
    """Return the schema of a row of ``nsightlens step-label``."""
    # A published schema is read without the grammars.
    from nsightlens.steps.model import STEP_PHASES  # noqa: PLC0415

    return _object(
        {
            "key": {"type": "string", "description": "names the row: the label"},
            "is_step": {
                "type": "boolean",
                "description": "one forward pass of the target model, or the capture of one",
            },
            "phase": {
                "description": (
                    "of the step, unknown where its label does not say it; dummy, draft or idle "
                    "for a pass that serves nobody; a plain phase where the range is no single step"
                ),
                "enum": [*STEP_PHASES, None],
            },
            **{
                name: {"type": ["integer", "null"], "minimum": 0, "description": meaning}
                for name, meaning in _NUMBERS.items()
            },
            "engine": _text("whose words these are; script for labels written by hand"),
            "label": {"type": "string", "description": "the label, as it was given"},
        }
    )


def step_measure_row() -> dict[str, Any]:
    """Return the schema of a row of ``nsightlens step-label --check``."""
    meaning = (
        "labels: share of labels right in every field; field: of one field; wrong_number: one "
        "number that is read and not expected; differs: one other difference"
    )
    count = {"type": ["integer", "null"], "minimum": 0}
    return _object(
        {
            "key": {"type": "string", "description": "names the row: its measure, field and label"},
            "measure": {
                "enum": ["labels", "field", "wrong_number", "differs"],
                "description": meaning,
            },
            "field": _text("the field; null: all of them"),
            "right_pct": {
                "type": ["number", "null"],
                "minimum": 0,
                "maximum": 100,
                "description": "share of what is right [%]",
            },
            "right_count": {**count, "description": "how many are right"},
            "total_count": {**count, "description": "of how many"},
            "label": _text("wrong_number, differs: the label"),
            "expected": _text("wrong_number, differs: what was expected; null: nothing"),
            "read": _text("wrong_number, differs: what was read; null: nothing"),
        }
    )


def _text(description: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "description": description}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}
