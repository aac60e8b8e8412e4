"""Labels along the batch size: one block of lines per family, one column per batch size.

The picture that shows whether a family stays on one side of the ridge or crosses it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.columns import family_words
from nsightlens.render.grid import GridColumn, arrange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nsightlens.render.style import Style

__all__ = ["sweep_lines"]

Row = dict[str, Any]
Name = tuple[str, str, str]
"""Family, subtype and phase."""

_LINES: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("bound", lambda row: row["bound"] or "unknown"),
    (
        "FLOP per DRAM byte",
        lambda row: numbers.significant(row["arithmetic_intensity_flop_per_byte"]),
    ),
    ("DRAM %", lambda row: numbers.percent(row["dram_throughput_pct"])),
)


def sweep_lines(
    rows: Mapping[str, Sequence[Any]], style: Style, families: Sequence[str] | None = None
) -> list[str]:
    """Return the labels of each family along the batch size.

    Parameters
    ----------
    rows
        Columns of a table of labels made with ``by="family"``.
    style
        What the output can show.
    families
        The families to show, in order; ``None`` for all, in the order of the table.

    Returns
    -------
    list of str
        Lines; none where no family was seen at two batch sizes.
    """
    groups = {name: of for name, of in _groups(rows).items() if len(of) > 1}
    names = list(groups)
    if families is not None:
        names = [name for family in families for name in groups if name[0] == family]
    batches = sorted({batch for name in names for batch in groups[name]})
    if not names:
        return []
    layout = arrange(_columns(groups, names, batches), style.width)
    lines = layout.header(style)
    for i in range(len(names) * len(_LINES)):
        if i and i % len(_LINES) == 0:
            lines.append("")
        lines.append(layout.row(i, style))
    return lines


def _columns(
    groups: Mapping[Name, Mapping[int, Row]], names: Sequence[Name], batches: Sequence[int]
) -> list[GridColumn]:
    titles = [_title(name) if i == 0 else "" for name in names for i in range(len(_LINES))]
    labels = [label for _ in names for label, _ in _LINES]
    grid = [GridColumn("family", titles, 1000), GridColumn("batch size", labels, 1000)]
    for i, batch in enumerate(batches):
        of_batch = [groups[name].get(batch) for name in names]
        grid.append(
            GridColumn(
                header=str(batch),
                cells=[_cell(cell, row) for row in of_batch for _, cell in _LINES],
                # Both ends of the sweep say most; the middle goes first where a line is short.
                importance=500 - min(i, len(batches) - 1 - i),
                align="right",
                styles=[
                    row["bound"] if row is not None and label == "bound" else None
                    for row in of_batch
                    for label, _ in _LINES
                ],
            )
        )
    return grid


def _cell(cell: Callable[[Row], str], row: Row | None) -> str:
    return numbers.MISSING if row is None else cell(row)


def _groups(rows: Mapping[str, Sequence[Any]]) -> dict[Name, dict[int, Row]]:
    found: dict[Name, dict[int, Row]] = defaultdict(dict)
    count = len(rows["key"])
    for i in range(count):
        row = {name: values[i] for name, values in rows.items()}
        if row["batch_size"] is not None:
            name = (row["family"] or "other", row["subtype"] or "", row["phase"] or "")
            found[name][row["batch_size"]] = row
    return found


def _title(name: Name) -> str:
    family, subtype, _ = name
    return family_words(family, subtype)


def sweep_findings(
    rows: Mapping[str, Sequence[Any]], families: Sequence[str] | None = None
) -> list[str]:
    """Return a sentence per family that says what the batch size does to it.

    Parameters
    ----------
    rows, families
        As for `sweep_lines`.
    """
    groups = {name: of for name, of in _groups(rows).items() if len(of) > 1}
    names = list(groups)
    if families is not None:
        names = [name for family in families for name in groups if name[0] == family]
    return [_finding(_title(name), groups[name]) for name in names]


def _finding(title: str, of_batch: Mapping[int, Row]) -> str:
    batches = sorted(of_batch)
    bounds = [of_batch[batch]["bound"] or "unknown" for batch in batches]
    intensity = _intensity_words([of_batch[batch] for batch in batches])
    if len(set(bounds)) == 1:
        return f"{title} is {_bound_words(bounds[0])} at every batch size{intensity}."
    runs = [
        f"{_bound_words(bound)} {_range_words(batches, bounds, i)}"
        for i, bound in enumerate(bounds)
        if i == 0 or bounds[i - 1] != bound
    ]
    return f"{title} is {', '.join(runs)}{intensity}."


def _bound_words(bound: str) -> str:
    return "unknown" if bound == "unknown" else f"{bound}-bound"


def _range_words(batches: Sequence[int], bounds: Sequence[str], begin: int) -> str:
    """Say at which batch sizes a run of equal bounds lies that begins at ``begin``."""
    end = begin
    while end + 1 < len(bounds) and bounds[end + 1] == bounds[begin]:
        end += 1
    if end == len(bounds) - 1:
        return f"from batch {batches[begin]}" if begin < end else f"at batch {batches[end]}"
    return (
        f"up to batch {batches[end]}"
        if begin == 0
        else f"at batch {batches[begin]} to {batches[end]}"
    )


def _intensity_words(rows: Sequence[Row]) -> str:
    values = [row["arithmetic_intensity_flop_per_byte"] for row in rows]
    known = [value for value in values if not numbers.is_missing(value)]
    if len(known) < 2:
        return ""
    low, high = numbers.significant(min(known)), numbers.significant(max(known))
    if max(known) < 1.5 * min(known):
        return f": its intensity stays at {low} to {high} FLOP/B"
    return f": its intensity grows from {low} to {high} FLOP/B"
