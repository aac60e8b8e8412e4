"""One run of a serving benchmark while it is put together: values, where each came from, notes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from nsightlens.serving.part import LARGEST, Note
from nsightlens.tables import SERVING_RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nsightlens.serving.part import Part

__all__ = ["COLUMNS", "SETTINGS", "Origin", "Run"]

COLUMNS = {column.name: column for column in SERVING_RUNS}

SETTINGS = frozenset(
    name
    for name in COLUMNS
    if name
    in {
        "model", "engine", "engine_version", "device_name", "gpu_count", "tensor_parallel_size",
        "dtype", "quantization", "kv_cache_dtype", "max_num_seqs", "max_num_batched_tokens",
        "max_model_len", "block_size", "gpu_memory_utilization", "chunked_prefill",
        "prefix_caching", "speculative", "scheduler_steps", "mixture_of_experts", "kv_pool_gib",
        "kv_block_count", "kv_pool_tokens", "total_memory_gib", "weights_gib", "peak_torch_gib",
        "non_torch_gib", "cuda_graph_gib",
    }
)  # fmt: skip
"""Columns that a server has, whatever was run on it: one log may give them to many runs."""

_NAMES = frozenset({"model", "engine", "engine_version", "device_name", "workload"})
_PERCENT = frozenset(name for name, column in COLUMNS.items() if column.unit == "%")
_MAY_BE_INFINITE = frozenset({"request_rate_per_s"})
_TOLERANCE = 0.005
SHORTEST_STEP_MS = 0.1
"""[ms] A launch of an empty kernel takes some us, and a step has hundreds of kernels."""
_STEP_TIMES = ("_itl_ms", "_tpot_ms")
MOST_PERCENT = 100.5
"""[%] A share may be a little more than all, by rounding."""


class Origin(NamedTuple):
    """Where a value came from; the fields of ``serving_origins`` after run and column."""

    path: str
    where: str
    format: str
    derived: str | None


@dataclass
class Run:
    """Values of one run, by column, each with its origin; the first that comes is kept."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    is_limit_shared: bool = False
    """Whether ``max_num_seqs`` is of a server that other runs share."""

    def take(
        self, part: Part, columns: frozenset[str] | None = None, *, hints: bool = False
    ) -> None:
        """Take from a part what is not there yet.

        Parameters
        ----------
        part
            Of the run.
        columns
            Only these; None for all.
        hints
            Take the part's hints (keys that begin with ``"?"``) instead of its values.
        """
        for key, value in part.values.items():
            is_hint = key.startswith("?")
            name = key.removeprefix("?")
            if is_hint != hints or (columns is not None and name not in columns):
                continue
            origin = Origin(
                part.path, part.wheres.get(key, part.where), part.format, part.derived.get(key)
            )
            self.put(name, value, origin)

    def put(self, name: str, value: Any, origin: Origin) -> None:
        """Set a value that is not there yet; say so where it contradicts the one that is."""
        value = self._checked(name, value, origin)
        if value is None:
            return
        if name not in self.values:
            self.values[name] = value
            self.origins[name] = origin
        elif name in SETTINGS and not _agree(name, self.values[name], value):
            there = self.origins[name]
            self.note(
                "contradiction",
                f"{name} is {self.values[name]} in {_place(there)} and {value} in "
                f"{_place(origin)}: the first is used.",
            )

    def note(self, key: str, text: str) -> None:
        """Add a note once."""
        note = Note(key, text)
        if note not in self.notes:
            self.notes.append(note)

    def notes_of(self, parts: Iterable[Part]) -> None:
        """Add the notes of parts."""
        for part in parts:
            for note in part.notes:
                self.note(note.key, note.text)

    def _checked(self, name: str, value: Any, origin: Origin) -> Any:
        """Return the value as its column has it; None, with a note, where it cannot be."""
        kind = COLUMNS[name].type
        if value is None:
            return None
        if pa.types.is_boolean(kind):
            return bool(value) if isinstance(value, (bool, int)) else None
        if not pa.types.is_floating(kind) and not pa.types.is_integer(kind):
            return str(value).strip() or None
        number = _number(value)
        problem = _problem(name, number)
        if problem:
            shown = repr(value)[:40]
            self.note("implausible", f"{name} {problem} ({shown}) in {_place(origin)}: left out.")
            return None
        return round(number) if pa.types.is_integer(kind) else number


def _number(value: Any) -> float:
    """Return a value as a number; NaN where it is none."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _problem(name: str, number: float) -> str | None:
    """Return why a number cannot be what its column holds; None where it can."""
    if math.isnan(number):
        return "is no number"
    if math.isinf(number):
        return None if name in _MAY_BE_INFINITE and number > 0 else "is infinite"
    if number < 0:
        return "is negative"
    if name.endswith(_STEP_TIMES) and number < SHORTEST_STEP_MS:
        return f"is shorter than any step of a model: {number:.3g} ms"
    if name in _PERCENT and number > MOST_PERCENT:
        return f"is more than {MOST_PERCENT} %"
    return "is too large to be true" if number > LARGEST else None


def _place(origin: Origin) -> str:
    return f"{origin.path}, {origin.where}" if origin.where else origin.path


def _agree(name: str, one: Any, other: Any) -> bool:
    if name in _NAMES or isinstance(one, str):
        return str(one).lower() == str(other).lower()
    if isinstance(one, bool) or isinstance(other, bool):
        return bool(one) == bool(other)
    return bool(abs(one - other) <= _TOLERANCE * max(abs(one), abs(other)))
