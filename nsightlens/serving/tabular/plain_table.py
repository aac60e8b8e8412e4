"""A table with a row per run, as people write it: CSV, TSV or Parquet with named columns.

Every column of ``serving_runs`` is known by its own name, and many by those that are common; see
`plain_names`. What is not known is listed, never guessed at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format, Note, Part
from nsightlens.serving.tabular.plain_names import BATCH, UNCLEAR_RATE, meaning_of
from nsightlens.serving.tabular.plain_values import understood
from nsightlens.serving.tabular.table_layout import is_parquet, names_of
from nsightlens.serving.tabular.table_text import read_table

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.tabular.plain_work import Understood

__all__ = ["FORMATS"]

_FORMAT = "table"
MOST_ROWS = 100_000
_SUFFIXES = (".csv", ".tsv", ".tab", ".parquet", ".pq")
_BATCHES = frozenset(
    {
        "max_num_seqs", "max_concurrency", "static_batch_size", "concurrency", "mean_running",
        "max_running", "request_rate_per_s",
    }
)  # fmt: skip
_MEASURED = frozenset(
    {
        "output_tok_per_s", "total_tok_per_s", "requests_per_s", "decode_tok_per_s",
        "attention_share_pct", "matmul_share_pct", "host_share_pct", "gpu_busy_pct",
        *(f"{one}_{metric}_ms" for one in ("mean", "median", "p99") for metric in ("itl", "tpot")),
    }
)  # fmt: skip
_ADVICE = (
    "Name columns as in the table serving_runs: max_num_seqs, mean_itl_ms, total_tok_per_s and so "
    "on."
)


def _claims(file: OpenedFile) -> bool:
    """Return whether columns are known: of a table by its suffix one, of any other text more."""
    names = names_of(file)
    if is_parquet(file) and not names:
        return True  # damaged, which is said where it is read
    meanings = [one for name in names if (one := meaning_of(name)) is not None]
    columns = {one.column for one in meanings}
    measured = columns & (_MEASURED | {UNCLEAR_RATE})
    batches = columns & (_BATCHES | {BATCH})
    if is_parquet(file) or file.name.lower().endswith(_SUFFIXES):
        return bool(measured or batches)
    return bool(measured and batches)


def _read(file: OpenedFile) -> list[Part]:
    table = read_table(file, most_rows=MOST_ROWS)
    found = understood(file, table)
    measured = _MEASURED & found.filled.keys()
    if not measured:
        raise _nothing_measured(file, found)
    if table.row_count > 1 and not _BATCHES & found.filled.keys():
        raise ServingFileError(
            file.shown,
            f"has {table.row_count} rows, and no column says the batch size of each",
            "Add a column max_num_seqs, max_concurrency or batch_size.",
        )
    rows = _rows(table.row_count, found)
    kept = [row for row, values in enumerate(rows) if measured & values.keys()]
    failed = [row for row in kept if rows[row].get("completed_count") == 0]
    kept = [row for row in kept if rows[row].get("completed_count") != 0]
    if not kept:
        raise ServingFileError(
            file.shown,
            "has no row in which a request succeeded"
            if failed
            else "has no row with a measurement",
            "Run the benchmark again.",
        )
    notes = _notes(file, found, table.row_count - len(kept))
    headers, derived = _headers(found), _derived(found)
    return [
        Part(
            "result",
            file.shown,
            _FORMAT,
            rows[row],
            place := f"row {row + 1}",
            {one: f"{place}, column {headers[one][row]}" for one in headers if one in rows[row]},
            {one: words for one, words in derived.items() if one in rows[row]},
            notes,
            run_key=place,
        )
        for row in kept
    ]


def _nothing_measured(file: OpenedFile, found: Understood) -> ServingFileError:
    if found.without_unit:
        header, better = found.without_unit[0]
        return ServingFileError(
            file.shown,
            f"has a column {header!r} without a unit, and no other measurement",
            f"Name it {better!r}, or write its unit in brackets.",
        )
    keys = {"throughput_per_request", "throughput_unclear", "latency_is_e2e"}
    reasons = [note.text for note in found.notes if note.key in keys]
    why = f": {reasons[0].removeprefix(f'{file.shown}: ').rstrip('.')}" if reasons else ""
    return ServingFileError(
        file.shown, f"has no throughput and no time between tokens that is clear{why}", _ADVICE
    )


def _rows(count: int, found: Understood) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for column, filled in found.filled.items():
        for row, value in enumerate(filled.values):
            if value is not None:
                rows[row][column] = value
    for values in rows:
        if "mean_running" in values:
            values.setdefault("running_source", "result")
    return rows


def _notes(file: OpenedFile, found: Understood, left_out: int) -> tuple[Note, ...]:
    notes = list(dict.fromkeys(found.notes))
    if left_out:
        text = f"{file.shown}: rows that are left out, as nothing was measured: {left_out}."
        notes.append(Note("rows_without_values", text))
    return tuple(notes)


def _headers(found: Understood) -> dict[str, list[str]]:
    """Return the header of each value of the columns whose header is not their name."""
    return {
        column: filled.headers
        for column, filled in found.filled.items()
        if any(header.strip().lower() != column for header in set(filled.headers))
    }


def _derived(found: Understood) -> dict[str, str]:
    return {column: one.derived for column, one in found.filled.items() if one.derived}


FORMATS = (Format(_FORMAT, "table with a row per run", _claims, _read),)
