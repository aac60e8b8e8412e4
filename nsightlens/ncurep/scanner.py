"""Which scanner reads the results, what it is asked for, and what it gives.

Two scanners read the same into the same tables: the compiled one (`nsightlens.ncurep.compiled`),
where the installation has it, and the pure-Python one (`scan_pure`).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from nsightlens.errors import ScannerError
from nsightlens.metric_store import MetricStore, concat_stores
from nsightlens.ncurep.columns import (
    instances_of,
    launches_of,
    nvtx_of,
    rules_of,
    store_parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from mmap import mmap
    from types import ModuleType

    from nsightlens.errors import ReportFormatError
    from nsightlens.metric_store import StorePart
    from nsightlens.ncurep.container import Container, Entry

__all__ = [
    "ScanJob",
    "Scanned",
    "ScannerName",
    "compiled_scanner",
    "concat_scanned",
    "scan_entries",
    "scan_pure",
    "scanner_name",
    "wanted_instances",
]

ScannerName: TypeAlias = Literal["c", "python"]

_VARIABLE = "NSIGHTLENS_SCANNER"


def compiled_scanner(asked: str | None = None) -> ModuleType | None:
    """Return the compiled scanner, None where the pure-Python one is to be used.

    Parameters
    ----------
    asked
        "c" or "python"; None to ask the environment variable NSIGHTLENS_SCANNER, and without
        it to take the compiled one where there is one.

    Raises
    ------
    ScannerError
        "c" was asked for and this installation has none, or something else was asked for.
    """
    asked = asked or os.environ.get(_VARIABLE) or None
    if asked == "python":
        return None
    if asked not in (None, "c"):
        raise ScannerError(f"there is no scanner {asked!r}: {_VARIABLE} is 'c' or 'python'.")
    try:
        return import_module("nsightlens.ncurep._scanner")
    except ImportError as error:
        if asked == "c":
            raise ScannerError(
                f"this installation has no compiled scanner ({error}). Install a wheel for this "
                f"platform, or a C compiler and nsightlens again, or unset {_VARIABLE}."
            ) from error
        return None


def scanner_name() -> str:
    """Return, for people, which scanner reads reports in this process."""
    if compiled_scanner() is not None:
        return "compiled"
    if os.environ.get(_VARIABLE) == "python":
        return f"pure Python ({_VARIABLE}=python)"
    return "pure Python (this installation has no compiled scanner)"


class ScanJob(NamedTuple):
    """What to read of an indexed file; see `nsightlens.ncurep.read.read_columns`.

    ``instances`` is what `wanted_instances` returns.
    """

    buffer: mmap
    path: str
    container: Container
    instances: Sequence[bool] | None
    metrics: Callable[[str], bool] | None
    has_side_tables: bool
    progress: Callable[[int, int], None] | None

    def tick(self, done: int) -> None:
        """Tell how many results are done."""
        if self.progress is not None:
            self.progress(done, len(self.container.index))


class Scanned(NamedTuple):
    """What was read, up to the damage if there is any: tables of `nsightlens.ncurep.columns`."""

    launches: pa.Table
    rules: pa.Table
    nvtx: pa.Table
    instances: pa.Table
    store: MetricStore
    damage: ReportFormatError | None


def wanted_instances(
    strings: list[str], instances: bool | Callable[[str], bool] | None
) -> list[bool] | None:
    """Return, by name id, whether the instances of a metric are to be read; None for none.

    Asked before anything is read: what a function of the caller raises is not taken for damage.
    """
    if not instances:
        return None
    if callable(instances):
        return [bool(instances(name)) for name in strings]
    return [True] * len(strings)


def scan_pure(job: ScanJob) -> Scanned:
    """Read all results with the pure-Python scanner."""
    container = job.container
    scanned = scan_entries(job, container.index, 0, job.tick)
    job.tick(len(container.index))
    return scanned


def scan_entries(
    job: ScanJob,
    entries: Iterable[Entry],
    first: int,
    tick: Callable[[int], None] | None = None,
) -> Scanned:
    """Read consecutive results, of which the first is launch ``first`` of the file."""
    container = job.container
    # Imported here: nearly every report is sound, and the compiled scanner reads it.
    from nsightlens.ncurep.pure import ResultReader  # noqa: PLC0415

    reader = ResultReader(
        job.buffer, job.path, container, job.instances, has_side_tables=job.has_side_tables
    )
    damage = reader.read_all(entries, tick)
    results, strings = reader.results, container.strings
    numbered = list(enumerate(results, first)) if job.has_side_tables else []
    numbers = container.index.processes
    parts: tuple[StorePart, ...] = store_parts_of(
        reader.scalars, len(results), strings, job.metrics
    )
    return Scanned(
        launches_of(results, [numbers[r.process] if r.process else None for r in results]),
        rules_of(numbered),
        nvtx_of(numbered),
        instances_of(reader.instances, reader.scalars, strings, first),
        MetricStore(parts),
        damage,
    )


def concat_scanned(pieces: list[Scanned]) -> Scanned:
    """Join what was read of consecutive results."""
    return Scanned(
        launches=pa.concat_tables([piece.launches for piece in pieces]),
        rules=pa.concat_tables([piece.rules for piece in pieces]),
        nvtx=pa.concat_tables([piece.nvtx for piece in pieces]),
        instances=pa.concat_tables([piece.instances for piece in pieces]),
        store=concat_stores([piece.store for piece in pieces]),
        damage=next((piece.damage for piece in pieces if piece.damage is not None), None),
    )
