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

from nsightlens.render.comparison_schema import (
    comparison_parts_schema,
    comparison_row_schema,
    gate_parts_schema,
    gate_row_schema,
)
from nsightlens.render.envelope import ENVELOPE_VERSION
from nsightlens.render.explanation_row import explanation_schema
from nsightlens.render.prediction import prediction_schema
from nsightlens.render.step_label_rows import step_label_row, step_measure_row
from nsightlens.render.sweep_data import sweep_parts_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}


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
    if name == "devices":
        return _object({"tool": {"const": "nsightlens"}, "tool_version": _TEXT})
    return _source()


def _object(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    about = {"description": description} if description else {}
    return {"type": "object", **about, "required": list(properties), "properties": properties}


def _list_of(item: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": item}


def _about(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


def _source() -> dict[str, Any]:
    report = _object(
        {
            "path": _about(_TEXT, "path of the report, as it was given"),
            "device_names": _list_of(_TEXT, "GPUs of its launches"),
            "ncu_version": _about(_TEXT_OR_NULL, "version of Nsight Compute that collected it"),
            "clock_control": _about(_TEXT_OR_NULL, "what ncu did to the clocks"),
        }
    )
    unread = _object({"path": _TEXT, "error": _about(_TEXT, "why it could not be read")})
    return _object(
        {
            "tool": {"const": "nsightlens"},
            "tool_version": _TEXT,
            "reports": _list_of(report, "the reports that were read, in order"),
            "unread": _list_of(unread, "what was asked for and could not be read"),
            "warnings": _list_of(_TEXT, "what was noticed while reading, such as a salvaged cut"),
            "options": {
                "type": "object",
                "description": "the options that decide which rows there are",
            },
        },
        "what the rows were made from, and by what",
    )


def _names_source() -> dict[str, Any]:
    path = _about(
        _TEXT_OR_NULL, "file with the names or labels, - for standard input; null: the arguments"
    )
    return _object(
        {"tool": {"const": "nsightlens"}, "tool_version": _TEXT, "path": path},
        "what the rows were made from, and by what",
    )


def _row(name: str) -> dict[str, Any]:
    if name in {"classify", "sweep"}:
        # Arrow is loaded only where a schema is made, not where a published one is shown.
        from nsightlens import tables  # noqa: PLC0415

        columns = tables.SWEEP if name == "sweep" else tables.LABELS
        return _object({column.name: _of_column(column) for column in columns})
    rows = {
        "compare": lambda: comparison_row_schema(_of_column),
        "gate": lambda: gate_row_schema(_of_column),
        "explain": lambda: explanation_schema(_of_column),
        "info": _info_row,
        "metrics": _metric_row,
        "metric-names": _metric_name_row,
        "redact": _redact_row,
        "kernel-name": _kernel_name_row,
        "kernel-name-check": _measure_row,
        "step-label": step_label_row,
        "step-label-check": step_measure_row,
        "devices": _device_row,
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


def _metric_row() -> dict[str, Any]:
    value = {
        "description": (
            "the value, by kind: an integer with all its digits; a number, or one of the texts "
            '"nan", "inf", "-inf"; the text; null'
        ),
        "type": ["integer", "number", "string", "null"],
    }
    key = "names the value in the same way in every report of the same program: launch|metric"
    return _object(
        {
            "key": _about(_TEXT, key),
            "report": _about(_TEXT, "path of the report, as it was given"),
            "launch_id": _about(_COUNT, "position of the result in its report, from 0"),
            "kernel": _about(_TEXT_OR_NULL, "name of the kernel"),
            "metric": _about(_TEXT, "name of the metric, as ncu stored it"),
            "kind": {
                "description": "how the report stores the value; null: it has the name only",
                "enum": ["integer", "real", "text", "null"],
            },
            "value": value,
            "unit": _about(_TEXT_OR_NULL, "unit of the value by its name"),
        }
    )


def _metric_name_row() -> dict[str, Any]:
    return _object(
        {
            "key": _about(_TEXT, "names the row: the name of the metric"),
            "metric": _about(_TEXT, "name of the metric, as ncu stored it"),
            "unit": _about(_TEXT_OR_NULL, "unit of its values by its name"),
            "value_count": _about(_COUNT, "launches that have a value"),
            "launch_count": _about(_COUNT, "launches of the reports"),
        }
    )


def _redact_row() -> dict[str, Any]:
    return _object(
        {
            "key": _about(_TEXT, "names the row: status|kind, or status|kind|where|text"),
            "status": {
                "description": "removed: it is gone or masked; remaining: it still names something",
                "enum": ["removed", "remaining"],
            },
            "kind": _about(_TEXT, "what it is, such as 'host name' or 'kernel name'"),
            "where": _about(_TEXT_OR_NULL, "part of the report that holds it; null: removed"),
            "text": _about(_TEXT_OR_NULL, "the text that remains; null: removed"),
            "count": _about(_COUNT, "how many fields"),
        }
    )


def _kernel_name_row() -> dict[str, Any]:
    # A published schema is read without this package of rules.
    from nsightlens.kernels.model import FAMILIES, PHASES  # noqa: PLC0415

    return _object(
        {
            "key": _about(_TEXT, "names the row: the name"),
            "name": _about(_TEXT, "the name, as it was given"),
            "short_name": _about(_TEXT, "what a person would say, at most 40 characters"),
            "family": {"description": "what the kernel computes", "enum": list(FAMILIES)},
            "subtype": _about(_TEXT_OR_NULL, "finer class within the family"),
            "phase": {"description": "of an attention kernel; else n/a", "enum": list(PHASES)},
            "dtypes": _list_of(_TEXT, "main operand types; empty: the name does not say them"),
            "tile": _about(_TEXT_OR_NULL, "tile of a thread block, MxN or MxNxK"),
            "head_dim": _about(_TEXT_OR_NULL, "head size, keys/values where they differ"),
            "library": _about(_TEXT_OR_NULL, "library that it comes from"),
            "arch": _about(_TEXT_OR_NULL, "architecture that it was built for"),
            "also": _list_of(_TEXT, "further families of a fused or ambiguous kernel"),
            "rule": _about(_TEXT_OR_NULL, "the rule that decided"),
            "note": _about(_TEXT_OR_NULL, "what is missing or uncertain"),
        }
    )


def _device_row() -> dict[str, Any]:
    number = {"type": ["number", "null"], "minimum": 0}
    roof = _object(
        {
            "resource": _about(_TEXT, "as in the table resources"),
            "peak_per_s": _about(number, "dense peak at the boost clock, in the unit"),
            "unit": _about(_TEXT, "FLOP/s, op/s or B/s"),
            "ridge_point_flop_per_byte": _about(number, "peak over DRAM bandwidth [FLOP/B]"),
            "sheet_per_s": _about(number, "the published figure, in the unit"),
            "rate_per_sm": _about(number, "work per SM and cycle, of which the peak is made"),
            "confidence": _about(_TEXT, "A to D, best first; empty for DRAM"),
            "source": _about(_TEXT, "where rate, or bandwidth, come from"),
        }
    )
    return _object(
        {
            "key": _about(_TEXT, "names the row: the name of the product"),
            "product": _about(_TEXT, "name of the product"),
            "driver_names": _list_of(_TEXT, "what drivers call it, without a leading NVIDIA"),
            "compute_capability": _TEXT,
            "sm_count": _COUNT_OR_NULL,
            "product_class": {
                "description": "how its rates were cut",
                "enum": ["full", "gf", "half", "h800", "h20", "unknown"],
            },
            "base_mhz": _about(number, "base clock of the SMs [MHz]"),
            "boost_mhz": _about(number, "boost clock of the SMs [MHz]"),
            "tensor_mhz": _about(number, "clock of the published tensor figures, if another [MHz]"),
            "memory_gb": _about(number, "DRAM [GB]"),
            "memory_type": _TEXT,
            "bus_bit": _about(_COUNT_OR_NULL, "width of the DRAM bus [bit]"),
            "memory_mhz": _about(number, "memory clock, half the rate of a pin [MHz]"),
            "bandwidth_gb_per_s": _about(number, "DRAM bandwidth [GB/s]"),
            "l2_mib": _about(number, "L2 cache [MiB]"),
            "known_from": _about(_TEXT, "looked_up, report, techpowerup, recalled, joined by +"),
            "source": _about(_TEXT, "where the figures are from"),
            "note": _about(_TEXT_OR_NULL, "what to know of them"),
            "roofs": _list_of(roof, "DRAM, then every unit that it has"),
        }
    )


def _measure_row() -> dict[str, Any]:
    kinds = (
        "settled", "ambiguous", "precision", "recall", "field", "given", "confusion", "wrong",
        "differs",
    )  # fmt: skip
    meaning = (
        "settled, ambiguous: share of right families; precision, recall: of a family; field: "
        "agreement of a field where both sides give it; given: labels that have a reading; "
        "confusion: how often a label is read as another family; wrong: one name whose family is "
        "read otherwise; differs: one name of which another field is"
    )
    percent = {"type": ["number", "null"], "minimum": 0, "maximum": 100}
    return _object(
        {
            "key": _about(_TEXT, "names the row: its measure, field, label, read and name"),
            "measure": {"description": meaning, "enum": list(kinds)},
            "label": _about(_TEXT, "the family or field; of a pair or a name, its label"),
            "read": _about(_TEXT_OR_NULL, "confusion, wrong, differs: what was read"),
            "right_pct": _about(percent, "share of what is right [%]"),
            "right_count": _about(_COUNT_OR_NULL, "how many are right"),
            "total_count": _about(_COUNT_OR_NULL, "of how many"),
            "name": _about(_TEXT_OR_NULL, "wrong, differs: the name"),
            "rule": _about(_TEXT_OR_NULL, "wrong, differs: the rule that decided"),
            "field": _about(_TEXT_OR_NULL, "differs: the field that is read otherwise"),
        }
    )


def _info_row() -> dict[str, Any]:
    counts = {"type": "object", "additionalProperties": _COUNT}
    process = _object({"process_id": _COUNT_OR_NULL, "process_name": _TEXT_OR_NULL})
    missing = _object(
        {
            "column": _about(_TEXT, "column of the table launches"),
            "unit": _TEXT_OR_NULL,
            "missing_count": _about(_COUNT, "launches without a value, failed ones aside"),
            "is_countable": {
                "description": "whether some GPU of the report has a counter for it",
                "type": "boolean",
            },
            "sections": _list_of(_TEXT, "ncu sections that would fill it"),
            "metrics": _list_of(_TEXT, "metrics that would fill it"),
        }
    )
    return _object(
        {
            "key": _about(_TEXT, "names the row: the path of the report"),
            "report": _about(_TEXT, "path of the report, as it was given"),
            "size_bytes": _about(_COUNT_OR_NULL, "size of the file [B]"),
            "is_text": {
                "description": "whether it is what ncu --csv printed, and not a .ncu-rep file",
                "type": "boolean",
            },
            "ncu_version": _TEXT_OR_NULL,
            "cuda_version": _TEXT_OR_NULL,
            "driver_version": _TEXT_OR_NULL,
            "clock_control": _about(_TEXT_OR_NULL, "what ncu did to the clocks"),
            "cache_control": _about(_TEXT_OR_NULL, "what ncu did to the caches"),
            "replay_mode": _TEXT_OR_NULL,
            "created_at": _about(_TEXT_OR_NULL, "when it was made, ISO 8601, UTC"),
            "command_line": _about(_TEXT_OR_NULL, "command line of the profiled program"),
            "profiler_command_line": _about(_TEXT_OR_NULL, "command line of ncu"),
            "devices": _list_of(
                _object({"device_name": _TEXT_OR_NULL, "compute_capability": _TEXT_OR_NULL}),
                "GPUs of the launches",
            ),
            "processes": _list_of(process, "profiled processes"),
            "launch_count": _COUNT,
            "failed_launch_count": _about(_COUNT, "launches that failed to be collected"),
            "duration_ns": _about({"type": ["number", "null"]}, "sum over the launches [ns]"),
            "launches_by_kind": _about(counts, "kernel, range, graph or cmdlist"),
            "launches_by_family": _about(counts, "what the kernels compute"),
            "nvtx_domains": _list_of(_TEXT, "NVTX domains with a range open at some launch"),
            "metric_count": _about(_COUNT, "names of metrics that some launch has"),
            "missing_columns": _list_of(missing, "columns that some launch cannot fill"),
        }
    )
