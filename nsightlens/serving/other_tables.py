"""Tables that lie beside serving results and are none: each is refused for its own reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format
from nsightlens.serving.table_layout import names_of

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile

__all__ = ["FORMATS"]

_FIELD = re.compile(r"^\s*DCGM_FI_\w+\s*,\s*(?:gauge|counter|histogram|label)\b")
_REQUEST_IDS = frozenset(
    {
        "request_id", "req_id", "requestid", "reqid", "x_request_id", "prompt_id", "trace_id",
        "session_id", "turn_id", "conversation_id", "request_idx", "request_index",
    }
)  # fmt: skip


def _claims_fields(file: OpenedFile) -> bool:
    """Return whether every line is the name of a DCGM field, its type and its help."""
    if not file.is_text or "DCGM_FI_" not in file.head:
        return False
    lines = [
        line for line in file.head.splitlines()[:200] if line.strip() and not line.startswith("#")
    ]
    return bool(lines) and sum(bool(_FIELD.match(line)) for line in lines) * 2 > len(lines)


def _refuse_fields(file: OpenedFile) -> NoReturn:
    raise ServingFileError(
        file.shown,
        "lists which fields DCGM is to export, and holds no measurement",
        "Give what dcgm-exporter or `dcgmi dmon` printed while the benchmark ran.",
    )


def _claims_requests(file: OpenedFile) -> bool:
    names = {re.sub(r"[\s-]+", "_", name.strip().lower()) for name in names_of(file)}
    return bool(names & _REQUEST_IDS)


def _refuse_requests(file: OpenedFile) -> NoReturn:
    raise ServingFileError(
        file.shown,
        "has a row per request, not per run",
        "Give the summary of the benchmark, or a table with one row of means per run.",
    )


FORMATS = (
    Format("dcgm-field-list", "list of DCGM fields", _claims_fields, _refuse_fields),
    Format("request-table", "table with a row per request", _claims_requests, _refuse_requests),
)
