"""What one place of one file says of one serving run: the words between readers and folders.

A reader of a format turns a file into `Part`s and knows nothing of other files. `assembly` puts the
parts of one run together. Everything is in the units of the columns of ``serving_runs`` already:
a reader converts, once, where it knows what the file means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from nsightlens.serving.opened import OpenedFile

__all__ = [
    "ITL_OVER_TPOT", "LARGEST", "SAMPLE_NAMES", "Format", "Note", "Part", "PartKind", "Samples",
]  # fmt: skip

LARGEST = 1e15
"""No count, time or rate of a run is larger, or smaller than its inverse, in the units of
``serving_runs``: nanoseconds of eleven days."""

ITL_OVER_TPOT = (0.8, 1.25)
"""Mean ITL over mean TPOT outside of this: gaps are not between tokens. It is 0.90 to 1.01 in the
paper's runs, whose requests differ in length by factors of hundreds."""

PartKind = Literal["result", "server", "samples", "gpu"]
"""result: one run of a benchmark. server: settings, memory and log of a server. samples: metrics of
a server over time. gpu: telemetry of the GPU over time."""

SAMPLE_NAMES = (
    "running", "waiting", "kv_usage_pct", "preemption_total", "output_token_total",
    "prompt_token_total", "output_tok_per_s", "prefix_hit_pct",
    "sm_clock_mhz", "memory_clock_mhz", "gpu_utilization_pct", "memory_used_mib", "power_w",
    "temperature_c", "dram_active_pct", "clock_limited",
)  # fmt: skip
"""Columns that samples may have. ``*_total`` are cumulative; ``clock_limited`` is 0 or 1."""


class Note(NamedTuple):
    """Something a person must know of a part: a key for programs, and a sentence."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Samples:
    """Values over time.

    Parameters
    ----------
    time_s
        [s] When each sample was taken, not falling. NaN-free.
    columns
        Of `SAMPLE_NAMES` to float64 arrays of the same length; NaN where a sample has no value.
    begins_with_run
        True where time 0 is the begin of the benchmark, False where times are of a clock.
    """

    time_s: NDArray[Any]
    columns: Mapping[str, NDArray[Any]]
    begins_with_run: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """What one place of a file says of one run.

    Parameters
    ----------
    kind
        See `PartKind`.
    path
        The file, as it was given or found.
    format
        Name of the format that read it, such as ``"vllm-bench"``.
    values
        Column of ``serving_runs`` to a value in its unit. What the file does not say is absent;
        None, NaN and a zero that stands for "not measured" must not be in it. Keys that begin
        with ``"?"`` are hints that only fill a gap (``"?max_num_seqs"`` from a file's name).
    where
        Place in the file, such as ``"line 3"`` or ``"benchmarks[2]"``; empty for the whole file.
    wheres
        For single columns, a more exact place than ``where``.
    derived
        For single columns that were computed, how.
    notes
        What a person must know.
    samples
        Values over time, or None.
    run_key
        Parts of one file with equal keys are of one run; "" where the file is of one run.
    """

    kind: PartKind
    path: str
    format: str
    values: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    wheres: Mapping[str, str] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    samples: Samples | None = None
    run_key: str = ""


class Format(NamedTuple):
    """One format of files, and who reads it.

    ``claims`` looks at little and is never wrong on another known format; ``read`` returns at
    least one part or raises `nsightlens.errors.ServingFileError` with what is wrong, or why a
    file that is known is of no use (all requests failed, a summary of other files, a warm-up).
    """

    name: str
    title: str
    claims: Callable[[OpenedFile], bool]
    read: Callable[[OpenedFile], list[Part]]
