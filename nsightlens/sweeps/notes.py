"""What a reader of a sweep has to know beside its tables, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.devices.columns import number_column, text_column
from nsightlens.steps import notes_of as step_notes_of
from nsightlens.sweeps.mixture import mixture_notes
from nsightlens.sweeps.origins import origin_notes
from nsightlens.sweeps.sessions import session_notes
from nsightlens.sweeps.trends import flip_notes
from nsightlens.sweeps.verdict_whole import unlike_notes

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.sweeps.part import SweepPart

__all__ = ["notes_of"]


def notes_of(part: SweepPart, rows: pa.Table, selection: str = "") -> list[str]:
    """Return what to know of a sweep.

    Parameters
    ----------
    part
        Its sums.
    rows
        Its rows.
    selection
        Filters that launches had to pass; empty for all launches.
    """
    steps = [text[:1].upper() + text[1:] for text in step_notes_of(part.step_counts)]
    return [
        *_scope_notes(part, selection),
        *steps,
        *_launch_notes(part, rows),
        *unlike_notes(rows),
        *mixture_notes(part),
        *session_notes(part.sessions),
        *origin_notes(part.origins),
        *flip_notes(rows),
    ]


def _scope_notes(part: SweepPart, selection: str) -> list[str]:
    """Say what was left out before anything was added up."""
    found = []
    if selection:
        found.append(
            f"Shares of time are of the launches that pass the filters ({selection}), not of steps."
        )
    if part.is_salvaged:
        found.append("A report was salvaged: its last step may not be whole.")
    return found


def _launch_notes(part: SweepPart, rows: pa.Table) -> list[str]:
    launches = number_column(rows, "launch_count")
    phase, phases = text_column(rows, "phase")
    has_no_phase = np.array([text is None for text in phases])[phase]
    found = [
        (
            number_column(rows, "failed_launch_count").sum(),
            "Left out of sums: {}, which failed to be collected.",
        ),
        (
            part.tally.sums.added["undated_count"].sum(),
            "Left out of sums: {}, which have no duration.",
        ),
        (
            launches[has_no_phase].sum(),
            "No phase is known of {}: neither a range nor a kernel name says it.",
        ),
    ]
    total = int(launches.sum())
    return [text.format(f"{int(count)} of {total} launches") for count, text in found if count]
