"""Columns of a table -> columns of ``serving_runs`` in their units, and what to know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.errors import ServingFileError
from nsightlens.serving.run import COLUMNS
from nsightlens.serving.tabular.plain_columns import plausible, values_of
from nsightlens.serving.tabular.plain_labels import hint_engine, put_workload
from nsightlens.serving.tabular.plain_names import BATCH, UNCLEAR_RATE, meaning_of
from nsightlens.serving.tabular.plain_rates import verdict_of
from nsightlens.serving.tabular.plain_work import Filled, Understood, Work
from nsightlens.serving.tabular.table_numbers import AmbiguousNumberError, comma_meaning, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.tabular.plain_names import Meaning
    from nsightlens.serving.tabular.table_text import CellTable

__all__ = ["understood"]

_SCHEDULED = frozenset(
    {
        "mean_running", "max_running", "mean_waiting", "preemption_count", "request_rate_per_s",
        "chunked_prefill", "max_num_batched_tokens", "scheduler_steps", "max_concurrency",
    }
)  # fmt: skip
"""Columns that only a server with a scheduler has: `batch` beside them is its limit."""

_OWN_TABLE = 20
"""Names of ours from which on a table is one that this library wrote."""


def understood(file: OpenedFile, table: CellTable) -> Understood:
    """Return what the columns of a table say of runs.

    Raises
    ------
    ServingFileError
        Two columns have one name and other values, or numbers are ambiguous.
    """
    found = Understood(notes=list(table.notes))
    meanings = [
        (index, meaning)
        for index, (name, unit) in enumerate(zip(table.names, table.units, strict=True))
        if name and (meaning := meaning_of(name, unit)) is not None
    ]
    work = Work(file, table, meanings, found)
    _check_duplicates(work)
    _settle(work)
    try:
        work.comma = comma_meaning(
            [table.columns[index] for index, one in work.meanings if _is_number(one)],
            table.delimiter,
        )
    except AmbiguousNumberError as error:
        raise ServingFileError(
            file.shown, str(error), "Write numbers with a decimal point and no thousands."
        ) from None
    by_column: dict[str, list[tuple[int, Meaning]]] = {}
    for index, meaning in sorted(work.meanings, key=lambda one: (one[1].rank, one[0])):
        by_column.setdefault(meaning.column, []).append((index, meaning))
    for column, sources in by_column.items():
        if column not in {UNCLEAR_RATE, "?input_len", "?output_len"}:
            _fill(work, column, sources)
    hint_engine(work)
    _unclear_rate(work, by_column.get(UNCLEAR_RATE, []))
    put_workload(work, by_column)
    _unknown(work)
    return found


def _is_number(meaning: Meaning) -> bool:
    if meaning.how not in {"plain", "fraction"}:
        return False
    column = COLUMNS.get(meaning.column)
    return column is None or pa.types.is_floating(column.type) or pa.types.is_integer(column.type)


def _check_duplicates(work: Work) -> None:
    seen: dict[str, int] = {}
    for index, meaning in list(work.meanings):
        name = work.table.names[index]
        if name not in seen:
            seen[name] = index
        elif work.table.columns[index].equals(work.table.columns[seen[name]]):
            work.meanings.remove((index, meaning))
        else:
            raise ServingFileError(
                work.file.shown,
                f"has two columns {name!r} with other values",
                "Give each column a name of its own.",
            )


def _settle(work: Work) -> None:
    """Decide what headers mean that depends on the other headers."""
    columns = {meaning.column for _, meaning in work.meanings}
    names = {work.table.names[index].strip().lower() for index, _ in work.meanings}
    is_ours = len(names & COLUMNS.keys()) >= _OWN_TABLE
    limit = "max_num_seqs" if columns & _SCHEDULED else "static_batch_size"
    if "max_num_seqs" in columns or is_ours:
        limit = "static_batch_size"
    settled: list[tuple[int, Meaning]] = []
    for index, one in work.meanings:
        meaning, name = one, work.table.names[index].strip().lower()
        if meaning.column == BATCH:
            meaning = meaning._replace(column=limit)
        elif name == "mean_running" and "mean_running_in_window" in names:
            meaning = meaning._replace(column="mean_running_whole")
        elif name == "concurrency" and not is_ours and _is_setting(work.table.columns[index]):
            meaning = meaning._replace(column="max_concurrency", rank=1)
        settled.append((index, meaning))
    work.meanings = settled


def _is_setting(column: Any) -> bool:
    """Whether a concurrency is a client's limit: a whole number in every row."""
    values = numbers_of(column).values
    known = values[np.isfinite(values)]
    return bool(known.size and (known == np.round(known)).all())


def _fill(work: Work, column: str, sources: Sequence[tuple[int, Meaning]]) -> None:
    """Set a column from its headers: in each row the first that has a value there."""
    total: Filled | None = None
    for place, (index, meaning) in enumerate(sources):
        values = values_of(work, column, index, meaning)
        if values is None:
            continue
        header = work.table.names[index]
        if total is None:
            total = Filled(values, [header] * len(values), _derived(work, column, header, meaning))
            continue
        if sources[place - 1][1].rank == meaning.rank:
            _compare(work, total.values, values, total.headers[0], header)
        for row, (there, new) in enumerate(zip(total.values, values, strict=True)):
            if there is None and new is not None:
                total.values[row], total.headers[row] = new, header
    if total is None or all(one is None for one in total.values):
        return
    work.found.filled[column] = total
    if column in COLUMNS and not isinstance(next(v for v in total.values if v is not None), str):
        work.numeric[column] = np.array(
            [np.nan if one is None else float(one) for one in total.values]
        )


def _derived(work: Work, column: str, header: str, meaning: Meaning) -> str | None:
    if meaning.remark == "gb_as_gib":
        work.note(
            "gb_as_gib", f"{header!r} is read in units of 2^30 bytes, as vLLM and SGLang write GB."
        )
    elif meaning.remark == "latency_is_e2e":
        work.note(
            "latency_is_e2e",
            f"{header!r} is read as the whole latency of a request: name it itl or tpot where it "
            "is of a token.",
        )
    elif meaning.remark == "step_is_itl":
        return "time of a decode step, which gives each sequence a token"
    if meaning.how == "happened":
        work.note(
            "preemptions_not_counted",
            f"{header!r} says whether there were preemptions, not how many.",
        )
        return "1 where there was any"
    if meaning.how in {"largest", "smallest"}:
        return f"{meaning.how} of the servers"
    if column == "static_batch_size" and header != column:
        return "nothing in the table tells of a scheduler"
    if meaning.factor not in {None, 1.0}:
        return f"{meaning.factor:g} times what stands there"
    return None


def _compare(work: Work, one: list[Any], other: list[Any], first: str, second: str) -> None:
    for row, (a, b) in enumerate(zip(one, other, strict=True), 1):
        both = a is not None and b is not None
        if both and (a != b if isinstance(a, str) else abs(a - b) > 0.005 * max(abs(a), abs(b))):
            work.note(
                "contradiction",
                f"{first!r} is {a} and {second!r} is {b} in row {row}: the first is used.",
            )
            return


def _unclear_rate(work: Work, sources: Sequence[tuple[int, Meaning]]) -> None:
    for index, meaning in sources:
        header = work.table.names[index]
        numbers = numbers_of(work.table.columns[index], work.comma)
        rate = numbers.values * (meaning.factor or 1.0)
        verdict = verdict_of(np.where(rate > 0, rate, np.nan), work.numeric)
        work.note(verdict.key, f"{header!r} {verdict.text}.")
        if verdict.column is not None and verdict.column not in work.found.filled:
            values = plausible(work, verdict.column, index, rate)
            work.found.filled[verdict.column] = Filled(values, [header] * len(values))
            work.numeric[verdict.column] = rate


def _unknown(work: Work) -> None:
    used = {index for index, _ in work.meanings}
    unknown = [
        name
        for index, name in enumerate(work.table.names)
        if name and index not in used and name.strip().lower() != "run"
    ]
    if unknown:
        shown = ", ".join(unknown[:20]) + (f" and {len(unknown) - 20} more" if unknown[20:] else "")
        work.note("unknown_columns", f"columns that are not used: {shown}.")
    for header, better in work.found.without_unit:
        work.note("unit_missing", f"{header!r} has no unit, and is not used: name it {better!r}.")
