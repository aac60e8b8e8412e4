"""A sweep as Markdown: the verdict, every row and every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn
from nsightlens.render.markdown import escaped, markdown_table
from nsightlens.render.sweep_sections import sections_of
from nsightlens.render.sweep_series import NOT_FITTING, batch_cells, has_not_fitting
from nsightlens.render.sweep_steps import step_columns
from nsightlens.render.sweep_table import column_cells, telling_columns
from nsightlens.render.sweep_text import SweepView, heading_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.render.sweep_sections import Section
    from nsightlens.render.sweep_series import Row
    from nsightlens.render.sweep_table import SweepColumn
    from nsightlens.sweeps import Sweep

__all__ = ["sweep_markdown"]


def sweep_markdown(
    sweep: Sweep, *, heading: Sequence[str] = (), facts: Sequence[tuple[str, str]] = ()
) -> str:
    """Return what it is of, the verdict as a paragraph, a table of rows and one of steps.

    Parameters
    ----------
    sweep
        A result of `nsightlens.sweep` or `nsightlens.predict`.
    heading
        What else stands in the heading, such as the name of a model.
    facts
        What holds at every batch size, each as a word and what is said of it.
    """
    parts = [f"**{escaped(' · '.join(heading_parts(SweepView(sweep, heading=heading))))}**\n"]
    if facts:
        parts.append("".join(f"- {escaped(word)}: {escaped(text)}\n" for word, text in facts))
    parts.append(f"{escaped(sweep.verdict.paragraph)}\n")
    sections = sections_of(sweep)
    for section in sections:
        if len(sections) > 1:
            parts.append(f"**{escaped(_title(section))}**\n")
        parts.append(_families(section))
        if section.steps:
            parts.append(_table(section.steps, step_columns(section.steps)))
    if has_not_fitting(sweep.steps.to_pylist()):
        parts.append(f"{escaped(' '.join(NOT_FITTING))}\n")
    parts += [f"- {escaped(note)}\n" for note in sweep.notes]
    return "\n".join(parts)


def _title(section: Section) -> str:
    phase = section.phase or "phase not known"
    return f"{phase} on {section.device}" if section.device != numbers.MISSING else phase


def _families(section: Section) -> str:
    series = [*section.main, *section.others]
    rows = [row for one in series for row in one.rows.values()]
    titles = [one.title for one in series for _ in one.rows]
    return markdown_table(
        [
            GridColumn("family", titles),
            GridColumn("batch", batch_cells(rows), align="right"),
            *_columns(rows, telling_columns(series)),
        ]
    )


def _table(rows: Sequence[Row], columns: Iterable[SweepColumn]) -> str:
    return markdown_table(_columns(rows, columns))


def _columns(rows: Sequence[Row], columns: Iterable[SweepColumn]) -> list[GridColumn]:
    return [
        GridColumn(column.header, column_cells(column, rows), 0, column.align) for column in columns
    ]
