"""Tables that lie beside serving results and are none: each is refused for its own reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format
from nsightlens.serving.tabular.table_layout import names_of

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile

__all__ = ["FORMATS"]

_REQUEST_IDS = frozenset(
    {
        "request_id", "req_id", "requestid", "reqid", "x_request_id", "prompt_id", "trace_id",
        "session_id", "turn_id", "conversation_id", "request_idx", "request_index",
    }
)  # fmt: skip


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
    Format("request-table", "table with a row per request", _claims_requests, _refuse_requests),
)
