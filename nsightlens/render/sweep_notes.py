"""What a reader of a sweep has to know besides its numbers, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render.facts import notes
from nsightlens.render.grid import indented
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.render.facts import ReportFacts
    from nsightlens.render.style import Style
    from nsightlens.render.sweep_sections import Section
    from nsightlens.render.sweep_series import Series
    from nsightlens.sweeps import Sweep

__all__ = ["NO_BATCH_SIZE", "note_lines", "notes_of"]

NO_BATCH_SIZE = (
    "no launch says its batch size, so that there is one row per family. Say it with --batch-size "
    "N, or with --batch-from and a regular expression such as 'bs(?P<batch_size>[0-9]+)' for the "
    "NVTX ranges, the name of the report or the command line."
)


def notes_of(
    sweep: Sweep, sections: Sequence[Section], facts: Sequence[ReportFacts] = ()
) -> list[str]:
    """Return the notes of a sweep: what is beyond what its shapes need, then its own."""
    found = []
    if sweep.rows.num_rows and all(batch is None for batch in sweep.rows["batch_size"].to_pylist()):
        found.append(NO_BATCH_SIZE)
    found += [
        f"{one.title} {_where(one, [b for b, _ in beyond])}: {beyond[-1][1]}."
        for section in sections
        for one in (*section.main, *section.others)
        if (beyond := _beyond(one))
    ]
    names = ("failed_launch_count", "clock_dependent")
    of_rows = notes({name: sweep.rows[name].to_pylist() for name in names}, facts)
    return [*found, *sweep.notes, *sweep.warnings, *of_rows]


def _beyond(series: Series) -> list[tuple[int | None, str]]:
    return [
        (batch, row["expectation_reason"].rstrip("."))
        for batch, row in series.rows.items()
        if row["expectation"] == "beyond" and row["expectation_reason"]
    ]


def _where(series: Series, batches: Sequence[int | None]) -> str:
    if len(series.rows) == 1:
        return "" if batches[0] is None else f"at batch {batches[0]}"
    if len(batches) == len(series.rows):
        return f"at every batch size; at batch {batches[-1]}"
    if len(batches) == 1:
        return f"at batch {batches[0]}"
    return f"at {len(batches)} of {len(series.rows)} batch sizes; at batch {batches[-1]}"


def note_lines(notes: Iterable[str], style: Style) -> list[str]:
    """Return notes as lines."""
    return [line for note in notes for line in indented(plain(note), style, 6, "note: ")]
