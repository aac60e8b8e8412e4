"""llama.cpp: ``llama-batched-bench`` and ``llama-bench``, as JSON, as tables and within logs.

Sequences of ``llama-batched-bench`` run in lock-step: the time between tokens is exactly the time
of generation over the tokens of one sequence. ``llama-bench`` runs one sequence: its ``n_batch``
is how a prompt is cut. Source: ``tools/batched-bench`` and ``tools/llama-bench`` of llama.cpp.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.llama_runs import batched_run, note_warm_up, single_run
from nsightlens.serving.benchmarks.llama_tables import batched_rows, has_batched_table, single_rows
from nsightlens.serving.benchmarks.named import csv_rows
from nsightlens.serving.benchmarks.several_runs import parts_of_runs
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_BATCHED = frozenset({"pp", "tg", "pl", "t_tg"})
_SINGLE = frozenset({"n_prompt", "n_gen", "avg_ts"})
_NEAR = 2048
"""[B] Characters around a key within which the other keys of its object stand."""
_SINGLE_HEAD = re.compile(r'"build_commit"\s*:[\s\S]*"n_gen"\s*:')
_TABLE_HEAD = re.compile(r"^\|\s*model\s*\|.*\|\s*test\s*\|\s*t/s\s*\|", re.MULTILINE)
_CSV_HEAD = re.compile(r'^"?build_commit"?,.*"?avg_ts"?', re.MULTILINE)
_GENERAL_NAME = re.compile(r"general\.name\s+(?:str\s+)?=\s*(\S[^\n]*)")
_LARGEST_SEARCHED = 32 << 20


def _searched(file: OpenedFile) -> str:
    return file.text if file.byte_count <= _LARGEST_SEARCHED else file.head


def _claims_batched(file: OpenedFile) -> bool:
    if not file.is_text:
        return False
    text = _searched(file)
    return _has_batched_object(text) or has_batched_table(text)


def _has_batched_object(text: str) -> bool:
    at = text.find('"t_tg"')
    near = text[max(0, at - _NEAR) : at + _NEAR] if at >= 0 else ""
    return all(f'"{key}"' in near for key in _BATCHED)


def _read_batched(file: OpenedFile) -> list[Part]:
    rows: list[tuple[str, dict[str, Any]]] = [
        (place, one) for place, one in file.objects if set(one) >= _BATCHED
    ]
    rows = rows or [(f"line {at}", one) for at, one in file.json_lines if set(one) >= _BATCHED]
    found = _GENERAL_NAME.search(file.text)
    name = found[1].strip() if found else None
    rows = [(place, {"model": name, **one}) for place, one in rows] or batched_rows(file.text)
    note_warm_up([one for _, one in rows])
    return parts_of_runs(
        file.shown, [(place, partial(batched_run, file.shown, place, one)) for place, one in rows]
    )


def _claims_single(file: OpenedFile) -> bool:
    if not file.is_text:
        return False
    if file.objects:
        return set(file.objects[0][1]) >= _SINGLE
    is_cut_json = file.looks_like_json and _SINGLE_HEAD.search(file.head)
    is_table = _CSV_HEAD.match(file.head) or _TABLE_HEAD.search(_searched(file))
    return bool(is_cut_json or is_table)


def _read_single(file: OpenedFile) -> list[Part]:
    rows: list[tuple[str, dict[str, Any]]] = [
        (place, one) for place, one in file.objects if set(one) >= _SINGLE
    ]
    if not rows and _CSV_HEAD.match(file.head):
        header, *lines = csv_rows(file)
        rows = [
            (f"line {number}", dict(zip(header, cells, strict=True)))
            for number, cells in enumerate(lines, 2)
            if len(cells) == len(header)
        ]
    rows = rows or single_rows(file.text)
    if not rows:
        problem = file.json_problem() if file.looks_like_json else "holds no row of a test"
        raise ServingFileError(file.shown, problem, "Copy it again, or run llama-bench again.")
    return parts_of_runs(
        file.shown, [(place, partial(single_run, file.shown, place, one)) for place, one in rows]
    )


FORMATS = (
    Format("llama-batched-bench", "llama-batched-bench", _claims_batched, _read_batched),
    Format("llama-bench", "llama-bench", _claims_single, _read_single),
)
