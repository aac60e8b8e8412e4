"""What a launch is: kernel, family, phase, batch size, and a key that two reports share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array, positions_in_runs
from nsightlens.devices.columns import text_column
from nsightlens.kernels import parse_launch_kernels
from nsightlens.steps import NO_STEP_RULES, annotate_launches

if TYPE_CHECKING:
    from nsightlens.kernels import UserRules
    from nsightlens.report import Report
    from nsightlens.steps import StepRules

__all__ = ["IDENTITY_SCHEMA", "STEP_COLUMNS", "extent", "identify", "numbered_keys"]

IDENTITY_SCHEMA = pa.schema(
    [
        ("kernel", pa.string()),
        ("subject", pa.string()),
        ("family", pa.string()),
        ("subtype", pa.string()),
        ("phase", pa.string()),
        ("batch_size", pa.int64()),
        ("batch_source", pa.string()),
        ("step_engine", pa.string()),
        ("step_index", pa.int64()),
        ("query_tokens", pa.int64()),
        ("kv_tokens", pa.int64()),
        ("context_length", pa.int64()),
        ("grid", pa.string()),
        ("block", pa.string()),
        ("device_name", pa.string()),
        ("dtypes", pa.string()),
        ("operation_flop", pa.float64()),
        ("operation_bytes", pa.float64()),
    ]
)
STEP_COLUMNS = (
    "batch_size", "batch_source", "step_engine", "step_index",
    "query_tokens", "kv_tokens", "context_length",
)  # fmt: skip
"""Columns of labels that say in which step a launch was, apart from its phase."""
# The phases that a kernel name can settle; "unknown" and "n/a" say nothing of a step.
_PHASES = ("prefill", "decode", "mixed")


def identify(
    report: Report, rules: UserRules | None = None, step_rules: StepRules = NO_STEP_RULES
) -> pa.Table:
    """Say what every launch is, from its name and its NVTX ranges.

    The phase of an annotation wins over that of a kernel name: the same kernel may serve both.

    Parameters
    ----------
    report
        The report.
    rules
        Rules for kernel names to be asked before the built-in ones.
    step_rules
        What the user says of the steps.

    Returns
    -------
    pyarrow.Table
        With `IDENTITY_SCHEMA`, one row per launch; null where nothing says so. ``subject`` is the
        kernel, or the kind of the result in brackets where it is no kernel.
    """
    launches = report.launches
    kernels = parse_launch_kernels(
        launches["kernel_demangled_name"],
        launches["kernel_name"],
        launches["kernel_mangled_name"],
        rules=rules,
    )
    steps = annotate_launches(report, step_rules)
    by_name = _plain(kernels, "phase")
    is_phase = pc.is_in(by_name, value_set=pa.array(_PHASES, pa.string()))
    by_name = pc.if_else(is_phase, by_name, pa.scalar(None, pa.string()))
    short_name = _without(_plain(kernels, "short_name"), "")
    kernel = pc.coalesce(short_name, _plain(launches, "kernel_name"))
    columns = {
        "kernel": kernel,
        "subject": pc.coalesce(kernel, _bracketed_kind(launches)),
        "family": _plain(kernels, "family"),
        "subtype": _without(_plain(kernels, "subtype"), "", "unknown"),
        "phase": _phase(steps, by_name),
        **{name: steps[name] for name in STEP_COLUMNS},
        "grid": extent(launches, "grid"),
        "block": extent(launches, "block"),
        "device_name": _plain(launches, "device_name"),
        "dtypes": _plain(kernels, "dtypes"),
        "operation_flop": steps["operation_flop"],
        "operation_bytes": steps["operation_bytes"],
    }
    arrays = [_one_chunk(columns[field.name]) for field in IDENTITY_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=IDENTITY_SCHEMA)


def _phase(steps: pa.Table, by_name: Any) -> Any:
    """Return the phase of the label, else of the name; a pass that serves nobody has no other."""
    by_label = _plain(steps, "phase")
    is_served = pc.is_null(_plain(steps, "unserved"))
    return pc.if_else(is_served, pc.coalesce(by_label, by_name), by_label)


def _bracketed_kind(launches: pa.Table) -> Any:
    kind = _without(_plain(launches, "kind"), "kernel")
    return pc.binary_join_element_wise("(", kind, ")", "")


def extent(launches: pa.Table, name: str) -> Any:
    """Return grid or block as ``x,y,z``; null where the report does not say."""
    axes = [_one_chunk(launches[f"{name}_{axis}"].cast(pa.string())) for axis in "xyz"]
    return pc.binary_join_element_wise(*axes, ",")


def numbered_keys(report: Report, identity: pa.Table) -> Any:
    """Name every launch by kernel, grid, block and its number among those that share them.

    Two reports of the same program give the same launch the same key, whatever else they hold.

    Returns
    -------
    pyarrow.Array
        Text column such as ``flash_fwd|1,32,16|128,1,1|0`` or ``(range)|?|?|0``, unique within
        each report.
    """
    parts = [pc.fill_null(identity[name], "?") for name in ("subject", "grid", "block")]
    stem = _one_chunk(pc.binary_join_element_wise(*parts, "|"))
    code, _ = text_column({"stem": stem}, "stem")
    report_code, paths = text_column(report.launches, "report")
    joint = code * len(paths) + report_code
    order = np.argsort(joint, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = positions_in_runs(joint[order])
    return pc.binary_join_element_wise(stem, number_array(number).cast(pa.string()), "|")


def _without(column: Any, *texts: str) -> Any:
    """Return the column with null for texts that say nothing."""
    says_nothing = pc.is_in(column, value_set=pa.array(texts, pa.string()))
    return pc.if_else(says_nothing, pa.scalar(None, pa.string()), column)


def _plain(table: pa.Table, name: str) -> Any:
    return _one_chunk(table[name].cast(pa.string()))


def _one_chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
