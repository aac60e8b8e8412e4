"""What must hold, whatever the bytes: one target for each promise.

A target may let only `Finding` out, for a promise that was broken, or whatever the package raised
that it should not have. A typed error about a damaged file is an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from fuzz import cells, reading, structure, writing
from fuzz.seeds import csv_texts, measured_reports, random_bytes, reports
from nsightlens.ncurep.scanner import compiled_scanner

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["TARGETS", "Target"]


class Mutate(Protocol):
    """Changes an input; see `fuzz.structure.mutated`."""

    def __call__(
        self,
        data: bytes,
        chance: random.Random,
        most_bytes: int,
        change: Callable[[bytes], bytes],
        /,
    ) -> bytes: ...


class Cross(Protocol):
    """Puts something of one input into another; see `fuzz.structure.crossed`."""

    def __call__(
        self, data: bytes, other: bytes, chance: random.Random, most_bytes: int, /
    ) -> bytes: ...


class Target(NamedTuple):
    """One promise, and how one searches for what breaks it.

    Parameters
    ----------
    check
        Raises where the promise is broken.
    seeds
        What the search begins with.
    most_bytes
        [byte] Length of the longest input.
    share
        How much of the time it gets, beside the others.
    mutate, cross
        How inputs are changed; None leaves it to libFuzzer.
    """

    check: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    most_bytes: int
    share: int
    mutate: Mutate | None = structure.mutated
    cross: Cross | None = structure.crossed


TARGETS: dict[str, Target] = {
    "reader": Target(reading.check_reader, reports, most_bytes=8 << 10, share=3),
    "tables": Target(reading.check_tables, measured_reports, most_bytes=32 << 10, share=3),
    "csv": Target(reading.check_csv, csv_texts, 16 << 10, 2, mutate=cells.mutated, cross=None),
    "round-trip": Target(writing.check_round_trip, reports, most_bytes=8 << 10, share=2),
    "slice": Target(writing.check_slice, reports, most_bytes=8 << 10, share=1),
    "redact": Target(writing.check_redact, reports, most_bytes=8 << 10, share=1),
    "writer": Target(writing.check_writer, random_bytes, 4 << 10, 1, mutate=None, cross=None),
}
if compiled_scanner() is not None:
    TARGETS["twins"] = Target(reading.check_twins, reports, most_bytes=16 << 10, share=3)
