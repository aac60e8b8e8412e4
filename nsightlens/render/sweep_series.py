"""Families along the batch size, from the rows of a table of labels or of a sweep.

`nsightlens.render.sweep` shows those of ``classify --by family``, `nsightlens.render.sweep_table`
and its neighbours those of ``sweep``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import numbers
from nsightlens.render.columns import family_words, gpu_words
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "BATCHES_SHOWN",
    "NOT_FITTING",
    "Row",
    "Series",
    "batch_cells",
    "has_not_fitting",
    "runs_of",
    "series_of",
    "thinned",
]

Row = dict[str, Any]

BATCHES_SHOWN = 24
"""More lines than that are no picture: they do not stand on a screen together."""


NOT_FITTING = ("*", "does not fit in the memory of the GPU")
"""Sign behind a batch size, and what it says."""


class Series(NamedTuple):
    """One family, or one kernel of it, along the batch size.

    Parameters
    ----------
    title
        Family and subtype, or the kernel, in words; with the GPU where there are several.
    rows
        Row of the table at each batch size, ascending; at ``None``, which stands last, the row of
        the launches whose batch size is not known.
    """

    title: str
    rows: Mapping[int | None, Row]

    @property
    def duration_ns(self) -> float:
        """[ns] Sum over the batch sizes."""
        return sum(row["duration_ns"] or 0.0 for row in self.rows.values())

    @property
    def first(self) -> Row:
        """Return any of the rows: all are of the same family, phase and GPU."""
        return next(iter(self.rows.values()))

    @property
    def batches(self) -> list[int]:
        """Batch sizes that are known, ascending."""
        return [batch for batch in self.rows if batch is not None]

    @property
    def ridge(self) -> str:
        """Ridge point [FLOP/B] in words, "" where the rows have several or none."""
        ridges = {numbers.significant(ridge) for ridge in self.known("ridge_point_flop_per_byte")}
        return ridges.pop() if len(ridges) == 1 else ""

    def known(self, name: str) -> list[float]:
        """Return the numbers of a column that are there."""
        values = [row[name] for row in self.rows.values()]
        return [value for value in values if not numbers.is_missing(value)]


_NAMES = ("device_name", "phase", "family", "subtype")


def series_of(
    rows: Mapping[str, Sequence[Any]], *, by: str = "family", least: int = 2
) -> list[Series]:
    """Return the families, the most time first.

    Parameters
    ----------
    rows
        Columns of a table of labels made with ``by="family"``, or of the rows of a sweep.
    by
        What a row is: ``family`` or ``kernel``.
    least
        Batch sizes at which a family must have been seen; 0 takes rows without a batch size too.
    """
    names = (*_NAMES, "kernel") if by == "kernel" else _NAMES
    found: dict[tuple[str, ...], dict[int | None, Row]] = {}
    for i, batch in enumerate(rows["batch_size"]):
        if batch is None and least > 0:
            continue
        row = {name: values[i] for name, values in rows.items()}
        found.setdefault(_key(row, names), {})[batch] = row
    has_several_gpus = len({key[0] for key in found}) > 1
    series = [
        Series(_title(of, by, with_gpu=has_several_gpus), _ascending(of))
        for of in found.values()
        if len(of) >= least
    ]
    return sorted(series, key=lambda one: -one.duration_ns)


def _key(row: Row, names: Sequence[str]) -> tuple[str, ...]:
    # One driver calls the same GPU A100-PCIE-40GB, a later one NVIDIA A100-PCIE-40GB.
    return (gpu_words(row["device_name"]), *(row[name] or "" for name in names[1:]))


def _title(of: Mapping[int | None, Row], by: str, *, with_gpu: bool) -> str:
    row = next(iter(of.values()))
    words = family_words(row["family"] or "other", row["subtype"])
    if by == "kernel" and row["kernel"]:
        words = plain(row["kernel"])
    return f"{words} on {gpu_words(row['device_name'])}" if with_gpu else words


def _ascending(of: Mapping[int | None, Row]) -> dict[int | None, Row]:
    return dict(sorted(of.items(), key=lambda pair: (pair[0] is None, pair[0] or 0)))


def batch_cells(rows: Sequence[Row | None]) -> list[str]:
    """Return the batch sizes of rows, with a sign behind those that do not fit.

    Parameters
    ----------
    rows
        Of a sweep, families or steps.

    Examples
    --------
    >>> fits = {"batch_size": 8, "fits_in_memory": True}
    >>> batch_cells([fits, {"batch_size": 64, "fits_in_memory": False}])
    ['8 ', '64*']
    >>> batch_cells([fits])
    ['8']
    """
    sign, _ = NOT_FITTING
    other = " " if has_not_fitting(rows) else ""
    found = []
    for row in rows:
        batch = None if row is None else row["batch_size"]
        text = numbers.MISSING if batch is None else str(batch)
        found.append(text + (sign if has_not_fitting([row]) else other))
    return found


def has_not_fitting(rows: Iterable[Row | None]) -> bool:
    """Say whether the batch of some row is known not to fit in memory."""
    return any(row is not None and row.get("fits_in_memory") is False for row in rows)


def thinned(batches: Sequence[int]) -> list[int]:
    """Return batch sizes at equal distances, with both ends, where there are too many.

    Examples
    --------
    >>> thinned([1, 2, 4]), len(thinned(range(100))), thinned(range(100))[-1]
    ([1, 2, 4], 24, 99)
    """
    if len(batches) <= BATCHES_SHOWN:
        return list(batches)
    step = (len(batches) - 1) / (BATCHES_SHOWN - 1)
    return [batches[round(i * step)] for i in range(BATCHES_SHOWN)]


def runs_of(batches: Sequence[int], words: Sequence[str]) -> list[str]:
    """Say for each run of equal words at which batch sizes it lies.

    Examples
    --------
    >>> runs_of([1, 2, 4, 8], ["memory", "memory", "compute", "compute"])
    ['memory up to batch 2', 'compute from batch 4 on']
    >>> runs_of([1, 2], ["memory", "memory"])
    ['memory at every batch size']
    """
    begins = [i for i, word in enumerate(words) if i == 0 or words[i - 1] != word]
    if len(begins) == 1 and len(batches) > 1:
        return [f"{words[0]} at every batch size"]
    found = []
    for begin, end in zip(begins, [*begins[1:], len(words)], strict=True):
        first, last = batches[begin], batches[end - 1]
        if first == last:
            where = f"at batch {first}"
        elif begin == 0:
            where = f"up to batch {last}"
        elif end == len(words):
            where = f"from batch {first} on"
        else:
            where = f"at batch {first} to {last}"
        found.append(f"{words[begin]} {where}")
    return found
