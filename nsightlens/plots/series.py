"""Points in series: those of a family or kernel, from the smallest batch size to the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.plots import words
from nsightlens.plots.points import time_of
from nsightlens.plots.theme import Look, family_look, other_markers

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Series", "hidden_note", "in_series"]

_NAMES = ("family", "subtype", "kernel", "phase")


class Series(NamedTuple):
    """The points of a family or kernel.

    Parameters
    ----------
    name
        What to call it.
    look
        Colour and marker of its family.
    rows
        Rows of the table of points, by batch size; one without comes first.
    """

    name: str
    look: Look
    rows: NDArray[np.intp]


def in_series(points: pa.Table) -> list[Series]:
    """Return the series of a table of points, the one with the most time first.

    Parameters
    ----------
    points
        With family, subtype, kernel, phase, batch_size and duration_ns.
    """
    rows: dict[tuple[str | None, ...], list[int]] = {}
    keys = zip(*(points[name].to_pylist() for name in _NAMES), strict=True)
    for i, key in enumerate(keys):
        rows.setdefault(key, []).append(i)
    batch = points["batch_size"].to_pylist()
    duration_ns = time_of(points)
    order = sorted(rows, key=lambda key: -duration_ns[rows[key]].sum())
    names = words.group_names([(key[0], key[1], key[2], key[3]) for key in order])
    looks = _looks(order)
    return [
        Series(name, look, np.array(_by_batch(rows[key], batch)))
        for key, name, look in zip(order, names, looks, strict=True)
    ]


def _looks(keys: list[tuple[str | None, ...]]) -> list[Look]:
    """Return the look of each series: the colour of its family, and a marker that tells it apart.

    Kernels of one family share its marker: they are told apart by number.
    """
    met: dict[str | None, int] = {}
    found = []
    for family, _, kernel, _ in keys:
        look = family_look(family)
        nth = met[family] = met.get(family, -1) + 1
        found.append(look if kernel is not None else look._replace(marker=other_markers(look)[nth]))
    return found


def _by_batch(rows: list[int], batch: list[int | None]) -> list[int]:
    return sorted(rows, key=lambda i: (batch[i] is not None, batch[i] or 0))


def hidden_note(points: pa.Table, hidden: list[Series]) -> str:
    """Say how many series are not shown, and how much time they have; "" for none."""
    if not hidden:
        return ""
    duration_ns = time_of(points)
    total = duration_ns.sum()
    share = 100 * sum(duration_ns[one.rows].sum() for one in hidden) / total if total else 0.0
    is_by_kernel = points["kernel"].null_count < points.num_rows
    noun = ("kernel", "kernels") if is_by_kernel else ("family", "families")
    count = words.counted(len(hidden), *noun)
    return f"Not shown: {count} with {words.significant(float(share))} % of the time."
