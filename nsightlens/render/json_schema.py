"""The JSON Schemas (draft 2020-12) of everything that the command line writes as JSON.

Types, units and meanings of the columns come from `nsightlens.tables`. The schemas are published
as files in ``schemas/`` beside this module, so that `published` needs no Arrow; `write_published`
makes the files, and a test compares them with what `schema_document` says.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens.render.advice_schema import (
    advice_parts_schema,
    advice_row_schema,
    advice_source_schema,
)
from nsightlens.render.comparison_schema import (
    comparison_parts_schema,
    comparison_row_schema,
    gate_parts_schema,
    gate_row_schema,
)
from nsightlens.render.doctor_schema import doctor_parts_schema, doctor_row
from nsightlens.render.envelope import ENVELOPE_VERSION
from nsightlens.render.explanation_row import explanation_schema
from nsightlens.render.prediction import prediction_schema
from nsightlens.render.row_schemas import (
    TEXT,
    TEXT_OR_NULL,
    about,
    device_row,
    info_row,
    kernel_name_check_row,
    kernel_name_row,
    list_of,
    metric_name_row,
    metric_row,
    object_of,
    redact_row,
)
from nsightlens.render.step_label_rows import step_label_row, step_measure_row
from nsightlens.render.sweep_data import sweep_parts_schema
from nsightlens.render.timeline_data import timeline_parts_schema, timeline_row, timeline_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nsightlens.tables import Column

__all__ = ["SCHEMAS", "published", "schema_document", "write_published"]

SCHEMAS = {
    "classify": "labels of launches or groups: `nsightlens classify --format json`",
    "explain": "one launch with all its numbers: `nsightlens explain --format json`",
    "info": "one row per report: `nsightlens info --format json`",
    "metrics": "one row per launch and raw metric: `nsightlens metrics --like ... --format json`",
    "metric-names": "one row per metric name: `nsightlens metrics --format json`",
    "redact": "what was removed and what is left: `nsightlens redact ... --format json`",
    "kernel-name": "one row per kernel name: `nsightlens kernel-name ... --format json`",
    "kernel-name-check": (
        "how far labels and readings agree: `nsightlens kernel-name --check ... --format json`"
    ),
    "step-label": "one row per step label: `nsightlens step-label ... --format json`",
    "step-label-check": (
        "how far expectations and readings agree: `nsightlens step-label --check ... --format json`"
    ),
    "devices": "one row per known GPU, with its roofs: `nsightlens devices --format json`",
    "compare": (
        "one row per launch or group of either side, with sums: `nsightlens compare --format json`"
    ),
    "gate": "one row per rule: `nsightlens gate --format json`",
    "sweep": (
        "one row per family and batch size, with trends, steps and a verdict: `nsightlens sweep "
        "--format json`, `nsightlens predict --format json`"
    ),
    "timeline": (
        "one row per step, with kernels, copies and gaps: `nsightlens timeline --format json`"
    ),
    "doctor": "one row per check, with what is installed: `nsightlens doctor --format json`",
    "advice": (
        "one row per run, with the batch size to serve with and why: `nsightlens advise "
        "--format json`"
    ),
}
"""Name of each schema and what it describes."""

_VERDICTS = ("high_throughput", "balanced", "compute", "memory", "latency", "small_grid")
_GROWTHS = ("flat", "proportional", "falling", "below_proportion", "above_proportion", "unclear")
_ENUMS = {
    "kind": ("kernel", "range", "graph", "cmdlist"),
    "bound": ("memory", "compute", "unknown"),
    "roofline_bound": ("memory", "compute", "unknown"),
    "nvidia_verdict": _VERDICTS,
    "nvidia_stored_verdict": _VERDICTS,
    "regime": ("saturated", "latency", "small_grid", "balanced", "unknown"),
    "evidence": ("counters", "throughput", "analytic", "none"),
    "confidence": ("high", "medium", "low", "none"),
    "origin": ("measured", "analytic"),
    "component": ("attention", "matmul", "other"),
    "expectation": ("within", "beyond"),
    "flip": ("memory_to_compute", "compute_to_memory", "several", "none"),
    "intensity_growth": _GROWTHS,
    "useful_intensity_growth": _GROWTHS,
}
_OF_NAMES = frozenset(["kernel-name", "kernel-name-check", "step-label", "step-label-check"])
_NEVER_NULL = frozenset(["key", "bound", "launch_count", "failed_launch_count"])


def published(name: str) -> str:
    """Return the text of a published schema.

    Parameters
    ----------
    name
        One of `SCHEMAS`.
    """
    folder = resources.files("nsightlens.render").joinpath("schemas")
    return folder.joinpath(f"{name}.json").read_text(encoding="utf-8")


def write_published(folder: Path | None = None) -> None:
    """Write the files of ``schemas/`` anew from `nsightlens.tables`."""
    target = folder or Path(__file__).with_name("schemas")
    target.mkdir(exist_ok=True)
    for name in SCHEMAS:
        text = json.dumps(schema_document(name), indent=2, ensure_ascii=False) + "\n"
        (target / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")


def schema_document(name: str) -> dict[str, Any]:
    """Return the JSON Schema of an envelope.

    Parameters
    ----------
    name
        One of `SCHEMAS`.
    """
    parts = {
        "sweep": sweep_parts_schema,
        "compare": comparison_parts_schema,
        "gate": gate_parts_schema,
        "doctor": doctor_parts_schema,
        "timeline": timeline_parts_schema,
        "advice": advice_parts_schema,
    }
    beside_rows = parts[name](_of_column) if name in parts else {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:nsightlens:schema:{name}:{ENVELOPE_VERSION}",
        "title": f"nsightlens.{name}",
        "description": (
            f"{SCHEMAS[name][0].upper()}{SCHEMAS[name][1:]}. Null is a value that the report does "
            "not have. A reader must accept keys that are not listed here: a new key alone does "
            "not raise schema_version."
        ),
        "type": "object",
        "required": ["schema", "schema_version", "source", *beside_rows, "rows"],
        "properties": {
            "schema": {"const": f"nsightlens.{name}"},
            "schema_version": {"const": ENVELOPE_VERSION},
            "source": _sources(name),
            **beside_rows,
            "rows": {"type": "array", "items": _row(name)},
        },
    }


def _sources(name: str) -> dict[str, Any]:
    if name in _OF_NAMES:
        return _names_source()
    if name == "sweep":
        source = _source()
        source["properties"]["prediction"] = prediction_schema()
        return source
    if name == "timeline":
        return timeline_source()
    if name == "advice":
        return advice_source_schema()
    if name in {"devices", "doctor"}:
        return object_of({"tool": {"const": "nsightlens"}, "tool_version": TEXT})
    return _source()


def _source() -> dict[str, Any]:
    report = object_of(
        {
            "path": about(TEXT, "path of the report, as it was given"),
            "device_names": list_of(TEXT, "GPUs of its launches"),
            "ncu_version": about(TEXT_OR_NULL, "version of Nsight Compute that collected it"),
            "clock_control": about(TEXT_OR_NULL, "what ncu did to the clocks"),
        }
    )
    unread = object_of({"path": TEXT, "error": about(TEXT, "why it could not be read")})
    return object_of(
        {
            "tool": {"const": "nsightlens"},
            "tool_version": TEXT,
            "reports": list_of(report, "the reports that were read, in order"),
            "unread": list_of(unread, "what was asked for and could not be read"),
            "warnings": list_of(TEXT, "what was noticed while reading, such as a salvaged cut"),
            "options": {
                "type": "object",
                "description": "the options that decide which rows there are",
            },
        },
        "what the rows were made from, and by what",
    )


def _names_source() -> dict[str, Any]:
    path = about(
        TEXT_OR_NULL, "file with the names or labels, - for standard input; null: the arguments"
    )
    return object_of(
        {"tool": {"const": "nsightlens"}, "tool_version": TEXT, "path": path},
        "what the rows were made from, and by what",
    )


def _row(name: str) -> dict[str, Any]:
    if name in {"classify", "sweep"}:
        # Arrow is loaded only where a schema is made, not where a published one is shown.
        from nsightlens import tables  # noqa: PLC0415

        columns = tables.SWEEP if name == "sweep" else tables.LABELS
        return object_of({column.name: _of_column(column) for column in columns})
    rows: dict[str, Callable[[], dict[str, Any]]] = {
        "compare": lambda: comparison_row_schema(_of_column),
        "gate": lambda: gate_row_schema(_of_column),
        "explain": lambda: explanation_schema(_of_column),
        "info": info_row,
        "metrics": metric_row,
        "metric-names": metric_name_row,
        "redact": redact_row,
        "kernel-name": kernel_name_row,
        "kernel-name-check": kernel_name_check_row,
        "step-label": step_label_row,
        "step-label-check": step_measure_row,
        "devices": device_row,
        "doctor": doctor_row,
        "timeline": lambda: timeline_row(_of_column),
        "advice": lambda: advice_row_schema(_of_column),
    }
    return rows[name]()


def _of_column(column: Column) -> dict[str, Any]:
    """Return the schema of a value of an Arrow column, with its meaning and unit."""
    kind = str(column.type)
    if kind.startswith("dictionary") or kind == "string":
        json_type = "string"
    elif kind == "bool":
        json_type = "boolean"
    elif kind == "double":
        json_type = "number"
    else:
        json_type = "integer"
    unit = f" [{column.unit}]" if column.unit else ""
    nullable = column.name not in _NEVER_NULL
    found: dict[str, Any] = {
        "description": f"{column.meaning}{unit}",
        "type": [json_type, "null"] if nullable else json_type,
    }
    if kind.startswith("uint"):
        found["minimum"] = 0
    if column.name in _ENUMS:
        values: Iterable[str | None] = _ENUMS[column.name]
        found["enum"] = [*values, None] if nullable else list(values)
    return found
