"""What of a sweep belongs together: the steps of one phase on one GPU, and which families count.

Attention and the GEMMs get a line per batch size, everything else a line of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render.columns import gpu_words
from nsightlens.render.sweep_series import Series, series_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nsightlens.render.sweep_series import Row
    from nsightlens.sweeps import Sweep

__all__ = ["Section", "sections_of"]

_PHASES = ("decode", "mixed", "prefill", "capture")
_COMPONENTS = ("attention", "matmul")
_SHOWN = 2
"""Series of a component with a line per batch size: their time, not their number, is the point."""
_WORTH_PCT = 10.0
"""[%] Of the time of its component that a second series has to have for it."""


class Section(NamedTuple):
    """The steps of one phase on one GPU.

    Parameters
    ----------
    device, phase
        "" where nothing says so.
    main
        Attention, then the GEMMs, or what takes the time where there is neither: the series that
        are shown at each batch size.
    others
        All other series, and the launches of the main ones whose batch size is not known.
    steps
        Rows of the table of steps with a batch size, ascending.
    trends
        Row of the table of trends for each of ``main``; ``None`` where there is none.
    """

    device: str
    phase: str
    main: list[Series]
    others: list[Series]
    steps: list[Row]
    trends: list[Row | None]


def sections_of(sweep: Sweep) -> list[Section]:
    """Return the parts of a sweep: decode first, the GPU with the most time first."""
    places = _split(sweep.rows.to_pylist())
    steps = _split(sweep.steps.to_pylist())
    trends = _split(sweep.trends.to_pylist())
    time = {place: sum(r["duration_ns"] or 0.0 for r in rows) for place, rows in places.items()}
    order = sorted(places, key=lambda place: (_rank(place[1]), -time[place], place))
    return [
        _section(place, sweep.by, places[place], steps.get(place, []), trends.get(place, []))
        for place in order
    ]


def _split(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((gpu_words(row["device_name"]), row["phase"] or ""), []).append(row)
    return found


def _rank(phase: str) -> int:
    return _PHASES.index(phase) if phase in _PHASES else len(_PHASES)


def _section(
    place: tuple[str, str],
    by: str,
    rows: Sequence[Row],
    steps: Sequence[Row],
    trends: Sequence[Row],
) -> Section:
    every = series_of(_columns(rows), by=by, least=0)
    main = [one for component in _COMPONENTS for one in _main(every, component)]
    if not main:
        main = [one for one in every if len(one.batches) > 1][:_SHOWN]
    without_batch = [Series(one.title, {None: one.rows[None]}) for one in main if None in one.rows]
    others = [one for one in every if one not in main]
    return Section(
        *place,
        main=[Series(one.title, {b: one.rows[b] for b in one.batches}) for one in main],
        others=[*others, *without_batch],
        steps=sorted(
            (step for step in steps if step["batch_size"] is not None),
            key=lambda step: int(step["batch_size"]),
        ),
        trends=[_trend(one, trends, by) for one in main],
    )


def _columns(rows: Sequence[Row]) -> Mapping[str, Sequence[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {"batch_size": []}


def _main(series: Sequence[Series], component: str) -> list[Series]:
    """Return the series of a component that take its time, the most first."""
    of = [one for one in series if one.first["component"] == component and one.batches]
    total = sum(one.duration_ns for one in of)
    worth = [one for one in of if 100 * one.duration_ns >= _WORTH_PCT * total]
    return (worth or of)[:_SHOWN]


def _trend(series: Series, trends: Sequence[Row], by: str) -> Row | None:
    names = ("family", "subtype", "kernel") if by == "kernel" else ("family", "subtype")
    key = [series.first[name] for name in names]
    return next((row for row in trends if [row[name] for name in names] == key), None)
