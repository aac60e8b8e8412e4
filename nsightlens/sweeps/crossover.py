"""Crossovers: at which batch size a family passes from one side of the ridge to the other.

Three answers stand beside each other. The *measured* one is the first batch size on the other
side; the *interpolated* one lies between it and its neighbour; the *analytic* one solves the
family's own law for the ridge point.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "LAW_TOLERANCE",
    "Flip",
    "analytic_crossing",
    "crossing",
    "flips_of",
    "interpolation_tolerance",
    "lasting_change",
]

LAW_TOLERANCE = 0.01
"""[1] Relative: further from the law than this at any batch size, a family does not follow it."""


class Flip(NamedTuple):
    """A change of side.

    Parameters
    ----------
    before, after
        Positions of the two neighbours between which it lies.
    side_before, side_after
        Their sides.
    """

    before: int
    after: int
    side_before: str
    side_after: str


def flips_of(sides: Sequence[str | None], known: Sequence[str]) -> list[Flip] | None:
    """Return every change of side along the batch size; None where fewer than two are known.

    Parameters
    ----------
    sides
        In the order of the batch size.
    known
        The texts that are sides; others are passed over.

    Examples
    --------
    >>> flips_of(["memory", "unknown", "compute"], ("memory", "compute"))
    [Flip(before=0, after=2, side_before='memory', side_after='compute')]
    """
    at = [(i, side) for i, side in enumerate(sides) if side is not None and side in known]
    if len(at) < 2:
        return None
    return [Flip(i, j, a, b) for (i, a), (j, b) in pairwise(at) if a != b]


def crossing(x: tuple[float, float], ratio: tuple[float, float]) -> float:
    """Return where a ratio passes 1 between two points, on a line in log-log.

    Parameters
    ----------
    x
        Batch sizes of the two points.
    ratio
        Of compute time to DRAM time, or of intensity to the ridge point.

    Returns
    -------
    float
        NaN where it does not pass 1, or a number is none.

    Notes
    -----
    For a linear layer the line lies below the law, so that the result is too large, but by no more
    than `interpolation_tolerance`.

    Examples
    --------
    >>> round(crossing((128.0, 512.0), (0.5, 2.0)), 6)
    256.0
    """
    if not all(0 < value < math.inf for value in (*x, *ratio)):
        return math.nan
    low, high = (math.log(value) for value in ratio)
    if low == high or low * high > 0:
        return math.nan
    share = -low / (high - low)
    return math.exp(math.log(x[0]) + share * (math.log(x[1]) - math.log(x[0])))


def interpolation_tolerance(spacing: float) -> float:
    """Return by what factor an interpolated crossing of a linear layer can be too large [1].

    Parameters
    ----------
    spacing
        Batch size of the point after the crossing over that of the point before it.

    Returns
    -------
    float
        1 is exact; 1.061 for batch sizes that double, 1.264 for those that grow fourfold.

    Notes
    -----
    ln AI = u - ln(1 + c e^u) + const with u = ln B is concave. The chord over a spacing L = ln r is
    furthest to the right of it for c -> infinity: k (1 - e^-t) - t with k = L / (1 - 1/r), largest
    at t = ln k, where it is k - 1 - ln k.

    Examples
    --------
    >>> round(interpolation_tolerance(2.0), 3)
    1.061
    """
    k = math.log(spacing) / (1.0 - 1.0 / spacing)
    return math.exp(k - 1.0 - math.log(k))


def analytic_crossing(
    batch: NDArray[np.float64], intensity: NDArray[np.float64], ridge: float
) -> float:
    """Return the batch size at which a family's law meets the ridge point.

    Parameters
    ----------
    batch
        Batch sizes. Shape (n,).
    intensity
        [FLOP/B] Of the shapes, so without padding; NaN where it is not known. Shape (n,).
    ridge
        [FLOP/B]

    Returns
    -------
    float
        NaN where the law never meets the ridge (attention, or a layer whose intensity ends below
        it), already lies beyond it at one sequence, is not known from three batch sizes, or is
        followed less closely than `LAW_TOLERANCE`.

    Notes
    -----
    Operations grow with the batch B, bytes are those of weights and of activations: 1 / AI(B) =
    c / B + d. A linear layer of K x N has AI = 2 B K N / (b_w K N + b_a B (K + N)), so c = b_w / 2
    and d = b_a (K + N) / (2 K N); attention has c = 0. Then B = c / (1 / ridge - d). c and d are
    those of least squares in relative terms over the given batch sizes.

    Examples
    --------
    >>> batch = np.array([1.0, 8.0, 64.0])
    >>> intensity = 1.0 / (1.0 / batch + 0.001)
    >>> round(analytic_crossing(batch, intensity, 250.0), 6)
    333.333333
    """
    is_point = np.isfinite(intensity) & (intensity > 0) & (batch > 0)
    b, ai = batch[is_point], intensity[is_point]
    if len(np.unique(b)) < 3 or not 0 < ridge < math.inf:
        return math.nan
    # Times AI, so that each point counts by its relative distance.
    matrix = np.stack([ai / b, ai], axis=1)
    law, *_ = np.linalg.lstsq(matrix, np.ones(len(b)), rcond=None)
    if np.abs(matrix @ law - 1.0).max() > LAW_TOLERANCE:
        return math.nan
    weights, rest = float(law[0]), float(law[1])
    room = 1.0 / ridge - rest
    if room <= 0 or weights <= 0:
        return math.nan
    found = weights / room
    return found if 1.0 <= found < math.inf else math.nan


def lasting_change(sides: Sequence[str | None], known: Sequence[str]) -> int | None:
    """Return from which position on every known side is another than the first, for good."""
    at = [(i, side) for i, side in enumerate(sides) if side is not None and side in known]
    if not at or at[-1][1] == at[0][1]:
        return None
    last_same = max(k for k, (_, side) in enumerate(at) if side == at[0][1])
    return at[last_same + 1][0]
