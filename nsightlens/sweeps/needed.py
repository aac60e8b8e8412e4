"""What the shapes of rows need: operations and bytes, of annotations, else of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.sweeps.part import SweepPart

__all__ = ["SOURCES", "Needed", "needed_by_annotations"]

SOURCES = ("annotation", "model")
"""Where the work that is needed can be known from, as in the column ``useful_source``."""


class Needed(NamedTuple):
    """What shapes need, NaN where it is not known. Shape (n,).

    Parameters
    ----------
    flop
        [FLOP]
    bytes
        [B]
    source
        Index into `SOURCES`; -1 where nothing is known.
    """

    flop: NDArray[np.float64]
    bytes: NDArray[np.float64]
    source: NDArray[np.int8]

    def filled(self, other: Needed) -> Needed:
        """Return this with another in the rows of which nothing is known."""
        has = self.source >= 0
        return Needed(
            np.where(has, self.flop, other.flop),
            np.where(has, self.bytes, other.bytes),
            np.where(has, self.source, other.source),
        )


def needed_by_annotations(part: SweepPart) -> Needed:
    """Return the sums over annotated shapes.

    A row has them only where every launch that counts has a shape of its own: a part of a sum is no
    intensity of the whole.
    """
    counts = part.sums.added["counted_launches"] > 0
    flop, moved = (
        np.where(counts, part.sums.added[name], np.nan)
        for name in ("useful_flop_count", "algorithmic_bytes")
    )
    is_known = ~np.isnan(flop) & ~np.isnan(moved)
    source = np.where(is_known, 0, -1).astype(np.int8)
    return Needed(np.where(is_known, flop, np.nan), np.where(is_known, moved, np.nan), source)
