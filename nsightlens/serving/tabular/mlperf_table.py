"""Tables of MLPerf Inference results: known, and of no use for a batch size.

The exports of its page (5.1: CSV with rows of pivot headers; 6.0: UTF-16 with tabs) have one number
per system and scenario: the best that its owner could reach, at a batch size that is not told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile

__all__ = ["FORMATS"]

_LINES = 12
_WORDS = ("public id", "system name", "accelerator", "organization", "scenario", "avg. result")


def _claims(file: OpenedFile) -> bool:
    if not file.is_text or file.looks_like_json:
        return False
    head = "\n".join(file.head.splitlines()[:_LINES]).lower()
    return _WORDS[0] in head and sum(word in head for word in _WORDS) >= 4


def _refuse(file: OpenedFile) -> NoReturn:
    raise ServingFileError(
        file.shown,
        "is a table of MLPerf results, with one throughput per system, no batch size and no "
        "latency",
        "Give your own runs over several batch sizes: nothing can be read from the best of others.",
    )


FORMATS = (Format("mlperf-table", "MLPerf Inference results", _claims, _refuse),)
