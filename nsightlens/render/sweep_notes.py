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

__all__ = ["note_lines", "notes_of"]


def notes_of(
    sweep: Sweep, sections: Sequence[Section], facts: Sequence[ReportFacts] = ()
) -> list[str]:
    """Return the notes of a sweep: what is beyond what its shapes need, then its own."""
    beyond = [
        f"{one.title}{_where(one, [batch for batch, _ in found])}: {found[-1][1]}."
        for section in sections
        for one in (*section.main, *section.others)
        if (found := _beyond(one))
    ]
    # Failed launches are among the sweep's own notes.
    rows = {"failed_launch_count": [], "clock_dependent": sweep.rows["clock_dependent"].to_pylist()}
    return [*beyond, *sweep.notes, *sweep.warnings, *notes(rows, facts)]


def _beyond(series: Series) -> list[tuple[int | None, str]]:
    return [
        (batch, row["expectation_reason"].rstrip("."))
        for batch, row in series.rows.items()
        if row["expectation"] == "beyond" and row["expectation_reason"]
    ]


def _where(series: Series, batches: Sequence[int | None]) -> str:
    last = batches[-1]
    if last is None:
        return ""
    if len(batches) == 1:
        return f" at batch {last}"
    if len(batches) == len(series.rows):
        return f" at every batch size; at batch {last}"
    return f" at {len(batches)} of {len(series.rows)} batch sizes; at batch {last}"


def note_lines(notes: Iterable[str], style: Style) -> list[str]:
    """Return notes as lines."""
    return [line for note in notes for line in indented(plain(note), style, 6, "note: ")]
