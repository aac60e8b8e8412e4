"""The JSON Schemas of rows that no table of columns describes, and what they are made of.

Each row stands for one thing that a command lists: a metric, a kernel name, a GPU, a report.
`nsightlens.render.json_schema` puts them into the envelopes.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "COUNT",
    "COUNT_OR_NULL",
    "TEXT",
    "TEXT_OR_NULL",
    "about",
    "device_row",
    "info_row",
    "kernel_name_check_row",
    "kernel_name_row",
    "list_of",
    "metric_name_row",
    "metric_row",
    "object_of",
    "redact_row",
]

TEXT = {"type": "string"}
TEXT_OR_NULL = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}
COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}


def object_of(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    """Return the schema of an object that has all of some properties."""
    text = {"description": description} if description else {}
    return {"type": "object", **text, "required": list(properties), "properties": properties}


def list_of(item: dict[str, Any], description: str) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "description": description, "items": item}


def about(kind: dict[str, Any], description: str) -> dict[str, Any]:
    """Return the schema of a kind of value, with what it says."""
    return {**kind, "description": description}


def metric_row() -> dict[str, Any]:
    """Return the schema of a value of a raw metric."""
    value = {
        "description": (
            "the value, by kind: an integer with all its digits; a number, or one of the texts "
            '"nan", "inf", "-inf"; the text; null'
        ),
        "type": ["integer", "number", "string", "null"],
    }
    key = "names the value in the same way in every report of the same program: launch|metric"
    return object_of(
        {
            "key": about(TEXT, key),
            "report": about(TEXT, "path of the report, as it was given"),
            "launch_id": about(COUNT, "position of the result in its report, from 0"),
            "kernel": about(TEXT_OR_NULL, "name of the kernel"),
            "metric": about(TEXT, "name of the metric, as ncu stored it"),
            "kind": {
                "description": "how the report stores the value; null: it has the name only",
                "enum": ["integer", "real", "text", "null"],
            },
            "value": value,
            "unit": about(TEXT_OR_NULL, "unit of the value by its name"),
        }
    )


def metric_name_row() -> dict[str, Any]:
    """Return the schema of a name of a raw metric."""
    return object_of(
        {
            "key": about(TEXT, "names the row: the name of the metric"),
            "metric": about(TEXT, "name of the metric, as ncu stored it"),
            "unit": about(TEXT_OR_NULL, "unit of its values by its name"),
            "value_count": about(COUNT, "launches that have a value"),
            "launch_count": about(COUNT, "launches of the reports"),
        }
    )


def redact_row() -> dict[str, Any]:
    """Return the schema of what was removed of a report, or is left in it."""
    return object_of(
        {
            "key": about(TEXT, "names the row: status|kind, or status|kind|where|text"),
            "status": {
                "description": "removed: it is gone or masked; remaining: it still names something",
                "enum": ["removed", "remaining"],
            },
            "kind": about(TEXT, "what it is, such as 'host name' or 'kernel name'"),
            "where": about(TEXT_OR_NULL, "part of the report that holds it; null: removed"),
            "text": about(TEXT_OR_NULL, "the text that remains; null: removed"),
            "count": about(COUNT, "how many fields"),
        }
    )


def kernel_name_row() -> dict[str, Any]:
    """Return the schema of what a kernel name says."""
    # A published schema is read without this package of rules.
    from nsightlens.kernels.model import FAMILIES, PHASES  # noqa: PLC0415

    return object_of(
        {
            "key": about(TEXT, "names the row: the name"),
            "name": about(TEXT, "the name, as it was given"),
            "short_name": about(TEXT, "what a person would say, at most 40 characters"),
            "family": {"description": "what the kernel computes", "enum": list(FAMILIES)},
            "subtype": about(TEXT_OR_NULL, "finer class within the family"),
            "phase": {"description": "of an attention kernel; else n/a", "enum": list(PHASES)},
            "dtypes": list_of(TEXT, "main operand types; empty: the name does not say them"),
            "tile": about(TEXT_OR_NULL, "tile of a thread block, MxN or MxNxK"),
            "head_dim": about(TEXT_OR_NULL, "head size, keys/values where they differ"),
            "library": about(TEXT_OR_NULL, "library that it comes from"),
            "arch": about(TEXT_OR_NULL, "architecture that it was built for"),
            "also": list_of(TEXT, "further families of a fused or ambiguous kernel"),
            "rule": about(TEXT_OR_NULL, "the rule that decided"),
            "note": about(TEXT_OR_NULL, "what is missing or uncertain"),
        }
    )


def device_row() -> dict[str, Any]:
    """Return the schema of a known GPU."""
    number = {"type": ["number", "null"], "minimum": 0}
    roof = object_of(
        {
            "resource": about(TEXT, "as in the table resources"),
            "peak_per_s": about(number, "dense peak at the boost clock, in the unit"),
            "unit": about(TEXT, "FLOP/s, op/s or B/s"),
            "ridge_point_flop_per_byte": about(number, "peak over DRAM bandwidth [FLOP/B]"),
            "sheet_per_s": about(number, "the published figure, in the unit"),
            "rate_per_sm": about(number, "work per SM and cycle, of which the peak is made"),
            "confidence": about(TEXT, "A to D, best first; empty for DRAM"),
            "source": about(TEXT, "where rate, or bandwidth, come from"),
        }
    )
    return object_of(
        {
            "key": about(TEXT, "names the row: the name of the product"),
            "product": about(TEXT, "name of the product"),
            "driver_names": list_of(TEXT, "what drivers call it, without a leading NVIDIA"),
            "compute_capability": TEXT,
            "sm_count": COUNT_OR_NULL,
            "product_class": {
                "description": "how its rates were cut",
                "enum": ["full", "gf", "half", "h800", "h20", "unknown"],
            },
            "base_mhz": about(number, "base clock of the SMs [MHz]"),
            "boost_mhz": about(number, "boost clock of the SMs [MHz]"),
            "tensor_mhz": about(number, "clock of the published tensor figures, if another [MHz]"),
            "memory_gb": about(number, "DRAM [GB]"),
            "memory_type": TEXT,
            "bus_bit": about(COUNT_OR_NULL, "width of the DRAM bus [bit]"),
            "memory_mhz": about(number, "memory clock, half the rate of a pin [MHz]"),
            "bandwidth_gb_per_s": about(number, "DRAM bandwidth [GB/s]"),
            "l2_mib": about(number, "L2 cache [MiB]"),
            "known_from": about(TEXT, "looked_up, report, techpowerup, recalled, joined by +"),
            "source": about(TEXT, "where the figures are from"),
            "note": about(TEXT_OR_NULL, "what to know of them"),
            "roofs": list_of(roof, "DRAM, then every unit that it has"),
        }
    )


def kernel_name_check_row() -> dict[str, Any]:
    """Return the schema of how far labels of kernel names and readings agree."""
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
    return object_of(
        {
            "key": about(TEXT, "names the row: its measure, field, label, read and name"),
            "measure": {"description": meaning, "enum": list(kinds)},
            "label": about(TEXT, "the family or field; of a pair or a name, its label"),
            "read": about(TEXT_OR_NULL, "confusion, wrong, differs: what was read"),
            "right_pct": about(percent, "share of what is right [%]"),
            "right_count": about(COUNT_OR_NULL, "how many are right"),
            "total_count": about(COUNT_OR_NULL, "of how many"),
            "name": about(TEXT_OR_NULL, "wrong, differs: the name"),
            "rule": about(TEXT_OR_NULL, "wrong, differs: the rule that decided"),
            "field": about(TEXT_OR_NULL, "differs: the field that is read otherwise"),
        }
    )


def info_row() -> dict[str, Any]:
    """Return the schema of what a report is and holds."""
    counts = {"type": "object", "additionalProperties": COUNT}
    process = object_of({"process_id": COUNT_OR_NULL, "process_name": TEXT_OR_NULL})
    missing = object_of(
        {
            "column": about(TEXT, "column of the table launches"),
            "unit": TEXT_OR_NULL,
            "missing_count": about(COUNT, "launches without a value, failed ones aside"),
            "is_countable": {
                "description": "whether some GPU of the report has a counter for it",
                "type": "boolean",
            },
            "sections": list_of(TEXT, "ncu sections that would fill it"),
            "metrics": list_of(TEXT, "metrics that would fill it"),
        }
    )
    return object_of(
        {
            "key": about(TEXT, "names the row: the path of the report"),
            "report": about(TEXT, "path of the report, as it was given"),
            "size_bytes": about(COUNT_OR_NULL, "size of the file [B]"),
            "is_text": {
                "description": "whether it is what ncu --csv printed, and not a .ncu-rep file",
                "type": "boolean",
            },
            "ncu_version": TEXT_OR_NULL,
            "cuda_version": TEXT_OR_NULL,
            "driver_version": TEXT_OR_NULL,
            "clock_control": about(TEXT_OR_NULL, "what ncu did to the clocks"),
            "cache_control": about(TEXT_OR_NULL, "what ncu did to the caches"),
            "replay_mode": TEXT_OR_NULL,
            "created_at": about(TEXT_OR_NULL, "when it was made, ISO 8601, UTC"),
            "command_line": about(TEXT_OR_NULL, "command line of the profiled program"),
            "profiler_command_line": about(TEXT_OR_NULL, "command line of ncu"),
            "devices": list_of(
                object_of({"device_name": TEXT_OR_NULL, "compute_capability": TEXT_OR_NULL}),
                "GPUs of the launches",
            ),
            "processes": list_of(process, "profiled processes"),
            "launch_count": COUNT,
            "failed_launch_count": about(COUNT, "launches that failed to be collected"),
            "duration_ns": about({"type": ["number", "null"]}, "sum over the launches [ns]"),
            "launches_by_kind": about(counts, "kernel, range, graph or cmdlist"),
            "launches_by_family": about(counts, "what the kernels compute"),
            "nvtx_domains": list_of(TEXT, "NVTX domains with a range open at some launch"),
            "metric_count": about(COUNT, "names of metrics that some launch has"),
            "missing_columns": list_of(missing, "columns that some launch cannot fill"),
        }
    )
