"""The JSON Schema of ``nsightlens doctor``: its checks, and the facts that stand beside them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nsightlens.render.row_schemas import TEXT, TEXT_OR_NULL, about, list_of, object_of

__all__ = ["doctor_parts_schema", "doctor_row"]

_FLAG = {"type": "boolean"}
_FLAG_OR_NULL = {"type": ["boolean", "null"]}
_COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_KINDS = {
    "bool": _FLAG, "bool | None": _FLAG_OR_NULL, "str": TEXT, "str | None": TEXT_OR_NULL,
    "int | None": _COUNT_OR_NULL, "float | None": _NUMBER_OR_NULL,
    "tuple[str, ...]": {"type": "array", "items": TEXT},
    "tuple[str, ...] | None": {"type": ["array", "null"], "items": TEXT},
}  # fmt: skip
"""What JSON has for the types of the records of the harness."""


def doctor_row() -> dict[str, Any]:
    """Return the schema of a check."""
    # A published schema is read without the harness.
    from nsightlens.harness.doctor_check import STATUSES  # noqa: PLC0415

    meaning = (
        "problem: it keeps ncu from profiling; warning: it spoils a part of that; unknown: only "
        "trying will tell"
    )
    return object_of(
        {
            "key": about(TEXT, "names the check, such as counters, or gpu 1 where there are more"),
            "status": {"description": meaning, "enum": list(STATUSES)},
            "message": about(TEXT, "what was found"),
            "remedies": list_of(TEXT, "what to do on this host, in the order in which to try it"),
        }
    )


def doctor_parts_schema(_: Any = None) -> dict[str, Any]:
    """Return the schemas of what stands beside the checks."""
    from nsightlens.harness.doctor_torch import TorchDevice, TorchFacts  # noqa: PLC0415
    from nsightlens.harness.gpus import Gpu  # noqa: PLC0415
    from nsightlens.harness.host import Host  # noqa: PLC0415

    tool = object_of(
        {
            "name": {"enum": ["ncu", "nsys"]},
            "path": TEXT,
            "version": about(
                {"type": "array", "items": {"type": "integer"}}, "empty: it does not run"
            ),
            "version_text": about(TEXT, "the version as it is printed, or why there is none"),
            "found_by": about(TEXT, "what led there, such as PATH or CUDA_HOME"),
            "is_used": about(_FLAG, "profile would take this one"),
        }
    )
    gpus = list_of(_record(Gpu), "one for each GPU; clocks in MHz, power in W, sizes in B or bit")
    host = _record(Host, gpus=gpus)
    host["properties"]["may_read_counters"] = about(
        _FLAG_OR_NULL, "whether ncu will get at the counters; null: only trying will tell"
    )
    packages = about(
        {"type": "object", "additionalProperties": TEXT}, "kernel libraries and their versions"
    )
    devices = list_of(_record(TorchDevice), "GPUs that torch can use")
    return {
        "passed": about(_FLAG, "nothing that profiling with ncu needs is broken"),
        "host": about(host, "facts about the machine; null where it is not known"),
        "tools": list_of(tool, "every ncu and nsys that was found, best first"),
        "chips": list_of(TEXT, "chips that the used ncu lists; empty: it was not asked"),
        "torch": about(
            _record(TorchFacts, packages=packages, devices=devices),
            "what the target's Python has; null where it has none or does not say",
        ),
        "run_folder": about(TEXT, "where run folders would be"),
    }


def _record(kind: Any, **special: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a record by the types of its fields."""
    return object_of(
        {field.name: special.get(field.name) or _KINDS[str(field.type)] for field in fields(kind)}
    )
