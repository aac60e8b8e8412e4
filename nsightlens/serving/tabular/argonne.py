"""Tables of Argonne's LLM-Inference-Bench: static batches, by hardware, framework, model, length.

``Latency`` is of the whole batch in seconds, prompts and all; ``Throughput`` counts prompt and
generated tokens: batch size times both lengths over latency, which every row is checked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.named import engine_name, model_name, workload_of
from nsightlens.serving.part import Format, Note, Part
from nsightlens.serving.tabular.table_cells import texts_of
from nsightlens.serving.tabular.table_layout import names_of
from nsightlens.serving.tabular.table_numbers import numbers_of
from nsightlens.serving.tabular.table_text import CellTable, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.serving.opened import OpenedFile

__all__ = ["FORMATS"]

_FORMAT = "argonne"
_NEEDED = frozenset({"hardware", "framework", "model", "batch size", "throughput"})
_BOTH = ("input output length", "input/output length")
_SINGLE = (("input length", "output length"), ("input tokens", "output tokens"))
_COUNT = ("num of hardware", "number of hardware", "num hardware")
_LATENCY = ("latency", "latency (s)", "latency [s]")
_TOLERANCE = 0.02
MOST_ROWS = 100_000

_PREFILL = Note(
    "tpot_includes_prefill",
    "Argonne's tables have the latency of whole requests only: over the output length it bounds "
    "the time per token from above, and the prefill is in it.",
)


def _keys(file: OpenedFile) -> list[str]:
    return [" ".join(name.lower().split()) for name in names_of(file)]


def _claims(file: OpenedFile) -> bool:
    names = set(_keys(file))
    has_lengths = any(one in names for one in _BOTH) or any(names >= set(two) for two in _SINGLE)
    return names >= _NEEDED and has_lengths


def _read(file: OpenedFile) -> list[Part]:
    table = read_table(file, most_rows=MOST_ROWS)
    names = _keys(file)
    cells = _Cells(table, names)
    parts = []
    skipped = 0
    for row in range(table.row_count):
        values = dict(_values(cells, row))
        if "duration_s" not in values and "total_tok_per_s" not in values:
            skipped += 1
            continue
        parts.append(_part(file, row, values, cells.throughput[row]))
    if not parts:
        raise ServingFileError(
            file.shown, "has no row with a latency or a throughput", "Measure at least one batch."
        )
    notes = list(table.notes)
    if skipped:
        text = f"{file.shown}: rows that are left out, as nothing was measured: {skipped}."
        notes.append(Note("rows_without_values", text))
    used = {*_NEEDED, *_BOTH, *_COUNT, *_LATENCY, *(one for two in _SINGLE for one in two), ""}
    unknown = [name for name, key in zip(table.names, names, strict=True) if key not in used]
    if unknown:
        text = f"{file.shown}: columns that are not used: {', '.join(unknown)[:300]}."
        notes.append(Note("unknown_columns", text))
    parts[0] = _with_notes(parts[0], notes)
    return parts


class _Cells:
    """Columns by what they mean; None where the table lacks one."""

    def __init__(self, table: CellTable, names: list[str]) -> None:
        def at(*wanted: str) -> Any:
            found = [names.index(one) for one in wanted if one in names]
            return table.columns[found[0]] if found else None

        def numbers(*wanted: str) -> list[float]:
            column = at(*wanted)
            if column is None:
                return [math.nan] * table.row_count
            return [float(one) for one in numbers_of(column).values]

        def texts(*wanted: str) -> list[str | None]:
            column = at(*wanted)
            return texts_of(column) if column is not None else [None] * table.row_count

        both = any(one in names for one in _BOTH)
        self.input = numbers(*(_BOTH if both else (one[0] for one in _SINGLE)))
        self.output = self.input if both else numbers(*(one[1] for one in _SINGLE))
        self.batch = numbers("batch size")
        self.latency_s = numbers(*_LATENCY)
        self.throughput = numbers("throughput")
        self.count = numbers(*_COUNT)
        self.hardware = texts("hardware")
        self.framework = texts("framework")
        self.model = texts("model")


def _positive(number: float) -> bool:
    return math.isfinite(number) and number > 0


def _values(cells: _Cells, row: int) -> Iterator[tuple[str, Any]]:
    framework = cells.framework[row]
    yield from (
        (key, value)
        for key, value in (
            ("model", model_name(cells.model[row])),
            ("engine", engine_name(framework) or (framework or "").lower() or None),
            ("device_name", cells.hardware[row]),
            ("workload", workload_of(cells.input[row], cells.output[row])),
        )
        if value is not None
    )
    batch, latency, count = cells.batch[row], cells.latency_s[row], cells.count[row]
    if _positive(count):
        yield "gpu_count", round(count)
    if _positive(batch):
        yield "static_batch_size", round(batch)
        yield "prompt_count", round(batch)
    if _positive(latency):
        yield "duration_s", latency
        yield "mean_e2e_ms", 1e3 * latency
        if _positive(batch):
            yield "requests_per_s", batch / latency
        if _positive(cells.output[row]):
            yield "?mean_tpot_ms", 1e3 * latency / cells.output[row]
    if _positive(cells.input[row]):
        yield "mean_input_tokens", cells.input[row]
    if _positive(cells.output[row]):
        yield "mean_output_tokens", cells.output[row]
    yield from _rates(cells, row)


def _rates(cells: _Cells, row: int) -> Iterator[tuple[str, Any]]:
    rate, inputs, outputs = cells.throughput[row], cells.input[row], cells.output[row]
    if not _positive(rate):
        return
    if not (_positive(cells.latency_s[row]) and _positive(outputs)):
        yield "total_tok_per_s", rate
        return
    expected = cells.batch[row] * (inputs + outputs) / cells.latency_s[row]
    generated = cells.batch[row] * outputs / cells.latency_s[row]
    if _positive(expected) and abs(rate / generated - 1) < _TOLERANCE:
        yield "output_tok_per_s", rate
        yield "total_tok_per_s", expected
    else:
        yield "total_tok_per_s", rate
        if _positive(expected) and abs(rate / expected - 1) < _TOLERANCE:
            yield "output_tok_per_s", generated


def _part(file: OpenedFile, row: int, values: dict[str, Any], rate: float) -> Part:
    place = f"row {row + 1}"
    notes: tuple[Note, ...] = (_PREFILL,) if "?mean_tpot_ms" in values else ()
    if _positive(rate) and "duration_s" in values and "output_tok_per_s" not in values:
        text = (
            f"{file.shown}, {place}: the throughput is not batch size times tokens over latency, "
            "as it is elsewhere: it is used as it stands."
        )
        notes += (Note("throughput_unclear", text),)
    derived = {
        "mean_e2e_ms": "latency of the whole batch",
        "requests_per_s": "batch size over latency",
        "output_tok_per_s": "batch size times output length over latency",
        "?mean_tpot_ms": "latency over output length: with the prefill, an upper bound",
    }
    derived = {key: words for key, words in derived.items() if key in values}
    return Part("result", file.shown, _FORMAT, values, place, {}, derived, notes, None, place)


def _with_notes(part: Part, notes: list[Note]) -> Part:
    return Part(
        part.kind, part.path, part.format, part.values, part.where, part.wheres, part.derived,
        (*part.notes, *notes), part.samples, part.run_key,
    )  # fmt: skip


FORMATS = (Format(_FORMAT, "LLM-Inference-Bench of Argonne", _claims, _read),)
