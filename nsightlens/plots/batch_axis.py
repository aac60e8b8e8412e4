"""The axis of batch sizes: every measured size has a tick, and a number where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.plots.sheet import Sheet

__all__ = ["BATCH_LABEL", "kept_apart", "log_batches", "ordered_batches", "thin_batches"]

BATCH_LABEL = "batch size [sequences]"


def kept_apart(positions: Sequence[float], widths: Sequence[float], gap: float) -> list[bool]:
    """Say which texts along a line are written, so that none touches the next.

    The first and the last are, and of those between as many as fit, from the first on.

    Parameters
    ----------
    positions
        Where the middle of each text would be, ascending.
    widths
        How wide each is.
    gap
        Between two texts.

    Examples
    --------
    >>> kept_apart([0, 5, 10, 15, 20], [8, 8, 8, 8, 8], 1)
    [True, False, True, False, True]
    """
    count = len(positions)
    kept = [False] * count
    if not count:
        return kept
    kept[0] = True
    last = count - 1

    def clear(i: int, j: int) -> bool:
        return abs(positions[j] - positions[i]) >= (widths[i] + widths[j]) / 2 + gap

    if last and not clear(0, last):
        return kept
    kept[last] = True
    before = 0
    for i in range(1, last):
        if clear(before, i) and clear(i, last):
            kept[i] = True
            before = i
    return kept


def log_batches(sheet: Sheet, batches: Sequence[int]) -> None:
    """Give the axes a logarithmic axis of batch sizes, to base 2."""
    from matplotlib.ticker import NullLocator

    sheet.ax.set_xscale("log", base=2)
    sheet.ax.xaxis.set_minor_locator(NullLocator())
    span = max(batches) / min(batches)
    margin = max(span**0.05, 1.25)
    sheet.ax.set_xlim(min(batches) / margin, max(batches) * margin)
    _write(sheet, list(map(float, batches)), batches)


def ordered_batches(sheet: Sheet, batches: Sequence[int]) -> None:
    """Give the axes one place per batch size, at equal distances: 0, 1, 2, ..."""
    sheet.ax.set_xlim(-0.5 - 0.02 * len(batches), len(batches) - 0.5 + 0.02 * len(batches))
    positions = list(map(float, range(len(batches))))
    _write(sheet, positions, batches)


def _write(
    sheet: Sheet,
    positions: Sequence[float],
    batches: Sequence[int],
    kept: Sequence[bool] | None = None,
) -> None:
    shown = [True] * len(batches) if kept is None else kept
    texts = [f"{batch}" if keep else "" for batch, keep in zip(batches, shown, strict=True)]
    sheet.ax.set_xticks(positions, labels=texts)


def thin_batches(sheet: Sheet, batches: Sequence[int]) -> None:
    """Take away numbers that would touch, once the axes have their place."""
    positions = [float(position) for position in sheet.ax.get_xticks()]
    across = sheet.ax.transData.transform([(p, 1) for p in positions])[:, 0]
    widths = [sheet.extent(f"{batch}", sheet.sizes.small)[0] for batch in batches]
    kept = kept_apart(list(across), widths, sheet.pixels(0.6 * sheet.sizes.small))
    _write(sheet, positions, batches, kept)
